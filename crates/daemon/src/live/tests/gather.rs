use tradewind_io::submission::Gather;
use tradewind_model::{Place, PoolId, TimeMode};

use super::*;
use crate::live::state::{Booking, Happening, Quote, Setback};
use crate::site::SiteError;

/// A market with a job of three nodes, which has two at the one site and one at the other.
fn two_parts(gather: Option<Gather>) -> (Stage, Vec<Instruction>) {
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { gather, ..job(3, 60) }).unwrap();
    let orders = stage.orders();
    assert_eq!(orders.len(), 2, "{orders:?}");
    for order in &orders {
        let (tag, act, answer) = (order.tag.clone(), Act::Submit, Ok(()));
        stage.step(DAY, Input::Answered { tag, act, answer });
    }
    (stage, orders)
}

/// Both parts are on their nodes; the second since ten seconds after the first.
fn both_there(stage: &mut Stage, orders: &[Instruction]) {
    stage.survey(later(5), orders[0].site.0, vec![(orders[0].tag.clone(), running(DAY))], &[]);
    assert_eq!(stage.orders(), [], "one of two is there");
    let second = running(later(10));
    stage.survey(later(10), orders[1].site.0, vec![(orders[1].tag.clone(), second)], &[]);
}

fn never(at: Time, exit: Exit) -> Seen {
    Seen::Ended { since: None, at, exit }
}

/// Sites say that all of them have stopped and never began.
fn stop(stage: &mut Stage, at: Time, orders: &[Instruction]) {
    for order in orders {
        let seen = never(at, Exit::Withdrawn);
        stage.survey(at, order.site.0, vec![(order.tag.clone(), seen)], &[]);
    }
}

fn acts(stage: &Stage) -> Vec<Act> {
    stage.orders().iter().map(|order| order.act).collect()
}

#[test]
fn parts_begin_together_and_pay_from_then_on() {
    let (mut stage, orders) = two_parts(None);
    let gather = orders.iter().map(|it| it.order.as_ref().unwrap().gather);
    assert!(gather.eq([Some(Span(180)); 2]), "the market's two minutes, and one more");
    both_there(&mut stage, &orders);
    assert_eq!(stage.live.state().jobs[&1].began(), Some(later(12)));
    let goes = stage.orders();
    assert_eq!(acts(&stage), [Act::Go, Act::Go]);
    let go = goes[0].go.as_ref().unwrap();
    assert_eq!(go.at, later(12));
    let variable = |name: &str| go.variables[name].as_str();
    let named = ["TRADEWIND_PART_1_SITE", "TRADEWIND_PART_1_POOL", "TRADEWIND_PART_1_ADDRESS"];
    assert_eq!(named.map(variable), ["b", "y", "n"]);
    assert_eq!(variable("TRADEWIND_HOSTS"), "n,n");
    // A daemon that dies here tells both again.
    let mut again = State::empty(DAY);
    stage.records.iter().for_each(|(at, record)| again.apply(*at, record).unwrap());
    let (again, _) =
        Live::begin(again, Settings::default(), Arc::new(Easy), "easy", later(10)).unwrap();
    assert_eq!(again.orders(|_, _| false), goes);
    for go in &goes {
        let (tag, act) = (go.tag.clone(), Act::Go);
        stage.step(later(11), Input::Answered { tag, act, answer: Ok(()) });
    }
    assert_eq!(stage.orders(), []);
    for (order, end) in orders.iter().zip([22, 32]) {
        let tasks = vec![(order.tag.clone(), ended(later(12), later(end), Exit::Code(0)))];
        let began = [(order.tag.clone(), 1_800_000_012_000 + i64::from(order.site.0) * 37)];
        let survey = Survey { began: began.into(), ..look(tasks) };
        stage.step(later(end), Input::Surveyed { site: order.site, survey: Ok(survey) });
    }
    let done = &stage.live.state().jobs[&1];
    assert_eq!(done.phase(), Phase::Over(&Finish::Completed));
    assert_eq!(done.skew(), Some(37));
    let nodes: Vec<i64> = done.parts().iter().map(|part| i64::from(part.nodes)).collect();
    assert_eq!(done.paid, Money((10 * nodes[0] + 20 * nodes[1]) * 1_000_000));
}

/// One of two sites does not answer any more: the job cannot end before that site says what became
/// of its part, but the nodes of the other are free at once.
#[test]
fn a_site_that_does_not_answer_keeps_no_nodes_of_others_taken() {
    for late in [false, true] {
        let (mut stage, orders) = two_parts(None);
        let [first, second] = [orders[0].site, orders[1].site];
        stage.survey(later(5), first.0, vec![(orders[0].tag.clone(), running(DAY))], &[]);
        let away = || Err(SiteError::Away("it hangs".to_owned()));
        stage.step(later(6), Input::Surveyed { site: second, survey: away() });
        if late {
            stage.step(later(200), Input::Tick);
        } else {
            let ask = Ask::Cancel { job: 1 };
            stage.step(later(7), Input::Asked { actor: ana(), ask }).unwrap().unwrap();
        }
        let gone = never(later(201), Exit::Withdrawn);
        stage.survey(later(201), first.0, vec![(orders[0].tag.clone(), gone)], &[]);
        let state = stage.live.state();
        assert_eq!(stage.phase(1), Phase::Running, "its other part may still begin");
        let pool = state.jobs[&1].parts()[0].pool;
        assert_eq!(state.market.free_in(pool), 2, "late: {late}");
        let gone = never(later(301), Exit::Withdrawn);
        stage.survey(later(301), second.0, vec![(orders[1].tag.clone(), gone)], &[]);
        assert_eq!(stage.live.state().jobs[&1].paid, Money(0));
    }
}

#[test]
fn a_late_part_sends_all_home_and_costs_nothing() {
    let (mut stage, orders) = two_parts(Some(Gather::Within(Span(90))));
    stage.survey(later(5), orders[0].site.0, vec![(orders[0].tag.clone(), running(DAY))], &[]);
    stage.step(later(90), Input::Tick);
    assert_eq!(stage.orders(), [], "not late yet");
    assert!(stage.live.due().unwrap() <= later(91));
    stage.step(later(91), Input::Tick);
    assert_eq!(acts(&stage), [Act::Withdraw, Act::Withdraw]);
    // It comes after all: too late.
    let second = vec![(orders[1].tag.clone(), running(later(92)))];
    stage.survey(later(92), orders[1].site.0, second, &[]);
    assert_eq!(acts(&stage), [Act::Withdraw, Act::Withdraw]);
    stop(&mut stage, later(93), &orders);
    let late = &stage.live.state().jobs[&1];
    assert_eq!((late.attempt, late.paid, late.phase()), (1, Money::ZERO, Phase::Running));
    let timed_out = late.history.iter().find_map(|(_, what)| match what {
        Happening::Setback(Setback::BarrierTimedOut(pool, why)) => Some((*pool, why.as_str())),
        _ => None,
    });
    assert_eq!(timed_out, Some((PoolId(1), "it was not there within 90 s")));
    assert_eq!(stage.live.state().sites.delays[&orders[1].site], [93]);
    assert_eq!(stage.balance("owner:a") + stage.balance("owner:b"), 0);
}

#[test]
fn after_many_timeouts_it_is_held() {
    let (mut stage, _) = two_parts(None);
    let mut at = DAY;
    for _ in 0..Settings::default().max_refusals {
        let orders = stage.orders();
        let orders: Vec<_> = orders.into_iter().filter(|it| it.act != Act::Forget).collect();
        at = at + Span(130);
        stage.step(at, Input::Tick);
        let tags = orders.iter().map(|it| it.tag.clone());
        let tags: Vec<Tag> = match orders.is_empty() {
            true => (0..2).map(|part| stage.live.state().jobs[&1].tag("m", part)).collect(),
            false => tags.collect(),
        };
        for (site, tag) in (0..).zip(tags) {
            stage.survey(at, site, vec![(tag, never(at, Exit::Withdrawn))], &[]);
        }
    }
    let phase = stage.phase(1);
    assert!(
        matches!(phase, Phase::Held(JobHold::Rejected(why)) if why.contains("120 s")),
        "{phase:?}"
    );
}

#[test]
fn a_part_that_is_declined_stops_the_other_at_once() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(3, 60)).unwrap();
    let orders = stage.orders();
    let (tag, act) = (orders[1].tag.clone(), Act::Submit);
    let answer = Err(SiteError::Refused("no".to_owned()));
    stage.step(later(1), Input::Answered { tag, act, answer });
    assert_eq!(acts(&stage), [Act::Withdraw, Act::Withdraw]);
}

#[test]
fn a_part_that_dies_before_the_others_come_costs_nothing() {
    let (mut stage, orders) = two_parts(None);
    let first = orders[0].tag.clone();
    stage.survey(later(5), orders[0].site.0, vec![(first.clone(), running(DAY))], &[]);
    let died = Seen::Ended { since: Some(DAY), at: later(8), exit: Exit::NodeFailed };
    stage.survey(later(8), orders[0].site.0, vec![(first, died)], &[]);
    assert_eq!(acts(&stage), [Act::Forget, Act::Withdraw]);
    stop(&mut stage, later(9), &orders[1..]);
    // Its user wants a lost job to fail; this one never began.
    assert_eq!(stage.live.state().jobs[&1].attempt, 1);
    assert_eq!(stage.phase(1), Phase::Running);
}

#[test]
fn a_part_that_never_hears_its_go_makes_the_job_lost() {
    let (mut stage, orders) = two_parts(None);
    both_there(&mut stage, &orders);
    let first = vec![(orders[0].tag.clone(), running(later(12)))];
    stage.survey(later(20), orders[0].site.0, first, &[]);
    let in_vain = vec![(orders[1].tag.clone(), never(later(190), Exit::Withdrawn))];
    stage.survey(later(190), orders[1].site.0, in_vain, &[]);
    assert!(acts(&stage).contains(&Act::Withdraw));
    let stopped = ended(later(12), later(191), Exit::Withdrawn);
    stage.survey(later(191), orders[0].site.0, vec![(orders[0].tag.clone(), stopped)], &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::NodeFail));
}

#[test]
fn parts_may_begin_each_by_itself() {
    let (mut stage, orders) = two_parts(Some(Gather::Apart));
    let terms = orders.iter().map(|it| it.order.as_ref().unwrap());
    assert!(terms.map(|it| (it.gather, it.start)).eq([(None, later(4)); 2]), "{orders:?}");
    stage.survey(later(5), orders[0].site.0, vec![(orders[0].tag.clone(), running(later(4)))], &[]);
    assert_eq!(stage.live.state().jobs[&1].began(), Some(later(4)));
    stage.step(later(500), Input::Tick);
    assert_eq!(stage.orders(), []);
    for (order, began) in orders.iter().zip([3_020, 8_310]) {
        let tasks = vec![(order.tag.clone(), ended(later(4), later(520), Exit::Code(0)))];
        let began = [(order.tag.clone(), DAY.0 * 1_000 + began)].into();
        let survey = Ok(Survey { began, ..look(tasks) });
        stage.step(later(520), Input::Surveyed { site: order.site, survey });
    }
    let done = &stage.live.state().jobs[&1];
    assert_eq!((done.phase(), done.skew()), (Phase::Over(&Finish::Completed), Some(5_290)));
}

/// The one site never says when its part began.
#[test]
fn beginnings_of_jobs_that_are_over_are_not_kept() {
    let (mut stage, orders) = two_parts(Some(Gather::Apart));
    let at = later(520);
    for told in [vec![0], vec![0, 1], vec![0]] {
        for place in told {
            let tag = orders[place].tag.clone();
            let tasks = vec![(tag.clone(), ended(later(4), later(500), Exit::Code(0)))];
            let began = (place == 0).then_some((tag, DAY.0 * 1_000)).into_iter().collect();
            let survey = Ok(Survey { began, ..look(tasks) });
            stage.step(at, Input::Surveyed { site: orders[place].site, survey });
        }
    }
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!(stage.live.state().jobs[&1].skew(), None);
    assert!(stage.live.index.began.is_empty(), "{:?}", stage.live.index.began);
}

#[test]
fn what_is_alone_or_waits_for_others_is_submitted_for_now() {
    let (_, orders) = two_parts(None);
    assert!(orders.iter().all(|it| it.order.as_ref().unwrap().start == DAY), "{orders:?}");
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { gather: Some(Gather::Apart), ..job(1, 60) }).unwrap();
    assert_eq!(stage.orders()[0].order.as_ref().unwrap().start, DAY);
}

/// A part that one site refuses is known before the others begin.
#[test]
fn of_parts_that_begin_by_themselves_none_begins_if_one_is_refused() {
    let mut stage = Stage::new();
    stage.submit(DAY, Submission { gather: Some(Gather::Apart), ..job(3, 60) }).unwrap();
    let orders = stage.orders();
    let answers = [Ok(()), Err(SiteError::Refused("no".to_owned()))];
    for (order, answer) in orders.iter().zip(answers) {
        let (tag, act) = (order.tag.clone(), Act::Submit);
        stage.step(later(1), Input::Answered { tag, act, answer });
    }
    assert_eq!(acts(&stage), [Act::Withdraw, Act::Withdraw]);
    assert!(later(1) < orders[0].order.as_ref().unwrap().start);
}

#[test]
fn sites_keep_nodes_free_for_booked_windows() {
    let mut stage = Stage::new();
    let (start, end) = (later(100), later(160));
    let place = Place::Pool(PoolId(0));
    let booking =
        Booking { start, ends: vec![end], place, prices: vec![Price(1_000_000)], groups: None };
    let (expires, cost, user) = (later(50), Money(120_000_000), "ana".to_owned());
    let (work, times) = (Span(60), TimeMode::WORK);
    let quote =
        Quote { number: 0, user, tasks: 2, work, times, booking, cost, expires, slack: None };
    stage.step(DAY, Input::Asked { actor: ana(), ask: Ask::Keep { quote } });
    let (submission, key, quote) = (Arc::new(job(2, 60)), None, Some(1));
    let ask = Ask::Submit { submission, key, quote };
    stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap().unwrap();
    let asides = stage.live.asides();
    let [aside] = &asides[&SiteId(0)][..] else { panic!("{asides:?}") };
    let known = (aside.job, aside.pool.as_str(), aside.nodes, aside.from, aside.until);
    assert_eq!((asides.len(), known), (1, (1, "x", 2, start, end)));
    // A site that will not do it is mentioned once.
    for at in [later(1), later(31)] {
        let denied = vec![(1, "no right to".to_owned())];
        stage.step(at, Input::SetAside { site: SiteId(0), denied });
    }
    let said = Happening::Unkept(SiteId(0), "no right to".to_owned());
    let history = &stage.live.state().jobs[&1].history;
    assert_eq!(history.iter().filter(|(_, what)| *what == said).count(), 1);
    stage.step(start, Input::Tick);
    let order = stage.orders().remove(0);
    assert!(order.order.as_ref().unwrap().aside, "it has the nodes that were kept for it");
    assert_eq!(stage.live.asides(), asides, "they are kept until it is over");
    let tasks = vec![(order.tag, ended(later(101), later(110), Exit::Code(0)))];
    stage.survey(later(110), 0, tasks, &[]);
    assert!(stage.live.asides().is_empty());
}
