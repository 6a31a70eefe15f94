//! Sites whose owners queue: the market's jobs stand behind them.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test: what fails is said, and sums are printed"
)]

mod worlds;

use tradewind_sched::policy::backfill::Depth;
use tradewind_sim::owners::{OwnersRun, alone};
use worlds::{Ends, Kind, Submitted, World};

const WORLDS: u64 = 1_000;

/// Over all worlds of a kind.
#[derive(Debug, Default)]
struct Sums {
    jobs: i64,
    wait: i64,
    wait_alone: i64,
    /// Owners' jobs that started later than without the market, and by how much at most.
    delayed: i64,
    worst: i64,
    /// Owners' jobs that started later than foreseen when they were submitted.
    broken: i64,
    /// The same without the market.
    broken_alone: i64,
    /// Jobs of the market.
    market: i64,
    market_node_s: i64,
    owners_node_s: i64,
}

impl Sums {
    fn add(&mut self, world: &World) {
        let (with, without) = (world.run(), alone(&world.workload).unwrap());
        let loads = world.workload.owners.iter().zip(with.owners.iter().zip(&without));
        for (load, (with, without)) in loads {
            // EASY and depths between promise nothing to jobs behind the first.
            let promises = matches!(load.rule.depth, Depth::First(0) | Depth::All);
            let late = |run: &OwnersRun| {
                let ran = run.iter().map(|ran| ran.unwrap());
                ran.filter(|it| promises && it.foreseen.unwrap() < it.start).count() as i64
            };
            self.broken += late(with);
            self.broken_alone += late(without);
            for (job, (with, without)) in load.jobs.iter().zip(with.iter().zip(without)) {
                let (with, without) = (with.unwrap(), without.unwrap());
                let delay = (with.start - without.start).0;
                self.jobs += 1;
                self.wait += (with.start - job.submit).0;
                self.wait_alone += (without.start - job.submit).0;
                self.delayed += i64::from(delay > 0);
                self.worst = self.worst.max(delay);
                self.owners_node_s += job.run.0 * i64::from(job.processors);
            }
        }
        self.market += with.jobs.len() as i64;
        let work = |job: &tradewind_sim::workload::Job| job.run.0 * i64::from(job.processors);
        self.market_node_s += world.workload.jobs.iter().map(work).sum::<i64>();
    }

    fn of(kind: Kind) -> Sums {
        let mut sums = Sums::default();
        (0..WORLDS).for_each(|seed| sums.add(&World::drawn(seed, kind)));
        println!("{kind:?}: {sums:?}");
        sums
    }

    /// By how much owners wait longer, in thousandths.
    fn longer(&self) -> i64 {
        1_000 * (self.wait - self.wait_alone) / self.wait_alone
    }
}

#[test]
fn no_owner_who_waits_is_delayed_where_jobs_end_when_expected() {
    let sums = Sums::of(Kind { owners: Submitted::Before, ends: Ends::AtLimits });
    assert_eq!((sums.delayed, sums.wait), (0, sums.wait_alone));
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.market > 10_000 && sums.jobs > 10_000);
}

#[test]
fn early_ends_delay_owners_in_the_queue_by_less_than_one_percent() {
    let sums = Sums::of(Kind { owners: Submitted::Before, ends: Ends::Early });
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.longer() < 10, "{sums:?}");
}

#[test]
fn jobs_submitted_later_wait_for_no_more_than_runs_already() {
    let sums = Sums::of(Kind { owners: Submitted::AllTheTime, ends: Ends::AtLimits });
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.longer() < 10, "{sums:?}");
    let sums = Sums::of(Kind { owners: Submitted::AllTheTime, ends: Ends::Early });
    assert_eq!((sums.broken, sums.broken_alone), (0, 0));
    assert!(sums.longer() < 30, "{sums:?}");
}

#[test]
fn owners_jobs_that_exceed_their_limits_break_no_promise_of_policies() {
    let sums = Sums::of(Kind { owners: Submitted::AllTheTime, ends: Ends::Beyond });
    assert!(sums.jobs > 10_000);
}

#[test]
fn a_replay_with_owners_can_be_repeated() {
    let kind = Kind { owners: Submitted::AllTheTime, ends: Ends::Early };
    for seed in 0..20 {
        assert_eq!(World::drawn(seed, kind).run(), World::drawn(seed, kind).run());
    }
}
