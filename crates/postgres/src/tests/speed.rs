//! How fast rows are safe here, beside SQLite on the same disk:
//! `cargo test -p tradewind-postgres --features clusters -- --ignored --nocapture speed`. `TMPDIR`
//! chooses the disk.

use std::time::{Duration, Instant};

use tradewind_daemon::store::Store;
use tradewind_daemon::store::sqlite::Sqlite;

use super::*;

const SPELL: Duration = Duration::from_secs(2);

/// Appends per second, and how long one took in the median.
fn rate(store: &mut dyn Store, batch: &[(i64, Vec<u8>)]) -> (f64, Duration) {
    let (mut times, begin) = (Vec::new(), Instant::now());
    while begin.elapsed() < SPELL {
        let start = Instant::now();
        store.append(batch).unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    (times.len() as f64 / begin.elapsed().as_secs_f64(), times[times.len() / 2])
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let place = Place::at(Arc::new(Server::start("")));
    let mut ours = place.open(Claim::IfFree).unwrap();
    let mut file = Sqlite::open(&place.server.folder().join("journal.db")).unwrap();
    for (many, bytes) in [(1, 500), (8, 500), (64, 500), (1000, 500), (64, 4000)] {
        let batch = vec![(5, vec![b'x'; bytes]); many];
        // In turns: other programs of the machine disturb both alike.
        let mut all: [Vec<(f64, Duration)>; 2] = [vec![], vec![]];
        for _ in 0..3 {
            all[0].push(rate(&mut file, &batch));
            all[1].push(rate(&mut ours, &batch));
        }
        let [sqlite, postgresql] = all.map(|mut it| {
            it.sort_by(|one, other| one.0.total_cmp(&other.0));
            it[1]
        });
        println!(
            "{many} x {bytes} bytes: SQLite {:.0} appends/s ({:?}), PostgreSQL {:.0} ({:?}): {:.2}",
            sqlite.0,
            sqlite.1,
            postgresql.0,
            postgresql.1,
            postgresql.0 / sqlite.0
        );
    }
}
