//! Many drawn worlds; one of them again; planted faults.

use tradewind_model::{Span, Time, random};
use tradewind_sched::negotiation::{Choose, Discover, Kind, NegotiationSettings};
use tradewind_sim::network::{Faults, Links};

use crate::checkers;
use crate::mutant::Mutant;
use crate::world::{Plan, World};

/// The end of the faults.
const STORM: Time = Time(900);

fn settings(seed: u64) -> NegotiationSettings {
    let mut rng = random::stream(seed, "knobs", 0);
    let mut within = |low, high| random::within(&mut rng, low, high);
    let settings = NegotiationSettings {
        choose: Choose::ALL[within(0, 2) as usize].0,
        discover: match within(0, 2) {
            0 => Discover::All,
            choices => Discover::Sample(choices as u32),
        },
        rounds: within(1, 3) as u32,
        window: Span(within(1, 8)),
        offer_life: Span(within(20, 90)),
        tries: within(1, 3) as u32,
        retry_max: Span(within(20, 120)),
        pause: Span(within(1, 60)),
        horizon: Span(within(-50, 100).max(0)),
        hops: within(1, 4) as u32,
    };
    settings.checked().unwrap()
}

fn plan(seed: u64) -> Plan {
    let mut rng = random::stream(seed, "world", 0);
    let mut within = |low, high| random::within(&mut rng, low, high);
    let sites = within(2, 5);
    let nodes: Vec<u32> = (0..sites).map(|_| within(1, 8) as u32).collect();
    let widest = i64::from(*nodes.iter().max().unwrap());
    let count = within(2, 24);
    let job = |_| {
        let home = within(0, sites - 1) as u32;
        (home, within(0, 400), within(1, widest) as u32, within(1, 200))
    };
    let mut jobs: Vec<(u32, i64, u32, i64)> = (0..count).map(job).collect();
    jobs.sort_by_key(|job| job.1);
    let latency = (Span(within(0, 2)), Span(within(2, 5)));
    let per_processor_mb = within(0, 60) as u64;
    let crash = within(-30, 60).max(0) as u32;
    Plan {
        seed,
        nodes,
        jobs,
        settings: settings(seed),
        links: Links { latency, per_processor_mb, ..Links::default() },
        faults: Faults::draw(seed, sites as u32, Time(0), STORM),
        crash,
        stay: within(0, 700) as u32,
        mutant: None,
    }
}

fn live(plan: Plan) -> Result<World, (&'static str, String)> {
    let mut world = World::new(plan);
    let mut checkers = checkers::all();
    if world.is_mutated() {
        checkers.retain(|checker| checker.name() != "journal"); // mutants forge journals
    }
    world.run(&mut checkers).map(|()| world)
}

fn live_or_tell(seed: u64) -> World {
    live(plan(seed)).unwrap_or_else(|(checker, what)| {
        let command = "cargo test -p tradewind-sim --test federation one_seed";
        unreachable!("{checker}: {what}\nagain: TRADEWIND_SEED={seed} {command}")
    })
}

#[expect(clippy::disallowed_methods, reason = "seeds are repeated by hand")]
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn many_seeds() {
    let count = number("TRADEWIND_SEEDS").unwrap_or(2_000);
    let (mut sent, mut moved) = ([0; Kind::ALL.len()], 0);
    for seed in 0..count {
        let world = live_or_tell(seed);
        Kind::ALL.iter().zip(&mut sent).for_each(|(kind, sum)| *sum += world.traffic().of(kind.0));
        moved += world.moved();
    }
    // Worlds in which little happens would prove little.
    println!("{moved} jobs moved; {:?}", Kind::ALL.iter().zip(sent).collect::<Vec<_>>());
    assert!(moved > count && sent.iter().all(|sent| *sent > count / 10));
}

#[test]
fn one_seed() {
    if let Some(seed) = number("TRADEWIND_SEED") {
        println!("{:#?}", plan(seed));
        live_or_tell(seed);
    }
}

#[test]
fn each_planted_fault_is_caught_by_its_watcher() {
    let planted = [
        (Mutant::Forgets, &["owner", "once"][..]),
        (Mutant::LetsGo, &["owner"]),
        (Mutant::TakesBack, &["owner"]),
        (Mutant::WritesLate, &["owner"]),
        (Mutant::Pushes, &["reservations"]),
    ];
    for (mutant, watchers) in planted {
        let caught = (0..400).find_map(|seed| {
            let plan = Plan { mutant: Some(mutant), ..plan(seed) };
            live(plan).err().map(|(watcher, _)| watcher)
        });
        let by_them = caught.is_some_and(|watcher| watchers.contains(&watcher));
        assert!(by_them, "{mutant:?} was caught by {caught:?}");
    }
}
