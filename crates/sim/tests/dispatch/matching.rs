//! One cycle of the auction against all that could have been.
//!
//! Every assignment of bids to queues, or to nothing, is tried in the order of bids; those with a
//! trade below the ask, without a slot or too late are struck out. The best is the one whose first
//! bid has the lowest ask, then whose second has, and so on; no queue is worse than any. The
//! auction must find just that one.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Cause, Money, Outage, Pool, PoolId, Pools, Span, Terms, Time};
use tradewind_sched::policy::dispatch::{Clearing, Dispatch, DispatchSettings, Slots, Wait};
use tradewind_sim::ReplaySettings;
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{LogJob, Overrun};

use crate::worlds::*;

const AHEAD: usize = 200;

/// Processors, length on the reference node, value, deadline.
type Bid = (u32, i64, i64, i64);
/// Processors, price, thousandths, closed processors, until.
type Sells = (u32, i64, u32, u32, i64);
/// The ask and its tie-break; nothing is worst.
type Rank = (bool, i128, i64, usize);

fn ask(queue: &Sells, free: &[i64]) -> i128 {
    let (nodes, price, ..) = *queue;
    let wait = free.iter().rposition(|it| *it <= 0).map_or(0, |at| at as i128 + 1);
    wait * i128::from(price) * i128::from(i64::from(nodes) - free[0]) / i128::from(nodes)
}

/// The rank of each bid's place under one assignment; `None` if it cannot be.
fn ranks(
    bids: &[(i128, Bid)],
    queues: &[Sells],
    horizon: i64,
    places: &[Option<usize>],
) -> Option<Vec<Rank>> {
    let open = |&(nodes, _, _, closed, until): &Sells| {
        let mut free = vec![i64::from(nodes); AHEAD];
        free[..until as usize].iter_mut().for_each(|it| *it -= i64::from(closed.min(nodes)));
        free
    };
    let mut free: Vec<Vec<i64>> = queues.iter().map(open).collect();
    let mut ranks = vec![];
    for ((amount, (wide, work, _, deadline)), place) in bids.iter().zip(places) {
        let Some(at) = *place else {
            ranks.push((true, 0, 0, 0));
            continue;
        };
        let (queue, free) = (&queues[at], &mut free[at]);
        let asked = ask(queue, free);
        let length = (work * 1_000 + i64::from(queue.2) - 1) / i64::from(queue.2);
        let wide = i64::from(*wide);
        let fits = |from: &i64| {
            free[*from as usize..(from + length) as usize].iter().all(|it| *it >= wide)
        };
        let start =
            (0..100).find(fits).filter(|from| *from < horizon && from + length <= *deadline)?;
        if *amount < asked {
            return None;
        }
        ranks.push((false, asked, -free[0], at));
        free[start as usize..(start + length) as usize].iter_mut().for_each(|it| *it -= wide);
    }
    Some(ranks)
}

/// All lists of so many numbers below `base`; the last means nothing.
fn all(base: usize, count: usize) -> impl Iterator<Item = Vec<Option<usize>>> {
    (0..base.pow(count as u32)).map(move |mut code| {
        let mut digit = || {
            let digit = code % base;
            code /= base;
            (digit + 1 < base).then_some(digit)
        };
        (0..count).map(|_| digit()).collect()
    })
}

fn best(bids: &[(i128, Bid)], queues: &[Sells], horizon: i64) -> Vec<Option<usize>> {
    let possible = all(queues.len() + 1, bids.len())
        .filter_map(|places| Some((ranks(bids, queues, horizon, &places)?, places)));
    possible.min_by(|a, b| a.0.cmp(&b.0)).unwrap().1
}

fn market(queues: &[Sells]) -> (Arc<Pools>, Vec<AnnouncedOutage>) {
    let pools: Vec<Pool> =
        queues.iter().map(|&(nodes, price, speed, ..)| queue(nodes, speed, price)).collect();
    let closed = (0..).zip(queues).map(|(at, &(nodes, _, _, closed, until))| {
        let (from, until) = (Time(0), Time(until));
        let nodes = closed.min(nodes);
        let what = Outage { pool: PoolId(at), nodes, from, until, cause: Cause::Local };
        AnnouncedOutage { announced: Time(0), what }
    });
    (site(pools), closed.collect())
}

fn job((number, (processors, work, value, deadline)): (i64, Bid)) -> LogJob {
    let (value, deadline) = (Some(Money(value)), Some(Time(deadline)));
    LogJob {
        number,
        submit: Some(Time(0)),
        run: Some(Span(work)),
        processors: Some(processors),
        requested: None,
        user: 0,
        terms: Some(Arc::new(Terms { value, deadline, ..Terms::NONE })),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_auction_is_the_best_of_all_assignments(
        bids in prop::collection::vec((1u32..4, 1i64..20, 1i64..2_000, 5i64..60), 1..6),
        queues in prop::collection::vec(
            (1u32..5, 0i64..6, prop::sample::select(vec![1_000u32, 1_500, 2_000]), 0u32..5, 1i64..30), 1..4,
        ),
        horizon in 1i64..60,
    ) {
        let (pools, outages) = market(&queues);
        let log: Vec<LogJob> = (0..).zip(bids.iter().copied()).map(job).collect();
        let workload = workload(&pools, &log, Overrun::Kill, outages);
        let (slots, wait) = (Slots::Packaged, Wait::First);
        let knobs = DispatchSettings { horizon: Span(horizon), slots, wait, clearing: Clearing::List, ..DispatchSettings::auction() };
        let run = replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs));

        let amount = |bid: &Bid| i128::from(bid.2) / i128::from(bid.3);
        let mut order: Vec<usize> = (0..bids.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(amount(&bids[*at])));
        let sorted: Vec<(i128, Bid)> = order.iter().map(|at| (amount(&bids[*at]), bids[*at])).collect();
        let mut expected = vec![None; bids.len()];
        for (at, place) in order.iter().zip(best(&sorted, &queues, horizon)) {
            expected[*at] = place;
        }
        let mut traded = vec![None; bids.len()];
        for struck in run.trades.iter().filter(|struck| struck.at == Time(0)) {
            traded[workload.jobs[struck.job].source] = Some(struck.trade.pool.index());
        }
        prop_assert_eq!(traded, expected);
    }
}
