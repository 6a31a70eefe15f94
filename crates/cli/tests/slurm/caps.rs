//! Limits of sites: jobs wait for them or go elsewhere, and what no site can ever take is refused at
//! submission.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};

/// A cluster with `slurmdbd`: two jobs of the account at one time, and one of the QOS `tight`.
fn limited() -> Cluster {
    let accounts = &[
        "add cluster alpha",
        "add account climate",
        "add user USER account=climate",
        "modify user USER set defaultaccount=climate",
        "modify user USER where account=climate set MaxSubmitJobs=2",
        "add qos tight",
        "modify qos tight set MaxJobsPerUser=1",
        "modify user USER where account=climate set qos+=tight",
    ];
    Cluster::start(&Plan { accounts, ..Plan::of("alpha", 8) })
}

const CLIMATE: &str = "options = { account = \"climate\" }";

/// Waits until the market has seen an owner's job of one node come and go: limits are read then.
fn until_looked_at(market: &Market, cluster: &Cluster, site: &str, nodes: u32, options: &[&str]) {
    let job = cluster.job(&[options, &["-N1", "--exclusive", "-t1"]].concat());
    market.until("the owner's job is seen", || market.pool(site)["free"] == nodes - 1);
    cluster.run(&["scancel", &job]);
    market.until("the owner's job is over", || market.pool(site)["free"] == nodes);
}

/// So many short jobs; what they were at their end.
fn all_complete(market: &Market, count: usize, options: &[&str]) -> Vec<Value> {
    let fixed = ["--time", "0:40", "--wrap", "sleep 2"];
    let jobs: Vec<u64> = (0..count).map(|_| market.submit(&[options, &fixed].concat())).collect();
    jobs.into_iter().map(|job| market.until_state(job, "COMPLETED")).collect()
}

fn restarts(jobs: &[Value]) -> u64 {
    jobs.iter().map(|job| job["restarts"].as_u64().unwrap()).sum()
}

#[test]
fn limits_that_can_be_read_are_kept_without_refusals() {
    let cluster = limited();
    let market = Market::start("", &[Offer::new(&cluster, "alpha", 8, "1").with(CLIMATE)]);
    until_looked_at(&market, &cluster, "alpha", 8, &["-A", "climate"]);
    let outside = cluster.job(&["-A", "climate", "-N1", "-t5"]);
    cluster.until_state(&outside, "RUNNING");
    market.until("the owner's job is seen", || market.pool("alpha")["free"] == 7);
    let submit = |work| market.submit(&["--time", "0:40", "--wrap", work]);
    // Long enough for the reason to be read while it holds.
    let (first, second) = (submit("sleep 10"), submit("sleep 2"));
    let told = market.until_job(second, "wait", |job| job["reason"] == "SiteLimit");
    let told = told["message"].to_string();
    assert!(told.contains("alpha: AssocMaxSubmitJobLimit: 2 of 2 jobs of"), "{told}");
    for job in [first, second] {
        assert_eq!(market.until_state(job, "COMPLETED")["restarts"], 0);
    }
    cluster.run(&["scancel", &outside]);
    assert_eq!(restarts(&all_complete(&market, 6, &[])), 0);
    assert_eq!(restarts(&all_complete(&market, 3, &["--qos", "tight"])), 0);
    market.check_money(&market.all_over());
}

#[test]
fn limits_that_cannot_be_read_are_learned() {
    let cluster = limited();
    let mut offer = Offer::new(&cluster, "alpha", 8, "1").with(CLIMATE);
    let folder = cluster.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("sacctmgr");
    std::fs::write(&program, "#!/bin/sh\necho 'no way' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    offer.environment.insert("PATH".to_owned(), path);
    let market = Market::start("", &[offer]);
    until_looked_at(&market, &cluster, "alpha", 8, &["-A", "climate"]);
    let jobs = all_complete(&market, 6, &[]);
    let refused = restarts(&jobs);
    // An end is known a little before Slurm has counted it: some are tried too early.
    assert!((1..=20).contains(&refused), "{refused}: {jobs:#?}");
    assert!(market.log().contains("will be learned"), "{}", market.log());
    let jobs = all_complete(&market, 3, &["--qos", "tight"]);
    assert!(restarts(&jobs) <= 20, "{jobs:#?}");
    let all = market.all_over();
    let held = all.values().filter(|job| job["reason"] == "JobLaunchFailedHeld").count();
    assert_eq!(held, 0, "{all:#?}");
    market.check_money(&all);
}

#[test]
fn a_job_that_is_too_long_for_a_partition_goes_elsewhere() {
    let mut plan = Plan::of("alpha", 2);
    plan.more = vec!["PartitionName=main Nodes=NODES Default=YES MaxTime=1 State=UP".to_owned()];
    let (alpha, beta) = (Cluster::start(&plan), Cluster::start(&Plan::of("beta", 2)));
    let offers = [Offer::new(&alpha, "alpha", 2, "1"), Offer::new(&beta, "beta", 2, "2")];
    let market = Market::start("", &offers);
    until_looked_at(&market, &alpha, "alpha", 2, &[]);
    until_looked_at(&market, &beta, "beta", 2, &[]);
    for (time, site) in [("1:00", "alpha"), ("1:01", "beta")] {
        let words = ["--time", time, "--minimize", "cost", "--wrap", "true"];
        let job = market.until_state(market.submit(&words), "COMPLETED");
        assert_eq!((&job["sites"], &job["restarts"]), (&serde_json::json!([site]), &0.into()));
    }
    let words = ["submit", "--chdir", "/", "--partition", "alpha-main", "--time", "1:01"];
    let output = market.run(&[&words[..], &["--wrap", "true"]].concat());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{told}");
    let words = "alpha/alpha-main: PartitionTimeLimit: a job may run for 1:00 there, and this one \
                 asks for 2:00";
    assert!(told.contains(words), "{told}");
}

/// Slurm has the job and never begins it, whether or not it would say so at submission.
#[test]
fn a_limit_that_is_lowered_later_is_learned_from_the_job() {
    let mut plan = Plan::of("alpha", 2);
    plan.more = vec!["PartitionName=main Nodes=NODES Default=YES MaxTime=10 State=UP".to_owned()];
    let cluster = Cluster::start(&plan);
    let market = Market::start("", &[Offer::new(&cluster, "alpha", 2, "1")]);
    until_looked_at(&market, &cluster, "alpha", 2, &[]);
    cluster.say(&["scontrol", "update", "PartitionName=main", "MaxTime=1"]);
    let job = market.submit(&["--time", "5:00", "--wrap", "true"]);
    let held = market.until_job(job, "hold", |job| job["reason"] == "JobLaunchFailedHeld");
    assert!(held.to_string().contains("PartitionTimeLimit"), "{held:#}");
    assert_eq!(held["restarts"], 1, "{held:#}");
    cluster.say(&["scontrol", "update", "PartitionName=main", "MaxTime=10"]);
    market.text(&["release", &job.to_string()]);
    market.until_state(job, "COMPLETED");
}

#[test]
fn a_user_without_an_account_at_a_site_learns_so_at_submission() {
    let cluster = limited();
    let mut alpha =
        Offer::new(&cluster, "alpha", 8, "1").with("user_command = [\"env\", \"TW_USER={user}\"]");
    alpha.account = "games".to_owned();
    let beta = Cluster::start(&Plan::of("beta", 2));
    let market = Market::start("", &[alpha, Offer::new(&beta, "beta", 2, "2")]);
    until_looked_at(&market, &cluster, "alpha", 8, &["-A", "climate"]);
    until_looked_at(&market, &beta, "beta", 2, &[]);
    let words = ["submit", "--chdir", "/", "--partition", "alpha-main", "--time", "1:00"];
    let output = market.run(&[&words[..], &["--wrap", "true"]].concat());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{told}");
    assert!(told.contains("alpha/alpha-main: \"games\" has no account at the manager"), "{told}");
    let words = ["--time", "0:30", "--minimize", "cost", "--wrap", "true"];
    let output =
        market.run(&[&["submit", "--parsable", "--chdir", &market.work()], &words[..]].concat());
    let told = String::from_utf8(output.stderr).unwrap();
    let words = "left out: alpha/alpha-main: \"games\" has no account at the manager";
    assert!(told.contains(words), "{told}");
    let job = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let job = market.until_state(job, "COMPLETED");
    assert_eq!((&job["sites"], &job["restarts"]), (&serde_json::json!(["beta"]), &0.into()));
}
