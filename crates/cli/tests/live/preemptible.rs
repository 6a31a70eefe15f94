//! Jobs that give their nodes back, at a local site: real processes get a signal, save their state, and go on
//! from it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Stage, money};

const SITE: &str = "[[site]]\nname = 'alpha'\nkind = 'local'\n\
    preemption = { notice = '30s', discount = 0.5 }\n\
    pool = [{ name = 'main', nodes = 2, price = 1 }]\n";

/// Counts, saves on `SIGTERM`, and goes on from what was saved; `enough` ends it.
const SAVES: &str = "#!/bin/sh
#SBATCH --time=30
#TRADEWIND preemptible
n=$(cat saved 2>/dev/null || echo 0)
echo \"run $SLURM_RESTART_COUNT from $n\"
trap 'echo $n >saved; exit 85' TERM
: >begun.$SLURM_RESTART_COUNT
while [ ! -e enough ]; do n=$((n + 1)); sleep 0.1; done
";

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_job_with_notice_saves_its_state_and_goes_on_from_it() {
    let mut stage = Stage::configured(SITE);
    stage.write("saves.sh", SAVES);
    stage.text(&["submit", "saves.sh"], 0);
    let here = |stage: &Stage, name: &str| stage.folder.path().join(name).exists();
    until("it begins", || here(&stage, "begun.0"));
    until("its begin is known", || stage.json(&["job", "1"])["state"] == "RUNNING");
    // A site that is full of jobs that stay gives nothing back.
    let refused = stage.run(&["reclaim", "alpha", "3"]);
    assert!(!refused.status.success(), "{refused:?}");

    let asked = stage.json(&["reclaim", "alpha", "2", "--dry-run"]);
    assert_eq!(asked["jobs"], serde_json::json!([1]));
    assert!(stage.json(&["job", "1"]).get("notice_until").is_none());
    let told = stage.text(&["reclaim", "alpha", "2", "--for", "10m"], 0);
    assert!(told.contains("jobs that get notice: 1"), "{told}");
    let events = stage.text(&["events", "--format", "json"], 0);
    assert!(events.contains("\"notice\""), "{events}");
    // The signal is sent once, also by a daemon that starts again.
    stage.kill();
    stage.start();
    until("it waits again", || stage.json(&["job", "1"])["restarts"] == 1);
    assert!(here(&stage, "saved"));
    let job = stage.json(&["job", "1"]);
    assert_eq!(job["state"], "PENDING", "its nodes are the owner's: {job:#}");
    let history = job["history"].to_string();
    assert!(history.contains("admin takes 2 nodes back"), "{history}");
    let paid = job["paid"].to_string().parse::<f64>().unwrap();
    assert!(paid > 0.0 && paid.fract() % 0.5 == 0.0, "half a credit a second: {paid}");
}

#[test]
fn an_owner_has_the_nodes_for_as_long_as_asked() {
    let site = SITE.replace("'30s'", "'1s'");
    let stage = Stage::configured(&site);
    stage.write("saves.sh", SAVES);
    stage.text(&["submit", "saves.sh"], 0);
    until("it begins", || stage.folder.path().join("begun.0").exists());
    until("its begin is known", || stage.json(&["job", "1"])["state"] == "RUNNING");
    stage.text(&["reclaim", "alpha", "2", "--for", "2s"], 0);
    until("it runs again", || stage.folder.path().join("begun.1").exists());
    stage.write("enough", "");
    stage.text(&["wait", "1"], 0);
    let written = stage.text(&["output", "1"], 0);
    let saved = std::fs::read_to_string(stage.folder.path().join("saved")).unwrap();
    assert!(written.contains(&format!("run 1 from {}", saved.trim())), "{written}");
    let job: Value = stage.json(&["job", "1"]);
    assert_eq!((&job["state"], &job["restarts"]), (&"COMPLETED".into(), &1.into()), "{job:#}");
    assert_eq!(money(&stage, "user:admin").1, 0.0, "nothing is held any more");
}

#[test]
fn a_discount_that_is_offered_later_counts_from_then_on() {
    let price = |stage: &Stage, job: &str| {
        stage.text(&["submit", "--preemptible", "--time", "1", "--wrap", "true"], 0);
        until("it has its price", || stage.json(&["job", job]).get("parts").is_some());
        stage.json(&["job", job])["parts"][0]["price"].to_string()
    };
    let offer = "preemption = { notice = '30s', discount = 0.5 }\n";
    let mut stage = Stage::configured(&SITE.replace(offer, ""));
    assert_eq!(price(&stage, "1"), "1");
    stage.kill();
    stage.write("tradewind.toml", SITE);
    stage.start();
    assert_eq!(price(&stage, "2"), "0.5");
}

/// What is drawn of a job that is expected to start: price and cost, micro-credits.
fn expected_on_the_timeline(stage: &Stage, job: u64) -> Option<(i64, i64)> {
    let read = |name: &str| std::fs::read_to_string(stage.state().join(name)).unwrap();
    let submitted = stage.json(&["job", "1"])["submitted"].as_i64().unwrap();
    let query = format!("from={submitted}&until={}&first=0&rows=9&most=99", submitted + 3_600);
    let url = format!("{}/page/board/digest?{query}", read("url").trim());
    let bearer = format!("Bearer {}", read("admin.token").trim());
    let answer = ureq::get(url).header("Authorization", bearer).call().unwrap();
    let digest: Value =
        serde_json::from_str(&answer.into_body().read_to_string().unwrap()).unwrap();
    let number = |name: &str, at: usize| digest["table"][name][at].as_i64().unwrap();
    let jobs = digest["table"]["job"].as_array().unwrap().iter();
    let at = jobs.clone().position(|it| it.as_u64() == Some(job))?;
    Some((number("price", at), number("cost", at)))
}

#[test]
fn the_timeline_has_the_price_that_a_waiting_job_pays() {
    let stage = Stage::configured(SITE);
    for kind in ["--preemptible", "--preemptible", "--job-name=firm"] {
        let long = ["submit", kind, "--nodes", "2", "--time", "1", "--wrap", "sleep 60"];
        stage.text(&long, 0);
    }
    let drawn = |job| {
        let mut drawn = None;
        until("it is drawn", || {
            drawn = expected_on_the_timeline(&stage, job);
            drawn.is_some()
        });
        drawn.unwrap()
    };
    assert_eq!([2, 3].map(drawn), [(500_000, 60_000_000), (1_000_000, 120_000_000)]);
}
