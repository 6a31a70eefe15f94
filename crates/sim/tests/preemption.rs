//! `Command::Preempt` under every rule of checkpoints, against a twin that counts seconds.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Checkpoint, Command, Demand, Event, JobId, Market, Performance, Place, Pool, PoolId, Pools,
    Preemptible, Preemption, Price, Span, Terms, Time,
};
use tradewind_sched::policy::Policy;
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, SimError, check, run};

/// Starts each job as soon as it waits, and takes its nodes at the given moments.
struct Takes {
    moments: BTreeSet<i64>,
}

impl Policy for Takes {
    fn decide(&mut self, market: &Market, _: &[Event], commands: &mut Vec<Command>) {
        let (now, place) = (market.now(), Place::Pool(PoolId(0)));
        for job in market.queue() {
            commands.push(Command::Start { job, place: place.clone() });
        }
        if self.moments.remove(&now.0) {
            for run in market.running().filter(|run| run.notice().is_none()) {
                commands.push(Command::Preempt { job: run.job });
            }
        }
        let next = self.moments.range(now.0 + 1..).next();
        commands.extend(next.map(|at| Command::Wake { at: Time(*at) }));
    }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    work: i64,
    thousandths: u32,
    how: Preemptible,
    notice: i64,
    discount: u32,
    price: i64,
}

fn workload(case: &Case) -> Workload {
    let performance = Performance::from_thousandths(case.thousandths).unwrap();
    let price = Price(case.price);
    let pool = Pool { performance, price, ..Pools::cluster(1).as_slice()[0].clone() };
    let pools = Pools::new(Pools::cluster(1).sites().to_vec(), vec![pool]).unwrap();
    let of = Preemption { notice: Span(case.notice), discount: case.discount };
    let preemptible = Some(case.how);
    let job = LogJob {
        number: 1,
        submit: Some(Time(0)),
        run: Some(Span(case.work)),
        processors: Some(1),
        requested: Some(Span(case.work + 7)),
        user: 1,
        terms: Some(Arc::new(Terms { user: 1, preemptible, ..Terms::NONE })),
    };
    let pools = Arc::new(pools.with_preemption(vec![of]));
    prepare(&[job], pools, Semantics::Textbook, Overrun::Kill)
}

fn replay(case: &Case, moments: &BTreeSet<i64>) -> Run {
    let mut policy = Takes { moments: moments.clone() };
    let mut checkers = check::all(policy.promise());
    run(&workload(case), ReplaySettings::default(), &mut policy, &mut checkers).unwrap()
}

/// When the job ends, how many seconds it loses, how many it restarts, and what it pays: second by
/// second.
fn twin(case: &Case, moments: &BTreeSet<i64>) -> (i64, i64, i64, i64) {
    let length =
        |work: i64| (work * 1_000 + i64::from(case.thousandths) - 1) / i64::from(case.thousandths);
    let price = case.price * i64::from(1_000 - case.discount) / 1_000;
    let (mut now, mut done) = (0i64, 0i64);
    let (mut lost, mut restarts, mut paid) = (0, 0, 0);
    let mut moments = moments.clone();
    loop {
        let start = now;
        let again = if done > 0 { case.how.restart.0 } else { 0 };
        let (restart, end) = (length(again), start + length(case.work - done + again));
        let mut told: Option<i64> = None;
        // Seconds of work whose result is written down.
        let mut written = 0;
        loop {
            if now == end {
                let used = end - start;
                let overhead = if done > 0 { restart } else { 0 };
                return (end, lost, restarts + overhead, paid + used * price);
            }
            // In the second of its start the policy does not see it run yet.
            if moments.remove(&now) && told.is_none() && now > start {
                told = Some(now);
            }
            let worked = (now - start - restart).max(0);
            match case.how.checkpoint {
                Checkpoint::Every(interval) if worked > 0 && worked % interval.0 == 0 => {
                    written = worked;
                }
                Checkpoint::OnNotice if told == Some(now) && case.notice > 0 => written = worked,
                _ => {}
            }
            if told.is_some_and(|at| now == at + case.notice) {
                break;
            }
            now += 1;
        }
        let progress = written * i64::from(case.thousandths) / 1_000;
        match progress {
            0 => lost += now - start,
            _ => {
                done += progress;
                lost += now - start - restart - written;
                restarts += restart;
                paid += (restart + written) * price;
            }
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let checkpoint = prop_oneof![
        Just(Checkpoint::Never),
        Just(Checkpoint::OnNotice),
        (1i64..90).prop_map(|interval| Checkpoint::Every(Span(interval))),
    ];
    let how = (checkpoint, 0i64..20);
    (1i64..400, 400u32..2_500, how, 0i64..40, 0u32..=1_000, 0i64..9).prop_map(
        |(work, thousandths, (checkpoint, restart), notice, discount, price)| Case {
            work,
            thousandths,
            how: Preemptible { checkpoint, restart: Span(restart), kept: Span::ZERO },
            notice,
            discount,
            price,
        },
    )
}

proptest! {
    #[test]
    fn a_job_loses_restarts_and_pays_as_seconds_are_counted(
        case in cases(),
        moments in prop::collection::btree_set(0i64..1_200, 0..8),
    ) {
        let run = replay(&case, &moments);
        let job = &run.jobs[0];
        let (end, lost, restarts, paid) = twin(&case, &moments);
        let used: i64 = run.lost.iter().map(|it| (it.end - it.start).0).sum();
        let kept: i64 = run.lost.iter().map(|it| it.cut.paid().0).sum();
        prop_assert_eq!((job.end.0, used - kept, job.cost.0), (end, lost, paid));
        let first: i64 = run.lost.iter().filter(|it| it.cut.progress.0 > 0).map(|it| it.cut.restart.0).sum();
        let performance = Performance::from_thousandths(case.thousandths).unwrap();
        let last = if run.kept.is_empty() { 0 } else { performance.length_of(case.how.restart).0 };
        prop_assert_eq!(first + last, restarts);
        // What was used is useful, lost or a restart; the useful part is the work, but for seconds
        // that are rounded up once for each run.
        let all = used + (job.end - job.start).0;
        let useful = all - lost - restarts;
        let work = performance.length_of(Span(case.work)).0;
        let runs = run.lost.len() as i64 + 1;
        prop_assert!((work - runs..=work + 3 * runs).contains(&useful), "{} of {}", useful, work);
    }
}

#[test]
fn a_job_that_is_not_preemptible_keeps_its_nodes() {
    let how = Preemptible::default();
    let case = Case { work: 50, thousandths: 1_000, how, notice: 5, discount: 0, price: 1 };
    let mut workload = workload(&case);
    workload.jobs[0].terms = None;
    let mut policy = Takes { moments: [10].into() };
    let found = run(&workload, ReplaySettings::default(), &mut policy, &mut []);
    assert!(matches!(found, Err(SimError::Market { at: Time(10), .. })), "{found:?}");
}

#[test]
fn the_market_refuses_notices_that_cannot_be() {
    let mut market = Market::new(Arc::new(Pools::cluster(2)), Time(0));
    let preemptible = Some(Preemptible::default());
    let terms = Some(Arc::new(Terms { preemptible, ..Terms::NONE }));
    let demand = Demand { terms, ..Demand::new(1, Span(50)) };
    let job = JobId(0);
    market.apply(&Event::Submitted { job, demand }).unwrap();
    let told = |leaves| Event::Noticed { job, leaves: Time(leaves) };
    assert!(market.apply(&told(9)).is_err(), "it does not run");
    market.apply(&Event::Started { job, place: Place::Pool(PoolId(0)) }).unwrap();
    market.pass_to(Time(5)).unwrap();
    assert!(market.apply(&told(4)).is_err(), "it is over");
    market.apply(&told(20)).unwrap();
    assert!(
        market.apply(&told(20)).is_err() && market.apply(&told(21)).is_err(),
        "a notice stands"
    );
    market.apply(&told(10)).unwrap();
    let state = market.state();
    assert_eq!(Market::restore(state.clone()).unwrap().state(), state);
}
