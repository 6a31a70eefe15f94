//! Jobs whose tasks differ, on local sites.

use serde_json::Value;

use crate::Stage;

const SITES: &str = "[[site]]
name = 'alpha'
kind = 'local'
pool = [{name = 'fast', nodes = 1, performance = 2, price = 0.02},
        {name = 'slow', nodes = 3, price = 0.01}]
";

const FLOOD: &str = "#!/bin/sh
#SBATCH --job-name=flood --output=flood-%t.out
#TRADEWIND groups=1x2m@2,2x1m
echo \"group $TRADEWIND_GROUP of part $TRADEWIND_PART: $SLURM_JOB_NUM_NODES nodes, $TRADEWIND_LIMIT s\"
";

#[test]
fn groups_of_tasks_start_together_in_a_window_of_their_own() {
    let stage = Stage::configured(SITES);
    stage.write("flood.sh", FLOOD);
    let quotes = stage.json(&["quote", "flood.sh"]);
    let offer = |criterion: &str| {
        let mut all = quotes["quotes"].as_array().unwrap().iter();
        all.find(|it| it["criterion"] == criterion).unwrap().clone()
    };
    let nodes = |offer: &Value| -> Vec<[i64; 3]> {
        let parts = offer["nodes"].as_array().unwrap().iter();
        let of = |part: &Value, key: &str| part[key].as_i64().unwrap();
        parts.map(|it| ["group", "nodes", "limit"].map(|key| of(it, key))).collect()
    };
    assert_eq!(nodes(&offer("cost")), [[0, 1, 120], [1, 2, 60]]);
    assert_eq!(offer("cost")["cost"].to_string(), "3.6");
    stage.text(&["submit", "flood.sh"], 0);
    stage.text(&["wait", "1"], 0);
    let job = stage.json(&["job", "1"]);
    let job = job["jobs"].get(0).unwrap_or(&job);
    assert_eq!(job["state"], "COMPLETED", "{job:#}");
    let groups: Vec<i64> =
        job["parts"].as_array().unwrap().iter().map(|it| it["group"].as_i64().unwrap()).collect();
    assert_eq!(groups, [0, 1], "{job:#}");
    assert!(job["together"]["begin"].is_i64(), "{job:#}");
    let written = |part: u32| {
        let folder = stage.folder.path();
        std::fs::read_to_string(folder.join(format!("flood-{part}.out"))).unwrap()
    };
    assert_eq!(written(0), "group 0 of part 0: 1 nodes, 120 s\n");
    assert_eq!(written(1), "group 1 of part 1: 2 nodes, 60 s\n");
    let told = stage.text(&["job", "1"], 0);
    assert!(told.contains("groups 1 node of performance 2 for 2 min, 2 nodes for 1 min"), "{told}");
    // An offer can be chosen, too.
    let quotes = stage.json(&["quote", "flood.sh"]);
    let id = quotes["quotes"][0]["id"].to_string();
    stage.text(&["submit", "--quote", &id, "flood.sh"], 0);
    stage.text(&["wait", "2"], 0);
}

#[test]
fn two_groups_share_a_pool_and_wait_for_nodes_that_are_in_use() {
    let stage = Stage::configured(SITES);
    stage.text(&["submit", "--partition", "slow", "-N2", "--time", "60", "--", "sleep", "3"], 0);
    let groups = "1x1m,2x30s";
    let part = ["submit", "--partition", "slow", "--groups", groups, "--wrap", "sleep 1"];
    stage.text(&part, 0);
    // Its window is behind the limit of the first job: a minute is too long to wait for.
    let begun = std::time::Instant::now();
    let job = loop {
        let job = stage.json(&["job", "2"]);
        let job = job["jobs"].get(0).unwrap_or(&job).clone();
        if job["reason"] == "Reservation" {
            break job;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{job:#}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert_eq!(job["booking"]["pools"].as_array().unwrap().len(), 1, "{job:#}");
    stage.text(&["cancel", "2"], 0);
    stage.text(&["wait", "1"], 0);
    // A job that no window is for waits, and says what would help.
    let dear = ["submit", "--groups", "1x1h@2,3x1h", "--budget", "1", "--wrap", "true"];
    stage.text(&dear, 0);
    let told = stage.json(&["explain", "3"]);
    assert_eq!(told["reason"], "budget-short", "{told:#}");
    assert!(told["relaxations"].as_array().unwrap().iter().any(|it| it["limit"] == "budget"));
    stage.text(&["cancel", "3"], 0);
    // Now all three nodes are free.
    stage.text(&part, 0);
    stage.text(&["wait", "4"], 0);
    let job = stage.json(&["job", "4"]);
    let job = job["jobs"].get(0).unwrap_or(&job);
    assert_eq!(job["state"], "COMPLETED", "{job:#}");
    let pools: Vec<(&Value, &Value)> =
        job["parts"].as_array().unwrap().iter().map(|it| (&it["group"], &it["nodes"])).collect();
    assert_eq!(pools, [(&Value::from(0), &Value::from(1)), (&Value::from(1), &Value::from(2))]);
    for (groups, wrong) in [
        ("1x1h", "a single group"),
        ("4x1h,8x30m", "needs 12 nodes, and 4 suit"),
        ("2x1h@2,1x30m", "group 0 needs 2 nodes, and 1 suit"),
    ] {
        let output = stage.run(&["submit", "--groups", groups, "--wrap", "true"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), said.contains(wrong)),
            (Some(3), true),
            "{groups}: {said}"
        );
    }
}
