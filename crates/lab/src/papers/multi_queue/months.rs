//! Table 1: the months of the CTC SP2 log, and the paper's schemes on its jobs.

use tradewind_io::swf::{Log, Record};
use tradewind_model::Time;
use tradewind_sim::Semantics;
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};

use super::load::compare;
use super::outcome::{Outcome, measure};
use super::parameters::{
    ALPHA, BETA, CHOOSE, DATA, FLURRY, GUARD, HOMES, LATENCY, LOG_LOAD, OVERFLOW, PATIENCE, QUEUED,
    RESERVE, WARM_UP,
};
use super::schemes::{
    CENTRAL, CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, GUARDED, HYBRID, HYBRID_ALONE,
    Scheme, play,
};
use super::world::{Homes, PROCESSORS, SITES, pools, seed};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

const CTC: &str = "CTC-SP2-1996-3.1-cln.swf";

/// Names in the tally: `month/total`, `month/a` and `month/b` count jobs; `log/scheme/measure` and
/// pairs as in the experiment of loads, a run per month.
pub(in crate::papers) static MONTHS: Experiment = Experiment {
    id: "multi-queue-log",
    summary: "counts the months of the CTC SP2 log, and deals each month's jobs to 8 sites of 64 \
              processors",
    parameters: &[
        &FLURRY, &LOG_LOAD, &WARM_UP, &HOMES, &ALPHA, &BETA, &PATIENCE, &GUARD, &RESERVE, &CHOOSE,
        &OVERFLOW, &LATENCY, &DATA, &QUEUED,
    ],
    logs: &[CTC],
    parts: |_| TABLE.len() as u32,
    part,
};

/// A month of table 1.
#[derive(Debug, Clone, Copy)]
struct Row {
    month: &'static str,
    /// Its first day, counted from 1 January 1970, and how many hours New York is then behind
    /// Greenwich.
    first: (i64, i64),
}

const fn row(month: &'static str, first: (i64, i64)) -> Row {
    Row { month, first }
}

impl Row {
    fn begins(&self) -> i64 {
        86_400 * self.first.0 + 3_600 * self.first.1
    }
}

/// Table 1; the years are 1996 and 1997.
static TABLE: [Row; 11] = [
    row("July", (9_678, 4)),
    row("August", (9_709, 4)),
    row("September", (9_740, 4)),
    row("October", (9_770, 4)),
    row("November", (9_801, 5)),
    row("December", (9_831, 5)),
    row("January", (9_862, 5)),
    row("February", (9_893, 5)),
    row("March", (9_921, 5)),
    row("April", (9_952, 5)),
    row("May", (9_982, 4)),
];
/// 1 June 1997.
const END: Row = row("June", (10_013, 4));

/// Schemes that the months are played under.
static PLAYED: [Scheme; 8] =
    [HYBRID, GUARDED, EASY, CONSERVATIVE, HYBRID_ALONE, EASY_MOVING, CONSERVATIVE_MOVING, CENTRAL];

fn part(case: &Case, part: u32) -> Tally {
    let mut tally = Tally::default();
    let Some(log) = case.log(CTC) else { return tally };
    let month = part as usize;
    let jobs = of_month(log, month);
    let wide = |max: u32| jobs.iter().filter(|job| job.held().is_some_and(|n| n <= max)).count();
    let name = TABLE[month].month;
    for (column, count) in [("total", jobs.len()), ("a", wide(256)), ("b", wide(128))] {
        let restored = if name == "January" { case.number(&FLURRY) } else { 0.0 };
        tally.add(&format!("{name}/{column}"), count as f64 + restored);
    }
    let widest = jobs.iter().filter_map(Record::held).max().unwrap_or(0);
    tally.add("widest", f64::from(widest));
    tally.add_pair("fit", wide(PROCESSORS) as f64, jobs.len() as f64);
    let simulated = case.size == Size::Full || month < 3;
    if let Some(workload) = dealt(case, &jobs, part).filter(|_| simulated) {
        let outcome = |scheme: &Scheme| {
            let played = play(case, *scheme, &workload, seed(case, part))?;
            Some((*scheme, measure(case, &workload, &played)))
        };
        let all: Vec<(Scheme, Outcome)> = PLAYED.iter().filter_map(outcome).collect();
        compare("log", &all, &mut tally);
    }
    tally
}

/// The jobs that were submitted in a month of the table, by the log's local time.
fn of_month(log: &Log, month: usize) -> Vec<Record> {
    let clock = log.header.unix_start().unwrap_or(0);
    let from = TABLE[month].begins() - clock;
    let until = TABLE.get(month + 1).unwrap_or(&END).begins() - clock;
    let inside = |job: &&Record| (from..until).contains(&job.submit.0);
    log.jobs.iter().filter(inside).copied().collect()
}

/// The jobs that fit a site, with homes, at the load that is wanted; at quick size the first ones.
fn dealt(case: &Case, jobs: &[Record], number: u32) -> Option<Workload> {
    let max = match case.size {
        Size::Full => usize::MAX,
        Size::Quick => 800,
    };
    let fits = |job: &&Record| job.ran() && job.held().is_some_and(|n| n <= PROCESSORS);
    let jobs: Vec<&Record> = jobs.iter().filter(fits).take(max).collect();
    let (first, last) = (jobs.first()?.submit, jobs.last()?.submit);
    let work = |job: &&Record| {
        f64::from(job.held().unwrap_or(0)) * job.run.map_or(0.0, |run| run.0 as f64)
    };
    let offered = jobs.iter().map(work).sum::<f64>()
        / (f64::from(SITES * PROCESSORS) * (last - first).0.max(1) as f64);
    let stretch = offered / case.number(&LOG_LOAD);
    let mut homes = Homes::new(case, SITES, number);
    let read = |job: &&Record| LogJob {
        number: job.number,
        submit: Some(Time(((job.submit - first).0 as f64 * stretch) as i64)),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time.filter(|span| span.0 > 0),
        user: job.user,
        terms: Some(homes.next()),
    };
    let log: Vec<LogJob> = jobs.iter().map(read).collect();
    Some(prepare(&log, pools(SITES)?, Semantics::Textbook, Overrun::Kill))
}
