//! The schemes that plan a batch, on drawn cycles of paper 000's environment: jobs placed, the
//! objective, what on-the-fly proves, and times.
//!
//! `cargo run --release -p tradewind-sim --example batches 20`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a table by hand")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and measures time")]

use std::time::Instant;

use tradewind_model::{
    Criterion, Limit, Measure, Money, Objective, Plan, Snapshot, Span, Sum, VoPolicy,
};
use tradewind_sched::policy::cyclic::{Cyclic, Offers, SearchBy, SubBatches, plan};
use tradewind_sched::window::Algorithm;
use tradewind_sim::models::Environment;

/// What one scheme does over all cycles.
#[derive(Default)]
struct Row {
    placed: u32,
    sum: f64,
    bound: f64,
    could_place: u32,
    proven: u32,
    seconds: f64,
}

fn scheme(name: &str, criterion: &Criterion) -> Cyclic {
    let (offers, sub_batches) = match name {
        "batch-slicer" => (Offers::Disjoint, SubBatches::Auto),
        "whole-batch" => (Offers::Overlapping, SubBatches::Count(1)),
        "on-the-fly" => (Offers::OnTheFly, SubBatches::Count(1)),
        _ => (Offers::Disjoint, SubBatches::Count(1)),
    };
    let search = SearchBy::All(Algorithm::Best(criterion.clone()));
    Cyclic { offers, sub_batches, search, choice_limit: 200_000, ..Cyclic::default() }
}

fn sum(plan: &Plan, policy: &VoPolicy) -> f64 {
    let totals = plan.totals(policy.measure);
    match policy.objective {
        Objective::MinCost => totals.cost.0 as f64 / 1e6,
        _ => totals.time.0 as f64,
    }
}

impl Row {
    fn add(&mut self, snapshot: &Snapshot, cyclic: &Cyclic) {
        let clock = Instant::now();
        let made = plan(snapshot, cyclic, &mut |_| {});
        self.seconds += clock.elapsed().as_secs_f64();
        let placed = made.totals(snapshot.policy.measure).placed;
        let attained = sum(&made, &snapshot.policy);
        self.placed += placed;
        self.sum += attained;
        self.proven += u32::from(made.gap.is_none());
        let (could, bound) = match &made.gap {
            None => (placed, attained),
            Some(gap) => match &gap.sum {
                Sum::Cost(cost) => (gap.placed, cost.0 as f64 / 1e6),
                Sum::Time(time) => (gap.placed, time.0 as f64),
                Sum::Of(..) => (gap.placed, 0.0),
            },
        };
        self.could_place += could;
        self.bound += bound;
    }
}

fn main() {
    let cycles: u64 = std::env::args().nth(1).and_then(|it| it.parse().ok()).unwrap_or(10);
    let measures = [
        (Objective::MinTime, Measure::Runtime, Criterion::Runtime),
        (Objective::MinCost, Measure::Runtime, Criterion::Cost),
    ];
    println!("nodes objective scheme placed of sum could-place bound proven seconds-per-cycle");
    for nodes in [24, 12] {
        let environment = Environment { nodes, ..Environment::default() };
        for (objective, measure, criterion) in &measures {
            for name in ["css", "batch-slicer", "whole-batch", "on-the-fly"] {
                let mut row = Row::default();
                for seed in 1..=cycles {
                    let mut snapshot = environment.draw(seed).expect("sane parameters").snapshot;
                    snapshot.policy = VoPolicy {
                        objective: *objective,
                        measure: *measure,
                        time_limit: Limit::At(Span(1 << 40)),
                        budget_limit: Limit::At(Money(1 << 60)),
                        ..VoPolicy::default()
                    };
                    row.add(&snapshot, &scheme(name, criterion));
                }
                let mean = |total: f64| total / cycles as f64;
                println!(
                    "{nodes} {objective:?} {name} {:.2} 20 {:.1} {:.2} {:.1} {} {:.2}",
                    mean(row.placed.into()),
                    mean(row.sum),
                    mean(row.could_place.into()),
                    mean(row.bound),
                    row.proven,
                    mean(row.seconds),
                );
            }
        }
    }
}
