//! Who cannot pay.

use crate::live::record::JobRecord;
use tradewind_model::{Place, PoolId, TimeMode};

use super::*;
use crate::live::state::{Booking, Quote, Setback};

/// A market in which ana has so many credits; a node costs one a second.
fn with_credits(credits: i64) -> Stage {
    let mut stage = Stage::new();
    stage.live.settings.new_user_grant = Money(credits * 1_000_000);
    stage
}

fn root() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}

fn needs(stage: &Stage, job: u64) -> Option<i64> {
    match stage.phase(job) {
        Phase::Held(JobHold::Funds(needed)) => Some(needed.0 / 1_000_000),
        _ => None,
    }
}

fn submit_as(stage: &mut Stage, user: &str, submission: Submission) {
    let actor = Actor { user: user.to_owned(), role: Role::User };
    let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
    stage.step(DAY, Input::Asked { actor, ask }).unwrap().unwrap();
}

#[test]
fn who_cannot_pay_waits_for_money() {
    let mut stage = with_credits(40);
    stage.submit(DAY, job(1, 100)).unwrap();
    assert_eq!(needs(&stage, 1), Some(50), "on the fast node");
    assert_eq!(stage.balance("user:ana"), 40_000_000);
    let (from, to) = (Account::Bank, Account::User("ana".to_owned()));
    let ask = Ask::Move {
        from,
        to,
        amount: Money(50_000_000),
        note: String::new(),
        unknown: Unknown::Refuse,
    };
    let asked = Input::Asked { actor: ana(), ask: ask.clone() };
    assert!(stage.step(later(1), asked).unwrap().is_err());
    stage.step(later(2), Input::Asked { actor: root(), ask }).unwrap().unwrap();
    assert_eq!(stage.phase(1), Phase::Running);
}

#[test]
fn who_cannot_pay_stands_in_nobodys_way() {
    let mut stage = with_credits(150);
    submit_as(&mut stage, "ben", job(3, 100));
    assert_eq!(
        stage.phase(1),
        Phase::Held(&JobHold::Funds(Money(200_000_000))),
        "two fast, one slow"
    );
    submit_as(&mut stage, "ben", job(1, 200));
    submit_as(&mut stage, "cleo", job(3, 60));
    assert_eq!((stage.phase(2), stage.phase(3)), (Phase::Running, Phase::Running));
    // With what is left ben could not even pay for one that is alone in the market.
    submit_as(&mut stage, "ben", job(1, 120));
    assert_eq!(needs(&stage, 4), Some(60));
}

#[test]
fn what_one_job_may_cost_another_cannot_have() {
    let mut stage = with_credits(100);
    for _ in 0..2 {
        // Jobs that are decided at one moment: both wait for the owner's.
        stage.survey(DAY, 0, vec![], &[("own", 2)]);
        stage.survey(DAY, 1, vec![], &[("own", 2)]);
        stage.submit(DAY, job(1, 120)).unwrap();
    }
    assert_eq!((stage.phase(1), stage.phase(2)), (Phase::Waiting, Phase::Waiting));
    stage.survey(later(1), 1, vec![], &[]);
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!((needs(&stage, 2), stage.balance("user:ana")), (Some(60), 40_000_000));
    let money =
        |(_, record): &(Time, Record)| matches!(record, Record::Job(JobRecord::Interrupted { .. }));
    assert_eq!(stage.records.iter().filter(|it| money(it)).count(), 1, "both were decided");
}

#[test]
fn prices_that_fall_let_jobs_in_and_prices_that_rise_send_them_away() {
    let mut stage = with_credits(100);
    stage.survey(DAY, 0, vec![], &[("own", 2)]);
    stage.survey(DAY, 1, vec![], &[("own", 2)]);
    stage.submit(DAY, job(1, 180)).unwrap();
    let mut ask = |at: i64, price: i64| {
        let price = Price(price);
        let prices = (0..2).map(|pool| (PoolId(pool), price)).collect();
        stage.step(later(at), Input::Terms { prices, rates: BTreeMap::new(), withheld: vec![] });
        match stage.phase(1) {
            Phase::Held(hold) => Some(hold.clone()),
            _ => None,
        }
    };
    assert_eq!(ask(1, 1_000_000), None);
    assert_eq!(ask(2, 2_000_000), Some(JobHold::Funds(Money(180_000_000))));
    assert_eq!(ask(3, 3_000_000), Some(JobHold::Funds(Money(270_000_000))));
    assert_eq!(ask(4, 500_000), None);
}

#[test]
fn money_that_is_taken_away_is_missed_at_once() {
    let mut stage = with_credits(100);
    stage.survey(DAY, 0, vec![], &[("own", 2)]);
    stage.survey(DAY, 1, vec![], &[("own", 2)]);
    stage.submit(DAY, job(1, 180)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting);
    let (from, to) = (Account::User("ana".to_owned()), Account::Bank);
    let ask = Ask::Move {
        from,
        to,
        amount: Money(50_000_000),
        note: String::new(),
        unknown: Unknown::Refuse,
    };
    stage.step(later(1), Input::Asked { actor: root(), ask }).unwrap().unwrap();
    assert_eq!(needs(&stage, 1), Some(90));
}

/// Ana books a node of the fast pool, a hundred seconds from now, for one credit a second.
fn book(stage: &mut Stage, seconds: i64) {
    let (start, end) = (later(100), later(100 + seconds));
    let place = Place::Pool(PoolId(1));
    let booking =
        Booking { start, ends: vec![end], place, prices: vec![Price(1_000_000)], groups: None };
    let (expires, cost, user) = (later(50), booking.max(1), "ana".to_owned());
    let work = Span(2 * seconds);
    let times = TimeMode::WORK;
    let quote =
        Quote { number: 0, user, tasks: 1, work, times, booking, cost, expires, slack: None };
    stage.step(DAY, Input::Asked { actor: ana(), ask: Ask::Keep { quote } });
    let (submission, key, quote) = (Arc::new(job(1, 2 * seconds)), None, Some(1));
    let ask = Ask::Submit { submission, key, quote };
    stage.step(DAY, Input::Asked { actor: ana(), ask }).unwrap().unwrap();
}

fn to_spend(stage: &Stage) -> i128 {
    stage.live.state().to_spend(&Account::User("ana".to_owned())) / 1_000_000
}

#[test]
fn what_is_promised_to_a_window_no_other_job_can_have() {
    let mut stage = with_credits(100);
    book(&mut stage, 60);
    assert_eq!((stage.balance("user:ana"), to_spend(&stage)), (100_000_000, 40));
    stage.submit(DAY, job(1, 100)).unwrap();
    stage.submit(DAY, job(1, 60)).unwrap();
    assert_eq!((needs(&stage, 2), stage.phase(3)), (Some(50), Phase::Running));
    assert_eq!(to_spend(&stage), 10);
    stage
        .step(later(1), Input::Asked { actor: ana(), ask: Ask::Cancel { job: 1 } })
        .unwrap()
        .unwrap();
    assert_eq!((stage.phase(2), to_spend(&stage)), (Phase::Running, 20));
}

#[test]
fn who_waits_when_money_is_promised_waits_for_money() {
    let mut stage = with_credits(100);
    stage.survey(DAY, 0, vec![], &[("own", 2)]);
    stage.survey(DAY, 1, vec![], &[("own", 2)]);
    stage.submit(DAY, job(1, 100)).unwrap();
    assert_eq!(stage.phase(1), Phase::Waiting);
    book(&mut stage, 60);
    assert_eq!(needs(&stage, 1), Some(50));
}

#[test]
fn dear_nodes_are_not_paid_with_what_is_promised() {
    let mut stage = with_credits(100);
    book(&mut stage, 60);
    stage.survey(DAY, 1, vec![], &[("own", 2)]);
    stage.submit(DAY, job(1, 80)).unwrap();
    assert_eq!(needs(&stage, 2), Some(80), "40 on a fast node, 80 on the slow one that is free");
    assert_eq!((stage.balance("user:ana"), to_spend(&stage)), (100_000_000, 40));
    let setback = |(_, it): &&(Time, Record)| {
        matches!(it, Record::Job(JobRecord::Interrupted { setback: Setback::Funds, .. }))
    };
    assert_eq!(stage.records.iter().filter(setback).count(), 1);
}

#[test]
fn a_window_costs_what_it_did_when_it_was_booked() {
    let mut stage = with_credits(60);
    book(&mut stage, 60);
    let prices = (0..2).map(|pool| (PoolId(pool), Price(2_000_000))).collect();
    stage.step(later(1), Input::Terms { prices, rates: BTreeMap::new(), withheld: vec![] });
    stage.step(later(100), Input::Tick);
    assert_eq!((stage.phase(1), stage.balance("user:ana")), (Phase::Running, 0));
}
