//! What every store must hold, as checks that run on any of them.
//!
//! A [`StoreBench`] offers an empty journal, opens it, and opens it again. [`all`] runs every check on a
//! bench of its own.

use super::{Changes, Page, PageKey, Row, Snapshot, Store, StoreError, verify};

/// A place for one journal.
pub trait StoreBench {
    /// Opens the journal for writing; makes it at the first time.
    ///
    /// # Errors
    /// If it is open for writing.
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError>;

    /// Opens it for reading beside its writer; `None`: this kind of store has nothing like that.
    fn look(&mut self) -> Option<Box<dyn Store>>;

    /// The journal's rows are changed behind its back: the first byte of the body of row `seq`.
    fn damage(&mut self, seq: u64);

    /// Rows that are older than `before` (seconds since 1970) are archived, as far as the snapshot
    /// allows. How many were; `None`: this kind of store has no archives.
    fn archive(&mut self, before: i64) -> Option<u64>;
}

/// A check on an empty journal.
type StoreCheck = fn(&mut dyn StoreBench) -> CheckOutcome;
/// A check that ended; [`StoreError`] where a store failed that should not have.
type CheckOutcome = Result<(), StoreError>;

/// All checks, by their names.
pub const CHECKS: [(&str, StoreCheck); 12] = [
    ("rows are there after an opening", rows_are_there_after_an_opening),
    ("rows are bytes", rows_are_bytes),
    ("there is one writer", there_is_one_writer),
    ("time runs forwards", time_runs_forwards),
    ("pieces of a read join", pieces_of_a_read_join),
    ("long rows are read in pieces", long_rows_are_read_in_pieces),
    ("others look while one writes", others_look_while_one_writes),
    ("a damaged row is named", a_damaged_row_is_named),
    ("a snapshot is of rows that are there", a_snapshot_is_of_rows_that_are_there),
    ("pages are those of the last snapshot", pages_are_those_of_the_last_snapshot),
    ("many pages are read in pieces", many_pages_are_read_in_pieces),
    ("archived rows are read as before", archived_rows_are_read_as_before),
];

/// Runs all checks, each on a new bench.
///
/// # Panics
/// With the name of the first check that fails.
#[expect(clippy::panic, reason = "it is called by tests, and this is how they fail")]
pub fn all<B: StoreBench>(mut bench: impl FnMut() -> B) {
    for (name, check) in CHECKS {
        if let Err(wrong) = check(&mut bench()) {
            panic!("{name}: {wrong}");
        }
    }
    let (seeds, steps) = (6, 60);
    for seed in 1..=seeds {
        if let Err(wrong) = as_a_vector(&mut bench(), seed, steps) {
            panic!("what a vector would do, seed {seed}: {wrong}");
        }
    }
}

/// What is said of a store that does something else.
fn unlike(what: impl Into<String>) -> StoreError {
    StoreError::Io { path: "conformance".to_owned(), what: what.into() }
}

/// Equal, or a failure that shows both.
#[expect(clippy::needless_pass_by_value, reason = "values are made for the comparison")]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> CheckOutcome {
    match found == wanted {
        true => Ok(()),
        false => Err(unlike(format!("{what}: {found:?} in place of {wanted:?}"))),
    }
}

/// Refused, or a failure.
#[expect(clippy::needless_pass_by_value, reason = "the answer is made for this")]
fn refused<T>(what: &str, done: Result<T, StoreError>) -> CheckOutcome {
    match done {
        Err(_) => Ok(()),
        Ok(_) => Err(unlike(format!("{what} was not refused"))),
    }
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<(i64, Vec<u8>)> {
    numbers.into_iter().map(|n| (n, format!(r#"{{"n":{n}}}"#).into_bytes())).collect()
}

fn numbered(first: u64, rows: &[(i64, Vec<u8>)]) -> Vec<Row> {
    let number = |(row, seq): (&(i64, Vec<u8>), u64)| Row { seq, at: row.0, body: row.1.clone() };
    rows.iter().zip(first..).map(number).collect()
}

fn snapshot(seq: u64) -> Snapshot {
    Snapshot { seq, at: 9, version: 1, body: vec![seq as u8; 100] }
}

fn rows_are_there_after_an_opening(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    let origin = store.origin().clone();
    same("rows of a new journal", store.last(), 0)?;
    same("a read of no rows", store.read(0, 9)?, vec![])?;
    store.append(&[])?;
    store.append(&rows(1..=700))?;
    let digest = verify(store.as_mut())?.digest;
    drop(store);
    let mut store = bench.open()?;
    same("whose journal it is", store.origin(), &origin)?;
    same("the last row", store.last(), 700)?;
    same("rows behind one", store.read(698, 9)?.len(), 2)?;
    same("no rows wanted", store.read(0, 0)?, vec![])?;
    same("rows behind the end", store.read(u64::MAX, usize::MAX)?, vec![])?;
    same("a row", store.read(41, 1)?, numbered(42, &rows([42])))?;
    let verified = verify(store.as_mut())?;
    same("the chain", (verified.rows, verified.digest), (700, digest))
}

fn rows_are_bytes(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    let bodies: [&[u8]; 5] = [b"", b"\0", b"\xff\xfe", b"two\nlines", "\u{e9} \\ '".as_bytes()];
    let rows: Vec<_> = bodies.iter().map(|body| (i64::MIN + 1, body.to_vec())).collect();
    store.append(&rows)?;
    store.append(&[(i64::MAX, vec![0; 100_000])])?;
    same("odd bodies", store.read(0, 5)?, numbered(1, &rows))?;
    same("a late row", store.read(5, 5)?, numbered(6, &[(i64::MAX, vec![0; 100_000])]))
}

fn there_is_one_writer(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows([1]))?;
    match bench.open() {
        Err(StoreError::Busy { .. }) => {}
        Err(wrong) => return Err(unlike(format!("refused, but not because of a writer: {wrong}"))),
        Ok(_) => return Err(unlike("a second writer was not refused")),
    }
    store.append(&rows([2]))?;
    drop(store);
    same("the last row", bench.open()?.last(), 2)
}

fn time_runs_forwards(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows([5]))?;
    refused("an earlier row", store.append(&rows([6, 4])))?;
    same("the last row after a refusal", store.last(), 1)?;
    store.append(&rows([5]))?;
    drop(store);
    let mut store = bench.open()?;
    refused("an earlier row after an opening", store.append(&rows([4])))?;
    same("all rows", store.read(0, 9)?, numbered(1, &rows([5, 5])))
}

fn pieces_of_a_read_join(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    let all = rows(1..=100);
    all.chunks(7).try_for_each(|some| store.append(some))?;
    let mut found = Vec::new();
    loop {
        let some = store.read(found.len() as u64, 9)?;
        if some.is_empty() {
            break;
        }
        found.extend(some);
    }
    same("all rows", found, numbered(1, &all))
}

fn long_rows_are_read_in_pieces(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    let row = |n: i64| (n, vec![n as u8; 3 << 20]);
    (1..=5).try_for_each(|n| store.append(&[row(n)]))?;
    let mut after = 0;
    while after < 5 {
        let some = store.read(after, 5)?;
        let Some(last) = some.last() else { return Err(unlike("a row is missing")) };
        let wanted: Vec<_> = (after as i64 + 1..=last.seq as i64).map(row).collect();
        match some == numbered(after + 1, &wanted) {
            true => after = last.seq,
            false => return Err(unlike("a long row is another one")),
        }
    }
    Ok(())
}

fn others_look_while_one_writes(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows(1..=3))?;
    let Some(mut other) = bench.look() else { return Ok(()) };
    same("the last row", other.last(), 3)?;
    store.append(&rows(4..=5))?;
    same("new rows", (other.last(), other.read(3, 9)?.len()), (5, 2))?;
    same("both", verify(other.as_mut())?, verify(store.as_mut())?)?;
    refused("an append of a reader", other.append(&rows([6])))?;
    refused("a snapshot of a reader", other.keep(&snapshot(1)))?;
    refused("pages of a reader", other.keep_pages(&snapshot(1), &Changes::All(vec![])))?;
    store.append(&rows(6..=7))?;
    same("rows after that", other.last(), 7)
}

fn a_damaged_row_is_named(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows(1..=9))?;
    bench.damage(4);
    same("rows before it", store.read(0, 3)?, numbered(1, &rows(1..=3)))?;
    match verify(store.as_mut()) {
        Err(StoreError::Damaged { seq: 4, .. }) => Ok(()),
        other => Err(unlike(format!("row 4 is damaged, and the answer was {other:?}"))),
    }
}

fn a_snapshot_is_of_rows_that_are_there(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    same("no snapshot", store.snapshot()?, None)?;
    refused("a snapshot of no row", store.keep(&snapshot(1)))?;
    store.append(&rows(1..=9))?;
    (1..=6).try_for_each(|seq| store.keep(&snapshot(seq)))?;
    store.keep(&snapshot(6))?;
    refused("a snapshot of a later row", store.keep(&snapshot(10)))?;
    drop(store);
    same("the latest one", bench.open()?.snapshot()?, Some(snapshot(6)))
}

fn page(key: PageKey, body: &[u8]) -> Page {
    Page { key, body: body.to_vec() }
}

fn all_pages(store: &mut dyn Store) -> Result<Vec<Page>, StoreError> {
    let mut found: Vec<Page> = Vec::new();
    loop {
        let some = store.pages(found.last().map(|page| page.key))?;
        if some.is_empty() {
            return Ok(found);
        }
        found.extend(some);
    }
}

fn pages_are_those_of_the_last_snapshot(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows(1..=3))?;
    let first = [page((0, 7), b"a"), page((1, 0), b"b"), page((1, 5), b"c")];
    store.keep_pages(&snapshot(1), &Changes::All(first.to_vec()))?;
    same("the first ones", all_pages(store.as_mut())?, first.to_vec())?;
    let changed = vec![page((1, 0), b""), page((1, 5), b"d"), page((2, 1 << 40), b"e")];
    store.keep_pages(&snapshot(2), &Changes::Some(changed))?;
    let now = vec![page((0, 7), b"a"), page((1, 5), b"d"), page((2, 1 << 40), b"e")];
    drop(store);
    let mut store = bench.open()?;
    same("with changes", all_pages(store.as_mut())?, now)?;
    same("their snapshot", store.snapshot()?, Some(snapshot(2)))?;
    store.keep_pages(&snapshot(3), &Changes::All(vec![page((9, 9), b"z")]))?;
    same("new ones", all_pages(store.as_mut())?, vec![page((9, 9), b"z")])?;
    refused("pages of a later row", store.keep_pages(&snapshot(4), &Changes::Some(vec![])))?;
    same("as they were", all_pages(store.as_mut())?, vec![page((9, 9), b"z")])
}

fn many_pages_are_read_in_pieces(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows([1]))?;
    let pages: Vec<Page> = (0..900).map(|n| page((3, n), &vec![n as u8; 9_000])).collect();
    store.keep_pages(&snapshot(1), &Changes::All(pages.clone()))?;
    match all_pages(store.as_mut())? == pages {
        true => Ok(()),
        false => Err(unlike("pages are others, or in another order")),
    }
}

fn archived_rows_are_read_as_before(bench: &mut dyn StoreBench) -> CheckOutcome {
    let mut store = bench.open()?;
    store.append(&rows(1..=600))?;
    store.keep(&snapshot(500))?;
    let before = verify(store.as_mut())?;
    drop(store);
    let Some(moved) = bench.archive(400) else { return Ok(()) };
    same("archived rows", moved, 399)?;
    let mut store = bench.open()?;
    same("the chain", verify(store.as_mut())?, before)?;
    same("a row of the archive", store.read(41, 1)?, numbered(42, &rows([42])))?;
    same("rows of both", store.read(397, 2)?.first(), numbered(398, &rows([398])).first())?;
    same("the first row that stayed", store.read(399, 2)?, numbered(400, &rows([400, 401])))?;
    store.append(&rows([700]))?;
    drop(store);
    same("all but what the snapshot lacks", bench.archive(10_000), Some(101))?;
    let mut store = bench.open()?;
    same("the last row", store.last(), 601)?;
    same("all rows", verify(store.as_mut())?.rows, 601)
}

/// Numbers that look random: the same for the same seed on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        // Constants of Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Appends, openings, snapshots and reads at random, beside a vector that does the same.
fn as_a_vector(bench: &mut dyn StoreBench, seed: u64, steps: u32) -> CheckOutcome {
    let mut random = Numbers(seed);
    let (mut model, mut kept): (Vec<Row>, Option<Snapshot>) = (Vec::new(), None);
    let mut store = bench.open()?;
    for _ in 0..steps {
        let last = model.len() as u64;
        let at = model.last().map_or(1_000, |row| row.at);
        match random.below(8) {
            0..=3 => {
                let mut later = at;
                let new: Vec<_> = (0..random.below(12))
                    .map(|_| {
                        later += random.below(4) as i64;
                        let length = [60, 6_000][random.below(2) as usize];
                        (later, vec![random.below(256) as u8; random.below(length) as usize])
                    })
                    .collect();
                store.append(&new)?;
                model.extend(numbered(last + 1, &new));
            }
            4 if last > 0 => refused("a row back in time", store.append(&[(at - 1, vec![])]))?,
            5 => {
                drop(store);
                store = bench.open()?;
            }
            6 => {
                let body = vec![3; random.below(5_000) as usize];
                let snapshot = Snapshot { seq: last, at, version: 1, body };
                store.keep(&snapshot)?;
                kept = Some(snapshot);
            }
            _ => {
                let (after, max) = (random.below(60), random.below(30) as usize);
                let wanted: Vec<Row> =
                    model.iter().skip(after as usize).take(max).cloned().collect();
                same("rows", store.read(after, max)?, wanted)?;
            }
        }
        same("the last row", store.last(), model.len() as u64)?;
    }
    same("all rows", store.read(0, 10_000)?, model)?;
    same("the snapshot", store.snapshot()?, kept)
}
