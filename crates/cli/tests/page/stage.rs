//! A daemon in a folder of its own, and what the test asks it beside the browser.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ports;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

/// Its name, nodes, time limit and work.
pub(crate) type Job<'a> = (&'a str, &'a str, &'a str, &'a str);

fn submission<'a>((name, nodes, time, work): Job<'a>) -> Vec<&'a str> {
    let words = ["submit", "--job-name", name, "--nodes", nodes, "--time", time, "--"];
    [&words[..], &["sh", "-c", work]].concat()
}

pub(crate) struct Stage {
    folder: tempfile::TempDir,
    daemon: Child,
    port: u16,
}

/// A daemon that answers.
fn up(folder: &Path, port: u16) -> Child {
    let (state, file) = (folder.join("state"), folder.join("tradewind.toml"));
    let url = state.join("url");
    drop(std::fs::remove_file(&url)); // of one that was killed
    // As large on every machine.
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("default-sites.json"), "{\"alpha\": 4, \"beta\": 2}").unwrap();
    let mut up = Command::new(PROGRAM);
    up.args([
        "up",
        "--quiet",
        "--shared-account",
        "--listen",
        &format!("127.0.0.1:{port}"),
        "--state",
    ])
    .arg(&state);
    if file.exists() {
        up.arg("--config").arg(file);
    }
    // What jobs write stays in the folder, too.
    up.current_dir(folder);
    let daemon = up.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !url.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the market does not come up");
        std::thread::sleep(Duration::from_millis(50));
    }
    daemon
}

impl Stage {
    /// A market with the daemon's own two sites.
    pub(crate) fn new() -> Stage {
        Stage::with("")
    }

    /// A market that is set up so.
    pub(crate) fn with(configuration: &str) -> Stage {
        Stage::at(ports::free(), configuration)
    }

    /// The same, on a port that others know already.
    pub(crate) fn at(port: u16, configuration: &str) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        if !configuration.is_empty() {
            std::fs::write(folder.path().join("tradewind.toml"), configuration).unwrap();
        }
        let daemon = up(folder.path(), port);
        Stage { folder, daemon, port }
    }

    /// Ends the daemon as if the machine had lost its power.
    pub(crate) fn stop(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }

    /// Starts it again, at the same address.
    pub(crate) fn start_again(&mut self) {
        self.daemon = up(self.folder.path(), self.port);
    }

    fn owner(&self, site: &str) -> [PathBuf; 2] {
        let site = self.state().join("sites").join(site);
        [site.join("owner"), site.join("owner-away")]
    }

    /// A site that does not respond: its owner's folder cannot be read.
    pub(crate) fn lose(&self, site: &str) {
        let [here, away] = self.owner(site);
        std::fs::rename(here, away).unwrap();
    }

    /// The site is there again.
    pub(crate) fn find(&self, site: &str) {
        let [here, away] = self.owner(site);
        std::fs::rename(away, here).unwrap();
    }

    /// What was seen of clusters that are only observed, as if by an earlier daemon.
    pub(crate) fn has_observed(&mut self, shadow: &str) {
        self.stop();
        std::fs::write(self.state().join("shadow.json"), shadow).unwrap();
        self.start_again();
    }

    /// Of a file where jobs run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn admin(&self) -> String {
        std::fs::read_to_string(self.state().join("admin.token")).unwrap().trim().to_owned()
    }

    pub(crate) fn command(&self, words: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        self.run(command.current_dir(self.folder.path()), words)
    }

    fn run(&self, command: &mut Command, words: &[&str]) -> String {
        // What follows `--` is the job's.
        let own = words.iter().position(|it| *it == "--").unwrap_or(words.len());
        command.args(&words[..own]).arg("--state").arg(self.state()).args(&words[own..]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A new user's token.
    pub(crate) fn token(&self, user: &str) -> String {
        let told = self.command(&["token", "new", user, "--format", "json"]);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told["token"].as_str().unwrap().to_owned()
    }

    /// A job of the user whose token it is.
    pub(crate) fn submit_as(&self, token: &str, job: Job<'_>) {
        self.command_as(token, &submission(job));
    }

    /// A command of another user.
    pub(crate) fn command_as(&self, token: &str, words: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path()).env("TRADEWIND_TOKEN", token);
        self.run(&mut command, words)
    }

    /// A job on the cheapest nodes: later jobs get others, or wait.
    pub(crate) fn busy(&self) {
        self.command(&["submit", "--nodes", "2", "--time", "10", "--", "sh", "-c", "sleep 500"]);
    }

    pub(crate) fn submit(&self, job: Job<'_>) {
        self.command(&submission(job));
    }

    /// An owner sets a table of prices.
    pub(crate) fn price_file(&self, pool: &str, table: &str) {
        std::fs::write(self.folder.path().join("prices.toml"), table).unwrap();
        self.command(&["price", pool, "prices.toml"]);
    }

    /// Some that end, some that run and some that wait.
    pub(crate) fn some_jobs(&self) {
        self.submit(("compile", "1", "5", "true"));
        self.submit(("train-model", "4", "30", "sleep 300"));
        self.submit(("wing-study", "6", "60", "true"));
        self.submit(("broken", "1", "5", "exit 3"));
        std::thread::sleep(Duration::from_secs(2));
    }

    /// Two that want all nodes, which others have for half an hour: whatever else runs or waits,
    /// the long one is first by number, and the short one by length.
    pub(crate) fn contended(&self) {
        self.submit(("all-night", "6", "90", "true"));
        self.submit(("all-short", "6", "2", "true"));
    }

    fn agent() -> ureq::Agent {
        let config = ureq::Agent::config_builder();
        config.http_status_as_error(false).max_redirects(0).build().into()
    }

    /// The status of a form that is sent from a page of `origin`.
    pub(crate) fn post(&self, path: &str, form: &str, cookie: &str, origin: &str) -> u16 {
        let request = Self::agent().post(self.url(path)).header("cookie", cookie);
        let request = request.header("origin", origin);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.send(form).unwrap().status().as_u16()
    }

    /// The status of a page.
    pub(crate) fn get(&self, path: &str, cookie: &str) -> u16 {
        Self::agent().get(self.url(path)).header("cookie", cookie).call().unwrap().status().as_u16()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}
