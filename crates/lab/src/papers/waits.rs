//! A study of our own: ranges of waits on nine public logs, each forecast in the second of its job's
//! submission.

use std::sync::Arc;

use tradewind_io::swf::{Log, Record};
use tradewind_model::Pools;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sched::policy::local::{PlainSettings, QueueOrder};
use tradewind_sched::predict::LastTwo;
use tradewind_sim::forecast::{Baseline, ForecastOptions, Month, Score, forecast, score};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics};

use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// With so many results that do not depend on each other, a range for 50 of 100 that is right is off by
/// five points or more in one month of three; with fewer, more often.
const ENOUGH: u64 = 100;

/// A log: its name here, and its processors if its header does not say.
#[derive(Debug, Clone, Copy)]
struct Machine {
    file: &'static str,
    name: &'static str,
    processors: Option<u32>,
}

const fn machine(file: &'static str, name: &'static str) -> Machine {
    Machine { file, name, processors: None }
}

static MACHINES: [Machine; 9] = [
    machine("KTH-SP2-1996-2.1-cln.swf", "KTH SP2"),
    machine("CTC-SP2-1996-3.1-cln.swf", "CTC SP2"),
    machine("SDSC-SP2-1998-4.2-cln.swf", "SDSC SP2"),
    machine("SDSC-BLUE-2000-4.2-cln.swf", "SDSC BLUE"),
    machine("CEA-Curie-2011-2.1-cln.swf", "CEA Curie"),
    machine("LLNL-Thunder-2007-1.1-cln.swf", "LLNL Thunder"),
    machine("HPC2N-2002-2.2-cln.swf", "HPC2N"),
    machine("LPC-EGEE-2004-1.2-cln.swf", "LPC EGEE"),
    Machine { file: "METACENTRUM-2009-2.swf", name: "MetaCentrum", processors: Some(806) },
];
static FILES: [&str; MACHINES.len()] = {
    let (mut files, mut at) = ([""; MACHINES.len()], 0);
    while at < MACHINES.len() {
        files[at] = MACHINES[at].file;
        at += 1;
    }
    files
};

/// Names in the tally begin with the log's: `KTH SP2/covered/80` is the share of starts within the
/// range, of 100, `width/80` and `median-width/80` hours, `off` the number of months in which a
/// range is more than five points off, `furthest` the largest distance, `bounds` the share of
/// starts that come no later than each bound. `long-months` and `long-off` are the same of months in which
/// at least a hundred jobs waited one after the other.
pub(in crate::papers) static WAITS: Experiment = Experiment {
    id: "waits",
    summary: "replays a log under EASY and forecasts each job's start at its submission",
    parameters: &[],
    logs: &FILES,
    parts: |_| MACHINES.len() as u32,
    part,
};

fn part(case: &Case, part: u32) -> Tally {
    let mut tally = Tally::default();
    let machine = &MACHINES[part as usize];
    let workload = case.log(machine.file).and_then(|log| workload(log, machine, case.size));
    let Some(score) = workload.as_ref().and_then(scored) else { return tally };
    tally.add("logs", 1.0);
    count(machine.name, &score, &mut tally);
    tally
}

/// The log's jobs; at quick size the first ones.
fn workload(log: &Log, machine: &Machine, size: Size) -> Option<Workload> {
    let most = match size {
        Size::Full => usize::MAX,
        Size::Quick => 2_000,
    };
    let nodes = machine.processors.or(log.header.max_procs())?;
    let read = |job: &Record| LogJob {
        number: job.number,
        submit: Some(job.submit),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time.filter(|span| span.0 > 0),
        user: job.user,
        terms: None,
    };
    let jobs: Vec<LogJob> = log.jobs.iter().take(most).map(read).collect();
    Some(prepare(&jobs, Arc::new(Pools::cluster(nodes)), Semantics::Textbook, Overrun::Kill))
}

/// As `tradewind forecast` does with its defaults.
fn scored(workload: &Workload) -> Option<Score> {
    let scheduler = PlainSettings { depth: Depth::First(1), turn: QueueOrder::Arrival };
    let options = ForecastOptions::new(scheduler, Box::<LastTwo>::default());
    let mut easy = Backfill::new(BackfillSettings::default());
    let made = forecast(workload, ReplaySettings::default(), &mut easy, options, Vec::new());
    made.ok().map(|(_, made)| score(&made))
}

fn count(log: &str, score: &Score, tally: &mut Tally) {
    let hours = |seconds: f64| seconds / 3_600.0;
    let mut add = |name: &str, number: f64| tally.add(&format!("{log}/{name}"), number);
    add("jobs", score.jobs as f64);
    add("waited", (score.jobs - score.at_once) as f64);
    add("mean-wait", hours(score.mean_wait));
    add("correlation", score.correlation);
    add("correlation-waited", score.correlation_waiting);
    add("error", hours(score.mean_error));
    for held in &score.levels {
        add(&format!("covered/{}", held.level), held.covered());
        add(&format!("width/{}", held.level), hours(held.mean_width));
        add(&format!("median-width/{}", held.level), hours(held.median_width.0 as f64));
    }
    let baselines = [("binomial", &score.binomial), ("requested", &score.requested)];
    for (name, Baseline { held, correlation, .. }) in baselines {
        add(&format!("{name}/covered"), held.covered());
        add(&format!("{name}/width"), hours(held.mean_width));
        add(&format!("{name}/correlation"), correlation.unwrap_or(f64::NAN));
    }
    let off = |covered: &[f64; 3]| {
        let each = covered.iter().zip(&score.levels);
        each.map(|(covered, held)| (covered - f64::from(held.level)).abs()).fold(0.0, f64::max)
    };
    let months: Vec<f64> = score.months.iter().map(|month| off(&month.covered)).collect();
    let enough = |month: &&Month| month.apart >= ENOUGH;
    let long: Vec<f64> =
        score.months.iter().filter(enough).map(|month| off(&month.covered)).collect();
    for (name, months) in [("", &months), ("long-", &long)] {
        add(&format!("{name}months"), months.len() as f64);
        add(&format!("{name}off"), months.iter().filter(|off| **off > 5.0).count() as f64);
    }
    add("furthest", months.iter().copied().fold(0.0, f64::max));
    for bound in &score.bounds {
        tally.add_point(&format!("{log}/bounds"), bound.said, bound.came);
    }
}
