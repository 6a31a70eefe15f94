//! Sites whose owners queue: the market's jobs stand behind them.

mod worlds;

use tradewind_sim::owners::{OwnersRun, alone};
use worlds::{Ends, Kind, Submitted, World};

/// Over all worlds.
#[derive(Debug, Default)]
struct Sums {
    jobs: i64,
    wait: i64,
    wait_alone: i64,
    later: i64,
    worst: i64,
    /// The worst delay over the longest time limit of the market's jobs, in thousandths.
    worst_ratio: i64,
    market: i64,
    market_wait: i64,
}

fn compare(worlds: u64, kind: Kind) -> Sums {
    let mut sums = Sums::default();
    for seed in 0..worlds {
        let world = World::drawn(seed, kind);
        let (with, without) = (world.run(), alone(&world.workload).unwrap());
        let loads = world.workload.owners.iter().zip(with.owners.iter().zip(&without));
        for (load, (with, without)) in loads {
            let with: &OwnersRun = with;
            for (job, (with, without)) in load.jobs.iter().zip(with.iter().zip(without)) {
                let (with, without) = (with.unwrap(), without.unwrap());
                let delay = (with.start - without.start).0;
                sums.jobs += 1;
                sums.wait += (with.start - job.submit).0;
                sums.wait_alone += (without.start - job.submit).0;
                sums.later += i64::from(delay > 0);
                sums.worst = sums.worst.max(delay);
                sums.worst_ratio = sums.worst_ratio.max(1_000 * delay / world.longest);
            }
        }
        for (job, ran) in world.workload.jobs.iter().zip(&with.jobs) {
            sums.market += 1;
            sums.market_wait += (ran.start - job.submit).0;
        }
    }
    println!("{kind:?}: {sums:?}");
    sums
}

#[test]
fn nobody_who_waits_is_delayed_where_limits_hold() {
    let kind = Kind { owners: Submitted::Before, ends: Ends::AtLimits };
    let sums = compare(1_000, kind);
    assert_eq!((sums.later, sums.wait), (0, sums.wait_alone));
}

#[test]
fn early() {
    compare(1_000, Kind { owners: Submitted::Before, ends: Ends::Early });
}

#[test]
fn arrivals() {
    compare(1_000, Kind { owners: Submitted::AllTheTime, ends: Ends::AtLimits });
    compare(1_000, Kind { owners: Submitted::AllTheTime, ends: Ends::Early });
}
