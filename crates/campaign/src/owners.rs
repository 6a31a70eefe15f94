//! Owners' jobs that have queues of their own: logs that the grid file names.

use tradewind_io::campaign;
use tradewind_io::diagnostics::{Diagnostic, Diagnostics};
use tradewind_io::grid::{GridFile, OwnersQueue, Wider};
use tradewind_io::input::{self, Input};
use tradewind_io::swf::{self, Log, transform};
use tradewind_model::{OwnersFirst, Pools, Span, Time};
use tradewind_sched::policy::owners::SiteRule;
use tradewind_sim::workload::{LogJob, OwnersLoad};

use crate::policy::PolicySpec;
use crate::rules;
use crate::workload::dated;

/// A queue of owners' jobs, and what is in its log.
pub(crate) struct OwnersSource {
    queue: OwnersQueue,
    rule: SiteRule,
    jobs: Vec<LogJob>,
    /// Jobs that were left out, as they are too wide.
    dropped: usize,
}

/// Reads the owners' logs of a grid file, whose name is `file`.
///
/// # Errors
/// All that is wrong with them, each at its line of the grid file.
pub(crate) fn read(
    grid: &GridFile,
    file: &str,
    logs: &[Result<Input, Diagnostics>],
) -> Result<Vec<OwnersSource>, Diagnostics> {
    let (mut sources, mut wrong) = (Vec::new(), Diagnostics::default());
    let pools = grid.pools(0);
    for (queue, log) in grid.owners.iter().zip(logs) {
        match source(queue, &pools, file, log) {
            Ok(source) => sources.push(source),
            Err(all) => all.iter().for_each(|one| wrong.push(one.clone())),
        }
    }
    match wrong.is_empty() {
        true => Ok(sources),
        false => Err(wrong),
    }
}

fn source(
    queue: &OwnersQueue,
    pools: &Pools,
    file: &str,
    log: &Result<Input, Diagnostics>,
) -> Result<OwnersSource, Diagnostics> {
    let rule = rule(queue, file)?;
    let input = log.as_ref().map_err(|wrong| unreadable(queue, file, wrong))?;
    let log = swf::parse(&*input::unpacked(input)?)?;
    let slice =
        transform::Slice { from: queue.from, to: queue.to, clock: transform::SliceClock::Kept };
    let log = transform::slice(&log, slice);
    let shift = shift(queue, &log);
    let mut jobs: Vec<LogJob> = log.jobs.iter().map(|job| dated(job, 0)).collect();
    jobs.iter_mut().for_each(|job| job.submit = job.submit.map(|at| at + shift));
    let widest = queue.pools.iter().map(|pool| pools.pool(*pool).nodes).max().unwrap_or(0);
    let too_wide = |job: &LogJob| job.processors.is_some_and(|wanted| wanted > widest);
    let all = jobs.len();
    let first = jobs.iter().find(|job| too_wide(job)).map(|job| (job.number, job.processors));
    jobs.retain(|job| !too_wide(job));
    let dropped = all - jobs.len();
    if let Some((number, wanted)) = first.filter(|_| queue.wider == Wider::Error) {
        let message = format!(
            "jobs of `{}` that are wider than the widest pool, {widest} nodes: {dropped}, the first \
             is job {number} with {}",
            queue.log,
            wanted.unwrap_or_default()
        );
        let hint =
            "use a log of a machine of this size, or leave these jobs out: `wider = \"drop\"`";
        return Err(queue.wrong_log(file, message).with_hint(hint).into());
    }
    if jobs.is_empty() {
        let message = format!("no job of `{}` is left", queue.log);
        let hint = "submissions from `from` on and before `to` are taken, of jobs that fit";
        return Err(queue.wrong_log(file, message).with_hint(hint).into());
    }
    Ok(OwnersSource { queue: queue.clone(), rule, jobs, dropped })
}

/// By how much submissions move so that the first is when the file says.
fn shift(queue: &OwnersQueue, log: &Log) -> Span {
    let first = log.jobs.iter().map(|job| job.submit).min().unwrap_or(Time(0));
    queue.start.map_or(Span::ZERO, |start| start - first)
}

fn rule(queue: &OwnersQueue, file: &str) -> Result<SiteRule, Diagnostics> {
    let hint = "`fcfs`, `sjf`, `easy`, `easy[depth=4]`, `easy[order=shortest]` or `conservative`";
    let wrong =
        |message: String| Diagnostics::from(queue.wrong_policy(file, message).with_hint(hint));
    let spec = PolicySpec::parse(&queue.policy).map_err(|failure| {
        let said = failure.problems.first().map(|problem| problem.message.clone());
        wrong(said.unwrap_or_else(|| format!("there is no policy `{}`", queue.policy)))
    })?;
    let rule = spec.owners_rule().ok_or_else(|| {
        wrong(format!("a site's own scheduler cannot work by `{}`", queue.policy))
    })?;
    let tested = queue.tested.unwrap_or(rule.tested);
    let horizon = queue.horizon.unwrap_or(rule.horizon);
    let OwnersFirst { guard, max_delay } = queue.owners_first;
    Ok(SiteRule { tested, horizon, guard, max_delay, ..rule })
}

fn unreadable(queue: &OwnersQueue, file: &str, wrong: &Diagnostics) -> Diagnostics {
    let why = wrong.iter().map(|one: &Diagnostic| one.message.clone());
    let why = why.collect::<Vec<_>>().join("; ");
    let hint = "paths start from the folder of the grid file";
    queue.wrong_log(file, format!("`{}`: {why}", queue.log)).with_hint(hint).into()
}

impl OwnersSource {
    /// Jobs that are replayed.
    pub(crate) fn load(&self, pools: &Pools) -> OwnersLoad {
        let overrun = rules::overrun(self.queue.overrun);
        let own = self.queue.pools.clone();
        let load = OwnersLoad::new(&self.jobs, pools, own, self.rule, overrun);
        OwnersLoad { market: self.queue.market, ..load }
    }

    /// The name of its log, without folders and endings.
    pub(crate) fn name(&self) -> &str {
        campaign::log_name(&self.queue.log)
    }

    /// What was left out, in words.
    pub(crate) fn note(&self, workload: &str) -> Option<String> {
        let (name, dropped) = (self.name(), self.dropped);
        (dropped > 0).then(|| {
            format!(
                "{workload}: owners' jobs of {name} left out, wider than their pools: {dropped}"
            )
        })
    }
}
