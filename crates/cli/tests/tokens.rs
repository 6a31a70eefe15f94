//! Tokens on the command line, against a real daemon: their end, and another secret.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its programs has failed")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

struct Stage {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("tradewind.toml");
        std::fs::write(&config, "shared_account = true\n").unwrap();
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--quiet", "--listen", "127.0.0.1:0", "--state"]).arg(folder.path());
        up.arg("--config").arg(config);
        let daemon = up.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let stage = Stage { folder, daemon };
        let begun = Instant::now();
        while stage.run(&["whoami"]).0 != Some(0) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the market does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        stage
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn secret(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Exit code, standard output and standard error of `tradewind WORDS --state …`.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(PROGRAM);
        command.args(words).arg("--state").arg(self.folder.path()).env("HOME", self.folder.path());
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        let done = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

#[test]
fn people_are_warned_of_tokens_that_end() {
    let stage = Stage::new();
    let ana = stage.file("ana.token").display().to_string();
    let (code, _, said) =
        stage.run(&["token", "create", "ana", "--expires", "5d", "--output", &ana]);
    assert!(code == Some(0) && said.contains("token 2 expires at 2"), "{said}");
    let (code, _, said) = stage.run(&["token", "new", "bob"]);
    assert!(code == Some(0) && said.contains("token 3 expires at 2"), "a year is usual: {said}");
    let (code, text, said) = stage.run(&["token", "list"]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("EXPIRES") && text.lines().next_back().unwrap().contains("bob"),
        "{text}"
    );
    assert!(text.lines().any(|it| it.contains("administrator") && it.contains("never")), "{text}");
    assert!(said.contains("token 2 of ana expires at") && !said.contains("bob"), "{said}");
    let (_, text, _) = stage.run(&["doctor", "--no-jobs"]);
    assert!(text.contains("token 2") && !text.contains("token 3"), "{text}");
    // Its user is warned with each command; users of other tokens are not.
    let (code, _, said) = stage.run(&["jobs", "--token-file", &ana]);
    assert!(code == Some(0) && said.contains("the token that was used expires at 2"), "{said}");
    assert_eq!(stage.run(&["jobs"]).2, "");
}

#[test]
fn a_token_gets_another_secret_in_its_file() {
    let stage = Stage::new();
    let before = stage.secret("admin.token");
    std::fs::write(stage.file("before"), &before).unwrap();
    let old = stage.file("before").display().to_string();
    let (code, text, said) = stage.run(&["token", "rotate"]);
    assert!(code == Some(0) && text.contains("admin.token"), "{text} {said}");
    assert_ne!(stage.secret("admin.token"), before);
    assert_eq!(stage.run(&["jobs"]).0, Some(0));
    assert_eq!(stage.run(&["jobs", "--token-file", &old]).0, Some(0), "for an hour yet");
    assert_eq!(stage.run(&["token", "rotate", "--grace", "0s"]).0, Some(0));
    assert_eq!(stage.run(&["jobs"]).0, Some(0));
    let (code, _, said) = stage.run(&["jobs", "--token-file", &old]);
    assert!(code == Some(2) && said.contains("not recognised"), "{code:?} {said}");
    // The token of another user goes where it is said.
    assert_eq!(stage.run(&["token", "new", "ana"]).0, Some(0));
    let file = stage.file("ana.token").display().to_string();
    let words = ["token", "rotate", "2", "--expires", "never", "--output", &file];
    assert_eq!(stage.run(&words).0, Some(0));
    let (_, text, _) = stage.run(&["whoami", "--token-file", &file, "--format", "json"]);
    let me: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&me["user"], &me["expires"]), (&"ana".into(), &Value::Null));
    let (code, _, said) = stage.run(&["token", "rotate", "--expires", "9d", "--token-file", &file]);
    assert!(code != Some(0) && said.contains("only an administrator"), "{said}");
}
