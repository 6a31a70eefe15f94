//! A journal against a vector, whatever happens to it.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    /// Bodies of these lengths, some seconds later.
    Append(Vec<(u8, u16)>),
    /// More than the disk has room for.
    Overfill,
    /// Rows back in time.
    Backwards,
    Reopen,
    /// The files as they are go on, without the process that had them.
    Crash,
    Keep,
    Read(u64, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (0u8..4, prop_oneof![0u16..60, 0u16..6000]);
    let step = prop_oneof![
        4 => prop::collection::vec(row, 0..12).prop_map(Step::Append),
        1 => Just(Step::Overfill),
        1 => Just(Step::Backwards),
        1 => Just(Step::Reopen),
        1 => Just(Step::Crash),
        1 => Just(Step::Keep),
        3 => (0u64..60, 0usize..30).prop_map(|(after, max)| Step::Read(after, max)),
    ];
    prop::collection::vec(step, 1..24)
}

struct Pair {
    _folder: TempDir,
    path: PathBuf,
    store: Option<Sqlite>,
    model: Vec<Row>,
    kept: Option<Snapshot>,
}

impl Pair {
    fn new() -> Pair {
        let (folder, path) = place();
        let store = Some(Sqlite::open(&path).unwrap());
        Pair { _folder: folder, path, store, model: vec![], kept: None }
    }

    fn store(&mut self) -> &mut Sqlite {
        self.store.as_mut().unwrap()
    }

    fn now(&self) -> i64 {
        self.model.last().map_or(1000, |row| row.at)
    }

    fn append(&mut self, lengths: &[(u8, u16)]) {
        let (mut at, mut seq) = (self.now(), self.model.len() as u64);
        let mut rows = Vec::new();
        for (later, length) in lengths {
            at += i64::from(*later);
            seq += 1;
            rows.push((at, vec![seq as u8; usize::from(*length)]));
            self.model.push(Row { seq, at, body: vec![seq as u8; usize::from(*length)] });
        }
        self.store().append(&rows).unwrap();
    }

    fn overfill(&mut self) {
        let at = self.now();
        let store = self.store();
        let pages: i64 = pragma(&store.connection, "page_count");
        let _: i64 = pragma(&store.connection, &format!("max_page_count = {}", pages + 1));
        let refused = store.append(&[(at, vec![1; 10]), (at, vec![7; 60_000])]).unwrap_err();
        assert!(refused.to_string().contains("the disk is full"), "{refused}");
        let _: i64 = pragma(&store.connection, "max_page_count = 1000000000");
    }

    fn crash(&mut self) {
        let (folder, path) = place();
        for suffix in ["", "-wal"] {
            std::fs::copy(files::beside(&self.path, suffix), files::beside(&path, suffix)).unwrap();
        }
        self.store = Some(Sqlite::open(&path).unwrap());
        (self.path, self._folder) = (path, folder);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(lengths) => self.append(lengths),
            Step::Overfill => self.overfill(),
            Step::Backwards => {
                let at = self.now();
                let refused = self.store().append(&[(at, vec![]), (at - 1, vec![])]);
                assert!(refused.is_err());
            }
            Step::Reopen => {
                self.store = None;
                self.store = Some(Sqlite::open(&self.path).unwrap());
            }
            Step::Crash => self.crash(),
            Step::Keep => {
                let seq = self.model.len() as u64;
                let snapshot = Snapshot { seq, at: 1, version: 2, body: vec![3; 5000] };
                self.store().keep(&snapshot).unwrap();
                self.kept = Some(snapshot);
            }
            Step::Read(after, max) => {
                let behind = self.model.iter().skip(*after as usize).take(*max);
                let expected: Vec<Row> = behind.cloned().collect();
                assert_eq!(self.store().read(*after, *max).unwrap(), expected);
            }
        }
    }
}

fn pragma(connection: &Connection, what: &str) -> i64 {
    connection.query_row(&format!("PRAGMA {what}"), [], |row| row.get(0)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_journal_is_what_was_appended(steps in steps()) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
            let last = pair.model.len() as u64;
            prop_assert_eq!(pair.store().last(), last);
        }
        let all = pair.store().read(0, usize::MAX).unwrap();
        prop_assert_eq!(&all, &pair.model);
        prop_assert_eq!(pair.store().snapshot().unwrap(), pair.kept.clone());
        prop_assert_eq!(check(&pair.path).unwrap().rows, pair.model.len() as u64);
    }
}

/// Where the log was cut off by a loss of power, whole appends are lost from its end, and no part
/// of one.
#[test]
fn a_torn_log_gives_whole_appends() {
    let (_folder, path) = place();
    let mut store = Sqlite::open(&path).unwrap();
    for batch in 0..12 {
        store.append(&rows(batch * 10 + 1..=batch * 10 + 10)).unwrap();
    }
    let log = std::fs::read(files::beside(&path, "-wal")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..=log.len()).step_by(1237).chain([log.len()]) {
        let (_torn, copy) = place();
        std::fs::copy(&path, &copy).unwrap();
        let mut torn = log.clone();
        torn[cut..].fill(0x5a);
        std::fs::write(files::beside(&copy, "-wal"), torn).unwrap();
        let Ok(mut store) = Sqlite::look(&copy) else { continue };
        let found = verify(&mut store).unwrap().rows;
        assert_eq!(found % 10, 0, "cut at {cut}");
        seen.insert(found);
    }
    assert!(seen.len() == 13, "{seen:?}");
}
