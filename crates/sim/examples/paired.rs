//! Compares the policies of a finished campaign with one of them, in pairs of the same seed: any
//! columns of `summary.csv`, also where policies refuse jobs, so that columns have to be chosen that
//! count these, such as `deadline_success`.
//!
//! `cargo run --release -p tradewind-sim --example paired runs/summary.csv css deadline_success`
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a table by hand")]
#![expect(clippy::disallowed_methods, reason = "it reads its arguments and a file")]

use std::collections::BTreeMap;

use tradewind_sim::paired::{Compared, Corrected, Sample, Scale, compare, holm};

/// By group of runs and policy, both in the order of the file: the value of each seed.
type Values = Vec<((String, String), BTreeMap<String, f64>)>;

/// The cells of a line; texts in quotes may have commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            letter => cells.last_mut().expect("there is one").push(letter),
        }
    }
    cells
}

fn read(text: &str, metric: &str) -> Values {
    let mut lines = text.lines().map(cells);
    let head = lines.next().expect("a head");
    let column = |name: &str| head.iter().position(|it| it == name).expect("such a column");
    let group = ["log", "semantics", "overrun", "estimate", "load"].map(column);
    let (policy, seed, metric) = (column("policy"), column("seed"), column(metric));
    let mut values: Values = Vec::new();
    for row in lines {
        let name = group.map(|at| row[at].as_str()).join(" ");
        let key = (name, row[policy].clone());
        let at = values.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            values.push((key, BTreeMap::new()));
            values.len() - 1
        });
        if let Ok(value) = row[metric].parse() {
            values[at].1.insert(row[seed].clone(), value);
        }
    }
    values
}

fn mean(values: &BTreeMap<String, f64>) -> f64 {
    values.values().sum::<f64>() / f64::from(u32::try_from(values.len().max(1)).unwrap_or(1))
}

fn compared(values: &Values, base: &str, at: usize) -> Option<Sample> {
    let ((group, _), own) = &values[at];
    let (_, other) = values.iter().find(|((other, policy), _)| other == group && policy == base)?;
    let pairs: Vec<(f64, f64)> =
        own.iter().filter_map(|(seed, value)| Some((*value, *other.get(seed)?))).collect();
    match compare(&pairs, Scale::Difference) {
        Compared::Tested(sample) => Some(sample),
        _ => None,
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, base, metrics @ ..] = &args[..] else {
        println!("FILE POLICY COLUMN…");
        return;
    };
    let text = std::fs::read_to_string(file).expect("a readable file");
    for metric in metrics {
        let values = read(&text, metric);
        let samples: Vec<Option<Sample>> =
            (0..values.len()).map(|at| compared(&values, base, at)).collect();
        // One correction for all groups and policies of a column.
        let corrected = holm(&samples.iter().copied().flatten().collect::<Vec<_>>());
        let mut corrected = corrected.into_iter();
        println!("| {metric} | policy | seeds | mean | difference to {base} | p |");
        println!("|---|---|---|---|---|---|");
        for (((group, policy), own), sample) in values.iter().zip(samples) {
            let (seeds, mean) = (own.len(), mean(own));
            print!("| {group} | `{policy}` | {seeds} | {mean:.4} |");
            match sample.and_then(|sample| Some((sample, corrected.next()?))) {
                Some((sample, Corrected { p, interval: (low, high) })) => {
                    println!(" {:+.4} ({low:+.4} to {high:+.4}) | {p:.4} |", sample.mean());
                }
                None => println!(" | |"),
            }
        }
        println!();
    }
}
