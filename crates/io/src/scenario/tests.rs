mod data;
mod licences;
mod shared;

use proptest::prelude::*;
use tradewind_model::{
    Attribute, Criteria, Criterion, Grid, Horizon, Job, Limit, Measure, Money, Node, NodeId,
    Objective, Performance, Price, Quantity, Request, Rho, Site, SiteId, Slot, SlotList, Span,
    Spread, TaskGroup, Time, Times, VoPolicy,
};

use super::*;

const GOOD: &str = r#"{
  "horizon": {"start": 0, "end": 600},
  "nodes": [
    {"name": "cpu1", "site": "alpha", "performance": 2.5, "price": 0.1},
    {"name": "cpu2", "site": "beta", "host": "h1", "attributes": {"gpu": true, "gb": 4.5}}
  ],
  "slots": [
    {"node": "cpu1", "start": 0, "end": 150},
    {"node": "cpu2", "start": 0, "end": "10m"}
  ],
  "jobs": [
    {"name": "j1", "nodes": 2, "work": "80s", "min_performance": 1, "max_price": 10,
     "budget": 800.25, "deadline": 500, "earliest_start": 0, "minimize": "cost", "priority": 3},
    {"name": "j2", "nodes": 1, "work": 10, "minimize": "sum:watts", "budget": null,
     "attributes": {"gpu": true}}
  ],
  "policy": {"objective": "max-income", "time_limit": "auto", "budget_limit": 12.5, "rho": 0.8}
}"#;

fn read(text: &str) -> Result<(Scenario, Diagnostics), Diagnostics> {
    parse(&Input::new("s.json", text))
}

/// The scenario with one piece of text replaced, and what is reported.
fn broken(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    match read(&GOOD.replacen(from, to, 1)) {
        Ok((_, warnings)) => format!("accepted; {warnings}"),
        Err(err) => err.to_string(),
    }
}

#[test]
fn every_field_is_read() {
    let (scenario, warnings) = read(GOOD).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    let Snapshot { grid, slots, jobs, policy, horizon } = scenario.snapshot;
    assert_eq!(horizon, Horizon { start: Time(0), end: Time(600) });
    let cpu1 = grid.node(NodeId(0));
    assert_eq!((cpu1.performance.thousandths(), cpu1.price), (2_500, Price(100_000)));
    let cpu2 = grid.node(NodeId(1));
    assert_eq!((cpu2.performance, cpu2.price), (Performance::REFERENCE, Price(0)));
    assert_eq!(cpu2.host.as_deref(), Some("h1"));
    assert_eq!(cpu2.attributes["gb"], Attribute::Number(4_500));
    assert_eq!(grid.site_of(NodeId(1)).name, "beta");
    assert_eq!(slots.as_slice()[1].end, Time(600));
    let request = &jobs[0].request;
    assert_eq!((request.tasks, request.work), (2, Span(80)));
    assert_eq!(request.budget, Some(Money(800_250_000)));
    assert_eq!(request.max_price, Some(Price::credits(10)));
    assert_eq!(request.min_performance, Some(Performance::REFERENCE));
    assert_eq!((request.deadline, request.earliest_start), (Some(Time(500)), Some(Time(0))));
    assert_eq!((&request.criterion, jobs[0].priority), (&Criterion::Cost, 3));
    assert_eq!(jobs[1].request.criterion, Criterion::Sum("watts".into()));
    assert_eq!(jobs[1].request.budget, None);
    assert_eq!(policy.objective, Objective::MaxIncome);
    assert_eq!(policy.budget_limit, Limit::At(Money(12_500_000)));
    assert_eq!((policy.time_limit, policy.rho.thousandths()), (Limit::Auto, 800));
}

#[test]
fn groups_are_read_and_one_group_is_a_plain_job() {
    let with = |groups: &str| {
        let text = GOOD.replacen("\"nodes\": 1, \"work\": 10,", groups, 1);
        let text = text.replacen(",\n     \"attributes\": {\"gpu\": true}}\n", "}\n", 1);
        read(&text).unwrap().0.snapshot.jobs[1].request.clone()
    };
    let two = with(
        r#""groups": [{"nodes": 1, "work": "1m", "attributes": {"gpu": true}},
                      {"nodes": 1, "work": 10, "min_performance": 2}],"#,
    );
    assert_eq!((two.tasks, two.work, two.all_tasks()), (1, Span(60), 2));
    assert_eq!(two.attributes["gpu"], Attribute::Flag(true));
    let other = &two.others[0];
    assert_eq!((other.tasks, other.work), (1, Span(10)));
    assert_eq!(other.min_performance, Performance::from_thousandths(2_000));
    assert!(other.attributes.is_empty() && two.min_performance.is_none());
    let plain = with("\"nodes\": 1, \"work\": 10,");
    assert_eq!(with(r#""groups": [{"nodes": 1, "work": 10}],"#), plain);
}

#[test]
fn toml_says_the_same_as_json() {
    let toml = r#"
        horizon = { start = 0, end = "10m" }
        busy = [{ node = "a", start = -5, end = 100 }]
        [[nodes]]
        name = "a"
        site = "s"
        performance = 1.5
        price = 1_000.000001
        [[nodes]]
        name = "b"
        [[jobs]]
        name = "j"
        nodes = 1
        work = "1-00:00:00"
        [policy]
        objective = "min-cost"
        measure = "processor-time"
        time_limit = "2h"
    "#;
    let (scenario, _) = parse(&Input::new("s.toml", toml)).unwrap();
    let (back, _) = read(&scenario.to_json()).unwrap();
    assert_eq!(scenario, back);
    let snapshot = &scenario.snapshot;
    assert_eq!(snapshot.grid.node(NodeId(0)).price, Price(1_000_000_001));
    assert_eq!(snapshot.slots.len(), 2);
    assert_eq!(snapshot.slots.as_slice()[1].start, Time(100));
    assert_eq!(snapshot.policy.time_limit, Limit::At(Span(7_200)));
    assert_eq!(snapshot.policy.measure, Measure::ProcessorTime);
}

#[test]
fn each_mistake_is_reported_with_its_place() {
    for (from, to, expected) in [
        (
            "\"budget\": 800.25",
            "\"budgett\": 1",
            "s.json:13: jobs[0].budgett: unknown key\n  hint: did you mean `budget`?",
        ),
        (
            "\"node\": \"cpu2\"",
            "\"node\": \"cpu9\"",
            "s.json:9: slots[1].node: unknown node `cpu9`\n  hint: did you mean `cpu1`?",
        ),
        (
            "\"end\": 150",
            "\"end\": 601",
            "s.json:8: slots[0]: the slot [0, 601) is outside the horizon [0, 600)",
        ),
        (
            "\"node\": \"cpu2\"",
            "\"node\": \"cpu1\"",
            "s.json:9: slots[1]: the slot [0, 600) on `cpu1` overlaps [0, 150) of line 8",
        ),
        ("\"end\": 150", "\"end\": 0", "slots[0]: `start` 0 is not before `end` 0"),
        ("\"price\": 0.1", "\"price\": -4", "s.json:4: nodes[0].price: negative number `-4`"),
        ("\"price\": 0.1", "\"price\": 0.1234567", "`0.1234567` has more than 6 decimals"),
        ("\"price\": 0.1", "\"price\": \"NaN\"", "expected a number, found the text `NaN`"),
        ("\"price\": 0.1", "\"price\": 1e999", "`1e999` is out of range"),
        ("\"price\": 0.1", "\"price\": 1e12", "exceeds the range of money"),
        ("\"performance\": 2.5", "\"performance\": 0", "nodes[0].performance: `0` is out of range"),
        ("\"performance\": 2.5", "\"performance\": 2.5001", "more than 3 decimals"),
        ("\"nodes\": 2,", "\"nodes\": 0,", "jobs[0].nodes: `0` is out of range"),
        ("\"nodes\": 2,", "\"nodes\": 1.5,", "`1.5` is not a whole number"),
        (
            "\"nodes\": 2,",
            "\"nodes\": 3,",
            "s.json:12: jobs[0].nodes: 3 nodes needed, the grid has 2\n  hint: each task",
        ),
        (
            "\"nodes\": 1, \"work\": 10,",
            "\"nodes\": 1, \"groups\": [{\"nodes\": 1, \"work\": 10}],",
            "jobs[1].nodes: a job with `groups` has no `nodes` of its own\n  hint: say it in each",
        ),
        (
            "\"nodes\": 1, \"work\": 10,",
            "\"groups\": [{\"nodes\": 1, \"work\": 10}, {\"nodes\": 2, \"work\": 5}],",
            "jobs[1].groups: 3 nodes needed, the grid has 2",
        ),
        (
            "\"nodes\": 1, \"work\": 10,",
            "\"groups\": [{\"nodes\": 1}],",
            "jobs[1].groups[0]: `work` is missing",
        ),
        ("\"nodes\": 1, \"work\": 10,", "\"groups\": [],", "jobs[1].groups: 0 groups"),
        (
            "\"nodes\": 1, \"work\": 10,",
            "\"groups\": [{\"nodes\": 1, \"work\": 10, \"budget\": 3}],",
            "jobs[1].groups[0].budget: unknown key",
        ),
        (
            "\"name\": \"j2\"",
            "\"name\": \"j\\u001b[31m\\n2\"",
            "s.json:14: jobs[1].name: `j\u{fffd}[31m\u{fffd}2` has control characters",
        ),
        (
            "\"work\": 10",
            "\"work\": \"ten\"",
            "jobs[1].work: `ten` is not a time\n  hint: write seconds",
        ),
        (
            "\"work\": 10",
            "\"work\": 99999999999999",
            "jobs[1].work: `99999999999999` is out of range",
        ),
        ("\"work\": 10", "\"work\": \"0s\"", "`0` s is out of range"),
        ("\"work\": 10,", "", "jobs[1]: `work` is missing"),
        (
            "\"name\": \"j2\"",
            "\"name\": \"j1\"",
            "s.json:14: jobs[1].name: the job name `j1` is used before, in line 12",
        ),
        (
            "\"name\": \"cpu2\"",
            "\"name\": \"cpu1\"",
            "the node name `cpu1` is used before, in line 4",
        ),
        (
            "\"minimize\": \"cost\"",
            "\"minimize\": \"costs\"",
            "unknown criterion `costs`\n  hint: did you mean `cost`?",
        ),
        (
            "\"max-income\"",
            "\"max-incone\"",
            "policy.objective: unknown value `max-incone`\n  hint: did you mean `max-income`?",
        ),
        ("\"rho\": 0.8", "\"rho\": 1.5", "policy.rho: `1.5` is out of range"),
        (
            "\"gb\": 4.5",
            "\"gb\": []",
            "nodes[1].attributes.gb: expected a text, a number, `true` or `false`, found a list",
        ),
        ("\"end\": 600}", "\"end\": 0}", "horizon: `start` 0 is not before `end` 0"),
        ("\"slots\": [", "\"busy\": [], \"slots\": [", "both `slots` and `busy` are given"),
        ("\"slots\": [", "\"slotz\": [", "`slots` or `busy` is missing"),
        ("\"horizon\": {\"start\": 0, \"end\": 600},", "", "s.json:1: `horizon` is missing"),
        (
            "\"site\": \"alpha\"",
            "\"site\": 7",
            "nodes[0].site: expected a text, found the number `7`",
        ),
        (
            "{\"name\": \"j2\", \"nodes\": 1",
            "7, {\"name\": \"j2\", \"nodes\": 1",
            "jobs[1]: expected a table, found the number `7`",
        ),
    ] {
        let got = broken(from, to);
        assert!(got.starts_with("error") && got.contains(expected), "{to}\n{got}");
        assert!(got.matches("error: ").count() == got.matches("  hint: ").count(), "{to}\n{got}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_by_line() {
    let text = GOOD
        .replacen("\"price\": 0.1", "\"price\": -1", 1)
        .replacen("\"end\": 150", "\"end\": \"x\"", 1)
        .replacen("\"nodes\": 2,", "\"nodes\": \"two\",", 1)
        .replacen("\"rho\": 0.8", "\"roh\": 1", 1);
    let err = read(&text).unwrap_err();
    assert_eq!(err.errors(), 4);
    let lines: Vec<u32> = err.iter().filter_map(|it| it.line).collect();
    assert_eq!(lines, [4, 8, 12, 17]);
}

#[test]
fn empty_lists_are_mistakes() {
    let empty = |key: &str| {
        let text = r#"{"horizon": {"start": 0, "end": 6}, "nodes": [{"name": "a"}],
            "busy": [], "jobs": [{"name": "j", "nodes": 1, "work": 1}]}"#;
        let from = text.find(&format!("\"{key}\": [")).unwrap() + key.len() + 5;
        let to = from + text[from..].find(']').unwrap();
        read(&format!("{}{}", &text[..from], &text[to..])).map_err(|err| err.to_string())
    };
    assert!(empty("busy").is_ok());
    assert!(empty("nodes").unwrap_err().contains("nodes: an empty list"));
    assert!(empty("jobs").unwrap_err().contains("jobs: an empty list"));
}

#[test]
fn hopeless_jobs_are_warned_of_but_accepted() {
    assert!(broken("\"deadline\": 500", "\"deadline\": 0").starts_with("accepted; warning"));
    let late = broken("\"earliest_start\": 0,", "\"earliest_start\": 600,");
    assert!(late.starts_with("accepted; warning"), "{late}");
}

#[test]
fn files_that_are_no_scenario_are_refused() {
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"\xff\xfe",
        b"[1, 2]",
        b"null",
        b"just words",
        &GOOD.as_bytes()[..200],
    ] {
        assert!(parse(&Input::new("-", bytes)).is_err());
        assert!(parse(&Input::new("x.json", bytes)).is_err());
        assert!(parse(&Input::new("x.toml", bytes)).is_err());
    }
}

fn attribute() -> impl Strategy<Value = Attribute> {
    prop_oneof![
        any::<bool>().prop_map(Attribute::Flag),
        (-1_000_000i64..1_000_000).prop_map(Attribute::Number),
        "[a-z\" \\\\\né]{0,5}".prop_map(Attribute::Text),
    ]
}

prop_compose! {
    fn node()(
        host in proptest::option::of("[a-z]{1,4}"),
        performance in 1u32..5_000,
        price in 0i64..10_000_000,
        site in 0u32..3,
        attributes in proptest::collection::btree_map("[a-z]{1,3}", attribute(), 0..3),
    ) -> Node {
        let performance = Performance::from_thousandths(performance).unwrap();
        Node { name: String::new(), site: SiteId(site), host, performance, price: Price(price), attributes, times: Times::Work }
    }
}

prop_compose! {
    fn group()(
        (tasks, work) in (1u32..100, 1i64..100_000),
        min_performance in proptest::option::of(1u32..3_000),
        attributes in proptest::collection::btree_map("[a-z]{1,3}", attribute(), 0..3),
    ) -> TaskGroup {
        let min_performance = min_performance.and_then(Performance::from_thousandths);
        TaskGroup { tasks, work: Span(work), min_performance, attributes }
    }
}

prop_compose! {
    fn job()(
        (tasks, work, priority) in (1u32..100, 1i64..100_000, -5i64..5),
        min_performance in proptest::option::of(1u32..3_000),
        max_price in proptest::option::of(0i64..9_000_000),
        budget in proptest::option::of(0i64..9_000_000_000),
        earliest_start in proptest::option::of(-1_000i64..1_000),
        deadline in proptest::option::of(-1_000i64..1_000),
        minimize in prop_oneof!["start", "finish", "runtime", "cost", "processor-time", "sum:[a-z]{1,3}"],
        attributes in proptest::collection::btree_map("[a-z]{1,3}", attribute(), 0..3),
        spread in proptest::sample::select(vec![Spread::Grid, Spread::Site]),
        others in proptest::collection::vec(group(), 0..3),
    ) -> Job {
        let request = Request {
            min_performance: min_performance.and_then(Performance::from_thousandths),
            max_price: max_price.map(Price),
            budget: budget.map(Money),
            earliest_start: earliest_start.map(Time),
            deadline: deadline.map(Time),
            criterion: criterion(&minimize).unwrap(),
            attributes,
            spread,
            others,
            ..Request::new(tasks, Span(work))
        };
        Job { name: String::new(), priority, request }
    }
}

prop_compose! {
    fn policy()(
        (objective, measure) in (0usize..4, 0usize..2),
        time in proptest::option::of(0i64..1_000_000_000),
        budget in proptest::option::of(0i64..1_000_000_000),
        rho in 1u32..=1_000,
        order in proptest::collection::vec(proptest::sample::select(&words::COMPONENTS[..11]), 0..3),
        energy in proptest::option::of(0i64..1_000_000),
    ) -> VoPolicy {
        VoPolicy {
            objective: words::OBJECTIVES[objective].1,
            measure: words::MEASURES[measure].1,
            time_limit: time.map_or(Limit::Auto, |t| Limit::At(Span(t))),
            budget_limit: budget.map_or(Limit::Auto, |b| Limit::At(Money(b))),
            rho: Rho::from_thousandths(rho).unwrap(),
            criteria: Criteria {
                order: order.into_iter().filter_map(words::component).collect(),
                limits: energy.map(|it| (Quantity::Energy, it * 3_600)).into_iter().collect(),
            },
        }
    }
}

prop_compose! {
    /// Any scenario that a file can hold. Sites are numbered by first use, as reading does.
    fn any_scenario()(
        mut nodes in proptest::collection::vec(node(), 1..6),
        mut jobs in proptest::collection::vec(job(), 1..5),
        spans in proptest::collection::vec((0u32..6, -200i64..200, 1i64..100), 0..10),
        (by_busy, title, policy) in (any::<bool>(), proptest::option::of("[a-z\"]{1,8}x"), policy()),
        notes in proptest::collection::vec("\\PC{0,10}", 0..3),
    ) -> Scenario {
        let mut order: Vec<u32> = Vec::new();
        for (i, node) in nodes.iter_mut().enumerate() {
            node.name = format!("node {i}");
            let at = order.iter().position(|site| *site == node.site.0).unwrap_or_else(|| {
                order.push(node.site.0);
                order.len() - 1
            });
            node.site = SiteId(at as u32);
        }
        for (i, job) in jobs.iter_mut().enumerate() {
            job.name = format!("job-{i}");
            job.request.tasks = job.request.tasks % nodes.len() as u32 + 1;
            job.request.others.truncate(nodes.len() - job.request.tasks as usize);
            job.request.others.iter_mut().for_each(|group| group.tasks = 1);
        }
        let sites = (0..order.len()).map(|i| Site { name: format!("s{i}") }).collect();
        let count = nodes.len() as u32;
        let grid = Grid::new(sites, nodes).unwrap();
        let horizon = Horizon { start: Time(-150), end: Time(250) };
        let busy: Vec<Slot> = spans
            .iter()
            .map(|(n, start, span)| Slot { node: NodeId(n % count), start: Time(*start), end: Time(start + span) })
            .collect();
        let slots = SlotList::from_busy(&grid, horizon, &busy);
        let snapshot = Snapshot { horizon, grid, slots, jobs, policy };
        let busy = by_busy.then_some(busy);
        Scenario { title, notes, snapshot, busy, busy_parts: Vec::new() }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(scenario in any_scenario()) {
        let text = scenario.to_json();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        match read(&text) {
            Ok((back, _)) => prop_assert_eq!(back, scenario),
            Err(err) => prop_assert!(false, "{}\n{}", err, text),
        }
    }
}

/// A scenario with two sites, of which one takes its carbon intensity from `carbon`.
fn electric(carbon: &str) -> String {
    format!(
        r#"{{"horizon": {{"start": 0, "end": "4h"}}, "busy": [],
  "sites": [
    {{"name": "a", "watts": {{"idle": 90, "busy": 250.5}},
      "carbon": {carbon},
      "energy_price": 0.12}}],
  "nodes": [{{"name": "a1", "site": "a"}}, {{"name": "b1", "site": "b", "watts": 300}}],
  "jobs": [{{"name": "j", "nodes": 1, "work": "1h", "minimize": "energy"}}],
  "policy": {{"order": ["carbon", "idleness"], "limits": {{"energy": 2.5, "finish": "3h"}}}}}}"#
    )
}

#[test]
fn electricity_is_read_and_written_back() {
    let (scenario, _) = read(&electric(r#"[[0, 300], ["1h", 120.25]]"#)).unwrap();
    let grid = &scenario.snapshot.grid;
    let carbon = grid.power().unwrap().sites[0].carbon.clone().unwrap();
    assert_eq!(carbon.values().collect::<Vec<_>>(), [(Time(0), 300_000), (Time(3_600), 120_250)]);
    let watts = |node: usize| grid.nodes()[node].attributes.get("watts").cloned();
    assert_eq!(
        (watts(0), watts(1)),
        (Some(Attribute::Number(250_500)), Some(Attribute::Number(300_000)))
    );
    let criteria = &scenario.snapshot.policy.criteria;
    assert_eq!(criteria.limits, [(Quantity::Energy, 9_000_000_000), (Quantity::Finish, 10_800)]);
    assert_eq!(read(&scenario.to_json()).unwrap().0, scenario);
}

#[test]
fn mistakes_about_electricity_name_file_line_field_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    file("good.csv", "time,value\n0,300\n1h,120\n");
    file("order.csv", "time,value\n1h,300\n0,120\n");
    file("word.csv", "time,value\n0,much\n");
    file("head.csv", "when,value\n0,1\n");
    let path = dir.path().join("s.json");
    let name = path.to_str().unwrap();
    let verdict = |carbon: &str| {
        parse(&Input::new(name, electric(carbon))).map(drop).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(verdict(r#""good.csv""#), Ok(()));
    for (carbon, parts) in [
        (
            r#""none.csv""#,
            ["s.json:4: sites[0].carbon:", "none.csv` cannot be read", "hint: a CSV file"],
        ),
        (
            r#""order.csv""#,
            ["order.csv:3:", "time 0 is not later than the one before", "order the rows"],
        ),
        (r#""word.csv""#, ["word.csv:2: row 1.value:", "expected a number", "hint:"]),
        (r#""head.csv""#, ["head.csv:1:", "unknown column `when`", "hint:"]),
        ("-1", ["s.json:4: sites[0].carbon:", "negative number `-1`", "hint: at least 0"]),
        ("[[0, 1], [0, 2]]", ["s.json:4: sites[0].carbon:", "not later", "order the rows"]),
        ("true", ["s.json:4: sites[0].carbon:", "expected a series", "CSV file"]),
    ] {
        let found = verdict(carbon).unwrap_err();
        assert!(parts.iter().all(|part| found.contains(part)), "{carbon}: {found}");
    }
    let lost = electric("1").replace(r#""name": "a", "w"#, r#""name": "c", "w"#);
    let found = read(&lost).unwrap_err().to_string();
    assert!(found.contains("no node belongs to the site `c`"), "{found}");
    let found = read(&electric("1").replace("idleness", "idle")).unwrap_err().to_string();
    assert!(found.contains("policy.order[1]: unknown component `idle`"), "{found}");
}
