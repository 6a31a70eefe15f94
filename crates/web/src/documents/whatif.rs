//! What would be, if.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::Credits;
use super::start::StartRanges;

/// What would be different.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"policy": "css", "horizon": 86_400}))]
pub struct WhatIfQuestion {
    /// This one would decide; left out: the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// This job would not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_job: Option<u64>,
    /// Seconds to look ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub horizon: Option<i64>,
}

/// The market carried on as it is, and as asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhatIf {
    /// The policy as it is.
    pub before: String,
    /// The policy as asked.
    pub after: String,
    /// Moment of the comparison, which is now, in Unix seconds.
    pub from: i64,
    /// How far both were carried on.
    pub until: i64,
    /// What that adds up to, as it is.
    pub totals_before: Totals,
    /// What that adds up to, as asked.
    pub totals_after: Totals,
    /// Jobs whose fate is the same.
    pub same: u32,
    /// Jobs that would end sooner.
    pub sooner: u32,
    /// Jobs that would end later.
    pub later: u32,
    /// Jobs of the caller whose fate would change; an administrator sees all.
    pub changes: Vec<JobChange>,
    /// How many of the waiting jobs were simulated: the first ones in the policy's order. Nothing is
    /// said about the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<LookedAt>,
}

/// So many of so many waiting jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": 2_000, "of": 20_000}))]
pub struct LookedAt {
    /// Number of jobs compared.
    pub jobs: u64,
    /// Waiting in all.
    pub of: u64,
}

impl LookedAt {
    /// What the answer leaves out, for people; nothing if it leaves nothing out.
    pub fn caveat(&self) -> Option<String> {
        (self.jobs < self.of).then(|| {
            format!(
                "only the first {} of {} waiting jobs were simulated; these numbers say nothing \
                 about the others",
                self.jobs, self.of
            )
        })
    }
}

/// What a forecast adds up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"started": 12, "refused": 0, "open": 1, "mean_wait": 310.5, "makespan": 7200, "income": 1200.5}))]
pub struct Totals {
    /// Jobs that would start.
    pub started: u32,
    /// Jobs that would be refused.
    pub refused: u32,
    /// Jobs that would still wait.
    pub open: u32,
    /// Seconds from now; left out if none would start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_wait: Option<f64>,
    /// Seconds from now to the last end.
    pub makespan: i64,
    /// Income of all owners, in credits.
    pub income: Credits,
}

/// A job whose fate would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobChange {
    /// Id of the job in the market.
    pub job: u64,
    /// As it is.
    pub before: Fate,
    /// What happens to the job with the change.
    pub after: Fate,
}

/// What would happen to a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"start": 1_800_000_100, "end": 1_800_000_700, "cost": 300}))]
pub struct Fate {
    /// When it would start; left out if it would not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// That start, corrected by what came of past forecasts under the present policy. Left out if
    /// there are too few of these, and if the job would start at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<StartRanges>,
    /// When it would end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
    /// What it would have paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// Why it would not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_it_leaves_out() {
        assert_eq!(LookedAt { jobs: 5, of: 5 }.caveat(), None);
        let said = LookedAt { jobs: 2_000, of: 20_000 }.caveat().unwrap();
        assert!(said.starts_with("only the first 2000 of 20000 waiting"), "{said}");
    }
}
