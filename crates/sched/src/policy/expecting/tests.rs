use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Cause, Outage, OutageId, PoolId, Span, Time};

use super::*;
use crate::policy::backfill::Depth;
use crate::policy::gridfill::{GridFill, GridFillSettings};

/// Seconds since the submission before, run time, nodes, limit beyond the run, and how long it is
/// expected to run.
type Drawn = (i64, i64, u32, i64, i64);

const NODES: u32 = 6;

fn inner() -> Box<dyn Policy> {
    Box::new(GridFill::new(GridFillSettings::default()))
}

fn conservative() -> Box<dyn Policy> {
    Box::new(GridFill::new(GridFillSettings { depth: Depth::All, ..GridFillSettings::default() }))
}

fn wrapped(make: fn() -> Box<dyn Policy>) -> Box<dyn Policy> {
    Box::new(ByExpectation::new(make(), Box::new(move |_| Some(make()))))
}

/// A market that is driven by hand.
struct World<'a> {
    drawn: &'a [Drawn],
    /// Nodes are booked in the pass of this number, for ten seconds from the moment on at which no
    /// job that runs then can be there any more.
    booking: Option<(usize, u32)>,
    /// The policy begins again after so many passes.
    restart: Option<usize>,
    /// What policies see of a demand.
    shape: fn(Demand) -> Demand,
}

impl World<'_> {
    /// When each job starts.
    fn run(&self, make: &dyn Fn() -> Box<dyn Policy>) -> Vec<i64> {
        let mut market = Market::new(Arc::new(Pools::cluster(NODES)), Time(0));
        let mut policy = make();
        let submits = self.drawn.iter().scan(0, |at, job| {
            *at += job.0;
            Some(*at)
        });
        let submits: Vec<i64> = submits.collect();
        let mut starts = vec![-1; submits.len()];
        let mut ends: BTreeSet<(i64, JobId)> = BTreeSet::new();
        let (mut next, mut wake, mut window) = (0, None, None::<Outage>);
        for pass in 0.. {
            let edges =
                window.map(|it| if it.from > market.now() { it.from.0 } else { it.until.0 });
            let submit = submits.get(next).copied();
            let end = ends.first().map(|end| end.0);
            let instants = [submit, end, wake, edges].into_iter().flatten();
            let Some(now) = instants.min() else { break };
            market.pass_to(Time(now)).unwrap();
            let mut events = Vec::new();
            while let Some((at, job)) = ends.first().copied().filter(|end| end.0 == now) {
                ends.remove(&(at, job));
                events.push(Event::Ended { job });
            }
            let closure = OutageId(0);
            match window {
                Some(it) if it.from.0 == now => events.push(Event::Closed { closure }),
                Some(it) if it.until.0 == now => {
                    events.push(Event::Reopened { closure });
                    window = None;
                }
                _ => {}
            }
            while submits.get(next) == Some(&now) {
                let (_, run, processors, beyond, expected) = self.drawn[next];
                let demand = Demand::new(processors, Span(run + beyond));
                let demand = (self.shape)(Demand { expected: Some(Span(expected)), ..demand });
                events.push(Event::Submitted { job: JobId(next as u32), demand });
                next += 1;
            }
            if let Some((_, nodes)) = self.booking.filter(|(at, _)| *at == pass) {
                let limits = market.running().map(|run| run.start + run.demand.estimate);
                let from = limits.max().unwrap_or(market.now()).max(Time(now)) + Span(1);
                let (pool, cause) = (PoolId(0), Cause::Local);
                let what = Outage { pool, nodes, from, until: from + Span(10), cause };
                events.push(Event::Announced { closure, what });
                window = Some(what);
            }
            // Nodes that are promised must be free when they are due: otherwise this fails.
            events.iter().for_each(|event| market.apply(event).unwrap());
            if self.restart == Some(pass) {
                policy = make();
                policy.resume(&BTreeMap::new());
                events = market.history();
            }
            let mut commands = Vec::new();
            policy.decide(&market, &events, &mut commands);
            wake = None;
            for command in commands {
                match command {
                    Command::Start { job, place } => {
                        market.apply(&Event::Started { job, place }).unwrap();
                        ends.insert((now + self.drawn[job.index()].1, job));
                        starts[job.index()] = now;
                    }
                    Command::Wake { at } => wake = Some(at.0).filter(|at| *at > now),
                    Command::Preempt { .. } | Command::Refuse { .. } | Command::Trade { .. } => {
                        panic!("{command:?}")
                    }
                }
            }
            market.check().unwrap();
        }
        starts
    }
}

fn same(demand: Demand) -> Demand {
    demand
}

/// As replays with learned estimates say it.
fn direct(demand: Demand) -> Demand {
    demand.by_expectation().unwrap_or(Demand { expected: None, ..demand })
}

fn limits(demand: Demand) -> Demand {
    Demand { expected: None, ..demand }
}

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let job = (0i64..8, 1i64..30, 1u32..=NODES, 0i64..60, 1i64..60);
    prop::collection::vec(job, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn it_decides_as_the_policy_inside_does_with_such_estimates(drawn in drawn()) {
        for make in [inner, conservative] {
            let world = |shape| World { drawn: &drawn, booking: None, restart: None, shape };
            let expecting = world(same).run(&|| wrapped(make));
            prop_assert_eq!(&expecting, &world(direct).run(&make));
            // Without expectations it is the policy inside.
            let plain = world(limits).run(&|| wrapped(make));
            prop_assert_eq!(&plain, &world(limits).run(&make));
        }
    }

    /// Jobs that run up to their limits, far longer than expected, are not in the way of what was
    /// promised.
    #[test]
    fn nodes_that_are_booked_are_free_when_they_are_due(
        drawn in drawn(), at in 0usize..20, nodes in 1..=NODES, restart in 0usize..30,
    ) {
        let booking = Some((at, nodes));
        let world = World { drawn: &drawn, booking, restart: None, shape: same };
        let starts = world.run(&|| wrapped(inner));
        prop_assert!(starts.iter().all(|start| *start >= 0));
        let world = World { restart: Some(restart), ..world };
        prop_assert_eq!(&starts, &world.run(&|| wrapped(inner)));
    }
}

#[test]
fn a_job_that_is_expected_to_be_short_is_backfilled_and_one_that_may_be_long_is_not() {
    // Four of six nodes are busy until 20; the second job needs all of them, the third is short,
    // but may run for 50 s.
    let drawn = [(0, 20, 4, 0, 20), (1, 5, 6, 0, 5), (1, 10, 2, 40, 10)];
    let start = |booking, shape| {
        World { drawn: &drawn, booking, restart: None, shape }.run(&|| wrapped(inner))[2]
    };
    assert_eq!((start(None, same), start(None, limits)), (2, 25));
    // As long as nodes are booked, limits count.
    assert!(start(Some((1, 1)), same) > 2);
}

#[test]
fn what_the_policy_inside_has_set_aside_is_said() {
    let mut market = Market::new(Arc::new(Pools::cluster(NODES)), Time(0));
    let events: Vec<Event> = (0..3)
        .map(|job| Event::Submitted { job: JobId(job), demand: Demand::new(4, Span(100)) })
        .collect();
    events.iter().for_each(|event| market.apply(event).unwrap());
    let reserved = |mut policy: Box<dyn Policy>| {
        policy.decide(&market, &events, &mut Vec::new());
        policy.reserved()
    };
    let (inside, outside) = (reserved(conservative()), reserved(wrapped(conservative)));
    assert_eq!(inside.len(), 2);
    assert_eq!(outside, inside);
}
