//! The doctor's jobs of a second.

use std::time::Duration;

use tradewind_daemon::site::Verdict;
use tradewind_daemon::site::conformance::SiteBench;

use super::bench::{SlurmBench, pool};
use super::cluster::{Cluster, Plan};

/// Busy machines take their time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files below the folder that are not empty.
fn left(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_job_of_a_second_shows_that_the_whole_way_works() {
    let cluster = Cluster::start(&Plan::of("y", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    assert_eq!(bench.site().trials(), ["cpu"]);
    let found = bench.site().trial("cpu", PATIENCE);
    assert_eq!(found.verdict, Verdict::Good, "{found:?}");
    let says = |word: &str| found.found.contains(word);
    assert!(
        says("on y1") && says(&cluster.user) && says("output and clock are right"),
        "{found:?}"
    );
    assert_eq!(left(&bench.folder.path().join("work")), Vec::<String>::new(), "its output stays");
}

#[test]
fn a_spool_that_nodes_do_not_share_is_reported() {
    let cluster = Cluster::start(&Plan::of("w", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        // Nodes have another folder at that place than the machine of our commands.
        let (here, there) = (cluster.path().join("here"), cluster.path().join("there"));
        for folder in [&here, &there] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let (here, there) = (here.to_string_lossy(), there.to_string_lossy().into_owned());
        let script = format!(
            "for word in \"$@\"; do shift; [ \"$word\" = '{there}' ] && word='{here}'; \
             set -- \"$@\" \"$word\"; done; exec \"$@\""
        );
        settings.cluster.command = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        settings.cluster.spool = there;
    });
    let found = bench.site().trial("cpu", PATIENCE);
    assert_eq!(found.verdict, Verdict::Bad, "{found:?}");
    assert!(found.remedy.contains("share"), "{found:?}");
}

#[test]
fn a_job_that_does_not_start_in_time_is_taken_back() {
    let cluster = Cluster::start(&Plan::of("x", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        settings.pools.push(pool("gone", 1, "nowhere"));
    });
    cluster.job(&["--exclusive"]);
    let found = bench.site().trial("cpu", Duration::from_secs(4));
    assert_eq!(found.verdict, Verdict::Warning, "{found:?}");
    assert!(found.found.contains("PENDING"), "{found:?}");
    let waits = cluster.say(&["squeue", "-h", "-t", "PENDING", "-o", "%i"]);
    assert_eq!(waits.trim(), "", "it still waits");
    let found = bench.site().trial("gone", PATIENCE);
    assert!(found.verdict == Verdict::Bad && found.found.contains("partition"), "{found:?}");
}
