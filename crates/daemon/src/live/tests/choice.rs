use tradewind_model::PoolId;

use super::*;
use crate::live::choice::{Against, Choice, Merit, Verdict, WeighedPool};

const X: PoolId = PoolId(0);
const Y: PoolId = PoolId(1);

fn weighed(pool: PoolId, length: i64, verdict: Verdict) -> WeighedPool {
    WeighedPool { pool, price: Price(1_000_000), length: Span(length), verdict }
}

#[test]
fn what_else_a_job_could_have_had_is_written_down() {
    let mut stage = Stage::new();
    let mut narrow = job(2, 100);
    narrow.terms.sites = vec!["b".to_owned()];
    for submission in [job(2, 100), job(2, 100), narrow] {
        stage.submit(DAY, submission).unwrap();
    }
    let state = stage.live.state();
    let chosen = |job| {
        let job = &state.jobs[&job];
        let choice = job.choice.as_ref()?;
        assert_eq!((choice.at, choice.policy.as_str(), choice.left_out), (DAY, "easy", 0));
        Some((job.parts()[0].pool, choice.others.clone(), choice.merit(job)))
    };
    // At once on both; twice as fast, for the same price per second, on `b/y`.
    let merit = Merit { others: 1, at_once: 1, ..Merit::default() };
    assert_eq!(chosen(1), Some((Y, vec![weighed(X, 100, Verdict::From(DAY))], merit)));
    // The first one has that now.
    let merit = Merit { others: 1, cheaper: 1, ..Merit::default() };
    assert_eq!(chosen(2), Some((X, vec![weighed(Y, 50, Verdict::From(later(50)))], merit)));
    assert_eq!(chosen(3), None);
    let elsewhere = Verdict::Against(Against::Attribute("site".to_owned()));
    let now = stage.live.weigh(&state.jobs[&3]).unwrap();
    assert_eq!(now, [weighed(X, 100, elsewhere), weighed(Y, 50, Verdict::From(later(50)))]);
}

/// It belongs to one start: a job that lost its nodes chooses again.
#[test]
fn a_new_start_is_a_new_choice() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(2, 100)).unwrap();
    let order = stage.orders().remove(0);
    stage.survey(later(1), 1, vec![], &[("own", 2)]);
    let at = later(2);
    let never = Seen::Ended { since: None, at, exit: Exit::Withdrawn };
    stage.survey(at, 1, vec![(order.tag, never)], &[("own", 2)]);
    let job = &stage.live.state().jobs[&1];
    let Some(Choice { at: decided, others, .. }) = &job.choice else { panic!("{job:?}") };
    assert_eq!((job.attempt, job.parts()[0].pool, *decided), (1, X, at));
    assert!(matches!(others[0].verdict, Verdict::From(from) if from > at), "{others:?}");
}

#[test]
fn a_job_on_several_pools_shows_what_one_alone_would_have_been() {
    let mut stage = Stage::new();
    for submission in [job(1, 100), job(3, 100)] {
        stage.submit(DAY, submission).unwrap();
    }
    let job = &stage.live.state().jobs[&2];
    assert_eq!(job.parts().len(), 2);
    let others = &job.choice.as_ref().unwrap().others;
    let narrow = || Verdict::Against(Against::Narrow(2));
    assert_eq!(others[..], [weighed(X, 100, narrow()), weighed(Y, 50, narrow())]);
}

/// It waits for one site's nodes where a job that may lie at several would start at once.
#[test]
fn a_job_for_one_site_never_lies_at_two() {
    let mut stage = Stage::new();
    let at = |site: &str, tasks| {
        let mut of = job(tasks, 100);
        of.terms.sites = vec![site.to_owned()];
        of
    };
    let one_site = |tasks| {
        let mut of = job(tasks, 100);
        of.terms.spread = Spread::Site;
        of
    };
    for submission in [at("a", 1), at("b", 1), one_site(2), job(2, 10)] {
        stage.submit(DAY, submission).unwrap();
    }
    let state = stage.live.state();
    let pools = |number| state.jobs[&number].parts().iter().map(|it| it.pool).collect::<Vec<_>>();
    assert_eq!(pools(3), []);
    assert_eq!(pools(4), [X, Y]);
    let refused = stage.submit(DAY, one_site(3)).unwrap_err();
    assert_eq!(refused.message, "needs 3 nodes, and 2 suit at one site");
}
