//! What a log contains: `cargo run --example summary -- LOG.swf[.gz]`; without a log, a generated
//! one.
#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;

use tradewind_swf as swf;

fn main() -> Result<(), Box<dyn Error>> {
    let log = match std::env::args().nth(1) {
        Some(path) => swf::load(&path)?,
        None => swf::sample(1, 200, 64),
    };
    let (from, to) = log.span();
    let summary = log.summary;
    println!("processors       {}", log.header.max_procs().unwrap_or(0));
    println!("first submission {} s, last end {} s", from.0, to.0);
    println!("jobs             {}, of which {} can be replayed", summary.jobs, summary.usable);
    println!("without          wait {}, request {}", summary.without_wait, summary.without_request);
    Ok(())
}
