//! Times of the combination step by size and class: `cargo bench -p tradewind-reference`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tradewind_reference::instances::{Class, Scale, bounds, drawn, objectives};
use tradewind_sched::combine::best;

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

criterion_group!(benches, combine);
criterion_main!(benches);
