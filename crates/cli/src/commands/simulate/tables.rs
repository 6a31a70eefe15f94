//! A finished run as tables: Batsim's aggregates, and the rows of `jobs.parquet`.

use tradewind_io::campaign::{Load, Word as _};
use tradewind_io::jobs_table::{self, Ending, Fate, Finished as Outcome, JobRow, RunLabels};
use tradewind_io::schedule::{Machines, Stay, Tally};
use tradewind_model::{Pools, Span, Time};
use tradewind_sim::metrics::SLOWDOWN_BOUND_S;
use tradewind_sim::workload::{Job, Workload};
use tradewind_sim::{Lost, Ran};

use super::plan::Run;
use super::replay::Finished;
use crate::exit::Failure;

/// The sums of `schedule.csv` and `schedule.json`, and the machine that they are about.
pub(super) fn tally(finished: &Finished<'_>) -> (Tally, Machines) {
    let workload = &finished.prepared.workload;
    let lost = lost(finished);
    let mut tally = Tally::default();
    workload.rejected.iter().for_each(|_| tally.rejected());
    for (index, (job, ran)) in workload.jobs.iter().zip(&finished.run.jobs).enumerate() {
        match ran.refused {
            Some(_) => tally.rejected(),
            None => tally.finished(&Stay {
                submit: job.submit,
                start: ran.start,
                end: ran.end,
                processor_time: i128::from((busy(&workload.pools, job, ran) + lost[index]).0),
                killed: job.killed,
            }),
        }
    }
    let unavailable = tally.ends().map_or(0, |(from, until)| missing(workload, from, until));
    (tally, Machines { processors: workload.processors(), unavailable })
}

/// Processor-seconds of outages between two moments.
fn missing(workload: &Workload, from: Time, until: Time) -> i128 {
    let of = |what: &tradewind_model::Closure| {
        let span = what.until.min(until) - what.from.max(from);
        i128::from(span.0.max(0)) * i128::from(what.nodes)
    };
    workload.outages.iter().map(|outage| of(&outage.what)).sum()
}

/// `jobs.parquet`.
pub(super) fn parquet(finished: &Finished<'_>, run: &Run) -> Result<Vec<u8>, Failure> {
    let labels = RunLabels {
        workload: finished.summary.cell("workload"),
        policy: run.policy.clone(),
        semantics: run.semantics.name().to_owned(),
        overrun: run.overrun.name().to_owned(),
        estimate: run.estimate.name().to_owned(),
        load: run.load.map(Load::thousandths),
        seed: run.seed,
        logs: finished.logs.names.clone(),
        slowdown_bound: Span(SLOWDOWN_BOUND_S),
    };
    jobs_table::jobs_parquet(&labels, &rows(finished), "tradewind simulate")
        .map_err(|error| Failure::data(format!("failed to write jobs.parquet: {error}")))
}

/// One row per job of the logs, in their order.
fn rows(finished: &Finished<'_>) -> Vec<JobRow> {
    let Finished { logs, prepared, run, .. } = finished;
    let workload = &prepared.workload;
    let known = |number: i64| (number >= 0).then_some(number);
    let row = |(index, job): (usize, &tradewind_sim::workload::LogJob)| JobRow {
        log: logs.log_of[index],
        number: job.number,
        submit: job.submit,
        processors: job.processors,
        requested: job.requested,
        user: known(logs.accounts[index].user),
        group: known(logs.accounts[index].group),
        queue: known(logs.accounts[index].queue),
        budget: job.terms.as_ref().and_then(|terms| terms.budget),
        deadline: job.terms.as_ref().and_then(|terms| terms.deadline),
        lost: Span(0),
        fate: Fate::Rejected(String::new()),
    };
    let mut rows: Vec<JobRow> = prepared.jobs.iter().enumerate().map(row).collect();
    for (index, refusal) in &workload.rejected {
        rows[*index].fate = Fate::Rejected(refusal.text().to_owned());
    }
    let lost = lost(finished);
    for ((job, ran), lost) in workload.jobs.iter().zip(&run.jobs).zip(lost) {
        let row = &mut rows[job.source];
        row.processors = Some(job.processors);
        row.requested = Some(job.requested);
        row.lost = lost;
        row.fate = fate(&workload.pools, job, ran);
    }
    rows
}

fn fate(pools: &Pools, job: &Job, ran: &Ran) -> Fate {
    if let Some(reason) = &ran.refused {
        return Fate::Rejected(reason.to_string());
    }
    let first = ran.place.shares(job.processors).next();
    let site = first.map(|share| pools.pool(share.pool).site);
    let priced = pools.iter().any(|(_, pool)| pool.price.0 > 0);
    Fate::Finished(Outcome {
        start: ran.start,
        end: ran.end,
        ending: if job.killed { Ending::Killed } else { Ending::Completed },
        busy: busy(pools, job, ran),
        backfilled: ran.backfilled,
        site: site.map(|site| pools.sites()[site.0 as usize].name.clone()),
        cost: priced.then_some(ran.cost),
    })
}

/// Processor-seconds of the job's last run: tasks on faster nodes end before the others.
fn busy(pools: &Pools, job: &Job, ran: &Ran) -> Span {
    let whole = ran.end - ran.start;
    let of = |share: tradewind_model::Share| {
        let span = pools.pool(share.pool).length_of(job.run).min(whole);
        span.0 * i64::from(share.nodes)
    };
    Span(ran.place.shares(job.processors).map(of).sum())
}

/// By index in the workload's jobs: processor-seconds of runs that were interrupted.
fn lost(finished: &Finished<'_>) -> Vec<Span> {
    let workload = &finished.prepared.workload;
    let mut spans = vec![Span(0); workload.jobs.len()];
    for Lost { job, start, end, .. } in &finished.run.lost {
        spans[*job].0 += (*end - *start).0 * i64::from(workload.jobs[*job].processors);
    }
    spans
}
