//! What a pass costs with a long queue on one cluster whose jobs ask for up to five times as long
//! as they run, as a Markdown table with the exponent in the queue's length. The last column is a sum
//! over all starts: the same decisions, the same number.
//!
//! `cargo run --release -p tradewind-sched --example queue -- [passes] [waiting …]`
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Command, Demand, Event, JobId, Market, Pools, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};

const PROCESSORS: u32 = 256;

struct World {
    market: Market,
    policy: Backfill,
    random: Pcg64Mcg,
    /// How long jobs run, by number.
    runs: Vec<Span>,
    running: BinaryHeap<Reverse<(Time, JobId)>>,
    wake: Option<Time>,
    sum: u64,
}

impl World {
    fn new() -> World {
        World {
            market: Market::new(Arc::new(Pools::cluster(PROCESSORS)), Time(0)),
            policy: Backfill::new(BackfillSettings {
                depth: Depth::All,
                ..BackfillSettings::default()
            }),
            random: Pcg64Mcg::seed_from_u64(2026),
            runs: Vec::new(),
            running: BinaryHeap::new(),
            wake: None,
            sum: 0,
        }
    }

    /// Widths of 1 to 64, half of them powers of two; up to two hours.
    fn submit(&mut self) -> Event {
        let width = match self.random.random_range(0..2) {
            0 => 1 << self.random.random_range(0..7u32),
            _ => self.random.random_range(1..=64u32),
        };
        let run = self.random.random_range(60..7_200i64);
        self.runs.push(Span(run));
        let asked = Span(run * self.random.random_range(100..=500) / 100);
        Event::Submitted { job: JobId(self.market.submitted()), demand: Demand::new(width, asked) }
    }

    /// The next moment; as many jobs come as left.
    fn step(&mut self, waiting: usize) -> Result<(), Box<dyn Error>> {
        let end = self.running.peek().map(|Reverse((end, _))| *end);
        let now = self.wake.into_iter().chain(end).min().unwrap_or(Time(0));
        self.market.pass_to(now)?;
        let mut events = Vec::new();
        while let Some(Reverse((end, job))) = self.running.peek().copied()
            && end <= now
        {
            self.running.pop();
            let event = Event::Ended { job };
            self.market.apply(&event)?;
            events.push(event);
        }
        while self.market.queue().len() < waiting {
            let event = self.submit();
            self.market.apply(&event)?;
            events.push(event);
        }
        let mut commands = Vec::new();
        self.policy.decide(&self.market, &events, &mut commands);
        self.wake = None;
        for command in commands {
            match command {
                Command::Start { job, place } => {
                    self.sum = (self.sum ^ u64::from(job.0)).wrapping_mul(0x0100_0000_01b3);
                    self.sum ^= now.0.unsigned_abs();
                    self.market.apply(&Event::Started { job, place })?;
                    self.running.push(Reverse((now + self.runs[job.index()], job)));
                }
                Command::Wake { at } => self.wake = Some(at),
                Command::Preempt { .. } | Command::Refuse { .. } | Command::Trade { .. } => {}
            }
        }
        Ok(())
    }
}

/// Nanoseconds of processor time that this process has used.
fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let passes: u32 = arguments.next().map_or(Ok(200), |it| it.parse())?;
    let mut sizes: Vec<usize> = arguments.map(|it| it.parse()).collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![1_000, 3_000, 10_000];
    }
    println!("| waiting | µs per pass | exponent since the first | sum |");
    println!("|--:|--:|--:|---|");
    let mut first: Option<(f64, f64)> = None;
    for size in sizes {
        let mut world = World::new();
        world.step(size)?;
        for _ in 0..passes / 4 {
            world.step(size)?;
        }
        let begin = used();
        for _ in 0..passes {
            world.step(size)?;
        }
        let cost = (used() - begin) as f64 / 1e3 / f64::from(passes);
        let point = (size as f64, cost);
        let (size_of_first, cost_of_first) = *first.get_or_insert(point);
        let exponent = (cost / cost_of_first).ln() / (point.0 / size_of_first).ln();
        println!("| {size} | {cost:.1} | {exponent:.2} | {:016x} |", world.sum);
    }
    Ok(())
}
