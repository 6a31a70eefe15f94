//! Links, and jobs with data.

use tradewind_model::{SiteId, Span, StageTimes};

use super::read;

const DATA: &str = r#"{
  "horizon": {"start": 0, "end": 600},
  "nodes": [{"name": "a", "site": "x"}, {"name": "b", "site": "y"}],
  "links": [
    {"between": ["y", "x"], "bandwidth": "8 Mbit/s"},
    {"between": ["store", "x"], "bandwidth": "1.5 Gbit/s"}
  ],
  "busy": [],
  "jobs": [
    {"name": "both", "nodes": 1, "work": 80,
     "data": {"input": "10 MB", "from": "x", "output": "1024K", "to": "store"}},
    {"name": "back", "nodes": 1, "work": 80, "data": {"input": "1 MB", "from": "y", "output": "3M"}},
    {"name": "none", "nodes": 1, "work": 80, "data": {}}
  ]
}"#;

#[test]
fn data_is_read_and_written_back() {
    let (scenario, warnings) = read(DATA).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    let times = |job: usize, site: u32| {
        let request = &scenario.snapshot.jobs[job].request;
        request.data.as_ref().and_then(|staging| staging.at(SiteId(site)))
    };
    let both = |stage_in, stage_out| {
        Some(StageTimes { stage_in: Span(stage_in), stage_out: Span(stage_out) })
    };
    assert_eq!((times(0, 0), times(0, 1)), (both(0, 1), None), "no link from y to the store");
    assert_eq!((times(1, 0), times(1, 1)), (both(2, 4), both(0, 0)), "to where the input is");
    assert_eq!(scenario.snapshot.jobs[2].request.data, None);
    let text = scenario.to_json();
    let (again, _) = read(&text).unwrap();
    assert_eq!(again.snapshot, scenario.snapshot);
    assert_eq!(again.to_json(), text);
}

#[test]
fn mistakes_are_named_with_what_would_do() {
    for (from, to, expected) in [
        (
            "\"from\": \"y\"",
            "\"from\": \"stor\"",
            "jobs[1].data: there is no site `stor`, and no link to it",
        ),
        ("\"from\": \"y\"", "\"from\": \"stor\"", "did you mean `store`?"),
        ("\"from\": \"y\", ", "", "jobs[1].data: `input`, and no `from`"),
        ("\"1 MB\"", "\"1 MiBB\"", "jobs[1].data.input: `1 MiBB` is no amount of data"),
        ("\"input\": \"1 MB\", \"from\": \"y\", ", "", "jobs[1].data: `output`, and no `to`"),
        ("[\"y\", \"x\"]", "[\"z\", \"w\"]", "links[0].between: neither `z` nor `w` is a site"),
        ("8 Mbit/s", "8 MB/s", "links[0].bandwidth: `8 MB/s` is no bandwidth"),
    ] {
        assert_eq!(DATA.matches(from).count(), 1, "{from}");
        let wrong = read(&DATA.replace(from, to)).unwrap_err().to_string();
        assert!(wrong.contains(expected), "{expected}: {wrong}");
    }
}
