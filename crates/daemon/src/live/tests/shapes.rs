use tradewind_io::submission::{Array, Dependency, Shape, When};
use tradewind_model::PoolId;

use super::*;
use crate::site::size::Size;

/// A site says how large its two nodes are, and how many of them its owner uses.
fn sized(stage: &mut Stage, site: u32, processors: u32, busy: u32) {
    let task = LocalTask { nodes: busy, from: DAY, until: later(500) };
    let local: BTreeMap<String, LocalTask> =
        (busy > 0).then(|| ("theirs".to_owned(), task)).into_iter().collect();
    let size = Some(Size::Node(processors));
    let pools = vec![PoolSurvey { up: 2, local, size, ..PoolSurvey::default() }];
    let survey = Ok(Survey { pools, ..look(vec![]) });
    stage.step(later(1), Input::Surveyed { site: SiteId(site), survey });
}

fn tasks(tasks: u32) -> Submission {
    let shape = Shape { tasks: Some(tasks), ..Shape::default() };
    Submission { shape: Some(shape), ..job(shape.units(), 60) }
}

/// Pool and nodes of the job's parts.
fn parts(stage: &Stage, job: u64) -> Vec<(PoolId, u32)> {
    stage.live.state().jobs[&job].parts().iter().map(|part| (part.pool, part.nodes)).collect()
}

#[test]
fn nodes_follow_from_the_size_of_the_pool() {
    let mut stage = Stage::new();
    sized(&mut stage, 0, 4, 0);
    sized(&mut stage, 1, 8, 0);
    // One node of eight processors is cheaper than two of four.
    stage.submit(later(2), tasks(8)).unwrap();
    let state = stage.live.state();
    assert_eq!(parts(&stage, 1), [(PoolId(1), 1)]);
    assert_eq!((state.jobs[&1].nodes(), state.jobs[&1].processors), (1, Some(8)));
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    stage.submit(later(2), Submission { terms, ..tasks(8) }).unwrap();
    assert_eq!(parts(&stage, 2), [(PoolId(0), 2)]);
    let orders = stage.orders();
    let order = orders.iter().find(|it| it.tag.job == 2).unwrap().order.as_ref().unwrap();
    assert_eq!((order.nodes, &order.passed_through[..]), (2, &[("ntasks".into(), "8".into())][..]));
    assert_eq!(order.variables["SLURM_NTASKS"], "8");
    assert_eq!(order.variables["SLURM_JOB_NODELIST"], "%N", "the site puts its names there");
    assert_eq!(order.variables["SLURM_TASKS_PER_NODE"], "4(x2)");
}

#[test]
fn what_can_start_now_comes_before_what_is_cheaper() {
    let mut stage = Stage::new();
    sized(&mut stage, 0, 4, 0);
    sized(&mut stage, 1, 8, 2);
    stage.submit(later(2), tasks(8)).unwrap();
    assert_eq!(parts(&stage, 1), [(PoolId(0), 2)]);
    // One that is to be cheap waits for the cheap nodes.
    let terms = Conditions { criterion: tradewind_model::Criterion::Cost, ..Conditions::default() };
    stage.submit(later(2), Submission { terms, ..tasks(8) }).unwrap();
    assert_eq!((parts(&stage, 2), stage.live.state().jobs[&2].nodes()), (vec![], 1));
}

#[test]
fn what_fits_nowhere_is_refused_with_the_sizes() {
    let mut stage = Stage::new();
    sized(&mut stage, 0, 4, 0);
    sized(&mut stage, 1, 8, 0);
    let shape = Shape { tasks: Some(2), cpus_per_task: Some(9), ..Shape::default() };
    let refused = stage.submit(later(2), Submission { shape: Some(shape), ..job(2, 60) });
    let refused = refused.unwrap_err();
    assert_eq!(refused.message, "2 tasks of 9 processors do not fit on any node");
    assert_eq!(refused.hint, "nodes have: a/x: 4 processors a node; b/y: 8 processors a node");
    assert_eq!(stage.submit(later(2), tasks(33)).unwrap_err().message, "needs 5 nodes, and 2 suit");
}

/// Before sites were looked at each node is enough for one task.
#[test]
fn jobs_are_counted_again_when_sizes_become_known() {
    let mut stage = Stage::new();
    stage.submit(DAY, job(4, 60)).unwrap();
    stage.submit(DAY, tasks(3)).unwrap();
    stage.submit(DAY, tasks(8)).unwrap();
    assert_eq!(stage.live.state().jobs[&2].nodes(), 3);
    assert_eq!(stage.phase(3), Phase::Held(&JobHold::Nowhere));
    sized(&mut stage, 0, 4, 0);
    sized(&mut stage, 1, 4, 0);
    assert_eq!([2, 3].map(|job| stage.live.state().jobs[&job].nodes()), [1, 2]);
    assert_eq!([2, 3].map(|job| stage.phase(job)), [Phase::Waiting, Phase::Waiting]);
}

fn after(when: When, job: u64) -> Vec<Dependency> {
    vec![Dependency { when, job }]
}

fn cancel(stage: &mut Stage, job: u64) {
    stage.step(later(9), Input::Asked { actor: ana(), ask: Ask::Cancel { job } });
}

#[test]
fn a_singleton_waits_for_earlier_jobs_of_its_name() {
    let mut stage = Stage::new();
    let held = Submission { held: true, ..job(1, 60) };
    stage.submit(DAY, held.clone()).unwrap();
    stage.submit(DAY, Submission { name: "other".to_owned(), ..held.clone() }).unwrap();
    let single = Submission { after: after(When::Singleton, 0), ..job(1, 60) };
    stage.submit(DAY, single.clone()).unwrap();
    stage.submit(DAY, single).unwrap();
    for job in [3, 4] {
        assert_eq!(stage.phase(job), Phase::Held(&JobHold::Dependency));
    }
    cancel(&mut stage, 1);
    assert_eq!(stage.phase(3), Phase::Running);
    assert_eq!(stage.phase(4), Phase::Held(&JobHold::Dependency));
}

#[test]
fn tasks_of_arrays_wait_for_those_of_their_index() {
    let mut stage = Stage::new();
    let array = Some(Array { indices: vec![2, 5], at_once: None });
    stage.submit(DAY, Submission { array: array.clone(), ..job(1, 60) }).unwrap();
    let corresponding = after(When::Corresponding, 1);
    stage.submit(DAY, Submission { array, after: corresponding, ..job(1, 60) }).unwrap();
    stage.submit(DAY, Submission { after: after(When::Any, 1), ..job(1, 60) }).unwrap();
    let first = stage.orders().into_iter().find(|it| it.tag.job == 1).unwrap();
    let exit = Exit::Code(1);
    let ended = Seen::Ended { since: Some(later(3)), at: later(9), exit };
    stage.survey(later(9), first.site.0, vec![(first.tag, ended)], &[]);
    // The task of the same index failed; the other's still runs, so that the array is not over.
    assert_eq!(stage.phase(3), Phase::Over(&Finish::Dependency(1)));
    assert_eq!(stage.phase(4), Phase::Held(&JobHold::Dependency));
    assert_eq!(stage.phase(5), Phase::Held(&JobHold::Dependency));
}
