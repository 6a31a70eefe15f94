//! Runs of long logs that are read as they are replayed, where nothing needs more than sums.
//!
//! The same summary as [`crate::replay::replay`] gives, in memory that grows by 12 bytes per job. A
//! log that cannot be replayed line by line (unsorted, damaged, without the size of its machine) is
//! read whole instead, so that it is treated, or refused, as a short one is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tradewind_io::campaign::{Campaign, Output, Semantics, Trim, Workload as Spec, log_name};
use tradewind_io::swf::{self, Header};
use tradewind_model::Pools;
use tradewind_sim::metrics::Tally;
use tradewind_sim::stream::{StreamError, Streamed, stream};
use tradewind_sim::workload::{Job, Overrun, Refusal, Workload, replayable};

use crate::failure::{Exit, Failure};
use crate::plan::{Plan, Run};
use crate::policy::{Layout, PolicySpec};
use crate::replay::{Signals, Watch, misbehaved};
use crate::rules;
use crate::summary::Summary;
use crate::workload::{WorkloadFiles, dated};

/// From this size of its file on, in bytes, a log is long.
pub const LONG: u64 = 4 << 20;

/// What messages say of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFacts {
    /// As results name it.
    pub name: String,
    /// What it says of itself.
    pub header: Header,
    /// Jobs with a time of submission.
    pub jobs: usize,
    /// Those of them that do not say how long they ask to run.
    pub without_request: usize,
    /// Jobs with the number of another one.
    pub repeated: usize,
}

/// What of each run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The summary.
    Summary,
    /// The files that the campaign names, too.
    Files,
}

/// Why long logs of this campaign are read whole, in words; `None`: they are streamed.
pub fn why_whole(campaign: &Campaign, plan: &Plan, watch: Watch, kept: Kept) -> Option<String> {
    let files = || campaign.outputs.iter().any(|output| *output != Output::Summary);
    if watch == Watch::EveryStep {
        return Some("`--check` follows every job of the log".to_owned());
    }
    if kept == Kept::Files && files() {
        return Some("files have a row for each job; `--outputs summary` has none".to_owned());
    }
    if campaign.trim != Trim::default() {
        return Some("warm-up and cool-down depend on the whole log".to_owned());
    }
    if let Some(spec) = campaign.workloads.iter().find(|spec| !is_one_plain_log(spec)) {
        return Some(format!("`{}` is more than one log on one cluster", spec.name));
    }
    let whole = plan.runs.iter().find(|run| policy_of(run).is_none());
    whole.map(|run| format!("`{}` is replayed from a whole log", run.decider.text()))
}

/// The policy, if the run can be streamed under it.
fn policy_of(run: &Run) -> Option<&PolicySpec> {
    let policy = run.decider.ours().filter(|policy| policy.needs_no_workload())?;
    (run.semantics == Semantics::Textbook && run.load.is_none()).then_some(policy)
}

fn is_one_plain_log(spec: &Spec) -> bool {
    let Spec { logs, model, users, grid, outages, side, from, to, squeeze, .. } = spec;
    let Spec { homes, dependencies, keep_to, memory, moldable, preemptible, nodes, .. } = spec;
    logs.len() == 1
        && [model, grid, outages, side, moldable, preemptible].into_iter().all(Option::is_none)
        && (users, squeeze, homes, nodes) == (&None, &None, &None, &None)
        && (from, to, dependencies, memory) == (&None, &None, &None, &None)
        && keep_to.is_empty()
}

/// Whether a log is a long file; standard input and pipes are not, as they can be read only once.
pub(crate) fn is_long(path: &str) -> bool {
    let about = std::fs::metadata(path);
    path != "-" && about.is_ok_and(|about| about.is_file() && about.len() > LONG)
}

/// Why no more jobs come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// From outside.
    Signal,
    /// The log has to be read whole.
    Log,
}

/// The jobs of a log that can run, as they are read.
struct Jobs<'a> {
    records: swf::Records,
    processors: u32,
    overrun: Overrun,
    rejected: BTreeMap<&'static str, usize>,
    numbers: Numbers,
    signals: &'a Signals,
}

impl Jobs<'_> {
    fn reject(&mut self, why: Refusal, count: usize) {
        if count > 0 {
            *self.rejected.entry(why.text()).or_default() += count;
        }
    }
}

impl Iterator for Jobs<'_> {
    type Item = Result<Job, Stop>;

    fn next(&mut self) -> Option<Result<Job, Stop>> {
        loop {
            if self.signals.stopped() {
                return Some(Err(Stop::Signal));
            }
            let Ok(record) = self.records.next()? else { return Some(Err(Stop::Log)) };
            if !self.numbers.add(record.number) {
                return Some(Err(Stop::Log));
            }
            let semantics = rules::semantics(Semantics::Textbook);
            match replayable(&dated(&record, 0), semantics, self.overrun) {
                Ok(job) if job.processors > self.processors => self.reject(Refusal::TooWide, 1),
                Ok(job) => return Some(Ok(job)),
                Err(why) => self.reject(why, 1),
            }
        }
    }
}

/// Which numbers were there, a bit each where they are close together.
#[derive(Debug, Default)]
struct Numbers {
    pages: BTreeMap<i64, Box<[u64; 128]>>,
    repeated: usize,
}

impl Numbers {
    /// Pages of 1 KiB that may be there at a time.
    const MOST: usize = 1 << 16;

    /// Adds a number; `false`: there is no room for it, as they are far apart.
    fn add(&mut self, number: i64) -> bool {
        let (page, bit) = (number.div_euclid(8_192), number.rem_euclid(8_192) as usize);
        let bits = self.pages.entry(page).or_insert_with(|| Box::new([0; 128]));
        let (word, mask) = (&mut bits[bit / 64], 1 << (bit % 64));
        self.repeated += usize::from(*word & mask != 0);
        *word |= mask;
        self.pages.len() <= Numbers::MOST
    }
}

/// Replays the run while its log is read. `None`: it has to be read whole.
///
/// # Errors
/// The policy's, and if the run was stopped.
pub fn replay(
    campaign: &Campaign,
    run: &Run,
    source: &WorkloadFiles<'_>,
    signals: &Arc<Signals>,
) -> Result<Option<(Summary, Streamed)>, Failure> {
    let spec = &campaign.workloads[run.workload];
    let Some((path, policy)) = spec.logs.first().zip(policy_of(run)) else { return Ok(None) };
    let Ok(records) = swf::records(path) else { return Ok(None) };
    let header = records.header.clone();
    let Some(processors) = spec.procs.or(header.max_procs()) else { return Ok(None) };
    let pools = Arc::new(Pools::cluster(processors));
    let nothing = Workload::new(Arc::clone(&pools), Vec::new());
    let mut decides = policy.for_replay(&nothing, Layout::Pools, run.seed);
    let (overrun, rejected) = (rules::overrun(run.overrun), BTreeMap::new());
    let numbers = Numbers::default();
    let mut jobs = Jobs { records, processors, overrun, rejected, numbers, signals };
    let mut tally = Tally::default();
    let mut done = |id, job, ran| {
        signals.ended.fetch_add(1, Ordering::Relaxed);
        tally.add(id, &job, &ran);
    };
    let estimate = rules::estimate(run.estimate);
    let result = stream(pools, &mut jobs, estimate, decides.as_mut(), &mut done);
    let streamed = match result {
        Ok(streamed) if streamed.jobs > 0 => streamed,
        Err(StreamError::Replay(error)) => return Err(misbehaved(policy, &error)),
        Err(StreamError::Source(Stop::Signal)) => {
            return Err(Failure { exit: Exit::Interrupted, ..Failure::quiet() });
        }
        Ok(_) | Err(_) => return Ok(None),
    };
    let undated = std::mem::take(&mut jobs.records.undated);
    jobs.reject(Refusal::NoSubmit, undated.len());
    if !undated.into_iter().all(|number| jobs.numbers.add(number)) {
        return Ok(None);
    }
    let summary = &jobs.records.summary;
    source.was_streamed(LogFacts {
        name: log_name(path).to_owned(),
        header,
        jobs: summary.jobs - summary.without_submit,
        without_request: summary.without_request,
        repeated: jobs.numbers.repeated,
    });
    let metrics = tally.measure(&nothing.pools, &streamed, jobs.rejected);
    Ok(Some((Summary::new(campaign, run, &nothing, None, &metrics), streamed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_again_when_they_come_again() {
        let mut numbers = Numbers::default();
        for number in [5, -5, i64::MAX, i64::MIN, 5, 8_191, 8_192, -5, 5] {
            assert!(numbers.add(number));
        }
        assert_eq!(numbers.repeated, 3);
        let far = |at: i64| at * 8_192 * 3;
        let fits = (0..70_000).take_while(|at| numbers.add(far(*at))).count();
        assert!((60_000..=Numbers::MOST).contains(&fits), "{fits}");
    }
}
