//! Jobs that are to be planned again, and may have begun.

use super::*;
use crate::live::record::JobRecord;
use crate::live::state::{Happening, Setback};
use crate::site::SiteError;

/// A job of one part whose site has taken it in; then the owner's job took a node there.
fn displaced() -> (Stage, Tag, u32) {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.step(later(1), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: Ok(()) });
    stage.survey(later(2), site, vec![(tag.clone(), Seen::Waiting)], &[("own", 1)]);
    let acts: Vec<Act> = stage.orders().iter().map(|it| it.act).collect();
    assert_eq!(acts, [Act::Recall]);
    (stage, tag, site)
}

fn answered(stage: &mut Stage, at: Time, tag: &Tag, act: Act, answer: Result<(), SiteError>) {
    stage.step(at, Input::Answered { tag: tag.clone(), act, answer });
}

fn never(at: Time, exit: Exit) -> Seen {
    Seen::Ended { since: None, at, exit }
}

fn replayed(stage: &Stage) {
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.tasks, stage.live.state().tasks);
    assert_eq!(again.accounts(), stage.live.state().accounts());
}

#[test]
fn a_job_that_began_while_it_was_taken_back_runs_on() {
    let (mut stage, tag, site) = displaced();
    answered(&mut stage, later(3), &tag, Act::Recall, Err(SiteError::Begun));
    assert_eq!(stage.orders(), []);
    // No survey shows it yet, and the owner's job is still there: it is not asked for again.
    stage.survey(later(4), site, vec![(tag.clone(), Seen::Waiting)], &[("own", 1)]);
    assert_eq!(stage.orders(), []);
    stage.survey(later(5), site, vec![(tag.clone(), running(later(2)))], &[("own", 1)]);
    stage.survey(later(9), site, vec![(tag, ended(later(2), later(9), Exit::Code(0)))], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!(stage.live.state().jobs[&1].attempt, 0);
    replayed(&stage);
}

#[test]
fn a_job_that_was_taken_back_waits_again_though_its_nodes_were_there() {
    let (mut stage, tag, site) = displaced();
    answered(&mut stage, later(3), &tag, Act::Recall, Ok(()));
    assert_eq!(stage.orders(), [], "it need not be told again");
    // Slurm had given it its nodes, and its script had done nothing yet.
    stage.survey(later(4), site, vec![(tag.clone(), running(later(3)))], &[("own", 1)]);
    stage.survey(later(5), site, vec![(tag, never(later(5), Exit::Withdrawn))], &[("own", 1)]);
    let job = &stage.live.state().jobs[&1];
    assert_eq!((job.attempt, job.paid), (1, Money::ZERO));
    let displaced =
        |(_, what): &(Time, Happening)| matches!(what, Happening::Setback(Setback::Displaced));
    assert!(job.history.iter().any(displaced), "{:?}", job.history);
    replayed(&stage);
}

#[test]
fn a_cancellation_stops_what_was_to_be_taken_back() {
    let (mut stage, tag, site) = displaced();
    let ask = Ask::Cancel { job: 1 };
    stage.step(later(3), Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    answered(&mut stage, later(4), &tag, Act::Recall, Err(SiteError::Begun));
    let acts: Vec<Act> = stage.orders().iter().map(|it| it.act).collect();
    assert_eq!(acts, [Act::Withdraw]);
    stage.survey(later(5), site, vec![(tag, ended(later(2), later(5), Exit::Withdrawn))], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Cancelled));
}

#[test]
fn a_task_that_was_declined_and_runs_all_the_same_is_the_jobs() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    let refused = Err(SiteError::Refused("not today".to_owned()));
    answered(&mut stage, later(1), &tag, Act::Submit, refused);
    // An earlier submission that was not answered had come through.
    answered(&mut stage, later(2), &tag, Act::Recall, Err(SiteError::Begun));
    assert_eq!(stage.orders(), []);
    stage.survey(later(3), site, vec![(tag.clone(), running(later(1)))], &[]);
    stage.survey(later(9), site, vec![(tag, ended(later(1), later(9), Exit::Code(0)))], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    replayed(&stage);
}

#[test]
fn a_task_that_is_cancelled_at_its_site_says_so() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.survey(later(3), site, vec![(tag.clone(), running(later(1)))], &[]);
    stage.survey(later(9), site, vec![(tag, ended(later(1), later(9), Exit::Withdrawn))], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Cancelled));
    let by = stage.live.state().jobs[&1].cancelled_by.clone();
    assert_eq!(by.as_deref(), Some(["a user at a", "a user at b"][site as usize]));
    replayed(&stage);
}

/// A journal of an earlier release may have stopped a job for the owner's, and it had begun.
#[test]
fn a_job_that_was_stopped_for_another_plan_is_not_cancelled() {
    let mut stage = Stage::new();
    let on_lost = OnLost::Rerun;
    stage.submit(DAY, Submission { on_lost, ..job(2, 60) }).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.live.put(later(1), JobRecord::Stopping { job: 1 }).unwrap();
    stage.survey(later(3), site, vec![(tag, ended(later(1), later(2), Exit::Withdrawn))], &[]);
    let job = &stage.live.state().jobs[&1];
    assert_eq!((job.attempt, job.cancelled_by.as_ref()), (1, None));
}

#[test]
fn a_folder_that_is_missing_has_one_fate() {
    for is_seen_running in [false, true] {
        let mut stage = Stage::new();
        stage.submit(DAY, job(2, 60)).unwrap();
        let order = stage.orders().remove(0);
        let (tag, site) = (order.tag, order.site.0);
        if is_seen_running {
            stage.survey(later(2), site, vec![(tag.clone(), running(later(1)))], &[]);
        }
        let why = "/nowhere: not there".to_owned();
        let seen = never(later(4), Exit::NotStarted(why.clone()));
        stage.survey(later(4), site, vec![(tag, seen)], &[]);
        assert_eq!(stage.phase(1), Phase::Held(&JobHold::Rejected(why)));
        assert_eq!(stage.live.state().jobs[&1].paid, Money::ZERO);
        replayed(&stage);
    }
}

#[test]
fn a_job_that_never_began_is_planned_again_whatever_its_user_wants_if_it_is_lost() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let max = Settings::default().max_refusals;
    for attempt in 0..max {
        assert_eq!(stage.live.state().jobs[&1].attempt, attempt);
        let orders = stage.orders().into_iter().find(|it| it.act == Act::Submit);
        let Some(order) = orders else { panic!("attempt {attempt}") };
        let at = later(i64::from(attempt) * 10);
        let why = "Slurm has lost the job before it began".to_owned();
        let tasks = vec![(order.tag, never(at, Exit::Refused(why)))];
        stage.survey(at, order.site.0, tasks, &[]);
    }
    assert!(matches!(stage.phase(1), Phase::Held(JobHold::Rejected(why)) if why.contains("lost")));
}
