//! A market whose journal is in a real PostgreSQL: started, killed, taken over, brought to a file
//! and back, and refused where it must be.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run has failed")]

#[expect(dead_code, reason = "the store's own tests use the rest")]
#[path = "../../../postgres/src/tests/server.rs"]
mod server;
mod standby;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use server::{PASSWORD, Server};

/// A market's folder and configuration.
struct Place {
    server: Arc<Server>,
    folder: tempfile::TempDir,
    database: String,
}

/// A daemon and the end of its messages.
struct Daemon {
    child: Option<Child>,
    url: String,
}

impl Place {
    fn new() -> Place {
        let (server, folder) = (Server::shared(), tempfile::tempdir().unwrap());
        let database = server.database();
        let place = Place { server, folder, database };
        place.configure(&place.server.url(&place.database));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, store: &str) {
        self.configure_with(store, "");
    }

    /// The same, with more before the sites.
    fn configure_with(&self, store: &str, more: &str) {
        let text = format!(
            "store = \"{store}\"\n{more}\n[[site]]\nname = \"alpha\"\nkind = \"local\"\n\
             pool = [{{ name = \"alpha\", nodes = 2, price = 1 }}]\n"
        );
        fs::write(self.path("tradewind.toml"), text).unwrap();
    }

    fn up(&self, state: &Path, more: &[&str]) -> Command {
        let mut command = tradewind();
        command.args(["up", "--quiet", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(self.path("tradewind.toml")).arg("--state").arg(state).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a daemon, which answers.
    fn start(&self, state: &Path, more: &[&str]) -> Daemon {
        let mut child = self.up(state, more).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        if url.is_empty() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(!url.is_empty(), "it did not start: {said}");
        }
        Daemon { child: Some(child), url: url.trim().to_owned() }
    }

    /// What a start that is refused says, and its exit code.
    fn refused(&self, state: &Path, more: &[&str]) -> (i32, String) {
        let ended = self.up(state, more).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!said.contains(PASSWORD) && !said.contains("panicked"), "{said}");
        (ended.status.code().unwrap(), said)
    }
}

impl Daemon {
    fn stop(mut self) -> String {
        self.end("TERM")
    }

    fn kill(mut self) -> String {
        self.end("KILL")
    }

    /// What it said on standard error.
    fn end(&mut self, signal: &str) -> String {
        let Some(mut child) = self.child.take() else { return String::new() };
        server::signal_to(child.id(), signal);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        assert!(!said.contains(PASSWORD), "{said}");
        said
    }
}

impl Drop for Daemon {
    #[expect(
        clippy::print_stderr,
        reason = "what a daemon said is needed to see why a test failed"
    )]
    fn drop(&mut self) {
        let said = self.end("KILL");
        if std::thread::panicking() {
            eprintln!("{} said: {said}", self.url);
        }
    }
}

fn tradewind() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.env_remove("PGPASSWORD").env_remove("PGPASSFILE").env_remove("PGUSER");
    command
}

fn run(args: &[&str]) -> Output {
    tradewind().args(args).output().unwrap()
}

/// The document that a command prints, which must go well.
fn json(args: &[&str]) -> Value {
    let ended = run(&[args, &["--format", "json"]].concat());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{args:?}: {said}");
    assert!(!said.contains(PASSWORD), "{said}");
    assert!(!String::from_utf8_lossy(&ended.stdout).contains(PASSWORD));
    serde_json::from_slice(&ended.stdout).unwrap()
}

/// Submits a job and waits for its end.
fn a_job_runs(state: &Path) {
    let state = state.to_str().unwrap();
    let ended = run(&["submit", "--state", state, "--time", "60", "--wait", "--", "true"]);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn await_so(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(90), "not so in time: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn jobs(state: &Path) -> usize {
    let listed = json(&["jobs", "--all", "--state", state.to_str().unwrap()]);
    listed.as_array().map_or_else(|| listed["jobs"].as_array().unwrap().len(), Vec::len)
}

#[test]
fn a_market_in_a_database_goes_on_after_stops_and_kills() {
    let place = Place::new();
    let state = place.path("state");
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    daemon.stop();
    assert!(!state.join("journal.db").exists());
    let note = fs::read_to_string(state.join("journal.json")).unwrap();
    assert!(note.contains("postgresql://tradewind@127.0.0.1") && !note.contains(PASSWORD));
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    daemon.kill();
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    assert_eq!(jobs(&state), 3);
    let url = place.server.url(&place.database);
    let proof = json(&["journal", "verify", "--store", &url]);
    assert_eq!(proof["proved"], true, "{proof}");
    assert!(proof["decisions"].as_u64().unwrap() > 0);
    daemon.stop();
}

#[test]
fn the_market_goes_on_when_the_database_was_away() {
    let place = Place::new();
    let state = place.path("state");
    let own = Arc::new(Server::start(""));
    place.configure(&own.url(&own.database()));
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    own.end("KILL");
    let state_text = state.to_str().unwrap();
    let refused = run(&["submit", "--state", state_text, "--time", "60", "--", "true"]);
    assert!(!refused.status.success(), "nothing is acknowledged without a journal");
    own.run();
    let begin = Instant::now();
    while !run(&["submit", "--state", state_text, "--time", "60", "--", "true"]).status.success() {
        assert!(begin.elapsed() < Duration::from_secs(90), "it does not go on");
        std::thread::sleep(Duration::from_millis(200));
    }
    a_job_runs(&state);
    daemon.stop();
}

#[test]
fn a_market_whose_database_was_restored_says_which_tasks_it_does_not_know() {
    let place = Place::new();
    let (state, marks, end) = (place.path("state"), place.path("marks"), place.path("end"));
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    daemon.stop();
    // As a dump that is restored later.
    let (earlier, now) = (format!("{}_earlier", place.database), &place.database);
    let copy = format!("CREATE DATABASE {earlier} TEMPLATE {now}");
    place.server.admin("postgres").batch_execute(&copy).unwrap();
    let daemon = place.start(&state, &[]);
    let market = ["--state", state.to_str().unwrap()];
    let (marks_text, end_text) = (marks.display(), end.display());
    let work = format!("echo ran >>{marks_text}; while [ ! -e {end_text} ]; do sleep 0.1; done");
    let submitted = run(&[&["submit"], &market[..], &["--time", "60", "--wrap", &work]].concat());
    assert!(submitted.status.success());
    await_so("it runs", || marks.exists());
    a_job_runs(&state);
    daemon.stop();
    place.configure(&place.server.url(&earlier));
    let daemon = place.start(&state, &[]);
    let local = || {
        let sites = json(&[&["sites"], &market[..]].concat());
        sites["sites"][0]["pools"][0]["local"].as_u64().unwrap()
    };
    await_so("the nodes of the task that is not known are not used", || local() == 1);
    let submitted =
        run(&[&["submit", "--parsable"], &market[..], &["--time", "60", "--", "true"]].concat());
    let number = String::from_utf8(submitted.stdout).unwrap();
    assert_eq!(number.trim(), "4", "numbers that were given are not given again");
    fs::write(&end, "").unwrap();
    await_so("it was left alone, and its nodes are used again", || local() == 0);
    let said = daemon.stop();
    assert!(said.contains("a task of this market runs that its journal does not know"), "{said}");
    assert!(said.contains("-2-0-0") && said.contains("numbers are not given again"), "{said}");
    assert_eq!(fs::read_to_string(&marks).unwrap(), "ran\n");
}

#[test]
fn a_second_daemon_takes_the_market_over_only_when_told() {
    let place = Place::new();
    let (one, other) = (place.path("one"), place.path("other"));
    standby::share_sites(&one, &other);
    let first = place.start(&one, &[]);
    a_job_runs(&one);
    let second = place.start(&other, &[]);
    assert_eq!(standby::ready(&second.url), "standby");
    let (code, said) = place.refused(&other, &[]);
    assert!(code == 2 && said.contains("runs in this folder already"), "{said}");
    second.stop();
    let second = place.start(&other, &["--take-over"]);
    standby::await_role(&first.url, "standby");
    // The first one sends clients to the second one.
    a_job_runs(&one);
    a_job_runs(&other);
    let said = first.kill();
    assert!(
        said.contains("another daemon has taken over") || said.contains("did not confirm"),
        "{said}"
    );
    second.stop();
    assert_eq!(place.refused(&place.path("file"), &["--take-over", "--new"]).0, 2);
}

#[test]
fn a_journal_goes_from_a_file_to_a_database_and_back() {
    let place = Place::new();
    let state = place.path("state");
    let url = place.server.url(&place.database);
    place.configure("sqlite");
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    let file = state.join("journal.db");
    let busy = run(&["journal", "import", file.to_str().unwrap(), &url]);
    assert_eq!(busy.status.code(), Some(2), "the market runs");
    daemon.stop();
    let before = json(&["journal", "verify", "--file", file.to_str().unwrap()]);
    let copied = json(&["journal", "import", file.to_str().unwrap(), &url]);
    assert_eq!((&copied["rows"], &copied["chain"]), (&before["rows"], &before["chain"]));
    // Two journals in one place are refused, each way.
    place.configure(&url);
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 3 && said.contains("journal.db") && said.contains("import"), "{said}");
    fs::rename(&file, place.path("old.db")).unwrap();
    let daemon = place.start(&state, &[]);
    assert_eq!(jobs(&state), 1);
    a_job_runs(&state);
    let running = run(&["journal", "import", &url, "back.db"]);
    assert_eq!(running.status.code(), Some(2), "the market runs");
    daemon.stop();
    let back = place.path("back.db");
    let copied = json(&["journal", "import", &url, back.to_str().unwrap()]);
    let verified = json(&["journal", "verify", "--store", &url]);
    assert_eq!((&copied["rows"], &copied["chain"]), (&verified["rows"], &verified["chain"]));
    place.configure("sqlite");
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 3 && said.contains("has its journal in postgresql://"), "{said}");
    fs::rename(&back, &file).unwrap();
    fs::remove_file(state.join("journal.json")).unwrap();
    let daemon = place.start(&state, &[]);
    assert_eq!(jobs(&state), 2);
    daemon.stop();
}

#[test]
fn an_export_of_a_database_is_imported_elsewhere() {
    let place = Place::new();
    let state = place.path("state");
    let url = place.server.url(&place.database);
    let daemon = place.start(&state, &[]);
    a_job_runs(&state);
    daemon.stop();
    let (lines, file) = (place.path("rows.jsonl"), place.path("copy.db"));
    let (lines, file) = (lines.to_str().unwrap(), file.to_str().unwrap());
    let exported = run(&["journal", "export", "--store", &url, "--output", lines]);
    assert!(exported.status.success());
    let copied = json(&["journal", "import", lines, file]);
    let verified = json(&["journal", "verify", "--store", &url]);
    assert_eq!(copied["chain"], verified["chain"]);
    assert_eq!(json(&["journal", "verify", "--file", file])["proved"], true);
}

#[test]
fn the_password_comes_from_its_file_and_the_doctor_says_what_there_is() {
    let place = Place::new();
    let state = place.path("state");
    let (port, database) = (place.server.port(), &place.database);
    place.configure(&format!("postgresql://tradewind@127.0.0.1:{port}/{database}"));
    let pass = place.path("pass");
    fs::write(&pass, format!("127.0.0.1:{port}:*:tradewind:{PASSWORD}\n")).unwrap();
    fs::set_permissions(&pass, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 2 && said.contains("asks for a password"), "{said}");
    let doctor = || {
        let config = place.path("tradewind.toml");
        let mut command = tradewind();
        command.args(["doctor", "--no-jobs", "--format", "json", "--config"]).arg(config);
        let ended = command.arg("--state").arg(&state).env("PGPASSFILE", &pass).output().unwrap();
        let all: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let of_store = all.as_array().unwrap().iter().find(|it| {
            it["what"].as_str().is_some_and(|what| what.contains("database of the journal"))
        });
        let found = of_store.unwrap().clone();
        assert!(!found.to_string().contains(PASSWORD));
        (found["verdict"].as_str().unwrap().to_owned(), found["found"].as_str().unwrap().to_owned())
    };
    let (verdict, found) = doctor();
    assert!(verdict == "good" && found.contains("no journal yet"), "{found}");
    let mut child = place.up(&state, &[]).env("PGPASSFILE", &pass).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let daemon = Daemon { child: Some(child), url };
    a_job_runs(&state);
    let (_, found) = doctor();
    assert!(found.contains("a daemon is connected") && found.contains("PostgreSQL"), "{found}");
    daemon.stop();
    fs::set_permissions(&pass, fs::Permissions::from_mode(0o644)).unwrap();
    let (verdict, found) = doctor();
    assert!(verdict == "bad" && found.contains("chmod 600"), "{found}");
}

#[test]
fn a_folder_and_a_database_of_different_markets_are_kept_apart() {
    let place = Place::new();
    let state = place.path("state");
    place.start(&state, &[]).stop();
    let other = Place::new();
    other.start(&other.path("state"), &[]).stop();
    place.configure(&other.server.url(&other.database));
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 2 && said.contains("journal of another market"), "{said}");
    let empty = Place::new();
    place.configure(&empty.server.url(&empty.database));
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 3 && said.contains("is not there"), "{said}");
    fs::remove_file(state.join("journal.json")).unwrap();
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 3 && said.contains("something of a market is in"), "{said}");
    place.configure("postgresql://tradewind@127.0.0.1:1/none?sslmode=prefer");
    let (code, said) = place.refused(&state, &[]);
    assert!(code == 2 && said.contains("`require`"), "{said}");
    let backup = run(&["backup", "b.db", "--state", other.path("state").to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&backup.stderr).contains("own backups"));
}
