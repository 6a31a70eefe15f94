//! Jobs whose data is brought to their nodes and away.

use tradewind_model::{JobData, Link, Links, StageTimes};

use super::*;

/// Ten seconds for a MB between both sites, five from a store to b.
fn linked() -> Pools {
    let link = |one: &str, other: &str, seconds: u64| Link {
        between: [one.to_owned(), other.to_owned()],
        bandwidth: (8_u64 << 20).div_ceil(seconds),
    };
    pools().with_links(Links::new(vec![link("a", "b", 10), link("store", "b", 5)]).unwrap())
}

fn stage() -> Stage {
    Stage::on(linked(), Settings::default())
}

/// MB from one place, and so many to another.
fn data((input, from): (u64, &str), (output, to): (u64, &str)) -> JobData {
    let (from, to) = (from.to_owned(), to.to_owned());
    JobData { input: input << 20, from, output: output << 20, to }
}

fn with(data: JobData, sites: &[&str], seconds: i64) -> Submission {
    let sites = sites.iter().map(|site| (*site).to_owned()).collect();
    let terms = Conditions { data: Some(data), sites, ..Conditions::default() };
    Submission { terms, ..job(1, seconds) }
}

#[test]
fn a_job_has_its_nodes_for_the_transfer_too_and_pays_for_it() {
    let mut stage = stage();
    stage.submit(DAY, with(data((3, "b"), (1, "b")), &["a"], 100)).unwrap();
    let state = stage.live.state();
    let part = &state.jobs[&1].parts()[0];
    let times = StageTimes { stage_in: Span(30), stage_out: Span(10) };
    assert_eq!((part.limit, part.staging), (Span(140), Some(times)));
    assert_eq!(part.run_limit(), Span(100));
    let demand = state.market.demand(tradewind_model::JobId(0)).unwrap();
    assert_eq!(state.market.pools().as_slice()[0].length_of(demand), Span(140));
    // A node of site a is 1 credit a second.
    assert_eq!(stage.balance("held:1"), 140_000_000);
    let order = stage.orders().remove(0);
    let told = order.order.as_ref().unwrap();
    assert_eq!(told.limit, Span(140));
    assert_eq!(told.data.as_ref().unwrap().times, times);
    assert_eq!(told.data.as_ref().unwrap().data, data((3, "b"), (1, "b")));
    let answer = |answer| Input::Answered { tag: order.tag.clone(), act: Act::Submit, answer };
    // While its data is brought, nothing is wrong, and the order is to be repeated.
    stage.step(later(1), answer(Err(crate::site::SiteError::Staging)));
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!(stage.orders().remove(0).tag, order.tag);
    stage.step(later(28), answer(Ok(())));
    stage.survey(later(28), 0, vec![(order.tag.clone(), running(later(28)))], &[]);
    stage.survey(later(78), 0, vec![(order.tag, ended(later(28), later(78), Exit::Code(0)))], &[]);
    // 28 s in which its data came, 50 s of work.
    assert_eq!(stage.live.state().jobs[&1].paid, Money(78_000_000));
    let (_, used, asked) = stage.live.state().jobs[&1].used_of_limit().unwrap();
    assert_eq!((used, asked), (Span(50), Span(100)), "the transfer is no use of its limit");
    replayed(&stage);
}

/// What a slow transfer takes beyond the expected time is not the job's.
#[test]
fn a_job_pays_no_more_than_the_expected_transfer() {
    let mut stage = stage();
    stage.submit(DAY, with(data((3, "b"), (0, "")), &["a"], 100)).unwrap();
    let order = stage.orders().remove(0);
    let answer = Input::Answered { tag: order.tag.clone(), act: Act::Submit, answer: Ok(()) };
    stage.step(later(90), answer);
    stage.survey(later(90), 0, vec![(order.tag.clone(), running(later(90)))], &[]);
    stage.survey(later(95), 0, vec![(order.tag, ended(later(90), later(95), Exit::Code(0)))], &[]);
    assert_eq!(stage.live.state().jobs[&1].paid, Money(35_000_000));
    replayed(&stage);
}

#[test]
fn the_transfer_is_that_of_the_site_where_a_job_runs() {
    let mut stage = stage();
    // The transfer to site b takes 50 s.
    let near = with(data((5, "a"), (0, "")), &[], 20);
    let near = Submission {
        terms: Conditions { criterion: tradewind_model::Criterion::Finish, ..near.terms },
        ..near
    };
    stage.submit(DAY, near).unwrap();
    let places = |stage: &Stage, job: u64| stage.live.state().jobs[&job].parts()[0].staging;
    let staging = places(&stage, 1).unwrap();
    let site = stage.live.state().site_of(stage.live.state().jobs[&1].parts()[0].pool);
    let expected = if site == SiteId(0) { 0 } else { 50 };
    assert_eq!(staging.stage_in, Span(expected));
    // Only b has a link to the store.
    stage.submit(DAY, with(data((1, "store"), (0, "")), &[], 20)).unwrap();
    let pool = stage.live.state().jobs[&2].parts()[0].pool;
    assert_eq!(stage.live.state().site_of(pool), SiteId(1));
    assert_eq!(places(&stage, 2), Some(StageTimes { stage_in: Span(5), stage_out: Span(0) }));
    replayed(&stage);
}

#[test]
fn data_that_cannot_be_brought_is_refused() {
    let mut stage = stage();
    let told = |refusal: Refusal| format!("{}; {}", refusal.message, refusal.hint);
    let unknown = stage.submit(DAY, with(data((1, "c"), (0, "")), &[], 100)).unwrap_err();
    assert_eq!(
        told(unknown),
        "there is no site `c`, and no link to it; data can be at: a, b, store"
    );
    let far = stage.submit(DAY, with(data((1, "store"), (0, "")), &["a"], 100)).unwrap_err();
    assert!(told(far).starts_with("needs 1 nodes, and 0 suit to which its data can be brought"));
    let ever = stage.submit(DAY, with(data((1 << 40, "store"), (0, "")), &[], 100)).unwrap_err();
    assert!(told(ever).starts_with("no site has links to `store` that bring this data in time"));
    let group = |tasks| tradewind_model::TaskGroup {
        tasks,
        work: Span(60),
        min_performance: None,
        attributes: tradewind_model::Attributes::new(),
    };
    let mut groups = with(data((1, "a"), (0, "")), &[], 60);
    groups.terms.groups = Some(vec![group(1), group(1)].into());
    let refused = stage.submit(DAY, Submission { tasks: 2, ..groups }).unwrap_err();
    assert!(told(refused).starts_with("a job with groups of tasks cannot have data"));
    let unlinked = Stage::new().submit(DAY, with(data((1, "a"), (0, "")), &["b"], 60)).unwrap_err();
    assert!(told(unlinked).starts_with("needs 1 nodes, and 0 suit to which"));
}

/// A restart with other links: jobs that wait are staged over these, jobs that run keep what was
/// expected.
#[test]
fn waiting_jobs_are_staged_over_new_links() {
    let mut stage = stage();
    let fills = |site: &str| with(data((1, site), (0, "")), &[site], 1_000);
    let width = stage.live.state().market.pools().as_slice()[0].nodes;
    for site in ["a", "b"] {
        stage.submit(DAY, Submission { tasks: width, ..fills(site) }).unwrap();
    }
    stage.submit(DAY, with(data((3, "b"), (0, "")), &["a"], 100)).unwrap();
    stage.submit(DAY, with(data((1, "store"), (0, "")), &["b"], 100)).unwrap();
    assert_eq!((stage.phase(3), stage.phase(4)), (Phase::Waiting, Phase::Waiting));
    let stage_in = |live: &Live, job: u64| {
        let state = live.state();
        let demand = state.market.demand(state.jobs[&job].id().unwrap()).unwrap();
        demand.terms().data.as_ref().unwrap().at(SiteId(0)).map(|times| times.stage_in)
    };
    assert_eq!(stage_in(&stage.live, 3), Some(Span(30)));
    let (settings, at) = (stage.live.settings().clone(), later(5));
    let mut state = stage.live.into_state();
    let slow = Link { between: ["b".to_owned(), "a".to_owned()], bandwidth: (8 << 20) / 32 };
    let pools = Arc::new(pools().with_links(Links::new(vec![slow]).unwrap()));
    let owners = vec!["olga".to_owned(), "otto".to_owned()];
    let gridded = MarketRecord::Gridded { pools, owners };
    state.apply(at, &gridded.clone().into()).unwrap();
    let (live, step) = Live::begin(state, settings, Arc::new(Easy), "easy", at).unwrap();
    assert_eq!(stage_in(&live, 3), Some(Span(96)));
    assert!(live.state().jobs[&1].parts()[0].staging.is_some(), "it runs on");
    let cut_off = live.state().jobs[&4].phase();
    assert!(matches!(cut_off, Phase::Held(_)), "{cut_off:?}");
    let mut records = stage.records;
    records.push((at, gridded.into()));
    records.extend(step.records.into_iter().map(|record| (at, record)));
    replayed(&Stage { live, records });
}
