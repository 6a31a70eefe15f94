//! Scripts and environments of jobs that are over.

use crate::live::record::JobRecord;
use tradewind_io::submission::Array;

use super::*;
use crate::codec::{Codec as _, Json};

const KEEP: i64 = 3 * 24 * 3_600;

fn script(indices: Option<u32>) -> Submission {
    let environment = BTreeMap::from([("SECRET".to_owned(), "x".repeat(1_000))]);
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let work = Work::Script { text: "#!/bin/sh\nhostname\n".to_owned(), arguments: vec![] };
    let array = indices.map(|many| Array { indices: (0..many).collect(), at_once: None });
    Submission { work, surroundings, array, held: true, ..job(1, 60) }
}

fn cancel(stage: &mut Stage, at: i64, job: u64) {
    let ask = Ask::Cancel { job };
    stage.step(later(at), Input::Asked { actor: ana(), ask }).unwrap().unwrap();
}

fn is_redacted(stage: &Stage, job: u64) -> bool {
    let job = &stage.live.state().jobs[&job];
    let is_bare = job.submission.surroundings.environment.is_empty()
        && matches!(&job.submission.work, Work::Script { text, .. } if text.is_empty());
    assert_eq!(job.redacted().is_some(), is_bare);
    is_bare
}

#[test]
fn a_script_is_dropped_some_days_after_the_end_and_its_hash_stays() {
    let mut stage = Stage::new();
    stage.submit(DAY, script(None)).unwrap();
    stage.submit(DAY, script(None)).unwrap();
    cancel(&mut stage, 10, 1);
    stage.step(later(10 + KEEP), Input::Tick);
    assert!(!is_redacted(&stage, 1));
    stage.step(later(11 + KEEP), Input::Tick);
    assert!(is_redacted(&stage, 1) && !is_redacted(&stage, 2), "the other one still waits");
    // printf '#!/bin/sh\nhostname\n' | sha256sum
    let hash = crate::store::Digest(stage.live.state().jobs[&1].redacted().unwrap()).to_string();
    assert_eq!(hash, "ecd13b9307e53678adaeb0d057e5925e8a0374910f3c58f5b646c9c41279eb23");
    assert_eq!(stage.live.state().jobs[&1].submission.name, "t", "all else stays");
    same_after_a_replay(&stage);
}

#[test]
fn scripts_of_an_array_are_dropped_when_all_of_it_is_over() {
    let mut stage = Stage::new();
    stage.submit(DAY, script(Some(5))).unwrap();
    for job in [5, 1, 2, 4] {
        cancel(&mut stage, 10, job);
    }
    stage.step(later(20 + KEEP), Input::Tick);
    assert!((1..=5).all(|job| !is_redacted(&stage, job)), "the third one waits");
    cancel(&mut stage, 30 + KEEP, 3);
    stage.step(later(30 + 2 * KEEP), Input::Tick);
    assert!((1..=5).all(|job| !is_redacted(&stage, job)));
    stage.step(later(31 + 2 * KEEP), Input::Tick);
    assert!((1..=5).all(|job| is_redacted(&stage, job)));
    let written = stage
        .records
        .iter()
        .filter(|(_, it)| matches!(it, Record::Job(JobRecord::Redacted { .. })));
    assert_eq!(written.count(), 1, "one record for all");
    let jobs = &stage.live.state().jobs;
    assert!(jobs.values().all(|job| Arc::ptr_eq(&job.submission, &jobs[&1].submission)));
    same_after_a_replay(&stage);
}

#[test]
fn a_key_still_stands_for_its_submission() {
    let mut stage = Stage::new();
    let submit = |stage: &mut Stage, at: i64, submission: Submission| {
        let (submission, key) = (Arc::new(submission), Some("k".to_owned()));
        let ask = Ask::Submit { submission, key, quote: None };
        stage.step(later(at), Input::Asked { actor: ana(), ask }).unwrap()
    };
    assert_eq!(submit(&mut stage, 0, script(None)), Ok(Reply::Jobs(vec![1])));
    cancel(&mut stage, 1, 1);
    stage.step(later(2 + KEEP), Input::Tick);
    assert!(is_redacted(&stage, 1));
    assert_eq!(submit(&mut stage, 3 + KEEP, script(None)), Ok(Reply::Jobs(vec![1])));
    let work = Work::Script { text: "#!/bin/sh\n".to_owned(), arguments: vec![] };
    let other = Submission { work, ..script(None) };
    assert_eq!(submit(&mut stage, 3 + KEEP, other).unwrap_err().kind, RefusalKind::Conflict);
}

#[test]
fn scripts_are_kept_as_long_as_jobs_if_that_is_wanted() {
    let mut stage = Stage::new();
    stage.live.settings.keep_scripts = None;
    stage.submit(DAY, script(None)).unwrap();
    cancel(&mut stage, 1, 1);
    stage.step(later(6 * 24 * 3_600), Input::Tick);
    assert!(!is_redacted(&stage, 1));
    stage.step(later(8 * 24 * 3_600), Input::Tick);
    assert!(!stage.live.state().jobs.contains_key(&1));
}

/// Records alone give the same state.
fn same_after_a_replay(stage: &Stage) {
    let mut replayed = State::empty(DAY);
    for (at, record) in &stage.records {
        let read = Json.read_record(&Json.record(record)).unwrap();
        replayed.apply(*at, &read).unwrap();
    }
    assert_eq!(Json.state(&replayed), Json.state(stage.live.state()));
}
