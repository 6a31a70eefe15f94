//! What befalls a job between the market and its site.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, tally};

/// The site's commands, with an `scancel` that takes a second, as over a slow connection.
fn with_slow_scancel(offer: Offer, cluster: &Cluster) -> Offer {
    let folder = cluster.path().join("slow");
    std::fs::create_dir(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let text = format!("#!/bin/sh\nsleep 1\nPATH='{path}' exec scancel \"$@\"\n");
    std::fs::write(folder.join("scancel"), text).unwrap();
    std::fs::set_permissions(folder.join("scancel"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut offer = offer;
    offer.environment.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
    offer
}

/// Slurm's numbers of our jobs that wait.
fn waiting(cluster: &Cluster) -> Vec<String> {
    let all = cluster.say(&["squeue", "-h", "-t", "PENDING", "-o", "%i %k"]);
    let ours = all.lines().filter_map(|line| line.split_once(" tw-"));
    ours.map(|(id, _)| id.to_owned()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The owner's jobs take nodes that our jobs were to have, and our jobs are to be planned again just
/// as Slurm starts them.
#[test]
fn jobs_displaced_by_the_owners_run_once_and_none_is_cancelled() {
    const ROUNDS: usize = 25;
    let alpha = Cluster::start(&Plan::of("alpha", 8));
    let offer = with_slow_scancel(Offer::new(&alpha, "alpha", 8, "1"), &alpha);
    let market = Market::start("", &[offer]);
    for round in 0..ROUNDS {
        for half in 0..2 {
            let wrap = format!("sleep 1.{}", (round * 3 + half) % 10);
            let words = ["sbatch", "-N4", "--exclusive", "--output=/dev/null", "--chdir=/"];
            alpha.say(&[&words[..], &["--wrap", &wrap]].concat());
            let line = marks(&market.work(), "$TRADEWIND_JOB_ID", "sleep 0.3");
            market.submit(&["--nodes", "4", "--time", "1:00", "--wrap", &line]);
        }
        let is_idle = || alpha.say(&["squeue", "-h", "-o", "%i"]).lines().count() < 3;
        market.until("there is room again", is_idle);
    }
    let jobs = market.all_over();
    assert_eq!(jobs.len(), 2 * ROUNDS);
    let states: Vec<&str> = jobs.values().map(|job| text(&job["state"])).collect();
    assert!(states.iter().all(|state| *state == "COMPLETED"), "{states:?}\n{}", market.log());
    let written = market.written("marks");
    let ran = tally(&written);
    assert_eq!(ran.len(), jobs.len());
    assert!(ran.values().all(|times| *times == 1), "{ran:?}");
    let gave_way = jobs.values().filter(|job| job["restarts"] != 0).count();
    println!("{gave_way} of {} were planned again", jobs.len());
    assert!(gave_way > 0, "the owner's jobs displaced no job");
    market.check_money(&jobs);
}

/// A job that Slurm holds before it has started it; its number in the market.
fn held_job(market: &Market, alpha: &Cluster) -> (u64, String) {
    for _ in 0..5 {
        let line = marks(&market.work(), "$TRADEWIND_JOB_ID", "sleep 0.1");
        let job = market.submit(&["--nodes", "2", "--time", "1:00", "--wrap", &line]);
        market.until("Slurm has the job", || {
            !waiting(alpha).is_empty() || market.job(job)["state"] == "COMPLETED"
        });
        let Some(id) = waiting(alpha).pop() else { continue };
        let is_held = alpha.run(&["scontrol", "hold", &id]).status.success();
        if is_held && waiting(alpha).contains(&id) {
            return (job, id);
        }
    }
    panic!("Slurm starts jobs before they can be held");
}

#[test]
fn a_job_that_is_held_at_its_site_says_so_and_is_planned_again() {
    // Slurm looks at new jobs some seconds later.
    let scheduler = "defer,batch_sched_delay=8,sched_interval=8,sched_min_interval=8000000";
    let alpha = Cluster::start(&Plan { scheduler, ..Plan::of("alpha", 2) });
    let offer = Offer::new(&alpha, "alpha", 2, "1").with("held_after = \"6s\"");
    let market = Market::start("", &[offer]);
    let (released, id) = held_job(&market, &alpha);
    let job = market.until_job(released, "hold", |job| job["reason"] == "JobHeldAdmin");
    assert_eq!((&job["state"], job.get("started")), (&"PENDING".into(), None));
    assert!(text(&job["message"]).starts_with("held at alpha since "), "{job:#}");
    let told = market.text(&["explain", &released.to_string()]);
    assert!(told.contains("held at alpha since "), "{told}");
    let list = market.text(&["jobs"]);
    assert!(list.contains("alpha (JobHeldAdmin)"), "{list}");
    alpha.say(&["scontrol", "release", &id]);
    let job = market.until_state(released, "COMPLETED");
    assert_eq!(job["restarts"], 0, "{job:#}");
    let (kept, _) = held_job(&market, &alpha);
    let job = market.until_state(kept, "COMPLETED");
    let history = job["history"].to_string();
    assert!(job["restarts"] == 1 && history.contains("it was held at alpha"), "{job:#}");
    let jobs = market.all_over();
    assert!(tally(&market.written("marks")).values().all(|times| *times == 1));
    assert!(waiting(&alpha).is_empty());
    market.check_money(&jobs);
}

#[test]
fn a_preemptible_job_is_planned_again_and_pays_for_both_times() {
    let mut plan = Plan::of("alpha", 2);
    plan.more = vec![
        "PreemptType=preempt/partition_prio".to_owned(),
        "PreemptMode=CANCEL".to_owned(),
        "PartitionName=main Nodes=NODES Default=YES MaxTime=INFINITE DefaultTime=10 State=UP \
         PriorityTier=1 GraceTime=3"
            .to_owned(),
        "PartitionName=owners Nodes=NODES MaxTime=INFINITE DefaultTime=10 State=UP \
         PriorityTier=10"
            .to_owned(),
    ];
    let alpha = Cluster::start(&plan);
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 2, "1")]);
    let rest = "[ $TRADEWIND_ATTEMPT = 1 ] || sleep 300";
    let line = marks(&market.work(), "$TRADEWIND_ATTEMPT", rest);
    let words = ["--nodes", "2", "--time", "5:00", "--preemptible", "--wrap", &line];
    let number = market.submit(&words);
    market.until("its work has begun", || market.written("marks") == "0\n");
    let owners = alpha.job(&["-p", "owners", "-N", "2", "--exclusive", "--time=5"]);
    alpha.until_state(&owners, "RUNNING");
    let is_set_back = |job: &Value| job["restarts"] == 1;
    let job = market.until_job(number, "another plan", is_set_back);
    let history = job["history"].to_string();
    assert!(history.contains("taken away for a job of higher priority"), "{job:#}");
    let first = job["paid"].as_f64().unwrap();
    assert!(first > 0.0, "the owner has not been paid: {job:#}");
    alpha.say(&["scancel", &owners]);
    let job = market.until_state(number, "COMPLETED");
    assert!(job["paid"].as_f64().unwrap() >= first, "{job:#}");
    assert_eq!(market.written("marks"), "0\n1\n");
    market.check_money(&market.all_over());
}

#[test]
fn a_preemptible_job_gives_its_nodes_to_an_owners_job_that_waits() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let terms = "preemption = { notice = \"6s\", discount = 0.5 }";
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 2, "1").with(terms)]);
    let saves = "trap 'touch saved; exit 85' TERM; while :; do sleep 0.2; done";
    let rest = format!("[ -e saved ] || {{ {saves}; }}");
    let line = marks(&market.work(), "$SLURM_RESTART_COUNT", &rest);
    let words = ["--nodes", "2", "--time", "5:00", "--preemptible", "--wrap", &line];
    let number = market.submit(&words);
    market.until("its work has begun", || market.written("marks") == "0\n");
    let owners = alpha.job(&["-N", "2", "--exclusive", "--time=5"]);
    let job = market.until_job(number, "notice", |job| job.get("notice_until").is_some());
    let history = job["history"].to_string();
    assert!(history.contains("a waiting job of the site's owners needs its nodes"), "{job:#}");
    alpha.until_state(&owners, "RUNNING");
    let job = market.until_job(number, "another plan", |job| job["restarts"] == 1);
    assert!(job["paid"].as_f64().unwrap() > 0.0, "{job:#}");
    alpha.say(&["scancel", &owners]);
    market.until_state(number, "COMPLETED");
    assert_eq!(market.written("marks"), "0\n1\n");
    market.check_money(&market.all_over());
}

#[test]
fn a_job_whose_directory_is_missing_is_held_with_the_reason() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 2, "1")]);
    let words = ["--chdir", "/nowhere/at/all", "--time", "1:00", "--wrap", "true"];
    let numbers: Vec<u64> = (0..6).map(|_| market.submit(&words)).collect();
    for number in numbers {
        let job = market.until_job(number, "hold", |job| job["reason"] == "JobLaunchFailedHeld");
        assert!(text(&job["message"]).contains("/nowhere/at/all: not there"), "{job:#}");
        assert_eq!((&job["state"], &job["paid"]), (&"PENDING".into(), &0.into()), "{job:#}");
    }
}
