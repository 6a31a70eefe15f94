//! A log on shared nodes, without and with its jobs' memory:
//! `cargo run --release -p tradewind-sim --example memory -- LOG.swf[.gz] PROCESSORS KIB [JOBS]`, with
//! processors and memory of a node, and of the log's jobs the first so many.
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and the clock")]

mod logs;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use tradewind_model::{Pools, Terms};
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Semantics, metrics, run};
use tradewind_swf as swf;

/// A field of a job with memory per processor, in thousandths of a KiB.
type Field = fn(&swf::Record) -> Option<i64>;

fn replayed(job: &swf::Record, field: Field) -> LogJob {
    let memory = field(job).filter(|memory| *memory > 0);
    let memory = memory.and_then(|memory| u32::try_from((memory + 999) / 1_000).ok());
    let terms = Terms { memory, ..Terms::NONE };
    LogJob { terms: Some(Arc::new(terms)), ..logs::log_job(job) }
}

fn show(name: &str, workload: &Workload) -> Result<(), Box<dyn Error>> {
    for (policy, depth) in [("easy", Depth::First(1)), ("conservative", Depth::All)] {
        let began = Instant::now();
        let mut fill = GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() });
        let ran = run(workload, ReplaySettings::default(), &mut fill, &mut [])?;
        let took = began.elapsed().as_secs_f64();
        let found = metrics::measure(workload, &ran, metrics::MetricOptions::default());
        println!("{name}, {policy}: {took:.2} s");
        let of = [
            "jobs",
            "refused",
            "mean_wait_s",
            "mean_bounded_slowdown",
            "utilisation",
            "memory_utilisation",
            "blocked_processors",
            "fragmented_time",
        ];
        for entry in found.entries().iter().filter(|entry| of.contains(&entry.name.as_str())) {
            let Some(value) = entry.value else { continue };
            println!("  {:<24} {:>14.4}", entry.name, value.as_f64());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [path, processors, memory, rest @ ..] = given.as_slice() else {
        return Err("say LOG PROCESSORS KIB [JOBS]".into());
    };
    let log = swf::load(path)?;
    let all = log.header.max_procs().ok_or("the log's header has no MaxProcs")?;
    let (processors, memory): (u32, u32) = (processors.parse()?, memory.parse()?);
    let count = rest.first().map_or(Ok(usize::MAX), |count| count.parse())?;
    let pools = Pools::shared(all / processors.max(1), processors, memory)?;
    let none = Pools::new(pools.sites().to_vec(), pools.as_slice().to_vec())?;
    let ways: [(&str, &Pools, Field); 3] = [
        ("without memory", &none, |_| None),
        ("requested memory", &pools, |job| job.requested_memory.or(job.memory)),
        ("used memory", &pools, |job| job.memory.or(job.requested_memory)),
    ];
    for (name, pools, field) in ways {
        let jobs = log.jobs.iter().take(count).map(|job| replayed(job, field));
        let jobs: Vec<LogJob> = jobs.collect();
        let pools = Arc::new(pools.clone());
        show(name, &prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill))?;
    }
    Ok(())
}
