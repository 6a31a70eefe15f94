//! Jobs that run and are to wait in the queue again.

use super::*;
use crate::live::state::{Happening, Setback};

/// A job of two nodes that runs since a second; its task and site.
fn running_job(submission: Submission) -> (Stage, Tag, u32) {
    let mut stage = Stage::new();
    stage.submit(DAY, submission).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.survey(later(1), site, vec![(tag.clone(), running(later(1)))], &[]);
    (stage, tag, site)
}

fn requeued(stage: &mut Stage, at: Time, job: u64) -> Result<Reply, Refusal> {
    stage.asked(at, ana(), Ask::Requeue { job })
}

#[test]
fn a_requeued_job_pays_for_what_it_used_and_runs_again() {
    // However its work ended meanwhile: it may have saved itself, and ended well.
    for exit in [Exit::Withdrawn, Exit::Code(0), Exit::Code(3)] {
        let (mut stage, tag, site) = running_job(job(2, 60));
        requeued(&mut stage, later(5), 1).unwrap();
        // Again is the same.
        requeued(&mut stage, later(6), 1).unwrap();
        let told = stage.orders().into_iter().find(|it| it.act == Act::Withdraw).unwrap();
        assert_eq!(told.tag, tag);
        assert_eq!(stage.phase(1), Phase::Running);
        assert_eq!(stage.live.state().jobs[&1].requeued_by(), Some("ana"));
        stage.survey(later(12), site, vec![(tag, ended(later(1), later(11), exit))], &[]);
        let job = &stage.live.state().jobs[&1];
        assert_eq!((job.attempt, job.setbacks(), job.paid), (1, 0, Money(20_000_000)));
        assert_eq!((job.phase(), job.requeued_by()), (Phase::Running, None));
        let is_set_back = |(_, what): &(Time, Happening)| {
            *what == Happening::Setback(Setback::Requeued("ana".to_owned()))
        };
        assert!(job.history.iter().any(is_set_back), "{:?}", job.history);
        let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
        assert_eq!(order.tag.attempt, 1);
        let over = ended(later(20), later(25), Exit::Code(0));
        stage.survey(later(26), order.site.0, vec![(order.tag, over)], &[]);
        assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
        replayed(&stage);
    }
}

#[test]
fn only_a_job_that_runs_is_requeued() {
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { held: true, ..job(1, 60) }).unwrap();
    let why = |stage: &mut Stage| requeued(stage, later(2), 1).unwrap_err();
    let refusal = why(&mut stage);
    assert_eq!(refusal.message, "job 1 has not begun: it cannot be requeued");
    stage.asked(later(2), ana(), Ask::Cancel { job: 1 }).unwrap();
    assert_eq!(why(&mut stage).message, "job 1 is over: it cannot be requeued");
    let bob = Actor { user: "bob".to_owned(), role: Role::User };
    let refusal = stage.asked(later(2), bob, Ask::Requeue { job: 1 }).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Unknown);

    let (mut stage, ..) = running_job(job(2, 60));
    stage.asked(later(3), ana(), Ask::Cancel { job: 1 }).unwrap();
    assert_eq!(why(&mut stage).message, "job 1 is being cancelled: it cannot be requeued");
}

#[test]
fn a_cancel_goes_before_a_requeue() {
    let (mut stage, tag, site) = running_job(job(2, 60));
    requeued(&mut stage, later(3), 1).unwrap();
    stage.asked(later(4), ana(), Ask::Cancel { job: 1 }).unwrap();
    let over = ended(later(1), later(5), Exit::Withdrawn);
    stage.survey(later(6), site, vec![(tag, over)], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Cancelled));
    replayed(&stage);
}
