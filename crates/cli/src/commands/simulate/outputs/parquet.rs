//! `jobs.parquet`.

use tradewind_campaign::fates::{Fate, Fates, Life};
use tradewind_campaign::replay::Finished;
use tradewind_io::decimal;
use tradewind_io::jobs_table::{
    self, Ending, Finished as Row, JobOutcome as TableFate, JobRow, RunLabels,
};
use tradewind_io::swf::Record;
use tradewind_model::Span;
use tradewind_sim::metrics;
use tradewind_sim::workload::LogJob;

use crate::exit::Failure;

/// The whole file.
pub(super) fn jobs(finished: &Finished<'_>, fates: &Fates<'_>) -> Result<Vec<u8>, Failure> {
    let (prepared, summary) = (&finished.prepared, &finished.summary);
    let load = decimal::parse(&summary.cell("load"), 3).ok();
    let labels = RunLabels {
        workload: summary.cell("log"),
        policy: summary.cell("policy"),
        semantics: summary.cell("semantics"),
        overrun: summary.cell("overrun"),
        estimate: summary.cell("estimate"),
        load: load.and_then(|load| u32::try_from(load).ok()),
        seed: summary.cell("seed").parse().ok(),
        logs: prepared.logs.iter().map(|log| log.name.clone()).collect(),
        slowdown_bound: metrics::MetricOptions::default().slowdown_bound,
    };
    let jobs = prepared.jobs.iter().zip(prepared.records()).zip(fates.iter());
    let row = |((job, (log, record)), fate): ((&LogJob, (usize, &Record)), &Fate<'_>)| {
        row(log, job, record, fate, finished)
    };
    let rows: Vec<JobRow> = jobs.map(row).collect();
    jobs_table::jobs_parquet(&labels, &rows, "tradewind simulate")
        .map_err(|error| Failure::data(format!("jobs.parquet: {error}")))
}

fn row(
    log: usize,
    job: &LogJob,
    record: &Record,
    fate: &Fate<'_>,
    finished: &Finished<'_>,
) -> JobRow {
    let known = |number: i64| Some(number).filter(|number| *number >= 0);
    let terms = job.terms.as_deref();
    let row = JobRow {
        log,
        number: job.number,
        submit: job.submit,
        processors: job.processors,
        requested: job.requested,
        user: known(record.user),
        group: known(record.group),
        queue: known(record.queue),
        budget: terms.and_then(|terms| terms.budget),
        deadline: terms.and_then(|terms| terms.deadline),
        lost: Span::ZERO,
        fate: TableFate::Rejected(String::new()),
    };
    match fate {
        Fate::Rejected(reason) => JobRow { fate: TableFate::Rejected(reason.clone()), ..row },
        Fate::Ran(life) => JobRow {
            processors: Some(life.job.processors),
            requested: Some(life.job.requested),
            lost: span(life.lost),
            fate: TableFate::Finished(ran(life, finished)),
            ..row
        },
    }
}

fn ran(life: &Life<'_>, finished: &Finished<'_>) -> Row {
    let pools = &finished.prepared.workload.pools;
    let first = life.ran.place.shares(life.job.processors).next();
    let site = first.map(|share| &pools.sites()[pools.pool(share.pool).site.0 as usize].name);
    let priced = pools.as_slice().iter().any(|pool| pool.price.0 > 0);
    Row {
        start: life.ran.start,
        end: life.ran.end,
        ending: if life.job.killed { Ending::Killed } else { Ending::Completed },
        busy: span(life.busy),
        backfilled: life.ran.backfilled,
        // A single cluster has no name to speak of.
        site: site.filter(|_| pools.sites().len() > 1).cloned(),
        cost: priced.then_some(life.ran.cost),
    }
}

fn span(processor_seconds: i128) -> Span {
    Span(i64::try_from(processor_seconds).unwrap_or(i64::MAX))
}
