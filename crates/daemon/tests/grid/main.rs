//! Two or three live markets that pass jobs to each other over a network that loses, doubles,
//! delays and cuts, while sites fail and daemons die between any two steps, whether or not what
//! they did was written down. First safety: a job has one owner at most who may run it, and never
//! none. Then the faults end, everything must finish, and the markets' accounts of each other
//! must be each other's mirrors.
//!
//! One grid again: `TRADEWIND_GRID_SEED=N cargo test -p tradewind-daemon --test grid one -- --nocapture`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checks;
#[path = "../trial/codec.rs"]
mod codec;
mod market;
mod network;
mod world;

use std::iter::StepBy;
use std::ops::Range;
use std::thread;

use checks::Broken;
use world::{Mutant, World};

/// So many grids are lived through at once.
const HANDS: u64 = 2;
/// Grids of the ordinary run, which is not optimised; `TRADEWIND_GRIDS=4000` for more.
const GRIDS: u64 = 150;
/// Steps with faults.
const STEPS: u32 = 700;

/// What happened in a grid.
fn run(seed: u64, mutant: Option<Mutant>) -> Result<World, Broken> {
    let mut world = World::new(seed, mutant);
    world.live_through(STEPS)?;
    world.calm_down()?;
    Ok(world)
}

fn tell(seed: u64, broken: &Broken) -> String {
    format!(
        "{broken}\n  again: TRADEWIND_GRID_SEED={seed} cargo test -p tradewind-daemon --test grid \
         one -- --nocapture"
    )
}

#[test]
fn no_job_is_lost_or_run_twice_in_many_grids() {
    let grids: u64 =
        std::env::var("TRADEWIND_GRIDS").ok().and_then(|n| n.parse().ok()).unwrap_or(GRIDS);
    let some = |seeds: StepBy<Range<u64>>| {
        let mut went = world::Went::default();
        for seed in seeds {
            match run(seed, None) {
                Ok(world) => went.add(&world.went()),
                Err(broken) => panic!("{}", tell(seed, &broken)),
            }
        }
        went
    };
    let mut went = world::Went::default();
    thread::scope(|scope| {
        let hands: Vec<_> = (0..HANDS)
            .map(|first| scope.spawn(move || some((first..grids).step_by(HANDS as usize))))
            .collect();
        hands.into_iter().for_each(|hand| went.add(&hand.join().unwrap()));
    });
    eprintln!("{went:?}");
    // The grids must be lively, or nothing was tested.
    assert!(
        went.taken > grids && went.returned > grids / 20 && went.given_back > grids / 100,
        "{went:?}"
    );
    assert!(went.deaths_in_doubt > grids / 4, "{went:?}");
}

#[test]
fn one() {
    let Some(seed) = std::env::var("TRADEWIND_GRID_SEED").ok().and_then(|n| n.parse().ok()) else {
        return;
    };
    let mut world = World::new(seed, None);
    let outcome = world.live_through(STEPS).and_then(|()| world.calm_down());
    eprintln!("{}", world.story());
    match outcome {
        Ok(()) => eprintln!("grid {seed}: {:?}, all well", world.went()),
        Err(broken) => panic!("{}", tell(seed, &broken)),
    }
}

#[test]
fn every_planted_fault_is_caught_by_its_checker() {
    for (mutant, checker) in Mutant::ALL {
        let caught = (0..400).find_map(|seed| run(seed, Some(mutant)).err());
        let caught = caught.unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        assert_eq!(caught.checker, checker, "{mutant:?}: {caught}");
    }
}
