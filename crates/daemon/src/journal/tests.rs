mod fixture;

use std::sync::Arc;

use tradewind_io::submission::{Conditions, OnLost, Submission, TimeLimit, Work};
use tradewind_model::{
    Cause, Command, Demand, JobId, Money, Outage, Place, PoolId, Pools, Price, Span, Trade,
};

use super::*;
use crate::codec::pages::Pages;
use crate::codec::{Json, pages};
use crate::engine::{begun, recover, replay};
use crate::live::Record;
use crate::live::money::Account;
use crate::live::record::{
    AccessRecord, JobRecord, LedgerRecord, MarketRecord, OutageRecord, SiteRecord, TaskRecord,
};
use crate::live::rights::Role;
use crate::live::state::{Finish, JobHold, Why};
use crate::site::{Exit, Seen, Tag};
use crate::store::memory::{Disk, MemoryStore};
use crate::store::{Origin, Page, Snapshot};

fn submission() -> Arc<Submission> {
    Arc::new(Submission {
        terms: Conditions { budget: Some(Money::credits(5)), ..Conditions::default() },
        on_lost: OnLost::Rerun,
        passed_through: vec![("--constraint".to_owned(), "ib".to_owned())],
        ..Submission::new(
            "sweep",
            Work::Command(vec!["sleep".to_owned(), "60".to_owned()]),
            2,
            TimeLimit::Reference(Span(60)),
        )
    })
}

fn joined(job: u64, demand: &Demand) -> Record {
    let demand = demand.clone();
    Record::Job(JobRecord::Joined { job, demand, processors: None, foreseen: None })
}

fn submitted(job: u64, key: Option<&str>) -> Record {
    let (user, submission) = ("ana".to_owned(), submission());
    Record::Job(JobRecord::Submitted {
        job,
        user,
        submission,
        array: None,
        key: key.map(str::to_owned),
    })
}

/// A day of a small market.
fn history() -> Vec<(i64, Record)> {
    let tag = |job| Tag { market: "m2".to_owned(), job, attempt: 0, part: 0 };
    let saw = |job, seen| Record::Task(TaskRecord::Saw { tag: tag(job), seen });
    let running =
        Seen::Running { since: Time(1012), nodes: vec!["n1".to_owned(), "n2".to_owned()] };
    let ended = Seen::Ended { since: Some(Time(1012)), at: Time(1050), exit: Exit::Code(0) };
    let demand = Demand::new(2, Span(60));
    let start = |job| Command::Start { job: JobId(job), place: Place::Pool(PoolId(0)) };
    let trade = Arc::new(Trade::at(PoolId(0), Price(1_500), Time(1010)));
    let down = || Why::Down(PoolId(0));
    let closure = Outage {
        pool: PoolId(0),
        nodes: 1,
        from: Time(1020),
        until: Time(2000),
        cause: Cause::Failure(0),
    };
    let (owners, pools) = (vec!["olga".to_owned()], Arc::new(Pools::cluster(4)));
    let (release, policy) = ("0.1.0".to_owned(), "easy".to_owned());
    let ana = Account::User("ana".to_owned());
    vec![
        (1000, Record::Market(MarketRecord::Created { market: "m2".to_owned() })),
        (1000, Record::Market(MarketRecord::Gridded { pools, owners })),
        (1000, Record::Market(MarketRecord::Began { release, policy, usage: vec![] })),
        (
            1001,
            Record::Access(AccessRecord::Admitted {
                token: 1,
                user: "ana".to_owned(),
                role: Role::User,
                hash: [7; 32],
                note: String::new(),
            }),
        ),
        (
            1002,
            Record::Ledger(LedgerRecord::Moved {
                from: Account::Bank,
                to: ana,
                amount: Money::credits(9),
                note: "welcome".to_owned(),
            }),
        ),
        (1003, submitted(1, Some("first"))),
        (1003, joined(1, &demand)),
        (1004, submitted(2, None)),
        (1004, Record::Job(JobRecord::Held { job: 2, hold: JobHold::Dependency })),
        (
            1010,
            Record::Market(MarketRecord::Decided {
                commands: vec![
                    Command::Trade { job: JobId(0), trade },
                    start(0),
                    Command::Wake { at: Time(1100) },
                ],
            }),
        ),
        (1011, Record::Task(TaskRecord::Acknowledged { tag: tag(1) })),
        (1012, saw(1, running)),
        (1015, Record::Site(SiteRecord::Priced { pool: PoolId(0), price: Price(2_000) })),
        (1020, Record::Outage(OutageRecord::Announced { what: closure, why: down() })),
        (1020, Record::Outage(OutageRecord::Closed { why: down() })),
        (1030, Record::Site(SiteRecord::Reached { site: 0, away: Some(Time(1030)) })),
        (1051, saw(1, ended)),
        (1051, Record::Job(JobRecord::Ended { job: 1, finish: Finish::Completed })),
        (1052, joined(2, &demand)),
        (1053, Record::Market(MarketRecord::Decided { commands: vec![start(1)] })),
        (1054, Record::Task(TaskRecord::Forgot { tag: tag(1) })),
    ]
}

fn store() -> (Disk, MemoryStore) {
    let disk = Disk::new(Origin { market: "m2".to_owned(), created: 999 });
    let mut store = disk.open().unwrap();
    let rows: Vec<_> = history().iter().map(|(at, record)| (*at, Json.record(record))).collect();
    store.append(&rows).unwrap();
    (disk, store)
}

fn snapshot(seq: u64, state: &State) -> Snapshot {
    Snapshot { seq, at: 1, version: Json::VERSION, body: Json.state(state) }
}

#[test]
fn a_state_is_read_as_it_was_written() {
    let (_, mut store) = store();
    for to in 0..=store.last() {
        let state = state_after(&mut store, &Json, to).unwrap();
        let written = Json.state(&state);
        let read = Json.read_state(1, &written).unwrap();
        assert_eq!(Json.state(&read), written, "after row {to}");
        assert_eq!((read.market.state(), &read.jobs), (state.market.state(), &state.jobs));
        assert_eq!((read.accounts(), &read.tasks), (state.accounts(), &state.tasks));
    }
    assert!(Json.read_state(2, b"{}").is_err());
    let wrong = Json.read_state(1, br#"{"name":"m2","market":{"now":"x"}}"#).unwrap_err();
    assert!(wrong.0.starts_with("market.now: expected a whole number"), "{wrong}");
}

#[test]
fn a_state_follows_from_any_snapshot_and_the_rows_behind_it() {
    let (_, mut store) = store();
    let last = store.last();
    let whole = Json.state(&state_after(&mut store, &Json, last).unwrap());
    for seq in 0..=last {
        let before = state_after(&mut store, &Json, seq).unwrap();
        store.keep(&snapshot(seq, &before)).unwrap();
        assert_eq!(Json.state(&recover(&mut store, &Json).unwrap()), whole, "from row {seq}");
        let proof = prove(&mut store, &Json).unwrap();
        assert_eq!((proof.snapshot, proof.verified.rows), (Some(seq), last));
        assert_eq!(proof.state, Digest::of(&whole));
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_does_no_harm() {
    let (_, mut store) = store();
    let whole = Json.state(&recover(&mut store, &Json).unwrap());
    for (version, body) in [(1, b"{".to_vec()), (7, whole.clone())] {
        store.keep(&Snapshot { seq: 9, at: 1, version, body }).unwrap();
        assert_eq!(Json.state(&recover(&mut store, &Json).unwrap()), whole);
        assert_eq!(prove(&mut store, &Json).unwrap().snapshot, None);
    }
}

#[test]
fn a_snapshot_of_another_state_is_found() {
    let (_, mut store) = store();
    let other = state_after(&mut store, &Json, 12).unwrap();
    store.keep(&snapshot(13, &other)).unwrap();
    let found = prove(&mut store, &Json);
    assert!(matches!(found, Err(JournalError::Different { seq: 13 })), "{found:?}");
}

#[test]
fn a_row_that_is_wrong_is_named() {
    let (disk, mut store) = store();
    let no_row = state_after(&mut store, &Json, 99).unwrap_err().to_string();
    assert_eq!(no_row, "the journal has no row 99: its last is 21");
    for (body, said) in [
        (
            &br#"{"dropped":{"job":77}}"#[..],
            "row 22 of the journal: job 77 cannot do this in its phase",
        ),
        (b"x", "row 22 of the journal: it is no JSON: expected value at line 1 column 1"),
    ] {
        let mut wrong = super::tests::store().1;
        wrong.append(&[(2000, body.to_vec())]).unwrap();
        assert_eq!(prove(&mut wrong, &Json).unwrap_err().to_string(), said);
    }
    disk.corrupt(5, 3);
    let damaged = prove(&mut store, &Json);
    let rows = matches!(
        damaged,
        Err(JournalError::Rows(RecoveryError::Store(StoreError::Damaged { seq: 5, .. })))
    );
    assert!(rows, "{damaged:?}");
}

const HISTORY: &str = include_str!("history-1.jsonl");
const STATE: &str = include_str!("state-1.json");

/// Makes both files again: `cargo test -p tradewind-daemon -- --ignored make_the_history`.
#[test]
#[ignore = "what a release has written never changes"]
fn make_the_history() {
    let (_, mut store) = store();
    let mut lines = Vec::new();
    crate::store::export(&mut store, &mut lines).unwrap();
    let to = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal");
    std::fs::write(to.join("history-1.jsonl"), lines).unwrap();
    let state = Json.state(&recover(&mut store, &Json).unwrap());
    std::fs::write(to.join("state-1.json"), state).unwrap();
}

/// What a release wrote is read for ever, and makes the same state.
#[test]
fn a_journal_of_format_1_makes_the_state_that_it_made() {
    let disk = Disk::new(Origin { market: "m2".to_owned(), created: 999 });
    let mut store = disk.open().unwrap();
    for line in HISTORY.lines().skip(1) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let body = line.split_once(r#""body":"#).unwrap().1.rsplit_once(r#","chain":"#).unwrap().0;
        let at = row["at"].as_i64().unwrap();
        store.append(&[(at, body.as_bytes().to_vec())]).unwrap();
        let digest = verify(&mut store).unwrap().digest.to_string();
        assert_eq!(row["chain"], digest);
    }
    let state = recover(&mut store, &Json).unwrap();
    assert_eq!(String::from_utf8(Json.state(&state)).unwrap(), STATE);
    let read = Json.read_state(1, STATE.as_bytes()).unwrap();
    assert_eq!(Json.state(&read), STATE.as_bytes());
}

/// Keeps a snapshot in pages as a daemon does, of the state and of what has changed.
fn keep_pages(store: &mut MemoryStore, pages: &mut Pages, seq: u64, state: &mut State) -> usize {
    let touched = state.jobs.take_touched();
    let (body, changed) = pages.of(state, &touched);
    let snapshot = Snapshot { seq, at: 1, version: pages::VERSION, body };
    store.keep_pages(&snapshot, &changed).unwrap();
    changed.pages().len()
}

#[test]
fn a_snapshot_in_pages_is_brought_up_to_date_row_by_row() {
    let (_, mut store) = store();
    let last = store.last();
    let whole = Json.state(&state_after(&mut store, &Json, last).unwrap());
    let (mut pages, mut state) = (Pages::default(), State::empty(Time(0)));
    for seq in 1..=last {
        state = replay(&mut store, &Json, state, seq - 1, seq).unwrap();
        keep_pages(&mut store, &mut pages, seq, &mut state);
        let (at, read, known) = begun(&mut store, &Json).unwrap().unwrap();
        assert_eq!((at, Json.state(&read)), (seq, Json.state(&state)), "after row {seq}");
        // A journal that continues from what was read writes nothing that is there.
        let mut known = known;
        let again = known.of(&read, &std::collections::BTreeSet::new()).1;
        assert_eq!(again.pages(), [], "after row {seq}");
        assert_eq!(Json.state(&recover(&mut store, &Json).unwrap()), whole);
        let proof = prove(&mut store, &Json).unwrap();
        assert_eq!((proof.snapshot, proof.state), (Some(seq), Digest::of(&whole)));
    }
}

#[test]
fn of_many_jobs_only_what_has_changed_is_written_again() {
    let (_, mut store) = store();
    let last = store.last();
    let mut state = state_after(&mut store, &Json, last).unwrap();
    let shared = submission();
    for job in state.last_job() + 1..=10_000 {
        let (user, submission) = ("ana".to_owned(), Arc::clone(&shared));
        let array = Some((3, job as u32));
        let record = Record::Job(JobRecord::Submitted { job, user, submission, array, key: None });
        state.apply(Time(2_000), &record).unwrap();
    }
    let mut pages = Pages::default();
    let seq = store.last();
    assert!(keep_pages(&mut store, &mut pages, seq, &mut state) > 150);
    let held = Record::Job(JobRecord::Held { job: 5_000, hold: JobHold::User });
    state.apply(Time(2_001), &held).unwrap();
    assert_eq!(keep_pages(&mut store, &mut pages, seq, &mut state), 1);
    let (_, read, _) = begun(&mut store, &Json).unwrap().unwrap();
    assert_eq!(Json.state(&read), Json.state(&state));
    let one = &read.jobs[&4_000].submission;
    let same = read.jobs.values().filter(|job| Arc::ptr_eq(&job.submission, one)).count();
    assert!(same > 9_900, "jobs of an array share their submission again: {same}");
    let mut bytes = 0;
    let mut after = None;
    while let Some(last) = store.pages(after).unwrap().last().map(|page| page.key) {
        bytes += store.pages(after).unwrap().iter().map(|page| page.body.len()).sum::<usize>();
        after = Some(last);
    }
    assert!(bytes < 10_000 * 100, "{bytes}");
}

/// A change of one job writes no large submission again: neither its own nor those of other jobs
/// on the same page.
#[test]
fn large_submissions_are_written_once() {
    let (_, mut store) = store();
    let last = store.last();
    let mut state = state_after(&mut store, &Json, last).unwrap();
    let begin = state.last_job() + 1;
    for job in begin..begin + 20 {
        let mut large = (*submission()).clone();
        let value = |n: u64| format!("{:x}", (n + job).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        large.surroundings.environment = (0..1_000).map(|n| (format!("V{n}"), value(n))).collect();
        let (user, submission) = ("ana".to_owned(), Arc::new(large));
        let record =
            Record::Job(JobRecord::Submitted { job, user, submission, array: None, key: None });
        state.apply(Time(2_000), &record).unwrap();
    }
    let mut pages = Pages::default();
    keep_pages(&mut store, &mut pages, last, &mut state);
    let (_, mut read, mut known) = begun(&mut store, &Json).unwrap().unwrap();
    assert_eq!(Json.state(&read), Json.state(&state));
    for (state, pages) in [(&mut state, &mut pages), (&mut read, &mut known)] {
        let held = Record::Job(JobRecord::Held { job: begin + 3, hold: JobHold::User });
        state.apply(Time(2_001), &held).unwrap();
        let touched = state.jobs.take_touched();
        let (_, changed) = pages.of(state, &touched);
        let sizes: Vec<usize> = changed.pages().iter().map(|page| page.body.len()).collect();
        assert!(sizes.len() == 1 && sizes[0] < 5_000, "{sizes:?}");
    }
}

/// Jobs of one large submission: of an array, or each by itself. Bytes of all pages.
fn size_of_many(array: bool) -> usize {
    let (_, mut store) = store();
    let last = store.last();
    let mut state = state_after(&mut store, &Json, last).unwrap();
    let mut large = (*submission()).clone();
    // Like real environments: half of it does not repeat.
    let value = |n: u64| (0..8).map(|part| format!("{:x}", n * 7_919 * (part + 1))).collect();
    large.surroundings.environment = (0..400).map(|n| (format!("V{n}"), value(n))).collect();
    let shared = Arc::new(large);
    let begin = state.last_job() + 1;
    for job in begin..begin + 10_000 {
        let (user, submission) = ("ana".to_owned(), Arc::clone(&shared));
        let array = array.then_some((begin, job as u32));
        let record = Record::Job(JobRecord::Submitted { job, user, submission, array, key: None });
        state.apply(Time(2_000), &record).unwrap();
    }
    let mut pages = Pages::default();
    keep_pages(&mut store, &mut pages, last, &mut state);
    let (_, read, mut known) = begun(&mut store, &Json).unwrap().unwrap();
    assert_eq!(Json.state(&read), Json.state(&state));
    let again = known.of(&read, &std::collections::BTreeSet::new()).1;
    assert_eq!(again.pages(), [], "what was read is known");
    let one = &read.jobs[&(begin + 5_000)].submission;
    let of_it = read.jobs.range(begin..).map(|(_, job)| job);
    assert!(of_it.into_iter().all(|job| Arc::ptr_eq(&job.submission, one)));
    // When the last of them is gone, so is what they shared.
    for job in begin..begin + 10_000 {
        let ended = Record::Job(JobRecord::Ended { job, finish: Finish::Cancelled });
        state.apply(Time(2_001), &ended).unwrap();
        state.apply(Time(2_001), &Record::Job(JobRecord::Dropped { job })).unwrap();
    }
    let bytes = size_of_pages(&mut store);
    keep_pages(&mut store, &mut pages, last, &mut state);
    assert!(store.pages(None).unwrap().iter().all(|page| page.key.0 != 0));
    bytes
}

fn size_of_pages(store: &mut MemoryStore) -> usize {
    let (mut bytes, mut after) = (0, None);
    loop {
        let pages = store.pages(after).unwrap();
        let Some(last) = pages.last() else { return bytes };
        after = Some(last.key);
        bytes += pages.iter().map(|page| page.body.len()).sum::<usize>();
    }
}

#[test]
fn a_large_submission_of_many_jobs_is_in_a_snapshot_once() {
    for array in [true, false] {
        let bytes = size_of_many(array);
        println!("pages of 10,000 jobs: {bytes} bytes; an array: {array}");
        // The submission alone takes 20,000 bytes.
        assert!(bytes < 10_000 * 20, "{bytes}");
    }
}

#[test]
fn a_snapshot_whose_pages_are_not_its_own_is_not_used() {
    let (_, mut store) = store();
    let whole = Json.state(&recover(&mut store, &Json).unwrap());
    let mut state = state_after(&mut store, &Json, 12).unwrap();
    let mut pages = Pages::default();
    keep_pages(&mut store, &mut pages, 12, &mut state);
    let page = store.pages(None).unwrap().remove(0);
    let head = store.snapshot().unwrap().unwrap();
    for body in [Vec::new(), b"no page".to_vec(), {
        let other = (1..).map(|seq| state_after(&mut store, &Json, seq).unwrap());
        let other = other.into_iter().find(|state| !state.jobs.is_empty()).unwrap();
        Pages::default().of(&other, &std::collections::BTreeSet::new()).1.pages()[0].body.clone()
    }] {
        let changed = crate::store::Changes::Some(vec![Page { key: page.key, body }]);
        store.keep_pages(&head, &changed).unwrap();
        assert_eq!(Json.state(&recover(&mut store, &Json).unwrap()), whole);
        assert_eq!(prove(&mut store, &Json).unwrap().snapshot, None);
    }
    // The next snapshot mends it.
    let mut state = recover(&mut store, &Json).unwrap();
    let last = store.last();
    keep_pages(&mut store, &mut Pages::default(), last, &mut state);
    assert_eq!(prove(&mut store, &Json).unwrap().snapshot, Some(last));
}
