//! Memory, GPUs and slots of parallel environments as resources.

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::{Exit, Seen, SiteError};
use tradewind_io::settings::cluster::{Mode, NodeUnit};

use crate::bench::GridBench;
use crate::fixture::Cluster;
use crate::surprises::{until_ended, until_running};

/// A cluster whose first host has two GPUs and four gigabytes of memory to give.
pub(crate) fn cluster() -> Cluster {
    let cluster = Cluster::start();
    let complexes = cluster.must(&["qconf", "-sc"], "");
    let counted = |line: &str| match line.starts_with("h_vmem ") {
        true => "h_vmem h_vmem MEMORY <= YES YES 0 0".to_owned(),
        false => line.to_owned(),
    };
    let mut text: Vec<String> = complexes.lines().map(counted).collect();
    text.push("gpu gpu INT <= YES YES 0 0\n".to_owned());
    let file = cluster.path("complexes");
    std::fs::write(&file, text.join("\n")).unwrap();
    cluster.must(&["qconf", "-Mc", &file.display().to_string()], "");
    for values in ["gpu=2", "h_vmem=4G"] {
        cluster.must(&["qconf", "-aattr", "exechost", "complex_values", values, "ge1"], "");
    }
    cluster
}

fn options(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn seen(bench: &mut GridBench, job: u64) -> Option<Seen> {
    bench.site().survey().unwrap().tasks.remove(&tag(job))
}

#[test]
fn jobs_get_gpus_and_memory_where_they_are_and_are_refused_by_name_elsewhere() {
    let mut bench = GridBench::on(cluster(), |_| {});
    let most = bench.site().survey().unwrap().pools[0].max.clone().unwrap();
    assert_eq!((most.memory, most.generic.get("gpu")), (4_096, Some(&2)));
    for (asked, why) in [
        (options(&[("mem", "900G")]), "921600 MB"),
        (options(&[("gres", "gpu:3")]), "gpu 3"),
        (options(&[("gres", "shard:1")]), "`shard`"),
        (options(&[("mem", "0")]), "`mem=0`"),
        (options(&[("gpus-per-task", "1")]), "gpus-per-task"),
    ] {
        let mut order = order(&mut bench, 9, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.passed_through = asked.clone();
        let answer = bench.site().submit(&order);
        let Err(SiteError::Capped(said)) = &answer else { panic!("{asked:?}: {answer:?}") };
        let told = bench.site().survey().unwrap().capped;
        assert!(told.contains_key(&order.tag), "it is the job, and not the site: {told:?}");
        assert!(said.contains(why), "{asked:?}: {said}");
    }
    // Two have a GPU each; there are slots for a third, and no GPU.
    let asked = options(&[("gres", "gpu:1"), ("mem", "600")]);
    for job in 1..=2 {
        let mut order = order(&mut bench, job, &TaskBehaviour::Exit { after: 600, code: 0 });
        order.passed_through = asked.clone();
        bench.site().submit(&order).unwrap();
        until_running(&mut bench, job);
    }
    let listed = bench.cluster.must(&["qstat", "-r", "-u", "*"], "");
    assert!(listed.contains("gpu=1") && listed.contains("h_vmem=600M"), "{listed}");
    let mut third = order(&mut bench, 3, &TaskBehaviour::Exit { after: 0, code: 5 });
    third.passed_through = asked;
    bench.site().submit(&third).unwrap();
    let mut plain = order(&mut bench, 4, &TaskBehaviour::Exit { after: 0, code: 6 });
    plain.passed_through = options(&[("qos", "low")]);
    bench.site().submit(&plain).unwrap();
    assert_eq!(until_ended(&mut bench, 4), Exit::Code(6), "slots are free");
    assert_eq!(seen(&mut bench, 3), Some(Seen::Waiting));
    bench.site().withdraw(&tag(1)).unwrap();
    assert_eq!(until_ended(&mut bench, 3), Exit::Code(5));
    bench.site().withdraw(&tag(2)).unwrap();
}

#[test]
fn a_reservation_has_the_resources_of_its_job() {
    let mut bench = GridBench::on(cluster(), |settings| settings.cluster.mode = Mode::Reservation);
    let mut first = order(&mut bench, 1, &TaskBehaviour::Exit { after: 600, code: 0 });
    first.passed_through = options(&[("gres", "gpu:2")]);
    bench.site().submit(&first).unwrap();
    until_running(&mut bench, 1);
    let mut second = order(&mut bench, 2, &TaskBehaviour::Exit { after: 0, code: 0 });
    second.passed_through = options(&[("gres", "gpu:1")]);
    let answer = bench.site().submit(&second);
    assert!(matches!(answer, Err(SiteError::Refused(_))), "{answer:?}");
    let mut booked = order(&mut bench, 3, &TaskBehaviour::Exit { after: 0, code: 0 });
    (booked.passed_through, booked.aside) = (second.passed_through, true);
    let answer = bench.site().submit(&booked);
    assert!(matches!(&answer, Err(SiteError::Capped(why)) if why.contains("gpu=1")), "{answer:?}");
    bench.site().withdraw(&tag(1)).unwrap();
}

#[test]
fn a_parallel_environment_has_so_many_slots() {
    let cluster = Cluster::start();
    cluster.must(&["qconf", "-mattr", "pe", "slots", "4", "units"], "");
    let mut bench = GridBench::on(cluster, |_| {});
    let limits = bench.site().survey().unwrap().limits.unwrap();
    let widest: Vec<u32> =
        limits.pools.iter().filter_map(|pool| Some(pool.nodes.as_ref()?.0)).collect();
    assert_eq!(widest, [4, 4]);
    let word = &limits.pools[0].nodes.as_ref().unwrap().1;
    assert_eq!(word, "the parallel environment units");
    bench.settings.cluster.options.clear();
    bench.restart();
    let limits = bench.site().survey().unwrap().limits.unwrap();
    assert_eq!(limits.pools[0].nodes.as_ref().map(|(nodes, _)| *nodes), Some(1));
}

/// One slot with a gigabyte each: what is believed to be free beside owners' jobs of any memory is what Grid
/// Engine gives.
#[test]
fn units_with_memory_are_what_the_cluster_gives() {
    let unit = NodeUnit::Shared { cores: 1, memory: 1_024 };
    let mut bench = GridBench::on(cluster(), |settings| settings.cluster.unit = unit);
    let free = |bench: &mut GridBench| {
        let main = bench.site().survey().unwrap().pools.remove(0);
        main.up - main.local.values().map(|task| task.nodes).sum::<u32>()
    };
    assert_eq!(free(&mut bench), 4, "the host has eight slots and four gigabytes");
    let owners = |bench: &GridBench, memory: &str| {
        let memory = format!("h_rt=600,h_vmem={memory}");
        let mut argv = vec!["qsub", "-terse", "-S", "/bin/sh", "-N", "owners", "-q", "main.q"];
        argv.extend(["-l", &memory, "-o", "/dev/null", "-j", "y", "-wd", "/"]);
        bench.cluster.must(&argv, "exec sleep 600\n")
    };
    let large = owners(&bench, "1500M");
    let small = owners(&bench, "100M");
    // 2,496 MB are left, in six slots.
    bench.until(60, free, |free| *free == 2);
    for job in 1..=3 {
        let order = order(&mut bench, job, &TaskBehaviour::Exit { after: 600, code: 0 });
        bench.site().submit(&order).unwrap();
    }
    until_running(&mut bench, 1);
    until_running(&mut bench, 2);
    let listed = bench.cluster.must(&["qstat", "-r", "-u", "*"], "");
    assert!(listed.contains("h_vmem=1024M"), "{listed}");
    assert_eq!(free(&mut bench), 2, "of these, two are ours");
    assert_eq!(seen(&mut bench, 3), Some(Seen::Waiting));
    bench.cluster.must(&["qdel", &small], "");
    bench.until(60, free, |free| *free == 2);
    assert_eq!(seen(&mut bench, 3), Some(Seen::Waiting), "2,596 MB are two units");
    bench.cluster.must(&["qdel", &large], "");
    until_running(&mut bench, 3);
    bench.until(60, free, |free| *free == 4);
    // Three gigabytes are three units, which need not be on one host.
    let mut wide = order(&mut bench, 4, &TaskBehaviour::Exit { after: 0, code: 0 });
    wide.passed_through = options(&[("mem", "3G")]);
    let answer = bench.site().submit(&wide);
    assert!(
        matches!(&answer, Err(SiteError::Capped(why)) if why.contains("several units")),
        "{answer:?}"
    );
    (1..=3).for_each(|job| bench.site().withdraw(&tag(job)).unwrap());
}
