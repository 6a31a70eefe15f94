//! Nodes that are sold in units of processors and memory: what we believe free is what Slurm has
//! free, under jobs of owners of drawn shapes, and what we place there runs.

use std::time::{Duration, Instant};

use tradewind_daemon::site::conformance::{SiteBench, order};
use tradewind_daemon::site::{Order, Seen, Survey};
use tradewind_io::settings::cluster::NodeUnit;
use tradewind_model::random::{stream, within};

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{sleeps, until_running};

const CORES: u64 = 2;
const MEMORY: u64 = 2_000;
const UNIT: NodeUnit = NodeUnit::Shared { cores: CORES as u32, memory: MEMORY };

/// Eight processors and 8,000 MB a node, of which jobs take what they ask for.
fn plan(name: &'static str, nodes: u32) -> Plan {
    let mut plan = Plan::of(name, nodes);
    plan.node = "CPUs=8 RealMemory=8000 State=UNKNOWN";
    plan.more.push("SelectTypeParameters=CR_Core_Memory".to_owned());
    plan
}

/// By node, processors and megabytes that Slurm has given to jobs.
fn given(cluster: &Cluster) -> Vec<(u64, u64)> {
    let text = cluster.say(&["scontrol", "-o", "show", "nodes"]);
    let number = |line: &str, key: &str| {
        let word = line.split(' ').find_map(|word| word.strip_prefix(key));
        word.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    text.lines().map(|line| (number(line, "CPUAlloc="), number(line, "AllocMem="))).collect()
}

/// Units that are free by Slurm's own numbers.
fn free_by_slurm(given: &[(u64, u64)]) -> u64 {
    given.iter().map(|(cpus, memory)| ((8 - cpus) / CORES).min((8_000 - memory) / MEMORY)).sum()
}

/// Units that are free by a survey: up, without what others have and what our tasks have.
fn believed(survey: &Survey, ours: &[Order]) -> u64 {
    let pool = &survey.pools[0];
    let others: u32 = pool.local.values().map(|task| task.nodes).sum();
    let runs = |order: &&Order| matches!(survey.tasks.get(&order.tag), Some(Seen::Running { .. }));
    let own: u32 = ours.iter().filter(runs).map(|order| order.nodes).sum();
    u64::from(pool.up - others - own)
}

/// The first survey of a cluster at rest that says what Slurm says.
fn agree(bench: &mut SlurmBench<'_>, ours: &[Order]) -> u64 {
    let began = Instant::now();
    let mut last = None;
    while began.elapsed() < Duration::from_secs(60) {
        let before = given(bench.cluster);
        let survey = bench.site().survey().unwrap();
        if given(bench.cluster) == before {
            let both = (free_by_slurm(&before), believed(&survey, ours));
            if both.0 == both.1 {
                return both.0;
            }
            last = Some((both, before, survey.pools));
        }
        bench.wait();
    }
    panic!("Slurm and the survey: {last:#?}");
}

/// An owner's job of a drawn shape; one that has to wait is cancelled.
fn owner(cluster: &Cluster, draw: &mut impl FnMut(i64, i64) -> i64) -> Option<String> {
    let (tasks, each) = (draw(1, 9).to_string(), format!("--mem-per-cpu={}", draw(50, 1_700)));
    let (memory, minutes) = (format!("--mem={}", draw(100, 6_000)), draw(5, 60).to_string());
    let shape = if draw(0, 2) == 0 { ["-N1", &memory] } else { ["-s", &each] };
    let job = cluster.job(&["-n", &tasks, shape[0], shape[1], "-t", &minutes]);
    let state = || cluster.say(&["squeue", "-h", "-o", "%T %r", "-j", &job]);
    cluster.until("the owner's job runs or waits for resources", |_| {
        let state = state();
        ["RUNNING", "Resources", "Priority"].iter().any(|word| state.contains(word))
    });
    if state().contains("RUNNING") {
        return Some(job);
    }
    cluster.run(&["scancel", &job]);
    cluster.until_state(&job, "");
    None
}

#[test]
fn free_units_are_what_slurm_has_free_and_what_is_placed_runs() {
    let cluster = Cluster::start(&plan("v", 3));
    let mut bench = SlurmBench::with(&cluster, "main", 12, |it| it.cluster.unit = UNIT);
    let mut random = stream(7, "owners", 0);
    let mut draw = |low: i64, high: i64| within(&mut random, low, high);
    let (mut owners, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=6 {
        owners.extend((0..3).filter_map(|_| owner(&cluster, &mut draw)));
        let mut free = agree(&mut bench, &ours);
        if free > 0 {
            let one = Order { nodes: 1, ..order(&mut bench, round, &sleeps(300, 0)) };
            bench.site().submit(&one).unwrap();
            until_running(&mut bench, &one.tag);
            ours.push(one);
            free = agree(&mut bench, &ours);
        }
        println!("round {round}: {} owners' jobs, {} ours, {free} free", owners.len(), ours.len());
        for _ in 0..=usize::from(free == 0) {
            let last = i64::try_from(owners.len()).unwrap() - 1;
            let ends = owners.remove(usize::try_from(draw(0, last)).unwrap());
            cluster.run(&["scancel", &ends]);
            cluster.until_state(&ends, "");
        }
    }
    agree(&mut bench, &ours);
}

/// A task that needs more memory than a unit has gets as many units, and Slurm gives what they are.
#[test]
fn memory_is_asked_for_in_whole_units() {
    let cluster = Cluster::start(&plan("u", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 4, |it| it.cluster.unit = UNIT);
    let mut one = Order { nodes: 3, ..order(&mut bench, 1, &sleeps(300, 0)) };
    one.passed_through = vec![("mem".to_owned(), "5G".to_owned())];
    bench.site().submit(&one).unwrap();
    until_running(&mut bench, &one.tag);
    assert_eq!(given(&cluster), [(6, 6_000)]);
    assert_eq!(agree(&mut bench, &[one]), 1);
}
