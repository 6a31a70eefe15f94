//! Commands: tables, CSV and JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::stage::Stage;
use crate::{Status, micro};

type All = BTreeMap<u64, (Value, Status)>;

fn moment(text: &str) -> i64 {
    let at: jiff::Timestamp = format!("{text}Z").parse().unwrap();
    at.as_second()
}

/// Rows of a CSV, by the names of its columns.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let row = |row: csv::StringRecord| {
        heads.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect()
    };
    reader.records().map(|it| row(it.unwrap())).collect()
}

/// The columns of ranges.
fn ranges_of(row: &BTreeMap<String, String>) -> Option<[i64; 7]> {
    let name = |level: &str, end: &str| format!("start_{level}_{end}");
    let ends = ["50", "80", "95"].into_iter().flat_map(|it| [name(it, "from"), name(it, "to")]);
    let names = ["start_median".to_owned()].into_iter().chain(ends);
    let cells: Vec<i64> = names.filter_map(|name| row[&name].parse().ok()).collect();
    assert!([0, 7].contains(&cells.len()), "{row:?}");
    cells.try_into().ok()
}

/// A moment beside the expected start, as tables have it.
fn clock(at: i64, beside: i64) -> String {
    let show =
        |at: i64, form: &str| jiff::Timestamp::from_second(at).unwrap().strftime(form).to_string();
    match show(at, "%F") == show(beside, "%F") {
        true => show(at, "%H:%M"),
        false => show(at, "%FT%H:%M"),
    }
}

/// The line of `job` about ranges, without what they rest on.
fn ranges_line(status: &Status) -> Option<String> {
    let ([median, ends @ ..], at) = (status.ranges?, status.expected?);
    let one = |(percent, ends): (u32, &[i64])| {
        format!("{percent} %: {} to {}", clock(ends[0], at), clock(ends[1], at))
    };
    let all: Vec<String> = [50, 80, 95].into_iter().zip(ends.chunks(2)).map(one).collect();
    Some(format!("median {}; {}", clock(median, at), all.join("; ")))
}

fn of_row(row: &BTreeMap<String, String>) -> (u64, Status) {
    let cell = |name: &str| Some(row[name].as_str()).filter(|it| !it.is_empty());
    let status = Status {
        state: row["state"].clone(),
        so_far: micro(&row["cost_so_far"]),
        at_most: cell("cost_at_most").map(micro),
        expected: cell("expected_start").map(|at| at.parse().unwrap()),
        ranges: ranges_of(row),
    };
    (row["jobid"].parse().unwrap(), status)
}

pub(crate) fn compare(stage: &Stage, all: &All) {
    lists(stage, all);
    what_if(stage, all);
    // One of each kind: every command is a process.
    let mut kinds = BTreeSet::new();
    for (number, (job, status)) in all {
        let reason = job.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kinds.insert((
            status.state.clone(),
            reason,
            status.expected.is_some(),
            status.ranges.is_some(),
        )) {
            of_job(stage, *number, job, status);
        }
    }
}

/// `whatif`: starts as they are now have the ranges that they have everywhere.
fn what_if(stage: &Stage, all: &All) {
    let ask = |format: &str| stage.command(&["whatif", "--policy", "other", "--format", format]);
    let found: Value = serde_json::from_str(&ask("json")).unwrap();
    let csv = rows(&ask("csv"));
    let text = ask("table");
    for (it, row) in found["changes"].as_array().unwrap().iter().zip(csv) {
        let (_, status) = &all[&it["job"].as_u64().unwrap()];
        let ranges = crate::ranges(&it["before"]);
        if status.expected.is_some() && status.expected == it["before"]["start"].as_i64() {
            assert_eq!(ranges, status.ranges, "{it}");
        }
        // It would start at once.
        assert_eq!(crate::ranges(&it["after"]), None, "{it}");
        let early = ranges.map_or(String::new(), |it| it[3].to_string());
        assert_eq!((&row["before_early"], &*row["after_early"]), (&early, ""), "{row:?}");
        let at = it["before"]["start"].as_i64().unwrap();
        if let Some(ranges) = ranges {
            let said = format!("(80 %: {} to {})", clock(ranges[3], at), clock(ranges[4], at));
            assert!(text.contains(&said), "{said}: {text}");
        }
    }
}

/// `jobs --all`.
fn lists(stage: &Stage, all: &All) {
    let csv = rows(&stage.command(&["jobs", "--all", "--format", "csv"]));
    let found: BTreeMap<u64, Status> = csv.iter().map(of_row).collect();
    let wanted: BTreeMap<u64, Status> =
        all.iter().map(|(number, (_, status))| (*number, status.clone())).collect();
    assert_eq!(found, wanted, "CSV of the jobs");
    let json: Value =
        serde_json::from_str(&stage.command(&["jobs", "--all", "--format", "json"])).unwrap();
    let json = json.get("jobs").unwrap_or(&json).as_array().unwrap();
    assert!(json.iter().all(|job| wanted[&job["id"].as_u64().unwrap()] == Status::of(job)));
    assert_eq!(json.len(), wanted.len());
    let table = stage.command(&["jobs", "--all"]);
    let mut lines = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let Some(number) = cells.first().and_then(|it| it.parse::<u64>().ok()) else { continue };
        lines += 1;
        let (job, status) = &all[&number];
        let started = job.get("started").and_then(Value::as_i64);
        let heads: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        let column = |name: &str| heads.iter().position(|head| *head == name);
        let (start, cost) = (cells[6], cells[column("COST").unwrap()]);
        let range = column("80%").map(|place| cells[place].to_owned());
        let most = status.ranges.zip(status.expected);
        let most = most.map(|(it, at)| format!("{}..{}", clock(it[3], at), clock(it[4], at)));
        assert_eq!(range.filter(|it| it != "N/A"), most, "{line}");
        let start = Some(start).filter(|it| *it != "N/A").map(moment);
        assert_eq!(start, started.or(status.expected), "{line}");
        assert_eq!(Some(cost).filter(|it| *it != "N/A").map(micro), status.at_most, "{line}");
        let short = [
            ("PENDING", "PD"),
            ("CONFIGURING", "CF"),
            ("RUNNING", "R"),
            ("COMPLETING", "CG"),
            ("COMPLETED", "CD"),
            ("FAILED", "F"),
            ("TIMEOUT", "TO"),
            ("CANCELLED", "CA"),
            ("NODE_FAIL", "NF"),
        ];
        let short: BTreeMap<&str, &str> = short.into();
        assert_eq!(short.get(status.state.as_str()).unwrap_or(&cells[3]), &cells[3], "{line}");
    }
    assert_eq!(lines, all.len(), "{table}");
}

/// `job`, `explain` and `wait`.
fn of_job(stage: &Stage, number: u64, job: &Value, status: &Status) {
    let id = number.to_string();
    let page = stage.command(&["job", &id]);
    let fact = |name: &str| {
        let line = page.lines().find(|line| line.starts_with(&format!("{name:<15} ")))?;
        Some(line[16..].split(' ').next().unwrap().to_owned())
    };
    let found = Status {
        state: fact("state").unwrap(),
        so_far: micro(&fact("cost so far").unwrap()),
        at_most: fact("cost at most").map(|it| micro(&it)),
        expected: fact("expected start").map(|it| moment(&it)),
        ranges: status.ranges,
    };
    assert_eq!(found, *status, "{page}");
    let sentence = stage.get(&format!("/v1/jobs/{number}"))["sentence"].clone();
    assert_eq!(page.lines().nth(2), sentence.as_str(), "{page}");
    let line = page.lines().find_map(|line| line.strip_prefix("start ranges"));
    let said = line.map(|line| line.trim().split("; from ").next().unwrap().to_owned());
    assert_eq!(said, ranges_line(status), "{page}");
    let started = fact("started").map(|it| moment(&it));
    assert_eq!(started, job.get("started").and_then(Value::as_i64), "{page}");
    let csv = rows(&stage.command(&["job", &id, "--format", "csv"]));
    assert_eq!(of_row(&csv[0]), (number, status.clone()), "CSV of job {number}");
    explained(stage, &id, status);
    if job.get("ended").is_some() {
        let csv = rows(&stage.command(&["wait", &id, "--format", "csv"]));
        assert_eq!(of_row(&csv[0]), (number, status.clone()), "the end of job {number}");
    }
}

fn explained(stage: &Stage, id: &str, status: &Status) {
    let text = stage.command(&["explain", id]);
    let said = text.split_once("expected to start at ").map(|(_, rest)| moment(&rest[..19]));
    assert_eq!(said, status.expected, "{text}");
    let csv = rows(&stage.command(&["explain", id, "--format", "csv"]));
    assert_eq!(ranges_of(&csv[0]), status.ranges, "explanation of {id}");
    let told = Some(csv[0]["expected_start"].as_str()).filter(|it| !it.is_empty());
    assert_eq!(told.map(|at| at.parse::<i64>().unwrap()), status.expected, "explanation of {id}");
}
