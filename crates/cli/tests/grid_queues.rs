//! Replays on grids whose pools are cut into queues.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");

const QUEUES: &str = "[[site]]\nname = 'a'\nprice = [1, 2]\n\
                      pool = [{ name = 'p', nodes = 64, queues = '1:3' }]\n\
                      [[site]]\nname = 'b'\npool = [{ name = 'q', nodes = 16 }]\n";

const LIMITS: &str = "[[site]]\nname = 'a'\n[[site.pool]]\nname = 'p'\nnodes = 64\n\
                      queue = [{ name = 'narrow', max_processors = 8, max_time = '1h' }, {}]\n";

const SIDE: &str =
    "[model]\ndraw = ['deadline']\nslack = [2, 20]\nvalue_range = [1000000, 2000000]\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn simulate(&self, grid: &str, args: &[&str]) -> Output {
        let (grid, side) = (self.file("grid.toml", grid), self.file("side.toml", SIDE));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.args(["simulate", LOG, "--check", "--out"]).arg(self.path("runs"));
        command.arg("--grid").arg(grid).arg("--side").arg(side).args(args).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn clusters_names_stand_for_meta_schedulers() {
    let folder = Folder::new();
    let output = folder.simulate(QUEUES, &["--policy", "fcfs,meta-fcfs,fcfs[spread=site],easy"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let note = "note: small: pools are cut into queues, so `fcfs` stands for `meta-fcfs`\n";
    assert_eq!(said(&output).matches("stands for").count(), 1, "{}", said(&output));
    assert!(said(&output).contains(note), "{}", said(&output));
    let jobs = |policy: &str| read(&folder.path("runs").join(policy).join("jobs.csv"));
    assert_eq!(jobs("fcfs"), jobs("meta-fcfs"));
    assert_ne!(jobs("fcfs"), jobs("fcfs[spread=site]"));
    let plain = "[[site]]\nname = 'a'\npool = [{ name = 'p', nodes = 64 }]\n";
    let output = folder.simulate(plain, &["--policy", "fcfs", "--force"]);
    assert!(!said(&output).contains("stands for"), "{}", said(&output));
}

#[test]
fn cyclic_schemes_are_refused_where_queues_have_limits() {
    let folder = Folder::new();
    let output = folder.simulate(LIMITS, &["--policy", "easy,css"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let message = "policy `css` knows no limits of queues, and `narrow` has some";
    assert!(said(&output).contains(message), "{}", said(&output));
    assert!(!folder.path("runs").exists(), "nothing was run");
    let output = folder.simulate(LIMITS, &["--policy", "easy,conservative,auction,sjf"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = folder.simulate(QUEUES, &["--policy", "css", "--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn prices_differ_between_seeds_and_random_ties_have_one() {
    let folder = Folder::new();
    let policy = "auction[ties=random],auction[ties=random,seed=5]";
    let output = folder.simulate(QUEUES, &["--policy", policy, "--seeds", "3..4"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("seeds: 3..4\n"), "{}", said(&output));
    assert!(said(&output).contains("seeds: 5 in `auction[ties=random,seed=5]`\n"));
    let income = |seed: u32| {
        let folder = folder.path("runs").join(format!("auction[ties=random]/seed={seed}"));
        let summary: Value = serde_json::from_str(&read(&folder.join("summary.json"))).unwrap();
        summary["income"]["a"].as_f64().unwrap()
    };
    assert_ne!(income(3), income(4));
    // On a log and a cluster nothing else is drawn.
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    let alone = ["simulate", LOG, "--policy", "auction[ties=random]", "--out"];
    let output = command.args(alone).arg(folder.path("one")).output().unwrap();
    assert!(said(&output).contains("seeds: 1 in `auction[ties=random]`\n"), "{}", said(&output));
}

#[test]
fn squeezed_submissions_come_faster_and_in_order() {
    let folder = Folder::new();
    let campaign = format!(
        "policies = ['easy']\nseeds = 1\n[[workload]]\nlog = ['{LOG}']\nsqueeze = 100000\n\
         grid = 'grid.toml'\nside = 'side.toml'\n"
    );
    let campaign = folder.file("campaign.toml", &campaign);
    let output = folder.simulate(QUEUES, &["--policy", "easy", "--squeeze", "100000"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let csv = read(&folder.path("runs/jobs.csv"));
    let mut submits: Vec<i64> = Vec::new();
    for line in csv.lines().skip(1) {
        submits.push(line.split(',').nth(3).unwrap().split('.').next().unwrap().parse().unwrap());
    }
    let (first, last) = (submits.iter().min().unwrap(), submits.iter().max().unwrap());
    assert!(last - first < 20, "{first} {last}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(campaign).arg("--out").arg(folder.path("file"));
    assert!(command.output().unwrap().status.success());
    assert_eq!(csv, read(&folder.path("file/jobs.csv")));
    let refused = folder.simulate(QUEUES, &["--policy", "easy", "--squeeze", "0"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_policy_that_refuses_all_jobs_says_why() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(["simulate", LOG, "--policy", "auction,easy", "--out"]).arg(folder.path("runs"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let note = "note: `auction` refused all jobs: 200 `no-value`; values and budgets come from \
                `--side FILE`, and are multiples of the grid's prices\n";
    assert!(said(&output).contains(note), "{}", said(&output));
    assert!(!said(&output).contains("`easy` refused"), "{}", said(&output));
}

#[test]
fn the_table_says_that_no_job_was_in_time() {
    let folder = Folder::new();
    let late = folder.file("late.csv", "job,deadline\n1,1\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(["simulate", LOG, "--policy", "easy", "--side"]).arg(late);
    let output = command.arg("--out").arg(folder.path("runs")).output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("IN TIME %") && table.contains("0.00"), "{table}");
}

/// Half a credit, and three from noon on, every day; cut into queues.
const HOURLY: &str = "[[site]]\nname = 'a'\n\
                      price = { every = '24h', values = [['0h', 0.5], ['12h', 3]] }\n\
                      pool = [{ name = 'p', nodes = 64, queues = '1:3' }]\n\
                      [[site]]\nname = 'b'\npool = [{ name = 'q', nodes = 16, price = 1.5 }]\n";

#[test]
fn queues_whose_prices_change_trade_at_the_mean() {
    let folder = Folder::new();
    let output = folder.simulate(HOURLY, &["--policy", "auction,fcfs,edf-fq[slots=packaged]"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let mut between = 0;
    for policy in ["auction", "fcfs", "edf-fq[slots=packaged]"] {
        let text = read(&folder.path("runs").join(policy).join("trades.csv"));
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        for row in rows.records().map(Result::unwrap) {
            let (price, list, reserve) = (&row[7], &row[8], &row[9]);
            assert_eq!((price, list), (reserve, reserve), "{policy}: {row:?}");
            let price: f64 = price.parse().unwrap();
            match &row[4] {
                "a" => assert!((0.5..=3.0).contains(&price)),
                _ => assert!((price - 1.5).abs() < 1e-9),
            }
            between += usize::from(&row[4] == "a" && price > 0.5 && price < 3.0);
        }
    }
    assert!(between > 10, "{between} jobs ran across a change");
    let output = folder.simulate(HOURLY, &["--policy", "css[variant=paper]", "--force"]);
    assert_eq!(output.status.code(), Some(2));
    let why = "has `variant=paper`, which knows one price per slot; the price of `p-1` changes";
    assert!(said(&output).contains(why), "{}", said(&output));
}

/// Two sites whose nodes have 1 and 4 MiB.
const ROOMY: &str = "[[site]]\nname = 'a'\nmemory = '1M'\npool = [{ name = 'p', nodes = 8 }]\n\
                     [[site]]\nname = 'b'\npool = [{ name = 'q', nodes = 8, memory = '4M' }]\n";

#[test]
fn in_a_grid_a_job_runs_where_nodes_have_its_memory() {
    // Three jobs at once whose processors need 600, 1,025 and 4,097 KiB.
    let job = |number, kib| format!("{number} 0 0 10 2 -1 -1 2 10 {kib} 1 1 1 1 1 1 -1 -1\n");
    let folder = Folder::new();
    let log = format!("; MaxProcs: 16\n{}{}{}", job(1, 600), job(2, 1_025), job(3, 4_097));
    let (log, grid) = (folder.file("log.swf", &log), folder.file("grid.toml", ROOMY));
    let simulate = |grid: &Path, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg("simulate").arg(&log).args(["--check", "--force", "--out"]);
        command.arg(folder.path("runs")).arg("--grid").arg(grid).args(args).output().unwrap()
    };
    let policies = ["easy", "css", "meta-fcfs", "multi-queue[choose=memory]"];
    let memory = ["--memory", "requested", "--policy", &policies.join(",")];
    let output = simulate(&grid, &memory);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for policy in policies {
        let text = read(&folder.path("runs").join(policy).join("jobs.csv"));
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let nodes: Vec<String> = rows.records().map(|row| row.unwrap()[14].to_owned()).collect();
        let first = nodes[1].split(['-', ' ']).next().unwrap().parse::<u32>();
        assert!(first.is_ok_and(|node| node >= 8), "{policy}: {nodes:?}");
        let refused = read(&folder.path("runs").join(policy).join("refused.csv"));
        assert!(refused.lines().nth(1).unwrap().starts_with("3,"), "{policy}: {refused}");
    }
    let output = simulate(&grid, &[&memory[..], &["--node-memory", "1G"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let unknown = folder.file("unknown.toml", &ROOMY.replace("memory = '1M'\n", ""));
    let why = |args: &[&str]| {
        let output = simulate(&unknown, args);
        assert_eq!(output.status.code(), Some(2));
        said(&output)
    };
    assert!(why(&memory).contains("the pool `p` does not say how much memory its nodes have"));
    let chosen = why(&["--policy", "easy-sites[choose=memory]"]);
    assert!(chosen.contains("the nodes of the pool `p` have no known memory"), "{chosen}");
}
