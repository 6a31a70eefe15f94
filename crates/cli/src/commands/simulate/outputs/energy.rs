//! `energy.csv` and `energy_totals.csv`: what jobs, users, groups and sites consumed.

use std::collections::BTreeMap;

use tradewind_campaign::replay::Finished;
use tradewind_model::Consumption;
use tradewind_sim::metrics;

use super::trades::Ids;
use crate::exit::Failure;
use crate::output;

const JOBS: [&str; 7] =
    ["job_id", "user", "group", "site", "energy_kwh", "carbon_g", "energy_price"];
const TOTALS: [&str; 6] = ["of", "name", "jobs", "energy_kwh", "carbon_g", "energy_price"];

/// Both files; `None` where nothing is known of electricity.
pub(super) fn files(finished: &Finished<'_>) -> Result<Option<(String, String)>, Failure> {
    let prepared = &finished.prepared;
    let (workload, run) = (&prepared.workload, &finished.run);
    if workload.pools.power().is_none() {
        return Ok(None);
    }
    let ids = Ids::of(finished);
    let people: Vec<(String, String)> =
        prepared.records().map(|(_, record)| (number(record.user), number(record.group))).collect();
    let mut rows = vec![JOBS.map(str::to_owned).to_vec()];
    let mut totals: BTreeMap<(&str, Name), (u64, Consumption)> = BTreeMap::new();
    let used = metrics::consumption(workload, run);
    let of_sites = metrics::consumption_by_site(workload, run);
    for ((job, ran), used) in workload.jobs.iter().zip(&run.jobs).zip(used) {
        if ran.refused.is_some() {
            continue;
        }
        let (user, group) = people.get(job.source).cloned().unwrap_or_default();
        let first = ran.place.shares(job.processors).next();
        let site = first.map(|share| workload.pools.pool(share.pool).site.0 as usize);
        let site = site.map_or_else(String::new, |site| workload.pools.sites()[site].name.clone());
        for (of, name) in [("user", &user), ("group", &group)] {
            let sum = totals.entry((of, Name::of(name))).or_default();
            *sum = (sum.0 + 1, sum.1 + used);
        }
        let row = [ids.of_job(job.source), user, group, site];
        rows.push(row.into_iter().chain(cells(used)).collect());
    }
    for (site, sum) in workload.pools.sites().iter().zip(of_sites) {
        totals.insert(("site", Name::of(&site.name)), sum);
    }
    let total = |((of, name), (jobs, used)): (&(&str, Name), &(u64, Consumption))| {
        let row = [(*of).to_owned(), name.text.clone(), jobs.to_string()];
        row.into_iter().chain(cells(*used)).collect()
    };
    let head = std::iter::once(TOTALS.map(str::to_owned).to_vec());
    let totals: Vec<Vec<String>> = head.chain(totals.iter().map(total)).collect();
    Ok(Some((output::csv(&rows)?, output::csv(&totals)?)))
}

/// A name that sorts as a number if it is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    number: Option<i64>,
    text: String,
}

impl Name {
    fn of(text: &str) -> Name {
        Name { number: text.parse().ok(), text: text.to_owned() }
    }
}

/// The log's number; nothing where it does not say.
fn number(number: i64) -> String {
    if number < 0 { String::new() } else { number.to_string() }
}

fn cells(used: Consumption) -> [String; 3] {
    [used.energy.to_string(), used.carbon.to_string(), used.price.to_string()]
}
