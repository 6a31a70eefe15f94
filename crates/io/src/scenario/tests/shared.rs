//! Nodes that say what they have, and jobs whose tasks say what they take.

use tradewind_model::{
    Charge, NodeId, NodeResources, Packing, Price, Resources, Sharing, Slot, Time, UnitPrices,
};

use super::{GOOD, read};
use crate::scenario::Scenario;

const SHARED: &str = r#"{
  "horizon": {"start": 0, "end": 600},
  "nodes": [
    {"name": "thin", "cores": 128, "memory": "512 GB", "shared": true, "price": 0.0128},
    {"name": "fat", "cores": 64, "memory": "1.5T", "gres": {"gpu": 4}, "shared": true,
     "unit_prices": {"core": 0.0001, "memory": 0.00002, "gpu": 0.01}, "charge": "greatest"},
    {"name": "whole", "cores": 8, "memory": "16G"},
    {"name": "plain"}
  ],
  "busy": [
    {"node": "thin", "start": 0, "end": 100, "cores": 100, "memory": "460 GB"},
    {"node": "fat", "start": 50, "end": 60}
  ],
  "jobs": [
    {"name": "j1", "tasks": 4, "work": 80, "cores": 8, "memory": "64 GB"},
    {"name": "j2", "tasks": 1, "work": 10, "gres": {"gpu": 2}, "packing": "spread"},
    {"name": "j3", "nodes": 1, "work": 10}
  ]
}"#;

fn scenario(text: &str) -> Scenario {
    let (scenario, warnings) = read(text).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    scenario
}

fn gib(cores: u32, memory: u64, gpus: u32) -> Resources {
    let gres = [("gpu".to_owned(), gpus)].into_iter().filter(|(_, count)| *count > 0);
    Resources { cores, memory: memory * Resources::GIB, gres: gres.collect() }
}

#[test]
fn what_nodes_have_and_tasks_take_is_read_and_written_back() {
    let scenario = scenario(SHARED);
    let snapshot = &scenario.snapshot;
    let has = |node| snapshot.grid.resources(NodeId(node)).cloned();
    let thin = NodeResources { all: gib(128, 512, 0), sharing: Sharing::Shared(Charge::Share) };
    let prices = UnitPrices {
        core: Price(100),
        memory: Price(20),
        gres: [("gpu".to_owned(), Price(10_000))].into(),
    };
    let sharing = Sharing::Shared(Charge::Greatest(prices));
    let fat = NodeResources { all: gib(64, 1_536, 4), sharing };
    let whole = NodeResources { all: gib(8, 16, 0), sharing: Sharing::Whole };
    assert_eq!([has(0), has(1), has(2), has(3)], [Some(thin), Some(fat), Some(whole), None]);
    assert_eq!(snapshot.grid.node(NodeId(1)).price, Price(40_000), "four accelerators");
    let needs = |job: usize| snapshot.jobs[job].request.needs.clone();
    let (first, second) = (needs(0).unwrap(), needs(1).unwrap());
    assert_eq!((first.each, first.packing), (gib(8, 64, 0), Packing::BestFit));
    assert_eq!((second.each, second.packing), (gib(1, 0, 2), Packing::Spread));
    assert_eq!(needs(2), None);
    let shared = snapshot.slots.shared().unwrap();
    let span = |node, start, end| Slot { start: Time(start), end: Time(end), node: NodeId(node) };
    assert_eq!(shared.places(span(0, 0, 600), Some(&gib(8, 0, 0))), 3);
    assert_eq!(shared.places(span(0, 100, 600), Some(&gib(8, 64, 0))), 8);
    // Where the whole of a shared node is free, whole nodes may be used.
    let slots = snapshot.slots.as_slice();
    assert_eq!(slots.iter().filter(|slot| slot.node == NodeId(1)).count(), 2);
    assert!(slots.contains(&span(0, 100, 600)) && slots.contains(&span(3, 0, 600)));
    let again = read(&scenario.to_json()).unwrap().0;
    assert_eq!(again, scenario);
    // The same with slots instead of busy spans.
    let by_slots = Scenario { busy: None, busy_parts: Vec::new(), ..scenario };
    assert_eq!(read(&by_slots.to_json()).unwrap().0, by_slots);
}

#[test]
fn each_mistake_is_reported_with_its_place() {
    for (from, to, parts) in [
        (r#""cores": 128, "#, "", ["nodes[0].shared", "without `cores`", "how many cores"]),
        ("512 GB", "512", ["nodes[0].memory", "`512` is not an amount", "512 GB"]),
        (r#""512 GB""#, "512", ["nodes[0].memory", "found the number", "quotes"]),
        ("0.0128", "[[0, 1], [9, 2]]", ["nodes[0].price", "changes on a shared node", "one price"]),
        (r#"e, "price""#, r#"e, "watts": 9, "price""#, ["nodes[0].watts", "electricity", "leave"]),
        (r#""charge": "#, r#""price": 1, "charge": "#, ["nodes[1].price", "both", "keep one"]),
        (r#""greatest""#, r#""most""#, ["nodes[1].charge", "unknown value `most`", "greatest"]),
        (r#"{"gpu": 4}"#, "4", ["nodes[1].gres", "expected a table", "braces"]),
        (r#"{"gpu": 4}"#, r#"{"gpu": 1.5}"#, ["nodes[1].gres.gpu", "not a whole", "round"]),
        (r#""16G"}"#, r#""16G", "charge": "sum"}"#, ["nodes[2].charge", "whole node", "shared"]),
        (r#""cores": 100"#, r#""cores": 129"#, ["busy[0]", "129 cores, 460 GB of", "at most"]),
        (
            r#"[
    {"node": "thin""#,
            r#"[
    {"node": "plain""#,
            ["busy[0]", "`plain`, which is not shared", "shared = true"],
        ),
        (r#""tasks": 4"#, r#""nodes": 4"#, ["jobs[0].nodes", "may share nodes", "give `tasks`"]),
        (
            r#""nodes": 1,"#,
            r#""nodes": 1, "tasks": 1,"#,
            ["jobs[2].tasks", "without what", "`nodes`"],
        ),
        (
            r#""cores": 8, "memory": "64"#,
            r#""cores": 0, "memory": "64"#,
            ["jobs[0].cores", "out of range", "at least 1"],
        ),
        (r#""spread""#, r#""tight""#, ["jobs[1].packing", "unknown value", "hint"]),
        (r#""tasks": 4, "#, "", ["jobs[0]", "`tasks` is missing", "needed here"]),
        (r#""work": 80, "#, r#""work": 80, "groups": [], "#, ["jobs[0].groups", "share", "leave"]),
    ] {
        assert!(SHARED.contains(from), "{from}");
        let told = match read(&SHARED.replacen(from, to, 1)) {
            Ok((_, warnings)) => format!("accepted; {warnings}"),
            Err(err) => err.to_string(),
        };
        assert!(parts.iter().all(|part| told.contains(part)), "{from} -> {to}: {told}");
    }
    let plain =
        GOOD.replacen(r#""nodes": 2, "work": "80s""#, r#""tasks": 2, "cores": 1, "work": 9"#, 1);
    let told = read(&plain).unwrap_err().to_string();
    assert!(told.contains("jobs[0]: no node says what it has"), "{told}");
    let many = SHARED.replacen(r#""cores": 128"#, r#""cores": 1048576"#, 1);
    assert!(read(&many).is_ok());
    let names: Vec<String> = (0..17).map(|name| format!(r#""g{name}": 1"#)).collect();
    let many = SHARED.replacen(r#"{"gpu": 4}"#, &format!("{{{}}}", names.join(", ")), 1);
    assert!(read(&many).unwrap_err().to_string().contains("17 generic resources"));
}
