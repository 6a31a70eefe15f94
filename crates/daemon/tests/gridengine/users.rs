//! Jobs run as their own users, and none reaches another's.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::{Exit, SiteError, Verdict};
use tradewind_io::settings::cluster::Accounts;

use crate::bench::GridBench;
use crate::fixture::Cluster;
use crate::surprises::{until_ended, until_running};

/// Accounts that every Debian has, and no process uses; jobs 1 and 2 are theirs.
const ACCOUNTS: [&str; 2] = ["games", "news"];
const USERS: [&str; 2] = ["ana", "bo"];

#[test]
fn two_users_cannot_reach_each_others_jobs() {
    if !rustix::process::geteuid().is_root() {
        return as_root("users::two_users_cannot_reach_each_others_jobs");
    }
    let mut bench = with_homes();
    for (job, user) in (1..).zip(USERS) {
        let mut order = order(&mut bench, job, &TaskBehaviour::Exit { after: 40, code: 0 });
        order.user = user.to_owned();
        bench.site().submit(&order).unwrap();
        until_running(&mut bench, job);
    }
    let listed = bench.cluster.must(&["qstat", "-u", "*"], "");
    for account in ACCOUNTS {
        assert!(listed.contains(&format!(" {account} ")), "{listed}");
    }
    let name = tag(1).to_string();
    let as_news = ["setpriv", "--reuid=news", "--regid=news", "--clear-groups"];
    let said = |bench: &GridBench, words: &[&str]| {
        let out = bench.cluster.run(&[&as_news[..], words].concat(), "");
        let text = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (_, denied) = said(&bench, &["qdel", &name]);
    assert!(!denied.contains("has registered") && !denied.contains("has deleted"), "{denied}");
    until_running(&mut bench, 1);
    let file = bench.cluster.path("home/games/tradewind-1.out");
    bench.until(10, |_| file.exists(), |there| *there);
    for path in [file, bench.cluster.path("home/games/spool")] {
        let path = path.to_string_lossy().into_owned();
        for program in ["cat", "ls"] {
            let (is_read, text) = said(&bench, &[program, &path]);
            assert!(!is_read && text.contains("Permission denied"), "{text}");
        }
    }
    // Whose it is may: we, as its user.
    bench.site().withdraw(&tag(1)).unwrap();
    assert_eq!(until_ended(&mut bench, 1), Exit::Withdrawn);
    until_running(&mut bench, 2);
    let mut nobodys = order(&mut bench, 3, &TaskBehaviour::Exit { after: 0, code: 0 });
    nobodys.user = "eve".to_owned();
    let told = bench.site().submit(&nobodys).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("accounts = {")), "{told:?}");
}

/// A cluster on which each user has an account with a home that is closed to all others.
fn with_homes() -> GridBench {
    let cluster = Cluster::for_all_users();
    let home = cluster.path("home");
    std::fs::create_dir(&home).unwrap();
    for path in [&cluster.path(""), &home] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    for account in ACCOUNTS {
        let path = home.join(account);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(Command::new("chown").arg(account).arg(&path).status().unwrap().success());
    }
    let prefix = cluster.prefix();
    GridBench::on(cluster, |settings| {
        let setpriv = ["setpriv", "--reuid={user}", "--regid={user}", "--clear-groups"];
        let words = prefix.into_iter().chain(setpriv.map(str::to_owned));
        settings.cluster.user_command = words.collect();
        let pairs = USERS.into_iter().zip(ACCOUNTS);
        let pairs = pairs.map(|(user, account)| (user.to_owned(), account.to_owned()));
        settings.cluster.accounts = Accounts::Of(pairs.collect::<BTreeMap<_, _>>());
        settings.cluster.directory = format!("{}/{{user}}", home.display());
        settings.cluster.spool = format!("{}/{{user}}/spool", home.display());
    })
}

/// Runs a test of this file again, as root: only root runs jobs of several users.
fn as_root(name: &str) {
    let own = std::env::current_exe().unwrap();
    let status = Command::new("sudo").arg("-n").arg(own).args(["--exact", name]).status();
    let has_passed = status.is_ok_and(|status| status.success());
    assert!(
        has_passed,
        "only root runs jobs of several users: run this as root, or allow `sudo -n`"
    );
}

/// Nothing says how to become another account: the market knows that before any job is sent, so that
/// none is refused again and again.
#[test]
fn without_a_command_for_users_only_our_own_account_runs_jobs() {
    let mut bench = GridBench::with(|settings| settings.cluster.accounts = Accounts::Same);
    let limits = bench.site().survey().unwrap().limits.unwrap();
    let why = limits.account("grid", "ana").unwrap_err();
    assert!(why.starts_with("jobs run as ") && why.contains("account \"ana\""), "{why}");
    let own = limits.only.clone().unwrap();
    assert_eq!(limits.account("grid", &own), Ok(own.as_str()));
    let mut order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.user = "ana".to_owned();
    let told = bench.site().submit(&order).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("user_command")), "{told:?}");
}

#[test]
fn the_doctor_says_that_there_is_no_command_for_users() {
    let mut bench = GridBench::with(|settings| settings.cluster.accounts = Accounts::Same);
    let all = bench.site().doctor();
    let said = all.iter().find(|one| one.what == "users have accounts").unwrap();
    assert_eq!(said.verdict, Verdict::Warning, "{said:?}");
    assert!(said.found.contains("no `user_command`"), "{said:?}");
    assert!(said.remedy.contains("sudo"), "{said:?}");
}
