//! Jobs of the daemon's own account that do not see the state folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use tradewind_daemon::site::conformance::{CHECKS, SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::local::ConfineMode;
use tradewind_daemon::site::{Exit, Order, Seen, SiteError};
use tradewind_io::submission::Work;

use super::local_site::LocalBench;
use super::{script, shell, until_ended};

/// Whether this kernel lets this account make user namespaces; else a site that requires them does
/// not open.
#[expect(clippy::print_stderr, reason = "what is not tried is said")]
fn has_namespaces() -> bool {
    let mut probe = Command::new("unshare");
    let has = probe.args(["--user", "--map-root-user", "--mount", "true"]).status().unwrap();
    if !has.success() {
        let refused = std::panic::catch_unwind(bench).err().unwrap();
        let why = refused.downcast_ref::<String>().unwrap();
        assert!(why.contains("no namespaces"), "{why}");
        eprintln!("no user namespaces here: tried only that a site with `hide_state` says so");
    }
    has.success()
}

fn bench() -> LocalBench {
    LocalBench::set(8, |folder, settings| {
        let folder = folder.canonicalize().unwrap();
        fs::write(folder.join("admin.token"), "secret\n").unwrap();
        settings.folder = folder.join("site");
        settings.directory = folder.join("work");
        settings.hidden = Some(folder);
        settings.confinement.namespaces = ConfineMode::Require;
    })
}

fn state(bench: &LocalBench) -> PathBuf {
    bench.settings.hidden.clone().unwrap()
}

fn said(bench: &mut LocalBench, order: &Order) -> String {
    String::from_utf8(bench.site().output(&order.tag, 1 << 16).unwrap()).unwrap()
}

#[test]
fn it_keeps_the_promises() {
    if has_namespaces() {
        for (name, check) in CHECKS {
            check(&mut bench()).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

#[test]
fn a_job_does_not_see_the_state_folder() {
    if !has_namespaces() {
        return;
    }
    let mut bench = bench();
    let state = state(&bench).display().to_string();
    let text = format!(
        "pwd; ls {state}; ls {state}/site/tasks; echo kept >kept; umount {state} 2>/dev/null\n\
         for file in {state}/admin.token ../admin.token $TRADEWIND_TASK_FOLDER/sheet.json \
         /proc/$PPID/root{state}/admin.token; do (cat $file) 2>/dev/null && echo read; done\n\
         unshare --user --map-root-user --mount sh -c 'umount {state}; cat {state}/admin.token' \
         2>/dev/null && echo read; exit 4"
    );
    let mut job = shell(&mut bench, &text);
    job.surroundings.environment.insert("LD_PRELOAD".to_owned(), "/no/such.so".to_owned());
    bench.site().submit(&job).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Code(4));
    let seen = said(&mut bench, &job);
    let seen: Vec<&str> = seen.lines().filter(|line| !line.contains("LD_PRELOAD")).collect();
    let own = job.tag.to_string();
    assert_eq!(seen, [&format!("{state}/work"), "site", "work", &own], "and nothing was read");
    assert_eq!(fs::read_to_string(bench.settings.directory.join("kept")).unwrap(), "kept\n");
}

#[test]
fn what_is_opened_for_a_job_is_not_hidden_from_it() {
    if !has_namespaces() {
        return;
    }
    let mut bench = bench();
    let state = state(&bench);
    symlink(&state, bench.settings.directory.join("up")).unwrap();
    for (number, (output, input)) in [
        ("up/admin.token", None),
        ("../admin.token", None),
        ("out", Some("up/admin.token")),
        ("up/site/owner/all", None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut job =
            order(&mut bench, 10 + number as u64, &TaskBehaviour::Exit { after: 0, code: 0 });
        job.work = Work::Command(vec!["cat".to_owned()]);
        job.surroundings.output = Some(output.to_owned());
        job.surroundings.input = input.map(str::to_owned);
        bench.site().submit(&job).unwrap();
        let exit = super::soon(|| match bench.site().survey().unwrap().tasks.remove(&job.tag) {
            Some(tradewind_daemon::site::Seen::Ended { exit, .. }) => Some(exit),
            _ => None,
        });
        let why = "jobs do not see this file";
        assert!(
            matches!(&exit, Exit::NotStarted(told) if told.contains(why)),
            "{output}: {exit:?}"
        );
        if output != "out" {
            let told = bench.site().output(&job.tag, 99);
            let is_nothing = told.as_ref().is_ok_and(Vec::is_empty);
            assert!(is_nothing || matches!(told, Err(SiteError::Refused(_))), "{told:?}");
        }
    }
    assert_eq!(fs::read_to_string(state.join("admin.token")).unwrap(), "secret\n");
    assert!(!state.join("site/owner/all").exists());
}

#[test]
fn jobs_of_one_account_neither_see_nor_signal_each_other() {
    if !has_namespaces() {
        return;
    }
    let mut bench = bench();
    let mut submit = |job: u64, text: &str| {
        let mut order = order(&mut bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.work = script(text);
        bench.site().submit(&order).unwrap();
        order
    };
    let victim = submit(1, "echo $$; exec sleep 7306");
    let attack = submit(
        2,
        "while [ ! -e go ]; do sleep 0.02; done\n\
         for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done\n\
         kill -9 -1; kill -9 $PPID; kill -STOP $PPID; (exec setsid sleep 7307) & exit 3",
    );
    let sleeps = |seconds: &str| {
        let args = ["-f", &format!("^sleep {seconds}$")];
        Command::new("pgrep").args(args).output().unwrap().status.success()
    };
    super::soon(|| sleeps("7306").then_some(()));
    fs::write(bench.settings.directory.join("go"), "").unwrap();
    let exit = super::soon(|| match bench.site().survey().unwrap().tasks.remove(&attack.tag) {
        Some(Seen::Ended { exit, .. }) => Some(exit),
        _ => None,
    });
    assert_eq!(exit, Exit::Code(3), "its keeper cannot be killed from within");
    let said = said(&mut bench, &attack);
    assert!(said.contains("--inside") && !said.contains("sleep 7306"), "{said}");
    assert!(
        sleeps("7306") && !sleeps("7307"),
        "the other job runs on, and nothing is left of this"
    );
    bench.site().withdraw(&victim.tag).unwrap();
    assert_eq!(until_ended(&mut bench), Exit::Withdrawn);
    assert!(!sleeps("7306"));
}

#[test]
fn a_killed_supervisor_leaves_no_process_in_a_namespace() {
    if !has_namespaces() {
        return;
    }
    let mut bench = bench();
    let job = shell(&mut bench, "(env -i setsid sleep 7308 &) ; exec sleep 7308");
    bench.site().submit(&job).unwrap();
    let count = || {
        let found = Command::new("pgrep").args(["-cf", "^sleep 7308$"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().trim().parse::<u32>().unwrap()
    };
    super::soon(|| (count() == 2).then_some(()));
    super::until_running(&mut bench);
    super::kill(super::pid(&bench, "begun.json", "supervisor"));
    assert_eq!(until_ended(&mut bench), Exit::Lost);
    assert_eq!(count(), 0);
}
