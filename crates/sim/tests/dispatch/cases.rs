//! Cases made by hand.

use std::sync::Arc;

use tradewind_model::{
    Admission, Cause, Money, Outage, Place, Pool, PoolId, Pools, Price, Reason, SkipReason, Span,
    Terms, Time,
};
use tradewind_sched::policy::dispatch::{
    Clearing, Deadline, Dispatch, DispatchRule, DispatchSettings, Gate, Slots, Ties, Wait,
};
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_sim::workload::{LogJob, Overrun};
use tradewind_sim::{ReplaySettings, Run};

use crate::worlds::*;

/// Submission, run, processors, terms.
type Job = (i64, i64, u32, Terms);

fn play_with(
    pools: &Arc<Pools>,
    jobs: &[Job],
    knobs: DispatchSettings,
    outages: Vec<AnnouncedOutage>,
) -> Run {
    let of = |(number, (submit, run, processors, terms)): (i64, &Job)| LogJob {
        number,
        submit: Some(Time(*submit)),
        run: Some(Span(*run)),
        processors: Some(*processors),
        requested: None,
        user: 0,
        terms: Some(Arc::new(terms.clone())),
    };
    let log: Vec<LogJob> = (0..).zip(jobs).map(of).collect();
    let workload = workload(pools, &log, Overrun::Extend, outages);
    replay(&workload, ReplaySettings::default(), &mut Dispatch::new(knobs))
}

fn play(pools: &Arc<Pools>, jobs: &[Job], knobs: DispatchSettings) -> Run {
    play_with(pools, jobs, knobs, vec![])
}

/// Packaged slots, and the wait until a processor is free.
fn packaged(rule: DispatchRule) -> DispatchSettings {
    DispatchSettings { slots: Slots::Packaged, wait: Wait::First, ..DispatchSettings::of(rule) }
}

fn worth(credits: i64) -> Terms {
    Terms { value: Some(Money::credits(credits)), ..Terms::NONE }
}

fn by(deadline: i64, terms: Terms) -> Terms {
    Terms { deadline: Some(Time(deadline)), ..terms }
}

fn places(run: &Run) -> Vec<(Place, i64)> {
    run.jobs.iter().map(|ran| (ran.place.clone(), ran.start.0)).collect()
}

fn at(queue: u32, start: i64) -> (Place, i64) {
    (Place::Pool(PoolId(queue)), start)
}

fn code(run: &Run, job: usize) -> Option<&'static str> {
    run.jobs[job].refused.as_deref().map(Reason::code)
}

#[test]
fn bad_jobs_get_a_reason() {
    let narrow = Admission { max_processors: Some(2), ..Admission::NONE };
    let pools = site(vec![queue(3, 1_000, 1), Pool { admission: narrow, ..queue(9, 2_000, 1) }]);
    let jobs = [
        (0, 10, 4, worth(5)),
        (0, 10, 10, worth(5)),
        (0, 10, 1, worth(0)),
        (0, 10, 1, worth(-3)),
        (0, 10, 1, Terms::NONE),
        (5, 10, 1, by(3, worth(5))),
        (5, 10, 1, by(9, worth(5))),
        (5, 10, 1, by(10, worth(5))),
        (5, 10, 2, Terms { budget: Some(Money(9)), ..worth(5) }),
    ];
    let codes = |knobs: DispatchSettings| {
        let run = play(&pools, &jobs, knobs);
        (0..jobs.len()).map(|job| code(&run, job).unwrap_or("ran")).collect::<Vec<_>>()
    };
    let wide = ["wider-than-queues", "wider-than-queues"];
    let late = ["too-late", "too-late", "ran", "budget-short"];
    let knobs = |rule| DispatchSettings { cycle: Span(5), ..DispatchSettings::of(rule) };
    for rule in [
        DispatchRule::Auction,
        DispatchRule::Admission,
        DispatchRule::Hvfq,
        DispatchRule::FairShare,
    ] {
        let expected = [&wide[..], &["no-value"; 3], &late].concat();
        assert_eq!(codes(knobs(rule)), expected, "{rule:?}");
    }
    for rule in [DispatchRule::Fcfs, DispatchRule::Sjf, DispatchRule::EdfFq] {
        let expected = [&wide[..], &["ran"; 3], &late].concat();
        assert_eq!(codes(knobs(rule)), expected, "{rule:?}");
        let ignores = DispatchSettings { deadline: Deadline::Ignore, ..knobs(rule) };
        let expected = [&wide[..], &["ran"; 6], &["budget-short"]].concat();
        assert_eq!(codes(ignores), expected, "{rule:?}");
    }
    let run = play(&pools, &jobs, DispatchSettings::fcfs());
    let reason = run.jobs[0].refused.as_deref();
    assert_eq!(reason, Some(&Reason::WiderThanQueues { needed: 4, widest: 3 }));
    let reason = run.jobs[8].refused.as_deref();
    let short = Reason::BudgetShort { cheapest: Money(10), budget: Money(9) };
    assert_eq!(reason, Some(&short), "twice as fast for the same price");
}

#[test]
fn cycles_count_from_the_first_submission_even_if_that_job_is_refused() {
    let pools = site(vec![queue(4, 1_000, 1), queue(4, 1_000, 1)]);
    let jobs =
        [(3, 1, 5, worth(5)), (4, 2, 1, worth(5)), (13, 2, 1, worth(5)), (14, 2, 1, worth(5))];
    for rule in [DispatchRule::Auction, DispatchRule::Admission, DispatchRule::Fcfs] {
        let run =
            play(&pools, &jobs, DispatchSettings { cycle: Span(10), ..DispatchSettings::of(rule) });
        let trades: Vec<i64> = run.trades.iter().map(|struck| struck.at.0).collect();
        assert_eq!(trades, [13, 13, 23], "{rule:?}");
        assert_eq!(code(&run, 0), Some("wider-than-queues"));
    }
}

#[test]
fn by_default_no_job_pays_more_than_its_value() {
    let pools = site(vec![queue(4, 1_000, 2)]);
    let value = |micro| Terms { value: Some(Money(micro)), ..Terms::NONE };
    // Ten seconds cost 20 micro-credits.
    let jobs = [(0, 10, 1, value(19)), (0, 10, 1, value(20)), (0, 10, 1, Terms::NONE)];
    let ran = |clearing: Option<Clearing>| {
        let knobs = DispatchSettings::of(DispatchRule::Fcfs);
        let run = play(
            &pools,
            &jobs,
            DispatchSettings { clearing: clearing.unwrap_or(knobs.clearing), ..knobs },
        );
        (0..jobs.len()).map(|job| code(&run, job).unwrap_or("ran")).collect::<Vec<_>>()
    };
    assert_eq!(ran(Some(Clearing::List)), ["ran"; 3]);
    let by_default = ran(None);
    assert_eq!(by_default[1..], ["ran"; 2]);
    assert_ne!(by_default[0], "ran");
}

#[test]
fn the_highest_bid_takes_the_lowest_ask_and_says_why() {
    // The first queue is closed for 5 s and asks 5·2·2/4 micro-credits, the second has too few.
    let pools = site(vec![queue(4, 1_000, 2), queue(1, 1_000, 1), queue(4, 1_000, 3)]);
    let (from, until) = (Time(0), Time(5));
    let closed = |pool, nodes| {
        let what = Outage { pool: PoolId(pool), nodes, from, until, cause: Cause::Local };
        AnnouncedOutage { announced: Time(0), what }
    };
    let jobs = [(0, 10, 3, by(100, Terms { value: Some(Money(1_000)), ..Terms::NONE }))];
    let outages = vec![closed(0, 4), closed(2, 4)];
    let run = play_with(&pools, &jobs, packaged(DispatchRule::Auction), outages);
    let trade = &run.trades[0].trade;
    assert_eq!((trade.pool, trade.expected, trade.rank), (PoolId(0), Time(5), 1));
    assert_eq!((trade.bid, trade.ask), (Some(Money(10)), Some(Money(10))));
    assert_eq!(
        (trade.passed.clone(), trade.passed_in_all),
        (vec![(PoolId(1), SkipReason::Closed)], 1)
    );
}

#[test]
fn the_gate_excludes_jobs_that_bid_less_and_says_so_in_the_end() {
    let pools = site(vec![queue(2, 1_000, 1_000_000)]);
    let poor = Terms { value: Some(Money(1_000)), ..Terms::NONE };
    let jobs = [(0, 34, 2, by(60, worth(1_000))), (1, 10, 1, by(46, poor))];
    let listed = DispatchSettings { clearing: Clearing::List, ..packaged(DispatchRule::Auction) };
    let run = play(&pools, &jobs, listed);
    // At 30 it could have used the slot at 34 for 4 credits; 40 is too late.
    let (bid, ask) = (Money(1_000 * 30 / 16), Money::credits(4));
    assert_eq!(run.jobs[1].refused.as_deref(), Some(&Reason::PricedOut { bid, ask }));
    assert_eq!(run.jobs[1].start, Time(40));
    let run = play(&pools, &jobs, DispatchSettings { gate: Gate::Off, ..listed });
    assert_eq!(run.jobs[1].start, Time(34));
}

#[test]
fn equal_bids_and_equal_asks_go_by_number() {
    let pools = site(vec![queue(1, 1_000, 3), queue(1, 1_000, 2)]);
    let jobs = [(0, 10, 1, worth(5)), (0, 10, 1, worth(5)), (0, 10, 1, worth(5))];
    let ties = |ties| DispatchSettings { ties, gate: Gate::Off, ..DispatchSettings::auction() };
    assert_eq!(places(&play(&pools, &jobs, ties(Ties::Index)))[..2], [at(0, 0), at(1, 0)]);
    assert_eq!(places(&play(&pools, &jobs, ties(Ties::MostFree)))[..2], [at(0, 0), at(1, 0)]);
    let cheapest = play(&pools, &jobs, ties(Ties::Cheapest));
    assert_eq!(places(&cheapest), [at(1, 0), at(0, 0), at(1, 10)]);
    let first = |seed| {
        let run = play(&pools, &jobs, DispatchSettings { seed, ..ties(Ties::Random) });
        run.trades[0].trade.pool
    };
    let drawn: Vec<PoolId> = (0..20).map(first).collect();
    assert!(drawn.contains(&PoolId(0)) && drawn.contains(&PoolId(1)));
    assert_eq!(drawn, (0..20).map(first).collect::<Vec<_>>());
}

#[test]
fn baselines_take_the_earliest_slot() {
    let pools = site(vec![queue(1, 1_000, 0), queue(2, 1_000, 0)]);
    let jobs =
        [(0, 20, 1, by(100, worth(1))), (0, 10, 2, by(90, worth(3))), (0, 5, 1, by(80, worth(2)))];
    let run = |rule| places(&play(&pools, &jobs, packaged(rule)));
    assert_eq!(run(DispatchRule::Fcfs), [at(0, 0), at(1, 0), at(1, 10)]);
    assert_eq!(run(DispatchRule::Sjf), [at(0, 5), at(1, 0), at(0, 0)]);
    assert_eq!(run(DispatchRule::EdfFq), [at(0, 5), at(1, 0), at(0, 0)]);
    assert_eq!(run(DispatchRule::Hvfq), [at(0, 5), at(1, 0), at(0, 0)]);
    assert_eq!(run(DispatchRule::Admission), [at(0, 0), at(1, 0), at(0, 20)]);
}

#[test]
fn shares_are_by_value_and_an_idle_grid_waits_for_no_job() {
    let pools = site(vec![queue(4, 1_000, 0)]);
    let fair = DispatchSettings { cycle: Span(1), ..DispatchSettings::fair_share() };
    // Of 4 processors the first is worth 3, the second 1 and the third less than 1.
    let jobs =
        [(0, 10, 3, worth(6)), (0, 10, 1, worth(2)), (0, 10, 1, worth(0)), (1, 5, 2, worth(1))];
    let run = play(&pools, &jobs, fair);
    assert_eq!(places(&run)[..2], [at(0, 0), at(0, 0)]);
    assert_eq!((code(&run, 2), run.jobs[3].start), (Some("no-value"), Time(10)));
    // No job's share is 3: the one that is worth most goes first, then there are shares.
    let jobs = [(0, 10, 3, worth(1)), (0, 10, 3, worth(2)), (0, 10, 3, worth(1))];
    let starts: Vec<i64> = play(&pools, &jobs, fair).jobs.iter().map(|ran| ran.start.0).collect();
    assert_eq!(starts, [10, 0, 20]);
}

#[test]
fn slots_are_for_now_or_up_to_the_horizon() {
    let pools = site(vec![queue(1, 1_000, 0)]);
    let jobs = [(0, 25, 1, worth(9)), (1, 5, 1, worth(1)), (2, 5, 1, worth(1))];
    let knobs = DispatchSettings { gate: Gate::Off, ..packaged(DispatchRule::Auction) };
    let traded =
        |knobs| play(&pools, &jobs, knobs).trades.iter().map(|it| it.at.0).collect::<Vec<_>>();
    assert_eq!(traded(knobs), [0, 10, 10]);
    assert_eq!(traded(DispatchSettings { horizon: Span(15), ..knobs }), [0, 20, 20]);
    assert_eq!(traded(DispatchSettings { horizon: Span(10), ..knobs }), [0, 20, 30]);
    assert_eq!(traded(DispatchSettings { slots: Slots::Immediate, ..knobs }), [0, 30, 40]);
}

#[test]
fn an_interrupted_job_trades_again() {
    let pools = site(vec![queue(2, 1_000, 1), queue(2, 1_000, 1)]);
    let what = Outage {
        pool: PoolId(0),
        nodes: 2,
        from: Time(4),
        until: Time(50),
        cause: Cause::Failure(0),
    };
    let outages = vec![AnnouncedOutage { announced: Time(4), what }];
    let jobs = [(0, 10, 2, worth(9))];
    let run = play_with(&pools, &jobs, DispatchSettings::auction(), outages);
    assert_eq!(places(&run), [at(1, 10)]);
    assert_eq!((run.trades.len(), run.lost.len()), (2, 1));
    assert_eq!(run.trades[1].trade.bid.map(|bid| bid.0), Some(9_000_000 * 11 / 86_400));
}

#[test]
fn budgets_choose_the_queue() {
    let pools = site(vec![queue(2, 1_000, 5), queue(2, 1_000, 1)]);
    let jobs = [(0, 10, 1, Terms { budget: Some(Money(20)), ..worth(1) }), (0, 10, 2, worth(1))];
    let run =
        play(&pools, &jobs, DispatchSettings { ties: Ties::Index, ..DispatchSettings::auction() });
    assert_eq!(places(&run), [at(1, 0), at(0, 0)]);
    assert_eq!(run.trades[0].trade.passed, [(PoolId(0), SkipReason::Dear)]);
    assert_eq!(run.trades[0].trade.price, Price(1));
    assert_eq!(run.jobs[0].cost, Money(10));
}
