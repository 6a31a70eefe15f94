//! Waiting jobs of others, as surveys list them.

use std::collections::BTreeMap;

use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::queued::{Blocked, MAX_LIMIT, QueuedJob};
use tradewind_model::Span;

use crate::bench::GridBench;

/// An owner's job with these words of `qsub`; its number.
fn job(bench: &GridBench, words: &[&str]) -> String {
    let fixed = ["qsub", "-terse", "-S", "/bin/sh", "-o", "/dev/null", "-j", "y", "-wd", "/"];
    let words: Vec<&str> = fixed.into_iter().chain(words.iter().copied()).collect();
    let said = bench.cluster.must(&words, "exec sleep 300\n");
    // Arrays have their tasks behind it.
    said.trim().split('.').next().unwrap().to_owned()
}

#[test]
fn a_backlog_of_the_owners_is_listed() {
    let mut bench = GridBench::new();
    bench.take(8);
    let first = job(&bench, &["-q", "main.q", "-pe", "units", "3", "-l", "h_rt=120"]);
    let wide = job(&bench, &["-q", "main.q", "-pe", "units", "8", "-l", "h_rt=9", "-R", "y"]);
    let array = job(&bench, &["-q", "main.q", "-t", "5-9", "-l", "h_rt=60"]);
    let after = job(&bench, &["-q", "main.q", "-hold_jid", &first]);
    let held = job(&bench, &["-q", "main.q", "-h"]);
    let listed = bench.until(
        30,
        |bench| bench.site().survey().unwrap().queue,
        |queue| queue.len() == 5 && queue.iter().all(|job| job.priority.is_some()),
    );
    let number = |job: &QueuedJob| job.name.split('.').next().unwrap().to_owned();
    let by_number: BTreeMap<String, &QueuedJob> =
        listed.iter().map(|job| (number(job), job)).collect();
    let of = |name: &String| by_number[name];
    assert!(of(&wide).reserves && !of(&first).reserves, "{listed:#?}");
    let rule = bench.site().survey().unwrap().limits.unwrap().queue.unwrap();
    assert_eq!((rule.depth, rule.on_request, rule.interval), (100, true, Span(1)));
    assert_eq!((of(&first).nodes, of(&first).limit), (3, Span(120)), "{listed:#?}");
    assert_eq!((of(&array).tasks, of(&array).limit), (5, Span(60)), "{listed:#?}");
    assert_eq!(of(&after).blocked, Blocked::Dependency(vec![first.clone()]), "{listed:#?}");
    assert_eq!((of(&after).limit, of(&after).is_capped), (MAX_LIMIT, true));
    assert_eq!(of(&held).blocked, Blocked::Held, "{listed:#?}");
    assert!(listed.iter().all(|job| job.pools == [0] && job.submitted > tradewind_model::Time(0)));
}
