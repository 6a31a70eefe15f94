use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;

fn who(user: &str) -> Actor {
    let role = if user == "root" { Role::Administrator } else { Role::User };
    Actor { user: user.to_owned(), role }
}

fn turns(all: usize, per_user: usize, waiting: usize) -> Arc<Turns> {
    Arc::new(Turns::new(Bounds { all, per_user, waiting }))
}

type Asked = Pin<Box<dyn Future<Output = Result<Turn, NoTurn>>>>;

fn ask(turns: &Arc<Turns>, user: &'static str) -> Asked {
    let turns = Arc::clone(turns);
    let until = Instant::now() + Duration::from_secs(60);
    Box::pin(async move { turns.take(&who(user), until).await })
}

fn poll(asked: &mut Asked) -> Option<Result<Turn, NoTurn>> {
    match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(found) => Some(found),
        Poll::Pending => None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn users_are_served_in_turn_however_many_questions_they_ask() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let turns = turns(1, 1, 10);
    let mut first = poll(&mut ask(&turns, "ana")).map(Result::unwrap);
    let mut asked: Vec<(&str, Asked)> = Vec::new();
    for user in ["ana", "ana", "ana", "bob", "bob", "cay"] {
        asked.push((user, ask(&turns, user)));
        assert!(poll(&mut asked.last_mut().unwrap().1).is_none(), "{user} waits");
    }
    let mut served = Vec::new();
    while first.take().is_some() {
        for at in 0..asked.len() {
            if let Some(found) = poll(&mut asked[at].1) {
                served.push(asked.remove(at).0);
                first = Some(found.unwrap());
                break;
            }
        }
    }
    assert_eq!(served, ["ana", "bob", "cay", "ana", "bob", "ana"]);
    assert_eq!(turns.desk().used, 0);
}

#[test]
fn a_user_has_so_many_permits_and_others_have_theirs() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let turns = turns(2, 1, 1);
    let anas = poll(&mut ask(&turns, "ana")).unwrap().unwrap();
    let mut second = ask(&turns, "ana");
    assert!(poll(&mut second).is_none());
    assert_eq!(poll(&mut ask(&turns, "ana")).map(Result::unwrap_err), Some(NoTurn::Line(1)));
    let bobs = poll(&mut ask(&turns, "bob")).unwrap().unwrap();
    let mut cays = ask(&turns, "cay");
    assert!(poll(&mut cays).is_none(), "all general permits are in use");
    let roots = poll(&mut ask(&turns, "root")).unwrap().unwrap();
    drop(bobs);
    assert!(poll(&mut cays).is_none(), "the administrator's counts, too");
    drop(roots);
    assert!(poll(&mut cays).is_some_and(|found| found.is_ok()));
    drop(anas);
    assert!(poll(&mut second).is_some_and(|found| found.is_ok()));
}

#[test]
fn who_leaves_a_line_leaves_no_permit_behind() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let turns = turns(1, 1, 10);
    let anas = poll(&mut ask(&turns, "ana")).unwrap().unwrap();
    let (mut one, mut two) = (ask(&turns, "bob"), ask(&turns, "bob"));
    assert!(poll(&mut one).is_none() && poll(&mut two).is_none());
    drop(one);
    drop(anas);
    // Now it is on its way to the second, who goes before it comes.
    drop(two);
    let desk = turns.desk();
    assert_eq!((desk.used, desk.lines.len(), desk.round.len()), (0, 0, 0));
    assert!(desk.running.is_empty());
}

#[test]
fn a_turn_after_the_time_limit_is_late() {
    let runtime = runtime();
    let turns = turns(1, 1, 10);
    runtime.block_on(async {
        let anas = turns.take(&who("ana"), Instant::now()).await.unwrap();
        let until = Instant::now() + Duration::from_millis(20);
        assert_eq!(turns.take(&who("bob"), until).await.unwrap_err(), NoTurn::Late);
        drop(anas);
        assert!(turns.take(&who("bob"), Instant::now()).await.is_ok());
    });
}

#[test]
fn how_long_to_wait_follows_from_how_long_questions_take_and_who_waits() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let turns = turns(2, 1, 2);
    assert_eq!(turns.wait("ana", NoTurn::Late), 1);
    turns.desk().mean_ms = 8_000;
    let _running: Vec<_> = ["ana", "bob"].map(|it| poll(&mut ask(&turns, it))).into();
    let mut waiting: Vec<Asked> = Vec::new();
    for user in ["ana", "ana", "bob", "cay"] {
        waiting.push(ask(&turns, user));
        assert!(poll(waiting.last_mut().unwrap()).is_none());
    }
    // Three users wait for two permits of eight seconds each.
    assert_eq!(turns.wait("ana", NoTurn::Line(2)), 12);
    assert_eq!(turns.wait("ana", NoTurn::Late), 36);
    assert_eq!(turns.wait("dan", NoTurn::Late), 12);
    assert_eq!(turns.wait("dan", NoTurn::Full(4)), 4);
    turns.give_back("ana", Some(Duration::from_secs(80)));
    assert_eq!(turns.desk().mean_ms, 17_000);
}

#[test]
fn a_further_question_of_a_user_is_known_as_one() {
    let runtime = runtime();
    let _guard = runtime.enter();
    let turns = turns(2, 1, 1);
    let anas = poll(&mut ask(&turns, "ana")).unwrap().unwrap();
    let mut second = ask(&turns, "ana");
    assert!(poll(&mut second).is_none());
    let bobs = poll(&mut ask(&turns, "bob")).unwrap().unwrap();
    assert!(!anas.is_further() && !bobs.is_further());
    // She waits for others, and not for herself.
    let mut cays = ask(&turns, "cay");
    assert!(poll(&mut cays).is_none());
    drop(bobs);
    assert!(!poll(&mut cays).unwrap().unwrap().is_further());
    drop(anas);
    assert!(poll(&mut second).unwrap().unwrap().is_further());
    assert!(!poll(&mut ask(&turns, "ana")).unwrap().unwrap().is_further());
}
