//! What another policy would change, by how bad it is: first who would not run at all, then missed
//! deadlines, later and earlier starts, and costs. A job is listed once, under the first that fits.

use std::collections::BTreeMap;

use crate::documents::{Fate, JobChange};

/// What is known of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct JobFacts {
    pub(crate) user: String,
    pub(crate) name: String,
    /// Seconds since 1970.
    pub(crate) deadline: Option<i64>,
}

/// Jobs whose fate changes in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tier {
    pub(crate) name: &'static str,
    /// It is a change for the worse.
    pub(crate) is_bad: bool,
    /// The largest changes first.
    pub(crate) rows: Vec<ChangedJob>,
}

/// One job's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedJob {
    pub(crate) change: JobChange,
    pub(crate) known: JobFacts,
}

/// What changes for a user's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sum {
    pub(crate) user: String,
    pub(crate) jobs: u32,
    pub(crate) sooner: u32,
    pub(crate) later: u32,
    /// Would not start, and would have.
    pub(crate) lost: u32,
    pub(crate) missed: u32,
    /// Seconds of waiting more, or less; of those that start either way.
    pub(crate) wait: i64,
    /// Micro-credits more, or less; of the same.
    pub(crate) cost: i128,
}

impl ChangedJob {
    /// Seconds by which it starts later; `None`: it starts only before or only then.
    pub(crate) fn later(&self) -> Option<i64> {
        Some(self.change.after.start? - self.change.before.start?)
    }

    /// By how much the job costs more, in micro-credits.
    pub(crate) fn dearer(&self) -> Option<i128> {
        Some(self.change.after.cost?.0 - self.change.before.cost?.0)
    }

    fn is_late(&self, fate: &Fate) -> bool {
        let Some(deadline) = self.known.deadline else { return false };
        fate.end.is_none_or(|end| end > deadline)
    }

    fn misses(&self) -> bool {
        self.is_late(&self.change.after) && !self.is_late(&self.change.before)
    }

    fn tier(&self) -> usize {
        let (before, after) = (&self.change.before, &self.change.after);
        match (self.later(), self.dearer()) {
            _ if after.refused.is_some() && before.refused.is_none() => 0,
            _ if after.start.is_none() && before.start.is_some() => 1,
            _ if self.misses() => 2,
            _ if before.start.is_none() && after.start.is_some() => 4,
            (Some(later), _) if later > 0 => 3,
            (Some(later), _) if later < 0 => 4,
            (_, Some(more)) if more > 0 => 5,
            (_, Some(more)) if more < 0 => 6,
            _ => 7,
        }
    }

    /// How much it changes, for the order.
    fn size(&self, tier: usize) -> i128 {
        match tier {
            5 | 6 => self.dearer().unwrap_or(0).abs(),
            _ => i128::from(self.later().unwrap_or(i64::MAX).unsigned_abs()),
        }
    }
}

/// In the order on the page.
const NAMES: [(&str, bool); 8] = [
    ("Refused", true),
    ("No longer forecast", true),
    ("Deadline missed", true),
    ("Later", true),
    ("Sooner", false),
    ("More expensive", true),
    ("Cheaper", false),
    ("Elsewhere or longer", false),
];

/// The changes by tiers, those that are not empty. O(n log n).
pub(crate) fn tiers(changes: &[JobChange], known: &BTreeMap<u64, JobFacts>) -> Vec<Tier> {
    let tier = |(name, is_bad): (&'static str, bool)| Tier { name, is_bad, rows: Vec::new() };
    let mut all = NAMES.map(tier);
    for change in changes {
        let known = known.get(&change.job).cloned().unwrap_or_default();
        let row = ChangedJob { change: change.clone(), known };
        if let Some(tier) = all.get_mut(row.tier()) {
            tier.rows.push(row);
        }
    }
    for (at, tier) in all.iter_mut().enumerate() {
        tier.rows.sort_by_key(|row| (std::cmp::Reverse(row.size(at)), row.change.job));
    }
    all.into_iter().filter(|tier| !tier.rows.is_empty()).collect()
}

/// What changes for each user, who loses most first.
pub(crate) fn sums(tiers: &[Tier]) -> Vec<Sum> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for row in tiers.iter().flat_map(|tier| &tier.rows) {
        let sum = sums.entry(&row.known.user).or_default();
        sum.user.clone_from(&row.known.user);
        sum.jobs += 1;
        let later = row.later().unwrap_or(0);
        sum.later += u32::from(later > 0);
        sum.sooner += u32::from(later < 0);
        sum.lost +=
            u32::from(row.change.before.start.is_some() && row.change.after.start.is_none());
        sum.missed += u32::from(row.misses());
        sum.wait += later;
        sum.cost += row.dearer().unwrap_or(0);
    }
    let mut sums: Vec<Sum> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse((sum.lost, sum.missed, sum.wait)));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Credits;

    fn fate(start: Option<i64>, cost: i128) -> Fate {
        let end = start.map(|at| at + 100);
        Fate { start, ranges: None, end, cost: start.map(|_| Credits(cost)), refused: None }
    }

    fn change(job: u64, before: Fate, after: Fate) -> JobChange {
        JobChange { job, before, after }
    }

    #[test]
    fn the_worst_comes_first_and_each_job_once() {
        let refused = Fate { refused: Some("too dear".to_owned()), ..Fate::default() };
        let now = || fate(Some(1_000), 5);
        let changes = [
            change(1, now(), fate(Some(900), 9)),
            change(2, now(), fate(Some(1_500), 5)),
            change(3, now(), fate(Some(3_000), 5)),
            change(4, now(), refused),
            change(5, now(), fate(Some(1_001), 5)),
            change(6, now(), fate(Some(1_000), 7)),
            change(7, now(), fate(None, 0)),
            change(8, fate(None, 0), now()),
            change(9, now(), fate(Some(1_000), 1)),
        ];
        let known = |job: u64| {
            let user = if job.is_multiple_of(2) { "ana" } else { "ben" }.to_owned();
            let deadline = (job == 5).then_some(1_100);
            (job, JobFacts { user, name: String::new(), deadline })
        };
        let known: BTreeMap<u64, JobFacts> = (1..=9).map(known).collect();
        let found = tiers(&changes, &known);
        let told: Vec<(&str, Vec<u64>)> = found
            .iter()
            .map(|tier| (tier.name, tier.rows.iter().map(|row| row.change.job).collect()))
            .collect();
        assert_eq!(
            told,
            [
                ("Refused", vec![4]),
                ("No longer forecast", vec![7]),
                ("Deadline missed", vec![5]),
                ("Later", vec![3, 2]),
                ("Sooner", vec![8, 1]),
                ("More expensive", vec![6]),
                ("Cheaper", vec![9]),
            ]
        );
        let sums = sums(&found);
        assert_eq!(sums.iter().map(|it| it.user.as_str()).collect::<Vec<_>>(), ["ben", "ana"]);
        let ben = &sums[0];
        assert_eq!((ben.jobs, ben.sooner, ben.later, ben.lost, ben.missed), (5, 1, 2, 1, 1));
        assert_eq!((ben.wait, ben.cost), (-100 + 2_000 + 1, 4 - 4));
    }
}
