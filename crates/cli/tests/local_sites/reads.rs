//! Reads of output that cannot come to an end: they hold up nothing else.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::market::{Market, SITE, answer, is_root, until, with_home};

/// Reads at the same time: a few fewer than the 256 connections that one user may have.
const MANY: usize = 240;

/// Asks for the output so many times at once.
fn read_many(market: &Market, job: u64) -> Vec<JoinHandle<(u16, String)>> {
    let (token, path) = (market.admin(), format!("/v1/jobs/{job}/output"));
    let streams: Vec<TcpStream> =
        (0..MANY).map(|_| market.connect(&token, ("GET", &path), "")).collect();
    streams.into_iter().map(|stream| thread::spawn(move || answer(stream))).collect()
}

/// Everything else goes on: readiness, a job from submission to its end, its output.
fn goes_on(market: &Market) {
    let begun = Instant::now();
    assert_eq!(market.ask("GET", "/readyz", "").0, 200);
    assert_eq!(market.ask("GET", "/v1/market", "").0, 200);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "two answers took {took:?}");
    let job = market.submit("true", "/dev/null");
    until("another job is done", || market.is(job, "COMPLETED"));
    let (_, metrics) = market.ask("GET", "/metrics", "");
    assert!(metrics.contains("site_up{site=\"alpha\"} 1"), "{metrics}");
}

#[test]
fn a_pipe_for_output_is_not_opened() {
    let mut market = Market::start(tempfile::tempdir().unwrap(), SITE);
    let pipe = market.folder.path().join("pipe");
    let text = format!("rm -f {0}; mkfifo {0}; sleep 300", pipe.display());
    let job = market.submit(&text, &pipe.to_string_lossy());
    until("the pipe is there", || {
        fs::symlink_metadata(&pipe).is_ok_and(|it| it.file_type().is_fifo())
    });
    let (status, body) = market.ask("GET", &format!("/v1/jobs/{job}/output"), "");
    assert!(status == 409 && body.contains("a pipe"), "{status} {body}");
    let reads = read_many(&market, job);
    goes_on(&market);
    for read in reads {
        let (status, body) = read.join().unwrap();
        assert!([409, 429].contains(&status), "{status} {body}");
    }
    let cancelled = market.ask("DELETE", &format!("/v1/jobs/{job}"), "");
    assert_eq!(cancelled.0, 200, "{}", cancelled.1);
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
    if !is_root("reads::reads_that_never_come_back_are_bounded") {
        return;
    }
    let (folder, home) = with_home();
    let config = format!(
        "{SITE}user_command = ['{}', '{{user}}']\naccounts = {{ '*' = 'games' }}\n\
         directory = '{home}'\nspool = '{home}/.spool'\n",
        stuck(folder.path()).display(),
        home = home.display()
    );
    let mut market = Market::start(folder, &config);
    let job = market.submit("echo text; sleep 300", "out");
    until("it runs", || market.is(job, "RUNNING"));
    let reads = read_many(&market, job);
    goes_on(&market);
    let mut busy = 0;
    for read in reads {
        let (status, body) = read.join().unwrap();
        assert!([429, 503].contains(&status), "{status} {body}");
        busy += usize::from(status == 429);
    }
    assert!(busy >= MANY - 4, "{busy} were told that there are too many");
    goes_on(&market);
    let cancelled = market.ask("DELETE", &format!("/v1/jobs/{job}"), "");
    assert_eq!(cancelled.0, 200, "{}", cancelled.1);
    until("it is cancelled", || market.is(job, "CANCELLED"));
    let took = market.stop();
    assert!(took < Duration::from_secs(30), "{took:?}");
}
