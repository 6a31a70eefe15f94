//! `up --demo` has a market of its own, which clients find, and which is gone at its end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn tradewind(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(args).env_remove("XDG_STATE_HOME").env("HOME", home).current_dir(home);
    for name in ["URL", "TOKEN", "TOKEN_FILE", "STATE", "CA"] {
        command.env_remove(format!("TRADEWIND_{name}"));
    }
    command
}

/// A daemon that is interrupted at the end, if it was not before.
struct Daemon(Child);

impl Daemon {
    /// Waits for the line that says where it listens.
    fn start(home: &Path, args: &[&str]) -> Daemon {
        let all = [&["up", "--listen", "127.0.0.1:0"], args].concat();
        let mut command = tradewind(home, &all);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("http://127.0.0.1:"), "{line}");
        Daemon(child)
    }

    fn interrupt(&mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn said(home: &Path, args: &[&str]) -> String {
    let out = tradewind(home, args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_demo_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join(".local/state");
    let mut demo = Daemon::start(home.path(), &["--demo"]);
    assert!(state.join("tradewind-demo/journal.db").exists() && !state.join("tradewind").exists());
    let job = ["submit", "--time", "5", "--", "sh", "-c", "echo $$ >pid; exec sleep 300"];
    said(home.path(), &job);
    let begin = Instant::now();
    let pid = loop {
        match std::fs::read_to_string(home.path().join("pid")) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => assert!(begin.elapsed() < Duration::from_secs(60), "it never began"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(said(home.path(), &["jobs", "--all"]).contains("render"));
    demo.interrupt();
    assert!(!state.join("tradewind-demo").exists());
    let cmdline = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(!cmdline.starts_with(b"sleep"), "its job runs on");
}

#[test]
fn the_users_own_market_goes_before_a_demo_and_stays() {
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join(".local/state/tradewind");
    let mut market = Daemon::start(home.path(), &[]);
    let mut demo = Daemon::start(home.path(), &["--demo"]);
    assert!(!said(home.path(), &["jobs", "--all"]).contains("render"));
    demo.interrupt();
    assert!(!said(home.path(), &["jobs", "--all"]).contains("render"));
    market.interrupt();
    assert!(own.join("journal.db").exists());
    // With `--state` a demo's market lasts.
    let given = home.path().join("given");
    let mut lasting = Daemon::start(home.path(), &["--demo", "--state", given.to_str().unwrap()]);
    lasting.interrupt();
    assert!(given.join("journal.db").exists());
}
