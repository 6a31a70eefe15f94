//! Jobs whose tasks differ: each group in its window, together, and in no policy's queue.

use tradewind_io::submission::OnBreach;
use tradewind_model::{PoolId, Share, TaskGroup, TimeMode};

use super::*;
use crate::live::state::Quote;
use crate::live::state::jobs::Booking;

const PRICE: Price = Price(1_000_000);

fn group(tasks: u32, work: i64, thousandths: Option<u32>) -> TaskGroup {
    let min_performance = thousandths.and_then(Performance::from_thousandths);
    let attributes = tradewind_model::Attributes::new();
    TaskGroup { tasks, work: Span(work), min_performance, attributes }
}

/// A node of performance 2 for a minute of work, and two nodes for twenty seconds of it.
fn flood() -> Submission {
    let groups = vec![group(1, 60, Some(2_000)), group(2, 20, None)];
    let terms = Conditions { groups: Some(groups.into()), ..Conditions::default() };
    Submission { terms, on_breach: Some(OnBreach::Requeue), ..job(3, 60) }
}

fn part(group: u32, pool: u32, nodes: u32, length: i64) -> (u32, Share, Span) {
    (group, Share { pool: PoolId(pool), nodes }, Span(length))
}

/// The window of the first group and one node of the second in `b/y`, and one node of `a/x`.
fn parts() -> Vec<(u32, Share, Span)> {
    vec![part(0, 1, 1, 30), part(1, 0, 1, 20), part(1, 1, 1, 10)]
}

fn quote(start: Time, parts: Vec<(u32, Share, Span)>) -> Quote {
    let booking = Booking::of_groups(start, parts, |_, _| PRICE);
    Quote {
        number: 0,
        user: "ana".to_owned(),
        tasks: 3,
        work: Span(60),
        times: TimeMode::WORK,
        cost: booking.max(3),
        booking,
        expires: start + Span(1_000),
        slack: None,
    }
}

fn book(stage: &mut Stage, at: Time, job: u64, quote: Quote) -> Result<Reply, Refusal> {
    let Ok(Reply::Number(quote)) = stage.asked(at, ana(), Ask::Keep { quote }) else { panic!() };
    stage.asked(at, ana(), Ask::Update { job, on_breach: None, quote: Some(quote) })
}

fn replays(stage: &Stage) {
    let mut again = State::empty(DAY);
    stage.records.iter().for_each(|(at, record)| again.apply(*at, record).unwrap());
    assert_eq!(again.jobs[&1].phase(), stage.phase(1));
}

#[test]
fn such_a_job_waits_for_a_window_beside_the_queue() {
    let mut stage = Stage::new();
    stage.submit(DAY, flood()).unwrap();
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Window), "no policy knows it");
    assert_eq!(stage.live.unplaced(), [(1, "ana".to_owned())]);
    let demand = stage.live.unplaced_demand(1).unwrap();
    let request = demand.request();
    assert_eq!((request.tasks, request.all_tasks(), request.work), (1, 3, Span(60)));
    assert!(stage.live.state().market.queue().next().is_none());
    replays(&stage);
}

#[test]
fn its_groups_start_together_and_each_pays_its_own_time() {
    let mut stage = Stage::new();
    stage.submit(DAY, flood()).unwrap();
    let window = quote(later(10), parts());
    assert_eq!(window.cost, Money(60 * PRICE.0));
    book(&mut stage, DAY, 1, window).unwrap();
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Booked));
    stage.survey(later(10), 0, vec![], &[]);
    let orders = stage.orders();
    let asked: Vec<(u32, u32, i64, String)> = orders
        .iter()
        .map(|it| {
            let order = it.order.as_ref().unwrap();
            let group = order.variables["TRADEWIND_GROUP"].clone();
            (it.site.0, order.nodes, order.limit.0, group)
        })
        .collect();
    let text = |group: &str| group.to_owned();
    assert_eq!(asked, [(1, 1, 30, text("0")), (0, 1, 20, text("1")), (1, 1, 10, text("1"))]);
    for order in &orders {
        let (tag, act, answer) = (order.tag.clone(), Act::Submit, Ok(()));
        stage.step(later(10), Input::Answered { tag, act, answer });
    }
    let there = |site: u32| {
        let own = orders.iter().filter(|it| it.site == SiteId(site));
        own.map(|it| (it.tag.clone(), running(later(11)))).collect()
    };
    stage.survey(later(12), 0, there(0), &[]);
    stage.survey(later(12), 1, there(1), &[]);
    let goes = stage.orders();
    assert!(goes.iter().all(|it| it.act == Act::Go) && goes.len() == 3, "{goes:?}");
    let go = goes[0].go.as_ref().unwrap();
    let groups =
        [0, 1, 2].map(|part| go.variables[&format!("TRADEWIND_PART_{part}_GROUP")].as_str());
    assert_eq!(groups, ["0", "1", "1"]);
    let began = go.at;
    for go in &goes {
        let (tag, act) = (go.tag.clone(), Act::Go);
        stage.step(later(12), Input::Answered { tag, act, answer: Ok(()) });
    }
    // The short part of `b/y` ends first: the pool is given back when both of its parts are over.
    let tag = |part: usize| orders[part].tag.clone();
    let over = |part: usize, s: i64| (tag(part), ended(began, began + Span(s), Exit::Code(0)));
    stage.survey(began + Span(5), 1, vec![over(2, 5), (tag(0), running(began))], &[]);
    let id = stage.live.state().jobs[&1].id().unwrap();
    assert!(stage.live.state().market.holds(id, PoolId(1)));
    stage.survey(began + Span(20), 0, vec![over(1, 20)], &[]);
    assert!(!stage.live.state().market.holds(id, PoolId(0)));
    stage.survey(began + Span(25), 1, vec![over(0, 25)], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!(stage.live.state().jobs[&1].paid, Money((5 + 20 + 25) * PRICE.0));
    assert!(stage.live.unplaced().is_empty());
    replays(&stage);
}

#[test]
fn a_window_must_be_for_its_groups() {
    let mut stage = Stage::new();
    stage.submit(DAY, flood()).unwrap();
    for (wrong, why) in [
        (vec![part(0, 1, 2, 30), part(1, 0, 1, 20)], "groups of other sizes"),
        (vec![part(0, 0, 1, 60), part(1, 1, 2, 10)], "the first group needs performance 2"),
        (vec![part(0, 1, 1, 30), part(1, 0, 2, 10)], "too short for `a/x`"),
        (vec![part(0, 1, 1, 30), part(2, 0, 2, 20)], "there is no third group"),
    ] {
        let refused = book(&mut stage, DAY, 1, quote(later(10), wrong)).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Conflict, "{why}");
        assert!(refused.message.contains("other groups"), "{why}: {}", refused.message);
    }
    // Nor is a job of equal tasks for a window with groups, or the other way round.
    let Ok(Reply::Number(window)) =
        stage.asked(DAY, ana(), Ask::Keep { quote: quote(later(10), parts()) })
    else {
        panic!()
    };
    let submission = Arc::new(job(3, 60));
    let ask = Ask::Submit { submission, key: None, quote: Some(window) };
    assert!(stage.asked(DAY, ana(), ask).unwrap_err().message.contains("other groups"));
}

#[test]
fn a_job_that_lost_its_window_waits_for_another_and_no_policy_starts_it() {
    let mut stage = Stage::new();
    stage.submit(DAY, flood()).unwrap();
    book(&mut stage, DAY, 1, quote(later(10), parts())).unwrap();
    let at = later(10);
    // The owner of `b` has both nodes until long after the slack.
    stage.survey(later(5), 1, vec![], &[("own", 2)]);
    stage.survey(at, 0, vec![], &[]);
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Booked), "its window may still come");
    let late = at + Span(Settings::SLACK.0 + 1_000);
    stage.survey(late, 1, vec![], &[("own", 2)]);
    stage.survey(late, 0, vec![], &[]);
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Window), "{:?}", stage.live.state().jobs[&1]);
    stage.survey(late + Span(1), 1, vec![], &[]);
    book(&mut stage, late + Span(1), 1, quote(late + Span(5), parts())).unwrap();
    stage.survey(late + Span(5), 0, vec![], &[]);
    assert_eq!(stage.phase(1), Phase::Running);
    // Refused before it has begun: back into its window, and not into the queue.
    let orders = stage.orders();
    let order = &orders[0];
    let (tag, act) = (order.tag.clone(), Act::Submit);
    let answer = Err(crate::site::SiteError::Refused("no".to_owned()));
    stage.step(late + Span(6), Input::Answered { tag, act, answer });
    for order in &orders[1..] {
        let seen = Seen::Ended { since: None, at: late + Span(7), exit: Exit::Withdrawn };
        stage.survey(late + Span(7), order.site.0, vec![(order.tag.clone(), seen)], &[]);
    }
    assert!(stage.live.state().market.queue().next().is_none());
    replays(&stage);
}
