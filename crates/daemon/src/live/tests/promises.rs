//! Accepted offers: kept, or stated as broken, and who pays what then.

use tradewind_io::submission::OnBreach;
use tradewind_model::{Place, PoolId, TimeMode};

use super::*;
use crate::live::record::OfferRecord;
use crate::live::state::{Booking, BreachReason, Happening, Job, OfferOutcome, Promise, Quote};
use crate::site::SiteError;

const PRICE: i64 = 1_000_000;
const SLACK: i64 = Settings::SLACK.0;

/// A quote for both nodes of pool 0 for 60 seconds, from `start` on: 120 credits at most.
fn quote(start: Time) -> Quote {
    let (place, prices) = (Place::Pool(PoolId(0)), vec![Price(PRICE)]);
    let booking = Booking { start, ends: vec![start + Span(60)], place, prices, groups: None };
    Quote {
        number: 0,
        user: "ana".to_owned(),
        tasks: 2,
        work: Span(60),
        times: TimeMode::WORK,
        cost: booking.max(2),
        booking,
        expires: start + Span(1_000),
        slack: None,
    }
}

fn ask(stage: &mut Stage, at: Time, ask: Ask) -> Result<Reply, Refusal> {
    stage.step(at, Input::Asked { actor: ana(), ask }).unwrap()
}

fn keep(stage: &mut Stage, at: Time, quote: Quote) -> u64 {
    let Reply::Number(number) = ask(stage, at, Ask::Keep { quote }).unwrap() else { panic!() };
    number
}

/// Ana accepts a window that begins a hundred seconds from now.
fn accept(stage: &mut Stage, submission: Submission) {
    let number = keep(stage, DAY, quote(later(100)));
    let (submission, key) = (Arc::new(submission), None);
    ask(stage, DAY, Ask::Submit { submission, key, quote: Some(number) }).unwrap();
}

fn promised(on_breach: OnBreach) -> Stage {
    let mut stage = Stage::new();
    accept(&mut stage, Submission { on_breach: Some(on_breach), ..job(2, 60) });
    stage
}

fn first(stage: &Stage) -> &Job {
    &stage.live.state().jobs[&1]
}

fn outcome(stage: &Stage) -> OfferOutcome {
    first(stage).promise().unwrap().outcome.clone()
}

fn breached(stage: &Stage) -> BreachReason {
    let stated = |(_, it): &&(Time, Record)| {
        matches!(it, Record::Offer(OfferRecord::Breached { job: 1, .. }))
    };
    assert_eq!(stage.records.iter().filter(stated).count(), 1, "{:?}", first(stage).history);
    match outcome(stage) {
        OfferOutcome::Breached(_, why) => why,
        other => panic!("{other:?}"),
    }
}

fn away(stage: &mut Stage, at: Time, site: u32) {
    let survey = Err(SiteError::Away("no answer".to_owned()));
    stage.step(at, Input::Surveyed { site: SiteId(site), survey });
}

fn price(stage: &mut Stage, at: Time, pool: u32, price: i64) {
    let prices = vec![(PoolId(pool), Price(price))];
    stage.step(at, Input::Terms { prices, rates: BTreeMap::new(), withheld: vec![] });
}

fn spent(stage: &Stage) -> i128 {
    i128::from(Settings::default().new_user_grant.0) - stage.balance("user:ana")
}

fn replays(stage: &Stage) {
    let mut again = State::empty(DAY);
    for (at, record) in &stage.records {
        again.apply(*at, record).unwrap();
    }
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.accounts(), stage.live.state().accounts());
}

/// The only order is to submit; the job's work began at `began`, and ended `length` later.
fn run(stage: &mut Stage, began: Time, length: i64) {
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    let site = order.site.0;
    stage.survey(began + Span(1), site, vec![(order.tag.clone(), running(began))], &[]);
    let end = began + Span(length);
    stage.survey(end, site, vec![(order.tag, ended(began, end, Exit::Code(0)))], &[]);
}

/// Else the market would pay for all runs after the first.
#[test]
fn an_accepted_offer_is_for_one_run() {
    let mut stage = promised(OnBreach::Requeue);
    stage.step(later(100), Input::Tick);
    let order = stage.orders().remove(0);
    stage.survey(later(103), order.site.0, vec![(order.tag, running(later(102)))], &[]);
    let refusal = ask(&mut stage, later(104), Ask::Requeue { job: 1 }).unwrap_err();
    let said = "job 1 has an accepted offer, for one run: it cannot be requeued";
    assert_eq!((first(&stage).phase(), &*refusal.message), (Phase::Running, said));
}

#[test]
fn a_window_that_is_kept_costs_what_was_promised() {
    let mut stage = promised(OnBreach::Requeue);
    price(&mut stage, later(50), 0, 9 * PRICE);
    stage.step(later(100), Input::Tick);
    run(&mut stage, later(102), 30);
    assert_eq!(outcome(&stage), OfferOutcome::Kept(later(102)));
    assert_eq!((first(&stage).paid, spent(&stage)), (Money(60 * PRICE), 60_000_000));
    let promise = first(&stage).promise().unwrap();
    assert_eq!((promise.cost, promise.latest()), (Money(120 * PRICE), later(100 + SLACK)));
    replays(&stage);
}

#[test]
fn a_site_that_is_back_in_time_keeps_the_promise() {
    let mut stage = promised(OnBreach::Requeue);
    away(&mut stage, later(99), 0);
    stage.step(later(101), Input::Tick);
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Booked), "it waits for its own window");
    stage.survey(later(100 + SLACK), 0, vec![], &[]);
    run(&mut stage, later(100 + SLACK), 60);
    assert_eq!(outcome(&stage), OfferOutcome::Kept(later(100 + SLACK)));
    assert_eq!(first(&stage).paid, Money(120 * PRICE));
}

#[test]
fn no_other_job_gets_the_nodes_of_a_window_that_waits() {
    let mut stage = promised(OnBreach::Requeue);
    away(&mut stage, later(99), 0);
    stage.survey(later(99), 1, vec![], &[("own", 2)]);
    stage.submit(later(100), job(2, 600)).unwrap();
    stage.survey(later(120), 0, vec![], &[]);
    assert_eq!((stage.phase(1), stage.phase(2)), (Phase::Running, Phase::Waiting));
}

#[test]
fn the_market_pays_what_another_window_costs_more() {
    let mut stage = promised(OnBreach::Requeue);
    price(&mut stage, later(10), 1, 9 * PRICE);
    away(&mut stage, later(90), 0);
    stage.step(later(100 + SLACK), Input::Tick);
    assert_eq!(outcome(&stage), OfferOutcome::Open);
    let bank = stage.balance("bank");
    stage.step(later(101 + SLACK), Input::Tick);
    assert_eq!(breached(&stage), BreachReason::Away(SiteId(0), later(90)));
    // The fast pool is twice as fast: 30 s of two nodes at 9 credits.
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!((stage.balance("held:1"), spent(&stage)), (540_000_000, 120_000_000));
    run(&mut stage, later(170), 20);
    assert_eq!((first(&stage).paid, spent(&stage)), (Money(120 * PRICE), 120_000_000));
    assert_eq!(first(&stage).covered, Money(240 * PRICE), "20 s cost 360");
    assert_eq!(stage.balance("owner:b"), 360_000_000, "its owner loses nothing");
    assert_eq!(bank - stage.balance("bank"), 240_000_000);
    replays(&stage);
}

#[test]
fn a_window_that_costs_less_is_paid_as_it_is() {
    let mut stage = promised(OnBreach::Requeue);
    away(&mut stage, later(90), 0);
    stage.step(later(101 + SLACK), Input::Tick);
    run(&mut stage, later(170), 20);
    assert_eq!((first(&stage).paid, first(&stage).covered), (Money(40 * PRICE), Money(0)));
}

#[test]
fn who_chose_so_is_cancelled_and_pays_nothing() {
    let mut stage = promised(OnBreach::Cancel);
    let pools = vec![PoolSurvey { up: 1, ..PoolSurvey::default() }];
    let survey = Ok(Survey { pools, ..look(vec![]) });
    stage.step(later(90), Input::Surveyed { site: SiteId(0), survey });
    stage.step(later(101 + SLACK), Input::Tick);
    assert_eq!(breached(&stage), BreachReason::Down(PoolId(0), 1));
    assert_eq!((stage.phase(1), spent(&stage)), (Phase::Over(&Finish::Cancelled), 0));
    assert_eq!(stage.live.state().outages().len(), 1, "its nodes are not kept free any more");
}

#[test]
fn who_chose_so_is_asked_and_may_take_another_window() {
    let mut stage = promised(OnBreach::Hold);
    stage.survey(later(90), 0, vec![], &[("own", 1)]);
    stage.step(later(101 + SLACK), Input::Tick);
    assert_eq!(breached(&stage), BreachReason::OwnersJob(PoolId(0), "own".to_owned()));
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Breached));
    stage.survey(later(200), 0, vec![], &[]);
    price(&mut stage, later(200), 0, 2 * PRICE);
    let mut other = quote(later(210));
    other.booking.prices = vec![Price(2 * PRICE)];
    other.cost = Money(240 * PRICE);
    let number = keep(&mut stage, later(200), other);
    let update = Ask::Update { job: 1, on_breach: None, quote: Some(number) };
    assert_eq!(ask(&mut stage, later(201), update), Ok(Reply::Done));
    stage.step(later(210), Input::Tick);
    assert_eq!(spent(&stage), 120_000_000, "no more than it was promised first");
    run(&mut stage, later(211), 50);
    let outcomes: Vec<bool> = first(&stage).promises.iter().map(Promise::is_breached).collect();
    assert_eq!((outcomes, outcome(&stage)), (vec![true, false], OfferOutcome::Kept(later(211))));
    assert_eq!(
        (first(&stage).paid, first(&stage).covered),
        (Money(120 * PRICE), Money(80 * PRICE))
    );
    replays(&stage);
}

#[test]
fn the_choice_may_be_changed_until_the_promise_is_decided() {
    let mut stage = promised(OnBreach::Requeue);
    let update = |then| Ask::Update { job: 1, on_breach: Some(then), quote: None };
    assert_eq!(ask(&mut stage, later(1), update(OnBreach::Cancel)), Ok(Reply::Done));
    away(&mut stage, later(90), 0);
    stage.step(later(101 + SLACK), Input::Tick);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Cancelled));
    let late = ask(&mut stage, later(200), update(OnBreach::Hold)).unwrap_err();
    assert_eq!(late.kind, RefusalKind::Conflict);
}

#[test]
fn a_site_that_refuses_is_asked_again_in_the_window() {
    let mut stage = promised(OnBreach::Requeue);
    stage.step(later(100), Input::Tick);
    let tag = stage.orders().remove(0).tag;
    let answer = Err(SiteError::Refused("no".to_owned()));
    stage.step(later(101), Input::Answered { tag: tag.clone(), act: Act::Submit, answer });
    let answer = Ok(());
    stage.step(later(102), Input::Answered { tag: tag.clone(), act: Act::Recall, answer });
    stage.survey(later(103), 0, vec![], &[]);
    stage.step(later(104), Input::Tick);
    assert_eq!((stage.phase(1), first(&stage).attempt), (Phase::Running, 1));
    assert!(first(&stage).in_window());
    run(&mut stage, later(104), 10);
    assert_eq!(outcome(&stage), OfferOutcome::Kept(later(104)));
}

#[test]
fn a_site_that_never_starts_it_has_broken_the_promise() {
    let mut stage = promised(OnBreach::Requeue);
    stage.step(later(100), Input::Tick);
    let order = stage.orders().remove(0);
    let waits = vec![(order.tag.clone(), Seen::Waiting)];
    stage.survey(later(101 + SLACK), 0, waits.clone(), &[]);
    assert_eq!(outcome(&stage), OfferOutcome::Open, "this survey may be older");
    stage.survey(later(110 + SLACK), 0, waits, &[]);
    assert_eq!(breached(&stage), BreachReason::NotStarted(PoolId(0)));
    assert_eq!(stage.orders()[0].act, Act::Recall);
    let never = Seen::Ended { since: None, at: later(112 + SLACK), exit: Exit::Withdrawn };
    stage.survey(later(112 + SLACK), 0, vec![(order.tag, never)], &[]);
    assert_eq!((stage.phase(1), first(&stage).in_window()), (Phase::Running, false));
}

#[test]
fn a_job_at_a_site_that_is_cut_off_is_not_run_twice() {
    let mut stage = promised(OnBreach::Requeue);
    stage.step(later(100), Input::Tick);
    let order = stage.orders().remove(0);
    away(&mut stage, later(105), 0);
    stage.step(later(101 + SLACK), Input::Tick);
    assert_eq!(breached(&stage), BreachReason::Away(SiteId(0), later(105)));
    assert_eq!(stage.phase(1), Phase::Running, "it may run there");
    // It had begun in time: it runs on, for what was promised.
    let tag = order.tag;
    let answer = Err(SiteError::Begun);
    stage.step(later(300), Input::Answered { tag: tag.clone(), act: Act::Recall, answer });
    let tasks = vec![(tag, ended(later(102), later(150), Exit::Code(0)))];
    stage.survey(later(301), 0, tasks, &[]);
    assert_eq!(stage.phase(1), Phase::Over(&Finish::Completed));
    assert_eq!((first(&stage).paid, first(&stage).attempt), (Money(96 * PRICE), 0));
    breached(&stage);
}

#[test]
fn nodes_that_fail_in_the_window_break_the_promise() {
    let mut stage = Stage::new();
    accept(&mut stage, Submission { on_lost: OnLost::Rerun, ..job(2, 60) });
    price(&mut stage, later(1), 1, 9 * PRICE);
    stage.step(later(100), Input::Tick);
    let order = stage.orders().remove(0);
    stage.survey(later(102), 0, vec![(order.tag.clone(), running(later(101)))], &[]);
    assert_eq!(outcome(&stage), OfferOutcome::Kept(later(101)));
    stage.survey(later(130), 1, vec![], &[]);
    let lost = ended(later(101), later(131), Exit::NodeFailed);
    stage.survey(later(131), 0, vec![(order.tag, lost)], &[("own", 2)]);
    assert_eq!(breached(&stage), BreachReason::Lost(PoolId(0)));
    assert_eq!(first(&stage).paid, Money(60 * PRICE), "30 s were had");
    run(&mut stage, later(140), 30);
    let costs = (first(&stage).paid, first(&stage).covered);
    assert_eq!(costs, (Money(120 * PRICE), Money(480 * PRICE)), "30 s at 18 a second");
}

#[test]
fn what_its_own_side_gives_up_is_no_breach() {
    let mut stage = promised(OnBreach::Requeue);
    ask(&mut stage, later(10), Ask::Cancel { job: 1 }).unwrap();
    assert!(matches!(outcome(&stage), OfferOutcome::Void(_)));
    assert_eq!((spent(&stage), stage.live.state().outages().len()), (0, 0));
}

#[test]
fn a_window_that_has_begun_begins_when_it_is_accepted() {
    let mut stage = Stage::new();
    let number = keep(&mut stage, DAY, quote(DAY));
    let (submission, key) = (Arc::new(job(2, 60)), None);
    ask(&mut stage, later(90), Ask::Submit { submission, key, quote: Some(number) }).unwrap();
    assert_eq!(first(&stage).promise().unwrap().window.start, later(90));
    run(&mut stage, later(95), 10);
    assert_eq!(outcome(&stage), OfferOutcome::Kept(later(95)));
    // And its nodes must be free then.
    let number = keep(&mut stage, later(110), quote(later(110)));
    stage.survey(later(120), 0, vec![], &[("own", 2)]);
    let (submission, key) = (Arc::new(job(2, 60)), None);
    let asked = Ask::Submit { submission, key, quote: Some(number) };
    let refused = ask(&mut stage, later(180), asked).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Conflict);
}

#[test]
fn a_restart_goes_on_with_what_was_promised() {
    let mut stage = promised(OnBreach::Hold);
    away(&mut stage, later(90), 0);
    stage.step(later(110), Input::Tick);
    let state = stage.live.state().clone();
    let begun = Live::begin(state, Settings::default(), Arc::new(Easy), "easy", later(500));
    stage.live = begun.unwrap().0;
    stage.step(later(501), Input::Tick);
    assert_eq!(breached(&stage), BreachReason::Away(SiteId(0), later(90)));
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Breached));
    let told = first(&stage).history.iter().filter(|(_, it)| matches!(it, Happening::Breached(_)));
    assert_eq!(told.count(), 1);
}
