//! One job whose tasks differ, on real clusters: a Slurm job for each group, which start together.

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, micro};

/// The first group on fast nodes, the second on any; each says when it began and what it has.
const FLOOD: &str = "#!/bin/sh
#SBATCH --job-name=flood --output=flood-%j-%t.out
#TRADEWIND groups=1x2m@2,5x1m
echo \"$(date +%s) $TRADEWIND_GROUP $SLURM_JOB_NUM_NODES $(srun --input=none hostname | wc -l)\"
sleep 2
";

#[test]
fn groups_of_tasks_are_slurm_jobs_that_start_together() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 4));
    let mut fast = Offer::new(&alpha, "alpha", 2, "2");
    fast.pool += ", performance = 2";
    let market = Market::start("", &[fast, Offer::new(&beta, "beta", 4, "1")]);
    std::fs::write(market.path("flood.sh"), FLOOD).unwrap();
    let script = market.path("flood.sh").to_string_lossy().into_owned();
    let number = market.submit(&[&script]);
    let job = market.until_state(number, "COMPLETED");
    let parts = job["parts"].as_array().unwrap();
    let of = |key: &str| parts.iter().map(|it| it[key].as_i64().unwrap()).collect::<Vec<i64>>();
    // The five nodes of the second group are the four of beta and one of alpha beside the first group.
    assert_eq!((of("group"), of("nodes")), (vec![0, 1, 1], vec![1, 1, 4]), "{job:#}");
    assert_eq!(of("limit"), [120, 60, 60], "{job:#}");
    let said: Vec<Vec<i64>> = (0..3)
        .map(|part| {
            let text = market.written(&format!("flood-{number}-{part}.out"));
            text.split_whitespace().map(|word| word.parse().unwrap()).collect()
        })
        .collect();
    let told: Vec<&[i64]> = said.iter().map(|words| &words[1..]).collect();
    assert_eq!(told, [[0, 1, 1], [1, 1, 1], [1, 4, 4]]);
    let starts: Vec<i64> = said.iter().map(|words| words[0]).collect();
    let (first, last) = (starts.iter().min().unwrap(), starts.iter().max().unwrap());
    // On a busy machine a script may need a moment until it says so.
    assert!(last - first <= 10, "{starts:?}");
    assert!(job["together"]["skew_ms"].is_i64(), "{job:#}");
    assert!(micro(&job["paid"]) > 0, "{job:#}");
    market.check_money(&market.all_over());
}
