//! One cycle of bids and asks: 10,000 bids before 300 queues, growth in both, and the plain version.

use criterion::{BatchSize, BenchmarkId, Criterion as Bench, criterion_group, criterion_main};
use tradewind_reference::auction::Cycle;
use tradewind_sched::policy::dispatch::{DispatchRule, DispatchSettings, Gate, Slots, Wait};

/// The more laborious way: every bid may search every queue's plan.
const fn packaged(rule: DispatchRule) -> DispatchSettings {
    DispatchSettings { slots: Slots::Packaged, wait: Wait::First, ..DispatchSettings::of(rule) }
}

const AUCTION: DispatchSettings = packaged(DispatchRule::Auction);

fn cycle(
    bench: &mut Bench,
    group: &str,
    name: &str,
    (bids, queues): (usize, usize),
    settings: DispatchSettings,
) {
    let mut group = bench.benchmark_group(group);
    let cycle = Cycle::new(1, bids, queues, settings);
    group.sample_size(10).bench_function(BenchmarkId::new(name, format!("{bids}x{queues}")), |b| {
        let run = |mut cycle: Cycle| cycle.run(&mut Vec::with_capacity(2 * bids));
        b.iter_batched(|| cycle.clone(), run, BatchSize::LargeInput);
    });
    group.finish();
}

fn growth(bench: &mut Bench) {
    for bids in [1_250, 2_500, 5_000, 10_000, 20_000] {
        cycle(bench, "cycle/bids", "auction", (bids, 300), AUCTION);
    }
    for queues in [75, 150, 600] {
        cycle(bench, "cycle/queues", "auction", (10_000, queues), AUCTION);
    }
}

fn rules(bench: &mut Bench) {
    for (rule, name) in DispatchRule::ALL {
        cycle(bench, "cycle/packaged", name, (10_000, 300), packaged(rule));
        cycle(bench, "cycle/immediate", name, (10_000, 300), DispatchSettings::of(rule));
    }
    let off = DispatchSettings { gate: Gate::Off, ..AUCTION };
    cycle(bench, "cycle/packaged", "auction-gate-off", (10_000, 300), off);
}

fn plain(bench: &mut Bench) {
    let mut group = bench.benchmark_group("cycle/plain");
    for (bids, queues) in [(1_250, 75), (1_250, 300), (10_000, 300)] {
        let cycle = Cycle::new(1, bids, queues, AUCTION);
        let name = BenchmarkId::new("auction", format!("{bids}x{queues}"));
        group.sample_size(10).bench_function(name, |b| b.iter(|| cycle.plain()));
    }
    group.finish();
}

criterion_group!(benches, growth, rules, plain);
criterion_main!(benches);
