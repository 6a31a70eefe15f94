//! Jobs that wait for each other.

use std::collections::BTreeMap;

use super::{Blocked, QueuedJob};

/// How many of the jobs never start, since they wait for each other, for themselves, or for jobs
/// that do. Names of jobs that are not listed do not count. O(n · d · log n) for n jobs that wait for
/// d others each.
pub(super) fn count(jobs: &[QueuedJob]) -> usize {
    let places: BTreeMap<&str, usize> = (0..).zip(jobs).map(|(at, it)| (&*it.name, at)).collect();
    let mut open = vec![0_usize; jobs.len()];
    let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate() {
        let Blocked::Dependency(names) = &job.blocked else { continue };
        for first in names.iter().filter_map(|name| places.get(name.as_str())) {
            open[at] += 1;
            followers.entry(*first).or_default().push(at);
        }
    }
    let mut free: Vec<usize> = (0..jobs.len()).filter(|at| open[*at] == 0).collect();
    let mut left = jobs.len();
    while let Some(at) = free.pop() {
        left -= 1;
        for &follower in followers.get(&at).into_iter().flatten() {
            open[follower] -= 1;
            if open[follower] == 0 {
                free.push(follower);
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;

    fn job(name: &str, after: &[&str]) -> QueuedJob {
        let names: Vec<String> = after.iter().map(|name| (*name).to_owned()).collect();
        let blocked = if names.is_empty() { Blocked::Eligible } else { Blocked::Dependency(names) };
        QueuedJob { blocked, ..QueuedJob::of(name, 0, 1, Span(60)) }
    }

    #[test]
    fn jobs_in_a_circle_and_behind_one_never_start() {
        let of = |jobs: &[(&str, &[&str])]| {
            count(&jobs.iter().map(|(name, after)| job(name, after)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[("1", &[]), ("2", &["1"]), ("3", &["1", "2", "1"])]), 0);
        assert_eq!(of(&[("1", &["77"]), ("2", &["1"])]), 0, "of 77 nothing is known");
        assert_eq!(of(&[("1", &["1"])]), 1);
        let circle: [(&str, &[&str]); 5] =
            [("1", &["3"]), ("2", &["1"]), ("3", &["2", "5"]), ("4", &["3"]), ("5", &[])];
        assert_eq!(of(&circle), 4);
    }

    #[test]
    fn long_chains_are_no_circle_until_they_are_closed() {
        let names: Vec<String> = (0..2_000).map(|it| it.to_string()).collect();
        let mut jobs = vec![job("0", &[])];
        jobs.extend(names.windows(2).map(|pair| job(&pair[1], &[&pair[0]])));
        assert_eq!(count(&jobs), 0);
        jobs[0] = job("0", &["1999"]);
        assert_eq!(count(&jobs), 2_000);
    }
}
