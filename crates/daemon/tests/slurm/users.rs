//! Jobs run as their own users, and none reaches another's.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, OrderData, Seen, SiteError, Verdict};
use tradewind_io::settings::cluster::Accounts;
use tradewind_io::submission::Work;
use tradewind_model::{JobData, Span, StageTimes};

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{sleeps, until_ended, until_running};

/// Accounts that every Debian has, and no process uses.
const ACCOUNTS: [&str; 2] = ["games", "news"];

#[test]
fn two_users_cannot_reach_each_others_jobs() {
    if !rustix::process::geteuid().is_root() {
        return as_root("users::two_users_cannot_reach_each_others_jobs");
    }
    let cluster = Cluster::start(&Plan::of("t", 2));
    let mut bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        let setpriv = ["setpriv", "--reuid={user}", "--regid={user}", "--clear-groups"];
        settings.cluster.user_command = setpriv.map(str::to_owned).to_vec();
        let pairs = [("ana", "games"), ("bo", "news")];
        let pairs = pairs.map(|(user, account)| (user.to_owned(), account.to_owned()));
        settings.cluster.accounts = Accounts::Of(BTreeMap::from(pairs));
        settings.cluster.spool = settings.cluster.spool.replace("spool", "home/{user}/spool");
        settings.cluster.directory = settings.cluster.spool.replace("/spool", "");
    });
    let home = bench.folder.path().join("home");
    for path in [bench.folder.path(), &home] {
        std::fs::create_dir_all(path).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    for account in ACCOUNTS {
        let path = home.join(account);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(Command::new("chown").arg(account).arg(&path).status().unwrap().success());
    }
    let of = |bench: &mut SlurmBench<'_>, job: u64, user: &str, act: &TaskBehaviour| {
        let mut order = order(bench, job, act);
        order.user = user.to_owned();
        bench.site().submit(&order).map(|()| order)
    };
    let ana = of(&mut bench, 1, "ana", &sleeps(50, 0)).unwrap();
    let bo = of(&mut bench, 2, "bo", &sleeps(50, 0)).unwrap();
    for order in [&ana, &bo] {
        until_running(&mut bench, &order.tag);
    }
    let shown = cluster.say(&["squeue", "-h", "-o", "%u %i"]);
    let mut jobs: Vec<(&str, &str)> = shown.lines().filter_map(|it| it.split_once(' ')).collect();
    jobs.sort_unstable();
    assert_eq!([jobs[0].0, jobs[1].0], ACCOUNTS, "each runs as the user's own account");
    let games_job = jobs[0].1;
    let as_news = ["setpriv", "--reuid=news", "--regid=news", "--clear-groups"];
    let denied = cluster.run(&[&as_news[..], &["scancel", games_job]].concat());
    assert!(!denied.status.success(), "{denied:?}");
    let file = home.join("games/tradewind-1.out");
    // A task that Slurm calls running has not always opened its output yet.
    cluster.until("its output", |_| file.exists());
    let denied = cluster.run(&[&as_news[..], &["cat", &file.to_string_lossy()]].concat());
    assert!(!denied.status.success(), "{denied:?}");
    let spool = home.join("games/spool").to_string_lossy().into_owned();
    let denied = cluster.run(&[&as_news[..], &["ls", &spool]].concat());
    assert!(!denied.status.success(), "{denied:?}");

    // Bo forges a job that looks as if it were Ana's.
    bench.site().withdraw(&ana.tag).unwrap();
    assert_eq!(until_ended(&mut bench, &ana.tag).1, Exit::Withdrawn);
    let marks = cluster.say(&["squeue", "-h", "-t", "all", "-o", "%k"]);
    let mark = marks.lines().find(|mark| mark.contains("tw-suite-1-")).unwrap();
    let forged = format!("--comment={mark}");
    let words =
        ["sbatch", "--parsable", "-N1", "--output=/dev/null", &forged, "--wrap", "sleep 60"];
    let forged = cluster.say(&[&as_news[..], &words].concat());
    cluster.until_state(forged.trim(), "RUNNING");
    assert_eq!(until_ended(&mut bench, &ana.tag).1, Exit::Withdrawn);
    let survey = bench.site().survey().unwrap();
    assert!(survey.pools[0].local.contains_key(&format!("job {}", forged.trim())));
    let ended = cluster.run(&[&as_news[..], &["scancel", forged.trim()]].concat());
    assert!(ended.status.success(), "{ended:?}");

    let text = "#!/bin/sh\nid -un; echo $HOME $USER\n".to_owned();
    let mut shows = order(&mut bench, 3, &sleeps(0, 0));
    (shows.user, shows.work) = ("ana".to_owned(), Work::Script { text, arguments: Vec::new() });
    bench.site().submit(&shows).unwrap();
    assert_eq!(until_ended(&mut bench, &shows.tag).1, Exit::Code(0));
    let said = String::from_utf8(bench.site().output(&shows.tag, 100).unwrap()).unwrap();
    assert_eq!(said, "games\n/usr/games games\n");
    let told = of(&mut bench, 4, "eve", &sleeps(0, 0)).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("accounts = {")), "{told:?}");
    let found = bench.site().doctor();
    let of_account = |account: &str| {
        let is_it = |it: &&tradewind_daemon::site::Finding| it.what.ends_with(account);
        found.iter().find(is_it).map(|it| it.verdict)
    };
    assert_eq!(ACCOUNTS.map(of_account), [Some(Verdict::Good); 2], "{found:#?}");
}

/// Runs a test of this file again, as root: only root runs jobs of several users.
pub(crate) fn as_root(name: &str) {
    let own = std::env::current_exe().unwrap();
    let status = Command::new("sudo").arg("-n").arg(own).args(["--exact", name]).status();
    let has_passed = status.is_ok_and(|status| status.success());
    assert!(
        has_passed,
        "only root runs jobs of several users: run this as root, or allow `sudo -n`"
    );
}

#[test]
fn nobodys_job_runs_silently_as_the_daemon() {
    let cluster = Cluster::start(&Plan::of("u", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        settings.cluster.accounts = Accounts::Same;
    });
    let mut order = order(&mut bench, 1, &sleeps(0, 0));
    order.user = "ana".to_owned();
    let told = bench.site().submit(&order).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("user_command")), "{told:?}");
    assert!(bench.site().survey().unwrap().tasks.is_empty());
    order.user.clone_from(&cluster.user);
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Code(0));
    // A path that is not there ends the task before it costs anything.
    let lost = ready_in(&mut bench, "/no/such/place", &cluster.user);
    let (since, exit) = until_ended(&mut bench, &lost);
    assert!(
        since.is_none() && matches!(&exit, Exit::NotStarted(why) if why.contains("/no/such/place"))
    );
}

fn ready_in(bench: &mut SlurmBench<'_>, path: &str, user: &str) -> tradewind_daemon::site::Tag {
    let mut order = order(bench, 2, &sleeps(0, 0));
    order.user = user.to_owned();
    order.surroundings.directory = Some(path.to_owned());
    bench.site().submit(&order).unwrap();
    order.tag
}

#[test]
fn files_are_brought_and_taken_away() {
    let cluster = Cluster::start(&Plan::of("v", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        let command = |words: [&str; 4]| words.map(str::to_owned).to_vec();
        settings.cluster.stage_in =
            vec![command(["cp", "-f", "{directory}/in-{job}", "{directory}/brought"])];
        settings.cluster.stage_out =
            vec![command(["cp", "-f", "{directory}/tradewind-{job}.out", "{directory}/taken"])];
    });
    let work = bench.folder.path().join("work");
    std::fs::write(work.join("in-1"), "words").unwrap();
    let text = "#!/bin/sh\ncat brought\n".to_owned();
    let mut order = order(&mut bench, 1, &sleeps(0, 0));
    order.work = Work::Script { text, arguments: Vec::new() };
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Code(0));
    // They are taken away beside all else.
    let taken = || std::fs::read_to_string(work.join("taken")).unwrap_or_default();
    cluster.until("its output was taken away", |_| taken() == "words");
    order.tag.job = 2;
    let told = bench.site().submit(&order).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("in-2")), "{told:?}");
    assert!(cluster.say(&["squeue", "-h", "-t", "all", "-o", "%k"]).lines().count() == 1);
}

/// Data comes for some seconds, and the site goes on; Slurm's limit is that of the work alone.
#[test]
fn data_is_brought_before_a_task_whose_limit_is_its_own() {
    let cluster = Cluster::start(&Plan::of("x", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        let bring = "sleep 3; echo {input} bytes from {from} >{directory}/brought";
        settings.cluster.stage_in = vec![["sh", "-c", bring].map(str::to_owned).to_vec()];
    });
    let work = bench.folder.path().join("work");
    let mut order = order(&mut bench, 1, &sleeps(0, 0));
    let text = "#!/bin/sh\ncat brought; echo $TRADEWIND_LIMIT; sleep 5\n".to_owned();
    order.work = Work::Script { text, arguments: Vec::new() };
    let data = JobData { input: 7 << 30, from: "far".to_owned(), ..JobData::default() };
    let times = StageTimes { stage_in: Span(300), stage_out: Span(0) };
    order.limit = Span(420);
    order.data = Some(Box::new(OrderData { data, times }));
    assert_eq!(bench.site().submit(&order), Err(SiteError::Staging));
    bench.site().survey().unwrap();
    let began = std::time::Instant::now();
    while bench.site().submit(&order) == Err(SiteError::Staging) {
        assert!(began.elapsed().as_secs() < 60, "it does not come");
    }
    let limits = cluster.say(&["squeue", "-h", "-t", "all", "-o", "%l"]);
    assert_eq!(limits.trim(), "2:00");
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Code(0));
    let output = std::fs::read_to_string(work.join("tradewind-1.out")).unwrap();
    assert_eq!(output, "7516192768 bytes from far\n120\n");
}

#[test]
fn an_account_that_cannot_be_used_ends_no_task() {
    let cluster = Cluster::start(&Plan::of("w", 2));
    let closed = cluster.path().join("closed");
    let mut bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        // Stands for a login whose key is gone for a while.
        let script = format!("[ ! -e {} ] || exit 7; exec \"$@\"", closed.display());
        settings.cluster.user_command =
            ["/bin/sh", "-c", &script, "{user}"].map(str::to_owned).to_vec();
    });
    let runs = order(&mut bench, 1, &sleeps(1, 3));
    bench.site().submit(&runs).unwrap();
    std::fs::write(&closed, "").unwrap();
    cluster.until("it is over", |it| it.say(&["squeue", "-h"]).is_empty());
    let seen = bench.site().survey().unwrap().tasks.remove(&runs.tag);
    assert!(matches!(seen, Some(Seen::Running { .. })), "its end is unknown: {seen:?}");
    let other = order(&mut bench, 2, &sleeps(0, 0));
    let told = bench.site().submit(&other).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("ended with 7")), "{told:?}");
    std::fs::remove_file(&closed).unwrap();
    assert_eq!(until_ended(&mut bench, &runs.tag).1, Exit::Code(3));
}
