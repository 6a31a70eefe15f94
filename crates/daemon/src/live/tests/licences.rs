//! Licences that jobs take along.

use tradewind_model::{Licence, LicenceId};

use super::*;

/// Four of one, for 3 credits a second each, whose owner is b; two of another, free of charge.
fn licensed() -> Pools {
    let licence =
        |name: &str, count, price| Licence { name: name.to_owned(), count, price: Price(price) };
    let all = vec![
        (licence("abaqus", 4, 3_000_000), SiteId(1)),
        (licence("matlab@server", 2, 0), SiteId(0)),
    ];
    pools().with_licences(all).unwrap()
}

fn stage() -> Stage {
    Stage::on(licensed(), Settings::default())
}

/// A job of one node of site a that takes so many along.
fn with(licences: &[(&str, u32)], seconds: i64) -> Submission {
    let licences = licences.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let terms = Conditions {
        sites: vec!["a".to_owned()],
        licences: Some(licences),
        ..Conditions::default()
    };
    Submission { terms, ..job(1, seconds) }
}

fn runs(stage: &mut Stage, job: u64, at: i64) {
    let order = stage.orders().into_iter().find(|it| it.tag.job == job).unwrap();
    let answer = Input::Answered { tag: order.tag.clone(), act: Act::Submit, answer: Ok(()) };
    stage.step(later(at), answer);
    stage.survey(later(at), 0, vec![(order.tag, running(later(at)))], &[]);
}

fn tag_of(stage: &Stage, job: u64) -> Tag {
    let order = stage.orders().into_iter().find(|it| it.tag.job == job);
    let known = stage.live.state().jobs[&job].attempt;
    order.map_or(Tag { market: "m".to_owned(), job, attempt: known, part: 0 }, |it| it.tag)
}

#[test]
fn a_job_waits_for_licences_though_nodes_are_free_and_pays_for_them() {
    let mut stage = stage();
    stage.submit(DAY, with(&[("abaqus", 3)], 100)).unwrap();
    stage.submit(DAY, with(&[("abaqus", 2), ("matlab@server", 1)], 100)).unwrap();
    stage.submit(DAY, with(&[("matlab@server", 2)], 100)).unwrap();
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!(stage.phase(2), Phase::Waiting, "one of the first licence is free");
    // It would be over before the first gives its licences back.
    assert_eq!(stage.phase(3), Phase::Running);
    assert_eq!(stage.live.state().market.free_in(tradewind_model::PoolId(0)), 0);
    // 100 s of a node for 1 credit, and of three licences for 3.
    let max = Money(100_000_000 + 3 * 300_000_000);
    assert_eq!(stage.live.state().jobs[&1].max(), max);
    assert_eq!(stage.balance("held:1"), i128::from(max.0));
    // What they add to the cost of any pool: before a start by the list, then as was agreed.
    let added = |stage: &Stage, job| {
        let state = stage.live.state();
        state.licences_cost(&state.jobs[&job], Span(100))
    };
    assert_eq!(
        [1, 2, 3].map(|job| added(&stage, job)),
        [900, 600, 0].map(|it| Money(it * 1_000_000))
    );
    runs(&mut stage, 1, 5);
    let tag = tag_of(&stage, 1);
    let over = ended(later(5), later(25), Exit::Code(0));
    stage.survey(later(25), 0, vec![(tag, over)], &[]);
    // 20 s of both.
    assert_eq!(stage.live.state().jobs[&1].paid, Money(20_000_000 + 180_000_000));
    assert_eq!(stage.balance("owner:a"), 20_000_000);
    assert_eq!(stage.balance("owner:b"), 180_000_000);
    // The third job has a licence that the second needs.
    assert_eq!(stage.phase(2), Phase::Waiting);
    assert_eq!(stage.live.state().market.free_licences(LicenceId(0)), 4);
    runs(&mut stage, 3, 26);
    let over = ended(later(26), later(27), Exit::Code(0));
    let tag = tag_of(&stage, 3);
    stage.survey(later(27), 0, vec![(tag, over)], &[]);
    assert_eq!(stage.phase(2), Phase::Running);
    assert_eq!(stage.live.state().market.free_licences(LicenceId(0)), 2);
    replayed(&stage);
}

#[test]
fn a_job_that_loses_its_nodes_gives_its_licences_back() {
    let mut stage = stage();
    let job = Submission { on_lost: OnLost::Rerun, ..with(&[("abaqus", 4)], 100) };
    stage.submit(DAY, job).unwrap();
    runs(&mut stage, 1, 5);
    let tag = tag_of(&stage, 1);
    stage.survey(later(9), 0, vec![(tag, ended(later(5), later(9), Exit::Lost))], &[]);
    // It was given nodes again at once, and the same licences.
    assert_eq!(stage.live.state().jobs[&1].attempt, 1);
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!(stage.live.state().market.free_licences(LicenceId(0)), 0);
    replayed(&stage);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let mut stage = stage();
    let told = |refusal: Refusal| format!("{}; {}", refusal.message, refusal.hint);
    let unknown = stage.submit(DAY, with(&[("ansys", 1)], 100)).unwrap_err();
    assert_eq!(
        told(unknown),
        "there is no licence `ansys`; there are: abaqus (of which there are 4), \
         matlab@server (of which there are 2)"
    );
    let many = stage.submit(DAY, with(&[("abaqus", 5)], 100)).unwrap_err();
    assert!(told(many).starts_with("needs 5 of the licence `abaqus`; there are: abaqus"));
    let mut without = Stage::new();
    let none = without.submit(DAY, with(&[("abaqus", 1)], 100)).unwrap_err();
    assert!(told(none).ends_with("this market counts no licences: leave out `--licenses`"));
    // Its window could never be booked.
    let group = |tasks| tradewind_model::TaskGroup {
        tasks,
        work: Span(60),
        min_performance: None,
        attributes: tradewind_model::Attributes::new(),
    };
    let mut groups = with(&[("abaqus", 1)], 60);
    groups.terms.groups = Some(vec![group(1), group(1)].into());
    let refused = stage.submit(DAY, Submission { tasks: 2, ..groups }).unwrap_err();
    assert!(told(refused).starts_with("a job with groups of tasks cannot take licences along"));
}
