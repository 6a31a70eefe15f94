//! A scheduling policy of one's own, replayed on a log: `own-policy LOG.swf[.gz]`.
//!
//! The rule: the narrowest job first, but no job overtakes one that has waited for six hours.
#![expect(clippy::print_stdout, reason = "its results go there")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use tradewind_model::{Command, Event, JobId, Market, Place, PoolId, Pools, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sim::metrics;
use tradewind_sim::workload::{self, LogJob, Overrun};
use tradewind_sim::{ReplaySettings, Semantics, check};
use tradewind_swf as swf;

const PATIENCE: Span = Span(6 * 3_600);

/// Jobs that wait, with the time of their submission.
#[derive(Default)]
struct Patient {
    waiting: BTreeMap<JobId, Time>,
}

impl Policy for Patient {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        for event in events {
            if let Event::Submitted { job, .. } = event {
                self.waiting.insert(*job, now);
            }
        }
        let width = |job| market.demand(job).map_or(0, |demand| demand.processors);
        let impatient = |since: Time| since + PATIENCE <= now;
        let mut queue: Vec<(bool, u32, JobId)> = self
            .waiting
            .iter()
            .map(|(&job, &since)| match impatient(since) {
                true => (false, 0, job), // first of all, in the order of submission
                false => (true, width(job), job),
            })
            .collect();
        queue.sort_unstable();
        let mut free = market.free();
        for (patient, _, job) in queue {
            if width(job) <= free {
                free -= width(job);
                self.waiting.remove(&job);
                commands.push(Command::Start { job, place: Place::Pool(PoolId(0)) });
            } else if !patient {
                break;
            }
        }
        // Patience ends without an event: ask for a pass then.
        let next = self.waiting.values().map(|&since| since + PATIENCE).find(|&at| at > now);
        commands.extend(next.map(|at| Command::Wake { at }));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: own-policy LOG.swf[.gz]")?;
    let log = swf::load(&path)?;
    let processors = log.header.max_procs().ok_or("the log's header has no MaxProcs")?;
    let jobs: Vec<LogJob> = log
        .jobs
        .iter()
        .map(|job| LogJob {
            number: job.number,
            submit: Some(job.submit),
            run: job.run,
            processors: job.held(),
            requested: job.requested_time,
            user: job.user,
            terms: None,
        })
        .collect();
    let pools = Arc::new(Pools::cluster(processors));
    let workload = workload::prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill);
    let mut policy = Patient::default();
    let mut checkers = check::all(policy.promise());
    let run = tradewind_sim::run(&workload, ReplaySettings::default(), &mut policy, &mut checkers)?;
    let measured = metrics::measure(&workload, &run, metrics::MetricOptions::default());
    for entry in measured.entries() {
        let Some(value) = entry.value else { continue };
        println!("{:<24} {:>16.2} {}", entry.name, value.as_f64(), entry.unit.symbol());
    }
    Ok(())
}
