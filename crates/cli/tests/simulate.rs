//! A replay from end to end.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");

fn simulate(out: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(["simulate", LOG, "--out"]).arg(out).args(args).assert()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn each_policy_gets_a_folder_and_the_same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy", "fcfs,easy,easy[depth=3,order=shortest],conservative", "--check"];
    let [once, again] = ["a", "b"].map(|name| folder.path().join(name));
    simulate(&once, &args).success();
    simulate(&again, &args).success();
    for policy in ["fcfs", "easy", "easy[depth=3,order=shortest]", "conservative"] {
        let csv = read(&once.join(policy).join("jobs.csv"));
        assert_eq!(csv.lines().count(), 201, "{policy}");
        assert_eq!(csv, read(&again.join(policy).join("jobs.csv")));
        let summary: Value =
            serde_json::from_str(&read(&once.join(policy).join("summary.json"))).unwrap();
        assert_eq!(summary["policy"], policy);
        assert_eq!(summary["jobs"], 200);
    }
}

#[test]
fn backfilling_waits_less_than_first_come_first_served() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy", "fcfs,easy", "--format", "json", "--check"];
    let printed = simulate(folder.path(), &args).success().get_output().stdout.clone();
    let summaries: Value = serde_json::from_slice(&printed).unwrap();
    let wait = |at: usize| summaries[at]["mean_wait_s"].as_f64().unwrap();
    assert!(wait(1) < wait(0));
    assert_eq!(summaries[0]["backfill_ratio"], 0.0);
    assert!(summaries[1]["backfill_ratio"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_single_policy_writes_straight_into_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), &["--policy", "easy", "--semantics", "pyss", "--check"]).success();
    for estimate in ["exact", "predicted", "published-linear", "learned"] {
        let other = tempfile::tempdir().unwrap();
        let rules = ["--semantics", "pyss", "--estimate", estimate, "--check"];
        let policy = ["--policy", "easy[backfill=shortest]"];
        simulate(other.path(), &[&policy[..], &rules].concat()).success();
    }
    assert!(folder.path().join("jobs.csv").exists());
}

#[test]
fn learned_takes_no_parameters_and_one_cluster() {
    let folder = tempfile::tempdir().unwrap();
    for semantics in ["textbook", "pyss"] {
        let rules = ["--semantics", semantics, "--check", "--force"];
        simulate(folder.path(), &[&["--policy", "learned"][..], &rules].concat()).success();
        assert!(folder.path().join("jobs.csv").exists());
    }
    let refused = simulate(folder.path(), &["--policy", "learned[depth=2]"]).code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("`learned` has no parameter `depth`"), "{said}");
    let grid = folder.path().join("grid.toml");
    let pools = ["a", "b"].map(|name| format!("[[site.pool]]\nname = \"{name}\"\nnodes = 64\n"));
    std::fs::write(&grid, format!("[[site]]\nname = \"s\"\n{}", pools.concat())).unwrap();
    let grid = grid.display().to_string();
    let args = ["--policy", "learned", "--force", "--grid", &grid];
    let refused = simulate(folder.path(), &args).code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("about one cluster"), "{said}");
}

#[test]
fn what_is_too_wide_is_rejected_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), &["--policy", "easy", "--procs", "16", "--check"]).success();
    let csv = read(&folder.path().join("jobs.csv"));
    let rejected = csv.lines().filter(|line| line.ends_with(",0,REJECTED,,,,,,,,,")).count();
    let ran = csv.lines().filter(|line| line.contains(",COMPLETED_")).count();
    assert!(rejected > 0);
    assert_eq!(rejected + ran, 200);
}

#[test]
fn a_wrong_machine_or_time_is_said_beside_what_the_log_has() {
    let folder = tempfile::tempdir().unwrap();
    let said = |code: i32, args: &[&str]| {
        let args = [&["--policy", "easy", "--force"], args].concat();
        let done = simulate(folder.path(), &args).code(code);
        String::from_utf8_lossy(&done.get_output().stderr).into_owned()
    };
    let small = said(0, &["--procs", "16"]);
    assert!(small.contains("has 64 processors, and `--procs` says 16"), "{small}");
    assert!(!said(0, &["--procs", "64"]).contains("--procs"));
    let wrong = said(2, &["--procs", "many"]);
    assert!(wrong.contains("say how many processors the machine has"), "{wrong}");
    let late = said(3, &["--from", "100d"]);
    assert!(late.contains("no job in this time\n  hint: on the log's clock"), "{late}");
}

#[test]
fn an_unknown_policy_is_refused_with_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    let refused = simulate(folder.path(), &["--policy", "esay"]).code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("did you mean `easy`?"), "{said}");
    simulate(folder.path(), &["--policy", "easy", "--semantics", "pyss", "--overrun", "extend"])
        .code(2);
}

/// What a replay of a log on two processors, with an outage and terms of jobs, leaves in a folder.
fn with_an_outage(jobs: &str, outage: &str, terms: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let log = file("log.swf", &format!("; MaxProcs: 2\n{jobs}"));
    let outages = file("outages.csv", &format!("from,until,nodes,cause\n{outage}\n"));
    let side = file("side.csv", &format!("job,deadline\n{terms}\n"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(log).arg("--out").arg(folder.path().join("run"));
    command.arg("--outages").arg(outages).arg("--side").arg(side);
    command.args(["--policy", "easy", "--check"]).assert().success();
    folder
}

#[test]
fn a_job_is_planned_around_an_outage_after_all_others_have_ended() {
    let jobs = "1 0 -1 1 2 -1 -1 2 100 -1 1 1 1 -1 1 -1 -1 -1\n";
    let folder = with_an_outage(jobs, "50,60,1,maintenance", "9,9");
    let csv = read(&folder.path().join("run/jobs.csv"));
    assert!(csv.contains(",60.000000,61.000000,"), "{csv}");
}

#[test]
fn what_is_missing_after_the_last_end_was_not_unavailable() {
    let jobs = "1 0 -1 10 2 -1 -1 2 10 -1 1 1 1 -1 1 -1 -1 -1\n\
                2 40 -1 10 2 -1 -1 2 10 -1 1 1 1 -1 1 -1 -1 -1\n";
    let folder = with_an_outage(jobs, "20,30,2,maintenance", "2,41");
    let json: Value =
        serde_json::from_str(&read(&folder.path().join("run/schedule.json"))).unwrap();
    let keys = ["nb_jobs_rejected", "makespan", "time_unavailable", "time_idle"];
    let values = keys.map(|key| json[key].as_f64().unwrap());
    assert_eq!(values, [1.0, 10.0, 0.0, 0.0], "{keys:?}");
}

#[test]
fn jobs_submitted_at_once_go_by_number_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.swf");
    let line = |number: u32| format!("{number} 0 -1 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n");
    std::fs::write(&log, format!("; MaxProcs: 1\n{}{}{}", line(5), line(3), line(4))).unwrap();
    let tradewind = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg(args[0]).arg(&log).args(&args[1..]).assert().success().get_output().clone()
    };
    for semantics in ["textbook", "pyss"] {
        let out = folder.path().join(semantics);
        let to = out.to_str().unwrap();
        tradewind(&["simulate", "--policy", "fcfs", "--semantics", semantics, "--out", to]);
        let csv = read(&out.join("jobs.csv"));
        let mut starts: Vec<(u32, u32)> = csv
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                (cells[8].parse::<f64>().unwrap() as u32, cells[0].parse().unwrap())
            })
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, [(0, 3), (9, 4), (18, 5)], "{semantics}: {csv}");
    }
    let taken = tradewind(&[
        "snapshot",
        "--at",
        "1",
        "--horizon",
        "1h",
        "--seed",
        "1",
        "--batch",
        "waiting",
    ]);
    let moment: Value = serde_json::from_slice(&taken.stdout).unwrap();
    let names: Vec<&Value> =
        moment["jobs"].as_array().unwrap().iter().map(|job| &job["name"]).collect();
    assert_eq!(names, ["4", "5"], "job 3 runs");
}

#[test]
fn jobs_of_one_number_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.swf");
    let line = "7 0 -1 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n";
    std::fs::write(&log, format!("; MaxProcs: 1\n{line}{line}")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(&log).args(["--policy", "easy", "--out"]);
    let output = command.arg(folder.path().join("run")).assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        said.contains("log: jobs with the number of another one") && said.contains(": 1\n"),
        "{said}"
    );
}

fn run_log(folder: &Path, text: &str, args: &[&str]) -> assert_cmd::assert::Assert {
    let log = folder.join("log.swf");
    std::fs::write(&log, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(log).args(args).current_dir(folder).assert()
}

#[test]
fn a_long_log_is_streamed_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.swf");
    let line = |at: i64| {
        let (submit, run, wide) = (at * 300, 60 + at * 37 % 900, 1 + at * 7 % 60);
        let job = format!("{at} {submit} -1 {run} {wide} -1 -1 {wide} {}", run * (1 + at % 3));
        format!("{job} -1 1 {} 1 1 1 1 -1 -1{:5000}\n", at % 7, "")
    };
    std::fs::write(&log, (1..900).map(line).collect::<String>()).unwrap();
    let replayed = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        let command = command.arg("simulate").arg(&log);
        let done = command.args(["--policy", "fcfs,easy", "--procs", "64"]).args(args).output();
        let done = done.unwrap();
        assert!(done.status.success());
        [done.stdout, done.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let [_, said] = replayed(&["-v"]);
    assert_eq!(said.matches(", streamed").count(), 2, "{said}");
    let [_, said] = replayed(&["-v", "--check"]);
    assert!(said.contains("logs are read whole: `--check` follows every job"), "{said}");
    assert_eq!(replayed(&["--format", "json"]), replayed(&["--format", "json", "--check"]));
    let out = ["streamed", "whole"].map(|name| folder.path().join(name));
    let [streamed, whole] = [&out[0], &out[1]].map(|out| out.to_str().unwrap());
    replayed(&["--outputs", "summary", "--out", streamed]);
    replayed(&["--outputs", "summary", "--out", whole, "--check"]);
    for policy in ["fcfs", "easy"] {
        let [streamed, whole] = [0, 1].map(|at: usize| out[at].join(policy).join("summary.json"));
        assert_eq!(read(&streamed), read(&whole));
    }
}

/// The start of each job, by its number.
fn starts(csv: &str) -> Vec<(String, String)> {
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let at = |name| head.iter().position(|column| *column == name).unwrap();
    let (job, start) = (at("job_id"), at("starting_time"));
    rows.map(|row| (row[job].to_owned(), row[start].to_owned())).collect()
}

#[test]
fn a_job_is_submitted_its_think_time_after_its_preceding_job() {
    // Job 1 runs from 0 to 10. Job 2 follows it, 5 s later; job 3 names a job that is not there.
    let log = "; MaxProcs: 2\n\
               1 0 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n\
               2 3 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 1 5\n\
               3 4 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 9 5\n";
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy", "easy", "--dependencies", "think", "--check", "--out", "out"];
    let done = run_log(folder.path(), log, &args).success();
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.contains("`--dependencies think`"), "{said}");
    let out = folder.path().join("out");
    let all = starts(&read(&out.join("jobs.csv")));
    let of = |number: &str| all.iter().find(|(job, _)| job == number).unwrap().1.clone();
    assert_eq!([of("1"), of("2"), of("3")], ["0.000000", "15.000000", "4.000000"]);
    let summary: Value = serde_json::from_str(&read(&out.join("summary.json"))).unwrap();
    assert_eq!(summary["dependencies"], "think");
    assert_eq!((&summary["linked"], &summary["unlinked"]), (&1.into(), &1.into()));
}

#[test]
fn on_shared_nodes_a_job_fits_only_where_its_memory_does() {
    // Two nodes of 2 processors and 1 MiB; each job takes 600 KiB, so two run at once.
    let job = |number| format!("{number} 0 0 10 1 -1 -1 1 10 600 1 1 1 1 1 1 -1 -1\n");
    let log = format!("; MaxProcs: 4\n{}{}{}", job(1), job(2), job(3));
    let folder = tempfile::tempdir().unwrap();
    let node = ["--node-processors", "2", "--node-memory", "1M"];
    let args =
        [&["--policy", "easy", "--memory", "requested", "--check", "--out", "out"], &node[..]];
    run_log(folder.path(), &log, &args.concat()).success();
    let all = starts(&read(&folder.path().join("out/jobs.csv")));
    let times: Vec<&str> = all.iter().map(|(_, start)| start.as_str()).collect();
    assert_eq!(times, ["0.000000", "0.000000", "10.000000"]);
    let summary: Value =
        serde_json::from_str(&read(&folder.path().join("out/summary.json"))).unwrap();
    assert!(summary["fragmented_time"].as_f64().unwrap() >= 0.0);
    let blind = ["--policy", "css", "--memory", "used"];
    let refused = run_log(folder.path(), &log, &[&blind[..], &node[..]].concat()).code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("does not count memory"), "{said}");
    run_log(folder.path(), &log, &["--policy", "easy", "--memory", "used"]).code(2);
}

#[test]
fn jobs_keep_to_the_pools_of_their_partition() {
    let job =
        |number, partition| format!("{number} 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 {partition} -1 -1\n");
    let log = format!("; MaxProcs: 9\n{}{}{}", job(1, 1), job(2, 2), job(3, 2));
    let grid = |attribute: &str| {
        format!(
            "[[site]]\nname = \"site\"\npool = [\n\
             {{ name = \"one\", nodes = 8, attributes = {{ {attribute} = \"1\" }} }},\n\
             {{ name = \"two\", nodes = 1, attributes = {{ {attribute} = \"2\" }} }},\n]\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("grid.toml"), grid("partition")).unwrap();
    let args =
        ["--policy", "easy", "--grid", "grid.toml", "--keep-to", "partition", "--out", "out"];
    run_log(folder.path(), &log, &args).success();
    let all = starts(&read(&folder.path().join("out/jobs.csv")));
    let times: Vec<&str> = all.iter().map(|(_, start)| start.as_str()).collect();
    assert_eq!(times, ["0.000000", "0.000000", "9.000000"]);
    std::fs::write(folder.path().join("grid.toml"), grid("other")).unwrap();
    let args = ["--policy", "easy", "--grid", "grid.toml", "--keep-to", "partition"];
    let refused = run_log(folder.path(), &log, &args).code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("no pool of grid.toml has a text `partition`"), "{said}");
}

#[test]
fn moldable_jobs_run_in_the_shapes_that_are_drawn_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let policies = "easy,easy[shape=first],conservative[shape=cheapest],css,whole-batch,bsf";
    let drawn = ["--policy", policies, "--moldable", "downey[a=1..4,reach=2]", "--check"];
    let [once, again] = ["a", "b"].map(|name| folder.path().join(name));
    simulate(&once, &[&drawn[..], &["--seed", "1"]].concat()).success();
    simulate(&again, &[&drawn[..], &["--seed", "1"]].concat()).success();
    let jobs = |out: &Path, policy: &str| read(&out.join(policy).join("jobs.csv"));
    for policy in ["easy", "css", "bsf"] {
        assert_eq!(jobs(&once, policy), jobs(&again, policy));
    }
    // Rigid jobs are those of the log.
    let rigid = folder.path().join("rigid");
    simulate(&rigid, &["--policy", "easy"]).success();
    assert_eq!(jobs(&once, "easy[shape=first]"), read(&rigid.join("jobs.csv")));
    assert_ne!(jobs(&once, "easy"), jobs(&once, "easy[shape=first]"));
    for (args, wrong) in [
        (["--policy", "auction", "--moldable", "downey"], "does not choose shapes"),
        (["--policy", "easy", "--moldable", "amdahl"], "there is no speed-up law `amdahl`"),
        (["--policy", "easy", "--moldable", "downey[a=0]"], "`a=0` is no range"),
    ] {
        let refused = simulate(&folder.path().join("none"), &args).code(2);
        let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(said.contains(wrong), "{said}");
    }
}

/// A log whose jobs all take no time runs to its end under every kind of policy.
#[test]
fn a_log_of_jobs_that_take_no_time_runs() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("zero.swf");
    let rest = "-1 -1 1 1 1 1 1 -1 -1 -1";
    let job = |(number, submit, processors): (u32, u32, u32)| {
        format!("{number} {submit} 0 0 {processors} -1 -1 {processors} {rest}\n")
    };
    let jobs: String = [(1, 0, 2), (2, 5, 4), (3, 5, 1), (4, 700, 3)].map(job).concat();
    std::fs::write(&log, format!("; MaxProcs: 4\n{jobs}")).unwrap();
    let policies = "fcfs,easy,conservative,css,batch-slicer,whole-batch,bsf,learned,multi-queue,\
                    meta-fcfs";
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.arg("simulate").arg(&log).args(["--policy", policies, "--check", "--format", "json"]);
    let printed = command.assert().success().get_output().stdout.clone();
    let summaries: Value = serde_json::from_slice(&printed).unwrap();
    let runs = summaries.as_array().unwrap();
    assert_eq!(runs.len(), 10);
    for run in runs {
        assert_eq!((&run["jobs"], &run["refused"]), (&4.into(), &0.into()), "{}", run["policy"]);
    }
}

/// AMP makes a budget of a price cap alone, and says for which performance.
#[test]
fn amp_says_which_performance_a_derived_budget_takes() {
    let plan = |job: &str| {
        let scenario = format!(
            "horizon = {{ start = 0, end = 600 }}\nbusy = []\n[[nodes]]\nname = \"a\"\nperformance = 2\n\
             price = 1\n[[jobs]]\nname = \"one\"\nnodes = 1\nwork = 80\n{job}\n"
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        let run = command.args(["plan", "-", "--search", "amp"]).write_stdin(scenario).assert();
        String::from_utf8(run.success().get_output().stderr.clone()).unwrap()
    };
    let said = plan("max_price = 2");
    assert!(said.contains("derived for nodes of performance 1"), "{said}");
    for silent in ["", "max_price = 2\nmin_performance = 1", "max_price = 2\nbudget = 90"] {
        assert!(!plan(silent).contains("performance 1"), "{silent}");
    }
}

/// Factors of queues and users change who trades where, and what is asked and bid.
#[test]
fn factors_of_queues_and_users_are_in_bids_and_asks() {
    let folder = tempfile::tempdir().unwrap();
    let trades = |factors: &str, users: &str, out: &str| {
        let grid = format!(
            "[[site]]\nname = \"s\"\nprice = 1\n[[site.pool]]\nname = \"p\"\nnodes = 200\n\
             queue = [{{ name = \"one\" }}, {{ name = \"two\"{factors} }}]\n"
        );
        let (grid_file, side) = (folder.path().join("grid.toml"), folder.path().join("side.toml"));
        std::fs::write(&grid_file, grid).unwrap();
        std::fs::write(&side, format!("[model]\nvalue = [1, 4]\n{users}")).unwrap();
        let (grid_file, side) = (grid_file.to_str().unwrap(), side.to_str().unwrap());
        let out = folder.path().join(out);
        simulate(
            &out,
            &["--policy", "auction[valuation=unit]", "--grid", grid_file, "--side", side],
        )
        .success();
        let text = read(&out.join("trades.csv"));
        let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let names: Vec<String> = rows.next().unwrap();
        let at = |name: &str| names.iter().position(|it| it == name).unwrap();
        let first: Vec<String> = rows.next().unwrap();
        (first[at("bid")].parse::<f64>().unwrap(), first[at("ask")].parse::<f64>().unwrap())
    };
    let (bid, ask) = trades("", "", "plain");
    assert_eq!(ask, 1.0, "both queues are idle");
    assert_eq!(trades(", ask_factor = 0.5", "", "cheap"), (bid, 0.5));
    let users: String =
        (0..200).map(|user| format!("[[user]]\nuser = {user}\nbid_factor = 2\n")).collect();
    let (twice, same) = trades("", &users, "urgent");
    assert!((twice - 2.0 * bid).abs() < 1e-5 && same == ask, "{twice} {bid}");
}

#[test]
fn a_table_whose_damage_the_reader_panics_at_is_an_error_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("log.parquet");
    let program = || Command::new(env!("CARGO_BIN_EXE_tradewind"));
    program().args(["generate", "from", LOG, "-o"]).arg(&table).assert().success();
    let mut bytes = std::fs::read(&table).unwrap();
    // The head of a page of 200 plain values, as Thrift writes it: now they refer to a dictionary,
    // which is not there.
    let head = [0x2c, 0x15, 0x90, 0x03, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06];
    let at = bytes.windows(head.len()).position(|it| it == head).unwrap();
    bytes[at + 5] = 0x10;
    std::fs::write(&table, bytes).unwrap();
    let told = program().args(["generate", "from"]).arg(&table).assert().code(3);
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    assert!(told.contains("log.parquet: a Parquet file that cannot be read: its descr"), "{told}");
    assert!(!told.contains("bug"), "{told}");
}

#[test]
fn jobs_wait_for_licences_of_the_grid_under_policies_that_plan_them() {
    let folder = tempfile::tempdir().unwrap();
    let grid = folder.path().join("grid.toml");
    let text = |jobs: &str| {
        format!(
            "[[site]]\nname = \"a\"\npool = [{{ name = \"a\", nodes = 64, price = 0.01 }}]\n\
             [[licence]]\nname = \"abaqus\"\ncount = 3\nprice = 0.002\n{jobs}"
        )
    };
    let run = |out: &str, jobs: &str, policy: &str| {
        std::fs::write(&grid, text(jobs)).unwrap();
        let (out, grid) = (folder.path().join(out), grid.to_str().unwrap());
        let rest = ["--grid", grid, "--seed", "1", "--policy", policy, "--check"];
        simulate(&out, &[&rest[..], &["--format", "json"]].concat())
    };
    let policies = "fcfs,easy,conservative,css,batch-slicer,whole-batch,on-the-fly,bsf";
    let waits = |out: &str, jobs: &str| -> Vec<f64> {
        let printed = run(out, jobs, policies).success().get_output().stdout.clone();
        let summaries: Value = serde_json::from_slice(&printed).unwrap();
        let all = summaries.as_array().unwrap();
        all.iter().map(|it| it["mean_wait_s"].as_f64().unwrap()).collect()
    };
    let without = waits("without", "");
    let with = waits("with", "jobs = { share = 0.5, each = [1, 3] }");
    assert!(with.len() == 8 && with.iter().zip(&without).all(|(with, without)| with > without));
    for policy in ["auction", "multi-queue", "easy-sites", "learned"] {
        let said = run("refused", "", policy).code(2).get_output().stderr.clone();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("plans no licences, and there is `abaqus`"), "{policy}: {said}");
    }
}

/// Three of four jobs read up to 64 GB that lie at one of two sites, over 1 Gbit/s.
#[test]
fn data_of_jobs_is_a_part_of_their_time_under_policies_that_count_it() {
    let folder = tempfile::tempdir().unwrap();
    let grid = folder.path().join("grid.toml");
    let text = |data: &str| {
        format!(
            "[[site]]\nname = \"a\"\npool = [{{ name = \"a\", nodes = 64, price = 0.01 }}]\n\
             [[site]]\nname = \"b\"\npool = [{{ name = \"b\", nodes = 64, price = 0.01 }}]\n\
             [[link]]\nbetween = [\"a\", \"b\"]\nbandwidth = \"1 Gbit/s\"\n{data}"
        )
    };
    let run = |out: &str, data: &str, policy: &str| {
        std::fs::write(&grid, text(data)).unwrap();
        let (out, grid) = (folder.path().join(out), grid.to_str().unwrap());
        let rest = ["--grid", grid, "--seed", "1", "--policy", policy, "--check"];
        simulate(&out, &[&rest[..], &["--format", "json"]].concat())
    };
    let data = "[data]\njobs = 0.75\ninput = [\"1 GB\", \"64 GB\"]\n";
    let policies = "fcfs,easy,conservative,css,batch-slicer,whole-batch,on-the-fly,bsf,\
                    meta-fcfs";
    let turnarounds = |out: &str, data: &str| -> Vec<f64> {
        let printed = run(out, data, policies).success().get_output().stdout.clone();
        let summaries: Value = serde_json::from_slice(&printed).unwrap();
        let all = summaries.as_array().unwrap();
        all.iter().map(|it| it["mean_turnaround_s"].as_f64().unwrap()).collect()
    };
    let without = turnarounds("without", "");
    let with = turnarounds("with", data);
    assert_eq!(with.len(), 9);
    assert!(
        with.iter().zip(&without).all(|(with, without)| with > without),
        "{with:?} {without:?}"
    );
    for policy in ["multi-queue", "easy-sites", "learned"] {
        let said = run("refused", data, policy).code(2).get_output().stderr.clone();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("counts no transfer of data"), "{policy}: {said}");
    }
}
