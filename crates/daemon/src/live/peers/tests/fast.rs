//! Jobs at a peer whose nodes are faster than the reference.

use super::*;

/// The limit that the peer gives the job to its site, where nodes are twice as fast and their owner counts
/// work.
fn limit_there(time: TimeLimit) -> Span {
    let mut pair = Pair::new();
    pair.lives[1] = live_of(1, 4, Performance::from_thousandths(2_000).unwrap());
    pair.submit(Submission { time, ..job(3) }).unwrap();
    pair.talk();
    pair.pass(8);
    assert_eq!(pair.phase(0, 1), Phase::Away);
    pair.lives[1].orders(|_, _| false).remove(0).order.unwrap().limit
}

#[test]
fn a_limit_of_wall_clock_time_is_as_long_at_a_fast_peer() {
    let limit = TimeLimit::one(Span(100));
    assert_eq!(limit_there(limit.clone().counted_by(Times::Wall)), Span(100));
    assert_eq!(limit_there(limit.counted_by(Times::Work)), Span(50));
    assert_eq!(limit_there(TimeLimit::Reference(Span(100))), Span(50));
}
