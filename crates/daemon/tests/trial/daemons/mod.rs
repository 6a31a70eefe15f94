//! Worlds with two and three daemons and one market: killed, frozen between any two steps and within an
//! order, after its site has admitted it, and woken hours later, cut off from the database or from sites, with clocks that jump and a database that
//! loses requests, answers and its primary. Whatever happens, nothing is lost, run twice or paid twice.
//!
//! One world again: `TRADEWIND_DAEMONS_SEED=N cargo test -p tradewind-daemon --test trial daemons`.

mod database;
mod orders;
mod world;

use world::World;

use crate::checks::Broken;

/// Worlds of the ordinary run; `TRADEWIND_DAEMONS_WORLDS=10000` for more.
const WORLDS: u64 = 300;
/// Steps of a world before everything calms down.
const STEPS: u32 = 600;

/// A mistake that is made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Who writes is not compared with who owns the market, by any number.
    NoEpoch,
    /// A daemon owns the market if it has got a lock of its session.
    LockOnly,
    /// A site carries out what any daemon orders.
    OrderWithoutEpoch,
    /// What was acknowledged may be lost with the database's primary.
    AsynchronousCommit,
    /// A local site lets what was being made in an earlier term come into its place.
    DraftsOfNoTerm,
    /// A cluster runs whatever arrives late.
    NothingKept,
}

impl Mutant {
    const ALL: [Mutant; 6] = [
        Mutant::NoEpoch,
        Mutant::LockOnly,
        Mutant::OrderWithoutEpoch,
        Mutant::AsynchronousCommit,
        Mutant::DraftsOfNoTerm,
        Mutant::NothingKept,
    ];
}

fn run(seed: u64, mutant: Option<Mutant>) -> Result<world::Counts, Broken> {
    let mut world = World::new(seed, mutant);
    world.live_through(STEPS)?;
    world.calm_down()?;
    Ok(world.counts)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn several_daemons_lose_nothing_and_run_nothing_twice() {
    let one = number("TRADEWIND_DAEMONS_SEED");
    let worlds = number("TRADEWIND_DAEMONS_WORLDS").unwrap_or(WORLDS);
    let seeds = one.map_or(0..worlds, |seed| seed..seed + 1);
    let mut all = world::Counts::default();
    for seed in seeds {
        match run(seed, None) {
            Ok(counts) => all += counts,
            Err(broken) => panic!("{broken}\n  again: TRADEWIND_DAEMONS_SEED={seed}"),
        }
    }
    if one.is_none() {
        let world::Counts { terms, stale_rows, stale_orders, late_orders, ran } = all;
        let lively = terms > 3 * worlds && stale_rows > worlds / 4 && ran > worlds;
        let lively = lively && stale_orders > worlds / 20 && late_orders > worlds / 20;
        assert!(lively, "the worlds are too quiet: {all:?}");
    }
}

#[test]
fn every_planted_fault_of_several_daemons_is_caught() {
    for mutant in Mutant::ALL {
        let caught = (0..1_000).find_map(|seed| run(seed, Some(mutant)).err());
        let caught = caught.unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        let checkers = match mutant {
            Mutant::OrderWithoutEpoch | Mutant::DraftsOfNoTerm | Mutant::NothingKept => {
                &["once"][..]
            }
            Mutant::AsynchronousCommit => &["kept", "replayed", "sound", "once"],
            Mutant::NoEpoch | Mutant::LockOnly => &["kept", "replayed", "sound", "once"],
        };
        assert!(checkers.contains(&caught.checker), "{mutant:?}: {caught}");
    }
}
