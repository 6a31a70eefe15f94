//! Reads of output that cannot come to an end, against a real daemon: they hold up nothing else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");
/// As many as wait for the market at the same time.
const MANY: usize = 256;

struct Market {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Market {
    fn start(folder: tempfile::TempDir, config: &str) -> Market {
        fs::write(folder.path().join("tradewind.toml"), config).unwrap();
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--quiet", "--listen", "127.0.0.1:0", "--config"]);
        up.arg(folder.path().join("tradewind.toml"));
        up.arg("--state").arg(folder.path().join("state")).stdout(Stdio::null());
        let market = Market { daemon: up.spawn().unwrap(), folder };
        until("the market is there", || market.folder.path().join("state/url").exists());
        market
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn connect(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let url = fs::read_to_string(self.state().join("url")).unwrap();
        let token = fs::read_to_string(self.state().join("admin.token")).unwrap();
        let mut stream = TcpStream::connect(url.trim().trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let token = token.trim();
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
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        answer(self.connect(method, path, body))
    }

    fn submit(&self, script: &str, output: &str) -> u64 {
        let job = json!({"command": ["sh", "-c", script], "output": output, "time": 600});
        let (status, body) = self.ask("POST", "/v1/jobs", &job.to_string());
        assert_eq!(status, 201, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["jobs"][0].as_u64().unwrap()
    }

    fn is(&self, job: u64, state: &str) -> bool {
        let (_, body) = self.ask("GET", &format!("/v1/jobs/{job}"), "");
        serde_json::from_str::<Value>(&body).unwrap()["state"] == state
    }

    /// Asks for the output so many times at once.
    fn read_many(&self, job: u64) -> Vec<JoinHandle<(u16, String)>> {
        let path = format!("/v1/jobs/{job}/output");
        let streams: Vec<TcpStream> = (0..MANY).map(|_| self.connect("GET", &path, "")).collect();
        streams.into_iter().map(|stream| thread::spawn(move || answer(stream))).collect()
    }

    /// Everything else goes on: readiness, a job from submission to its end, its output.
    fn goes_on(&self) {
        let begun = Instant::now();
        assert_eq!(self.ask("GET", "/readyz", "").0, 200);
        assert_eq!(self.ask("GET", "/v1/market", "").0, 200);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(4), "two answers took {took:?}");
        let job = self.submit("true", "/dev/null");
        until("another job is done", || self.is(job, "COMPLETED"));
        let (_, metrics) = self.ask("GET", "/metrics", "");
        assert!(metrics.contains("site_up{site=\"alpha\"} 1"), "{metrics}");
    }

    /// `SIGTERM`; how long it takes.
    fn stop(mut self) -> Duration {
        let begun = Instant::now();
        let pid = rustix::process::Pid::from_raw(self.daemon.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.daemon.wait().unwrap().success());
        begun.elapsed()
    }
}

impl Drop for Market {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    // A connection that is cut off has no answer.
    let _ = stream.read_to_string(&mut text);
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !check() {
        assert!(Instant::now() < end, "not so: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

const SITE: &str = "[[site]]\nname = 'alpha'\nkind = 'local'\npool = [{name = 'main', nodes = 4}]\n";

#[test]
fn a_pipe_for_output_is_not_opened() {
    let market = Market::start(tempfile::tempdir().unwrap(), SITE);
    let pipe = market.folder.path().join("pipe");
    let text = format!("rm -f {0}; mkfifo {0}; sleep 300", pipe.display());
    let job = market.submit(&text, &pipe.to_string_lossy());
    until("the pipe is there", || {
        fs::symlink_metadata(&pipe).is_ok_and(|it| it.file_type().is_fifo())
    });
    let (status, body) = market.ask("GET", &format!("/v1/jobs/{job}/output"), "");
    assert!(status == 409 && body.contains("a pipe"), "{status} {body}");
    let reads = market.read_many(job);
    market.goes_on();
    for read in reads {
        let (status, body) = read.join().unwrap();
        assert!([409, 429].contains(&status), "{status} {body}");
    }
    market.ask("POST", &format!("/v1/jobs/{job}/cancel"), "");
    until("it is cancelled", || market.is(job, "CANCELLED"));
    let took = market.stop();
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// The command that reads as the user, and never comes back.
fn stuck(folder: &Path) -> PathBuf {
    let path = folder.join("as-user");
    let text = "#!/bin/sh\nas=$1\nshift\ncase \" $* \" in *' --read '*) exec sleep 60 ;; esac\n\
                exec setpriv --reuid=\"$as\" --regid=\"$as\" --clear-groups \"$@\"\n";
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn reads_that_never_come_back_are_bounded() {
    if !rustix::process::geteuid().is_root() {
        let own = std::env::current_exe().unwrap();
        let name = ["--exact", "reads_that_never_come_back_are_bounded"];
        let status = Command::new("sudo").arg("-n").arg(own).args(name).status();
        assert!(status.is_ok_and(|it| it.success()), "only root has users: allow `sudo -n`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    assert!(Command::new("chown").arg("games").arg(&home).status().unwrap().success());
    let config = format!(
        "{SITE}user_command = ['{}', '{{user}}']\naccounts = {{ '*' = 'games' }}\n\
         directory = '{home}'\nspool = '{home}/.spool'\n",
        stuck(folder.path()).display(),
        home = home.display()
    );
    let market = Market::start(folder, &config);
    let job = market.submit("echo text; sleep 300", "out");
    until("it runs", || market.is(job, "RUNNING"));
    let reads = market.read_many(job);
    market.goes_on();
    let mut busy = 0;
    for read in reads {
        let (status, body) = read.join().unwrap();
        assert!([429, 503].contains(&status), "{status} {body}");
        busy += usize::from(status == 429);
    }
    assert!(busy >= MANY - 4, "{busy} were told that there are too many");
    market.goes_on();
    market.ask("POST", &format!("/v1/jobs/{job}/cancel"), "");
    until("it is cancelled", || market.is(job, "CANCELLED"));
    let took = market.stop();
    assert!(took < Duration::from_secs(30), "{took:?}");
}
