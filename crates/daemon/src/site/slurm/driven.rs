//! The driver under a Slurm made of a few lines of shell: what it does when Slurm says what real
//! controllers say only after a crash.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tradewind_io::settings::cluster::{Accounts, Cluster, Members};
use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Performance, Span, Time};

use super::ManagedSettings;
use crate::site::{Exit, Order, PoolSetup, Seen, Site, Tag};

/// `sbatch` keeps the script and the comment; `squeue` lists one job with this comment, in the state
/// that a file has. Configuration and accounting are files, too. Everything else runs as it is.
const SLURM: &str = r#"#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/calls"
# Commands come behind `env` and variables.
while case $1 in env | *=*) ;; *) false ;; esac; do shift; done
case $1 in
sbatch)
    for word in "$@"; do case $word in --comment=*) echo "${word#*=}" >"$here/comment" ;; esac; done
    cat >"$here/script"
    echo 5
    ;;
squeue)
    cat <<END
{"errors": [], "jobs": [{"job_id": 5, "comment": "$(cat "$here/comment")", "user_name": "$(id -un)",
"job_state": "$(cat "$here/state")", "state_reason": "None", "submit_time": 100, "start_time": 110,
"end_time": 171, "partition": "main", "nodes": "a1", "cpus": 4, "exit_code": 0}]}
END
    ;;
scontrol)
    case "$*" in
    *nodes*) echo "NodeName=a1 CPUTot=4 State=IDLE Partitions=main RealMemory=4000" ;;
    *reservation*) echo "No reservations in the system" ;;
    *config*) cat "$here/config" 2>/dev/null ;;
    esac
    ;;
sacct) cat "$here/accounting" ;;
*) exec "$@" ;;
esac
"#;

fn site(folder: &Path) -> Box<dyn Site> {
    super::open(settings(folder)).unwrap()
}

fn settings(folder: &Path) -> ManagedSettings {
    let program = folder.join("slurm");
    fs::write(&program, SLURM).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let cluster = Cluster {
        command: vec![text(&program)],
        user_command: vec![text(&program)],
        accounts: Accounts::Of([("ana".to_owned(), whoami())].into()),
        directory: text(folder),
        spool: text(&folder.join("spool")),
        timeout: Span(60),
        ..Cluster::default()
    };
    let setup = PoolSetup {
        name: "cpu".to_owned(),
        nodes: 1,
        performance: Performance::REFERENCE,
        attributes: std::collections::BTreeMap::new(),
    };
    let members = Members { partition: Some("main".to_owned()), ..Members::default() };
    let folder = folder.join("site");
    let pools = vec![(setup, members)];
    ManagedSettings { name: "here".to_owned(), folder, cluster, pools }
}

fn whoami() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn order(folder: &Path) -> Order {
    let text = format!("#!/bin/sh\necho ran >>{}/ran\n", folder.display());
    Order {
        tag: Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 },
        name: "name".to_owned(),
        user: "ana".to_owned(),
        pool: "cpu".to_owned(),
        nodes: 1,
        start: Time(0),
        aside: false,
        gather: None,
        limit: Span(20),
        data: None,
        work: Work::Script { text, arguments: Vec::new() },
        surroundings: Surroundings::default(),
        variables: std::collections::BTreeMap::new(),
        on_lost: OnLost::Rerun,
        is_preemptible: false,
        passed_through: Vec::new(),
    }
}

/// Slurm started the job while its controller was killed, and ended it at its limit; no node ever
/// ran its script.
#[test]
fn a_job_whose_script_never_ran_ends_unbegun_and_never_begins_later() {
    let folder = TempDir::new().unwrap();
    let mut site = site(folder.path());
    let order = order(folder.path());
    fs::write(folder.path().join("state"), "RUNNING").unwrap();
    site.submit(&order).unwrap();
    let seen = site.survey().unwrap().tasks.remove(&order.tag).unwrap();
    assert!(matches!(seen, Seen::Running { .. }), "Slurm says so: {seen:?}");
    fs::write(folder.path().join("state"), "TIMEOUT").unwrap();
    let seen = site.survey().unwrap().tasks.remove(&order.tag).unwrap();
    let is_free = matches!(&seen, Seen::Ended { since: None, exit: Exit::Refused(_), .. });
    assert!(is_free, "its work never ran, and it may be submitted again: {seen:?}");
    // A node that was only slow comes with the script after all.
    let late = Command::new("/bin/sh").arg(folder.path().join("script")).status().unwrap();
    assert!(late.success() && !folder.path().join("ran").exists());
}

/// The same, but a node has the script, and its first line comes before our claim.
#[test]
fn a_job_whose_script_is_there_after_all_is_not_given_up() {
    let folder = TempDir::new().unwrap();
    let mut site = site(folder.path());
    let order = order(folder.path());
    fs::write(folder.path().join("state"), "RUNNING").unwrap();
    site.submit(&order).unwrap();
    let ran = Command::new("/bin/sh").arg(folder.path().join("script")).status().unwrap();
    assert!(ran.success() && folder.path().join("ran").exists());
    fs::write(folder.path().join("state"), "TIMEOUT").unwrap();
    let seen = site.survey().unwrap().tasks.remove(&order.tag).unwrap();
    let is_done = matches!(seen, Seen::Ended { since: Some(_), exit: Exit::Code(0), .. });
    assert!(is_done, "{seen:?}");
}

/// Without `user_command` all jobs run as one account: the market places no others there.
#[test]
fn the_only_account_that_can_run_jobs_is_known_beforehand() {
    let folder = TempDir::new().unwrap();
    let only = |user_command: Option<Vec<String>>| {
        let mut settings = settings(folder.path());
        settings.cluster.accounts = Accounts::Same;
        settings.cluster.user_command = user_command.unwrap_or(settings.cluster.user_command);
        let limits = super::open(settings).unwrap().survey().unwrap().limits.unwrap();
        limits.only.clone()
    };
    assert_eq!(only(Some(Vec::new())), Some(whoami()));
    assert_eq!(only(None), None);
}

/// Words with which commands begin that only look.
const LOOKS: [&str; 7] = ["squeue", "scontrol", "sacct", "sacctmgr", "sdiag", "date", "id"];

#[test]
fn an_observed_cluster_gets_no_command_that_changes_anything() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("comment"), "a comment").unwrap();
    fs::write(folder.path().join("state"), "PENDING").unwrap();
    let mut site = super::observe(settings(folder.path())).unwrap();
    for state in ["PENDING", "RUNNING", "TIMEOUT"] {
        fs::write(folder.path().join("state"), state).unwrap();
        site.survey(Some(Time(0))).unwrap();
    }
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    let plain = |line: &str| {
        let mut words = line.split(' ').skip_while(|it| *it == "env" || it.contains('='));
        let looks = words.next().is_some_and(|word| LOOKS.contains(&word));
        let words: Vec<&str> = words.collect();
        let changes = ["update", "create", "delete", "hold", "release", "requeue", "add", "modify"];
        looks && !words.iter().any(|word| changes.contains(word))
    };
    let other: Vec<&str> = calls.lines().filter(|line| !plain(line)).collect();
    assert!(calls.lines().count() >= 9 && other.is_empty(), "{other:?} of {calls}");
    assert!(!folder.path().join("spool").exists());
}

/// Its surveys would settle them.
#[test]
fn a_cluster_with_tasks_of_a_market_is_not_observed_from_the_same_folder() {
    let folder = TempDir::new().unwrap();
    site(folder.path()).submit(&order(folder.path())).unwrap();
    let refused = super::observe(settings(folder.path())).unwrap_err();
    assert!(refused.to_string().contains("has tasks of a market"), "{refused}");
}

/// The accounting is asked only for a time of which the controller may have forgotten jobs; where there
/// is none, or it does not answer, that time is counted.
#[test]
fn jobs_that_are_not_listed_any_more_are_looked_for_in_the_accounting() {
    let row = |id: u32, state: &str, nodes: &str| {
        let times = "1970-01-01T00:01:40|1970-01-01T00:01:50|1970-01-01T00:02:30";
        format!("{id}|eve|phys|main|{state}|{times}|1|4|5|{nodes}\n")
    };
    // Job 5 is listed, too; 7 never ran, 8 still does, and 9 is of another partition.
    let elsewhere = row(9, "FAILED", "a1").replace("main", "other");
    let rows = [row(5, "COMPLETED", "a1"), row(6, "FAILED", "a1"), row(8, "RUNNING", "a1")];
    let rows = rows.concat() + &row(7, "CANCELLED by 0", "None assigned") + &elsewhere;
    for (storage, listed, answer, found, unwatched) in [
        ("accounting_storage/slurmdbd", 120, Some(&rows), vec!["5", "6"], 0),
        ("accounting_storage/slurmdbd", 120, None, vec!["5"], 480),
        ("(null)", 120, Some(&rows), vec!["5"], 480),
        ("accounting_storage/slurmdbd", 900, Some(&rows), vec!["5"], 0),
        ("accounting_storage/slurmdbd", 0, Some(&rows), vec!["5"], 0),
    ] {
        let folder = TempDir::new().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("comment", "a comment");
        write("state", "TIMEOUT");
        write("config", &format!("AccountingStorageType = {storage}\nMinJobAge = {listed} sec\n"));
        if let Some(answer) = answer {
            write("accounting", answer);
        }
        let mut site = super::observe(settings(folder.path())).unwrap();
        let first = site.survey(None).unwrap();
        assert_eq!((first.ended.len(), first.unwatched), (1, Span(0)));
        let calls = || fs::read_to_string(folder.path().join("calls")).unwrap();
        assert!(!calls().contains("sacct "), "{}", calls());
        let since = crate::site::clock::now() - Span(600);
        let second = site.survey(Some(since)).unwrap();
        let names: Vec<&str> = second.ended.iter().map(|it| it.job.name.as_str()).collect();
        let off = second.unwatched.0 - unwatched;
        assert!(names == found && (0..=60).contains(&off), "{listed}: {second:#?}");
        let is_asked = storage.ends_with("slurmdbd") && listed == 120;
        assert_eq!(calls().contains("sacct --allusers -XnP --starttime=now-6"), is_asked);
        if let Some(last) = second.ended.get(1) {
            let job = &last.job;
            assert_eq!((last.start, last.end, job.limit), (Time(110), Time(150), Span(300)));
            assert_eq!((job.nodes, job.user.as_deref(), job.tasks), (1, Some("eve"), 1));
        }
    }
}

/// A cluster that was not reached for days: the accounting is asked for the last day.
#[test]
fn a_long_absence_is_made_up_for_in_part() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("comment", "a comment");
    write("state", "TIMEOUT");
    write("config", "AccountingStorageType = accounting_storage/slurmdbd\nMinJobAge = 300 sec\n");
    write("accounting", "");
    let mut site = super::observe(settings(folder.path())).unwrap();
    let since = crate::site::clock::now() - Span(3 * 86_400);
    let seen = site.survey(Some(since)).unwrap();
    assert!((0..60).contains(&(seen.unwatched.0 - 2 * 86_400)), "{:?}", seen.unwatched);
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    assert!(calls.contains("--starttime=now-86430seconds"), "{calls}");
}
