//! What many small jobs leave.

use std::path::Path;

use super::*;
use crate::codec::pages::{self, Pages};
use crate::codec::{Codec as _, Json};
use crate::store::sqlite::{Cover, Sqlite, archive_all, check, compact};
use crate::store::{Snapshot, Store as _};

const JOBS: u64 = 20_000;

/// A small job as `sbatch` submits it: a script, and the environment of a login.
fn small(number: u64) -> Submission {
    let variable = |i: u64| (format!("VARIABLE_{i}"), format!("/usr/share/{i}/lib:/opt/{i}/bin"));
    let mut environment: BTreeMap<String, String> = (0..30).map(variable).collect();
    environment.insert("WINDOW".to_owned(), format!("{:x}", number.wrapping_mul(0x9e37_79b9)));
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let text = format!("#!/bin/sh\n#SBATCH --ntasks=1 --time=1\nsrun ./step {number}\n");
    Submission { work: Work::Script { text, arguments: vec![] }, surroundings, ..job(1, 60) }
}

/// A step and what the policy says to it, without looks at all of the market in between.
fn step(stage: &mut Stage, at: Time, input: Input) {
    let step = stage.live.step(at, input).unwrap();
    stage.records.extend(step.records.into_iter().map(|record| (at, record)));
    while stage.live.is_due(at) {
        let step = stage.live.plan(at).unwrap();
        stage.records.extend(step.records.into_iter().map(|record| (at, record)));
    }
}

/// From its submission until its site has forgotten it.
fn live_through(stage: &mut Stage, number: u64) {
    let at = |seconds: i64| later(number as i64 * 10 + seconds);
    let submission = Arc::new(small(number));
    let ask = Ask::Submit { submission, key: None, quote: None };
    step(stage, at(0), Input::Asked { actor: ana(), ask });
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site);
    let sees = |seen: Seen| {
        let survey = Ok(look(vec![(tag.clone(), seen)]));
        Input::Surveyed { site, survey }
    };
    let (begun, over) = (running(at(1)), ended(at(1), at(4), Exit::Code(0)));
    step(stage, at(1), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: Ok(()) });
    step(stage, at(2), sees(begun));
    step(stage, at(5), sees(over));
    step(stage, at(6), Input::Answered { tag, act: Act::Forget, answer: Ok(()) });
}

fn size(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).unwrap();
    match metadata.is_dir() {
        true => std::fs::read_dir(path).unwrap().map(|it| size(&it.unwrap().path())).sum(),
        false => metadata.len(),
    }
}

#[test]
fn twenty_thousand_small_jobs_leave_less_than_20_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut store = Sqlite::open(&path).unwrap();
    let mut stage = Stage::new();
    for number in 1..=JOBS {
        live_through(&mut stage, number);
        // Fewer waits for the disk than a real market has.
        if number % 200 != 0 {
            continue;
        }
        let rows = std::mem::take(&mut stage.records);
        let rows: Vec<_> = rows.iter().map(|(at, it)| (at.0, Json.record(it))).collect();
        store.append(&rows).unwrap();
    }
    let state = &stage.live.state;
    assert!(state.jobs.values().all(|job| matches!(job.phase(), Phase::Over(_))));
    let (body, changed) = Pages::default().of(state, &Default::default());
    let seq = store.last();
    let snapshot = Snapshot { seq, at: state.now().0, version: pages::VERSION, body };
    store.keep_pages(&snapshot, &changed).unwrap();
    drop(store);
    let before = size(folder.path());
    archive_all(&path, Cover::Snapshots, i64::MAX).unwrap();
    compact(&path).unwrap();
    let (file, all) = (size(&path), size(folder.path()));
    println!(
        "{JOBS} jobs, {seq} rows: {before} bytes; afterwards {all}, of these {file} in the \
         database and {} in archive files",
        all - file
    );
    assert!(all <= 20_000_000, "{all} bytes");
    assert_eq!(check(&path).unwrap().rows, seq);
}
