//! Writes drawn tables as Parquet and, for comparison, as JSON: `cargo run -p tradewind-io
//! --example parquet_samples -- DIR`. `scripts/evalys.sh` has PyArrow compare them.

use std::error::Error;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use tradewind_io::parquet::{Cells, ColumnHead, ColumnKind, Writer};

const FILES: u64 = 12;
const FIELDS: &[ColumnHead] = &[
    ColumnHead { name: "int32", kind: ColumnKind::Int32 },
    ColumnHead { name: "int64", kind: ColumnKind::Int64 },
    ColumnHead { name: "double", kind: ColumnKind::Double },
    ColumnHead { name: "flag", kind: ColumnKind::Flag },
    ColumnHead { name: "text", kind: ColumnKind::Text },
    ColumnHead { name: "word", kind: ColumnKind::Word },
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    for seed in 0..FILES {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut writer = Writer::new(Vec::new(), FIELDS)?;
        let mut rows: Vec<Value> = Vec::new();
        // The first file has no rows, later ones have row groups of all sizes.
        for _ in 0..seed.min(4) {
            let group = group(&mut random);
            rows.extend(values(&group));
            writer.group(&group)?;
        }
        let bytes = writer.finish(&[("seed".to_owned(), seed.to_string())])?;
        std::fs::write(Path::new(&folder).join(format!("{seed}.parquet")), bytes)?;
        let expected = serde_json::to_vec(&rows)?;
        std::fs::write(Path::new(&folder).join(format!("{seed}.json")), expected)?;
    }
    Ok(())
}

/// Cells with stretches of like values and of none, as columns of logs have them.
fn cells<T: Clone>(
    random: &mut Pcg64Mcg,
    rows: usize,
    draw: impl Fn(&mut Pcg64Mcg) -> T,
) -> Vec<Option<T>> {
    let missing = [0.0, 0.3, 1.0][random.random_range(0..3)];
    let mut cells = Vec::with_capacity(rows);
    while cells.len() < rows {
        let cell = (!random.random_bool(missing)).then(|| draw(random));
        let stretch = random.random_range(1..20).min(rows - cells.len());
        cells.extend(std::iter::repeat_n(cell, stretch));
    }
    cells
}

fn text(random: &mut Pcg64Mcg) -> String {
    let letters = ['a', 'Ω', '!', '"', ',', '\n', ' '];
    (0..random.random_range(0..9)).map(|_| letters[random.random_range(0..letters.len())]).collect()
}

fn group(random: &mut Pcg64Mcg) -> Vec<Cells> {
    let rows = random.random_range(1..3_000);
    let words: Vec<String> =
        (0..random.random_range(1..400)).map(|n| format!("{n}{}", text(random))).collect();
    let count = words.len() as u32;
    vec![
        Cells::Int32(cells(random, rows, RngExt::random)),
        Cells::Int64(cells(random, rows, RngExt::random)),
        Cells::Double(cells(random, rows, |random| random.random_range(-1e9..1e9))),
        Cells::Flag(cells(random, rows, RngExt::random)),
        Cells::Text(cells(random, rows, text)),
        Cells::Word { of: cells(random, rows, |random| random.random_range(0..count)), words },
    ]
}

/// The rows of a group, each an array of its cells.
fn values(group: &[Cells]) -> Vec<Value> {
    let columns: Vec<Vec<Value>> = group.iter().map(column).collect();
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

fn column(cells: &Cells) -> Vec<Value> {
    match cells {
        Cells::Int32(cells) => cells.iter().map(|cell| json!(cell)).collect(),
        Cells::Int64(cells) => cells.iter().map(|cell| json!(cell)).collect(),
        Cells::Double(cells) => cells.iter().map(|cell| json!(cell)).collect(),
        Cells::Flag(cells) => cells.iter().map(|cell| json!(cell)).collect(),
        Cells::Text(cells) => cells.iter().map(|cell| json!(cell)).collect(),
        Cells::Word { words, of } => {
            of.iter().map(|index| json!(index.map(|index| &words[index as usize]))).collect()
        }
    }
}
