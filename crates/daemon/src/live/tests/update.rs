//! Jobs that wait, and that their users change.

use tradewind_io::submission::change::SubmissionChange;
use tradewind_io::submission::script::{self, Around};
use tradewind_io::submission::{Array, When};

use super::*;
use crate::live::state::Happening;

fn changed(stage: &mut Stage, at: Time, job: u64, words: &[&str]) -> Result<Reply, Refusal> {
    let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
    let (given, _) = script::command_line(&words).unwrap();
    let (zone, variables) = (jiff::tz::TimeZone::UTC, BTreeMap::new());
    let around = Around { now: at, zone: &zone, variables: &variables };
    let change = Box::new(SubmissionChange::read(&given, &around).unwrap());
    stage.asked(at, ana(), Ask::Change { job, change })
}

fn order_of(stage: &Stage) -> Vec<u64> {
    let state = stage.live.state();
    state.market.queue().filter_map(|id| state.jobs.numbers.get(&id).copied()).collect()
}

/// A job on all nodes, and three that wait behind it.
fn crowded() -> Stage {
    let mut stage = Stage::new();
    let all = stage.live.state().market.processors();
    stage.submit(DAY, job(all, 600)).unwrap();
    for _ in 0..3 {
        stage.submit(DAY, job(all, 600)).unwrap();
    }
    assert_eq!(order_of(&stage), [2, 3, 4]);
    stage
}

#[test]
fn a_changed_plan_waits_behind_the_others_and_a_changed_name_stays() {
    let mut stage = crowded();
    changed(&mut stage, later(1), 2, &["--job-name=other", "--comment=why"]).unwrap();
    assert_eq!(order_of(&stage), [2, 3, 4]);
    changed(&mut stage, later(2), 2, &["--time=5", "--nodes=1"]).unwrap();
    let state = stage.live.state();
    let job = &state.jobs[&2];
    assert_eq!((job.submission.name.as_str(), job.nodes()), ("other", 1));
    assert_eq!(job.submission.time, TimeLimit::one(Span(300)));
    // Narrow and short as it is now, it would have started at once if there were room.
    assert_eq!(job.phase(), Phase::Waiting);
    assert_eq!(order_of(&stage), [3, 4, 2]);
    let is_updated = |(_, it): &(Time, Happening)| *it == Happening::Updated("ana".to_owned());
    assert_eq!(job.history.iter().filter(|it| is_updated(it)).count(), 2);
    replayed(&stage);
}

#[test]
fn a_held_job_stays_held_and_one_that_waits_for_others_goes_on() {
    let mut stage = crowded();
    stage.asked(later(1), ana(), Ask::Hold { job: 3 }).unwrap();
    changed(&mut stage, later(2), 3, &["--time=5"]).unwrap();
    assert_eq!(stage.phase(3), Phase::Held(&JobHold::User));
    changed(&mut stage, later(3), 4, &["--dependency=afterok:3"]).unwrap();
    assert_eq!(stage.phase(4), Phase::Held(&JobHold::Dependency));
    assert_eq!(stage.live.state().jobs[&4].submission.after[0].when, When::Ok);
    changed(&mut stage, later(4), 4, &["--dependency="]).unwrap();
    assert_eq!(stage.phase(4), Phase::Waiting);
    replayed(&stage);
}

#[test]
fn a_singleton_does_not_wait_for_a_job_that_has_another_name_now() {
    let mut stage = Stage::new();
    let all = stage.live.state().market.processors();
    let first = "first".to_owned();
    stage.submit(DAY, Submission { name: first, ..job(all, 600) }).unwrap();
    stage.submit(DAY, job(all, 600)).unwrap();
    stage.submit(DAY, job(all, 600)).unwrap();
    changed(&mut stage, later(1), 3, &["--dependency=singleton"]).unwrap();
    assert_eq!(stage.phase(3), Phase::Held(&JobHold::Dependency));
    changed(&mut stage, later(2), 2, &["--job-name=other"]).unwrap();
    assert_eq!(stage.phase(3), Phase::Waiting);
    // And a job that takes the name waits for the one that has it.
    changed(&mut stage, later(3), 3, &["--job-name=other"]).unwrap();
    changed(&mut stage, later(4), 3, &["--dependency=singleton"]).unwrap();
    assert_eq!(stage.phase(3), Phase::Held(&JobHold::Dependency));
    replayed(&stage);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut stage = crowded();
    let before = stage.records.len();
    let mut why = |job, words: &[&str]| {
        changed(&mut stage, later(2), job, words).map_err(|it| it.message).unwrap_err()
    };
    assert_eq!(why(1, &["--time=5"]), "job 1 has its nodes: it cannot be changed");
    assert_eq!(why(9, &["--time=5"]), "you have no job 9");
    assert!(why(2, &["--nodes=1000"]).contains("1000"));
    assert_eq!(why(2, &["--dependency=afterany:2"]), "job 2 would wait for itself");
    assert!(why(2, &["--dependency=afterany:99"]).contains("you have no such job"));
    assert!(why(2, &["--deadline=2001-01-01"]).contains("its deadline has passed"));
    assert_eq!(stage.records.len(), before);
    changed(&mut stage, later(3), 3, &["--dependency=afterany:4"]).unwrap();
    let circle = changed(&mut stage, later(4), 4, &["--dependency=afterany:3"]).unwrap_err();
    assert_eq!(circle.message, "job 4 would wait for itself");
}

#[test]
fn tasks_of_an_array_are_changed_one_by_one_and_share_what_is_the_same() {
    let mut stage = Stage::new();
    let array = Some(Array { indices: (0..200).collect(), at_once: Some(1) });
    let all = stage.live.state().market.processors();
    stage.submit(DAY, Submission { array, ..job(all, 600) }).unwrap();
    let body = |stage: &Stage, job: u64| Arc::clone(&stage.live.state().jobs[&job].submission);
    for number in 50..=53 {
        changed(&mut stage, later(1), number, &["--time=5"]).unwrap();
    }
    assert!(Arc::ptr_eq(&body(&stage, 50), &body(&stage, 53)));
    assert!(Arc::ptr_eq(&body(&stage, 49), &body(&stage, 54)));
    assert_eq!(body(&stage, 54).time, TimeLimit::Reference(Span(600)));
    // Each has a script of its own in memory, so not all of them may differ.
    let different = (60..200).step_by(2).map_while(|number| {
        changed(&mut stage, later(2), number, &[&format!("--comment={number}")]).ok()
    });
    assert!((20..=40).contains(&different.count()));
    replayed(&stage);
}

#[test]
fn the_same_submission_again_is_the_same_job_whatever_was_changed_since() {
    let mut stage = Stage::new();
    let held = Submission { held: true, ..job(1, 60) };
    let ask = |submission: &Submission| Ask::Submit {
        submission: Arc::new(submission.clone()),
        key: Some("one".to_owned()),
        quote: None,
    };
    stage.asked(DAY, ana(), ask(&held)).unwrap();
    changed(&mut stage, later(1), 1, &["--time=5", "--job-name=other"]).unwrap();
    assert_eq!(stage.asked(later(2), ana(), ask(&held)).unwrap(), Reply::Jobs(vec![1]));
    let work = Work::Command(vec!["another".to_owned()]);
    let refusal = stage.asked(later(3), ana(), ask(&Submission { work, ..held })).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Conflict);
}

#[test]
fn a_budget_is_no_less_than_what_the_job_has_paid() {
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { on_lost: OnLost::Hold, ..job(2, 60) }).unwrap();
    let order = stage.orders().remove(0);
    let lost = ended(later(1), later(11), Exit::NodeFailed);
    stage.survey(later(12), order.site.0, vec![(order.tag, lost)], &[]);
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Lost));
    let paid = stage.live.state().jobs[&1].paid;
    assert!(paid > Money::ZERO);
    let refusal = changed(&mut stage, later(13), 1, &["--budget=1"]).unwrap_err();
    assert_eq!(refusal.message, format!("job 1 has paid {paid} already"));
    changed(&mut stage, later(14), 1, &["--budget=1000"]).unwrap();
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Lost));
}
