//! Sites that fail: their states, and that nothing counts on them.

use tradewind_model::PoolId;
use tradewind_sched::policy::evaluate::{PoolReport, Verdict};

use super::*;
use crate::live::site_health::{Health, SiteState};
use crate::live::state::Why;
use crate::site::SiteError;
use crate::site::limits::{Cap, Holds};

/// A job of the market that only runs at site `a`.
fn here(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

fn ben() -> Actor {
    Actor { user: "ben".to_owned(), role: Role::User }
}

impl Stage {
    /// The daemon begins.
    fn daemon_begins(&mut self, at: Time) {
        let step = self.live.join_sites(at).unwrap();
        self.records.extend(step.records.into_iter().map(|record| (at, record)));
    }

    /// The market after a restart.
    pub(super) fn restart(&mut self, at: Time) {
        let mut state = State::empty(DAY);
        self.records.iter().for_each(|(at, record)| state.apply(*at, record).unwrap());
        let begun = Live::begin(state, self.live.settings().clone(), Arc::new(Easy), "easy", at);
        let (live, step) = begun.unwrap();
        self.live = live;
        self.records.extend(step.records.into_iter().map(|record| (at, record)));
        self.daemon_begins(at);
    }

    fn fails(&mut self, at: Time, site: u32, error: SiteError) {
        self.step(at, Input::Surveyed { site: SiteId(site), survey: Err(error) });
    }

    fn answers(&mut self, at: Time, site: u32, tasks: Vec<(Tag, Seen)>) {
        self.step(at, Input::Surveyed { site: SiteId(site), survey: Ok(look(tasks)) });
    }

    fn health(&self, site: u32) -> Health {
        self.live.state().site_health(SiteId(site))
    }

    fn named(&self, site: u32) -> (SiteState, Time) {
        let health = self.health(site);
        (health.state, health.since)
    }

    /// Whether the pool could ever run a job of one node, as far as windows and quotes know.
    fn is_considered(&self, pool: u32) -> bool {
        let market = &self.live.state().market;
        let demand = tradewind_model::Demand::new(1, Span(60));
        let report = PoolReport::of(market).weigh(market, &demand);
        let far = market.now() + Span(400 * 86_400);
        matches!(report[pool as usize].verdict, Verdict::From(start) if start < far)
    }

    /// The site says no to the job's submission.
    fn refuses(&mut self, at: Time, job: u64) {
        let order = self.orders().into_iter().find(|it| it.tag.job == job).unwrap();
        assert_eq!(order.act, Act::Submit);
        let (tag, act) = (order.tag, order.act);
        let answer = Err(SiteError::Refused("Invalid account".to_owned()));
        self.step(at, Input::Answered { tag, act, answer });
    }

    /// The site refuses what is submitted, follows all other orders, and is surveyed.
    fn turn(&mut self, at: Time) {
        for order in self.orders() {
            let (tag, act) = (order.tag, order.act);
            let answer = match act {
                Act::Submit => Err(SiteError::Refused("Invalid account".to_owned())),
                _ => Ok(()),
            };
            self.step(at, Input::Answered { tag, act, answer });
        }
        self.answers(at, 0, vec![]);
    }

    fn of_user(&mut self, at: Time, actor: Actor, submission: Submission) {
        let submission = Arc::new(submission);
        let ask = Ask::Submit { submission, key: None, quote: None };
        self.step(at, Input::Asked { actor, ask }).unwrap().unwrap();
    }

    fn is_at(&self, job: u64, site: u32) -> bool {
        let state = self.live.state();
        let job = &state.jobs[&job];
        job.phase() == Phase::Running
            && job.parts().iter().any(|part| state.site_of(part.pool) == SiteId(site))
    }
}

fn away(why: &str) -> SiteError {
    SiteError::Away(why.to_owned())
}

#[test]
fn a_site_gets_no_jobs_before_its_first_survey() {
    let mut stage = Stage::new();
    stage.daemon_begins(DAY);
    assert_eq!(stage.named(0), (SiteState::Joining, DAY));
    stage.submit(DAY, here(1, 60)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting);
    assert!(!stage.is_considered(0) && !stage.is_considered(1));
    // The other site joins first, and gets what may run there.
    stage.answers(later(1), 1, vec![]);
    stage.submit(later(1), job(1, 60)).unwrap();
    assert!(stage.is_at(2, 1));
    assert_eq!(stage.phase(1), Phase::Waiting);
    stage.answers(later(2), 0, vec![]);
    assert_eq!(stage.named(0), (SiteState::Up, later(2)));
    assert!(stage.is_at(1, 0) && stage.is_considered(0));
    assert_eq!(stage.live.state().outages().len(), 0);
}

#[test]
fn failures_have_names_that_a_restart_knows() {
    let mut stage = Stage::new();
    stage.daemon_begins(DAY);
    stage.fails(later(3), 0, away("ssh: connect: Connection timed out"));
    assert_eq!(stage.named(0), (SiteState::NeverReached, later(3)));
    assert!(stage.health(0).reason.contains("Connection timed out"));
    stage.answers(later(4), 1, vec![]);
    assert_eq!(stage.named(1), (SiteState::Up, later(4)));
    stage.fails(later(10), 1, away("Connection refused"));
    assert_eq!(stage.named(1), (SiteState::Lost, later(10)));
    let written = stage.records.len();
    stage.fails(later(15), 1, away("at 15: Connection refused"));
    assert_eq!(stage.records.len(), written, "said once");
    stage.fails(later(20), 1, SiteError::Hanging("no survey came within 2 s".to_owned()));
    assert_eq!(stage.named(1), (SiteState::Hanging, later(10)), "it fails since then");
    stage.restart(later(100));
    assert_eq!(stage.named(0), (SiteState::NeverReached, later(3)));
    assert_eq!(stage.named(1), (SiteState::Hanging, later(10)));
    stage.submit(later(101), job(1, 60)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting, "known nodes of sites that do not answer");
    stage.answers(later(110), 1, vec![]);
    assert_eq!(stage.named(1), (SiteState::Up, later(110)));
    assert!(stage.is_at(1, 1));
    // What answered before is lost, also when it does not answer the first survey of a daemon.
    stage.restart(later(200));
    assert_eq!(stage.named(1), (SiteState::Joining, later(200)));
    stage.fails(later(201), 1, away("Connection refused"));
    assert_eq!(stage.named(1), (SiteState::Lost, later(201)));
}

#[test]
fn nodes_in_use_at_a_lost_site_are_not_planned_for_afterwards() {
    let mut stage = Stage::new();
    stage.submit(DAY, here(2, 60)).unwrap();
    let tag = stage.orders().remove(0).tag;
    stage.answers(later(1), 0, vec![(tag.clone(), running(DAY))]);
    assert!(stage.is_considered(0));
    stage.fails(later(2), 0, away("Connection refused"));
    assert!(!stage.is_considered(0), "nor once the job has ended");
    assert!(stage.is_considered(1));
    // It ends there, as the site says when it is back, and all is as before.
    stage.answers(later(70), 0, vec![(tag, ended(DAY, later(60), Exit::Code(0)))]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert!(stage.is_considered(0));
    assert_eq!(stage.live.state().outages().len(), 0);
}

/// Between two surveys that fail, a job gives its nodes back: none else gets them.
#[test]
fn nodes_that_are_given_back_at_a_lost_site_stay_unused() {
    let mut stage = Stage::new();
    stage.submit(DAY, here(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    let (tag, act) = (order.tag, order.act);
    stage.fails(later(1), 0, away("Connection refused"));
    // The answer was under way.
    let answer = Err(SiteError::Refused("no".to_owned()));
    stage.step(later(2), Input::Answered { tag: tag.clone(), act, answer });
    let recall = stage.orders().remove(0);
    assert_eq!(recall.act, Act::Recall);
    stage.step(later(2), Input::Answered { tag, act: Act::Recall, answer: Ok(()) });
    stage.submit(later(3), here(1, 60)).unwrap();
    assert_eq!(stage.phase(2), Phase::Waiting);
    let state = stage.live.state();
    let free = state.market.free_in(PoolId(0));
    assert_eq!(free, 0, "{:?}", state.outages());
}

#[test]
fn nodes_that_are_down_are_counted_in_the_state() {
    let mut stage = Stage::new();
    let with = |up| {
        let pools = vec![PoolSurvey { up, ..PoolSurvey::default() }];
        Ok(Survey { pools, ..Survey::default() })
    };
    let mut see = |at, up| {
        stage.step(later(at), Input::Surveyed { site: SiteId(0), survey: with(up) });
        let health = stage.health(0);
        (health.state, (health.since - DAY).0, health.reason)
    };
    assert_eq!(see(1, 2).0, SiteState::Up);
    let told = "1 of 2 nodes are down or drained".to_owned();
    assert_eq!(see(2, 1), (SiteState::PartlyDrained, 2, told.clone()));
    assert_eq!(see(3, 1), (SiteState::PartlyDrained, 2, told));
    assert_eq!(see(4, 0).0, SiteState::Drained);
    assert_eq!(see(5, 2), (SiteState::Up, 5, String::new()));
}

/// Surveys that were asked for before a refusal do not name its limit.
#[test]
fn a_limit_that_only_the_second_survey_names_is_no_refusal_by_the_site() {
    let mut stage = Stage::new();
    for _ in 0..3 {
        stage.submit(DAY, here(1, 60)).unwrap();
    }
    for round in 0..8 {
        let at = later(1 + 2 * round);
        let asked: Vec<Tag> = stage.orders().into_iter().map(|order| order.tag).collect();
        stage.turn(at);
        let limit = Cap { holds: Holds::ForNow, word: "AssocMaxSubmitJobLimit".to_owned() };
        let capped = asked.into_iter().map(|tag| (tag, limit.clone())).collect();
        let survey = Survey { capped, ..look(vec![]) };
        stage.step(at + Span(1), Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    }
    assert_eq!(stage.health(0).state, SiteState::Up);
}

/// Whatever words a site uses, and whether or not a survey names the limit: what counts is the kind of
/// its answer.
#[test]
fn a_site_whose_limit_is_met_does_not_refuse_jobs() {
    for (answer, state) in [
        (SiteError::Capped("keine weiteren Jobs".to_owned()), SiteState::Up),
        (SiteError::Refused("the licence server has a Limit".to_owned()), SiteState::Refusing),
    ] {
        let mut stage = Stage::new();
        for _ in 0..3 {
            stage.submit(DAY, here(1, 60)).unwrap();
        }
        for round in 0..8 {
            let at = later(1 + 2 * round);
            for order in stage.orders() {
                let (tag, act) = (order.tag, order.act);
                let answer = match act {
                    Act::Submit => Err(answer.clone()),
                    _ => Ok(()),
                };
                stage.step(at, Input::Answered { tag, act, answer });
            }
            stage.step(at + Span(1), Input::Surveyed { site: SiteId(0), survey: Ok(look(vec![])) });
        }
        assert_eq!(stage.health(0).state, state, "{answer:?}");
    }
}

#[test]
fn a_site_that_refuses_all_jobs_is_left_alone_and_tried_again() {
    let mut stage = Stage::new();
    for _ in 0..3 {
        stage.submit(DAY, here(1, 60)).unwrap();
    }
    // Two nodes: two jobs are refused again and again.
    stage.turn(later(1));
    assert_eq!(stage.health(0).state, SiteState::Up, "two jobs may be wrong");
    let mut at = 1;
    while stage.health(0).state == SiteState::Up && at < 10 {
        at += 1;
        stage.turn(later(at));
    }
    let since = later(at);
    assert_eq!(stage.named(0), (SiteState::Refusing, since));
    assert_eq!(stage.health(0).reason, "Invalid account");
    assert!(!stage.is_considered(0));
    stage.turn(later(at + 1));
    stage.turn(later(at + 2));
    assert!((1..=3).all(|job| stage.phase(job) == Phase::Waiting), "{:?}", stage.orders());
    // A daemon that begins then knows it, and tries a minute after its first survey.
    stage.restart(later(at + 3));
    assert_eq!(stage.named(0), (SiteState::Refusing, since));
    stage.answers(since, 0, vec![]);
    assert!(!stage.is_considered(0) && stage.health(0).retry > Some(since));
    let since_start = later(at + 3);
    // Tried again after a minute; then it waits twice as long.
    stage.step(since_start + Span(59), Input::Tick);
    assert!(!stage.orders().iter().any(|it| it.act == Act::Submit));
    stage.step(since_start + Span(60), Input::Tick);
    let first = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    stage.refuses(since_start + Span(61), first.tag.job);
    for second in 62..66 {
        stage.turn(since_start + Span(second));
    }
    let retry = stage.health(0).retry.unwrap();
    assert_eq!(stage.named(0), (SiteState::Refusing, since));
    assert!(retry > since_start + Span(120), "{retry:?}");
    let again = retry;
    stage.step(again, Input::Tick);
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    let (tag, act) = (order.tag, order.act);
    stage.step(again, Input::Answered { tag, act, answer: Ok(()) });
    assert_eq!(stage.named(0), (SiteState::Up, again));
    assert!(stage.is_considered(0));
}

/// One user with jobs that are wrong closes a site for no other user.
#[test]
fn one_users_wrong_jobs_are_not_the_sites_fault() {
    let mut stage = Stage::new();
    stage.of_user(DAY, ben(), job(1, 6_000));
    for _ in 0..6 {
        stage.submit(DAY, here(1, 60)).unwrap();
    }
    for at in 1..20 {
        for order in stage.orders() {
            let (tag, act) = (order.tag, order.act);
            let is_bens = tag.job == 1;
            let answer = match act {
                Act::Submit if !is_bens => Err(SiteError::Refused("Invalid option".to_owned())),
                Act::Submit if order.site == SiteId(0) => continue,
                _ => Ok(()),
            };
            stage.step(later(at), Input::Answered { tag, act, answer });
        }
        stage.answers(later(at), 0, vec![]);
    }
    assert_eq!(stage.health(0).state, SiteState::Up);
}

#[test]
fn what_is_written_of_states_is_read_again() {
    use crate::codec::{Codec, Json};
    let mut stage = Stage::new();
    stage.daemon_begins(DAY);
    stage.fails(later(3), 0, away("Connection timed out"));
    stage.answers(later(4), 1, vec![]);
    let state = stage.live.state();
    let bytes = Json.state(state);
    let again = Json.read_state(Json::VERSION, &bytes).unwrap();
    assert_eq!(again.site_health(SiteId(0)), stage.health(0));
    assert!(again.outages().contains_key(&Why::Away(PoolId(0))));
    for (_, record) in &stage.records {
        assert_eq!(&Json.read_record(&Json.record(record)).unwrap(), record);
    }
}
