//! Data of jobs, and the links of the market.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_io::submission::Conditions;
use tradewind_model::{Links, Pools, Staging, Time};

use crate::live::answer::{Refusal, RefusalKind};
use crate::live::record::JobRecord;
use crate::live::state::{Job, JobHold, Phase};
use crate::live::{ApplyError, Live};

/// What the job's data means at each site.
pub(super) fn staging(terms: &Conditions, pools: &Pools) -> Result<Option<Arc<Staging>>, Refusal> {
    let Some(data) = &terms.data else { return Ok(None) };
    if terms.groups.is_some() {
        let message = "a job with groups of tasks cannot have data";
        let hint =
            "leave out `--data-in` and `--data-out`, or submit the groups as jobs of their own";
        return Err(Refusal::new(RefusalKind::Invalid, message, hint));
    }
    let none = Links::default();
    let links = pools.links().unwrap_or(&none);
    let staging = links.stage(pools.sites(), data.clone()).map_err(|wrong| {
        let sites = pools.sites().iter().map(|site| site.name.as_str());
        let mut known: Vec<&str> = sites.chain(links.places()).collect();
        known.sort_unstable();
        known.dedup();
        let hint = format!("data can be at: {}", known.join(", "));
        Refusal::new(RefusalKind::Invalid, wrong.to_string(), hint)
    })?;
    match staging.by_site().iter().any(Option::is_some) {
        true => Ok(Some(staging)),
        false => {
            let ends = [(data.input, &data.from), (data.output, &data.to)];
            let ends = ends.iter().filter(|(bytes, _)| *bytes > 0).map(|(_, place)| place.as_str());
            let ends = ends.collect::<BTreeSet<&str>>();
            let ends = ends.into_iter().collect::<Vec<_>>().join("` and `");
            let message = format!("no site has links to `{ends}` that bring this data in time");
            let hint = "the administrator lists links in the configuration: `[[link]]`";
            Err(Refusal::new(RefusalKind::Invalid, message, hint))
        }
    }
}

impl Live {
    /// Jobs that wait with what other links meant for their data join the queue again: the links, or the
    /// sites, have changed.
    pub(in crate::live) fn stage_waiting(&mut self, at: Time) -> Result<(), ApplyError> {
        let market = &self.state.market;
        let is_other = |job: &&Job| {
            let data = job.submission.terms.data.as_ref().filter(|_| job.booking.is_none());
            let demand = job.id().and_then(|id| market.demand(id));
            let known = demand.and_then(|demand| demand.terms().data.as_ref());
            let now = staging(&job.submission.terms, market.pools()).ok().flatten();
            job.phase() == Phase::Waiting && data.is_some() && known != now.as_ref()
        };
        let others: Vec<u64> =
            self.state.jobs.values().filter(is_other).map(|job| job.number).collect();
        for job in others {
            let why = "the links over which its data is brought have changed";
            self.put(at, JobRecord::Left { job, hold: JobHold::Rejected(why.to_owned()) })?;
            self.enqueue(at, job)?;
        }
        Ok(())
    }
}
