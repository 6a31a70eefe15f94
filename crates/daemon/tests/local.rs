//! The local site where it differs from others: real processes, and what is left of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "local_site/accounts.rs"]
mod accounts;
#[path = "local_site/boots.rs"]
mod boots;
#[path = "local_site/cells.rs"]
mod cells;
#[path = "local_site/hidden.rs"]
mod hidden;
mod local_site;
#[path = "local_site/requests.rs"]
mod requests;
#[path = "local_site/signals.rs"]
mod signals;
#[path = "local_site/terms.rs"]
mod terms;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use local_site::LocalBench;
use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::{Exit, Order, Seen, Verdict};
use tradewind_io::submission::Work;
use tradewind_model::Span;

fn script(text: &str) -> Work {
    Work::Script { text: format!("#!/bin/sh\n{text}\n"), arguments: Vec::new() }
}

/// An order of job 1 that runs this.
fn shell(bench: &mut LocalBench, text: &str) -> Order {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.work = script(text);
    order
}

fn seen(bench: &mut LocalBench) -> Option<Seen> {
    bench.site().survey().unwrap().tasks.remove(&tag(1))
}

/// What happens to the check, within some seconds.
fn soon<T>(mut check: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < end, "it does not happen");
        sleep(Duration::from_millis(5));
    }
}

fn until_running(bench: &mut LocalBench) {
    soon(|| matches!(seen(bench), Some(Seen::Running { .. })).then_some(()));
}

fn until_ended(bench: &mut LocalBench) -> Exit {
    soon(|| match seen(bench) {
        Some(Seen::Ended { exit, .. }) => Some(exit),
        _ => None,
    })
}

fn task_folder(bench: &LocalBench) -> PathBuf {
    bench.settings.folder.join("tasks").join(tag(1).to_string())
}

fn record(bench: &LocalBench, name: &str) -> serde_json::Value {
    let bytes = fs::read(task_folder(bench).join(name)).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn pid(bench: &LocalBench, name: &str, field: &str) -> i64 {
    record(bench, name)[field].as_i64().unwrap()
}

fn lives(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn kill(pid: i64) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Numbers that a task has written to files in its directory.
fn written(bench: &LocalBench, names: &[&str]) -> Vec<i64> {
    let read = |name: &&str| {
        let path = bench.settings.directory.join(name);
        soon(|| fs::read_to_string(&path).ok()?.trim().parse().ok())
    };
    names.iter().map(read).collect()
}

#[test]
fn nothing_of_a_task_remains_after_its_end() {
    let mut bench = LocalBench::new();
    // In its group, out of its group, and a daemon of its own session whose parent is gone.
    let order = shell(
        &mut bench,
        "sleep 300 & echo $! > a\n\
         setsid sleep 300 & echo $! > b\n\
         ( setsid sh -c 'trap \"\" TERM HUP; echo $$ > c; while :; do sleep 1; done' & )\n\
         while [ ! -s c ]; do sleep 0.01; done\n\
         exit 4",
    );
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(4));
    for pid in written(&bench, &["a", "b", "c"]) {
        assert!(!lives(pid), "process {pid} lives on");
    }
}

#[test]
fn a_stubborn_tree_is_killed_after_the_grace() {
    let mut bench = LocalBench::new();
    let order = shell(
        &mut bench,
        "trap '' TERM\nsh -c 'trap \"\" TERM; echo $$ > a; while :; do sleep 1; done' &\nwhile :; do sleep 1; done",
    );
    bench.site().submit(&order).unwrap();
    let pids = written(&bench, &["a"]);
    until_running(&mut bench);
    let began = Instant::now();
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
    assert!(began.elapsed() >= bench.settings.grace, "{:?}", began.elapsed());
    assert!(pids.iter().all(|pid| !lives(*pid)));
}

#[test]
fn a_meek_task_may_put_its_things_away() {
    let mut bench = LocalBench::new();
    bench.settings.grace = Duration::from_secs(30);
    bench.restart();
    let order = shell(
        &mut bench,
        "trap 'echo away > a; exit 0' TERM\necho $$ > b\nwhile :; do sleep 0.02; done",
    );
    bench.site().submit(&order).unwrap();
    written(&bench, &["b"]);
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
    assert_eq!(fs::read_to_string(bench.settings.directory.join("a")).unwrap(), "away\n");
}

#[test]
fn a_task_whose_supervisor_was_killed_is_lost_and_gone() {
    for restarts in [false, true] {
        let mut bench = LocalBench::new();
        let order = shell(&mut bench, "echo $$ > a\nsetsid sleep 300 & echo $! > b\nsleep 300");
        bench.site().submit(&order).unwrap();
        let pids = written(&bench, &["a", "b"]);
        until_running(&mut bench);
        kill(pid(&bench, "begun.json", "supervisor"));
        if restarts {
            bench.restart();
        }
        assert_eq!(until_ended(&mut bench), Exit::Lost);
        for pid in pids {
            soon(|| (!lives(pid)).then_some(()));
        }
        // Its slots are free again, and its tag is spent.
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Lost);
    }
}

#[test]
fn a_task_survives_its_adapter() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "echo $$ > a\nsleep 0.5\nexit 6");
    bench.site().submit(&order).unwrap();
    written(&bench, &["a"]);
    bench.local = None;
    // It ends while no survey is made.
    soon(|| task_folder(&bench).join("ended.json").exists().then_some(()));
    bench.restart();
    assert_eq!(
        seen(&mut bench).map(|seen| matches!(seen, Seen::Ended { exit: Exit::Code(6), .. })),
        Some(true)
    );
}

#[test]
fn a_supervisor_has_a_session_of_its_own() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    let supervisor = pid(&bench, "begun.json", "supervisor");
    let stat = fs::read_to_string(format!("/proc/{supervisor}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let (group, session, terminal) = (fields[2], fields[3], fields[4]);
    assert_eq!(
        (group, session, terminal),
        (&*supervisor.to_string(), &*supervisor.to_string(), "0")
    );
    let environment = fs::read(format!("/proc/{supervisor}/environ")).unwrap();
    assert_eq!(environment, b"");
}

/// A process that only has the number of one that was ours is left alone.
#[test]
fn a_number_that_is_used_again_is_a_stranger() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "sleep 300");
    bench.site().submit(&order).unwrap();
    until_running(&mut bench);
    let task = pid(&bench, "started.json", "pid");
    // Births are given in hundredths of a second.
    sleep(Duration::from_millis(30));
    let mut stranger = Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
    let mut started = record(&bench, "started.json");
    started["pid"] = stranger.id().into();
    fs::write(task_folder(&bench).join("started.json"), started.to_string()).unwrap();
    kill(pid(&bench, "begun.json", "supervisor"));
    assert_eq!(until_ended(&mut bench), Exit::Lost);
    soon(|| (!lives(task)).then_some(()));
    assert!(lives(i64::from(stranger.id())));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    fs::create_dir(to).unwrap();
    for name in names {
        if *name == "wake" {
            assert!(Command::new("mkfifo").arg(to.join("wake")).status().unwrap().success());
        } else {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// The daemon dies between any two steps of a submission: either the task is unknown, and it
/// can be submitted again, or it runs once.
#[test]
fn a_daemon_that_dies_on_the_way_neither_loses_nor_doubles_a_task() {
    // Everything that a submission writes, in its order. What it had written when the daemon
    // died stands in the folder where it makes tasks, or in the place of tasks.
    let steps: [(bool, &[&str]); 6] = [
        (false, &[]),
        (false, &["script"]),
        (false, &["script", "wake"]),
        (false, &["script", "wake", "sheet.json"]),
        (true, &["script", "wake", "sheet.json"]),
        (true, &["script", "wake", "sheet.json", "placed.json"]),
    ];
    for (is_in_place, names) in steps {
        let mut bench = LocalBench::new();
        let order = shell(&mut bench, "echo once >> count");
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Code(0));
        bench.local = None;
        let count = bench.settings.directory.join("count");
        fs::remove_file(&count).unwrap();
        let kept = bench.settings.folder.join("kept");
        fs::rename(task_folder(&bench), &kept).unwrap();
        let place = if is_in_place { "tasks" } else { "incoming" };
        copy(&kept, &bench.settings.folder.join(place).join(tag(1).to_string()), names);
        bench.restart();
        assert_eq!(seen(&mut bench).is_some(), is_in_place, "{names:?}");
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Code(0), "{names:?}");
        bench.restart();
        bench.site().submit(&order).unwrap();
        sleep(Duration::from_millis(50));
        assert_eq!(fs::read_to_string(count).unwrap(), "once\n", "{names:?}");
    }
}

/// Many supervisors for one task: one runs it.
#[test]
fn many_supervisors_run_a_task_once() {
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "echo once >> count\nsleep 0.3");
    bench.site().submit(&order).unwrap();
    let supervisor = || {
        let folder = task_folder(&bench);
        Command::new(&bench.settings.supervisor[0]).arg(folder).spawn().unwrap()
    };
    let others: Vec<_> = (0..8).map(|_| supervisor()).collect();
    for mut other in others {
        other.wait().unwrap();
    }
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let mut late =
        Command::new(&bench.settings.supervisor[0]).arg(task_folder(&bench)).spawn().unwrap();
    late.wait().unwrap();
    let count = fs::read_to_string(bench.settings.directory.join("count")).unwrap();
    assert_eq!(count, "once\n");
}

#[test]
fn what_cannot_begin_says_why() {
    type Spoil = fn(&mut Order);
    let cases: [(&str, Spoil); 3] = [
        ("/not/there", |order| {
            order.surroundings.directory = Some("/not/there".to_owned());
        }),
        ("nowhere/out", |order| {
            order.surroundings.output = Some("nowhere/out".to_owned());
        }),
        ("no-input", |order| {
            order.surroundings.input = Some("no-input".to_owned());
        }),
    ];
    for (names, spoil) in cases {
        let mut bench = LocalBench::new();
        let mut order = shell(&mut bench, "exit 0");
        spoil(&mut order);
        bench.site().submit(&order).unwrap();
        match until_ended(&mut bench) {
            Exit::NotStarted(why) => assert!(why.contains(names), "{names}: {why}"),
            other => panic!("{names}: {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_run_fails_at_once_as_in_a_shell() {
    type Spoil = fn(&mut Order);
    let cases: [(i32, &str, Spoil); 4] = [
        (127, "no-program", |order| {
            order.work = Work::Command(vec!["no-program".to_owned()]);
        }),
        (127, "./no-program", |order| {
            order.work = Work::Command(vec!["./no-program".to_owned()]);
        }),
        (126, "/etc", |order| {
            order.work = Work::Command(vec!["/etc".to_owned()]);
        }),
        (127, "script", |order| {
            order.work = Work::Script { text: "#!/no/such\n".to_owned(), arguments: Vec::new() };
        }),
    ];
    for (code, names, spoil) in cases {
        let mut bench = LocalBench::new();
        let mut order = shell(&mut bench, "exit 0");
        spoil(&mut order);
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Code(code), "{names}");
        let said = bench.site().output(&order.tag, 999).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("tradewind: ") && said.contains(names), "{names}: {said}");
    }
}

#[test]
fn a_supervisor_that_does_not_start_is_given_up() {
    let mut bench = LocalBench::new();
    bench.settings.supervisor = vec![PathBuf::from("/no/such/supervisor")];
    bench.restart();
    let order = shell(&mut bench, "exit 0");
    bench.site().submit(&order).unwrap();
    match until_ended(&mut bench) {
        Exit::NotStarted(why) => assert!(why.contains("/no/such/supervisor"), "{why}"),
        other => panic!("{other:?}"),
    }
    let findings = bench.site().doctor();
    assert!(
        findings
            .iter()
            .any(|finding| finding.verdict == Verdict::Bad && !finding.remedy.is_empty())
    );
}

#[test]
fn files_are_where_their_patterns_say() {
    let mut bench = LocalBench::new();
    let mut order = shell(
        &mut bench,
        "cat; echo told >&2; pwd > where; echo $TRADEWIND_NODES $MY_NODES > nodes",
    );
    fs::write(bench.settings.directory.join("in-1"), "given\n").unwrap();
    order.name = "a/b".to_owned();
    order.nodes = 2;
    order.surroundings.output = Some("%x-%4j-%A_%a-%t-%%-%q.out".to_owned());
    order.surroundings.error = Some("%u.err".to_owned());
    order.surroundings.input = Some("in-%j".to_owned());
    order.variables.insert("SLURM_ARRAY_JOB_ID".to_owned(), "77".to_owned());
    order.variables.insert("SLURM_ARRAY_TASK_ID".to_owned(), "3".to_owned());
    order.variables.insert("MY_NODES".to_owned(), "%N".to_owned());
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let read = |name: &str| fs::read_to_string(bench.settings.directory.join(name)).unwrap();
    assert_eq!(read("a_b-0001-77_3-0-%-%q.out"), "given\n");
    assert_eq!(read("somebody.err"), "told\n");
    assert_eq!(read("nodes"), "cpu/0,cpu/1 cpu/0,cpu/1\n");
    let directory = fs::canonicalize(&bench.settings.directory).unwrap();
    assert_eq!(read("where").trim(), directory.to_str().unwrap());
}

/// Its user knows no other, and in a shared folder another job of its home may have the number here.
#[test]
fn files_of_a_peers_job_have_its_number_at_home_in_their_names() {
    let mut bench = LocalBench::new();
    let mut order = shell(&mut bench, "echo told");
    order.surroundings.output = Some("%j-%A.out".to_owned());
    order.variables.insert("TRADEWIND_HOME_JOB_ID".to_owned(), "12".to_owned());
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let told = fs::read_to_string(bench.settings.directory.join("12-12.out")).unwrap();
    assert_eq!(told, "told\n");
}

/// Nothing of our own environment but what every program needs.
#[test]
fn a_task_does_not_see_the_daemons_secrets() {
    const SECRET: &str = "TRADEWIND_TEST_SECRET";
    if std::env::var_os(SECRET).is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "a_task_does_not_see_the_daemons_secrets"]).env(SECRET, "yes");
        again.env_remove("USER");
        assert!(again.status().unwrap().success());
        return;
    }
    let mut bench = LocalBench::new();
    let order = shell(&mut bench, "env | sed 's/=.*//' | sort > names");
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let text = fs::read_to_string(bench.settings.directory.join("names")).unwrap();
    let known: BTreeSet<&str> =
        "PATH HOME USER LOGNAME SHELL LANG LC_ALL TZ TMPDIR SLURM_SUBMIT_DIR TRADEWIND_NODES \
        TRADEWIND_TASK_FOLDER PWD OLDPWD SHLVL _"
            .split_whitespace()
            .collect();
    let more: Vec<&str> = text.lines().filter(|name| !known.contains(name)).collect();
    assert!(more.is_empty(), "{more:?}");
    // Scripts of Slurm's users read these.
    for name in ["SLURM_SUBMIT_DIR", "USER"] {
        assert!(text.lines().any(|line| line == name), "{name}");
    }
}

#[test]
fn a_file_of_the_owners_that_cannot_be_read_takes_everything() {
    let mut bench = LocalBench::new();
    let path = bench.local.as_ref().unwrap().owner_folder().join("mine");
    fs::write(&path, "{\"pool\": \"cpu\", \"slo").unwrap();
    let order = shell(&mut bench, "exit 0");
    bench.site().submit(&order).unwrap();
    sleep(Duration::from_millis(50));
    let survey = bench.site().survey().unwrap();
    assert_eq!(survey.tasks[&tag(1)], Seen::Waiting);
    assert_eq!(survey.pools[0].local["mine"].nodes, 8);
    assert_eq!(survey.pools[1].local["mine"].nodes, 2);
    let findings = bench.site().doctor();
    assert!(
        findings
            .iter()
            .any(|finding| finding.found.contains("mine") && finding.verdict == Verdict::Warning)
    );
    // A job that is to come, one that is over, and one that has what it wants.
    let now = bench.now().0;
    fs::write(
        &path,
        format!(
            "{{\"pool\": \"cpu\", \"slots\": 8, \"from\": {}, \"until\": {}}}",
            now + 500,
            now + 600
        ),
    )
    .unwrap();
    fs::write(
        path.with_file_name("over"),
        "{\"pool\": \"cpu\", \"slots\": 8, \"from\": 5, \"until\": 6}",
    )
    .unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(0));
    let local = &bench.site().survey().unwrap().pools[0].local;
    assert_eq!(local.keys().collect::<Vec<_>>(), ["mine"]);
    assert_eq!(local["mine"].from.0, now + 500);
}

#[test]
fn two_adapters_do_not_share_a_folder() {
    let mut bench = LocalBench::new();
    let second = tradewind_daemon::site::local::Local::open(bench.settings.clone());
    assert!(second.unwrap_err().to_string().contains("another process"));
    bench.restart();
}

#[test]
fn the_doctor_finds_a_healthy_site_healthy() {
    let mut bench = LocalBench::new();
    for finding in bench.site().doctor() {
        assert!(finding.verdict != Verdict::Bad, "{finding:?}");
        assert_eq!(finding.remedy.is_empty(), finding.verdict == Verdict::Good, "{finding:?}");
    }
}

/// Withdrawn at any moment of its beginning, a task ends, and has run at most once.
#[test]
fn withdrawal_at_any_moment() {
    for delay in 0..24 {
        let mut bench = LocalBench::new();
        let order = shell(&mut bench, "echo once >> count\nsleep 300");
        bench.site().submit(&order).unwrap();
        sleep(Duration::from_micros(delay * 500));
        if delay % 3 == 0 {
            bench.restart();
        }
        bench.site().withdraw(&order.tag).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
        let count = fs::read_to_string(bench.settings.directory.join("count")).unwrap_or_default();
        assert!(count.is_empty() || count == "once\n", "{count:?}");
    }
}

/// How long things take; run by hand.
#[test]
#[ignore = "a measurement"]
fn latencies() {
    let mut bench = LocalBench::with(1_000);
    let median = |mut all: Vec<Duration>| {
        all.sort();
        (all[all.len() / 2], all[all.len() - 1])
    };
    let mut submissions = Vec::new();
    for job in 0..1_000 {
        let mut order = order(&mut bench, job, &TaskBehaviour::Exit { after: 300, code: 0 });
        order.limit = Span(600);
        let began = Instant::now();
        bench.site().submit(&order).unwrap();
        submissions.push(began.elapsed());
    }
    println!("submit: {:?} (median, most)", median(submissions));
    let running = |bench: &mut LocalBench| {
        let tasks = bench.site().survey().unwrap().tasks;
        tasks.values().filter(|seen| matches!(seen, Seen::Running { .. })).count()
    };
    soon(|| (running(&mut bench) == 1_000).then_some(()));
    let time = |bench: &mut LocalBench| {
        let began = Instant::now();
        bench.site().survey().unwrap();
        began.elapsed()
    };
    let surveys = (0..20).map(|_| time(&mut bench)).collect();
    println!("survey of 1,000 that run: {:?}", median(surveys));
    let began = Instant::now();
    bench.restart();
    println!("restart: {:?}", began.elapsed());
    let surveys = (0..20).map(|_| time(&mut bench)).collect();
    println!("survey of 1,000 that run, adopted: {:?}", median(surveys));
    let began = Instant::now();
    for job in 0..1_000 {
        bench.site().withdraw(&tag(job)).unwrap();
    }
    println!("1,000 withdrawals: {:?}", began.elapsed());
    let over = |bench: &mut LocalBench| {
        let tasks = bench.site().survey().unwrap().tasks;
        tasks.values().filter(|seen| matches!(seen, Seen::Ended { .. })).count()
    };
    soon(|| (over(&mut bench) == 1_000).then_some(()));
    println!("all over: {:?}", began.elapsed());
    let surveys = (0..20).map(|_| time(&mut bench)).collect();
    println!("survey of 1,000 that ended: {:?}", median(surveys));
    let mut ends = Vec::new();
    for job in 2_000..2_020 {
        let order = order(&mut bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        let began = Instant::now();
        bench.site().submit(&order).unwrap();
        soon(|| {
            let seen = bench.site().survey().unwrap().tasks.remove(&tag(job));
            matches!(seen, Some(Seen::Ended { .. })).then_some(())
        });
        ends.push(began.elapsed());
    }
    let mut delays = Vec::new();
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    for job in 3_000..3_020 {
        let mut order = order(&mut bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.work = script("date +%s%N > end");
        bench.site().submit(&order).unwrap();
        soon(|| {
            let seen = bench.site().survey().unwrap().tasks.remove(&tag(job));
            matches!(seen, Some(Seen::Ended { .. })).then_some(())
        });
        let end = fs::read_to_string(bench.settings.directory.join("end")).unwrap();
        delays.push(clock() - Duration::from_nanos(end.trim().parse().unwrap()));
    }
    println!("from the end to its being seen, looked at every 5 ms: {:?}", median(delays));
    println!("from submission to an end that is seen, looked at every 5 ms: {:?}", median(ends));
}
