//! Policies of the user's own, over lines of JSON.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn simulate(out: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(["simulate", "examples/small.swf", "--out"]).arg(out).args(args);
    command.current_dir(ROOT).assert()
}

/// What is said about a command that fails.
fn refused(policy: &str) -> String {
    refused_within("60s", policy)
}

fn refused_within(timeout: &str, policy: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy-cmd", policy, "--policy-timeout", timeout];
    let said = simulate(folder.path(), &args).code(3);
    String::from_utf8_lossy(&said.get_output().stderr).into_owned()
}

/// A command that greets, and then says the same again and again.
fn again(answer: &str) -> String {
    format!(r#"echo '{{"protocol":1}}'; yes '{answer}'"#)
}

/// Python 3 is not needed to build or to use the program: without it there is nothing to test.
fn python() -> bool {
    std::process::Command::new("python3").arg("--version").output().is_ok()
}

#[test]
fn the_example_starts_every_job_when_ours_does() {
    if !python() {
        return;
    }
    for policy in ["fcfs", "easy"] {
        let folder = tempfile::tempdir().unwrap();
        let command = format!("python3 examples/policy.py {policy}");
        simulate(folder.path(), &["--policy", policy, "--policy-cmd", &command]).success();
        let [theirs, ours] = ["command", policy]
            .map(|name| std::fs::read(folder.path().join(name).join("jobs.csv")).unwrap());
        assert_eq!(theirs, ours, "{policy}");
    }
}

#[test]
fn the_example_has_a_rule_of_its_own() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy-cmd", "python3 examples/policy.py smallest-first"];
    simulate(folder.path(), &args).success();
    assert!(folder.path().join("jobs.csv").exists());
}

/// What a node costs in `examples/prices-grid.toml`, by the number that it has in results, in tenths of
/// a credit per second.
fn tenths(node: u32, second: u64) -> u64 {
    let hour = second / 3_600;
    match (node < 80, hour % 24) {
        (true, 8..18) => 20,
        (true, _) => 5,
        (false, _) => match hour {
            0..6 => 10,
            6..12 => 15,
            12..20 => 30,
            _ => 12,
        },
    }
}

/// What all jobs of a replay cost by their nodes and seconds, and what its summary says, in credits.
fn costs(folder: &Path) -> (f64, f64) {
    let mut rows = csv::Reader::from_path(folder.join("jobs.csv")).unwrap();
    let mut sum = 0;
    for row in rows.records().map(Result::unwrap) {
        let second = |at: usize| row[at].parse::<f64>().unwrap() as u64;
        let nodes = row[14].split(' ').flat_map(|part| {
            let ends: Vec<u32> = part.split('-').map(|it| it.parse().unwrap()).collect();
            ends[0]..=ends[ends.len() - 1]
        });
        // Nodes of a job are of one pool.
        let nodes: Vec<u32> = nodes.collect();
        let each: u64 = (second(8)..second(10)).map(|at| tenths(nodes[0], at)).sum();
        sum += each * nodes.len() as u64;
    }
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    (sum as f64 / 10.0, summary["total_cost"].as_f64().unwrap())
}

#[test]
fn a_command_waits_for_low_prices_and_pays_for_its_seconds() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |hours: u32| {
        let out = folder.path().join(hours.to_string());
        let command = format!("python3 examples/thrifty.py {hours}");
        let grid = ["--grid", "examples/prices-grid.toml"];
        simulate(&out, &[&grid[..], &["--policy-cmd", &command]].concat()).success();
        let (sum, said) = costs(&out);
        assert!((sum - said).abs() < 0.01, "{sum} {said}");
        said
    };
    let (at_once, patient) = (run(0), run(12));
    assert!(patient < 0.9 * at_once, "{patient} {at_once}");
}

#[test]
fn a_start_above_a_limit_ends_the_replay_where_prices_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    // The first job has 8 processors for an hour from second 2,261 on.
    let side = |limit: &str| file("side.toml", &format!("[[job]]\njob = 1\n{limit}\n"));
    let grid = |price: &str| {
        let pool = "pool = [{ name = 'p', nodes = 1000 }]";
        file("grid.toml", &format!("[[site]]\nname = 'a'\nprice = {price}\n{pool}\n"))
    };
    let greedy = r#"echo '{"protocol":1}'; read grid; n=0
        while read pass; do case $pass in
            *submitted*) echo "{\"start\":[{\"job\":$n}]}"; n=$((n + 1));;
            *) echo '{}';;
        esac; done"#;
    let run = |price: &str, limit: &str, code: i32| {
        let (side, grid) = (side(limit), grid(price));
        let args = ["--policy-cmd", greedy, "--grid", &grid, "--side", &side, "--force"];
        let said = simulate(&folder.path().join("out"), &args).code(code);
        String::from_utf8_lossy(&said.get_output().stderr).into_owned()
    };
    // 1,339 seconds at 1, and 2,261 at 3, on 8 nodes.
    let (rising, cost) = ("[['0h', 1], ['1h', 3]]", 8 * (1_339 + 3 * 2_261));
    run(rising, &format!("budget = {cost}"), 0);
    let said = run(rising, &format!("budget = {}", cost - 1), 3);
    let why = format!("job 0 costs {cost} if it starts now, and its budget is {}", cost - 1);
    assert!(said.contains("at 2261") && said.contains(&why), "{said}");
    run(rising, "max_price = 3", 0);
    let said = run(rising, "max_price = 2.5", 3);
    assert!(said.contains("job 0 pays up to 3 per node and second, and its cap is 2.5"), "{said}");
    // By load as by the hour: the grid is idle at the start of the first job.
    let by_load = "{ load = [[0, 3], [0.001, 5]] }";
    run(by_load, &format!("budget = {}", 8 * 3_600 * 3), 0);
    let said = run(by_load, &format!("budget = {}", 8 * 3_600 * 3 - 1), 3);
    assert!(said.contains("job 0 costs 86400 if it starts now"), "{said}");
    run("3", "budget = 1", 0);
}

#[test]
fn a_command_reads_prices_by_load() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let listens = format!(
        r#"echo '{{"protocol":1}}'; read grid; echo "$grid" >{told}; n=0
        while read pass; do echo "$pass" >>{told}; case $pass in
            *submitted*) echo "{{\"start\":[{{\"job\":$n,\"pool\":0}}]}}"; n=$((n + 1));;
            *) echo '{{}}';;
        esac; done"#,
        told = told.display()
    );
    let grid = folder.path().join("grid.toml");
    let text = "[[site]]\nname = 'a'\nprice = { load = [[0, 0.5], [0.001, 2]] }\n\
                pool = [{ name = 'p', nodes = 4096 }, { name = 'q', nodes = 1, price = 1 },\n\
                {  name = 'r', nodes = 1, price = { demand = [[0, 7], [2.5, 8]] } }]\n";
    std::fs::write(&grid, text).unwrap();
    let args = ["--policy-cmd", &listens, "--grid", &grid.display().to_string()];
    simulate(&folder.path().join("out"), &args).success();
    let told = std::fs::read_to_string(&told).unwrap();
    let first = told.lines().next().unwrap();
    assert!(first.contains(r#""price":0.5,"price_by_load":[[0,0.5],[0.001,2]]"#), "{first}");
    assert!(first.contains(r#""price":7,"price_by_demand":[[0,7],[2.5,8]]"#), "{first}");
    let passes = |prices: &str| told.lines().skip(1).filter(|pass| pass.contains(prices)).count();
    let (idle, used) = (passes(r#""prices":[0.5,1,"#), passes(r#""prices":[2,1,"#));
    assert!(idle > 0 && used > 0 && idle + used == told.lines().count() - 1, "{idle} {used}");
}

#[test]
fn a_command_that_ends_is_named() {
    assert!(refused("true").contains("it ended (exit status: 0) without an answer"));
    assert!(refused("exit 7").contains("it ended (exit status: 7) without an answer"));
    assert!(refused("no-such-command").contains("127"));
    let later = refused(r#"echo '{"protocol":1}'; read grid; read pass"#);
    assert!(later.contains("its answer at 2261: it ended"), "{later}");
}

#[test]
fn nonsense_is_shown() {
    let said = refused("echo hello");
    assert!(said.contains("its greeting is wrong") && said.contains("`hello`"), "{said}");
    let said = refused(&again(r#"{"strat":[]}"#));
    assert!(said.contains("unknown field `strat`"), "{said}");
    assert!(refused(r#"echo '{"protocol":2}'"#).contains("speaks protocol 2"));
}

#[test]
fn a_command_that_does_not_answer_is_ended_with_all_it_started() {
    let began = Instant::now();
    // A span that no other process on this machine sleeps.
    let sleep = format!("sleep 62.{}", std::process::id());
    let script = format!(r#"echo '{{"protocol":1}}'; sleep 61 | {sleep}"#);
    let said = refused_within("3s", &script);
    assert!(said.contains("no answer within 3 s"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(50));
    let listed = std::process::Command::new("ps").args(["-eo", "args"]).output();
    let listed = listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    assert!(!listed.unwrap_or_default().lines().any(|line| line == sleep));
}

#[test]
fn what_cannot_be_started_is_named_with_the_logs_number() {
    let said = refused(&again(r#"{"start":[{"job":7}]}"#));
    assert!(said.contains("at 2261") && said.contains("job 7 is number 8 in the log"), "{said}");
    let said = refused(&again(r#"{"start":[{"job":0,"pool":4}]}"#));
    assert!(said.contains("job 0 cannot be placed"), "{said}");
    let said = refused(&again(r#"{"start":[{"job":900}]}"#));
    assert!(said.contains("there are 200 jobs"), "{said}");
    // Whatever is submitted starts at once: before long it does not fit.
    let greedy = r#"echo '{"protocol":1}'; read grid; n=0
        while read pass; do case $pass in
            *submitted*) echo "{\"start\":[{\"job\":$n}]}"; n=$((n + 1));;
            *) echo '{}';;
        esac; done"#;
    let said = refused(greedy);
    assert!(said.contains("nodes, and ") && said.contains("in the log"), "{said}");
}

#[test]
fn a_policy_that_does_nothing_is_stuck() {
    assert!(refused(&again("{}")).contains("200 jobs waiting for ever"));
}

#[test]
fn a_broken_promise_is_noticed() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.py");
    let text = std::fs::read_to_string(Path::new(ROOT).join("examples/policy.py")).unwrap();
    std::fs::write(
        &policy,
        text.replace(r#""protocol": 1"#, r#""protocol": 1, "promise": "order""#),
    )
    .unwrap();
    let command = |rule: &str| format!("python3 '{}' {rule}", policy.display());
    simulate(&folder.path().join("a"), &["--policy-cmd", &command("fcfs")]).success();
    simulate(&folder.path().join("b"), &["--policy-cmd", &command("easy")]).code(3);
}

#[test]
fn it_stands_beside_the_policies_of_a_campaign_file() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["campaign.toml", "out"].map(|name| folder.path().join(name));
    let log = Path::new(ROOT).join("examples/small.swf");
    let text = format!("policies = [\"easy\"]\nworkload = [{{log = ['{}']}}]\n", log.display());
    std::fs::write(&file, text).unwrap();
    let run = |policy: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg("simulate").arg(&file).arg("--out").arg(&out);
        command.args(["--threads", "2", "--policy-cmd", policy]).assert()
    };
    // The other runs are kept, and a command that has changed is another campaign.
    run("true").code(3);
    assert!(out.join("easy/jobs.csv").exists() && !out.join("command/jobs.csv").exists());
    run("false").code(2);
}

#[test]
fn jobs_may_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = r#"echo '{"protocol":1}'; read grid; n=0
        while read pass; do case $pass in
            *submitted*) echo "{\"refuse\":[{\"job\":$n}]}"; n=$((n + 1));;
            *) echo '{}';;
        esac; done"#;
    simulate(folder.path(), &["--policy-cmd", refuse]).success();
    let csv = std::fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains("REJECTED")).count(), 200);
}
