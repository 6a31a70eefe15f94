//! Jobs of several shapes.

use tradewind_model::{JobShape, Place, PoolId, Shapes, Share, TimeMode};

use super::*;
use crate::live::state::{Booking, Quote};

/// Both nodes of a site for 100 s, or one for 180 s; at site `a`, whose nodes cost 1 credit per second.
fn bends() -> Submission {
    let shape = |nodes, time| JobShape { nodes, time: Span(time) };
    let shapes = Shapes::new(&[shape(2, 100), shape(1, 180)]).unwrap();
    let terms = Conditions { sites: vec!["a".to_owned()], shapes, ..Conditions::default() };
    Submission { terms, ..job(2, 100) }
}

fn at_a(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

/// Nodes and limit of the job's only part, and what is held for it in credits.
fn taken(stage: &Stage, job: u64) -> (u32, i64, i128) {
    let [part] = stage.live.state().jobs[&job].parts() else { panic!("one part") };
    assert_eq!(stage.live.state().jobs[&job].nodes(), part.nodes);
    (part.nodes, part.limit.0, stage.balance(&format!("held:{job}")) / 1_000_000)
}

fn order_of(stage: &Stage, job: u64) -> Box<crate::site::Order> {
    let orders = stage.orders().into_iter().filter(|it| it.act == Act::Submit);
    orders.filter(|it| it.tag.job == job).find_map(|it| it.order).unwrap()
}

#[test]
fn width_limit_cost_and_environment_are_those_of_the_shape() {
    let mut wide = Stage::new();
    wide.submit(DAY, bends()).unwrap();
    assert_eq!(taken(&wide, 1), (2, 100, 200));
    let mut narrow = Stage::new();
    narrow.submit(DAY, at_a(1, 300)).unwrap();
    narrow.submit(DAY, bends()).unwrap();
    assert_eq!(taken(&narrow, 2), (1, 180, 180));
    for (stage, job, nodes) in [(&wide, 1, "2"), (&narrow, 2, "1")] {
        let order = order_of(stage, job);
        assert_eq!(order.nodes.to_string(), nodes);
        let names = ["SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "TRADEWIND_TASKS"];
        for name in names {
            assert_eq!(order.variables[name], nodes, "{name}");
        }
        assert_eq!(order.variables["TRADEWIND_LIMIT"], order.limit.0.to_string());
    }
    // What the journal says gives the same state.
    let mut again = State::empty(DAY);
    narrow.records.iter().for_each(|(at, record)| again.apply(*at, record).unwrap());
    assert_eq!(again.market.state(), narrow.live.state().market.state());
    assert_eq!(again.jobs, narrow.live.state().jobs);
}

#[test]
fn a_job_takes_the_nodes_that_are_free_or_waits_for_the_first() {
    let mut stage = Stage::new();
    stage.submit(DAY, at_a(1, 30)).unwrap();
    // On one node at once, though both are free soon.
    stage.submit(DAY, bends()).unwrap();
    assert_eq!(taken(&stage, 2), (1, 180, 180));
    // One more waits until both nodes or one are free.
    stage.submit(DAY, bends()).unwrap();
    assert_eq!(stage.phase(3), Phase::Waiting);
    let first = stage.orders().into_iter().find(|it| it.tag.job == 1).unwrap();
    let over = ended(DAY, later(30), Exit::Code(0));
    stage.survey(later(30), first.site.0, vec![(first.tag, over)], &[]);
    assert_eq!(taken(&stage, 3), (1, 180, 180));
}

#[test]
fn a_job_that_lost_its_nodes_may_get_another_shape() {
    let mut stage = Stage::new();
    stage.submit(DAY, bends()).unwrap();
    let order = stage.orders().remove(0);
    stage.survey(later(1), 0, vec![], &[("own", 1)]);
    let never = Seen::Ended { since: None, at: later(2), exit: Exit::Withdrawn };
    let until = later(1_000);
    let task = LocalTask { nodes: 1, from: later(1), until };
    let local: BTreeMap<String, LocalTask> = [("own".to_owned(), task)].into();
    let pools = vec![PoolSurvey { up: 2, local, ..PoolSurvey::default() }];
    let survey = Ok(Survey { pools, ..look(vec![(order.tag, never)]) });
    stage.step(later(2), Input::Surveyed { site: SiteId(0), survey });
    assert_eq!(stage.live.state().jobs[&1].attempt, 1);
    assert_eq!(taken(&stage, 1), (1, 180, 180));
    assert_eq!(order_of(&stage, 1).nodes, 1);
}

#[test]
fn shapes_that_no_nodes_could_meet_are_left_out() {
    let shapes = |list: &[(u32, i64)]| {
        let shape = |it: &(u32, i64)| JobShape { nodes: it.0, time: Span(it.1) };
        let shapes: Vec<JobShape> = list.iter().map(shape).collect();
        let first = shapes[0];
        let shapes = Shapes::new(&shapes).unwrap();
        let terms = Conditions { shapes, ..at_a(1, 1).terms };
        Submission { terms, ..job(first.nodes, first.time.0) }
    };
    let mut stage = Stage::new();
    stage.submit(DAY, shapes(&[(64, 10), (2, 100), (1, 180)])).unwrap();
    assert_eq!(taken(&stage, 1), (2, 100, 200));
    let refused = stage.submit(DAY, shapes(&[(64, 10), (32, 20)])).unwrap_err();
    assert_eq!(refused.message, "needs 64 nodes, and 2 suit");
}

#[test]
fn an_accepted_quote_is_for_one_shape() {
    let mut stage = Stage::new();
    let place = Place::counted(vec![Share { pool: PoolId(0), nodes: 1 }]);
    let (start, prices) = (later(100), vec![Price(1_000_000)]);
    let booking = Booking { start, ends: vec![start + Span(180)], place, prices, groups: None };
    let quote = |tasks, work| Quote {
        number: 0,
        user: "ana".to_owned(),
        tasks,
        work: Span(work),
        times: TimeMode::WORK,
        cost: booking.max(tasks),
        booking: booking.clone(),
        expires: later(1_000),
        slack: None,
    };
    let mut keep = |quote| {
        let answer = stage.asked(DAY, ana(), Ask::Keep { quote });
        let Ok(Reply::Number(number)) = answer else { panic!("{answer:?}") };
        number
    };
    let (other, narrow) = (keep(quote(1, 100)), keep(quote(1, 180)));
    let mut submit = |number| {
        let submission = Arc::new(bends());
        stage.asked(DAY, ana(), Ask::Submit { submission, key: None, quote: Some(number) })
    };
    assert_eq!(submit(other).unwrap_err().kind, RefusalKind::Conflict, "no shape of 100 s");
    submit(narrow).unwrap();
    assert_eq!(stage.phase(1), Phase::Held(&JobHold::Booked));
    stage.survey(later(100), 0, vec![], &[]);
    assert_eq!(taken(&stage, 1), (1, 180, 180));
    assert!(stage.live.state().jobs[&1].in_window());
}
