//! Jobs that lose their nodes when they have begun.

use tradewind_model::Reason;

use super::*;
use crate::live::state::{Happening, Setback};

/// A job of two nodes at the more expensive, faster site, which runs since a second.
fn running_job(submission: Submission) -> (Stage, Tag, u32) {
    let mut stage = Stage::new();
    stage.submit(DAY, submission).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.survey(later(1), site, vec![(tag.clone(), running(later(1)))], &[]);
    (stage, tag, site)
}

fn replayed(stage: &Stage) {
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.accounts(), stage.live.state().accounts());
}

fn owners(stage: &Stage) -> i128 {
    stage.balance("owner:a") + stage.balance("owner:b")
}

#[test]
fn a_preemptible_job_pays_for_what_it_used_and_is_planned_again() {
    let on_preempted = Some(OnLost::Rerun);
    let (mut stage, tag, site) = running_job(Submission { on_preempted, ..job(2, 60) });
    let grant = i128::from(Settings::default().new_user_grant.0);
    stage.survey(later(12), site, vec![(tag, ended(later(1), later(11), Exit::Preempted))], &[]);
    let state = stage.live.state();
    let job = &state.jobs[&1];
    assert_eq!((job.attempt, job.paid, job.phase()), (1, Money(20_000_000), Phase::Running));
    let why =
        |(_, what): &(Time, Happening)| matches!(what, Happening::Setback(Setback::Preempted));
    assert!(job.history.iter().any(why), "{:?}", job.history);
    assert_eq!(owners(&stage), 20_000_000);
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    let over = ended(later(20), later(25), Exit::Code(0));
    stage.survey(later(26), order.site.0, vec![(order.tag, over)], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!((owners(&stage), stage.balance("user:ana")), (30_000_000, grant - 30_000_000));
    replayed(&stage);
}

#[test]
fn of_others_their_user_decides_as_if_they_were_lost() {
    for (on_lost, phase) in [
        (OnLost::Fail, Phase::Over(&Finish::NodeFail)),
        (OnLost::Hold, Phase::Held(&JobHold::Lost)),
        (OnLost::Rerun, Phase::Running),
    ] {
        for exit in [Exit::Preempted, Exit::NodeFailed] {
            let (mut stage, tag, site) = running_job(Submission { on_lost, ..job(2, 60) });
            stage.survey(later(9), site, vec![(tag, ended(later(1), later(6), exit))], &[]);
            assert_eq!(stage.phase(1), phase);
            assert_eq!(owners(&stage), 10_000_000, "five seconds of two nodes");
            replayed(&stage);
        }
    }
}

#[test]
fn all_attempts_together_stay_within_the_budget() {
    let mut submission = Submission { on_lost: OnLost::Rerun, ..job(2, 60) };
    submission.terms.budget = Some(Money(65_000_000));
    let (mut stage, tag, site) = running_job(submission);
    assert_eq!(site, 1, "30 seconds of two nodes there cost 60");
    let lost = |until| ended(later(1), later(until), Exit::NodeFailed);
    stage.survey(later(3), site, vec![(tag, lost(3))], &[]);
    // What is left of it pays for 30 seconds once more, and then no more.
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    let again = ended(later(4), later(14), Exit::NodeFailed);
    stage.survey(later(15), order.site.0, vec![(order.tag, again)], &[]);
    let job = &stage.live.state().jobs[&1];
    assert_eq!(job.paid, Money(24_000_000));
    let rest = Money(41_000_000);
    let refused = matches!(
        job.phase(),
        Phase::Over(Finish::Refused(Reason::BudgetShort { budget, .. })) if *budget == rest
    );
    assert!(refused, "{:?}", job.phase());
    replayed(&stage);
}
