//! A small log made up by rule, for tests and examples.

use tradewind_model::random::{stream, within};
use tradewind_model::{Span, Time};

use super::{Header, Log, Record, Summary};

/// Offered load of a sample, in percent of the machine.
const LOAD: i64 = 70;

/// A generated log of `jobs` jobs on `processors` processors: widths are powers of two up to half
/// the machine, run times log-uniform from one minute to some nine hours, requests one to four
/// times as long, gaps such that 70 % of the machine is asked for, started first come, first
/// served. The same for the same arguments on every machine.
pub fn sample(seed: u64, jobs: u32, processors: u32) -> Log {
    let processors = processors.max(1);
    let mut records: Vec<Record> =
        (1..=i64::from(jobs)).map(|n| shape(seed, n, processors)).collect();
    let area: i64 = records.iter().map(Record::area).sum();
    let gap = area * 100 / (i64::from(processors) * LOAD * i64::from(jobs).max(1));
    let mut clock = 0;
    for job in &mut records {
        clock += within(&mut stream(seed, "gap", job.number as u64), 0, 2 * gap);
        job.submit = Time(clock);
    }
    serve(&mut records, processors);
    let entries = [
        ("Version", "2.2".to_owned()),
        ("Computer", "none".to_owned()),
        ("Installation", "made up".to_owned()),
        ("Note", format!("no real jobs: drawn by rule from seed {seed}")),
        ("MaxJobs", jobs.to_string()),
        ("UnixStartTime", "0".to_owned()),
        ("MaxNodes", processors.to_string()),
        ("MaxProcs", processors.to_string()),
    ];
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).to_vec();
    let count = records.len();
    let summary = Summary { jobs: count, usable: count, ..Summary::default() };
    let (name, header) = ("sample".to_owned(), Header { entries });
    Log { name, header, jobs: records, undated: Vec::new(), summary }
}

impl Record {
    fn area(&self) -> i64 {
        self.run.unwrap_or_default().0 * i64::from(self.processors.unwrap_or(0))
    }
}

/// The job's width and times, without its place on the clock.
fn shape(seed: u64, number: i64, processors: u32) -> Record {
    let mut rng = stream(seed, "shape", number as u64);
    let widest = (processors / 2).max(1).ilog2();
    let width = 1u32 << within(&mut rng, 0, i64::from(widest));
    // Log-uniform by whole doublings, and uniform within each.
    let min = 60i64 << within(&mut rng, 0, 8);
    let run = within(&mut rng, min, 2 * min);
    let asked = run * within(&mut rng, 100, 400) / 100;
    let quarters = (asked + 899) / 900;
    let user = within(&mut rng, 1, 12);
    Record {
        number,
        submit: Time(0),
        wait: Some(Span(0)),
        run: Some(Span(run)),
        processors: Some(width),
        cpu_time: None,
        memory: None,
        requested_processors: Some(width),
        requested_time: Some(Span(quarters * 900)),
        requested_memory: None,
        status: 1,
        user,
        group: (user + 2) / 3,
        application: -1,
        queue: 1,
        partition: 1,
        preceding: -1,
        think_time: -1,
    }
}

/// First come, first served: a job starts when those before it have started and enough
/// processors are free.
fn serve(records: &mut [Record], processors: u32) {
    let mut free_at = vec![Time(0); processors as usize];
    let mut last = Time(0);
    for job in records {
        let width = job.processors.unwrap_or(1) as usize;
        free_at.sort_unstable();
        let start = job.submit.max(last).max(free_at[width - 1]);
        free_at[..width].fill(start + job.run.unwrap_or_default());
        job.wait = Some(start - job.submit);
        last = start;
    }
}
