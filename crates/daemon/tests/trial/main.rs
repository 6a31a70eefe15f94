//! The live market under every fault that a seed can draw: a world in virtual time, with sites
//! that lie, a disk that fills up, a clock that steps, and a daemon that dies between any two
//! steps. First safety: whatever happens, nothing is lost, run twice or paid twice. Then the
//! faults end, and everything must finish.
//!
//! One world again: `TRADEWIND_TRIAL_SEED=N cargo test -p tradewind-daemon --test trial one -- --nocapture`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checks;
mod codec;
mod counts;
mod daemons;
mod mutants;
mod notices;
mod offers;
mod people;
mod put_off;
mod rates;
mod world;

use std::iter::StepBy;
use std::ops::Range;
use std::thread;

use checks::Broken;
use counts::Counts;
use mutants::Mutant;
use world::World;

/// So many worlds are lived through at once.
const HANDS: u64 = 2;
/// Worlds of the ordinary run, which is not optimised; `TRADEWIND_TRIAL_WORLDS=20000` for more.
const WORLDS: u64 = 500;

fn run(seed: u64, mutant: Option<Mutant>) -> Result<Counts, Broken> {
    let mut world = World::new(seed, mutant);
    world.live_through(400)?;
    world.calm_down()?;
    Ok(world.counts())
}

fn tell(seed: u64, broken: &Broken) -> String {
    format!(
        "{broken}\n  again: TRADEWIND_TRIAL_SEED={seed} cargo test -p tradewind-daemon --test trial \
         one -- --nocapture"
    )
}

#[test]
fn nothing_is_lost_in_many_worlds() {
    let worlds: u64 =
        std::env::var("TRADEWIND_TRIAL_WORLDS").ok().and_then(|n| n.parse().ok()).unwrap_or(WORLDS);
    let some = |seeds: StepBy<Range<u64>>| {
        let mut counts = Counts::default();
        for seed in seeds {
            match run(seed, None) {
                Ok(more) => counts += more,
                Err(broken) => panic!("{}", tell(seed, &broken)),
            }
        }
        counts
    };
    let mut counts = Counts::default();
    thread::scope(|scope| {
        let hands: Vec<_> = (0..HANDS)
            .map(|first| scope.spawn(move || some((first..worlds).step_by(HANDS as usize))))
            .collect();
        hands.into_iter().for_each(|hand| counts += hand.join().unwrap());
    });
    let Counts {
        steps,
        gathered,
        slipped,
        launched,
        apart,
        unkept,
        recalled,
        resumed,
        held,
        settled,
        offers_kept,
        breached,
        covered,
        lined,
        turns,
        forecasts,
        requeued,
        updated,
        put_off,
        grouped: _,
        noticed,
        told,
    } = counts;
    let lively = steps > worlds * 100 && gathered > worlds && slipped > worlds / 10;
    let lively = lively && launched > gathered / 2 && apart > worlds / 4;
    let lively = lively && unkept >= worlds / 200;
    let lively = lively
        && recalled > worlds / 10
        && resumed > worlds / 100
        && held > worlds / 15
        && settled > worlds / 20
        && lined > worlds / 4
        && turns > worlds / 4
        && forecasts > worlds
        && requeued > worlds / 20
        && updated > worlds / 20
        && put_off > worlds / 10
        && noticed > worlds / 40
        && told > worlds / 200;
    let lively =
        lively && offers_kept > worlds / 20 && breached > worlds / 10 && covered > worlds / 100;
    assert!(lively, "the worlds are too quiet: {counts:?}");
}

#[test]
fn one() {
    let Some(seed) = std::env::var("TRADEWIND_TRIAL_SEED").ok().and_then(|n| n.parse().ok()) else {
        return;
    };
    let mut world = World::new(seed, None);
    let outcome = world.live_through(400).and_then(|()| world.calm_down());
    eprintln!("{}", world.story());
    match outcome {
        Ok(()) => eprintln!("world {seed}: {:?}, all well", world.counts()),
        Err(broken) => panic!("{}", tell(seed, &broken)),
    }
}

#[test]
fn every_planted_fault_is_caught_by_its_checker() {
    for (mutant, checker) in Mutant::ALL {
        let caught = (0..WORLDS).find_map(|seed| run(seed, Some(mutant)).err());
        let caught = caught.unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        assert_eq!(caught.checker, checker, "{mutant:?}: {caught}");
    }
}
