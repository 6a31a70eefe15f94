//! Answers of a real cluster, shortened, and what is made of them.

mod orders;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::settings::cluster::{Members, NodeUnit};
use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Span, Time};

use super::listing::{self, ListedReservation, SlurmJob};
use super::nodes::{self, Node};
use super::pools::{self, Listed};
use super::sbatch::{self, BeginTime, SbatchTerms};
use super::{Controller, is_unanswered, reserve};
use crate::site::managed::bundle::{ahead, near};
use crate::site::managed::driver::judge::{self, TaskVerdict};
use crate::site::managed::spool::{Here, SpoolEnd, Trace};
use crate::site::managed::tickets::Ticket;
use crate::site::size::{Size, UnitSize};
use crate::site::{Exit, LocalTask, Order, PoolSurvey, Seen, Tag};

const SQUEUE: &str = include_str!("samples/squeue.json");
const NODES: &str = include_str!("samples/nodes.txt");
const RESERVATIONS: &str = include_str!("samples/reservations.txt");
/// What `squeue --json` of a dead controller says, and ends with 0.
const DOWN: &str = r#"{"errors": [{"description": "Failed while looking for jobs",
    "error_number": -1, "error": "Unspecified error", "source": "slurm_load_jobs"}], "jobs": []}"#;

/// If the spool was read: what it has of the task.
type Traced<'a> = Option<Option<&'a Trace>>;

fn judge(ticket: &Ticket, job: Option<&SlurmJob>, trace: Traced<'_>, now: Time) -> TaskVerdict {
    judge::judge::<Controller>(ticket, job, trace, now)
}

fn is_unclear(ticket: &Ticket, job: Option<&SlurmJob>, trace: Traced<'_>) -> bool {
    judge::is_unclear::<Controller>(ticket, job, trace)
}

fn dropped() -> Exit {
    judge::dropped::<Controller>()
}

fn sample() -> (Vec<SlurmJob>, Vec<Node>, Vec<ListedReservation>) {
    (
        listing::jobs(SQUEUE.as_bytes()).unwrap(),
        nodes::nodes(NODES).unwrap(),
        listing::reservations(RESERVATIONS).unwrap(),
    )
}

#[test]
fn jobs_are_read_as_they_are() {
    let (jobs, nodes, _) = sample();
    let shown: Vec<String> = jobs
        .iter()
        .map(|it| {
            let (nodes, partitions) = (it.nodes.join("+"), it.partitions.join("+"));
            let amounts = [it.cpus, it.gpus, it.status.unsigned_abs(), u32::from(it.is_held)];
            format!("{} {} {partitions} {nodes} {amounts:?} {}", it.id, it.state, it.memory)
        })
        .collect();
    let wanted = [
        "1 RUNNING main r1 [3, 0, 0, 0] 1000",
        "2 RUNNING some r2 [1, 1, 0, 0] 8000",
        "3 FAILED main r3 [8, 0, 768, 0] 8000",
        "4 FAILED main r4 [8, 0, 9, 0] 8000",
        "5 PENDING main+some  [2, 0, 0, 1] 0",
        "6 PENDING main  [9, 0, 0, 0] 0",
    ];
    assert_eq!(shown, wanted);
    assert_eq!((jobs[0].comment.as_str(), jobs[0].user.as_str()), ("tw-m-1-0-0 17", "root"));
    assert_eq!(jobs[0].end - jobs[0].start, 300);
    let shown: Vec<String> = nodes
        .iter()
        .map(|it| format!("{} {} {} {} {}", it.name, it.is_up, it.cpus, it.gpus(), it.state))
        .collect();
    let wanted = [
        "r1 true 8 2 mixed",
        "r2 true 8 2 mixed",
        "r3 true 8 2 idle",
        "r4 false 8 2 idle+drain (new disk)",
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn an_answer_with_errors_or_without_an_end_is_none() {
    assert!(listing::jobs(DOWN.as_bytes()).unwrap_err().contains("slurm_load_jobs"));
    for end in 0..SQUEUE.trim_end().len() {
        let Some(cut) = SQUEUE.get(..end) else { continue };
        assert!(listing::jobs(cut.as_bytes()).unwrap_err().contains("cut off"), "{cut}");
    }
    for none in ["", "{}", "[]", "null", "slurm_load_jobs error", "{\"errors\": []}"] {
        assert!(listing::jobs(none.as_bytes()).is_err() && nodes::nodes(none).is_err());
    }
    assert!(listing::reservations("ReservationName=x StartTime=").is_err());
    assert_eq!(listing::reservations("No reservations in the system\n"), Ok(Vec::new()));
}

#[test]
fn numbers_may_be_wrapped_and_states_be_lists() {
    let text = r#"{"errors": [], "jobs": [{"job_id": 7, "job_state": ["RUNNING"],
        "start_time": {"set": true, "infinite": false, "number": 50}, "nodes": "a[1-2]",
        "exit_code": {"return_code": {"set": true, "number": 3}, "signal": {"id": {"number": 0}}}
        }]}"#;
    let job = listing::jobs(text.as_bytes()).unwrap().remove(0);
    assert_eq!((job.id, job.start, job.nodes.len(), job.has_nodes()), (7, 50, 2, true));
}

fn surveyed(unit: NodeUnit, members: &Members, ours: &[u64], now: i64) -> PoolSurvey {
    let (jobs, nodes, reservations) = sample();
    let ours: BTreeSet<u64> = ours.iter().copied().collect();
    let foreign: Vec<ListedReservation> =
        reservations.into_iter().filter(|it| it.name == "owners").collect();
    let (strays, hidden) = (BTreeMap::new(), BTreeMap::new());
    let listed = Listed {
        jobs: &jobs,
        nodes: &nodes,
        reservations: &foreign,
        ours: &ours,
        strays: &strays,
        hidden: &hidden,
        now: Time(now),
    };
    pools::survey(&listed, members, unit, 100)
}

fn main_partition() -> Members {
    Members { partition: Some("main".to_owned()), ..Members::default() }
}

fn count(survey: &PoolSurvey, name: &str) -> u32 {
    survey.local.get(name).map_or(0, |task| task.nodes)
}

#[test]
fn pools_are_counted_in_their_units() {
    let now = sample().0[0].start + 5;
    let members = main_partition();
    let whole = surveyed(NodeUnit::Node, &members, &[1], now);
    assert_eq!(whole.up, 3);
    assert_eq!(whole.max.clone().unwrap().to_string(), "8000 MB, gpu 2");
    assert_eq!((count(&whole, "job 1"), count(&whole, "job 2")), (0, 1), "one is ours");
    assert_eq!(count(&whole, "reservation owners"), 1, "one of its nodes is down");
    let cores = surveyed(NodeUnit::Cores(2), &members, &[], now);
    assert_eq!((cores.up, count(&cores, "job 1")), (12, 2), "three processors are two units");
    assert_eq!(count(&cores, "job 2"), 4, "it has all of the node's memory");
    let unit = NodeUnit::Shared { cores: 2, memory: 4_000 };
    let shared = surveyed(unit, &members, &[], now);
    assert_eq!((shared.up, count(&shared, "job 1"), count(&shared, "job 2")), (6, 1, 2));
    assert_eq!(
        shared.size,
        Some(Size::Shared { unit: UnitSize { cores: 2, memory: 4_000 }, most: 2 })
    );
    let gpus = surveyed(NodeUnit::Gpu, &members, &[], now);
    assert_eq!((gpus.up, count(&gpus, "job 1"), count(&gpus, "job 2")), (6, 1, 2));
    let some = Members { partition: Some("some".to_owned()), ..Members::default() };
    assert_eq!(surveyed(NodeUnit::Node, &some, &[], now).up, 2);
    let features = vec!["fast".to_owned(), "ib".to_owned()];
    let hosts = Some("r[2-3]".to_owned());
    let named = Members { hosts, features, ..main_partition() };
    assert_eq!(surveyed(NodeUnit::Node, &named, &[], now).up, 2);
    let none = Members { features: vec!["slow".to_owned()], ..main_partition() };
    assert_eq!(surveyed(NodeUnit::Node, &none, &[], now).up, 0);
}

/// Nodes that others have at a moment.
fn others(survey: &PoolSurvey, at: Time) -> u32 {
    let holds = |task: &&LocalTask| task.from <= at && at < task.until;
    survey.local.values().filter(holds).map(|task| task.nodes).sum()
}

proptest::proptest! {
    /// Node by node and second by second: nobody counts twice, and nobody is left out.
    #[test]
    fn others_are_counted_as_a_plain_table_counts_them(
        jobs in proptest::collection::vec((0_usize..5, 1_i64..40, proptest::bool::ANY), 0..5),
        reserved in proptest::collection::vec((0_usize..5, 0_usize..5, 0_i64..40, 1_i64..40), 0..2),
    ) {
        let name = |number: usize| format!("n{number}");
        let nodes: Vec<Node> = (0..5)
            .map(|number| Node { name: name(number), is_up: number != 4, ..Node::default() })
            .collect();
        let mut used = BTreeSet::new();
        let jobs: Vec<SlurmJob> = (1..)
            .zip(jobs)
            .filter(|(_, (node, ..))| used.insert(*node))
            .map(|(id, (node, length, _))| SlurmJob {
                id,
                state: "RUNNING".to_owned(),
                nodes: vec![name(node)],
                start: 900,
                end: 1_000 + 60 + length,
                ..SlurmJob::default()
            })
            .collect();
        let reservations: Vec<ListedReservation> = reserved
            .iter()
            .map(|(low, high, start, length)| ListedReservation {
                name: format!("r{low}{high}{start}{length}"),
                start: Time(1_050 + start),
                end: Time(1_050 + start + length),
                nodes: (*low.min(high)..=*low.max(high)).map(name).collect(),
            })
            .take(1)
            .collect();
        let ours: BTreeSet<u64> = jobs.iter().map(|job| job.id).filter(|id| id % 2 == 0).collect();
        // All of them say that they are one task, which has no ticket.
        let tag = Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 };
        let strays = jobs.iter().map(|job| (job.id, tag.clone())).collect();
        let listed = Listed {
            jobs: &jobs,
            nodes: &nodes,
            reservations: &reservations,
            ours: &ours,
            strays: &strays,
            hidden: &BTreeMap::new(),
            now: Time(1_000),
        };
        let survey = pools::survey(&listed, &Members::default(), NodeUnit::Node, 100);
        proptest::prop_assert_eq!(survey.up, 4);
        for at in 1_000..1_150 {
            let has = |node: usize| {
                let job = jobs.iter().find(|job| job.nodes == [name(node)] && at < job.end);
                match job {
                    Some(job) => !ours.contains(&job.id),
                    None => reservations.iter().any(|it| {
                        it.start.0 <= at && at < it.end.0 && it.nodes.contains(&name(node))
                    }),
                }
            };
            let wanted = (0..4).filter(|node| has(*node)).count();
            proptest::prop_assert_eq!(others(&survey, Time(at)) as usize, wanted, "at {}", at);
        }
    }
}

fn ticket() -> Ticket {
    Ticket {
        tag: "tw-m-1-0-0".to_owned(),
        account: "ana".to_owned(),
        pool: "p".to_owned(),
        nodes: 1,
        handed_in: 100_000_017,
        start: 100,
        limit: 60,
        gather: None,
        directory: String::new(),
        output: String::new(),
        error: None,
        spool: String::new(),
        data: std::collections::BTreeMap::new(),
        staging: 0,
        is_held: false,
        is_preemptible: false,
        was_held: false,
        is_taken: true,
        is_withdrawn: false,
        is_recalled: false,
        ended: None,
        is_forgotten: false,
    }
}

fn job(state: &str) -> SlurmJob {
    let nodes = vec!["a1".to_owned()];
    SlurmJob { id: 5, state: state.to_owned(), start: 100, end: 130, nodes, ..SlurmJob::default() }
}

fn trace(end: Option<Exit>) -> Trace {
    let here = Here { at: 101_500, id: "5".to_owned(), nodes: vec!["a1".to_owned()] };
    let end = end.map(|exit| SpoolEnd { since: Some(102_000), at: 129_900, exit });
    Trace { here: Some(here), began: Some(102_000), end, ..Trace::default() }
}

fn ended(since: Option<i64>, at: i64, exit: Exit) -> TaskVerdict {
    TaskVerdict::Seen(Seen::Ended { since: since.map(Time), at: Time(at), exit })
}

#[test]
fn ends_are_those_of_slurm_and_of_the_task() {
    let code = trace(Some(Exit::Code(7)));
    for (state, status, trace, wanted) in [
        ("COMPLETED", 0, Some(&trace(Some(Exit::Code(0)))), Exit::Code(0)),
        ("FAILED", 7 << 8, Some(&code), Exit::Code(7)),
        ("FAILED", 9, Some(&trace(None)), Exit::Signal(9)),
        ("FAILED", 3 << 8, Some(&trace(None)), Exit::Code(3)),
        ("FAILED", 124 << 8, Some(&trace(Some(Exit::TimeLimit))), Exit::TimeLimit),
        ("CANCELLED", 0, Some(&trace(Some(Exit::Signal(15)))), Exit::Withdrawn),
        ("TIMEOUT", 0, Some(&trace(None)), Exit::TimeLimit),
        ("TIMEOUT", 0, Some(&trace(Some(Exit::Signal(15)))), Exit::TimeLimit),
        ("OUT_OF_MEMORY", 9, Some(&trace(None)), Exit::OutOfMemory),
        ("NODE_FAIL", 0, Some(&trace(None)), Exit::NodeFailed),
        ("NODE_FAIL", 0, Some(&code), Exit::Code(7)),
        ("NODE_FAIL", 0, Some(&trace(Some(Exit::Signal(15)))), Exit::NodeFailed),
        ("PREEMPTED", 0, Some(&trace(None)), Exit::Preempted),
    ] {
        let job = SlurmJob { status, ..job(state) };
        assert_eq!(judge(&ticket(), Some(&job), None, Time(200)), TaskVerdict::Look);
        let verdict = judge(&ticket(), Some(&job), Some(trace), Time(200));
        assert_eq!(verdict, ended(Some(100), 130, wanted), "{state}");
    }
    let unheard = SlurmJob { end: 160, ..job("TIMEOUT") };
    let verdict = judge(&ticket(), Some(&unheard), Some(Some(&code)), Time(200));
    assert_eq!(verdict, ended(Some(100), 129, Exit::Code(7)), "it was over before its limit");
    let full = SlurmJob { status: 125 << 8, ..job("FAILED") };
    let verdict = judge(&ticket(), Some(&full), Some(None), Time(200));
    let why = Exit::NotStarted("the site's spool cannot be written on a1".to_owned());
    assert_eq!(verdict, ended(None, 130, why));
    let revoked = SlurmJob { end: 101, ..job("CANCELLED") };
    let slowly = SlurmJob { end: 108, ..job("CANCELLED") };
    for refused in [&revoked, &slowly] {
        let verdict = judge(&ticket(), Some(refused), Some(None), Time(200));
        assert_eq!(verdict, TaskVerdict::Bury(dropped()), "not ordered by the market");
    }
    let withdrawn = Ticket { is_withdrawn: true, ..ticket() };
    let verdict = judge(&withdrawn, Some(&revoked), Some(None), Time(200));
    assert_eq!(verdict, ended(Some(100), 101, Exit::Withdrawn));
    let cleared = SlurmJob { end: 100, status: 2 << 8, ..job("FAILED") };
    let verdict = judge(&ticket(), Some(&cleared), Some(None), Time(200));
    assert_eq!(verdict, TaskVerdict::Bury(dropped()), "its script was gone");
    let gone = SlurmJob { nodes: Vec::new(), reason: "NodeDown".to_owned(), ..job("NODE_FAIL") };
    let verdict = judge(&ticket(), Some(&gone), Some(None), Time(200));
    let why = "Slurm says NODE_FAIL: NodeDown".to_owned();
    assert_eq!(verdict, TaskVerdict::Bury(Exit::Refused(why)), "it waited, and may again");
    let struck = SlurmJob { end: 129, ..job("NODE_FAIL") };
    let verdict = judge(&ticket(), Some(&struck), Some(Some(&code)), Time(200));
    let is_lost = matches!(verdict, TaskVerdict::Seen(Seen::Ended { exit: Exit::NodeFailed, .. }));
    assert!(is_lost, "it ended when its node was given up: {verdict:?}");
    for end in [140, 145] {
        let again = SlurmJob { start: 140, end, ..job("CANCELLED") };
        let verdict = judge(&ticket(), Some(&again), Some(Some(&code)), Time(200));
        assert_eq!(verdict, ended(Some(101), 129, Exit::Code(7)), "it had ended before");
    }
    let same = SlurmJob { start: 101, end: 101, ..job("CANCELLED") };
    let verdict = judge(&ticket(), Some(&same), Some(Some(&code)), Time(200));
    assert_eq!(verdict, ended(Some(101), 129, Exit::Code(7)), "it began and ended in that second");
    let soon = SlurmJob { end: 101, ..job("CANCELLED") };
    let verdict = judge(&ticket(), Some(&soon), Some(Some(&trace(None))), Time(200));
    assert_eq!(verdict, ended(Some(100), 101, Exit::Withdrawn), "somebody was quick");
    let silent = Some(Some(&Trace::default()));
    let verdict = judge(&ticket(), Some(&job("COMPLETED")), silent, Time(160));
    let running =
        TaskVerdict::Seen(Seen::Running { since: Time(100), nodes: vec!["a1".to_owned()] });
    assert_eq!(verdict, running, "its word may come");
    let verdict = judge(&ticket(), Some(&job("COMPLETED")), silent, Time(161));
    assert_eq!(verdict, ended(None, 130, Exit::Lost), "its folder was there, and it did nothing");
    let recalled = Ticket { is_recalled: true, ..ticket() };
    let verdict = judge(&recalled, Some(&job("COMPLETED")), silent, Time(161));
    assert_eq!(verdict, ended(None, 130, Exit::Withdrawn), "its folder was ours");
    let claimed = Trace { is_claimed: true, ..Trace::default() };
    for (ticket, exit) in [(ticket(), dropped()), (recalled, Exit::Withdrawn)] {
        let judged = judge(&ticket, Some(&job("COMPLETED")), Some(Some(&claimed)), Time(131));
        assert_eq!(judged, TaskVerdict::Bury(exit.clone()));
        assert_eq!(judge(&ticket, None, Some(Some(&claimed)), Time(131)), TaskVerdict::Bury(exit));
    }
    let never = SlurmJob { nodes: Vec::new(), start: 130, ..job("CANCELLED") };
    let verdict = judge(&ticket(), Some(&never), Some(None), Time(200));
    assert_eq!(verdict, ended(None, 130, Exit::Withdrawn));
}

/// A controller that dies while it starts a job may count it as running until its limit.
#[test]
fn a_job_that_ended_without_its_script_may_run_again() {
    let refused = |state: &str| Exit::Refused(format!("Slurm says {state}: None"));
    for (state, status) in [("TIMEOUT", 0), ("NODE_FAIL", 0), ("BOOT_FAIL", 0), ("FAILED", 53)] {
        let over = SlurmJob { status, reason: "None".to_owned(), ..job(state) };
        let verdict = judge(&ticket(), Some(&over), Some(None), Time(200));
        assert_eq!(verdict, TaskVerdict::Bury(refused(state)), "{state}");
        for ticket in
            [Ticket { is_withdrawn: true, ..ticket() }, Ticket { is_recalled: true, ..ticket() }]
        {
            let verdict = judge(&ticket, Some(&over), Some(None), Time(200));
            assert_eq!(verdict, TaskVerdict::Bury(Exit::Withdrawn), "{state}");
        }
        let begun = judge(&ticket(), Some(&over), Some(Some(&Trace::default())), Time(200));
        assert!(
            matches!(begun, TaskVerdict::Seen(Seen::Ended { since: Some(_), .. })),
            "{begun:?}"
        );
    }
    let taken = SlurmJob { status: 15, is_preempted: true, ..job("FAILED") };
    let verdict = judge(&ticket(), Some(&taken), Some(None), Time(200));
    assert_eq!(verdict, ended(Some(100), 130, Exit::Preempted));
}

#[test]
fn waiting_for_others_is_no_work() {
    let gathers = Ticket { gather: Some(30), ..ticket() };
    let waits = Trace { began: None, ..trace(None) };
    let running =
        TaskVerdict::Seen(Seen::Running { since: Time(100), nodes: vec!["a1".to_owned()] });
    assert_eq!(judge(&gathers, Some(&job("RUNNING")), None, Time(110)), TaskVerdict::Look);
    let early = judge(&gathers, Some(&job("RUNNING")), Some(None), Time(110));
    assert_eq!(early, TaskVerdict::Seen(Seen::Waiting), "it has not come to wait yet");
    assert_eq!(judge(&gathers, Some(&job("RUNNING")), Some(Some(&waits)), Time(110)), running);
    let verdict = judge(&gathers, Some(&job("CANCELLED")), Some(Some(&waits)), Time(200));
    assert_eq!(verdict, ended(None, 130, Exit::Withdrawn));
    let over = trace(Some(Exit::Code(0)));
    let verdict = judge(&gathers, Some(&job("COMPLETED")), Some(Some(&over)), Time(200));
    assert_eq!(verdict, ended(Some(102), 130, Exit::Code(0)));
}

/// Slurm may not have heard of the end, or not yet.
#[test]
fn what_has_ended_by_itself_has_ended() {
    let over = |exit| trace(Some(exit));
    let completing = job("COMPLETING");
    assert_eq!(judge(&ticket(), Some(&completing), None, Time(130)), TaskVerdict::Look);
    let running =
        TaskVerdict::Seen(Seen::Running { since: Time(100), nodes: vec!["a1".to_owned()] });
    assert_eq!(judge(&ticket(), Some(&completing), Some(Some(&trace(None))), Time(130)), running);
    for state in ["COMPLETING", "RUNNING"] {
        let judge = |ticket: &Ticket, exit, now| {
            judge(ticket, Some(&job(state)), Some(Some(&over(exit))), Time(now))
        };
        let code = Exit::Code(3);
        assert_eq!(judge(&ticket(), code.clone(), 130), ended(Some(100), 129, code.clone()));
        // Who has stopped it, Slurm may say in a moment.
        let signal = Exit::Signal(15);
        assert_eq!(judge(&ticket(), signal.clone(), 159), running);
        assert_eq!(judge(&ticket(), signal.clone(), 160), ended(Some(100), 129, signal));
        let withdrawn = Ticket { is_withdrawn: true, ..ticket() };
        assert_eq!(judge(&withdrawn, code.clone(), 159), running);
        assert_eq!(judge(&withdrawn, code.clone(), 160), ended(Some(100), 129, Exit::Withdrawn));
    }
    let other = SlurmJob { id: 6, ..job("RUNNING") };
    let verdict = judge(&ticket(), Some(&other), Some(Some(&over(Exit::Code(0)))), Time(200));
    assert_eq!(verdict, running, "another job of the same tag wrote that");
}

/// A brief list does not have exit codes.
#[test]
fn all_that_slurm_knows_is_asked_for_where_a_task_has_written_no_end() {
    let (whole, torn) = (trace(Some(Exit::Code(0))), trace(None));
    let gone = job("FAILED");
    for (job, trace, wanted) in [
        (Some(&gone), Some(Some(&torn)), true),
        (Some(&gone), Some(None), true),
        (Some(&gone), Some(Some(&whole)), false),
        (Some(&gone), None, false),
        (Some(&job("RUNNING")), Some(Some(&torn)), false),
        (Some(&job("PENDING")), Some(None), false),
        (None, Some(None), false),
    ] {
        assert_eq!(is_unclear(&ticket(), job, trace), wanted, "{job:?} {trace:?}");
    }
}

#[test]
fn a_job_that_slurm_begins_again_is_stopped() {
    let again = SlurmJob { restarts: 1, nodes: Vec::new(), submitted: 140, ..job("PENDING") };
    assert_eq!(judge(&ticket(), Some(&again), None, Time(200)), TaskVerdict::Look);
    let verdict = judge(&ticket(), Some(&again), Some(Some(&trace(None))), Time(200));
    let seen = Seen::Ended { since: Some(Time(101)), at: Time(140), exit: Exit::NodeFailed };
    assert_eq!(verdict, TaskVerdict::Stop(seen));
    let verdict = judge(&ticket(), Some(&again), Some(None), Time(200));
    assert_eq!(verdict, TaskVerdict::Seen(Seen::Waiting), "its work has never begun");
}

#[test]
fn what_slurm_does_not_know_is_told_by_the_task() {
    let judge = |ticket: &Ticket, trace: Option<&Trace>, now| {
        assert_eq!(judge(ticket, None, None, Time(now)), TaskVerdict::Look);
        judge(ticket, None, Some(trace), Time(now))
    };
    let taken = ticket();
    let withdrawn = Ticket { is_withdrawn: true, ..ticket() };
    let unsaid = Ticket { is_taken: false, ..ticket() };
    assert_eq!(judge(&taken, None, 200), TaskVerdict::Bury(dropped()));
    assert_eq!(judge(&withdrawn, None, 200), TaskVerdict::Bury(Exit::Withdrawn));
    assert_eq!(judge(&unsaid, None, 200), TaskVerdict::Nothing);
    let over = trace(Some(Exit::Code(4)));
    assert_eq!(judge(&taken, Some(&over), 200), ended(Some(101), 129, Exit::Code(4)));
    assert_eq!(judge(&withdrawn, Some(&over), 200), ended(Some(101), 129, Exit::Withdrawn));
    let orphan = trace(None);
    let running = Seen::Running { since: Time(101), nodes: vec!["a1".to_owned()] };
    assert_eq!(judge(&taken, Some(&orphan), 192), TaskVerdict::Seen(running));
    assert_eq!(judge(&taken, Some(&orphan), 193), ended(Some(101), 192, Exit::Lost));
    // Another job of the same tag found the work begun, and ended at once.
    let second = SlurmJob { id: 6, ..job("COMPLETED") };
    let verdict = super::tests::judge(&taken, Some(&second), Some(Some(&over)), Time(200));
    assert_eq!(verdict, ended(Some(101), 129, Exit::Code(4)));
}

#[test]
fn waiting_for_a_start_is_no_work() {
    let soon = Ticket { handed_in: 97_000_000, ..ticket() };
    let holds = SlurmJob { start: 98, ..job("RUNNING") };
    let judged = |trace, now| judge(&soon, Some(&holds), trace, Time(now));
    assert_eq!(judged(None, 99), TaskVerdict::Seen(Seen::Waiting));
    let running = Seen::Running { since: Time(100), nodes: holds.nodes.clone() };
    assert_eq!(judged(None, 100), TaskVerdict::Seen(running));
    let over = SlurmJob { start: 98, end: 103, ..job("COMPLETED") };
    let code = trace(Some(Exit::Code(0)));
    let verdict = judge(&soon, Some(&over), Some(Some(&code)), Time(200));
    assert_eq!(verdict, ended(Some(102), 103, Exit::Code(0)));
    let called_off = SlurmJob { start: 98, end: 99, ..job("CANCELLED") };
    let waited = Trace { began: None, ..trace(None) };
    let withdrawn = Ticket { is_withdrawn: true, ..soon.clone() };
    let verdict = judge(&withdrawn, Some(&called_off), Some(Some(&waited)), Time(200));
    assert_eq!(verdict, ended(None, 99, Exit::Withdrawn));
}

#[test]
fn reservations_are_known_by_their_names() {
    let pool = |name: &str| crate::site::PoolSetup {
        name: name.to_owned(),
        nodes: 1,
        performance: tradewind_model::Performance::REFERENCE,
        attributes: std::collections::BTreeMap::new(),
    };
    let pools = [pool("cpu"), pool("big-mem")];
    for market in ["m", "a-1", "odd name"] {
        for it in &pools {
            let name = reserve::name(market, 12, &it.name);
            assert!(reserve::is_name(&name, Some(market), &pools), "{name}");
            assert!(reserve::is_name(&name, None, &pools) && !name.contains(' '), "{name}");
            assert!(!reserve::is_name(&name, Some("other"), &pools), "{name}");
        }
    }
    for other in ["owners", "tw-m-x-cpu", "tw-m-1-0-0", "tw-m-1-gpu"] {
        assert!(!reserve::is_name(other, None, &pools), "{other}");
    }
}

#[test]
fn silence_is_told_from_a_refusal() {
    let down = "sbatch: error: Batch job submission failed: Unable to contact slurm controller \
                (connect failure)";
    assert!(is_unanswered(down));
    assert!(is_unanswered("slurm_load_jobs error: Socket timed out on send/recv operation"));
    assert!(!is_unanswered("sbatch: error: invalid partition specified: nope"));
    assert!(!is_unanswered(
        "sbatch: error: Batch job submission failed: Invalid qos specification"
    ));
}

/// A task that was handed in while the clock was ahead is not held for its start.
#[test]
fn a_start_that_a_clock_set_back_will_not_show_soon_holds_nothing_up() {
    let runs = SlurmJob { start: 100, ..job("RUNNING") };
    let judge = |ticket: &Ticket, now| judge(ticket, Some(&runs), None, Time(now));
    let since =
        |at| TaskVerdict::Seen(Seen::Running { since: Time(at), nodes: vec!["a1".to_owned()] });
    let ahead = Ticket { start: 7_310, ..ticket() };
    assert_eq!(judge(&ahead, 110), TaskVerdict::Seen(Seen::Waiting), "it was meant so");
    let set_back = Ticket { handed_in: 7_300_000_000, ..ahead };
    assert_eq!(judge(&set_back, 110), since(100));
    assert_eq!(set_back.start_at(Time(7_295)), 7_310, "a small step changes nothing");
}
