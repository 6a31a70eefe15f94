//! What one user at full rate does to another: times of the second user's requests, alone and
//! beside each kind of load, in one run.
//!
//! `cargo run --example fairness -- PROGRAM [--pairs N] [--slice MS] [--seed N] [ROW…]` starts
//! `PROGRAM up` for each row, in a folder of its own. A row measures the second user in short
//! slices, alone and beside the load by turns (40 pairs of a second each if left out, a minute and a
//! half), so that what else the machine does is in both. Rows are named by a part of their names;
//! without any, all are measured: a quarter of an hour. Behind the ratio of two p99 is the interval in
//! which it is with 95 %.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

mod client;
mod load;
mod second;
mod table;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use client::Daemon;
use load::{CROWD, KINDS, Switch};
use second::{ASKED, Second};
use table::{Pair, Verdict};

pub(crate) type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// What was asked for on the command line.
struct Settings {
    program: String,
    pairs: usize,
    slice: Duration,
    seed: u64,
    rows: Vec<String>,
}

impl Settings {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Settings, Wrong> {
        let program = words.next().ok_or("which program? PROGRAM [ROW…]")?;
        let (pairs, slice, rows) = (40, Duration::from_secs(1), Vec::new());
        let mut settings = Settings { program, pairs, slice, seed: 1, rows };
        while let Some(word) = words.next() {
            let mut number = || -> Result<u64, Wrong> {
                let value = words.next().ok_or_else(|| format!("`{word}`: how many?"))?;
                Ok(value.parse::<u64>().ok().filter(|it| *it > 0).ok_or("a positive number")?)
            };
            match word.as_str() {
                "--pairs" => settings.pairs = usize::try_from(number()?)?,
                "--slice" => settings.slice = Duration::from_millis(number()?),
                "--seed" => settings.seed = number()?,
                _ => settings.rows.push(word),
            }
        }
        Ok(settings)
    }

    fn wants(&self, kind: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| kind.contains(row.as_str()))
    }
}

/// Slices of the second user by turns: alone and beside, beside and alone, and so on, so that a
/// drift of the machine is in both.
fn slices(
    settings: &Settings,
    (second, switch, threads): (&mut Second, &Switch, usize),
) -> Result<(Vec<Pair>, Duration), Wrong> {
    let mut on = Duration::ZERO;
    let mut beside = |second: &mut Second| {
        switch.turn_on();
        let begun = Instant::now();
        // Until the load is what it will be.
        std::thread::sleep(settings.slice / 4);
        let measured = second.measure(settings.slice);
        on += begun.elapsed();
        switch.turn_off(threads);
        measured
    };
    let mut pairs = Vec::new();
    for pair in 0..settings.pairs {
        pairs.push(match pair % 2 {
            0 => (second.measure(settings.slice)?, beside(second)?),
            _ => {
                let first = beside(second)?;
                (second.measure(settings.slice)?, first)
            }
        });
    }
    Ok((pairs, on))
}

/// The second user alone and beside one kind of load, as a row of the table.
fn row(kind: &str, settings: &Settings) -> Result<Vec<Verdict>, Wrong> {
    let daemon = Daemon::start(&settings.program)?;
    let (to, first) = (daemon.address, daemon.token("first")?);
    let mut second = Second::new(to, &daemon.token("second")?)?;
    second.measure(settings.slice)?;
    let switch = Switch::default();
    let threads = if kind == "nothing" { 0 } else { CROWD };
    let (pairs, on) = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| load::run(kind, to, &first, &switch));
        }
        let measured = slices(settings, (&mut second, &switch, threads));
        switch.end();
        measured
    })?;
    let rate = switch.sent.load(Ordering::Relaxed) as f64 / on.as_secs_f64().max(0.001);
    let (text, verdicts) = table::row(kind, rate as u64, &pairs, settings.seed);
    println!("{text}");
    if second.refused > 0 {
        println!("{} requests of the second user were refused", second.refused);
    }
    Ok(verdicts)
}

fn main() -> Result<(), Wrong> {
    let settings = Settings::read(std::env::args().skip(1))?;
    eprintln!("seed {}", settings.seed);
    println!(
        "| beside | load, requests/s | samples | {} |",
        ASKED
            .map(|it| format!("{it}: p50; p99 alone → beside, ms (ratio; its 95 % interval)"))
            .join(" | ")
    );
    println!("|---|---|---|{}", "---|".repeat(ASKED.len()));
    let mut all = Vec::new();
    for kind in KINDS.into_iter().filter(|kind| settings.wants(kind)) {
        all.extend(row(kind, &settings)?);
    }
    let count = |verdict| all.iter().filter(|it| **it == verdict).count();
    let (holds, open, missed) =
        (count(Verdict::Holds), count(Verdict::Open), count(Verdict::Missed));
    eprintln!("p99 at most twice that alone: {holds} cells hold, {missed} do not, {open} are open");
    Ok(())
}
