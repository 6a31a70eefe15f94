//! A real daemon with a local site, and a client that sends what the test gives it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");
pub(crate) struct Market {
    pub(crate) folder: tempfile::TempDir,
    daemon: Option<Child>,
}

impl Market {
    pub(crate) fn start(folder: tempfile::TempDir, config: &str) -> Market {
        Market::start_by(Command::new(PROGRAM), folder, config)
    }

    /// `up` is what comes before the command's words.
    pub(crate) fn start_by(mut up: Command, folder: tempfile::TempDir, config: &str) -> Market {
        fs::write(folder.path().join("tradewind.toml"), config).unwrap();
        up.args(["up", "--quiet", "--listen", "127.0.0.1:0", "--config"]);
        up.arg(folder.path().join("tradewind.toml"));
        up.arg("--state").arg(folder.path().join("state")).stdout(Stdio::null());
        let market = Market { daemon: Some(up.spawn().unwrap()), folder };
        until("the market is there", || market.folder.path().join("state/url").exists());
        market
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn admin(&self) -> String {
        fs::read_to_string(self.state().join("admin.token")).unwrap().trim().to_owned()
    }

    pub(crate) fn connect(
        &self,
        token: &str,
        (method, path): (&str, &str),
        body: &str,
    ) -> TcpStream {
        let url = fs::read_to_string(self.state().join("url")).unwrap();
        let mut stream = TcpStream::connect(url.trim().trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.ask_as(&self.admin(), (method, path), body)
    }

    /// The same with a token.
    pub(crate) fn ask_as(&self, token: &str, what: (&str, &str), body: &str) -> (u16, String) {
        answer(self.connect(token, what, body))
    }

    pub(crate) fn submit(&self, script: &str, output: &str) -> u64 {
        self.submit_as(&self.admin(), script, output)
    }

    /// The same with a token.
    pub(crate) fn submit_as(&self, token: &str, script: &str, output: &str) -> u64 {
        let job = json!({"name": "x", "nodes": 1, "command": ["sh", "-c", script], "output": output, "time": 600});
        let (status, body) = self.ask_as(token, ("POST", "/v1/jobs"), &job.to_string());
        assert_eq!(status, 201, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["jobs"][0].as_u64().unwrap()
    }

    pub(crate) fn is(&self, job: u64, state: &str) -> bool {
        let (_, body) = self.ask("GET", &format!("/v1/jobs/{job}"), "");
        serde_json::from_str::<Value>(&body).unwrap()["state"] == state
    }

    /// `SIGTERM`; how long it takes.
    pub(crate) fn stop(&mut self) -> Duration {
        let begun = Instant::now();
        let daemon = self.daemon.as_mut().unwrap();
        let pid = rustix::process::Pid::from_raw(daemon.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(daemon.wait().unwrap().success());
        begun.elapsed()
    }

    /// Stops it; its folder.
    pub(crate) fn end(mut self) -> tempfile::TempDir {
        self.stop();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// The same market with another configuration.
    pub(crate) fn again(self, config: &str) -> Market {
        Market::start(self.end(), config)
    }
}

impl Drop for Market {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}

pub(crate) fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    // A connection that is cut off has no answer.
    let _ = stream.read_to_string(&mut text);
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

pub(crate) fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !check() {
        assert!(Instant::now() < end, "not so: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) const SITE: &str =
    "[[site]]\nname = 'alpha'\nkind = 'local'\npool = [{name = 'main', nodes = 4}]\n";

/// A folder that all accounts can go through, and in it a home for the account `games`.
pub(crate) fn with_home() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    assert!(Command::new("chown").arg("games").arg(&home).status().unwrap().success());
    (folder, home)
}

/// Repeats the test as root, if it does not run as root already.
pub(crate) fn is_root(name: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let status = Command::new("sudo").arg("-n").arg(own).args(["--exact", name]).status();
    assert!(status.is_ok_and(|it| it.success()), "only root has users: allow `sudo -n`");
    false
}
