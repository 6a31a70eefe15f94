//! What happened to preemptible jobs: how often they lost their nodes, and how much of what they used
//! counts.

use std::collections::BTreeMap;

use tradewind_model::{Share, Span};

use super::entry::{Better, Entry, Unit, Value};
use super::{Counted, entry, quotient, stays};
use crate::result::{LossCause, Lost, Ran, Run};
use crate::workload::Workload;

/// The time at the beginning of a run in which its data came, and it went on from what was kept.
fn restart(workload: &Workload, run: &Run, job: usize) -> Span {
    let (of, ran) = (&workload.jobs[job], &run.jobs[job]);
    let Some(terms) = of.preemptible().filter(|_| run.kept.contains_key(&job)) else {
        return Span::ZERO;
    };
    let mode = of.terms.as_ref().map_or(Default::default(), |terms| terms.times);
    let data = of.terms.as_ref().and_then(|terms| terms.data.as_ref());
    let length = |share: Share| {
        let pool = workload.pools.pool(share.pool);
        let times = data.and_then(|staging| staging.at(pool.site)).unwrap_or_default();
        pool.length_in(mode, terms.restart) + times.stage_in
    };
    ran.place.shares(of.processors).map(length).max().unwrap_or_default()
}

/// A job that kept work of earlier runs, as if all its useful time were one run that ended when the
/// last did: so that its wait is all other time. `None`: nothing was kept.
pub(super) fn as_one_run(workload: &Workload, run: &Run, job: usize) -> Option<Ran> {
    run.kept.get(&job)?;
    let ran = &run.jobs[job];
    // Interruptions are few and in the order of time, not of jobs.
    let earlier = run.lost.iter().filter(|lost| lost.job == job).map(|lost| useful(lost).0);
    let last = (ran.end - ran.start).0 - restart(workload, run, job).0;
    let useful = Span(earlier.sum::<i64>() + last.max(0));
    let start = ran.end - useful;
    Some(Ran { start: start.max(workload.jobs[job].submit), ..ran.clone() })
}

/// What counts of an interrupted run, without the restart.
fn useful(lost: &Lost) -> Span {
    match lost.cut.progress > Span::ZERO {
        true => lost.cut.useful,
        false => Span::ZERO,
    }
}

/// Node-seconds of preemptible jobs.
#[derive(Debug, Default)]
struct Use {
    all: i128,
    lost: i128,
    restarts: i128,
}

impl Use {
    fn of(workload: &Workload, run: &Run, counted: Counted) -> Use {
        let mut sums = Use::default();
        let counts = |job: usize| {
            let of = &workload.jobs[job];
            of.preemptible().is_some() && counted.has(of.submit)
        };
        for job in (0..run.jobs.len()).filter(|job| counts(*job)) {
            let restart = i128::from(restart(workload, run, job).0);
            for stay in stays::of_job(workload, run, job) {
                sums.all += stay.work();
                sums.restarts += i128::from(stay.nodes) * restart;
            }
        }
        for lost in run.lost.iter().filter(|lost| counts(lost.job)) {
            let keeps = lost.cut.progress > Span::ZERO;
            let restart = i128::from(if keeps { lost.cut.restart.0 } else { 0 });
            for stay in stays::of_lost(workload, lost) {
                sums.all += stay.work();
                sums.restarts += i128::from(stay.nodes) * restart;
            }
            sums.lost += stays::in_vain(workload, lost).map(|stay| stay.work()).sum::<i128>();
        }
        sums
    }
}

/// Nothing if no job is preemptible.
pub(super) fn entries(workload: &Workload, run: &Run, counted: Counted) -> Vec<Entry> {
    use Better::{Higher, Lower, Neither};
    use Unit::{Count, NodeSeconds, Ratio, Seconds};
    let ours = |job: &&crate::workload::Job| job.preemptible().is_some() && counted.has(job.submit);
    let count = workload.jobs.iter().filter(ours).count();
    if workload.jobs.iter().all(|job| job.preemptible().is_none()) {
        return Vec::new();
    }
    let taken = |lost: &&Lost| {
        lost.cause == LossCause::Preemption && counted.has(workload.jobs[lost.job].submit)
    };
    let preemptions = run.lost.iter().filter(taken).count();
    let sums = Use::of(workload, run, counted);
    let useful = sums.all - sums.lost - sums.restarts;
    let mut turned: BTreeMap<bool, (i128, i128)> = BTreeMap::new();
    let ran = workload.jobs.iter().zip(&run.jobs).filter(|(_, ran)| ran.refused.is_none());
    for (job, ran) in ran.filter(|(job, _)| counted.has(job.submit)) {
        let (sum, jobs) = turned.entry(job.preemptible().is_some()).or_default();
        *sum += i128::from((ran.end - job.submit).0);
        *jobs += 1;
    }
    let mean = |preemptible| turned.get(&preemptible).and_then(|(sum, jobs)| quotient(*sum, *jobs));
    let filled = run.counts.iter().find(|(name, _)| *name == "filled_gaps");
    let filled = filled.map(|(_, count)| Value::Whole(i128::from(*count)));
    vec![
        entry("preemptible_jobs", Count, Neither, Value::Whole(count as i128)),
        entry("preemptions", Count, Lower, Value::Whole(preemptions as i128)),
        entry("filled_gaps", Count, Neither, filled),
        entry("preemptible_used_node_s", NodeSeconds, Neither, Value::Whole(sums.all)),
        entry("preemptible_lost_node_s", NodeSeconds, Lower, Value::Whole(sums.lost)),
        entry("preemptible_restarts_node_s", NodeSeconds, Lower, Value::Whole(sums.restarts)),
        entry("preemptible_useful_share", Ratio, Higher, quotient(useful, sums.all)),
        entry("preemptible_mean_turnaround_s", Seconds, Lower, mean(true)),
        entry("firm_mean_turnaround_s", Seconds, Lower, mean(false)),
    ]
}
