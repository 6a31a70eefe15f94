//! A cluster's own accounting becomes a log.

use super::cluster::{Cluster, Plan};

const TRADEWIND: &str = env!("CARGO_BIN_EXE_tradewind");
const CALL: [&str; 7] = [TRADEWIND, "generate", "sacct", "--from", "now-1hours", "--to", "now"];

#[test]
fn the_accounting_of_a_cluster_becomes_a_log() {
    let accounts = &["add cluster alpha", "add account climate", "add user USER account=climate"];
    let cluster = Cluster::start(&Plan { accounts, ..Plan::of("alpha", 2) });
    for nodes in ["-N1", "-N2"] {
        let job = cluster.job(&["-A", "climate", nodes, "--exclusive", "-t5"]);
        cluster.until_state(&job, "RUNNING");
        cluster.say(&["scancel", &job]);
        cluster.until_state(&job, "");
    }
    // The accounting is a little late.
    cluster.until("both jobs are in the log", |it| {
        let output = it.run(&CALL);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let jobs: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| !line.starts_with(';'))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let is = |job: &Vec<&str>, cpus: &str| job[4] == cpus && job[8] == "300" && job[10] == "5";
        jobs.len() == 2 && is(&jobs[0], "4") && is(&jobs[1], "8")
    });
}

#[test]
fn a_cluster_without_accounting_says_so() {
    let cluster = Cluster::start(&Plan::of("alpha", 1));
    let output = cluster.run(&CALL);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("accounting needs slurmdbd"), "{said}");
}
