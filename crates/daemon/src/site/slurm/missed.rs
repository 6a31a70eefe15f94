//! Jobs that no list had: they were submitted and over, and forgotten by the controller, between two
//! lists.
//!
//! Slurm numbers jobs one after the other. So a number between those of two lists that neither has
//! is such a job, or a submission that was refused after it had a number, or a job that we may not
//! see. The accounting is asked for it, and for jobs that waited and are not listed any more, once:
//! it had their ends long before the controller forgot them.

use std::collections::BTreeSet;

use tradewind_model::Span;

use super::asked::AskedNodes;
use super::listing::SlurmJob;
use super::{Controller, PoolsView, hostlist, moment, ours};
use crate::site::managed::driver::Base;
use crate::site::queued::{EndedJob, MissedJobs};

/// JobNumbers that are asked for at a time; more are only counted.
const MAX_ASKED: usize = 500;
/// A larger step is no gap: the numbering began again elsewhere.
const MAX_GAP: u64 = 100_000;
/// Columns of the accounting that are read.
const COLUMNS: &str = "--format=JobIDRaw,User,Account,Partition,State,Submit,Start,End,NNodes,\
                       AllocCPUS,TimelimitRaw,NodeList";

/// Which numbers lists had.
#[derive(Debug, Default)]
pub(super) struct JobNumbers {
    /// The highest so far. Where a controller has lost its state and begins again with low numbers,
    /// gaps are found again when it has passed this one.
    highest: Option<u64>,
    /// Those that waited in the last list.
    waiting: BTreeSet<u64>,
}

impl JobNumbers {
    /// Takes a list: the numbers that no list had, and those that waited and are not there any more.
    fn note(&mut self, jobs: &[SlurmJob]) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let listed: BTreeSet<u64> = jobs.iter().map(|job| job.id).collect();
        let waiting = jobs.iter().filter(|job| job.is_waiting()).map(|job| job.id).collect();
        let left = std::mem::replace(&mut self.waiting, waiting);
        let left = left.difference(&listed).copied().collect();
        let Some(last) = listed.last().copied() else { return (BTreeSet::new(), left) };
        let before = self.highest.replace(self.highest.map_or(last, |it| it.max(last)));
        let step = before.filter(|it| *it < last && last - it <= MAX_GAP);
        let between = step.into_iter().flat_map(|before| before + 1..last);
        (between.filter(|id| !listed.contains(id)).collect(), left)
    }
}

impl Controller {
    /// See [`Manager::missed`](crate::site::managed::driver::Manager::missed).
    pub(super) fn missed_of(&mut self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> MissedJobs {
        let (mut unknown, left) = self.numbers.note(view.jobs);
        let asked: Vec<u64> = unknown.iter().chain(&left).copied().take(MAX_ASKED).collect();
        let asks = self.limits.has_accounting && !asked.is_empty();
        let answered = if asks { accounted(base, &asked) } else { Vec::new() };
        for job in &answered {
            unknown.remove(&job.id);
        }
        let others = vec![false; answered.len()];
        let view = PoolsView { jobs: &answered, ours: &others, now: view.now };
        let found: Vec<EndedJob> = self.ended_of(base, &view);
        MissedJobs { found, unseen: unknown.len() as u64, asked: asks }
    }
}

/// What the accounting says of these jobs; nothing if it does not answer.
fn accounted(base: &Base, ids: &[u64]) -> Vec<SlurmJob> {
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    let words = ["sacct", "-aXnP", "-j", &ids.join(","), COLUMNS];
    match ours(base, &words) {
        Ok(answer) => rows(&answer.text()),
        Err(wrong) => {
            let site = &base.name;
            tracing::warn!(site, %wrong, "jobs between two lists are only counted");
            Vec::new()
        }
    }
}

/// The rows that can be read.
pub(super) fn rows(text: &str) -> Vec<SlurmJob> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<SlurmJob> {
    let fields: Vec<&str> = line.split('|').collect();
    let [id, user, account, partition, state, submit, start, end, nodes, cpus, limit, list] =
        fields[..]
    else {
        return None;
    };
    let time = |text: &str| moment::parse(text).map_or(0, |time| time.0);
    let asked = AskedNodes {
        nodes: nodes.parse().unwrap_or(0),
        limit: limit.parse().ok().map(|minutes: i64| Span(minutes.saturating_mul(60))),
        account: account.to_owned(),
        ..AskedNodes::default()
    };
    Some(SlurmJob {
        id: id.parse().ok()?,
        user: user.to_owned(),
        // `CANCELLED by 1000`
        state: state.split(' ').next().unwrap_or_default().to_owned(),
        submitted: time(submit),
        start: time(start),
        end: time(end),
        partitions: partition.split(',').map(str::to_owned).collect(),
        // One that was cancelled while it waited never had any.
        nodes: hostlist::expand(if list == "None assigned" { "" } else { list }),
        cpus: cpus.parse().unwrap_or(0),
        asked: Some(Box::new(asked)),
        ..SlurmJob::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, state: &str) -> SlurmJob {
        SlurmJob { id, state: state.to_owned(), ..SlurmJob::default() }
    }

    fn note(numbers: &mut JobNumbers, jobs: &[SlurmJob]) -> (Vec<u64>, Vec<u64>) {
        let (unknown, left) = numbers.note(jobs);
        (unknown.into_iter().collect(), left.into_iter().collect())
    }

    #[test]
    fn numbers_that_no_list_had_are_found_once() {
        let mut numbers = JobNumbers::default();
        let first = [job(7, "RUNNING"), job(3, "PENDING"), job(9, "PENDING")];
        assert_eq!(note(&mut numbers, &first), (vec![], vec![]), "what was before is not known");
        let second = [job(9, "RUNNING"), job(14, "PENDING"), job(12, "COMPLETED")];
        assert_eq!(note(&mut numbers, &second), (vec![10, 11, 13], vec![3]));
        assert_eq!(note(&mut numbers, &second), (vec![], vec![]));
        // The highest has left, and no other has come; then one comes.
        assert_eq!(note(&mut numbers, &[job(9, "RUNNING")]), (vec![], vec![14]));
        assert_eq!(note(&mut numbers, &[]), (vec![], vec![]));
        assert_eq!(note(&mut numbers, &[job(16, "RUNNING")]), (vec![15], vec![]));
        // A controller that begins again elsewhere.
        assert_eq!(note(&mut numbers, &[job(1, "RUNNING")]), (vec![], vec![]));
        assert_eq!(note(&mut numbers, &[job(u64::MAX, "RUNNING")]), (vec![], vec![]));
        assert_eq!(note(&mut numbers, &[job(u64::MAX - 1, "RUNNING")]), (vec![], vec![]));
    }

    #[test]
    fn rows_of_the_accounting_are_read() {
        let text = "11|ana|phys|main|CANCELLED by 1000|2026-11-22T03:11:39|2026-11-22T03:11:40|\
                    2026-11-22T03:11:52|2|8|UNLIMITED|a[1-2]\n\
                    12|bo||main|COMPLETED|2026-11-22T03:11:39|Unknown|Unknown|1|1|5|None assigned\n\
                    13.batch|bo\nx|||||||||||\n";
        let rows = rows(text);
        let [first, second] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(
            (first.id, first.state.as_str(), first.end - first.start),
            (11, "CANCELLED", 12)
        );
        assert!(first.is_over() && first.nodes == ["a1", "a2"]);
        let asked = first.asked.as_deref().unwrap();
        assert_eq!((asked.nodes, asked.limit, asked.account.as_str()), (2, None, "phys"));
        assert_eq!((second.start, second.asked.as_deref().unwrap().limit), (0, Some(Span(300))));
    }
}
