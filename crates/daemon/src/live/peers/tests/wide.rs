//! Jobs on many nodes at a peer: reports of them fit into an answer.

use super::*;
use crate::codec::peers::Answers;
use crate::live::record::PeerRecord;
use crate::live::state::jobs::RemoteProgress;
use crate::site::Seen;

/// What a home reads of an answer at most, and so many jobs one question is about.
const ANSWER: usize = 1 << 20;
const ASKED: usize = 64;

#[test]
fn reports_of_sixty_four_wide_jobs_fit_into_an_answer() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    pair.talk();
    pair.pass(8);
    let tag = pair.tags(1).remove(0);
    // As long as the names of ten thousand nodes.
    let nodes = vec!["é".repeat(50_000); 3];
    let tasks = BTreeMap::from([(tag, Seen::Running { since: pair.now, nodes })]);
    let pools = vec![PoolSurvey { up: 4, ..PoolSurvey::default() }];
    let survey = Survey { pools, tasks, ..Survey::default() };
    pair.step(1, Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    let mut reports = pair.reports();
    let RemoteStatus::There(news) = &reports[0].fate else { panic!("{reports:?}") };
    assert!(news.since.is_some() && news.nodes[0].starts_with("s/x: éé"), "{news:?}");
    let one = Answers { jobs: reports.clone() }.bytes().len();
    assert!(one * ASKED < ANSWER, "{one} bytes of each job");
    // A peer that tells more of its nodes fills no journal with it.
    if let RemoteStatus::There(news) = &mut reports[0].fate {
        news.nodes = vec!["x".repeat(ANSWER); 2];
    }
    pair.hear(&reports);
    let known = pair.lives[0].state().jobs[&1].away().unwrap().news.clone().unwrap();
    assert!(known.nodes.concat().len() < ANSWER / ASKED, "{} bytes", known.nodes.concat().len());
}

#[test]
fn a_peer_that_tells_another_start_each_second_fills_no_journal() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    pair.talk();
    pair.pass(3);
    let transfer = pair.lives[0].wanted()[&Peer(1)][0].transfer;
    let mut hear = |finish: Option<Finish>, since: Option<Time>| {
        pair.now = pair.now + Span(1);
        let (nodes, charged) = (vec![format!("node{}", pair.now.0)], Money::ZERO);
        let news = RemoteProgress { since, nodes, finish, charged, receipt: None };
        let fate = RemoteStatus::There(news);
        let reports = vec![StatusReport { job: 1, transfer, fate }];
        let input = Input::Reported { peer: Peer(1), reports, outputs: BTreeMap::new() };
        let step = pair.lives[0].step(pair.now, input).unwrap();
        let is_heard = |record: &&Record| matches!(record, Record::Peer(PeerRecord::Heard { .. }));
        step.records.iter().filter(is_heard).count()
    };
    assert_eq!(hear(None, None), 1, "the first news");
    assert_eq!(hear(None, Some(DAWN)), 1, "a start is written down at once");
    let told: usize =
        (1..=80).map(|second| hear(None, (second % 2 == 0).then_some(DAWN + Span(second)))).sum();
    assert_eq!(told, 1, "of eighty changes in eighty seconds");
    assert_eq!(hear(Some(Finish::Completed), Some(DAWN)), 1, "and so is an end");
    assert!(pair.lives[0].heard.is_empty(), "nothing is kept of jobs that are over");
}
