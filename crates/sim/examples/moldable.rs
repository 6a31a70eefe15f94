//! A log with rigid jobs, and with shapes by Downey's model:
//! `cargo run --release -p tradewind-sim --example moldable -- LOG.swf[.gz] [SEEDS] [JOBS]`. Of each
//! policy the mean turnaround in seconds, the mean of turnaround over the run time in the log (at least
//! 10 s, so that narrow shapes gain nothing by running longer), and node-hours used, which is the cost where
//! all nodes cost the same.
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments")]

mod logs;

use std::error::Error;
use std::sync::Arc;

use tradewind_model::{Pool, Pools, Price};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles};
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings, ShapeRule};
use tradewind_sim::models::Moldable;
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics, run};
use tradewind_swf as swf;

/// Means of one replay.
#[derive(Clone, Copy, Default)]
struct Means {
    turnaround: f64,
    slowdown: f64,
    node_hours: f64,
}

fn means(
    logged: &Workload,
    replayed: &Workload,
    policy: &mut dyn Policy,
) -> Result<Means, Box<dyn Error>> {
    let ran = run(replayed, ReplaySettings::default(), policy, &mut [])?;
    let jobs = if ran.submitted.is_empty() { &replayed.jobs } else { &ran.submitted };
    let mut sum = Means::default();
    for ((job, of_log), ran) in jobs.iter().zip(&logged.jobs).zip(&ran.jobs) {
        let turnaround = (ran.end - job.submit).0 as f64;
        sum.turnaround += turnaround;
        sum.slowdown += (turnaround / of_log.run.0.max(10) as f64).max(1.0);
        sum.node_hours += f64::from(job.processors) * (ran.end - ran.start).0 as f64 / 3_600.0;
    }
    let count = jobs.len().max(1) as f64;
    Ok(Means { turnaround: sum.turnaround / count, slowdown: sum.slowdown / count, ..sum })
}

type MakePolicy = Box<dyn Fn() -> Box<dyn Policy>>;

fn policies() -> Vec<(String, MakePolicy)> {
    let mut all: Vec<(String, MakePolicy)> = Vec::new();
    for (name, depth) in [("easy", Depth::First(1)), ("conservative", Depth::All)] {
        for (shape, rule) in ShapeRule::ALL.map(|(rule, shape)| (shape, rule)) {
            let settings = GridFillSettings { depth, shape: rule, ..GridFillSettings::default() };
            let make: MakePolicy = Box::new(move || Box::new(GridFill::new(settings)));
            all.push((format!("{name}[shape={shape}]"), make));
        }
    }
    all.push(("css".to_owned(), Box::new(|| Box::new(Cycles::new(CycleSettings::css())))));
    all
}

fn show(name: &str, rigid: Means, all: &[Means]) {
    let of = |value: fn(&Means) -> f64| {
        let values = all.iter().map(value);
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), it| (l.min(it), h.max(it)));
        let base = value(&rigid);
        format!(" {base:.1} → {low:.1}–{high:.1} ({:.2}–{:.2}) |", low / base, high / base)
    };
    println!(
        "| `{name}` |{}{}{}",
        of(|it| it.turnaround),
        of(|it| it.slowdown),
        of(|it| it.node_hours)
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [path, rest @ ..] = given.as_slice() else { return Err("say LOG [SEEDS] [JOBS]".into()) };
    let log = swf::load(path)?;
    let number = |at: usize, usual: usize| rest.get(at).map_or(Ok(usual), |text| text.parse());
    let (seeds, count) = (number(0, 3)?, number(1, usize::MAX)?);
    let plain = Pools::cluster(log.header.max_procs().ok_or("no MaxProcs")?);
    let priced = plain.as_slice().iter().map(|pool| Pool { price: Price(1), ..pool.clone() });
    let pools = Arc::new(Pools::new(plain.sites().to_vec(), priced.collect())?);
    let jobs: Vec<LogJob> = log.jobs.iter().take(count).map(logs::log_job).collect();
    let logged = prepare(&jobs, Arc::clone(&pools), Semantics::Textbook, Overrun::Kill);
    println!("| policy | turnaround, s | turnaround / logged run time | node-hours |");
    println!("|---|---|---|---|");
    for (name, make) in policies() {
        let rigid = means(&logged, &logged, make().as_mut())?;
        let mut all = Vec::new();
        for seed in 1..=seeds as u64 {
            let mut moldable = logged.clone();
            Moldable::default().apply(&mut moldable.jobs, pools.nodes(), seed);
            all.push(means(&logged, &moldable, make().as_mut())?);
        }
        show(&name, rigid, &all);
    }
    Ok(())
}
