//! Time limits: what they are on which nodes, and how they are counted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a time limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Times {
    /// Wall-clock time: the same on all nodes.
    Wall,
    /// Seconds of work on a node of performance 1: less time on faster nodes.
    Work,
}

/// Who said what a time limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimesBy {
    /// The job's own submission.
    Job,
    /// The project that pays for the job.
    Project,
    /// The owner of the site.
    Owner,
    /// No rule: wall-clock time is the default.
    Default,
    /// The job has a limit for each class of nodes.
    Class,
    /// The job was submitted under an earlier release, in which all limits were work.
    EarlierRelease,
}

/// The time limit of a job in some pools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "limit": 1_800, "times": "work", "by": "owner", "work": 3_600, "pools": ["beta/fast"]
}))]
pub struct Limit {
    /// Seconds of wall-clock time after which the job is stopped.
    pub limit: i64,
    /// What was counted.
    pub times: Times,
    /// Who said so.
    pub by: TimesBy,
    /// The same in seconds of work on a node of performance 1; left out if it is as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<i64>,
    /// Names of the pools.
    pub pools: Vec<String>,
}

impl Limit {
    /// In words, such as `1:00:00 of wall-clock time, the default`; `length` writes a span.
    pub fn sentence(&self, length: impl Fn(i64) -> String) -> String {
        let limit = length(self.limit);
        let by = self.by.words();
        match (self.times, self.work) {
            (Times::Wall, None) => format!("{limit} of wall-clock time, {by}"),
            (Times::Wall, Some(work)) => {
                let work = length(work);
                format!("{limit} of wall-clock time, {by} ({work} of work at performance 1)")
            }
            (Times::Work, work) => {
                let work = length(work.unwrap_or(self.limit));
                format!("{limit} of wall-clock time: {work} of work at performance 1, {by}")
            }
        }
    }
}

impl TimesBy {
    fn words(self) -> &'static str {
        match self {
            TimesBy::Job => "as the job asks",
            TimesBy::Project => "by its project",
            TimesBy::Owner => "by the site's owner",
            TimesBy::Default => "the default",
            TimesBy::Class => "enough for the limit of each class of nodes",
            TimesBy::EarlierRelease => "as when it was submitted, under an earlier release",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_counting_are_reported_where_they_differ() {
        let told = |times, by, work| {
            let pools = Vec::new();
            Limit { limit: 60, times, by, work, pools }.sentence(|seconds| format!("{seconds} s"))
        };
        assert_eq!(
            told(Times::Wall, TimesBy::Default, None),
            "60 s of wall-clock time, the default"
        );
        assert_eq!(
            told(Times::Wall, TimesBy::Project, Some(120)),
            "60 s of wall-clock time, by its project (120 s of work at performance 1)"
        );
        assert_eq!(
            told(Times::Work, TimesBy::Owner, Some(120)),
            "60 s of wall-clock time: 120 s of work at performance 1, by the site's owner"
        );
        assert_eq!(
            told(Times::Work, TimesBy::Job, None),
            "60 s of wall-clock time: 60 s of work at performance 1, as the job asks"
        );
    }
}
