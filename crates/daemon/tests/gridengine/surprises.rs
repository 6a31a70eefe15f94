//! What Grid Engine does that one would not expect, each by name.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::{Aside, Exit, Go, Seen, SiteError, Verdict};
use tradewind_io::settings::cluster::Mode;
use tradewind_io::submission::Append;
use tradewind_model::Span;

use crate::bench::GridBench;
use crate::fixture::Daemon;

fn seen(bench: &mut GridBench, job: u64) -> Option<Seen> {
    bench.site().survey().unwrap().tasks.remove(&tag(job))
}

pub(crate) fn until_ended(bench: &mut GridBench, job: u64) -> Exit {
    let last =
        bench.until(20, |bench| seen(bench, job), |seen| matches!(seen, Some(Seen::Ended { .. })));
    match last {
        Some(Seen::Ended { exit, .. }) => exit,
        other => unreachable!("{other:?}"),
    }
}

pub(crate) fn until_running(bench: &mut GridBench, job: u64) {
    bench.until(20, |bench| seen(bench, job), |seen| matches!(seen, Some(Seen::Running { .. })));
}

/// What is listed of our own jobs.
fn listed(bench: &mut GridBench) -> String {
    bench.cluster.must(&["qstat", "-u", "*"], "")
}

/// Whatever `-r n` says, a job that ends with 99 runs again and one that ends with 100 is halted.
#[test]
fn exit_codes_99_and_100_are_not_special() {
    let mut bench = GridBench::new();
    for code in [99, 100, 98] {
        let mut order = order(&mut bench, u64::from(code), &TaskBehaviour::Exit { after: 0, code });
        order.surroundings.append = Append::Append;
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench, u64::from(code)), Exit::Code(i32::from(code)));
    }
    bench.until(10, listed, |listed| !listed.contains("tw-suite"));
}

/// `#$` begins an option in any line of a script, also one from standard input.
#[test]
fn a_users_script_gives_the_manager_no_options() {
    let mut bench = GridBench::new();
    let text = "hello\n#$ -h\n#$ -q other.q\n#$ -t 1-5\n";
    let order = order(&mut bench, 1, &TaskBehaviour::Say(text.to_owned(), 0));
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(0));
    assert_eq!(bench.site().output(&order.tag, 1_000).unwrap(), text.as_bytes());
}

/// The accounting has an exit code of 0 for nothing and reports signals, some seconds late.
#[test]
fn a_running_task_that_a_user_deletes_was_killed() {
    let mut bench = GridBench::new();
    bench.patience = std::time::Duration::from_secs(15);
    bench.restart();
    let order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 30, code: 0 });
    bench.site().submit(&order).unwrap();
    until_running(&mut bench, 1);
    bench.cluster.must(&["qdel", &order.tag.to_string()], "");
    assert_eq!(until_ended(&mut bench, 1), Exit::Signal(9));
}

/// A waiting job that is deleted leaves no record at all.
#[test]
fn a_waiting_task_that_a_user_deletes_is_lost_and_never_runs() {
    let mut bench = GridBench::new();
    let mut order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.start = order.start + Span(3_600);
    bench.site().submit(&order).unwrap();
    assert_eq!(seen(&mut bench, 1), Some(Seen::Waiting));
    bench.cluster.must(&["qdel", &order.tag.to_string()], "");
    assert_eq!(until_ended(&mut bench, 1), Exit::Lost);
    bench.site().submit(&order).unwrap();
    assert!(!listed(&mut bench).contains("tw-suite"));
}

/// Such a job stays in the queue for ever, as `Eqw`.
#[test]
fn a_job_in_error_did_not_start_and_goes() {
    let mut bench = GridBench::new();
    bench.cluster.must(&["qconf", "-rattr", "queue", "starter_method", "/no/such", "main.q"], "");
    let order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    bench.site().submit(&order).unwrap();
    let exit = until_ended(&mut bench, 1);
    assert!(
        matches!(&exit, Exit::NotStarted(why) if why == "unable to find shell \"/no/such\""),
        "{exit:?}"
    );
    bench.site().survey().unwrap();
    bench.until(10, listed, |listed| !listed.contains("tw-suite"));
}

#[test]
fn a_missing_directory_is_reported() {
    let mut bench = GridBench::new();
    let mut order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.surroundings.directory = Some("/no/such/place".to_owned());
    bench.site().submit(&order).unwrap();
    let exit = until_ended(&mut bench, 1);
    assert!(matches!(&exit, Exit::NotStarted(why) if why.contains("/no/such/place")), "{exit:?}");
}

#[test]
fn what_no_queue_can_run_is_refused_and_leaves_nothing() {
    let mut bench = GridBench::with(|settings| {
        settings.cluster.options.push(("l".to_owned(), "mem_total=900G".to_owned()));
    });
    let order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    let answer = bench.site().submit(&order);
    assert!(
        matches!(&answer, Err(SiteError::Refused(why)) if why.contains("no suitable queues")),
        "{answer:?}"
    );
    assert_eq!(seen(&mut bench, 1), None);
    assert!(!listed(&mut bench).contains("tw-suite"));
}

#[test]
fn a_disabled_queue_is_not_up() {
    let mut bench = GridBench::new();
    let up = |bench: &mut GridBench| -> Vec<u32> {
        bench.site().survey().unwrap().pools.iter().map(|pool| pool.up).collect()
    };
    assert_eq!(up(&mut bench), [8, 2]);
    bench.cluster.must(&["qmod", "-d", "main.q"], "");
    assert_eq!(up(&mut bench), [0, 2]);
    bench.cluster.must(&["qmod", "-e", "main.q"], "");
    assert_eq!(up(&mut bench), [8, 2]);
    // A queue that is gone altogether is empty; the others are as they were.
    bench.cluster.must(&["qconf", "-dq", "other.q"], "");
    assert_eq!(up(&mut bench), [8, 0]);
}

/// `<` in a job's name comes as `%lt;`, and yet the answer must be read.
#[test]
fn owners_jobs_may_be_called_anything() {
    let mut bench = GridBench::new();
    bench.cluster.owners_job("a<b>&\"c\"", 3, 40);
    let local = |bench: &mut GridBench| bench.site().survey().unwrap().pools.remove(0).local;
    let local = bench.until(10, local, |local| local.len() == 1);
    let task = local["job 1"];
    assert_eq!((task.nodes, task.until - task.from), (3, Span(40)));
}

/// Its slots count as used and as reserved.
#[test]
fn a_job_in_the_owners_reservation_is_counted_once() {
    let mut bench = GridBench::new();
    bench.cluster.must(&["qrsub", "-d", "60", "-pe", "units", "5", "-q", "main.q"], "");
    let argv = ["qsub", "-ar", "1", "-S", "/bin/sh", "-pe", "units", "2", "-l", "h_rt=50"];
    let argv: Vec<&str> =
        argv.into_iter().chain(["-o", "/dev/null", "-j", "y", "-wd", "/"]).collect();
    bench.cluster.must(&argv, "exec sleep 40\n");
    let local = |bench: &mut GridBench| -> BTreeMap<String, u32> {
        let local = bench.site().survey().unwrap().pools.remove(0).local;
        local.into_iter().map(|(name, task)| (name, task.nodes)).collect()
    };
    let wanted = BTreeMap::from([("job 1".to_owned(), 2), ("reservation 1".to_owned(), 3)]);
    bench.until(10, local, |local| *local == wanted);
}

fn aside(bench: &mut GridBench, job: u64, nodes: u32, from: i64, length: i64) -> Aside {
    let from = bench.now() + Span(from);
    let until = from + Span(length);
    let (market, pool) = ("suite".to_owned(), "main".to_owned());
    Aside { market, job, user: "ana".to_owned(), pool, nodes, from, until }
}

/// Reserved nodes are the job's, whatever other jobs wait; giving a reservation up would kill
/// the jobs in it, so that of a running task stays until the task is over.
#[test]
fn a_reservation_keeps_nodes_free_and_is_not_given_up_under_a_task() {
    let mut bench = GridBench::with(|settings| settings.cluster.mode = Mode::Reservation);
    let first = aside(&mut bench, 1, 6, 8, 60);
    let second = aside(&mut bench, 2, 6, 8, 60);
    let third = aside(&mut bench, 3, 8, 500, 60);
    let wanted = [first.clone(), second, third.clone()];
    let denied = bench.site().set_aside("suite", &wanted).unwrap();
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert!(denied[0].0 == 2 && denied[0].1.contains("no suitable queues"), "{denied:?}");
    assert!(bench.site().survey().unwrap().pools[0].local.is_empty());
    // The owner's job would take the nodes, and waits.
    bench.cluster.owners_job("owners", 8, 30);
    let mut task = order(&mut bench, 1, &TaskBehaviour::Exit { after: 30, code: 0 });
    (task.aside, task.nodes, task.start, task.limit) = (true, 6, first.from, Span(50));
    bench.site().submit(&task).unwrap();
    until_running(&mut bench, 1);
    let denied = bench.site().set_aside("suite", &[]).unwrap();
    assert!(denied.is_empty(), "{denied:?}");
    let reserved = |bench: &mut GridBench| bench.cluster.must(&["qrstat", "-u", "*"], "");
    bench.until(10, reserved, |all| !all.contains("tw-suite-3"));
    assert!(reserved(&mut bench).contains("tw-suite-1"));
    assert!(matches!(seen(&mut bench, 1), Some(Seen::Running { .. })));
    bench.site().withdraw(&task.tag).unwrap();
    assert_eq!(until_ended(&mut bench, 1), Exit::Withdrawn);
    bench.site().set_aside("suite", &[]).unwrap();
    bench.until(10, reserved, |all| !all.contains("tw-suite"));
}

/// Reserving checks and takes in one step; the reservation goes when its job is over.
#[test]
fn with_reservations_a_job_whose_nodes_are_taken_is_refused_at_once() {
    let mut bench = GridBench::with(|settings| settings.cluster.mode = Mode::Reservation);
    let mut first = order(&mut bench, 1, &TaskBehaviour::Exit { after: 1, code: 3 });
    first.nodes = 5;
    bench.site().submit(&first).unwrap();
    let mut second = order(&mut bench, 2, &TaskBehaviour::Exit { after: 0, code: 0 });
    second.nodes = 4;
    let answer = bench.site().submit(&second);
    assert!(
        matches!(&answer, Err(SiteError::Refused(why)) if why.contains("no suitable queues")),
        "{answer:?}"
    );
    bench.site().set_aside("suite", &[]).unwrap();
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(3));
    bench.site().set_aside("suite", &[]).unwrap();
    bench.until(
        20,
        |bench| bench.cluster.must(&["qrstat", "-u", "*"], ""),
        |all| !all.contains("tw-suite"),
    );
}

/// One reservation of whole hosts, and a job that runs on all of them.
#[test]
fn a_reservation_spans_hosts() {
    let mut bench = GridBench::whole_with(|settings| settings.cluster.mode = Mode::Reservation);
    let mut wide = order(&mut bench, 1, &TaskBehaviour::Exit { after: 10, code: 0 });
    wide.nodes = 3;
    bench.site().submit(&wide).unwrap();
    let hosts = bench.until(
        20,
        |bench| bench.site().survey().unwrap().placed.remove(&wide.tag).unwrap_or_default(),
        |hosts| !hosts.is_empty(),
    );
    assert_eq!(BTreeSet::from_iter(&hosts).len(), 3, "{hosts:?}");
    // Two hosts are not free: that is said at once.
    let mut second = order(&mut bench, 2, &TaskBehaviour::Exit { after: 0, code: 0 });
    second.nodes = 2;
    let answer = bench.site().submit(&second);
    assert!(matches!(&answer, Err(SiteError::Refused(_))), "{answer:?}");
    until_ended(&mut bench, 1);
}

#[test]
fn tasks_gather_until_they_may_go() {
    let mut bench = GridBench::new();
    let mut tasks = Vec::new();
    for (job, gather) in [(1, 60), (2, 1)] {
        let mut order =
            order(&mut bench, job, &TaskBehaviour::ShowVariables(vec!["PEERS".to_owned()]));
        order.gather = Some(Span(gather));
        bench.site().submit(&order).unwrap();
        tasks.push(order.tag);
    }
    until_running(&mut bench, 1);
    assert_eq!(until_ended(&mut bench, 2), Exit::Withdrawn);
    assert!(bench.site().survey().unwrap().began.is_empty());
    let at = bench.now() + Span(5);
    let variables = BTreeMap::from([("PEERS".to_owned(), "it's \"b\"".to_owned())]);
    bench.site().go(&tasks[0], &Go { at, variables }).unwrap();
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(0));
    let began = bench.site().survey().unwrap().began;
    let late = began[&tasks[0]] - at.0 * 1_000;
    assert!((0..5_000).contains(&late), "began {late} ms late");
    assert_eq!(bench.site().output(&tasks[0], 100).unwrap(), b"it's \"b\"\0");
}

#[test]
fn the_doctor_names_what_is_wrong() {
    let mut bench = GridBench::with(|settings| settings.cluster.mode = Mode::Reservation);
    let ill = |bench: &mut GridBench| -> Vec<String> {
        let all = bench.site().doctor();
        let ill = all.into_iter().filter(|one| one.verdict != Verdict::Good);
        ill.map(|one| format!("{}: {} ({})", one.what, one.found, one.remedy)).collect()
    };
    let found = bench.until(60, ill, |found| found.len() == 1);
    // Daemons of a plain user cannot mark processes.
    assert!(found.len() == 1 && found[0].contains("ENABLE_ADDGRP_KILL"), "{found:#?}");
    bench.settings.pools[0].1.partition = Some("man.q".to_owned());
    bench.settings.cluster.options = vec![("pe".to_owned(), "mpi".to_owned())];
    bench.restart();
    let found = ill(&mut bench).join("\n");
    assert!(
        found.contains("man.q: `qstat -f` lists no such queue") && found.contains("main.q@ge1"),
        "{found}"
    );
    assert!(found.contains("environment mpi") && found.contains("qconf -spl"), "{found}");
    bench.cluster.signal(Daemon::Master, "KILL");
    let found = bench.until(10, ill, |found| found.len() == 1);
    assert!(found[0].contains("site grid") && found[0].contains("start sge_qmaster"), "{found:?}");
}

/// Brought as the user before, taken away after; what cannot be brought refuses the task.
#[test]
fn files_are_brought_and_taken_away() {
    let mut bench = GridBench::with(|settings| {
        let touch = |name: &str| vec!["touch".to_owned(), format!("{{directory}}/{name}-{{job}}")];
        settings.cluster.stage_in = vec![touch("in")];
        settings.cluster.stage_out = vec![touch("out")];
    });
    let first = order(&mut bench, 7, &TaskBehaviour::Exit { after: 0, code: 0 });
    bench.site().submit(&first).unwrap();
    assert!(bench.cluster.path("work/in-7").exists());
    assert_eq!(until_ended(&mut bench, 7), Exit::Code(0));
    // It is taken away beside all else.
    let began = std::time::Instant::now();
    while !bench.cluster.path("work/out-7").exists() {
        assert!(began.elapsed().as_secs() < 60, "its files were not taken away");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let mut second = order(&mut bench, 8, &TaskBehaviour::Exit { after: 0, code: 0 });
    second.surroundings.directory = Some("/no/such/place".to_owned());
    let answer = bench.site().submit(&second);
    assert!(
        matches!(&answer, Err(SiteError::Refused(why)) if why.contains("No such file")),
        "{answer:?}"
    );
    assert_eq!(seen(&mut bench, 8), None);
}
