//! Records become lines of numbers.

use std::fmt::Write as _;

use super::{Header, Log, Record};
use crate::decimal;

/// The log as SWF text: the header's entries, then 18 columns per job; those without a
/// submit time last. Reading it gives the same header and jobs.
pub fn write(log: &Log) -> String {
    let mut out = String::new();
    write_header(&mut out, &log.header);
    for job in log.jobs.iter().chain(&log.undated) {
        write_record(&mut out, job);
    }
    out
}

/// Appends the header's lines.
pub fn write_header(out: &mut String, header: &Header) {
    for (key, value) in &header.entries {
        // Writing to a string cannot fail.
        let _ = match (key.as_str(), value.as_str()) {
            ("", text) => writeln!(out, "; {text}"),
            (key, "") => writeln!(out, "; {key}:"),
            (key, value) => writeln!(out, "; {key}: {value}"),
        };
    }
}

/// Appends the line of one job.
pub fn write_record(out: &mut String, job: &Record) {
    let seconds = |span: Option<tradewind_model::Span>| span.map_or(-1, |span| span.0);
    let count = |count: Option<u32>| count.map_or(-1, i64::from);
    let decimal = |n: Option<i64>| n.map_or("-1".to_owned(), |n| decimal::format(n, 3));
    let _ = writeln!(
        out,
        "{:>6} {:>8} {:>6} {:>6} {:>4} {} {} {:>4} {:>6} {} {} {} {} {} {} {} {} {}",
        job.number,
        job.submit,
        seconds(job.wait),
        seconds(job.run),
        count(job.processors),
        decimal(job.cpu_time),
        decimal(job.memory),
        count(job.requested_processors),
        seconds(job.requested_time),
        decimal(job.requested_memory),
        job.status,
        job.user,
        job.group,
        job.application,
        job.queue,
        job.partition,
        job.preceding,
        job.think_time,
    );
}
