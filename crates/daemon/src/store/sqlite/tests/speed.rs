//! How fast rows are safe here: `cargo test -p tradewind-daemon -- --ignored --nocapture speed`.
//! `TMPDIR` chooses the disk.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::{Duration, Instant};

use super::*;

const ROUNDS: usize = 5;
const SPELL: Duration = Duration::from_millis(400);

/// How often per second, in the best of some rounds, and how long one took in the median.
fn best(mut once: impl FnMut()) -> (f64, Duration) {
    let mut rate = 0.0f64;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let (begin, before) = (Instant::now(), times.len());
        while begin.elapsed() < SPELL {
            let start = Instant::now();
            once();
            times.push(start.elapsed());
        }
        rate = rate.max((times.len() - before) as f64 / begin.elapsed().as_secs_f64());
    }
    times.sort();
    (rate, times[times.len() / 2])
}

/// What the disk can do: a page written over in a file that is there, and synced.
fn raw(folder: &Path) -> (f64, Duration) {
    let mut file = File::create(folder.join("raw")).unwrap();
    file.write_all(&vec![1; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    best(|| {
        file.rewind().unwrap();
        file.write_all(&[2; 4096]).unwrap();
        file.sync_data().unwrap();
    })
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let (folder, path) = place();
    let (rate, median) = raw(folder.path());
    println!("raw: {rate:.0} syncs/s, median {median:?}");
    let mut store = Sqlite::open(&path).unwrap();
    for (many, bytes) in [(1, 500), (8, 500), (64, 500), (1000, 500), (64, 4000)] {
        let batch = vec![(5, vec![b'x'; bytes]); many];
        let (rate, median) = best(|| store.append(&batch).unwrap());
        let rows = rate * many as f64;
        println!(
            "{many} x {bytes} bytes: {rows:.0} rows/s, {rate:.0} appends/s, median {median:?}"
        );
    }
    let start = Instant::now();
    let rows = verify(&mut store).unwrap().rows;
    println!("verify: {:.0} rows/s", rows as f64 / start.elapsed().as_secs_f64());
}
