//! A log under EASY and conservative backfilling: `cargo run --release -p tradewind-sim --example
//! replay -- LOG.swf[.gz]`; without a log, a generated one.
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments")]

mod logs;

use std::error::Error;
use std::sync::Arc;

use tradewind_model::Pools;
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sim::workload::{LogJob, Overrun, prepare};
use tradewind_sim::{ReplaySettings, Semantics, check, metrics, run};
use tradewind_swf as swf;

fn main() -> Result<(), Box<dyn Error>> {
    let log = match std::env::args().nth(1) {
        Some(path) => swf::load(&path)?,
        None => swf::sample(1, 2_000, 64),
    };
    let processors = log.header.max_procs().ok_or("the log's header has no MaxProcs")?;
    let jobs: Vec<LogJob> = log.jobs.iter().map(logs::log_job).collect();
    let pools = Arc::new(Pools::cluster(processors));
    let workload = prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill);
    for (name, depth) in [("easy", Depth::First(1)), ("conservative", Depth::All)] {
        let mut policy = Backfill::new(BackfillSettings { depth, ..BackfillSettings::default() });
        let mut checkers = check::all(policy.promise());
        let run = run(&workload, ReplaySettings::default(), &mut policy, &mut checkers)?;
        println!("{name}");
        for entry in metrics::measure(&workload, &run, metrics::MetricOptions::default()).entries()
        {
            let Some(value) = entry.value else { continue };
            println!("  {:<24} {:>16.2} {}", entry.name, value.as_f64(), entry.unit.symbol());
        }
    }
    Ok(())
}
