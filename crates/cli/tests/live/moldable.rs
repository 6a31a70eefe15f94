//! Jobs of several shapes.

use serde_json::Value;

use crate::Stage;

const BENDS: &str = "#!/bin/sh
#SBATCH --job-name=bends
#TRADEWIND shapes=3x1m,2x100s,1x170s
echo \"$SLURM_NTASKS tasks, $SLURM_JOB_NUM_NODES nodes, $TRADEWIND_LIMIT s\"
";

#[test]
fn a_job_of_several_shapes_runs_in_one_of_them() {
    let site = "[[site]]\nname = 'alpha'\nkind = 'local'\npool = [{name = 'main', nodes = 3, price = 0.01}]\n";
    let stage = Stage::configured(site);
    stage.write("bends.sh", BENDS);
    let quotes = stage.json(&["quote", "bends.sh"]);
    let offer = |criterion: &str| {
        let mut all = quotes["quotes"].as_array().unwrap().iter();
        all.find(|it| it["criterion"] == criterion).unwrap().clone()
    };
    let taken = |offer: &Value| {
        [&offer["nodes"][0]["nodes"], &offer["nodes"][0]["limit"]].map(|it| it.as_u64().unwrap())
    };
    assert_eq!(taken(&offer("runtime")), [3, 60]);
    assert_eq!(taken(&offer("cost")), [1, 170]);
    // An offer is accepted with its shape. What was promised is over at once.
    let id = offer("cost")["id"].to_string();
    stage.text(&["submit", "--quote", &id, "bends.sh"], 0);
    stage.text(&["wait", "1"], 0);
    assert_eq!(stage.text(&["output", "1"], 0), "1 tasks, 1 nodes, 170 s\n");
    // Beside a long job two nodes are over first.
    stage.text(&["submit", "--time", "60", "--", "sleep", "600"], 0);
    stage.text(&["submit", "bends.sh"], 0);
    stage.text(&["wait", "3"], 0);
    assert_eq!(stage.text(&["output", "3"], 0), "2 tasks, 2 nodes, 100 s\n");
    let told = stage.text(&["job", "3"], 0);
    let sentence = "2 nodes for 1 min 40 s, of the shapes 3 nodes for 1 min, 2 nodes for 1 min 40 s, \
                    1 node for 2 min 50 s\n";
    assert!(told.contains(sentence), "{told}");
    for (shapes, wrong) in [
        ("4x1h,8x2h", "8 nodes for 7200 s are never better than 4 nodes for 3600 s"),
        ("4x1h,8x30m", "needs 4 nodes, and 3 suit"),
        ("4x60", "`60` is a time without a unit"),
    ] {
        let output = stage.run(&["submit", "--shapes", shapes, "--wrap", "true"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(3) && said.contains(wrong), "{shapes}: {said}");
    }
    stage.text(&["cancel", "2"], 0);
}
