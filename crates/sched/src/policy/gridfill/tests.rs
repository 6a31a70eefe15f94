//! Backfilling with its short cuts beside the same without them.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attributes, Cause, Demand, Licence, LicenceId, LicenceShare, Money, Outage,
    OutageId, Place, Pool, PoolId, Pools, Price, Site, SiteId, Span, Terms, Times,
};

use super::*;
use crate::policy::backfill::Waiting;
use crate::policy::grid::{Booking, Part};
use crate::testing::{any_mode, performance};

/// The same policy without short cuts: one pool is like many, every job may go anywhere, and every
/// search begins at the beginning. What it decides then is compared with an implementation of its
/// own in the simulator's tests.
struct Plain(GridFill);

impl Plain {
    fn new(settings: GridFillSettings, market: &Market) -> Plain {
        let mut policy = GridFill::new(settings);
        policy.widen(market);
        Plain(policy)
    }

    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        if let GridQueue::Pools(pools) = &mut self.0.queue {
            pools.0.unsettle();
            pools.1.free_mut().forget();
        }
        self.0.decide(market, events, commands);
    }
}

/// One act in the market; impossible acts are skipped.
#[derive(Debug, Clone)]
enum Act {
    /// A job of so many tasks of such a length comes.
    Submit(u32, i64, Option<Arc<Terms>>),
    /// Of those that run, one is done early, or loses its nodes.
    End(usize),
    Interrupt(usize),
    /// Of those that wait, one is taken back, refused, or started in a pool.
    Cancel(usize),
    Refuse(usize),
    Start(usize, u32),
    Price(u32, i64),
    Announce(Outage),
    Close(u32),
    Reopen(u32),
}

/// Terms of so many jobs of a hundred.
fn any_terms(percent: u32) -> impl Strategy<Value = Option<Arc<Terms>>> {
    let limits = (
        prop::option::weighted(0.5, 0i64..300),
        prop::option::weighted(0.2, 0i64..4),
        prop::option::weighted(0.2, 0i64..150),
        prop::option::weighted(0.3, 20i64..400),
        prop::option::weighted(0.2, prop::sample::select(vec![1_000u32, 1_500])),
        any_mode(),
        prop::sample::select(vec![Spread::Grid, Spread::Grid, Spread::Grid, Spread::Site]),
        prop::option::weighted(0.4, (0u32..2, 1u32..4)),
    );
    let terms =
        limits.prop_map(|(budget, price, earliest, deadline, speed, times, spread, along)| {
            let share = |(licence, count)| LicenceShare { licence: LicenceId(licence), count };
            Arc::new(Terms {
                budget: budget.map(Money::credits),
                max_price: price.map(Price::credits),
                earliest_start: earliest.map(Time),
                deadline: deadline.map(Time),
                min_performance: speed.map(performance),
                times,
                spread,
                licences: along.map(|along| Arc::from([share(along)])),
                ..Terms::NONE
            })
        });
    (0u32..100, terms).prop_map(move |(drawn, terms)| (drawn < percent).then_some(terms))
}

/// In a market where so many jobs of a hundred have terms, and a price may become so high; if that
/// is negative, prices stay.
fn any_act(terms: u32, dearest: i64) -> impl Strategy<Value = Act> {
    let closure = (0u32..4, 1u32..4, 0i64..60, 1i64..40).prop_map(|(pool, nodes, from, length)| {
        let (from, until) = (Time(from), Time(from + length));
        Outage { pool: PoolId(pool), nodes, from, until, cause: Cause::Local }
    });
    prop_oneof![
        12 => (1u32..7, 1i64..30, any_terms(terms)).prop_map(|(n, l, terms)| Act::Submit(n, l, terms)),
        6 => (0usize..4).prop_map(Act::End),
        1 => (0usize..4).prop_map(Act::Interrupt),
        2 => (0usize..12).prop_map(Act::Cancel),
        1 => (0usize..12).prop_map(Act::Refuse),
        1 => (0usize..12, 0u32..4).prop_map(|(job, pool)| Act::Start(job, pool)),
        1 => (0u32..4, (-1..=dearest)).prop_map(|(pool, price)| Act::Price(pool, price)),
        1 => closure.prop_map(Act::Announce),
        1 => (0u32..3).prop_map(Act::Close),
        1 => (0u32..3).prop_map(Act::Reopen),
    ]
}

fn any_pools(max: usize) -> impl Strategy<Value = Arc<Pools>> {
    let speed = prop::sample::select(vec![500u32, 1_000, 1_000, 1_500]);
    let pools = prop::collection::vec((0u32..3, 1u32..6, speed, 0i64..4), 1..=max);
    pools.prop_map(|pools| {
        let pool = |(at, (site, nodes, speed, price)): (usize, (u32, u32, u32, i64))| Pool {
            name: format!("pool{at}"),
            site: SiteId(site),
            nodes,
            performance: performance(speed),
            price: Price::credits(price),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: if at % 2 == 0 { Times::Work } else { Times::Wall },
        };
        let sites = (0..3).map(|at| Site { name: format!("site{at}") }).collect();
        let pools = Pools::new(sites, pools.into_iter().enumerate().map(pool).collect()).unwrap();
        let licence = |(name, count, price): (&str, u32, i64)| {
            let price = Price::credits(price);
            (Licence { name: name.to_owned(), count, price }, SiteId(0))
        };
        let licences = [("abaqus", 3, 0), ("matlab", 4, 2)].map(licence);
        Arc::new(pools.with_licences(licences.into()).unwrap())
    })
}

/// A market and what happened in it since the last pass.
struct World {
    market: Market,
    events: Vec<Event>,
}

impl World {
    fn happens(&mut self, event: Event) {
        if self.market.apply(&event).is_ok() {
            self.events.push(event);
        }
    }

    fn nth_running(&self, at: usize) -> Option<JobId> {
        self.market.running().nth(at).map(|run| run.job)
    }

    fn act(&mut self, act: &Act) {
        let waiting = |at: usize| self.market.queue().nth(at);
        let event = match act {
            Act::Submit(tasks, length, terms) => {
                let demand = Demand { terms: terms.clone(), ..Demand::new(*tasks, Span(*length)) };
                Some(Event::Submitted { job: JobId(self.market.submitted()), demand })
            }
            Act::End(at) => self.nth_running(*at).map(|job| Event::Ended { job }),
            Act::Interrupt(at) => self.nth_running(*at).map(|job| Event::Interrupted { job }),
            Act::Cancel(at) => waiting(*at).map(|job| Event::Cancelled { job }),
            Act::Refuse(at) => waiting(*at).map(|job| Event::Refused { job }),
            Act::Start(at, pool) => {
                let place = Place::Pool(PoolId(*pool));
                waiting(*at).map(|job| Event::Started { job, place })
            }
            Act::Price(pool, price) => {
                Some(Event::Priced { pool: PoolId(*pool), price: Price::credits(*price) })
            }
            Act::Announce(what) => {
                let ahead = Span(self.market.now().0);
                let what = Outage { from: what.from + ahead, until: what.until + ahead, ..*what };
                let known = (what.pool.index()) < self.market.pools().as_slice().len();
                let closure = OutageId(self.market.announced());
                known.then_some(Event::Announced { closure, what })
            }
            Act::Close(id) => Some(Event::Closed { closure: OutageId(*id) }),
            Act::Reopen(id) => Some(Event::Reopened { closure: OutageId(*id) }),
        };
        event.into_iter().for_each(|event| self.happens(event));
    }

    /// When tasks of running jobs are over, but for a few that never say so.
    fn ends(&self) -> Vec<(Time, JobId, PoolId)> {
        let mut ends = Vec::new();
        for run in self.market.running().filter(|run| run.job.0 % 16 != 15) {
            for share in run.shares().filter(|share| self.market.holds(run.job, share.pool)) {
                let length = self.market.pools().pool(share.pool).length_of(run.demand);
                ends.push((run.start + length, run.job, share.pool));
            }
        }
        ends.sort_unstable();
        ends
    }

    /// Time passes, at most up to the next moment at which something is due, unless every user
    /// oversleeps.
    fn pass(&mut self, span: Span, wake: Option<Time>) {
        let first = self.ends().first().map(|(end, ..)| *end);
        let now = self.market.now();
        let due = first.into_iter().chain(wake).min().filter(|_| span < Span(11));
        let next = due.map_or(now + span, |at| at.min(now + span));
        self.market.pass_to(next.max(now)).unwrap();
        for (end, job, pool) in self.ends() {
            if end <= self.market.now() {
                let others = self.ends().iter().any(|it| it.1 == job && it.2 != pool);
                self.happens(match others {
                    true => Event::Released { job, pool },
                    false => Event::Ended { job },
                });
            }
        }
    }

    fn obey(&mut self, commands: &[Command]) -> Option<Time> {
        let mut wake = None;
        for command in commands {
            match command {
                Command::Start { job, place } => {
                    let (job, place) = (*job, place.clone());
                    self.market.apply(&Event::Started { job, place }).unwrap();
                }
                Command::Refuse { job, .. } => {
                    self.market.apply(&Event::Refused { job: *job }).unwrap();
                }
                Command::Wake { at } => wake = Some(*at),
                Command::Preempt { .. } | Command::Trade { .. } => {}
            }
        }
        wake
    }
}

fn any_settings() -> impl Strategy<Value = GridFillSettings> {
    let depth = prop_oneof![4 => Just(Depth::All), 1 => (0u32..3).prop_map(Depth::First)];
    let orders = Order::ALL.map(|(order, _)| order).to_vec();
    let order = prop_oneof![2 => Just(Order::Arrival), 1 => prop::sample::select(orders.clone())];
    let spread = prop::sample::select(vec![Spread::Grid, Spread::Site]);
    let candidates = prop::option::of(prop::sample::select(orders.clone()));
    (depth, order, candidates, spread).prop_map(|(depth, order, candidates, spread)| {
        GridFillSettings { depth, order, candidates, spread, ..GridFillSettings::default() }
    })
}

/// Every reservation, in queue order.
fn reservations(tested: &GridFill) -> Vec<(JobId, Option<Booking>)> {
    let booking = |waiting: &Waiting| {
        let part = Part {
            pool: PoolId(0),
            nodes: waiting.processors,
            length: waiting.estimate,
            memory: 0,
        };
        waiting.reserved.map(|start| Booking::new(start, vec![part]))
    };
    match &tested.queue {
        GridQueue::Plain(plain) => {
            plain.reservations().map(|it| (it.rank.job, booking(it))).collect()
        }
        GridQueue::Pools(pools) => pools.0.reservations(),
    }
}

type Steps = Vec<(Vec<Act>, i64)>;

fn any_steps(terms: u32, dearest: i64) -> impl Strategy<Value = Steps> {
    let acts = prop::collection::vec(any_act(terms, dearest), 0..4);
    prop::collection::vec((acts, 0i64..12), 1..120)
}

fn compare(
    pools: Arc<Pools>,
    settings: GridFillSettings,
    steps: Steps,
) -> Result<(), TestCaseError> {
    let mut world = World { market: Market::new(pools, Time(0)), events: vec![] };
    let mut plain = Plain::new(settings, &world.market);
    let mut tested = GridFill::new(settings);
    let mut wake = None;
    for (acts, span) in steps {
        world.pass(Span(span), wake);
        acts.iter().for_each(|act| world.act(act));
        let events = std::mem::take(&mut world.events);
        let (mut expected, mut commands) = (vec![], vec![]);
        plain.decide(&world.market, &events, &mut expected);
        tested.decide(&world.market, &events, &mut commands);
        prop_assert_eq!(&commands, &expected);
        prop_assert_eq!(reservations(&tested), reservations(&plain.0));
        wake = world.obey(&commands);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_decision_and_every_reservation_is_that_of_the_plain_walk(
        pools in any_pools(7), settings in any_settings(), steps in any_steps(50, 3),
    ) {
        compare(pools, settings, steps)?;
    }

    /// Most of the time, or always, no job asks for more than nodes and time.
    #[test]
    fn on_one_pool_the_quick_queue_decides_the_same_until_it_does_not_do(
        pools in any_pools(1), settings in any_settings(),
        steps in prop_oneof![any_steps(0, -1), any_steps(2, -1), any_steps(0, 3)],
    ) {
        compare(pools, settings, steps)?;
    }
}
