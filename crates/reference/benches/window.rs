//! Single-window searches: one call is the request's ranking and the scan. Throughput is in slots.

use criterion::{BenchmarkId, Criterion as Bench, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tradewind_model::{Criterion, Money, Time};
use tradewind_reference::scan;
use tradewind_reference::worlds::Market;
use tradewind_sched::window::{Algorithm, Scratch, Search, Searcher};

/// (slots, nodes, tasks)
const SIZES: [(usize, usize, u32); 6] = [
    (100, 30, 5),
    (10_000, 3_000, 5),
    (100_000, 30_000, 5),
    (100_000, 30_000, 50),
    (100_000, 30_000, 500),
    (100_000, 100, 5),
];

/// (name, criterion, budget in per cent of the cheapest window: below 100 there is none and the
/// whole list is read)
const SEARCHES: [(&str, Criterion, i64); 5] = [
    ("start", Criterion::Start, 99),
    ("cost", Criterion::Cost, 200),
    ("runtime", Criterion::Runtime, 130),
    ("finish", Criterion::Finish, 130),
    ("processor-time", Criterion::ProcessorTime, 130),
];

fn single_window(bench: &mut Bench) {
    for (slots, nodes, tasks) in SIZES {
        let market = Market::random(1, slots, nodes);
        let cheapest = market.cheapest(tasks).map_or(0, |money| money.0);
        let mut group = bench.benchmark_group(format!("window/{slots}x{nodes}/{tasks}"));
        group.throughput(Throughput::Elements(slots as u64)).sample_size(10);
        group.bench_function("one-pass", |b| {
            let slots = market.slots.as_slice();
            b.iter(|| black_box(slots).iter().map(|slot| slot.end.0 - slot.start.0).sum::<i64>());
        });
        for (name, criterion, percent) in &SEARCHES {
            let mut request = market.request(tasks, criterion.clone());
            request.budget = Some(Money(cheapest / 100 * percent));
            let search = Search::best(criterion.clone());
            let mut scratch = Scratch::default();
            group.bench_function(BenchmarkId::new("exact", name), |b| {
                b.iter(|| {
                    let searcher = Searcher::new(&market.grid, &request, &search);
                    searcher.find(&market.slots, Time::MIN, &mut scratch)
                });
            });
            if *criterion != Criterion::ProcessorTime && slots <= 10_000 {
                group.bench_function(BenchmarkId::new("plain-scan", name), |b| {
                    b.iter(|| scan::find(&market.grid, &market.slots, &request));
                });
            }
        }
        group.finish();
    }
}

/// All disjoint AMP windows and the best of them, on the set-up of paper 000, section 6.1.
fn csa(bench: &mut Bench) {
    let mut group = bench.benchmark_group("csa");
    for (nodes, horizon) in [(50, 600), (100, 600), (400, 600), (100, 3_600), (10_000, 600)] {
        let market = Market::of_paper(1, nodes, horizon);
        let mut request = market.request(5, Criterion::Finish);
        request.budget = market.cheapest(5).map(|money| Money(money.0 / 1_027 * 1_500));
        let search = Search::new(Algorithm::Csa(Criterion::Finish));
        let mut scratch = Scratch::default();
        group.sample_size(10).bench_function(format!("{nodes}x{horizon}"), |b| {
            b.iter(|| {
                let searcher = Searcher::new(&market.grid, &request, &search);
                searcher.find(&market.slots, Time::MIN, &mut scratch)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, single_window, csa);
criterion_main!(benches);
