//! Recorded files of three versions of Slurm (`scripts/record-sacct.sh` made them), and rows written
//! by hand for what no small cluster does in a minute.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use jiff::tz::TimeZone;
use tradewind_io::diagnostics::Diagnostics;
use tradewind_io::input::Input;
use tradewind_io::sacct::{Arrival, History, KeepNames, ProcessorUnit, SacctOptions, SacctReader};
use tradewind_io::{grid, swf};

const RECORDED: [(&str, &str); 3] = [
    ("22.05", include_str!("samples/recorded-22.05.txt")),
    ("24.11", include_str!("samples/recorded-24.11.txt")),
    ("26.05", include_str!("samples/recorded-26.05.txt")),
];
const EPOCH: &str = include_str!("samples/recorded-24.11-epoch.txt");
const STEPS: &str = include_str!("samples/recorded-26.05-steps.txt");

const HEADER: &str = "JobID|Submit|Eligible|Start|End|NNodes|NCPUS|Timelimit|State|User|Account|\
                      Partition|QOS|ReqMem|NodeList|JobName";

fn utc() -> SacctOptions {
    SacctOptions::new(TimeZone::UTC)
}

fn read_with(text: &str, options: SacctOptions) -> Result<History, Diagnostics> {
    let mut reader = SacctReader::new("x.txt", options);
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish()
}

fn read(text: &str) -> History {
    read_with(text, utc()).unwrap()
}

/// Rows below the header.
fn rows(lines: &[&str]) -> String {
    format!("{HEADER}\n{}\n", lines.join("\n"))
}

fn log(history: &History) -> swf::Log {
    let mut bytes = Vec::new();
    history.write_log(&mut bytes).unwrap();
    swf::parse(&Input::new("x.swf", bytes)).unwrap()
}

fn names(history: &History) -> String {
    let mut bytes = Vec::new();
    history.write_names(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Submit, wait, run, processors, limit of each job.
fn lives(log: &swf::Log) -> Vec<(i64, i64, i64, u32, i64)> {
    let seconds = |span: Option<tradewind_model::Span>| span.map_or(-1, |span| span.0);
    let one = |job: &swf::Record| {
        let (wait, run) = (seconds(job.wait), seconds(job.run));
        (job.submit.0, wait, run, job.held().unwrap_or(0), seconds(job.requested_time))
    };
    log.jobs.iter().map(one).collect()
}

#[test]
fn recorded_files_of_each_version_are_read() {
    for (version, text) in RECORDED {
        let history = read(text);
        let counts = history.counts();
        assert_eq!((counts.rows, counts.jobs, counts.repeated), (16, 16, 0), "{version}");
        assert_eq!((counts.running, counts.components), (1, 2), "{version}");
        assert_eq!((counts.unlimited, counts.never_started), (1, 0), "{version}");
        let log = log(&history);
        assert_eq!(log.header.max_procs(), Some(16 + 8), "{version}");
        assert_eq!(log.header.time_zone(), Some("UTC"));
        // `--exclusive` on two nodes of four: what it held, not the two that it requested.
        assert!(log.jobs.iter().any(|job| job.held() == Some(8) && job.run.unwrap().0 == 6));
        // Eight processors without a limit, with a delimiter in its name.
        let big = log.jobs.iter().find(|job| job.requested_time.unwrap().0 == 31_536_000).unwrap();
        assert_eq!((big.held(), big.status, big.requested_memory), (Some(8), 1, Some(512_000_000)));
        let status = |number: i64| log.jobs.iter().filter(|job| job.status == number).count();
        assert_eq!(status(5), 1, "{version}: cancelled while it ran");
        assert_eq!(status(-1), 1, "{version}: still running");
        assert!(status(0) >= 2, "{version}: failed and out of time");
        // Both runs of the requeued job, each with its own submission.
        let name = |job: &&swf::Record| job.requested_time.unwrap().0 == 1_200;
        assert_eq!(log.jobs.iter().filter(name).count(), 3, "{version}: requeued and cancelled");
    }
}

#[test]
fn seconds_since_1970_and_local_time_are_the_same_moments() {
    let (local, epoch) = (read(RECORDED[1].1), read(EPOCH));
    let (local, epoch) = (log(&local), log(&epoch));
    let start = local.header.unix_start();
    assert!(start.is_some() && start == epoch.header.unix_start());
    // Without `-D` the first run of the requeued job is not there.
    assert!(epoch.jobs.len() < local.jobs.len());
    let lives = lives(&local);
    assert!(self::lives(&epoch).iter().all(|life| lives.contains(life)));
}

#[test]
fn steps_are_left_out() {
    let history = read(STEPS);
    assert!(history.counts().steps >= 15, "{:?}", history.counts());
    assert_eq!(history.counts().rows, history.counts().steps + history.counts().jobs);
    assert!(history.grid().contains("rows have no lists of nodes"), "{}", history.grid());
}

#[test]
fn partitions_that_share_nodes_are_one_pool() {
    let text = read(RECORDED[0].1).grid();
    let (grid, warnings) = grid::parse(&Input::new("x.toml", text.as_str())).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    let pools = grid.pools(1);
    let sizes: Vec<u32> = pools.as_slice().iter().map(|pool| pool.nodes).collect();
    assert_eq!(sizes, [16, 8], "{text}");
    assert!(text.contains("# partitions 1, 3, which share nodes"), "{text}");
    assert!(
        text.contains("different nodes: 4; most CPUs of a job on one: 4; most CPUs in use: 1"),
        "{text}"
    );
    for name in ["main", "big", "alpha", "root"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}

#[test]
fn names_are_numbers_in_the_log_and_in_a_list_only_on_request() {
    for keep in [KeepNames::No, KeepNames::Yes] {
        let options = SacctOptions { names: keep, ..utc() };
        let history = read_with(RECORDED[2].1, options).unwrap();
        let mut text = Vec::new();
        history.write_log(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for name in ["root", "climate", "physics", "urgent", "mesh", "pipe", "alpha"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        let names = names(&history);
        assert!(names.starts_with("kind,number,name\nuser,1,root\naccount,1,climate\n"), "{names}");
        assert!(names.contains("partition,2,big") && names.contains("qos,1,normal"), "{names}");
        assert_eq!(names.contains("job-name,2,with|pipe"), keep == KeepNames::Yes, "{names}");
    }
}

/// One row: number, times, limit, state.
fn row(id: &str, submit: &str, start: &str, end: &str, limit: &str, state: &str) -> String {
    format!("{id}|{submit}|{submit}|{start}|{end}|1|4|{limit}|{state}|u|a|p|q|4Gn|n1|job")
}

const T: &str = "2026-03-05T10:00:00";
const T1: &str = "2026-03-05T10:01:00";
const T2: &str = "2026-03-05T10:02:00";
const T3: &str = "2026-03-05T10:03:00";

/// Written by hand: what a small cluster does not do within a minute.
#[test]
fn every_state_has_a_status() {
    let states = [
        ("COMPLETED", 1),
        ("FAILED", 0),
        ("TIMEOUT", 0),
        ("CANCELLED by 1000", 5),
        ("CANCELLED+", 5),
        ("NODE_FAIL", 0),
        ("OUT_OF_MEMORY", 0),
        ("PREEMPTED", 0),
        ("REQUEUED", 0),
        ("BOOT_FAIL", 0),
        ("DEADLINE", 0),
        ("RUNNING", -1),
        ("RESIZING", -1),
        ("SUSPENDED", -1),
        ("completing", -1),
    ];
    for (state, status) in states {
        let history = read(&rows(&[&row("7", T, T1, T2, "10:00", state)]));
        let log = log(&history);
        assert_eq!(log.jobs[0].status, status, "{state}");
        assert_eq!(lives(&log), [(0, 60, 60, 4, 600)], "{state}");
    }
}

/// Written by hand.
#[test]
fn jobs_that_did_not_start_have_no_run_time_and_running_ones_the_time_so_far() {
    let lines = [
        row("1", T, "Unknown", "Unknown", "1-00:00:00", "PENDING"),
        row("2", T, "None", T2, "1:00:00", "CANCELLED by 5"),
        row("3_[5-9%2]", T, "Unknown", "Unknown", "1:00:00", "PENDING"),
        row("4", T, T1, "Unknown", "Partition_Limit", "RUNNING"),
        row("5", T, T1, "2026-03-05T12:01:00", "2-03:04:05", "COMPLETED"),
        row("6", T, T, T, "1:00:00", "CANCELLED").replace("|n1|", "|None assigned|"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let history = read(&rows(&lines));
    assert_eq!((history.counts().never_started, history.counts().running), (4, 1));
    let seen = lives(&log(&history));
    assert_eq!(seen[0], (0, -1, -1, 4, 86_400));
    assert_eq!(seen[1], (0, -1, -1, 4, 3_600));
    // Until the last moment of the history; the limit of the partition is the longest one there.
    assert_eq!(seen[3], (0, 60, 7_200, 4, 183_845));
    assert_eq!(seen[5], (0, -1, -1, 4, 3_600));
}

/// Written by hand: two periods one after the other, in any order.
#[test]
fn repeated_and_unsorted_rows_give_the_same_log() {
    let first = [
        row("9", T1, T2, "Unknown", "1:00:00", "RUNNING"),
        row("3_[1-2]", T, "Unknown", "Unknown", "1:00:00", "PENDING"),
    ];
    let second = [
        row("3_2", T, T2, T2, "1:00:00", "COMPLETED"),
        row("3_1", T, T1, T2, "1:00:00", "COMPLETED"),
        row("9", T1, T2, "2026-03-05T10:05:00", "1:00:00", "FAILED"),
        row("9", T1, T2, "2026-03-05T10:05:00", "1:00:00", "FAILED"),
    ];
    let mut lines: Vec<&str> = first.iter().chain(&second).map(String::as_str).collect();
    let history = read(&rows(&lines));
    assert_eq!((history.counts().jobs, history.counts().repeated), (3, 3));
    assert_eq!(history.counts().running, 0);
    let all = lives(&log(&history));
    assert_eq!(all, [(0, 60, 60, 4, 3_600), (0, 120, 0, 4, 3_600), (60, 60, 180, 4, 3_600)]);
    lines.reverse();
    assert_eq!(lives(&log(&read(&rows(&lines)))), all);
}

/// Written by hand.
#[test]
fn clocks_that_change_are_read_in_their_zone() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let options = || SacctOptions::new(zone.clone());
    // 02:30 does not exist on this day; it is read as 03:30.
    let (submit, end) = ("2026-03-29T01:30:00", "2026-03-29T04:00:00");
    let line = row("1", submit, "2026-03-29T02:30:00", end, "3:00:00", "COMPLETED");
    let spring = log(&read_with(&rows(&[&line]), options()).unwrap());
    assert_eq!(lives(&spring), [(0, 3_600, 1_800, 4, 10_800)]);
    assert_eq!(spring.header.time_zone(), Some("Europe/Berlin"));
    // 02:10 occurs twice: it is the second one if it is after 02:50.
    let (submit, end) = ("2026-10-25T02:50:00", "2026-10-25T02:40:00");
    let line = row("1", submit, "2026-10-25T02:10:00", end, "3:00:00", "COMPLETED");
    let autumn = log(&read_with(&rows(&[&line]), options()).unwrap());
    assert_eq!(lives(&autumn), [(0, 1_200, 1_800, 4, 10_800)]);
}

/// Written by hand, as `SLURM_TIME_FORMAT=%FT%T%z` prints them.
#[test]
fn times_with_an_offset_need_no_zone() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let read = |submit: &str| {
        let end = "2026-03-05T14:00:00Z";
        let line = row("1", submit, "2026-03-05T10:00:00-03:30", end, "3:00:00", "COMPLETED");
        read_with(&rows(&[&line]), SacctOptions::new(zone.clone()))
    };
    for submit in ["2026-03-05T14:20:00+0100", "2026-03-05T13:20:00+0000", "2026-03-05T14:20:00"] {
        assert_eq!(lives(&log(&read(submit).unwrap())), [(0, 600, 1_800, 4, 10_800)], "{submit}");
    }
    for wrong in
        ["+1", "+01:0", "+01:60", "+99", "+010", "01:00", "Z1", "+-1:00", "+01:00:00", "+é1"]
    {
        assert!(read(&format!("2026-03-05T14:20:00{wrong}")).is_err(), "{wrong}");
    }
}

/// Written by hand.
#[test]
fn a_job_arrives_when_it_is_eligible_unless_told_otherwise() {
    let line = format!("1|{T}|{T1}|{T2}|{T3}|1|4|5:00|COMPLETED|u|a|p|q|1K|n1|job");
    assert_eq!(lives(&log(&read(&rows(&[&line]))))[0].1, 60);
    let options = SacctOptions { arrival: Arrival::Submit, ..utc() };
    assert_eq!(lives(&log(&read_with(&rows(&[&line]), options).unwrap()))[0].1, 120);
}

/// Written by hand: what 22.05 and earlier print of memory, and counts with units.
#[test]
fn amounts_have_the_units_of_all_versions() {
    let memory = |text: &str| {
        let line = format!("1|{T}|{T}|{T1}|{T2}|2|1K|5:00|COMPLETED|u|a|p|q|{text}|n[1-2]|job");
        let log = log(&read(&rows(&[&line])));
        assert_eq!(log.jobs[0].held(), Some(1_024));
        log.jobs[0].requested_memory.unwrap_or(-1)
    };
    assert_eq!(memory("4Gn"), 8_192_000);
    assert_eq!(memory("4Gc"), 4_194_304_000);
    assert_eq!(memory("4096M"), 4_096_000);
    assert_eq!(memory("4096"), 4_096_000);
    assert_eq!(memory("1.50G"), 1_536_000);
    assert_eq!(memory("0"), -1);
    let nodes = SacctOptions { unit: Some(ProcessorUnit::Nodes), ..utc() };
    let line = format!("1|{T}|{T}|{T1}|{T2}|2|64|5:00|COMPLETED|u|a|p|q||n[1-2]|job");
    let history = read_with(&rows(&[&line]), nodes).unwrap();
    assert_eq!((log(&history).jobs[0].held(), history.processors()), (Some(2), 2));
}

/// Written by hand: only required columns, in another order and case, with a delimiter at the ends.
#[test]
fn columns_may_be_in_any_order() {
    let text = format!(
        "state|user|account|PARTITION|timelimitraw|reqtres|start|submit|elapsed|jobid|jobname|\n\
         COMPLETED|u|a|p|10|cpu=8,mem=4G,node=2|{T1}|{T}|00:01:30.500|7|a|b|\n"
    );
    assert_eq!(lives(&log(&read(&text))), [(0, 60, 90, 8, 600)]);
}

#[test]
fn only_the_partitions_that_were_asked_for() {
    let options = SacctOptions { partitions: ["big".to_owned()].into(), ..utc() };
    let history = read_with(RECORDED[1].1, options).unwrap();
    assert_eq!((history.counts().jobs, history.counts().elsewhere), (2, 14));
    assert_eq!(history.processors(), 8);
}

#[test]
fn all_mistakes_are_named_with_line_column_and_remedy() {
    let good = row("1", T, T1, T2, "5:00", "COMPLETED");
    let lines = [
        good.as_str(),
        &row("x", T, T1, T2, "5:00", "COMPLETED"),
        &row("2", "yesterday", T1, T2, "5:00", "COMPLETED"),
        &row("3", T, T1, T2, "five", "COMPLETED"),
        &row("4", T, T1, T2, "5:00", "COMPLETE"),
        &row("5", T, T2, T1, "5:00", "COMPLETED"),
        &row("6", T, T1, "Unknown", "5:00", "COMPLETED"),
        "7|too|short",
        &good.replace("|4|", "|four|"),
    ];
    let wrong = read_with(&rows(&lines), utc()).unwrap_err();
    assert_eq!(wrong.errors(), 8, "{wrong}");
    let wrong = wrong.to_string();
    for expected in [
        "x.txt:3:1: JobID: `x` cannot be read\n  hint: write a job's number",
        "x.txt:4:3: Submit: `yesterday` cannot be read\n  hint: times are",
        "x.txt:5:87: Timelimit: `five` cannot be read\n  hint: write `2-03:04:05`",
        "State: `COMPLETE` cannot be read\n  hint: did you mean `COMPLETED`?",
        "End: `2026-03-05T10:01:00` cannot be read\n  hint: it ends before it starts",
        "x.txt:8:63: End: `Unknown` cannot be read\n  hint: a job that ended has an end",
        "x.txt:9: 3 values instead of 16",
        "x.txt:10:85: NCPUS: `four` cannot be read",
    ] {
        assert!(wrong.contains(expected), "{expected}\n{wrong}");
    }
}

#[test]
fn files_that_are_no_rows_are_refused() {
    let refused = |text: &str| read_with(text, utc()).unwrap_err().to_string();
    assert!(refused("").contains("the file is empty"));
    assert!(refused("1|2|3\n").contains("no header line"));
    assert!(refused(HEADER).contains("no job in the file"));
    assert!(refused("a\0b").contains("a binary file"));
    let missing = refused("JobID|Submit|Start|User\n");
    for name in
        ["`End`", "`NCPUS` or `NNodes`", "`Timelimit`", "`State`", "`Account`", "`Partition`"]
    {
        assert!(missing.contains(name), "{name}: {missing}");
    }
}
