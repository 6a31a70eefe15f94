//! Jobs that lose their nodes when they have begun.

use tradewind_model::{PoolId, Preemption, Reason};

use super::*;
use crate::live::input::Reclaim;
use crate::live::notices::ReclaimPlan;
use crate::live::state::{Happening, Setback, Why};
use crate::site::SiteError;
use crate::site::queued::QueuedJob;

/// A job of two nodes at the more expensive, faster site, which runs since a second.
fn running_job(submission: Submission) -> (Stage, Tag, u32) {
    let mut stage = Stage::new();
    stage.submit(DAY, submission).unwrap();
    let order = stage.orders().remove(0);
    let (tag, site) = (order.tag, order.site.0);
    stage.survey(later(1), site, vec![(tag.clone(), running(later(1)))], &[]);
    (stage, tag, site)
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

const NOTICE: Span = Span(120);

/// Owners of site `a` get nodes of preemptible jobs back after two minutes; such a job pays half.
fn giving() -> Stage {
    let terms = Preemption { notice: NOTICE, discount: 500 };
    let preemption = [("a".to_owned(), terms)].into();
    let pools = pools().with_preemption(vec![terms, Preemption::default()]);
    Stage::on(pools, Settings { preemption, ..Settings::default() })
}

/// A job of one node for ten minutes that only runs at site `a`.
fn at_a(on_preempted: Option<OnLost>) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, on_preempted, ..job(1, 600) }
}

/// Submits such a job and lets it begin; `seen` has what the site says from then on.
fn began(stage: &mut Stage, at: i64, on_preempted: Option<OnLost>, seen: &mut Vec<(Tag, Seen)>) {
    stage.submit(later(at), at_a(on_preempted)).unwrap();
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    seen.push((order.tag, running(later(at))));
    queue(stage, at, seen, vec![]);
}

fn queue(stage: &mut Stage, at: i64, seen: &[(Tag, Seen)], queue: Vec<QueuedJob>) {
    let survey = Survey { queue, ..look(seen.to_vec()) };
    stage.step(later(at), Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
}

fn waiting(nodes: u32) -> Vec<QueuedJob> {
    vec![QueuedJob::of("own", 0, nodes, Span(300))]
}

fn told(stage: &Stage) -> Vec<u64> {
    let jobs = stage.live.state().jobs.values();
    let told = jobs.filter(|job| job.run().is_some_and(|run| run.notice.is_some()));
    told.map(|job| job.number).collect()
}

fn acts(stage: &Stage) -> Vec<(u64, Act)> {
    stage.orders().into_iter().map(|it| (it.tag.job, it.act)).collect()
}

fn reclaim(nodes: u32) -> Reclaim {
    let (site, pool, notice) = ("a".to_owned(), None, None);
    Reclaim { site, pool, nodes, notice, length: Span(600) }
}

fn olga() -> Actor {
    Actor { user: "olga".to_owned(), role: Role::Owner }
}

/// The same market after a restart.
fn restarted(stage: Stage) -> Stage {
    let settings = stage.live.settings().clone();
    let at = stage.live.state().now();
    let state = stage.live.into_state();
    let (live, step) = Live::begin(state, settings, Arc::new(Easy), "easy", at).unwrap();
    let mut records = stage.records;
    records.extend(step.records.into_iter().map(|record| (at, record)));
    Stage { live, records }
}

#[test]
fn the_last_started_preemptible_job_gives_way_to_a_waiting_one_after_its_notice() {
    for restarts in [false, true] {
        let (mut stage, mut seen) = (giving(), Vec::new());
        began(&mut stage, 0, Some(OnLost::Rerun), &mut seen);
        began(&mut stage, 10, Some(OnLost::Rerun), &mut seen);
        assert_eq!(stage.balance("held:1"), 300_000_000, "half of the list price");
        queue(&mut stage, 60, &seen, waiting(1));
        assert_eq!(told(&stage), [2]);
        assert_eq!(acts(&stage), [(2, Act::Notify)]);
        if restarts {
            stage = restarted(stage);
            assert_eq!((told(&stage), acts(&stage)), (vec![2], vec![(2, Act::Notify)]));
        }
        let (tag, act) = (seen[1].0.clone(), Act::Notify);
        stage.step(later(61), Input::Answered { tag, act, answer: Ok(()) });
        assert!(acts(&stage).is_empty(), "it was told once");
        queue(&mut stage, 65, &seen, waiting(1));
        assert_eq!(told(&stage), [2], "its node will be enough");
        assert_eq!(stage.live.sleep(later(65), Span(600)), Span(115), "until the notice ends");
        stage.step(later(179), Input::Tick);
        assert!(acts(&stage).is_empty());
        stage = if restarts { restarted(stage) } else { stage };
        stage.step(later(180), Input::Tick);
        assert_eq!(acts(&stage), [(2, Act::Withdraw)]);
        let over = ended(later(10), later(182), Exit::Withdrawn);
        let seen = [seen[0].clone(), (seen[1].0.clone(), over)];
        queue(&mut stage, 183, &seen, waiting(1));
        let job = &stage.live.state().jobs[&2];
        assert_eq!((job.attempt, job.phase()), (1, Phase::Waiting), "the owner's job comes first");
        assert_eq!(job.paid, Money(25_000_000), "until its notice, at half the price");
        assert_eq!(job.setbacks(), 0, "no refusal");
        let variables = |stage: &Stage| {
            let order = stage.orders().into_iter().find(|it| it.act == Act::Submit)?;
            order.order.unwrap().variables.get("SLURM_RESTART_COUNT").cloned()
        };
        assert_eq!(variables(&stage), None);
        queue(&mut stage, 184, &seen[..1], vec![]);
        assert_eq!(variables(&stage).as_deref(), Some("1"), "it runs again");
        replayed(&stage);
    }
}

#[test]
fn what_ends_by_itself_within_its_notice_is_done_or_has_saved_its_state() {
    for (exit, phase, paid) in [
        (Exit::Code(0), Phase::Over(&Finish::Completed), 30_000_000),
        (Exit::TimeLimit, Phase::Over(&Finish::Timeout), 30_000_000),
        (Exit::Code(85), Phase::Waiting, 20_000_000),
        (Exit::Signal(15), Phase::Waiting, 20_000_000),
    ] {
        let (mut stage, mut seen) = (giving(), Vec::new());
        began(&mut stage, 0, Some(OnLost::Rerun), &mut seen);
        queue(&mut stage, 40, &seen, waiting(2));
        assert_eq!(told(&stage), [1]);
        seen[0].1 = ended(DAY, later(60), exit);
        queue(&mut stage, 61, &seen, waiting(2));
        let job = &stage.live.state().jobs[&1];
        assert_eq!((job.phase(), job.paid), (phase, Money(paid)));
        stage.step(later(200), Input::Tick);
        replayed(&stage);
    }
}

#[test]
fn without_notice_nothing_could_be_kept_and_nothing_is_paid() {
    let (mut stage, mut seen) = (giving(), Vec::new());
    let terms = Preemption { notice: Span(0), discount: 500 };
    stage.live.settings.preemption = [("a".to_owned(), terms)].into();
    began(&mut stage, 0, Some(OnLost::Rerun), &mut seen);
    queue(&mut stage, 40, &seen, waiting(2));
    stage.step(later(40), Input::Tick);
    assert_eq!(acts(&stage), [(1, Act::Withdraw)]);
    seen[0].1 = ended(DAY, later(41), Exit::Withdrawn);
    queue(&mut stage, 42, &seen, waiting(2));
    assert_eq!(stage.live.state().jobs[&1].paid, Money(0));
    replayed(&stage);
}

#[test]
fn no_job_goes_that_is_not_preemptible_or_that_would_not_help() {
    let (mut stage, mut seen) = (giving(), Vec::new());
    began(&mut stage, 0, None, &mut seen);
    began(&mut stage, 10, Some(OnLost::Rerun), &mut seen);
    assert_eq!(stage.balance("held:1"), 600_000_000, "the list price");
    queue(&mut stage, 60, &seen, waiting(2));
    assert!(told(&stage).is_empty(), "the first job would be in the way all the same");
    queue(&mut stage, 70, &seen, waiting(1));
    assert_eq!(told(&stage), [2]);
    let mut plain = Stage::new();
    let mut seen = Vec::new();
    began(&mut plain, 0, Some(OnLost::Rerun), &mut seen);
    queue(&mut plain, 60, &seen, waiting(2));
    assert!(told(&plain).is_empty(), "its site has no such rule");
}

#[test]
fn a_task_that_cannot_be_told_is_stopped_at_the_end_of_its_notice() {
    let (mut stage, mut seen) = (giving(), Vec::new());
    began(&mut stage, 0, Some(OnLost::Rerun), &mut seen);
    queue(&mut stage, 40, &seen, waiting(2));
    let tag = seen[0].0.clone();
    let answered = |stage: &mut Stage, at: i64, answer| {
        let (tag, act) = (tag.clone(), Act::Notify);
        stage.step(later(at), Input::Answered { tag, act, answer });
    };
    answered(&mut stage, 41, Err(SiteError::Unknown("no answer".to_owned())));
    assert_eq!(acts(&stage), [(1, Act::Notify)], "it is tried again");
    answered(&mut stage, 42, Err(SiteError::Refused("it cannot be told".to_owned())));
    assert!(acts(&stage).is_empty());
    stage.step(later(160), Input::Tick);
    assert_eq!(acts(&stage), [(1, Act::Withdraw)]);
}

#[test]
fn an_owner_takes_nodes_back_and_has_them_for_a_while() {
    let (mut stage, mut seen) = (giving(), Vec::new());
    began(&mut stage, 0, Some(OnLost::Rerun), &mut seen);
    began(&mut stage, 10, Some(OnLost::Rerun), &mut seen);
    let plan = stage.live.reclaim_plan(later(20), &olga(), &reclaim(1));
    assert!(
        matches!(plan, Ok(ReclaimPlan { jobs, from, .. }) if jobs == [2] && from == later(140))
    );
    assert!(told(&stage).is_empty(), "a question changes nothing");
    let done = stage.asked(later(20), olga(), Ask::Reclaim(reclaim(1)));
    assert_eq!(done, Ok(Reply::Reclaimed { jobs: vec![2], from: later(140) }));
    assert_eq!(told(&stage), [2]);
    stage.step(later(140), Input::Tick);
    seen[1].1 = ended(later(10), later(141), Exit::Withdrawn);
    queue(&mut stage, 142, &seen, vec![]);
    assert_eq!(stage.phase(2), Phase::Waiting, "the node is the owner's");
    assert_eq!(stage.live.state().market.free_in(PoolId(0)), 0);
    // A job of the owner that starts there is no further load.
    let local = LocalTask { nodes: 1, from: later(150), until: later(250) };
    let mut survey = look(seen.to_vec());
    survey.pools[0].local = [("own".to_owned(), local)].into();
    stage.step(later(150), Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    let outages = stage.live.state().outages();
    assert!(outages.keys().all(|why| matches!(why, Why::Local(..))), "{outages:?}");
    queue(&mut stage, 250, &seen, vec![]);
    assert_eq!(stage.phase(2), Phase::Running);
    replayed(&stage);
}

#[test]
fn what_was_reclaimed_is_the_markets_again_in_the_end() {
    let mut stage = giving();
    let done = stage.asked(DAY, olga(), Ask::Reclaim(reclaim(2)));
    assert_eq!(done, Ok(Reply::Reclaimed { jobs: vec![], from: DAY }), "both are free");
    stage.submit(later(1), at_a(None)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting);
    stage.step(later(600), Input::Tick);
    assert_eq!(stage.phase(1), Phase::Running);
    replayed(&stage);
}

#[test]
fn a_reclaim_that_cannot_be_is_refused() {
    let (mut stage, mut seen) = (giving(), Vec::new());
    began(&mut stage, 0, None, &mut seen);
    let mut refused = |actor: Actor, wanted: Reclaim| {
        stage.asked(later(20), actor, Ask::Reclaim(wanted)).unwrap_err()
    };
    assert_eq!(refused(ana(), reclaim(1)).kind, RefusalKind::Forbidden);
    let elsewhere = Reclaim { site: "c".to_owned(), ..reclaim(1) };
    assert_eq!(refused(olga(), elsewhere).kind, RefusalKind::Unknown);
    let otto = Actor { user: "otto".to_owned(), role: Role::Owner };
    let plain = Reclaim { site: "b".to_owned(), ..reclaim(1) };
    assert!(refused(otto, plain).hint.contains("preemption"));
    let other = Reclaim { pool: Some("z".to_owned()), ..reclaim(1) };
    assert_eq!(refused(olga(), other).kind, RefusalKind::Invalid);
    assert_eq!(refused(olga(), reclaim(3)).kind, RefusalKind::Invalid);
    let soon = Reclaim { notice: Some(Span(60)), ..reclaim(1) };
    assert!(refused(olga(), soon).message.contains("promises"));
    let most = refused(olga(), reclaim(2));
    assert_eq!(most.kind, RefusalKind::Conflict);
    assert!(most.message.starts_with("1 of 2 nodes can be taken back"), "{}", most.message);
    assert!(told(&stage).is_empty());
}
