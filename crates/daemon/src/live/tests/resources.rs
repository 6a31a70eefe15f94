use tradewind_model::PoolId;

use super::*;
use crate::live::choice::{Against, Verdict};
use crate::live::state::{Happening, Setback};
use crate::site::SiteError;
use crate::site::resources::Resources;

/// A site says what its nodes have at most.
fn surveyed(stage: &mut Stage, site: u32, memory: u64, tasks: Vec<(Tag, Seen)>) {
    let max = Some(Resources { memory, ..Resources::default() });
    let pools = vec![PoolSurvey { up: 2, max, ..PoolSurvey::default() }];
    let survey = Ok(Survey { pools, ..look(tasks) });
    stage.step(later(1), Input::Surveyed { site: SiteId(site), survey });
}

fn with_memory(tasks: u32, megabytes: &str) -> Submission {
    let passed_through = vec![("mem".to_owned(), megabytes.to_owned())];
    Submission { passed_through, ..job(tasks, 60) }
}

fn pool_of(stage: &Stage, job: u64) -> PoolId {
    stage.live.state().jobs[&job].parts()[0].pool
}

#[test]
fn a_job_goes_where_nodes_have_its_memory() {
    let mut stage = Stage::new();
    surveyed(&mut stage, 0, 8_000, vec![]);
    surveyed(&mut stage, 1, 4_000, vec![]);
    for (megabytes, pool) in [("4000", 1), ("4001", 0), ("8G", 0)] {
        let last = stage.live.state().last_job();
        match stage.submit(later(2), with_memory(1, megabytes)) {
            Ok(_) => assert_eq!(pool_of(&stage, last + 1), PoolId(pool), "{megabytes}"),
            Err(refusal) => assert!(megabytes == "8G", "{refusal:?}"),
        }
    }
    let job = &stage.live.state().jobs[&2];
    let against = stage.live.weigh(job).unwrap().remove(1).verdict;
    assert_eq!(against, Verdict::Against(Against::Attribute(RESOURCES.to_owned())));
}

#[test]
fn what_no_nodes_have_is_refused_at_once() {
    let mut stage = Stage::new();
    surveyed(&mut stage, 0, 8_000, vec![]);
    surveyed(&mut stage, 1, 4_000, vec![]);
    let refused = stage.submit(later(2), with_memory(1, "8001")).unwrap_err();
    let Refusal { kind, message, hint, .. } = &refused;
    assert_eq!(*kind, RefusalKind::Invalid);
    assert_eq!(message, "needs 1 nodes that have 8001 MB each, and 0 suit");
    assert_eq!(hint, "the most that a node has: a/x: 8000 MB; b/y: 4000 MB");
    let refused = stage.submit(later(2), with_memory(3, "6000")).unwrap_err();
    assert_eq!(refused.message, "needs 3 nodes that have 6000 MB each, and 2 suit");
    // Who asks for none goes anywhere; a job that is too wide gets a message about the width.
    assert_eq!(stage.submit(later(2), job(3, 60)), Ok(Reply::Jobs(vec![1])));
    let refused = stage.submit(later(2), with_memory(5, "1")).unwrap_err();
    assert_eq!(refused.message, "needs 5 nodes, and 4 suit");
}

#[test]
fn of_sites_that_do_not_say_anything_may_be_asked() {
    let mut stage = Stage::new();
    surveyed(&mut stage, 0, 100, vec![]);
    stage.survey(later(1), 1, vec![], &[]);
    stage.submit(later(2), with_memory(2, "1T")).unwrap();
    assert_eq!(pool_of(&stage, 1), PoolId(1));
}

/// A job that was placed before its site was first seen is refused there once.
#[test]
fn a_refused_job_goes_where_its_memory_is_once_that_is_known() {
    let mut stage = Stage::new();
    stage.submit(DAY, with_memory(1, "6000")).unwrap();
    assert_eq!(pool_of(&stage, 1), PoolId(1));
    let tag = stage.orders().remove(0).tag;
    surveyed(&mut stage, 0, 8_000, vec![]);
    surveyed(&mut stage, 1, 4_000, vec![]);
    let refused = Err(SiteError::Refused("too much".to_owned()));
    stage.step(later(2), Input::Answered { tag: tag.clone(), act: Act::Submit, answer: refused });
    stage.step(later(2), Input::Answered { tag, act: Act::Withdraw, answer: Ok(()) });
    surveyed(&mut stage, 1, 4_000, vec![]);
    let job = &stage.live.state().jobs[&1];
    assert_eq!((job.attempt, job.phase(), pool_of(&stage, 1)), (1, Phase::Running, PoolId(0)));
    let why = Happening::Setback(Setback::Refused("too much".to_owned()));
    assert!(job.history.iter().any(|(_, what)| *what == why), "{:?}", job.history);
}
