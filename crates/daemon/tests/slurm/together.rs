//! One job on two real clusters.

use std::collections::BTreeMap;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, Go, Order};
use tradewind_model::Span;

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{sleeps, survey, until_ended, until_running};

/// Apart at most, on a machine that does other things, too, milliseconds: one sample says little.
const APART: i64 = 2_000;

#[test]
fn parts_on_two_clusters_begin_together() {
    let clusters = [Cluster::start(&Plan::of("x", 2)), Cluster::start(&Plan::of("y", 2))];
    let mut benches = [0, 1].map(|number| SlurmBench::new(&clusters[number], "main", 2));
    let mut parts = Vec::new();
    for (part, bench) in (0..).zip(&mut benches) {
        let names = ["OTHERS", "TRADEWIND_NODES"].map(str::to_owned).to_vec();
        let mut order = Order {
            nodes: 2,
            gather: Some(Span(60)),
            ..order(bench, 1, &TaskBehaviour::ShowVariables(names))
        };
        order.tag.part = part;
        bench.site().submit(&order).unwrap();
        parts.push(order);
    }
    let mut nodes = Vec::new();
    for (bench, order) in benches.iter_mut().zip(&parts) {
        if let tradewind_daemon::site::Seen::Running { nodes: own, .. } =
            until_running(bench, &order.tag)
        {
            nodes.extend(own);
        }
    }
    assert_eq!(nodes.join(","), "x1,x2,y1,y2");
    let at = benches[0].now() + Span(5);
    let variables = BTreeMap::from([("OTHERS".to_owned(), nodes.join(","))]);
    for (bench, order) in benches.iter_mut().zip(&parts) {
        bench.site().go(&order.tag, &Go { at, variables: variables.clone() }).unwrap();
    }
    let mut began = Vec::new();
    for (bench, order) in benches.iter_mut().zip(&parts) {
        assert_eq!(until_ended(bench, &order.tag).1, Exit::Code(0));
        began.push(survey(bench).began[&order.tag]);
        let said = String::from_utf8(bench.site().output(&order.tag, 100).unwrap()).unwrap();
        let own = if order.tag.part == 0 { "x1,x2" } else { "y1,y2" };
        assert_eq!(said, format!("x1,x2,y1,y2\0{own}\0"));
    }
    let apart = (began[0] - began[1]).abs();
    println!("{apart} ms apart, {} ms after the moment", began[0] - at.0 * 1_000);
    assert!(apart <= APART && began.iter().all(|it| *it >= at.0 * 1_000), "{began:?}");
}

/// The sites are not surveyed meanwhile.
#[test]
fn parts_that_do_not_wait_for_each_other_begin_at_their_start() {
    let clusters = [Cluster::start(&Plan::of("v", 2)), Cluster::start(&Plan::of("w", 2))];
    let mut benches = [0, 1].map(|number| SlurmBench::new(&clusters[number], "main", 2));
    let start = benches[0].now() + Span(5);
    let parts = [0, 1].map(|part| {
        let bench = &mut benches[part];
        let mut order = Order { nodes: 2, start, ..order(bench, 1, &sleeps(0, 0)) };
        order.tag.part = u32::try_from(part).unwrap();
        bench.site().submit(&order).unwrap();
        order
    });
    for (bench, cluster) in benches.iter().zip(&clusters) {
        let file = bench.folder.path().join("work/tradewind-1.out");
        cluster.until("it has run", |_| file.exists());
    }
    let mut began = Vec::new();
    for (bench, order) in benches.iter_mut().zip(&parts) {
        assert_eq!(until_ended(bench, &order.tag).1, Exit::Code(0));
        began.push(survey(bench).began[&order.tag] - start.0 * 1_000);
    }
    println!("begun {began:?} ms after the moment");
    assert!((began[0] - began[1]).abs() <= APART && began[0].min(began[1]) >= 0, "{began:?}");
}
