//! `tradewind forecast`: a log is replayed, each job's start is forecast at its submission, and the
//! forecasts are scored.
//!
//! `args` is the command line, `document` what is printed, `page` and `pictures` what is written.

mod args;
mod document;
mod page;
mod pictures;

use tradewind_model::Span;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::local::{PlainSettings, QueueOrder};
use tradewind_sim::forecast::{self, Forecasted, Score};
use tradewind_sim::workload;

use crate::commands::simulate::single::Replayed;
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::policy::Layout;
use crate::report::Report;
pub(crate) use args::Args;

/// A job as the log has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logged {
    number: i64,
    processors: u32,
    requested: Span,
}

/// A replay that is over.
pub(super) struct Finished {
    score: Score,
    made: Vec<Forecasted>,
    /// What the log says of the jobs, by index.
    logged: Vec<Logged>,
    processors: u32,
    /// Jobs of which the log does not say how long they asked to run.
    without_request: usize,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let single = args.single();
    let work = |replayed: Replayed<'_>| {
        let Replayed { workload, settings, policy: spec, listener, without_request } = replayed;
        let mut policy = spec.for_replay(workload, Layout::Pools, None);
        let plain = PlainSettings { depth: Depth::First(1), turn: QueueOrder::Arrival };
        let scheduler = spec
            .owners_rule()
            .map_or(plain, |rule| PlainSettings { depth: rule.depth, turn: rule.turn });
        let options = forecast::ForecastOptions::new(scheduler, args.lengths().learner());
        let (_, made) =
            forecast::forecast(workload, settings, policy.as_mut(), options, vec![listener])?;
        Ok(Finished {
            score: forecast::score(&made),
            made,
            logged: workload.jobs.iter().map(logged).collect(),
            processors: workload.processors(),
            without_request,
        })
    };
    let Some(finished) = single.replay(report, work)? else {
        report.note("stopped");
        return Ok(Exit::Interrupted);
    };
    say(&finished, report);
    if let Some(folder) = &args.report {
        page::write(folder, args, &finished)?;
    }
    document::print(args, &finished, format)?;
    Ok(Exit::Ok)
}

fn logged(job: &workload::Job) -> Logged {
    let workload::Job { number, processors, requested, .. } = *job;
    Logged { number, processors, requested }
}

/// What a reader of the numbers should know.
fn say(finished: &Finished, report: &Report) {
    let Finished { score, without_request, .. } = finished;
    if *without_request > 0 {
        report.note(&format!(
            "jobs without a requested time are taken to request what they ran: {without_request}; \
             forecasts of their starts are better than they can be live"
        ));
    }
    if score.jobs == score.at_once {
        report.note("no job had to wait: there is nothing to score");
    }
}
