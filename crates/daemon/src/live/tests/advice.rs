//! What the own runs say of a time limit.

use tradewind_sched::predict::limits::LimitAdvice;

use super::*;

const HOUR: i64 = 3_600;

/// A job that asks for a day.
fn asks(name: &str, word: &str, tasks: u32) -> Submission {
    let work = Work::Command(vec![word.to_owned()]);
    Submission { name: name.to_owned(), work, ..job(tasks, 24 * HOUR) }
}

/// It runs for so long at the slow site and ends like this.
fn run(stage: &mut Stage, submission: Submission, (length, exit): (i64, Exit)) {
    let at = stage.live.state().now() + Span(10);
    stage.submit(at, submission).unwrap();
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    let (tag, site) = (order.tag, order.site.0);
    stage.survey(at + Span(1), site, vec![(tag.clone(), running(at))], &[]);
    let over = ended(at, at + Span(length), exit);
    stage.survey(at + Span(length), site, vec![(tag.clone(), over)], &[]);
    let forgotten = Input::Answered { tag, act: Act::Forget, answer: Ok(()) };
    stage.step(at + Span(length), forgotten);
}

fn advice(stage: &Stage, user: &str, submission: &Submission) -> Option<LimitAdvice> {
    stage.live.limit_advice(user, submission, submission.tasks)
}

#[test]
fn a_user_is_advised_by_enough_own_runs_of_the_same_kind() {
    let mut stage = Stage::new();
    let mine = asks("train", "train.sh", 1);
    // The fast nodes (site b) do a day's work in half a day: 10 minutes there are 20 of work.
    for number in 0..19 {
        run(&mut stage, mine.clone(), (600 + number, Exit::Code(0)));
    }
    // A run that failed says nothing of how long such jobs run.
    run(&mut stage, mine.clone(), (1, Exit::Code(1)));
    assert_eq!(advice(&stage, "ana", &mine), None);
    run(&mut stage, mine.clone(), (590, Exit::Code(0)));
    let said = advice(&stage, "ana", &mine).unwrap();
    assert_eq!((said.runs, said.used, said.limit), (20, Span(2 * 618), Span(1_800)));
    // Others learn nothing of it.
    assert_eq!(advice(&stage, "bo", &mine), None);
    // The name or the script is enough, with the same width.
    assert_eq!(advice(&stage, "ana", &asks("train", "other.sh", 1)), Some(said));
    assert_eq!(advice(&stage, "ana", &asks("other", "train.sh", 1)), Some(said));
    assert_eq!(advice(&stage, "ana", &asks("other", "other.sh", 1)), None);
    assert_eq!(advice(&stage, "ana", &asks("train", "train.sh", 2)), None);
    // A limit that is not much longer is good enough.
    let close = Submission { time: TimeLimit::Reference(Span(2_000)), ..mine.clone() };
    assert_eq!(advice(&stage, "ana", &close), None);
}

#[test]
fn runs_are_known_after_a_restart_and_after_their_scripts_were_dropped() {
    let mut stage = Stage::new();
    let script = Work::Script { text: "#!/bin/sh\ntrain\n".to_owned(), arguments: vec![] };
    let mine = Submission { work: script, ..asks("train", "", 1) };
    for number in 0..20 {
        run(&mut stage, mine.clone(), (600 + number, Exit::Code(0)));
    }
    let said = advice(&stage, "ana", &mine);
    assert!(said.is_some());
    let now = stage.live.state().now();
    stage.restart(now);
    assert_eq!(advice(&stage, "ana", &mine), said);
    stage.step(later(4 * 24 * HOUR), Input::Tick);
    assert!(stage.live.state().jobs[&1].redacted().is_some(), "the scripts were dropped");
    let other = Submission { name: "other".to_owned(), ..mine.clone() };
    assert_eq!(advice(&stage, "ana", &mine), said);
    assert_eq!(advice(&stage, "ana", &other), said);
}
