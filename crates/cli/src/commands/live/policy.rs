//! `tradewind policy`: the scheduling policy, and the market as a whole.

use serde_json::{Value, json};
use tradewind_web::documents::{Market as Whole, PolicyChoice, WhatIf, WhatIfQuestion};

use super::facts;
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome, Problem};
use crate::options::Format;
use crate::report::Report;

/// Jobs that are named; more are counted.
const NAMED: usize = 5;

/// Arguments of `tradewind policy`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind policy
  tradewind policy css
  tradewind policy 'easy[depth=4]'

Without a name it shows the policy, and the market in numbers. Administrators may choose; jobs
that wait are planned again. If the new one would refuse some of them, such as `auction` those that
state no budget, nothing changes and they are named, unless `--yes` is given. `tradewind whatif
--policy NAME` says all that would change.")]
pub(crate) struct Args {
    /// A policy as `tradewind simulate` knows it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Also if jobs that wait are refused by it.
    #[arg(long, requires = "name")]
    yes: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let market = Market::open(&args.place)?;
    let sent = match &args.name {
        Some(policy) => {
            if !args.yes {
                spare(&market, policy, report)?;
            }
            let choice = PolicyChoice { policy: policy.clone() };
            market.put("/v1/market/policy", &choice).map_err(Failure::of_arguments)?
        }
        None => market.get("/v1/market")?,
    };
    let it: Whole = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Table | Format::Csv => facts(&summary(&it), format)?,
    }
    Ok(Exit::Ok)
}

/// Stops if the policy would refuse jobs that the present one does not.
fn spare(market: &Market, policy: &str, report: &Report) -> Result<(), Failure> {
    let question = WhatIfQuestion { policy: Some(policy.to_owned()), ..WhatIfQuestion::default() };
    let answer = market.post("/v1/whatif", &question);
    let answer: WhatIf = answer.and_then(|sent| sent.read()).map_err(|failure| {
        let Failure { exit, mut problems } = failure.of_arguments();
        if exit == Exit::Negative {
            let message = format!("it is unknown whether `{policy}` refuses waiting jobs");
            let hint = Some("try again, or switch all the same: `--yes`".to_owned());
            problems.push(Problem { message, hint });
        }
        Failure { exit, problems }
    })?;
    if let Some(caveat) = answer.looked_at.and_then(|it| it.caveat()) {
        report.note(&caveat);
    }
    match refused(&answer) {
        Some(message) => {
            let hint = "give them what it asks for, or let it refuse them: `--yes`";
            Err(Failure::negative(message).hint(hint))
        }
        None => Ok(()),
    }
}

/// What is to be said of jobs that the other policy refuses and the present one does not.
fn refused(answer: &WhatIf) -> Option<String> {
    let newly =
        answer.changes.iter().filter_map(|it| match (&it.before.refused, &it.after.refused) {
            (None, Some(why)) => Some((it.job, why)),
            _ => None,
        });
    let all: Vec<(u64, &String)> = newly.collect();
    let some = all.iter().take(NAMED).map(|(job, why)| format!("job {job} ({why})"));
    let some = some.collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let policy = &answer.after;
    (!all.is_empty()).then(|| format!("`{policy}` would refuse jobs that wait: {some}{more}"))
}

fn summary(it: &Whole) -> Value {
    json!({
        "market": it.name,
        "release": it.version,
        "policy": it.policy,
        "time": it.time,
        "sites": it.sites,
        "nodes": it.nodes,
        "free_nodes": it.free,
        "users": it.users,
        "jobs_held": it.jobs.held,
        "jobs_waiting": it.jobs.waiting,
        "jobs_running": it.jobs.running,
        "jobs_over": it.jobs.over,
        "credits_granted": it.money.granted,
        "credits_held": it.money.held,
    })
}

#[cfg(test)]
mod tests {
    use tradewind_web::documents::{Fate, JobChange, Totals};

    use super::*;

    fn answer(changes: Vec<JobChange>) -> WhatIf {
        let none = || Totals {
            started: 0,
            refused: 0,
            open: 0,
            mean_wait: None,
            makespan: 0,
            income: Default::default(),
        };
        WhatIf {
            before: "easy".to_owned(),
            after: "auction".to_owned(),
            from: 0,
            until: 0,
            totals_before: none(),
            totals_after: none(),
            same: 0,
            sooner: 0,
            later: 0,
            changes,
            looked_at: None,
        }
    }

    #[test]
    fn only_jobs_that_are_newly_refused_stop_a_switch() {
        let no = || Fate { refused: Some("no budget".to_owned()), ..Fate::default() };
        let change = |job, before, after| JobChange { job, before, after };
        let harmless = vec![change(1, Fate::default(), Fate::default()), change(2, no(), no())];
        assert_eq!(refused(&answer(harmless)), None);
        let all = (1..=7).map(|job| change(job, Fate::default(), no())).collect();
        let said = refused(&answer(all)).unwrap();
        assert!(said.starts_with("`auction` would refuse jobs that wait: job 1 (no budget), "));
        assert!(said.ends_with("job 5 (no budget) and 2 more"), "{said}");
    }
}
