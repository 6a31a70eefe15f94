//! Licences, and jobs that take some along.

use tradewind_model::{LicenceId, LicenceShare, Price, Time};

use super::read;
use crate::scenario::Scenario;

const LICENCES: &str = r#"{
  "horizon": {"start": 0, "end": 600},
  "nodes": [{"name": "a", "cores": 8, "shared": true}, {"name": "b"}, {"name": "c"}],
  "licences": [
    {"name": "abaqus", "count": 10, "price": 0.001,
     "busy": [{"start": -50, "end": 100, "count": 4}, {"start": 50, "end": "1h", "count": 6}]},
    {"name": "token", "count": 16777216}
  ],
  "busy": [],
  "jobs": [
    {"name": "nodes", "nodes": 2, "work": 80, "licences": {"token": 3, "abaqus": 10}},
    {"name": "tasks", "tasks": 4, "cores": 2, "work": 80, "licences": {"token": 16777216}},
    {"name": "groups", "groups": [{"nodes": 1, "work": 9}, {"nodes": 1, "work": 5}],
     "licences": {"abaqus": 1}},
    {"name": "shapes", "shapes": [{"nodes": 1, "time": 60}, {"nodes": 2, "time": 40}], "licences": {"abaqus": 2}},
    {"name": "none", "nodes": 1, "work": 80, "licences": {}}
  ]
}"#;

fn scenario(text: &str) -> Scenario {
    let (scenario, warnings) = read(text).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    scenario
}

#[test]
fn licences_are_read_and_written_back() {
    let scenario = scenario(LICENCES);
    let snapshot = &scenario.snapshot;
    let all = snapshot.grid.licences();
    let numbers: Vec<_> = all.iter().map(|it| (it.name.as_str(), it.count, it.price.0)).collect();
    assert_eq!(numbers, [("abaqus", 10, Price(1_000).0), ("token", 1 << 24, 0)]);
    let levels = snapshot.slots.licences().unwrap().levels(LicenceId(0), Time(1_000_000));
    let levels: Vec<(i64, i64)> = levels.iter().map(|it| (it.at.0, it.free)).collect();
    assert_eq!(levels, [(0, 6), (50, 0), (100, 4), (600, 10)]);
    let shares = |job: usize| -> Vec<(u32, u32)> {
        let shares = snapshot.jobs[job].request.licences.iter().flat_map(|it| it.iter());
        shares.map(|LicenceShare { licence, count }| (licence.0, *count)).collect()
    };
    assert_eq!(shares(0), [(0, 10), (1, 3)]);
    assert_eq!(shares(1), [(1, 1 << 24)]);
    assert_eq!((shares(2), shares(3), shares(4)), (vec![(0, 1)], vec![(0, 2)], vec![]));
    assert_eq!(snapshot.jobs[4].request.licences, None);
    let text = scenario.to_json();
    let (again, _) = read(&text).unwrap();
    assert_eq!(again.snapshot, scenario.snapshot);
    assert_eq!(again.to_json(), text);
}

#[test]
fn mistakes_are_named_with_what_would_do() {
    let only = |from: &str, to: &str, place: &str, message: &str| {
        assert_eq!(LICENCES.matches(from).count(), 1, "{from}");
        let wrong = read(&LICENCES.replace(from, to)).unwrap_err().to_string();
        assert_eq!(wrong.matches("error:").count(), 1, "{wrong}");
        assert!(wrong.contains(place) && wrong.contains(message), "{wrong}");
    };
    let job = "jobs[0].licences";
    only(r#""token": 3, "a"#, r#""tokn": 3, "a"#, job, "did you mean `token`?");
    only(r#""abaqus": 10}"#, r#""abaqus": 11}"#, job, "11 of `abaqus` needed, there are 10");
    only(r#""abaqus": 10}"#, r#""abaqus": 0}"#, job, "`0` is out of range");
    only(r#""abaqus": 10}"#, r#""abaqus": true}"#, job, "expected a number");
    only(
        r#""count": 6}"#,
        r#""count": 7}"#,
        "licences[0].busy",
        "others have 11 at 50 s, and there are 10",
    );
    only(r#""start": -50"#, r#""start": 150"#, "licences[0].busy[0]", "is not before");
    only(r#""count": 16777216"#, r#""count": 16777217"#, "licences[1].count", "out of range");
    only(
        r#""price": 0.001"#,
        r#""price": 2305843009213"#,
        "licences",
        "the price of all licences over the whole horizon",
    );
}

#[test]
fn a_scenario_without_licences_says_where_they_belong() {
    let jobs = r#"{"horizon": {"start": 0, "end": 9}, "nodes": [{"name": "a"}], "busy": [],
      "jobs": [{"name": "j", "nodes": 1, "work": 1, "licences": {"abaqus": 1}}]}"#;
    let wrong = read(jobs).unwrap_err().to_string();
    assert!(
        wrong.contains("unknown licence `abaqus`") && wrong.contains("in `licences`"),
        "{wrong}"
    );
}
