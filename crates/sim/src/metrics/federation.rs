//! What only a grid of several sites has: overtaking at home, messages, jobs that move.

use std::collections::BTreeMap;

use tradewind_model::{SiteId, Time};

use super::entry::{Better, Entry, Unit, Value};
use super::{Counted, entry, quotient};
use crate::result::Run;
use crate::workload::{Job, Workload};

/// Nothing for fewer than two sites. O(n log sites) for n jobs.
pub(super) fn entries(workload: &Workload, run: &Run, counted: Counted) -> Vec<Entry> {
    if workload.pools.sites().len() < 2 {
        return Vec::new();
    }
    let Overtaking { queued, overtook } = overtaking(workload, run, counted);
    let away = away(workload, run, counted);
    let mut entries = vec![
        entry("site_backfill_ratio", Unit::Ratio, Better::Neither, quotient(overtook, queued)),
        entry("jobs_away", Unit::Count, Better::Neither, Value::Whole(away)),
    ];
    entries.extend(said(workload, run));
    entries
}

/// Jobs that met a queue at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Overtaking {
    /// They waited, or started before an earlier one of the same home.
    queued: i128,
    overtook: i128,
}

fn home(job: &Job) -> Option<SiteId> {
    job.terms.as_ref()?.home
}

/// A job overtook if one that was submitted before it at the same home started after it, wherever
/// both ran.
fn overtaking(workload: &Workload, run: &Run, counted: Counted) -> Overtaking {
    let mut latest: BTreeMap<Option<SiteId>, Time> = BTreeMap::new();
    let mut found = Overtaking::default();
    let jobs = workload.jobs.iter().zip(&run.jobs);
    for (job, ran) in jobs.filter(|(_, ran)| ran.refused.is_none()) {
        let latest = latest.entry(home(job)).or_insert(Time::MIN);
        let overtook = *latest > ran.start;
        *latest = (*latest).max(ran.start);
        if counted.has(job.submit) {
            found.queued += i128::from(overtook || ran.start > job.submit);
            found.overtook += i128::from(overtook);
        }
    }
    found
}

/// Jobs that ran on nodes of other sites than their home.
fn away(workload: &Workload, run: &Run, counted: Counted) -> i128 {
    let jobs = workload.jobs.iter().zip(&run.jobs);
    let counts = jobs.filter(|(job, ran)| ran.refused.is_none() && counted.has(job.submit));
    let away = counts.filter(|(job, ran)| {
        let mut shares = ran.place.shares(job.processors);
        let elsewhere = |home| shares.any(|share| workload.pools.pool(share.pool).site != home);
        home(job).is_some_and(elsewhere)
    });
    away.count() as i128
}

/// What the sites and the policy counted themselves, over the whole run, and messages per job of the workload.
fn said(workload: &Workload, run: &Run) -> Vec<Entry> {
    let count = |(name, count): &(&str, u64)| {
        let better = if *name == "fallbacks_taken" { Better::Neither } else { Better::Lower };
        entry(name, Unit::Count, better, Value::Whole((*count).into()))
    };
    // Starts before owners are among the measures of preemptible jobs.
    let other = run.counts.iter().filter(|(name, _)| *name != "filled_gaps");
    let mut entries: Vec<Entry> = other.map(count).collect();
    if let Some((_, messages)) = run.counts.iter().find(|(name, _)| *name == "messages") {
        let each = quotient((*messages).into(), workload.jobs.len() as i128);
        entries.push(entry("messages_per_job", Unit::Ratio, Better::Lower, each));
    }
    entries
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tradewind_model::{
        Admission, Attributes, Performance, Place, Pool, PoolId, Pools, Price, Site, Span, Terms,
        Times,
    };

    use super::*;
    use crate::metrics::{MetricOptions, Metrics, measure};
    use crate::result::Ran;

    fn pools() -> Arc<Pools> {
        let pool = |index: u32| Pool {
            name: format!("p{index}"),
            site: SiteId(index),
            nodes: 8,
            performance: Performance::REFERENCE,
            price: Price(0),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        };
        let sites = vec![Site { name: "a".into() }, Site { name: "b".into() }];
        Arc::new(Pools::new(sites, vec![pool(0), pool(1)]).unwrap())
    }

    /// A job: submitted, started, run time, home, where it ran.
    type Row = (i64, i64, i64, u32, u32);

    fn replayed(rows: &[Row], counts: Vec<(&'static str, u64)>) -> (Workload, Run) {
        let job = |(at, &(submit, _, run, home, _)): (usize, &Row)| Job {
            source: at,
            number: at as i64,
            submit: Time(submit),
            run: Span(run),
            processors: 1,
            requested: Span(run),
            user: 0,
            killed: false,
            terms: Some(Arc::new(Terms { home: Some(SiteId(home)), ..Terms::NONE })),
        };
        let ran = |&(_, start, run, _, pool): &Row| Ran {
            start: Time(start),
            end: Time(start + run),
            place: Place::Pool(PoolId(pool)),
            ..Ran::nothing(Time(0))
        };
        let jobs = rows.iter().enumerate().map(job).collect();
        let workload = Workload::new(pools(), jobs);
        let run = Run {
            submitted: vec![],
            jobs: rows.iter().map(ran).collect(),
            trades: vec![],
            lost: vec![],
            kept: Default::default(),
            income: vec![0, 0],
            passes: 0,
            owners: vec![],
            counts,
        };
        (workload, run)
    }

    fn measured(rows: &[Row], counts: Vec<(&'static str, u64)>) -> Metrics {
        let (workload, run) = replayed(rows, counts);
        measure(&workload, &run, MetricOptions::default())
    }

    #[test]
    fn a_job_overtakes_those_of_its_own_home_only() {
        let rows = [
            (0, 0, 10, 0, 0),
            (1, 50, 10, 0, 0),
            // Overtakes the second at home, though it runs elsewhere.
            (2, 20, 10, 0, 1),
            // At another home no job waits, or has to wait.
            (3, 3, 10, 1, 1),
        ];
        let found = measured(&rows, vec![("messages", 6), ("migrations", 1)]);
        let get = |name| found.get(name).unwrap().as_f64();
        assert_eq!((get("site_backfill_ratio"), get("jobs_away")), (0.5, 1.0));
        assert_eq!((get("messages_per_job"), get("migrations")), (1.5, 1.0));
        assert_eq!(measured(&rows, vec![]).get("messages_per_job"), None);
    }

    proptest! {
        #[test]
        fn overtaking_is_what_a_look_at_all_pairs_finds(
            mut rows in prop::collection::vec((0i64..30, 0i64..30, 1i64..9, 0u32..2, 0u32..2), 0..30),
        ) {
            rows.sort_by_key(|row| row.0);
            for row in &mut rows {
                row.1 += row.0;
            }
            let (workload, run) = replayed(&rows, vec![]);
            let overtook = |at: usize| (0..at).any(|other| {
                rows[other].3 == rows[at].3 && rows[other].1 > rows[at].1
            });
            let queued = |at: &usize| overtook(*at) || rows[*at].1 > rows[*at].0;
            let expected = Overtaking {
                queued: (0..rows.len()).filter(queued).count() as i128,
                overtook: (0..rows.len()).filter(|at| overtook(*at)).count() as i128,
            };
            let counted = Counted { from: Time(0), to: Time(99) };
            prop_assert_eq!(overtaking(&workload, &run, counted), expected);
        }
    }
}
