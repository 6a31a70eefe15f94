//! Tasks that their site's manager holds.

use super::*;
use crate::live::state::{Happening, Setback};
use crate::site::HeldTask;

const MAX: Span = Span(600);

fn acts(stage: &Stage) -> Vec<Act> {
    stage.orders().iter().map(|order| order.act).collect()
}

/// A survey in which the task waits, held or not.
fn look_at(stage: &mut Stage, at: Time, site: u32, tag: &Tag, why: Option<&str>) {
    let held = why.map(|why| (tag.clone(), HeldTask { why: why.to_owned(), max: MAX }));
    let waits = look(vec![(tag.clone(), Seen::Waiting)]);
    let survey = Ok(Survey { held: held.into_iter().collect(), ..waits });
    stage.step(at, Input::Surveyed { site: SiteId(site), survey });
}

fn handed_in() -> (Stage, Tag, u32) {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    let (tag, act, answer) = (order.tag.clone(), Act::Submit, Ok(()));
    stage.step(DAY, Input::Answered { tag, act, answer });
    (stage, order.tag, order.site.0)
}

fn held(stage: &Stage) -> Option<(String, Time, String)> {
    let state = stage.live.state();
    let (site, since, why) = state.held_there(&state.jobs[&1])?;
    Some((site.to_owned(), since, why.to_owned()))
}

#[test]
fn a_job_that_is_held_at_its_site_says_so_and_goes_on_when_it_is_released() {
    let (mut stage, tag, site) = handed_in();
    look_at(&mut stage, later(5), site, &tag, Some("JobHeldAdmin"));
    look_at(&mut stage, later(300), site, &tag, Some("JobHeldUser"));
    let name = ["a", "b"][site as usize].to_owned();
    assert_eq!(held(&stage), Some((name, later(5), "JobHeldUser".to_owned())));
    look_at(&mut stage, later(400), site, &tag, None);
    assert_eq!(held(&stage), None);
    // The next hold is another one.
    look_at(&mut stage, later(500), site, &tag, Some("JobHeldAdmin"));
    look_at(&mut stage, later(1_000), site, &tag, Some("JobHeldAdmin"));
    assert!(acts(&stage).is_empty());
    stage.survey(later(1_001), site, vec![(tag, running(later(1_000)))], &[]);
    assert_eq!((held(&stage), stage.live.state().jobs[&1].attempt), (None, 0));
}

#[test]
fn a_job_that_is_held_for_too_long_is_taken_back_and_planned_again() {
    let (mut stage, tag, site) = handed_in();
    let grant = i128::from(Settings::default().new_user_grant.0);
    look_at(&mut stage, later(5), site, &tag, Some("JobHeldAdmin"));
    look_at(&mut stage, later(604), site, &tag, Some("JobHeldAdmin"));
    assert!(acts(&stage).is_empty());
    look_at(&mut stage, later(605), site, &tag, Some("JobHeldAdmin"));
    assert_eq!(acts(&stage), [Act::Recall]);
    // The owner has the nodes of both sites by then.
    stage.survey(later(605), 1 - site, vec![], &[("own", 2)]);
    let never = Seen::Ended { since: None, at: later(606), exit: Exit::Withdrawn };
    stage.survey(later(606), site, vec![(tag, never)], &[("own", 2)]);
    let job = &stage.live.state().jobs[&1];
    assert_eq!((job.phase(), job.attempt), (Phase::Waiting, 1));
    assert_eq!((stage.balance("held:1"), stage.balance("user:ana")), (0, grant));
    let why = job.history.iter().find_map(|(_, what)| match what {
        Happening::Setback(Setback::Refused(why)) => Some(why.as_str()),
        _ => None,
    });
    assert!(why.is_some_and(|why| why.ends_with("for 10 min: JobHeldAdmin")), "{why:?}");
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.tasks, stage.live.state().tasks);
    assert_eq!(again.jobs, stage.live.state().jobs);
}
