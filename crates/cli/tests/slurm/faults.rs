//! Whatever dies while jobs are submitted: nothing is lost, nothing runs twice against the wish of
//! its user, and no money comes or goes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, tally};
use super::together::change;

/// Of each of two hands.
const BURST: u64 = 20;

/// Jobs by their marks, as they were acknowledged.
type Promised = BTreeMap<String, u64>;

fn two(alpha: &Cluster, beta: &Cluster) -> Market {
    let offer = |cluster, name| Offer::new(cluster, name, 4, "1").with("timeout = \"2s\"");
    Market::start("", &[offer(alpha, "alpha"), offer(beta, "beta")])
}

/// Hands jobs in, each again and again until it is acknowledged. Every second one is to be run
/// again if it is lost.
fn hand_in(market: &Market, hand: u64, promised: &Mutex<Promised>) {
    for count in 0..BURST {
        let mark = format!("m{hand}-{count}");
        let on_lost = if count % 2 == 0 { "fail" } else { "rerun" };
        let line = marks(&market.work(), &mark, "sleep 0.3");
        let words = ["submit", "--parsable", "--key", &mark, "--job-name", &mark, "--time", "0:20"];
        let rest = ["--chdir", &market.work(), "--on-lost", on_lost, "--wrap", &line];
        let began = Instant::now();
        loop {
            let output = market.run(&[&words[..], &rest].concat());
            if output.status.success() {
                let number = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
                promised.lock().unwrap().insert(mark, number);
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{output:?}\n{}", market.log());
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// What `faults` does while two hands hand jobs in; all that was acknowledged.
fn burst(market: &Market, faults: impl FnOnce()) -> Promised {
    let promised = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for hand in 0..2 {
            let promised = &promised;
            scope.spawn(move || hand_in(market, hand, promised));
        }
        faults();
    });
    promised.into_inner().unwrap()
}

/// That every job is there once, and ran as often as it may.
fn check(market: &Market, jobs: &BTreeMap<u64, Value>, promised: &Promised) {
    let written = market.written("marks");
    let ran = tally(&written);
    assert_eq!((promised.len() as u64, jobs.len()), (2 * BURST, promised.len()));
    for (mark, number) in promised {
        let (job, ran) = (&jobs[number], ran.get(mark.as_str()).copied().unwrap_or(0));
        let shown =
            || format!("{mark} ran {ran} times: {:#}\n{}", market.job(*number), market.log());
        assert_eq!(job["name"], mark.as_str());
        let restarts = job["restarts"].as_u64().unwrap() as usize;
        let reruns = number_of(mark) % 2 == 1;
        let max = if reruns { 1 + restarts } else { 1 };
        assert!(ran <= max, "{}", shown());
        assert!(job["state"] != "COMPLETED" || ran >= 1, "{}", shown());
        assert!(job["state"] == "COMPLETED" || !reruns, "{}", shown());
    }
    market.check_money(jobs);
}

fn number_of(mark: &str) -> u64 {
    mark.split('-').nth(1).unwrap().parse().unwrap()
}

#[test]
fn controllers_are_stopped_hang_and_die_during_a_burst() {
    let mut alpha = Cluster::start(&Plan::of("alpha", 4));
    let mut beta = Cluster::start(&Plan::of("beta", 4));
    let market = two(&alpha, &beta);
    let pause = |millis| thread::sleep(Duration::from_millis(millis));
    let promised = burst(&market, || {
        pause(500);
        alpha.signal_controller(Signal::STOP);
        pause(2_500);
        alpha.signal_controller(Signal::CONT);
        beta.stop_controller(Signal::TERM);
        pause(1_000);
        beta.start_controller();
        pause(700);
        alpha.stop_controller(Signal::KILL);
        alpha.start_controller();
        pause(400);
        beta.stop_controller(Signal::KILL);
        pause(600);
        beta.start_controller();
    });
    check(&market, &market.all_over(), &promised);
}

/// Between any two steps, between `sbatch` and the journal among them. Slurm is well all the
/// time, so each job runs, and once.
#[test]
fn a_market_that_is_killed_again_and_again_runs_every_job_once() {
    let alpha = Cluster::start(&Plan::of("alpha", 4));
    let beta = Cluster::start(&Plan::of("beta", 4));
    let market = two(&alpha, &beta);
    let mut seed = 11_u64;
    let promised = burst(&market, || {
        for _ in 0..12 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            thread::sleep(Duration::from_millis(150 + (seed >> 33) % 450));
            market.kill();
            market.spawn();
        }
        market.until_up();
    });
    let jobs = market.all_over();
    check(&market, &jobs, &promised);
    let restarts = jobs.values().filter(|job| job["restarts"] != 0).count();
    let completed = jobs.values().filter(|job| job["state"] == "COMPLETED").count();
    assert_eq!((completed, restarts), (jobs.len(), 0), "{}", market.log());
    assert!(tally(&market.written("marks")).values().all(|ran| *ran == 1));
}

#[test]
fn jobs_on_a_node_whose_daemon_is_killed() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let offers = [Offer::new(&alpha, "alpha", 2, "1"), Offer::new(&beta, "beta", 2, "2")];
    let market = Market::start("", &offers);
    let line =
        marks(&market.work(), "$TRADEWIND_JOB_ID", "[ $TRADEWIND_ATTEMPT != 0 ] || sleep 60");
    let submit = |on_lost| {
        market.submit(&[
            "--time",
            "2:00",
            "--minimize",
            "cost",
            "--on-lost",
            on_lost,
            "--wrap",
            &line,
        ])
    };
    let (fails, reruns) = (submit("fail"), submit("rerun"));
    for job in [fails, reruns] {
        let job = market.until_state(job, "RUNNING");
        assert_eq!(job["parts"][0]["site"], "alpha", "{job:#}");
    }
    market.until("both have begun", || market.written("marks").lines().count() == 2);
    for node in ["alpha1", "alpha2"] {
        let pid = std::fs::read_to_string(alpha.path().join(format!("run/{node}.pid"))).unwrap();
        kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
    // Not before: nodes of a busy machine may be silent for seconds, too.
    change(&alpha, "SlurmdTimeout=", "SlurmdTimeout=4");
    let (fails, reruns) =
        (market.until_state(fails, "NODE_FAIL"), market.until_state(reruns, "COMPLETED"));
    assert_eq!((&fails["restarts"], &reruns["restarts"]), (&0.into(), &1.into()));
    assert_eq!(reruns["parts"][0]["site"], "beta", "{reruns:#}");
    let ran = [fails["id"].to_string(), reruns["id"].to_string()];
    let written = market.written("marks");
    let ran = ran.map(|mark| tally(&written)[mark.as_str()]);
    assert_eq!(ran, [1, 2], "once, and once more as its user requested");
    market.check_money(&market.all_over());
}
