//! How much of an observed cluster is in use, hour by hour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tradewind_model::{Pools, Price, Time};

use super::record::is_job;
use crate::site::Survey;
use crate::site::queued::EndedJob;

/// Hours that are kept: eight days.
pub(super) const MAX_HOURS: usize = 8 * 24;
/// After a longer time without a survey the use in between is not known.
const MAX_GAP: i64 = 900;
const HOUR: i64 = 3_600;

/// What was in use in an hour, and its value at the configured prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hour {
    /// Node-seconds of the cluster's jobs.
    pub used: i64,
    /// Node-seconds of nodes that were up, in use or not, as far as they were observed.
    pub up: i64,
    /// What the jobs would have paid, micro-credits.
    pub value: i64,
    /// What the nodes that were not in use would have cost, micro-credits.
    pub idle_value: i64,
}

impl Hour {
    /// Both together.
    pub(super) fn plus(self, other: Hour) -> Hour {
        Hour {
            used: self.used.saturating_add(other.used),
            up: self.up.saturating_add(other.up),
            value: self.value.saturating_add(other.value),
            idle_value: self.idle_value.saturating_add(other.idle_value),
        }
    }

    /// The same for so many seconds.
    fn times(self, seconds: i64) -> Hour {
        Hour {
            used: self.used.saturating_mul(seconds),
            up: self.up.saturating_mul(seconds),
            value: self.value.saturating_mul(seconds),
            idle_value: self.idle_value.saturating_mul(seconds),
        }
    }
}

/// What is in use now, for each second: by pool, with its price.
pub(super) fn rate(at: Time, survey: &Survey, prices: &[Price]) -> Hour {
    let mut rate = Hour::default();
    for (pool, seen) in survey.pools.iter().enumerate() {
        let begun = seen.local.iter().filter(|(name, task)| is_job(name) && task.from <= at);
        let used: i64 = begun.map(|(_, task)| i64::from(task.nodes)).sum();
        let up = i64::from(seen.up);
        let (used, price) = (used.min(up), prices.get(pool).map_or(0, |price| price.0));
        rate = rate.plus(Hour {
            used,
            up,
            value: used.saturating_mul(price),
            idle_value: (up - used).saturating_mul(price),
        });
    }
    rate
}

/// Adds what a job used that started and ended between two looks: the nodes seemed not to be in use.
pub(super) fn add_brief(
    hours: &mut BTreeMap<i64, Hour>,
    it: &EndedJob,
    prices: &[Price],
    (last, at): (Time, Time),
) {
    let used = i64::from(it.job.nodes.min(Pools::MAX_NODES));
    let price = it.job.pools.first().and_then(|pool| prices.get(*pool)).map_or(0, |price| price.0);
    let value = used.saturating_mul(price);
    let rate = Hour { used, up: 0, value, idle_value: -value };
    // What is not known of the whole time is not known of a part of it.
    if at.0 - last.0 <= MAX_GAP {
        add(hours, rate, it.start.clamp(last, at), it.end.clamp(last, at));
    }
}

/// Adds what was in use at `rate` from one look to the next, to the hours that it touches.
pub(super) fn add(hours: &mut BTreeMap<i64, Hour>, rate: Hour, from: Time, to: Time) {
    if to.0 - from.0 > MAX_GAP {
        return;
    }
    let mut at = from.0;
    while at < to.0 {
        let hour = at.div_euclid(HOUR) * HOUR;
        let end = to.0.min(hour + HOUR);
        let known = hours.entry(hour).or_default();
        *known = known.plus(rate.times(end - at));
        at = end;
    }
    while hours.len() > MAX_HOURS {
        hours.pop_first();
    }
}
