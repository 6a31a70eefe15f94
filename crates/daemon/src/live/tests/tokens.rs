//! Tokens: who gets one, for how long, and when it ends.

use super::*;
use crate::live::rights::{Expiry, SignedIn, TokenTerms};

fn root() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}

fn ana() -> Actor {
    Actor { user: "ana".to_owned(), role: Role::User }
}

fn ask(stage: &mut Stage, at: Time, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
    stage.step(at, Input::Asked { actor, ask }).unwrap()
}

fn admit(stage: &mut Stage, at: Time, role: Role, terms: TokenTerms) -> u64 {
    let (user, note) = ("ana".to_owned(), String::new());
    match ask(stage, at, root(), Ask::Admit { user, role, hash: [1; 32], note, terms }) {
        Ok(Reply::Number(token)) => token,
        other => panic!("{other:?}"),
    }
}

fn signed_in(projects: &[&str]) -> TokenTerms {
    let projects = projects.iter().map(|it| (*it).to_owned()).collect();
    let signed_in = Some(SignedIn { provider: "https://p.example".to_owned(), projects });
    TokenTerms { lifetime: Some(Span(3_600)), signed_in }
}

fn numbers(stage: &Stage) -> Vec<u64> {
    stage.live.state().tokens().keys().copied().collect()
}

#[test]
fn tokens_expire_and_are_removed_long_after() {
    let mut stage = Stage::new();
    let for_ever = admit(&mut stage, DAY, Role::User, TokenTerms::default());
    let lifetime = Some(Span(100));
    let short = admit(&mut stage, DAY, Role::User, TokenTerms { lifetime, signed_in: None });
    let tokens = &stage.live.state().tokens();
    assert_eq!((tokens[&for_ever].expires, tokens[&short].expires), (None, Some(later(100))));
    assert!(!tokens[&short].is_expired(later(99)) && tokens[&short].is_expired(later(100)));
    let month = 30 * 86_400;
    let next = admit(&mut stage, later(month), Role::User, TokenTerms::default());
    assert_eq!(numbers(&stage), [for_ever, short, next]);
    let last = admit(&mut stage, later(month + 100), Role::User, TokenTerms::default());
    assert_eq!(numbers(&stage), [for_ever, next, last]);
}

#[test]
fn a_secret_is_replaced_and_the_end_stays() {
    let mut stage = Stage::new();
    let lifetime = Some(Span(100));
    let token = admit(&mut stage, DAY, Role::User, TokenTerms { lifetime, signed_in: None });
    let rotate = |stage: &mut Stage, at, actor, expiry| {
        let ask_for = Ask::Rotate { token, hash: [2; 32], grace: Span(10), expiry };
        ask(stage, at, actor, ask_for).map(|_| ()).map_err(|it| it.kind)
    };
    let bob = Actor { user: "bob".to_owned(), role: Role::User };
    assert_eq!(rotate(&mut stage, later(1), bob, Expiry::Kept), Err(RefusalKind::Unknown));
    assert_eq!(rotate(&mut stage, later(1), ana(), Expiry::Never), Err(RefusalKind::Forbidden));
    assert_eq!(rotate(&mut stage, later(1), ana(), Expiry::Kept), Ok(()));
    let now = stage.live.state().tokens()[&token].clone();
    let earlier = now.earlier.unwrap();
    assert_eq!((now.hash, earlier.hash, earlier.until), ([2; 32], [1; 32], later(11)));
    assert_eq!(now.expires, Some(later(100)));
    assert_eq!(rotate(&mut stage, later(100), ana(), Expiry::Kept), Err(RefusalKind::Conflict));
    assert_eq!(rotate(&mut stage, later(100), root(), Expiry::After(Span(50))), Ok(()));
    assert_eq!(stage.live.state().tokens()[&token].expires, Some(later(150)));
    assert_eq!(rotate(&mut stage, later(101), root(), Expiry::Never), Ok(()));
    assert_eq!(stage.live.state().tokens()[&token].expires, None);
}

#[test]
fn a_sign_in_with_other_rights_ends_those_before() {
    let mut stage = Stage::new();
    let own = admit(&mut stage, DAY, Role::User, TokenTerms::default());
    let first = admit(&mut stage, DAY, Role::Administrator, signed_in(&["moon"]));
    let state = stage.live.state();
    assert_eq!(state.projects_by_sign_in("ana", DAY).into_iter().collect::<Vec<_>>(), ["moon"]);
    assert!(state.projects_by_sign_in("ana", later(3_600)).is_empty());
    assert!(state.projects_by_sign_in("bob", DAY).is_empty());
    let same = admit(&mut stage, DAY, Role::Administrator, signed_in(&["moon"]));
    assert_eq!(numbers(&stage), [own, first, same]);
    let lesser = admit(&mut stage, DAY, Role::User, signed_in(&["moon"]));
    assert_eq!(numbers(&stage), [own, lesser]);
    let elsewhere = admit(&mut stage, DAY, Role::User, signed_in(&["mars"]));
    assert_eq!(numbers(&stage), [own, elsewhere]);
    assert_eq!(stage.live.state().projects_by_sign_in("ana", DAY).len(), 1);
}

#[test]
fn sign_ins_of_one_user_are_bounded() {
    let mut stage = Stage::new();
    for _ in 0..50 {
        admit(&mut stage, DAY, Role::User, signed_in(&[]));
    }
    assert_eq!(numbers(&stage), (31..=50).collect::<Vec<u64>>());
}
