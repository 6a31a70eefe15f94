use std::sync::Arc;

use tradewind_model::PoolId;

use super::*;
use crate::live::state::{Happening, Setback};
use crate::site::SiteError;
use crate::site::limits::{Cap, Holds, Limit, Limits, PoolLimits, UserLimits};

fn cap(holds: Holds, word: &str) -> Cap {
    Cap { holds, word: word.to_owned() }
}

fn limit<T>(max: T, word: &str) -> Limit<T> {
    Some((max, word.to_owned()))
}

/// A look at a site that says more of limits.
fn surveyed(
    stage: &mut Stage,
    at: Time,
    site: u32,
    tasks: Vec<(Tag, Seen)>,
    more: impl FnOnce(&mut Survey),
) {
    let mut survey = look(tasks);
    more(&mut survey);
    stage.step(at, Input::Surveyed { site: SiteId(site), survey: Ok(survey) });
}

fn phases(stage: &Stage) -> Vec<&'static str> {
    let name = |phase: Phase<'_>| match phase {
        Phase::Running => "runs",
        Phase::Waiting => "waits",
        Phase::Held(JobHold::Capped(_)) => "capped",
        Phase::Held(JobHold::Rejected(_)) => "rejected",
        Phase::Held(_) => "held",
        _ => "over",
    };
    stage.live.state().jobs.values().map(|job| name(job.phase())).collect()
}

/// What the site says to each of its orders: it takes `max` tasks at one time, of those that are
/// not over.
struct Manager {
    max: usize,
    tasks: BTreeMap<Tag, Seen>,
    refused: BTreeMap<Tag, Cap>,
    refusals: usize,
}

impl Manager {
    fn answer(&mut self, stage: &mut Stage, at: Time, site: u32) {
        for _ in 0..10 {
            let orders: Vec<_> =
                stage.orders().into_iter().filter(|it| it.site == SiteId(site)).collect();
            if orders.is_empty() {
                break;
            }
            for order in orders {
                let (tag, act) = (order.tag, order.act);
                let answer = self.told(&tag, act, at);
                stage.step(at, Input::Answered { tag, act, answer });
            }
        }
        let (tasks, refused) = (self.tasks.clone(), self.refused.clone());
        surveyed(stage, at, site, tasks.into_iter().collect(), |survey| survey.capped = refused);
    }

    fn told(&mut self, tag: &Tag, act: Act, at: Time) -> Result<(), SiteError> {
        let is_open = |seen: &&Seen| !matches!(seen, Seen::Ended { .. });
        match act {
            Act::Submit if self.tasks.values().filter(is_open).count() >= self.max => {
                self.refusals += 1;
                self.refused.insert(tag.clone(), cap(Holds::ForNow, "AssocMaxSubmitJobLimit"));
                return Err(SiteError::Capped("AssocMaxSubmitJobLimit".to_owned()));
            }
            Act::Submit => {
                let seen = Seen::Running { since: at, nodes: vec!["n".to_owned()] };
                self.tasks.insert(tag.clone(), seen);
            }
            Act::Forget => drop(self.tasks.remove(tag)),
            Act::Withdraw | Act::Recall | Act::Go | Act::Notify => {}
        }
        Ok(())
    }

    fn end_one(&mut self, at: Time) {
        let running = self.tasks.iter_mut().find(|(_, it)| !matches!(it, Seen::Ended { .. }));
        if let Some((_, seen)) = running {
            let since = if let Seen::Running { since, .. } = seen { Some(*since) } else { None };
            *seen = Seen::Ended { since, at, exit: Exit::Code(0) };
        }
    }
}

fn only_b() -> Submission {
    let sites = vec!["b".to_owned()];
    Submission { terms: Conditions { sites, ..Conditions::default() }, ..job(1, 60) }
}

/// The site takes one job at one time and has nodes for two.
#[test]
fn a_cap_on_jobs_is_learned_and_is_no_refusal() {
    let mut stage = Stage::new();
    stage.survey(DAY, 0, vec![], &[]);
    let mut site =
        Manager { max: 1, tasks: BTreeMap::new(), refused: BTreeMap::new(), refusals: 0 };
    for _ in 0..20 {
        stage.submit(DAY, only_b()).unwrap();
    }
    for minute in 1..=40 {
        let at = later(10 * minute);
        site.answer(&mut stage, at, 1);
        site.end_one(at);
        assert!(!phases(&stage).contains(&"rejected"), "{:?}", phases(&stage));
    }
    site.answer(&mut stage, later(500), 1);
    assert!(phases(&stage).iter().all(|it| *it == "over"), "{:?}", phases(&stage));
    assert!(site.refusals <= 20, "{}", site.refusals);
    let (why, setbacks) = {
        let job = &stage.live.state().jobs[&2];
        let word = "AssocMaxSubmitJobLimit".to_owned();
        (Happening::Setback(Setback::Capped(PoolId(1), word)), job.setbacks())
    };
    assert_eq!(setbacks, 0);
    let all = stage.live.state().jobs.values().flat_map(|job| &job.history);
    assert!(all.into_iter().any(|(_, what)| *what == why));
}

/// Nothing of the user's ends there, and others' jobs do not matter: it is tried now and then.
#[test]
fn a_cap_that_stays_is_tried_again_more_and_more_seldom() {
    let mut stage = Stage::new();
    stage.survey(DAY, 0, vec![], &[]);
    let mut site =
        Manager { max: 0, tasks: BTreeMap::new(), refused: BTreeMap::new(), refusals: 0 };
    stage.submit(DAY, only_b()).unwrap();
    for second in 1..=3_600 {
        site.answer(&mut stage, later(second), 1);
    }
    assert_eq!(phases(&stage), ["capped"]);
    assert!((5..=12).contains(&site.refusals), "{}", site.refusals);
    site.max = 1;
    for second in 3_601..=4_600 {
        site.answer(&mut stage, later(second), 1);
    }
    assert_eq!(phases(&stage), ["runs"]);
}

#[test]
fn a_capped_job_goes_to_another_site_at_once() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(1, 60)).unwrap();
    let tag = stage.orders().remove(0).tag;
    assert_eq!(stage.live.state().jobs[&1].parts()[0].pool, PoolId(1));
    stage.survey(later(1), 0, vec![], &[]);
    stage.step(later(1), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: Ok(()) });
    // Slurm has it and does not begin it.
    let capped = |survey: &mut Survey| {
        survey.capped.insert(tag.clone(), cap(Holds::ForNow, "QOSMaxJobsPerUserLimit"));
    };
    surveyed(&mut stage, later(2), 1, vec![(tag.clone(), Seen::Waiting)], capped);
    assert_eq!(stage.orders().remove(0).act, Act::Withdraw);
    stage.step(later(2), Input::Answered { tag: tag.clone(), act: Act::Withdraw, answer: Ok(()) });
    let ended = Seen::Ended { since: None, at: later(3), exit: Exit::Withdrawn };
    surveyed(&mut stage, later(3), 1, vec![(tag, ended)], |_| {});
    let job = &stage.live.state().jobs[&1];
    assert_eq!((job.phase(), job.parts()[0].pool, job.setbacks()), (Phase::Running, PoolId(0), 0));
}

fn told(stage: &mut Stage, site: u32, limits: Limits) {
    surveyed(stage, later(1), site, vec![], |survey| survey.limits = Some(Arc::new(limits)));
}

#[test]
fn what_no_site_may_ever_take_is_refused_at_submission() {
    let mut stage = Stage::new();
    let pool = |wall| {
        vec![PoolLimits { wall: limit(Span(wall), "PartitionTimeLimit"), ..PoolLimits::default() }]
    };
    told(&mut stage, 0, Limits { pools: pool(120), ..Limits::default() });
    // Its nodes are twice as fast.
    told(&mut stage, 1, Limits { pools: pool(300), ..Limits::default() });
    for (seconds, place) in [(120, 1), (600, 1)] {
        let last = stage.live.state().last_job();
        stage.submit(later(2), job(1, seconds)).unwrap();
        assert_eq!(
            stage.live.state().jobs[&(last + 1)].parts()[0].pool,
            PoolId(place),
            "{seconds}"
        );
    }
    let refused = stage.submit(later(2), job(1, 601)).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Invalid);
    let words = "no site can take it: a/x: PartitionTimeLimit: a job may run for 2:00 there, and this \
                 one asks for 11:00; b/y: PartitionTimeLimit: a job may run for 5:00 there, and this \
                 one asks for 6:00";
    assert_eq!(refused.message, words);
    // Both together have the nodes, and only one may have the job.
    let refused = stage.submit(later(2), job(3, 400)).unwrap_err();
    assert!(refused.message.contains("a/x: PartitionTimeLimit"), "{refused:?}");
}

#[test]
fn a_user_without_an_account_is_refused_at_submission() {
    let mut stage = Stage::new();
    let nobody = || Limits { users: Some(BTreeMap::new()), ..Limits::default() };
    told(&mut stage, 1, nobody());
    stage.submit(later(2), job(1, 60)).unwrap();
    assert_eq!(stage.live.state().jobs[&1].parts()[0].pool, PoolId(0));
    told(&mut stage, 0, nobody());
    let refused = stage.submit(later(2), job(1, 60)).unwrap_err();
    assert!(refused.message.contains("a/x: \"ana\" has no account at the manager"), "{refused:?}");
}

#[test]
fn a_limit_that_is_known_is_never_tried() {
    let mut stage = Stage::new();
    let own = UserLimits { jobs: limit(1, "AssocMaxSubmitJobLimit"), ..UserLimits::default() };
    let users = [("ana".to_owned(), [("climate".to_owned(), own)].into())];
    let limits = Arc::new(Limits { users: Some(users.into()), ..Limits::default() });
    let say = |survey: &mut Survey| survey.limits = Some(Arc::clone(&limits));
    surveyed(&mut stage, DAY, 1, vec![], |survey| {
        say(survey);
        survey.foreign.insert("ana".to_owned(), 1);
    });
    stage.submit(DAY, only_b()).unwrap();
    stage.submit(DAY, only_b()).unwrap();
    assert_eq!(phases(&stage), ["capped", "capped"], "another job of hers is there");
    let Phase::Held(JobHold::Capped(why)) = stage.phase(1) else { panic!() };
    assert_eq!(why, "b: AssocMaxSubmitJobLimit: 1 of 1 jobs of ana are there");
    surveyed(&mut stage, later(1), 1, vec![], say);
    assert_eq!(phases(&stage), ["runs", "capped"]);
    // One that may go elsewhere does.
    stage.submit(later(1), job(1, 60)).unwrap();
    assert_eq!(stage.live.state().jobs[&3].parts()[0].pool, PoolId(0));
}

/// The only site will never take it, as it says when it has it.
#[test]
fn a_job_is_held_with_the_limit_that_only_its_site_knew() {
    let mut stage = Stage::new();
    stage.submit(DAY, only_b()).unwrap();
    let tag = stage.orders().remove(0).tag;
    let refused = Err(SiteError::Capped("QOSMaxWallDurationPerJobLimit".to_owned()));
    stage.step(later(1), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: refused });
    stage.step(later(1), Input::Answered { tag: tag.clone(), act: Act::Withdraw, answer: Ok(()) });
    surveyed(&mut stage, later(2), 1, vec![], |survey| {
        let cap = cap(Holds::ForThisJob, "QOSMaxWallDurationPerJobLimit");
        survey.capped.insert(tag.clone(), cap);
    });
    let Phase::Held(JobHold::Rejected(why)) = stage.phase(1) else {
        panic!("{:?}", phases(&stage))
    };
    assert_eq!(why, "no site can take it: b/y: QOSMaxWallDurationPerJobLimit");
    assert_eq!(stage.live.state().jobs[&1].attempt, 1);
}

#[test]
fn a_job_that_was_kept_from_a_full_site_may_go_there_later() {
    let mut stage = Stage::new();
    let own = UserLimits { jobs: limit(1, "AssocMaxSubmitJobLimit"), ..UserLimits::default() };
    let users = [("ana".to_owned(), [("climate".to_owned(), own)].into())];
    let limits = Arc::new(Limits { users: Some(users.into()), ..Limits::default() });
    let full = |survey: &mut Survey, foreign: u32| {
        survey.limits = Some(Arc::clone(&limits));
        survey.foreign.insert("ana".to_owned(), foreign);
    };
    surveyed(&mut stage, DAY, 1, vec![], |survey| full(survey, 1));
    // The other site has no nodes.
    stage.survey(DAY, 0, vec![], &[("x", 2)]);
    stage.submit(DAY, job(1, 60)).unwrap();
    assert_eq!(phases(&stage), ["waits"]);
    surveyed(&mut stage, later(1), 1, vec![], |survey| full(survey, 0));
    assert_eq!(phases(&stage), ["runs"]);
    assert_eq!(stage.live.state().jobs[&1].parts()[0].pool, PoolId(1));
}
