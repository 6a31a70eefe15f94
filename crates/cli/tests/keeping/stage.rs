//! A daemon in a folder that a test may damage.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

/// A folder for a market, and the daemon while it runs.
pub(crate) struct Stage {
    state: PathBuf,
    pub(crate) daemon: Option<Child>,
    listen: String,
    /// More words for `up`.
    pub(crate) words: Vec<String>,
}

impl Stage {
    pub(crate) fn new(state: &Path) -> Stage {
        // The same address at every start: on a full disk the file `url` stays as it was.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = free.local_addr().unwrap().to_string();
        Stage { state: state.to_owned(), daemon: None, listen, words: Vec::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    fn up(&self) -> Command {
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--listen", &self.listen, "--state"]).arg(&self.state).args(&self.words);
        up.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        up
    }

    /// Starts the daemon, and waits until it answers.
    pub(crate) fn start(&mut self) {
        let mut up = self.up();
        up.stdout(Stdio::null()).stderr(Stdio::inherit());
        self.daemon = Some(up.spawn().unwrap());
        self.until("the market answers", |stage| stage.run(&["policy"]).status.success());
    }

    /// What `up` says that ends by itself: its exit code and its words.
    pub(crate) fn refused(&self) -> (Option<i32>, String) {
        let output = self.up().output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Waits for a condition, for a minute or two at most.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Stage) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let ended = self.daemon.as_mut().and_then(|it| it.try_wait().unwrap());
            assert!(ended.is_none(), "waiting until {what}, the daemon ended: {ended:?}");
            assert!(begun.elapsed() < Duration::from_secs(120), "not so in time: {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What `/readyz` says.
    pub(crate) fn ready(&self) -> String {
        let said: Value = serde_json::from_str(&self.get("/readyz")).unwrap();
        said["status"].as_str().unwrap().to_owned()
    }

    /// What is at this path of the API, without a token.
    pub(crate) fn get(&self, path: &str) -> String {
        let url = std::fs::read_to_string(self.path("url")).unwrap();
        let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
        let mut answer = agent.get(format!("{}{path}", url.trim())).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    }

    /// `SIGKILL`: nothing is tidied up.
    pub(crate) fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// `SIGTERM`, and the exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        let mut daemon = self.daemon.take().unwrap();
        Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
        daemon.wait().unwrap().code()
    }

    /// `tradewind COMMAND --state …` and the rest.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        let names = if ["journal", "token"].contains(&words[0]) { 2 } else { 1 };
        let mut command = Command::new(PROGRAM);
        command.args(&words[..names]).arg("--state").arg(&self.state).args(&words[names..]);
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN"] {
            command.env_remove(name);
        }
        command.output().unwrap()
    }

    pub(crate) fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[words, &["--format", "json"]].concat())).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}
