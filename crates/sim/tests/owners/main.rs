//! Sites whose owners queue: the market's jobs stand behind them, or in line.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test: what fails is said, and sums are printed"
)]

mod outages;
mod preemption;
mod put_off;
mod worlds;

use tradewind_model::{Guard, OwnersFirst, Span, Standing};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sim::owners::OwnersRun;
use tradewind_sim::workload::{OwnersLoad, Workload};
use tradewind_sim::{ReplaySettings, run};
use worlds::{Ends, Kind, Submitted, World};

/// Worlds of each kind: more than 1,000 over all kinds of [`by_default`]. `make test-long` draws 1,000 of
/// each, for the numbers in the docs.
#[expect(clippy::disallowed_methods, reason = "a test: how long it takes, and nothing else")]
fn worlds() -> u64 {
    let drawn = std::env::var("TRADEWIND_OWNERS_WORLDS").ok();
    drawn.and_then(|it| it.parse().ok()).unwrap_or(125)
}

/// Jobs are submitted until then.
const LAST: i64 = 40_000;

/// The starts of the owners' jobs of a workload without the market's jobs.
fn alone(workload: &Workload) -> Vec<OwnersRun> {
    let mut without = Workload { jobs: Vec::new(), rejected: Vec::new(), ..workload.clone() };
    // What would be left to owners matters to the market alone.
    without.owners.iter_mut().for_each(|load| load.rule.guard = Guard::Limits);
    let fcfs = BackfillSettings { depth: Depth::First(0), ..Default::default() };
    run(&without, ReplaySettings::default(), &mut Backfill::new(fcfs), &mut []).unwrap().owners
}

/// Over all worlds of a kind.
#[derive(Default)]
struct Sums {
    jobs: i64,
    wait: i64,
    wait_alone: i64,
    /// By how much owners' jobs started later than without the market, seconds.
    delays: Vec<i64>,
    /// Owners' jobs that started later than foreseen when they were submitted.
    broken: i64,
    /// By how much the latest of these, seconds.
    latest: i64,
    /// The same without the market.
    broken_alone: i64,
    /// Jobs of the market.
    market: i64,
    /// How long these waited, seconds.
    market_wait: i64,
    market_node_s: i64,
    /// What the market got while owners submitted jobs.
    market_used: i64,
    owners_node_s: i64,
    /// By world: by how much owners waited longer, and how long without the market.
    worlds: Vec<(i64, i64)>,
    /// By how much the market put off the one owner's job that it put off longest, beyond the longest
    /// time limit of a job of the market in that world.
    put_off: i64,
}

impl Sums {
    fn add(&mut self, world: &World) {
        let (with, without) = (world.run(), alone(&world.workload));
        let before = (self.wait, self.wait_alone);
        let limits = world.workload.jobs.iter().map(|job| job.requested.0);
        let limit = limits.max().unwrap_or(0);
        // Under conservative backfilling jobs keep the places that they were given, so that the site
        // does not start what a plan from nothing would: there, what was foreseen holds.
        let planned_anew = |load: &OwnersLoad| load.rule.depth != Depth::All;
        let loads = world.workload.owners.iter().enumerate();
        for (place, load) in loads.filter(|(_, load)| planned_anew(load)) {
            let longest = put_off::seconds(world, &with, load, place).into_iter().max();
            self.put_off = self.put_off.max(longest.unwrap_or(0) - limit);
        }
        let loads = world.workload.owners.iter().zip(with.owners.iter().zip(&without));
        for (load, (with, without)) in loads {
            // EASY and depths between promise nothing to jobs behind the first.
            let promises = matches!(load.rule.depth, Depth::First(0) | Depth::All);
            let late = |run: &OwnersRun| {
                let ran = run.iter().map(|ran| ran.unwrap());
                ran.filter(|it| promises && it.foreseen.unwrap() < it.start).count() as i64
            };
            let ran = with.iter().map(|ran| ran.unwrap()).filter(|_| promises);
            let latest = ran.map(|it| (it.start - it.foreseen.unwrap()).0).max().unwrap_or(0);
            self.latest = self.latest.max(latest);
            self.broken += late(with);
            self.broken_alone += late(without);
            for (job, (with, without)) in load.jobs.iter().zip(with.iter().zip(without)) {
                let (with, without) = (with.unwrap(), without.unwrap());
                let delay = (with.start - without.start).0;
                self.jobs += 1;
                self.wait += (with.start - job.submit).0;
                self.wait_alone += (without.start - job.submit).0;
                self.delays.push(delay);
                self.owners_node_s += job.run.0 * i64::from(job.processors);
            }
        }
        self.market += with.jobs.len() as i64;
        let work = |job: &tradewind_sim::workload::Job| job.run.0 * i64::from(job.processors);
        let waits = world.workload.jobs.iter().zip(&with.jobs);
        self.market_wait += waits.map(|(job, ran)| (ran.start - job.submit).0).sum::<i64>();
        self.market_node_s += world.workload.jobs.iter().map(work).sum::<i64>();
        let used = world.workload.jobs.iter().zip(&with.jobs).map(|(job, ran)| {
            (ran.end.0.min(LAST) - ran.start.0.min(LAST)) * i64::from(job.processors)
        });
        self.market_used += used.sum::<i64>();
        let alone = self.wait_alone - before.1;
        self.worlds.push((self.wait - before.0 - alone, alone));
    }

    fn of(kind: Kind) -> Sums {
        Sums::bounded(kind, worlds(), OwnersFirst::NO_BOUND)
    }

    fn bounded(kind: Kind, worlds: u64, max_delay: Span) -> Sums {
        let mut sums = Sums { put_off: i64::MIN, ..Sums::default() };
        (0..worlds).for_each(|seed| sums.add(&World::drawn(seed, kind).bounded(max_delay)));
        sums.delays.sort_unstable();
        println!("{kind:?}: {}", sums.row("owners"));
        sums
    }

    fn work(&self) -> (i64, i64, i64, i64) {
        (self.jobs, self.owners_node_s, self.market, self.market_node_s)
    }

    /// Mean waits, seconds: of owners without the market, of owners, of the market.
    fn row(&self, name: &str) -> String {
        let (alone, owners) = (self.wait_alone / self.jobs, self.wait / self.jobs);
        let market = self.market_wait / self.market;
        let [nine, most, worst] = [9_000, 9_900, 10_000].map(|part| self.delay(part));
        format!(
            "{name}: {alone} s alone, {owners} s, market {market} s; later by {nine}, {most}, {worst} s"
        )
    }

    /// By how much so many of 10,000 owners' jobs started later than without the market, at most.
    fn delay(&self, part: usize) -> i64 {
        let rank = (self.delays.len() * part).div_ceil(10_000);
        self.delays[rank - 1]
    }

    /// By how much owners wait longer, in percent: the range for 95 in 100 such draws of
    /// worlds (the ratio's normal approximation).
    fn interval(&self) -> (f64, f64) {
        let (longer, alone) = (self.wait - self.wait_alone, self.wait_alone);
        let ratio = longer as f64 / alone as f64;
        let square =
            |(longer, alone): &(i64, i64)| (*longer as f64 - ratio * *alone as f64).powi(2);
        let error = self.worlds.iter().map(square).sum::<f64>().sqrt() / alone as f64;
        (100.0 * (ratio - 1.96 * error), 100.0 * (ratio + 1.96 * error))
    }

    /// By how much owners wait longer, in thousandths.
    fn longer(&self) -> i64 {
        self.longer_in(1_000)
    }

    fn longer_in(&self, parts: i64) -> i64 {
        parts * (self.wait - self.wait_alone) / self.wait_alone
    }
}

#[test]
fn no_owner_who_waits_is_delayed_where_jobs_end_when_expected() {
    let sums = Sums::of(Kind {
        owners: Submitted::Before,
        ends: Ends::AtLimits,
        market: Standing::Behind,
        guard: Guard::Limits,
    });
    assert_eq!((sums.delay(10_000), sums.wait), (0, sums.wait_alone));
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    let enough = 10 * worlds() as i64;
    assert!(sums.market > enough && sums.jobs > enough);
}

#[test]
fn early_ends_delay_owners_in_the_queue_by_less_than_one_percent() {
    let sums = Sums::of(Kind {
        owners: Submitted::Before,
        ends: Ends::Early,
        market: Standing::Behind,
        guard: Guard::Limits,
    });
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.longer() < 10, "{}", sums.row("owners"));
}

#[test]
fn jobs_submitted_later_wait_for_no_more_than_runs_already() {
    let sums = Sums::of(Kind {
        owners: Submitted::AllTheTime,
        ends: Ends::AtLimits,
        market: Standing::Behind,
        guard: Guard::Limits,
    });
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.longer() < 10, "{}", sums.row("owners"));
}

/// The law of the default settings: owners' mean wait is less than 1 % longer
/// with the market, no job of theirs is put off for longer than the bound, and where a start is
/// promised at submission, none is later. The last two hold as long as no job exceeds its limit.
fn by_default(owners: Submitted, ends: Ends) -> Sums {
    let market = Standing::Behind;
    let usual = OwnersFirst::usual(market);
    let kind = Kind { owners, ends, market, guard: usual.guard };
    let sums = Sums::bounded(kind, worlds(), usual.max_delay);
    let (low, high) = sums.interval();
    let (longer, used) = (sums.longer_in(100_000), sums.market_used);
    let row = format!(
        "{owners:?}, {ends:?}: + {longer} in 100,000 ({low:.2} to {high:.2} %), market {used} node-s, \
         put off {} s beyond the longest limit",
        sums.put_off
    );
    println!("{row}");
    assert!(longer < 1_000, "{row}");
    assert!(sums.market_wait > 0 && sums.jobs > 10 * worlds() as i64, "{row}");
    if ends != Ends::Beyond {
        assert!(sums.put_off <= usual.max_delay.0, "{row}");
        assert_eq!((sums.broken, sums.broken_alone), (0, 0), "foreseen at submission: {row}");
    }
    if (owners, ends) == (Submitted::Before, Ends::AtLimits) {
        assert_eq!((sums.delay(10_000), sums.wait), (0, sums.wait_alone), "{row}");
    }
    sums
}

#[test]
fn by_default_owners_who_all_wait_before() {
    by_default(Submitted::Before, Ends::AtLimits);
    by_default(Submitted::Before, Ends::Early);
}

#[test]
fn by_default_owners_who_all_wait_before_and_exceed_their_limits() {
    by_default(Submitted::Before, Ends::Beyond);
}

#[test]
fn by_default_owners_who_submit_all_the_time() {
    by_default(Submitted::AllTheTime, Ends::AtLimits);
}

#[test]
fn by_default_owners_who_submit_all_the_time_and_exceed_their_limits() {
    by_default(Submitted::AllTheTime, Ends::Beyond);
}

/// Owners who never stop: as much work as their nodes can do, or half as much more. What is promised
/// to a job counts from its own submission, whatever comes before and after it; what the market gets is
/// what they leave.
#[test]
fn by_default_owners_who_never_stop() {
    by_default(Submitted::ForEver, Ends::AtLimits);
}

#[test]
fn by_default_owners_who_never_stop_and_end_early() {
    by_default(Submitted::ForEver, Ends::Early);
}

#[test]
fn by_default_owners_who_never_stop_and_exceed_their_limits() {
    by_default(Submitted::ForEver, Ends::Beyond);
}

#[test]
fn a_replay_with_owners_can_be_repeated() {
    let kind = Kind {
        owners: Submitted::AllTheTime,
        ends: Ends::Early,
        market: Standing::Behind,
        guard: Guard::Limits,
    };
    for seed in 0..20 {
        assert_eq!(World::drawn(seed, kind).run(), World::drawn(seed, kind).run());
    }
}

/// In one line every job gets its turn: no job of the market or of an owner is lost (the checkers
/// follow each of them), and what the queue foresaw for owners' jobs holds.
#[test]
fn in_line_every_job_gets_its_turn() {
    for (owners, ends) in [
        (Submitted::Before, Ends::AtLimits),
        (Submitted::AllTheTime, Ends::AtLimits),
        (Submitted::AllTheTime, Ends::Early),
        (Submitted::AllTheTime, Ends::Beyond),
    ] {
        let behind =
            Sums::of(Kind { owners, ends, market: Standing::Behind, guard: Guard::Limits });
        let in_line =
            Sums::of(Kind { owners, ends, market: Standing::InLine, guard: Guard::Limits });
        assert_eq!(in_line.work(), behind.work(), "all work is done");
        if ends != Ends::Beyond {
            assert_eq!((in_line.broken, in_line.latest), (0, 0), "{}", in_line.row("in-line"));
        }
        // Owners who submit all the time go before jobs of the market that are behind them.
        if owners == Submitted::AllTheTime {
            assert!(
                in_line.market_wait < behind.market_wait,
                "{} {}",
                in_line.row("in-line"),
                behind.row("behind")
            );
        }
        println!("{}\n{}", behind.row("behind"), in_line.row("in-line"));
    }
}

#[test]
fn in_line_without_owners_changes_nothing() {
    let kind = Kind {
        owners: Submitted::AllTheTime,
        ends: Ends::Early,
        market: Standing::InLine,
        guard: Guard::Limits,
    };
    for seed in 0..200 {
        let mut world = World::drawn(seed, kind);
        world.workload.owners.iter_mut().for_each(|load| load.jobs.clear());
        let with = world.run();
        world.workload.owners.clear();
        let without = world.run();
        assert_eq!((with.jobs, with.passes), (without.jobs, without.passes), "{seed}");
    }
}

/// The more the market leaves, the less owners wait for it, and the less it gets itself. With the
/// default they wait less than 1 % longer.
#[test]
fn by_default_owners_who_submit_all_the_time_and_end_early_as_with_no_other_guard() {
    let of = |guard| {
        let (owners, ends, market) = (Submitted::AllTheTime, Ends::Early, Standing::Behind);
        let sums = Sums::of(Kind { owners, ends, market, guard });
        let (low, high) = sums.interval();
        assert_eq!((sums.broken, sums.broken_alone), (0, 0), "{guard:?}");
        println!("{guard:?}: {low:.2} to {high:.2} %, market {} node-s", sums.market_used);
        sums
    };
    let spare = by_default(Submitted::AllTheTime, Ends::Early);
    let [limits, early] = [Guard::Limits, Guard::Early].map(of);
    assert_eq!(Guard::usual(Standing::Behind), Guard::Spare);
    // In few worlds these differ by chance.
    assert!(worlds() < 1_000 || (limits.longer() < 30 && early.longer() < 15));
    assert!(limits.longer() > early.longer() && early.longer() > spare.longer());
    let [limits, early, spare] = [limits, early, spare].map(|sums| sums.market_used);
    assert!(limits > early && early > spare && 2 * spare > limits);
}

/// Under each rule of the site's own scheduler, EASY and FCFS, too: the market puts off no owner's
/// job for longer than the bound and the longest time limit of one of its jobs.
#[test]
fn no_owners_job_is_put_off_beyond_a_short_bound() {
    let (ends, market, bound) = (Ends::Early, Standing::Behind, Span(60));
    for owners in [Submitted::AllTheTime, Submitted::ForEver] {
        let kind = Kind { owners, ends, market, guard: Guard::Limits };
        let sums = Sums::bounded(kind, worlds().min(100), bound);
        assert!(sums.put_off <= bound.0, "{owners:?}: {} s", sums.put_off);
    }
}

/// One owner's job needs nodes that the market's jobs always have when those before it end early:
/// without a bound it is put off by one after the other.
#[test]
fn the_bound_ends_what_goes_on_and_on() {
    let put_off = |bound| {
        let world = World::unlucky().bounded(bound);
        let run = world.run();
        put_off::seconds(&world, &run, &world.workload.owners[0], 0).into_iter().max().unwrap()
    };
    let limit = World::UNLUCKY_LIMIT;
    assert!(put_off(OwnersFirst::NO_BOUND) > 5 * limit, "{}", put_off(OwnersFirst::NO_BOUND));
    for bound in [1, 60, 300, 900] {
        let most = put_off(Span(bound));
        assert!(bound < most && most <= bound + limit, "{most} s, bound {bound} s");
    }
}
