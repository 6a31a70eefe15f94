//! Times of the combination step by size and class: `cargo bench -p tradewind-reference`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tradewind_model::Objective;
use tradewind_reference::collisions;
use tradewind_reference::instances::{Class, Scale, bounds, drawn, objectives};
use tradewind_sched::combine::best;
use tradewind_sched::combine::disjoint::select;

const SCALE: Scale = Scale { time: 100_000, cost: 1_000_000_000 };

fn combine(c: &mut Criterion) {
    let mut group = c.benchmark_group("combine");
    group.sample_size(10);
    for class in Class::ALL {
        for size in [20, 200, 2_000] {
            let jobs = drawn(class, size, 30, SCALE, 1);
            for &objective in objectives(class) {
                let bounds = bounds(&jobs, objective);
                let id = BenchmarkId::new(format!("{}/{objective:?}", class.name()), size);
                group.bench_function(id, |b| b.iter(|| best(&jobs, objective, bounds)));
            }
        }
    }
    group.finish();
}

/// The choice among offers that may collide: the papers' size, and two that hit the work limit.
fn disjoint(c: &mut Criterion) {
    let mut group = c.benchmark_group("disjoint");
    group.sample_size(10);
    for (jobs, nodes, horizon) in [(5, 6, 300), (50, 20, 300), (200, 40, 600)] {
        let size = collisions::Size { jobs, offers: 50, nodes, horizon };
        let offers = collisions::drawn(size, 1);
        for objective in [Objective::MinTime, Objective::MinCost] {
            let bounds = collisions::bounds(&offers, objective);
            let id = BenchmarkId::new(format!("{objective:?}"), jobs);
            group.bench_function(id, |b| {
                b.iter(|| select(&offers, objective, bounds, None, 2_000_000));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, combine, disjoint);
criterion_main!(benches);
