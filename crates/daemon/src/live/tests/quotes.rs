//! What is believed of nodes when a quote is accepted.

use tradewind_model::{Place, PoolId, TimeMode};

use super::*;
use crate::live::state::{Booking, Quote};

/// Ana accepts a quote for both nodes of the pool, from `start` on for ten seconds.
fn accept(stage: &mut Stage, at: Time, (pool, start): (u32, Time)) -> Result<Reply, Refusal> {
    let booking = Booking {
        start,
        ends: vec![start + Span(10)],
        place: Place::Pool(PoolId(pool)),
        prices: vec![Price(1_000_000)],
        groups: None,
    };
    let quote = Quote {
        number: 0,
        user: "ana".to_owned(),
        tasks: 2,
        work: Span(20),
        times: TimeMode::WORK,
        cost: booking.max(2),
        booking,
        expires: later(1_000),
        slack: None,
    };
    let kept = stage.step(at, Input::Asked { actor: ana(), ask: Ask::Keep { quote } }).unwrap()?;
    let Reply::Number(number) = kept else { panic!("{kept:?}") };
    let (submission, key) = (Arc::new(job(2, 20)), None);
    let ask = Ask::Submit { submission, key, quote: Some(number) };
    stage.step(at, Input::Asked { actor: ana(), ask }).unwrap()
}

#[test]
fn a_job_that_exceeds_its_estimate_is_expected_to_take_twice_as_long() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 60)).unwrap();
    let order = stage.orders().remove(0);
    assert_eq!(order.site, SiteId(1), "30 s on the fast nodes");
    stage.survey(later(40), 1, vec![(order.tag, running(DAY))], &[]);
    assert_eq!(stage.phase(1), Phase::Running);
    let refused = accept(&mut stage, later(40), (1, later(45))).unwrap_err();
    assert!(refused.message.contains("not enough free nodes"), "{refused:?}");
    assert_eq!(accept(&mut stage, later(40), (1, later(60))), Ok(Reply::Jobs(vec![2])));
}
