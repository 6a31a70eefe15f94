//! Jobs that Slurm's controller has forgotten (`MinJobAge`), as its accounting has them.

use tradewind_model::{Span, Time};

use super::asked::AskedNodes;
use super::listing::SlurmJob;
use super::{Controller, PoolsView, hostlist, moment, ours};
use crate::site::SiteError;
use crate::site::managed::driver::Base;
use crate::site::queued::{EndedJob, ForgottenJobs};

/// The accounting is asked for so many seconds at most: a longer absence is not made up for.
const MAX_AGE: i64 = 86_400;
/// Seconds by which the window begins earlier: a survey takes its time.
const OVERLAP: i64 = 30;
/// Columns of the accounting that are read.
const COLUMNS: &str = "--format=JobIDRaw,User,Account,Partition,State,Submit,Start,End,NNodes,\
                       AllocCPUS,TimelimitRaw,NodeList";

impl Controller {
    /// See [`Manager::forgotten`](crate::site::managed::driver::Manager::forgotten).
    pub(super) fn forgotten_of(&mut self, base: &Base, since: Time, now: Time) -> ForgottenJobs {
        let age = (now - since).0;
        let listed_for = match self.limits.listed_for {
            Some(Span(listed_for)) if age + OVERLAP > listed_for => listed_for,
            _ => return ForgottenJobs::default(),
        };
        let missed = Span((age - listed_for).max(0));
        let asked = age.clamp(0, MAX_AGE);
        match self.limits.has_accounting.then(|| accounted(base, asked + OVERLAP)) {
            Some(Ok(jobs)) => {
                let found = self.ended_among(base, &jobs, now);
                ForgottenJobs { found, unwatched: missed.min(Span(age.max(0) - asked)) }
            }
            Some(Err(wrong)) => {
                let site = &base.name;
                tracing::warn!(site, %wrong, "jobs that are listed no more are not known");
                ForgottenJobs { found: Vec::new(), unwatched: missed }
            }
            None => ForgottenJobs { found: Vec::new(), unwatched: missed },
        }
    }

    fn ended_among(&self, base: &Base, jobs: &[SlurmJob], now: Time) -> Vec<EndedJob> {
        let ours = vec![false; jobs.len()];
        self.ended_of(base, &PoolsView { jobs, ours: &ours, now })
    }
}

/// The jobs of all users that had to do with the last so many seconds.
fn accounted(base: &Base, age: i64) -> Result<Vec<SlurmJob>, SiteError> {
    let since = format!("--starttime=now-{age}seconds");
    let words = ["sacct", "--allusers", "-XnP", &since, COLUMNS];
    ours(base, &words).map(|answer| rows(&answer.text()))
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
    let minutes = limit.parse().ok();
    let asked = AskedNodes {
        nodes: nodes.parse().unwrap_or(0),
        limit: minutes.map(|minutes: i64| Span(minutes.saturating_mul(60))),
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

    /// Rows as Slurm 22.05 and 24.11 write them.
    #[test]
    fn rows_of_the_accounting_are_read() {
        let text = "11|ana|phys|main|CANCELLED by 1000|2026-11-22T03:11:39|2026-11-22T03:11:40|\
                    2026-11-22T03:11:52|2|8|UNLIMITED|a[1-2]\n\
                    12|bo||main|CANCELLED by 0|2026-11-22T03:11:39|None|2026-11-22T03:11:52|1|0|5|\
                    None assigned\n13.batch|bo\nx|||||||||||\n";
        let rows = rows(text);
        let [first, second] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(
            (first.id, first.state.as_str(), first.end - first.start),
            (11, "CANCELLED", 12)
        );
        assert!(first.is_over() && first.nodes == ["a1", "a2"]);
        let asked = first.asked.as_deref().unwrap();
        assert_eq!((asked.nodes, asked.limit, asked.account.as_str()), (2, None, "phys"));
        assert!(second.is_over() && second.nodes.is_empty(), "{second:?}");
        assert_eq!((second.start, second.asked.as_deref().unwrap().limit), (0, Some(Span(300))));
    }
}
