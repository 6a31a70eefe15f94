//! A cluster that is only observed, beside a real daemon: its Slurm is a few lines of shell.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its programs has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// A policy's process without Python: it starts job 0 while four nodes are free, ends where `mute` is,
/// and goes on after the end of its input.
const POLICY: &str = r#"#!/bin/sh
here=${0%/*}
read -r hello
echo $$ >"$here/process"
echo '{"protocol":1}'
while read -r pass; do
    [ ! -e "$here/mute" ] || exit 3
    case $pass in
    *'"free":[4]'*'"job":0'*) echo '{"start":[{"job":0}]}' ;;
    *) echo '{}' ;;
    esac
done
exec sleep 600
"#;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

/// Lists what files say, and writes down what it was asked.
const SLURM: &str = r#"#!/bin/sh
here=${0%/*}
while case $1 in env | *=*) ;; *) false ;; esac; do shift; done
echo "$*" >>"$here/calls"
case $1 in
squeue) cat "$here/jobs.json" ;;
scontrol)
    case "$*" in
    *nodes*) echo "NodeName=a1 CPUTot=4 State=IDLE Partitions=main RealMemory=4000" ;;
    *reservation*) echo "No reservations in the system" ;;
    *config*) cat "$here/config" 2>/dev/null ;;
    esac
    ;;
sacct) cat "$here/accounting" ;;
date | id) exec "$@" ;;
*) exit 1 ;;
esac
"#;

struct Stage {
    folder: tempfile::TempDir,
    daemon: Option<Child>,
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

impl Stage {
    fn new() -> Stage {
        let stage = Stage { folder: tempfile::tempdir().unwrap(), daemon: None };
        for (name, text) in [("slurm", SLURM), ("python3", POLICY)] {
            fs::write(stage.path(name), text).unwrap();
            fs::set_permissions(stage.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        stage.configure("");
        stage
    }

    /// The configuration, with further lines of the observed site.
    fn configure(&self, more: &str) {
        let text = format!(
            "[[site]]\nname = 'here'\nkind = 'local'\npool = [{{ name = 'p', nodes = 2 }}]\n\
             [[site]]\nname = 'far'\nkind = 'slurm'\nmode = 'observe'\nunit = 'cores:1'\n\
             command = ['{}']\nrequests_at_rest = 6000\n{more}\
             pool = [{{ name = 'far-main', nodes = 4, partition = 'main', price = 2 }}]\n",
            self.path("slurm").display()
        );
        fs::write(self.path("tradewind.toml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the cluster's Slurm lists from now on.
    fn jobs(&self, jobs: &[Value]) {
        let part = self.path("jobs.part");
        fs::write(&part, json!({"errors": [], "jobs": jobs}).to_string()).unwrap();
        fs::rename(&part, self.path("jobs.json")).unwrap();
    }

    fn start(&mut self) {
        drop(fs::remove_file(self.path("state/url")));
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--quiet", "--shared-account", "--listen", "127.0.0.1:0", "--state"]);
        // Its `python3` is the one of this stage.
        let paths = std::env::var("PATH").unwrap_or_default();
        up.env("PATH", format!("{}:{paths}", self.folder.path().display()));
        up.arg(self.path("state")).arg("--config").arg(self.path("tradewind.toml"));
        self.daemon = Some(up.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
        self.until("the market is up", || self.run(&["policy"]).status.success());
    }

    /// As a service manager stops it.
    fn stop(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        let id = daemon.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(daemon.wait().unwrap().success());
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path()).args(&words[..1]);
        command.arg("--state").arg(self.path("state")).args(&words[1..]);
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN"] {
            command.env_remove(name);
        }
        command.output().unwrap()
    }

    fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[words, &["--format", "json"]].concat())).unwrap()
    }

    fn until(&self, what: &str, done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
            std::thread::sleep(Duration::from_millis(100));
        }
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

fn job(id: u32, state: &str, start: i64, end: i64) -> Value {
    let nodes = if state == "RUNNING" { "a1" } else { "" };
    json!({
        "job_id": id, "comment": "", "user_name": "eve", "account": "physics", "job_state": state,
        "state_reason": if state == "RUNNING" { "None" } else { "Resources" },
        "submit_time": start.min(now()), "start_time": start, "end_time": end, "partition": "main",
        "nodes": nodes, "cpus": 4, "node_count": 1, "time_limit": 1, "priority": 100, "exit_code": 0
    })
}

#[test]
fn an_observed_cluster_is_scored_and_gets_no_job() {
    let mut stage = Stage::new();
    let begin = now();
    let first = job(5, "RUNNING", begin - 10, begin + 600);
    stage.jobs(&[first, job(6, "PENDING", begin + 700, begin + 760)]);
    stage.start();
    let site = |it: &Value, field: &str| it["sites"][0][field].clone();
    stage.until("the queue is seen", || site(&stage.json(&["shadow"]), "waiting") == 1);

    // The market has one site, and quotes and jobs stay there.
    let sites = stage.json(&["sites"]);
    assert_eq!(sites["sites"].as_array().unwrap().len(), 1, "{sites:#}");
    let quotes = stage.json(&["quote", "--nodes", "1", "--time", "10", "--wrap", "true"]);
    assert!(!quotes.to_string().contains("far"), "{quotes:#}");
    let wide = stage.run(&["submit", "--nodes", "4", "--time", "1", "--wrap", "true"]);
    assert!(!String::from_utf8_lossy(&wide.stdout).contains("far"));
    stage.text(&["submit", "--nodes", "2", "--time", "1", "--wait", "--wrap", "true"]);

    // It starts much earlier than both forecasts say.
    let start = now();
    stage.jobs(&[job(6, "RUNNING", start, start + 60)]);
    stage.until("the start is seen", || stage.json(&["shadow"])["jobs"] == 1);
    let shadow = stage.json(&["shadow"]);
    let (ours, slurm) = (&shadow["ours"], &shadow["slurm"]);
    assert_eq!((&ours["jobs"], &slurm["jobs"]), (&json!(1), &json!(1)), "{shadow:#}");
    assert_eq!(slurm["median"], json!(begin + 700 - start));
    assert!((590..=610).contains(&(ours["p90"].as_i64().unwrap() + start - begin)), "{shadow:#}");
    assert_eq!(shadow["users"][0]["name"], "eve");
    assert_eq!(shadow["projects"][0]["name"], "physics");
    let table = stage.text(&["shadow"]);
    assert!(table.contains("Slurm, the same jobs") && table.contains("far"), "{table}");
    assert!(stage.text(&["shadow", "--format", "csv"]).contains("eve,1,"));

    stage.stop();
    stage.start();
    let again = stage.json(&["shadow"]);
    assert_eq!((&again["jobs"], &again["ours"]), (&shadow["jobs"], &shadow["ours"]));

    let calls = fs::read_to_string(stage.path("calls")).unwrap();
    let looks = ["squeue", "scontrol", "sacctmgr", "sdiag", "date", "id"];
    let is_look = |call: &&str| looks.contains(&call.split(' ').next().unwrap_or_default());
    let other: Vec<&str> = calls.lines().filter(|call| !is_look(call)).collect();
    assert!(calls.contains("squeue") && other.is_empty(), "{other:?}");
}

/// Jobs that ended while the daemon was down, and that the controller has forgotten: one had waited, one
/// came and went.
#[test]
fn what_ended_while_the_daemon_was_down_is_in_the_accounting_or_its_time_is_counted() {
    let mut stage = Stage::new();
    let path = stage.path("config");
    let config = |storage: &str| {
        let text = format!("AccountingStorageType = {storage}\nMinJobAge = 2 sec\n");
        fs::write(&path, text).unwrap();
    };
    config("accounting_storage/slurmdbd");
    fs::write(stage.path("accounting"), "").unwrap();
    let begin = now();
    stage.jobs(&[job(6, "PENDING", begin + 700, begin + 760)]);
    stage.start();
    let site = |stage: &Stage, field: &str| stage.json(&["shadow"])["sites"][0][field].clone();
    stage.until("the queue is seen", || site(&stage, "waiting") == 1);
    stage.stop();
    let text = |at: i64| jiff::Timestamp::from_second(at).unwrap().strftime("%FT%T").to_string();
    let (from, to) = (text(now() - 1), text(now()));
    let row = |id: u32| format!("{id}|eve|physics|main|COMPLETED|{from}|{from}|{to}|1|4|1|a1\n");
    fs::write(stage.path("accounting"), [6, 7].map(row).concat()).unwrap();
    stage.jobs(&[]);
    stage.start();
    stage.until("both are found", || stage.json(&["shadow"])["jobs"] == 2);
    let counts = ["brief", "unpredicted", "gone", "unwatched"].map(|it| site(&stage, it));
    assert_eq!(counts, [1, 0, 0, 0].map(|it| json!(it)));
    // Only the first had a forecast.
    assert_eq!(stage.json(&["shadow"])["ours"]["jobs"], 1);
    let table = stage.text(&["shadow"]);
    let line = table.lines().find(|it| it.starts_with("far ")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[2..8], ["2", "0", "1", "1", "0", "0:00"], "{table}");
    stage.stop();

    config("(null)");
    let past = now();
    stage.until("it is away for longer", || now() > past + 5);
    stage.start();
    stage.until("the time is counted", || site(&stage, "unwatched").as_u64() >= Some(3));
    stage.stop();
}

#[test]
fn a_local_site_cannot_be_observed() {
    let stage = Stage::new();
    let text = "[[site]]\nname = 'a'\nkind = 'local'\nmode = 'observe'\n\
                pool = [{ name = 'p', nodes = 2 }]\n";
    fs::write(stage.path("tradewind.toml"), text).unwrap();
    let output = stage.run(&["up", "--config", "tradewind.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("site[0].mode: a local site cannot be observed"), "{said}");
}

#[test]
fn a_policy_says_what_it_would_start_and_ends_with_the_daemon() {
    let mut stage = Stage::new();
    stage.configure("policy = 'python:mine:Mine'\n");
    stage.jobs(&[job(6, "PENDING", now() + 700, now() + 760)]);
    stage.start();
    let policy = |it: &Value, field: &str| it["sites"][0]["policy"][field].clone();
    stage.until("the queue is seen", || stage.json(&["shadow"])["sites"][0]["waiting"] == 1);
    let seen = now();
    stage.until("time passes", || now() > seen + 1);
    let start = now();
    stage.jobs(&[job(6, "RUNNING", start, start + 60)]);
    stage.until("the start is seen", || policy(&stage.json(&["shadow"]), "jobs") == 1);
    let shadow = stage.json(&["shadow"]);
    assert_eq!(policy(&shadow, "name"), "python:mine:Mine");
    assert_eq!((policy(&shadow, "earlier"), policy(&shadow, "later")), (json!(1), json!(0)));
    assert!(policy(&shadow, "saved").as_i64().unwrap() >= 1, "{shadow:#}");
    let table = stage.text(&["shadow"]);
    assert!(table.contains("python:mine:Mine") && !table.contains("does not answer"), "{table}");

    // Its silence is stated, and the built-in policy decides.
    fs::write(stage.path("mute"), "").unwrap();
    stage.until("the silence is seen", || !policy(&stage.json(&["shadow"]), "problem").is_null());
    let shadow = stage.json(&["shadow"]);
    let problem = policy(&shadow, "problem").to_string();
    assert!(problem.contains("it ended (exit status: 3) without an answer"), "{problem}");
    assert_eq!(policy(&shadow, "outages"), 1);
    let table = stage.text(&["shadow"]);
    assert!(table.contains("the built-in policy decides"), "{table}");

    // A new process does not end by itself, and is killed with the daemon.
    stage.stop();
    fs::remove_file(stage.path("mute")).unwrap();
    fs::remove_file(stage.path("process")).unwrap();
    stage.start();
    let process = || fs::read_to_string(stage.path("process")).unwrap_or_default();
    stage.until("there is a process", || process().ends_with('\n'));
    let process = PathBuf::from("/proc").join(process().trim());
    assert!(process.exists());
    stage.stop();
    assert!(!process.exists(), "the policy's process is still there");
}

#[test]
fn a_policy_in_python_is_only_for_observed_clusters() {
    let stage = Stage::new();
    let pool = "pool = [{ name = 'p', nodes = 2 }]";
    let site = "[[site]]\nname = 'a'\nkind = 'local'";
    for (text, words) in [
        (
            format!("{site}\npolicy = 'python:a:B'\n{pool}\n"),
            "site[0].policy: only a cluster that is observed has a policy of its own",
        ),
        (
            format!("[market]\npolicy = 'python:a:B'\n{site}\n{pool}\n"),
            "a policy in Python decides only for a cluster that is observed",
        ),
    ] {
        fs::write(stage.path("tradewind.toml"), text).unwrap();
        let output = stage.run(&["up", "--config", "tradewind.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(words), "{said}");
    }
    stage.configure("policy = 'python:a b:C'\n");
    let output = stage.run(&["up", "--config", "tradewind.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`python:a b:C` is no policy in Python"), "{said}");
}
