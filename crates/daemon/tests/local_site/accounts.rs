//! The local site where each user's jobs run as that user's own account.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tradewind_daemon::site::conformance::{CHECKS, SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::limits::Holds;
use tradewind_daemon::site::local::{self, LocalSettings};
use tradewind_daemon::site::managed::accounts;
use tradewind_daemon::site::{Exit, Order, Seen, SiteError, Tag};
use tradewind_io::submission::Work;
use tradewind_model::Span;

use super::local_site::LocalBench;

/// Accounts that every Debian has, and no process uses.
const ACCOUNTS: [&str; 2] = ["games", "news"];
pub(crate) const SETPRIV: [&str; 4] =
    ["setpriv", "--reuid={user}", "--regid={user}", "--clear-groups"];
pub(crate) const SUDO: [&str; 4] = ["sudo", "-n", "-u", "{user}"];

/// Repeats the test as root, if it does not run as root already.
pub(crate) fn is_root(name: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let status = Command::new("sudo").arg("-n").arg(own).args(["--exact", name]).status();
    let has_passed = status.is_ok_and(|status| status.success());
    assert!(has_passed, "only root runs jobs of several users: run as root, or allow `sudo -n`");
    false
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A site with a home for each account, and the program where all accounts can run it.
fn bench(user_command: &[&str]) -> LocalBench {
    LocalBench::set(4, |folder, settings| prepare(folder, settings, user_command))
}

pub(crate) fn prepare(folder: &Path, settings: &mut LocalSettings, user_command: &[&str]) {
    open_to_all(folder, 0o711);
    let program = folder.join("program");
    fs::copy(&settings.supervisor[0], &program).unwrap();
    open_to_all(&program, 0o755);
    let homes = folder.join("home");
    fs::create_dir(&homes).unwrap();
    open_to_all(&homes, 0o711);
    for account in ACCOUNTS {
        let home = homes.join(account);
        fs::create_dir(&home).unwrap();
        open_to_all(&home, 0o700);
        assert!(Command::new("chown").arg(account).arg(&home).status().unwrap().success());
    }
    let pairs = [("ana", "games"), ("bo", "news"), ("*", "games")];
    let pairs = pairs.map(|(user, account)| (user.to_owned(), account.to_owned()));
    settings.supervisor = vec![program];
    settings.accounts = Some(local::UserAccounts {
        user_command: user_command.iter().map(|word| (*word).to_owned()).collect(),
        accounts: accounts::Accounts::Of(BTreeMap::from(pairs)),
        directory: homes.join("{user}").to_string_lossy().into_owned(),
        spool: homes.join("{user}/.spool").to_string_lossy().into_owned(),
    });
}

fn home(bench: &LocalBench, account: &str) -> PathBuf {
    bench.settings.folder.with_file_name("home").join(account)
}

fn script(bench: &mut LocalBench, job: u64, user: &str, text: &str) -> Order {
    let mut order = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.work = Work::Script { text: format!("#!/bin/sh\n{text}\n"), arguments: Vec::new() };
    order.user = user.to_owned();
    bench.site().submit(&order).unwrap();
    order
}

fn seen(bench: &mut LocalBench, tag: &Tag) -> Seen {
    bench.site().survey().unwrap().tasks.remove(tag).unwrap()
}

/// What happens to the check, within some time.
fn soon<T>(mut check: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < end, "it does not happen");
        sleep(Duration::from_millis(10));
    }
}

fn until_ended(bench: &mut LocalBench, tag: &Tag) -> Exit {
    soon(|| match seen(bench, tag) {
        Seen::Ended { exit, .. } => Some(exit),
        _ => None,
    })
}

/// Until the task has written a line to its output; that line.
fn until_said(bench: &mut LocalBench, tag: &Tag) -> String {
    soon(|| {
        let _ = bench.site().survey();
        let bytes = bench.site().output(tag, 1 << 16).ok()?;
        let text = String::from_utf8(bytes).unwrap();
        text.contains('\n').then(|| text.trim().to_owned())
    })
}

/// Whether a process sleeps for so long, which no other process does.
fn sleeps(seconds: &str) -> bool {
    let args = ["-f", &format!("^sleep {seconds}$")];
    Command::new("pgrep").args(args).output().unwrap().status.success()
}

#[test]
fn it_keeps_the_promises() {
    if is_root("accounts::it_keeps_the_promises") {
        for (name, check) in CHECKS {
            check(&mut bench(&SETPRIV)).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

/// As `sudo` does where PAM sets the umask of the account.
#[test]
fn only_the_user_reads_what_a_job_writes_though_user_command_changes_the_umask() {
    if !is_root(
        "accounts::only_the_user_reads_what_a_job_writes_though_user_command_changes_the_umask",
    ) {
        return;
    }
    let mut words = vec!["/bin/sh", "-c", "umask 0002 && exec \"$0\" \"$@\""];
    words.extend(SETPRIV);
    let mut bench = bench(&words);
    let order = script(&mut bench, 1, "ana", "echo mine >kept; umask");
    assert_eq!(until_said(&mut bench, &order.tag), "0077");
    let kept = home(&bench, "games").join("kept");
    assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_job_reaches_nothing_of_the_daemon_and_of_others() {
    if !is_root("accounts::a_job_reaches_nothing_of_the_daemon_and_of_others") {
        return;
    }
    for user_command in [SETPRIV, SUDO] {
        let mut bench = bench(&user_command);
        let secret = bench.settings.folder.join("secret");
        fs::write(&secret, "token\n").unwrap();
        let bo = script(&mut bench, 1, "bo", "echo of bo; sleep 1000");
        assert_eq!(until_said(&mut bench, &bo.tag), "of bo");
        let file = home(&bench, "news").join("tradewind-1.out");
        let folder = bench.settings.folder.display().to_string();
        let text = format!(
            "id -un; echo $HOME $USER\n\
             cat {} {folder}/gone $TRADEWIND_TASK_FOLDER/sheet.json {} && echo read\n\
             ls {folder}/tasks {folder} && echo listed\n\
             (: >$TRADEWIND_TASK_FOLDER/ended.json) && echo written\n\
             for pid in $(pgrep -u news); do kill $pid && echo killed; done\n\
             touch mine\nexit 5",
            secret.display(),
            file.display()
        );
        let ana = script(&mut bench, 2, "ana", &text);
        assert_eq!(until_ended(&mut bench, &ana.tag), Exit::Code(5), "{user_command:?}");
        let said = String::from_utf8(bench.site().output(&ana.tag, 1 << 16).unwrap()).unwrap();
        assert!(said.starts_with("games\n/usr/games games\n"), "{said}");
        for word in ["read", "listed", "written", "killed", "token\n"] {
            assert!(!said.lines().any(|line| line == word.trim()), "{word}: {said}");
        }
        assert!(home(&bench, "games").join("mine").exists());
        assert!(!home(&bench, "games").join(".spool").join(ana.tag.to_string()).exists());
        // It is still there, and withdrawing it ends it with its children.
        bench.site().withdraw(&bo.tag).unwrap();
        assert_eq!(until_ended(&mut bench, &bo.tag), Exit::Withdrawn, "{user_command:?}");
    }
}

#[test]
fn output_is_read_as_its_user() {
    if !is_root("accounts::output_is_read_as_its_user") {
        return;
    }
    let mut bench = bench(&SETPRIV);
    let secret = bench.settings.folder.with_file_name("shadow");
    fs::write(&secret, "secret of root\n").unwrap();
    open_to_all(&secret, 0o600);
    let other = home(&bench, "games").join("own");
    fs::write(&other, "own text\n").unwrap();
    open_to_all(&other, 0o644);
    let becomes = |what: &str| format!("rm -f tradewind-*.out; {what} tradewind-$JOB.out");
    let link = |path: &Path| becomes(&format!("ln -s {}", path.display()));
    let run = |bench: &mut LocalBench, job: u64, text: &str| {
        let text = text.replace("$JOB", &job.to_string());
        let order = script(bench, job, "ana", &text);
        assert_eq!(until_ended(bench, &order.tag), Exit::Code(0));
        bench.site().output(&order.tag, 1 << 16)
    };
    let refused = |told: Result<Vec<u8>, SiteError>| match told {
        Err(SiteError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let told = refused(run(&mut bench, 1, &link(&secret)));
    assert!(told.contains("Permission denied"), "{told}");
    let told = refused(run(&mut bench, 2, &becomes("mkfifo")));
    assert!(told.contains("a pipe"), "{told}");
    assert_eq!(run(&mut bench, 3, &link(&other)).unwrap(), b"own text\n");
    // Where they write counts: root's file stays as it is.
    let mut order = order(&mut bench, 4, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.user = "ana".to_owned();
    order.surroundings.output = Some(secret.to_string_lossy().into_owned());
    bench.site().submit(&order).unwrap();
    let exit = until_ended(&mut bench, &order.tag);
    assert!(
        matches!(&exit, Exit::NotStarted(why) if why.contains("Permission denied")),
        "{exit:?}"
    );
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret of root\n");
}

#[test]
fn no_process_survives_the_end() {
    if !is_root("accounts::no_process_survives_the_end") {
        return;
    }
    for user_command in [SETPRIV, SUDO] {
        let mut bench = bench(&user_command);
        // One that stops its keeper, and hides a child.
        let stops = "kill -STOP $PPID; env -i setsid sleep 7301 & sleep 7301";
        let mut order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.work = Work::Script { text: format!("#!/bin/sh\n{stops}\n"), arguments: vec![] };
        order.limit = Span(3);
        bench.site().submit(&order).unwrap();
        assert_eq!(until_ended(&mut bench, &order.tag), Exit::TimeLimit, "{user_command:?}");
        assert!(!sleeps("7301"), "{user_command:?}");
        // One that kills its keeper.
        let kills = "env -i setsid sleep 7302 & sleep 0.2; kill -KILL $PPID; sleep 7302";
        let killed = script(&mut bench, 2, "ana", kills);
        assert_eq!(until_ended(&mut bench, &killed.tag), Exit::Lost, "{user_command:?}");
        assert!(!sleeps("7302"), "{user_command:?}");
    }
}

#[test]
fn what_a_dead_supervisor_leaves_is_killed() {
    if !is_root("accounts::what_a_dead_supervisor_leaves_is_killed") {
        return;
    }
    for user_command in [SETPRIV, SUDO] {
        let mut bench = bench(&user_command);
        let order = script(&mut bench, 1, "ana", "echo runs; sleep 7303");
        until_said(&mut bench, &order.tag);
        let begun = bench.settings.folder.join("tasks").join(order.tag.to_string());
        let begun: serde_json::Value =
            serde_json::from_slice(&fs::read(begun.join("begun.json")).unwrap()).unwrap();
        let supervisor = begun["supervisor"].to_string();
        assert!(Command::new("kill").args(["-9", &supervisor]).status().unwrap().success());
        assert_eq!(until_ended(&mut bench, &order.tag), Exit::Lost);
        assert!(!sleeps("7303"), "{user_command:?}");
    }
}

#[test]
fn a_user_command_that_changes_nothing_runs_nothing() {
    if !is_root("accounts::a_user_command_that_changes_nothing_runs_nothing") {
        return;
    }
    for (words, said) in [
        (&["env", "AS={user}"][..], "leaves the daemon's account as it is"),
        (&["/no/such/{user}"], "/no/such/games"),
        (&["sh", "-c", "echo not today {user} >&2; exit 1"], "not today games"),
    ] {
        let mut bench = bench(words);
        let order = script(&mut bench, 1, "ana", "touch ran");
        let exit = until_ended(&mut bench, &order.tag);
        assert!(
            matches!(&exit, Exit::NotStarted(why) if why.contains(said)),
            "{words:?}: {exit:?}"
        );
        assert!(!home(&bench, "games").join("ran").exists());
    }
    let mut bench = LocalBench::set(1, |folder, settings| {
        prepare(folder, settings, &SETPRIV);
        settings.accounts.as_mut().unwrap().accounts = accounts::Accounts::Same;
    });
    let mut order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    for user in ["root", "Ana -x"] {
        order.user = user.to_owned();
        let told = bench.site().submit(&order).unwrap_err();
        assert!(matches!(told, SiteError::Capped(_)), "{told:?}");
        let cap = bench.site().survey().unwrap().capped.remove(&order.tag).unwrap();
        assert_eq!(cap.holds, Holds::ForThisUser, "{cap:?}");
    }
}
