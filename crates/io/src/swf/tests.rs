use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Log, String> {
    parse(&Input::new("log.swf", text)).map_err(|err| err.to_string())
}

const HEADER: &str = "; Version: 2.2\n; MaxProcs: 1664 (72, 1368, 224)\n;MaxNodes:  70  (dual)\n\
    ; UnixStartTime: 835823160\n; Note: first\n;   and more\n; Note: second\n";

#[test]
fn header_values_begin_with_their_number() {
    let log = read(&format!("{HEADER}1 0 -1 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")).unwrap();
    assert_eq!(log.header.max_procs(), Some(1_664));
    assert_eq!(log.header.max_nodes(), Some(70));
    assert_eq!(log.header.unix_start(), Some(835_823_160));
    assert_eq!(log.header.get("note"), Some("first and more"));
    assert_eq!(log.header.get("TimeZone"), None);
}

#[test]
fn fields_are_read_and_missing_ones_known() {
    let log = read("7 100 30 60 4 142.25 -1 8 900 12 1 2 3 4 5 6 7 8\r\n\n").unwrap();
    let job = log.jobs[0];
    assert_eq!((job.number, job.submit, job.start()), (7, Time(100), Some(Time(130))));
    assert_eq!((job.run, job.requested_time), (Some(Span(60)), Some(Span(900))));
    assert_eq!((job.held(), job.wanted()), (Some(4), Some(8)));
    assert_eq!(
        (job.cpu_time, job.memory, job.requested_memory),
        (Some(142_250), None, Some(12_000))
    );
    assert_eq!((job.status, job.preceding, job.think_time), (1, 7, 8));
    assert_eq!(log.span(), (Time(100), Time(190)));
}

#[test]
fn jobs_are_sorted_by_submission_and_counted() {
    let text = "3 50 -1 10 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n\
        2 20 -1 0 1 -1 -1 -1 9 -1 1 1 1 1 1 1 -1 -1\n\
        1 20 -1 10.2 -1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    let log = read(text).unwrap();
    let numbers: Vec<i64> = log.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [2, 1, 3]);
    assert!(!log.has_waits());
    let expected = Summary {
        jobs: 3,
        usable: 1,
        without_run: 1,
        without_processors: 1,
        without_wait: 3,
        without_request: 2,
        out_of_order: 1,
        rounded: 1,
    };
    assert_eq!(log.summary, expected);
    assert_eq!(log.jobs[1].run, Some(Span(11)), "a fraction of a second is rounded up");
}

#[test]
fn all_broken_lines_are_reported_with_their_fields() {
    let text = "; MaxProcs: 4\n\
        1 0 0 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1\n\
        2 0 0 5 two -1 -1 4 1e99 -1 1 1 1 1 1 1 -1 -1\n\
        3 -1 0 -5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n\
        4 0 0 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1 9\n";
    let err = read(text).unwrap_err();
    for expected in [
        "error: log.swf:2: 17 fields instead of 18\n  hint: a line of SWF has 18 fields",
        "error: log.swf:3: field 5 (allocated processors): `two` is not a number",
        "error: log.swf:3: field 9 (requested time): `1e99` is out of range",
        "error: log.swf:4: field 2 (submit time): missing",
        "error: log.swf:4: field 4 (run time): `-5` is out of range",
        "error: log.swf:5: 19 fields instead of 18",
    ] {
        assert!(err.contains(expected), "{expected}\n---\n{err}");
    }
}

#[test]
fn files_that_are_no_log_are_refused() {
    assert!(read("").unwrap_err().contains("no job in the log"));
    assert!(read("; MaxProcs: 4\n").unwrap_err().contains("no job in the log"));
    assert!(read("1 2\0").unwrap_err().contains("log.swf:1: a binary file"));
    assert!(read("{\"horizon\": 1}").unwrap_err().contains("2 fields instead of 18"));
    let idle = "1 0 -1 -1 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    assert!(read(idle).unwrap_err().contains("none of the 1 jobs"));
}

#[test]
fn headers_need_not_be_utf8() {
    let mut text = b"; Acknowledge: J\xf6rg\n".to_vec();
    text.extend_from_slice(b"1 0 0 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n");
    assert!(parse(&Input::new("x", text)).is_ok());
}

#[test]
fn the_sample_is_sound_and_never_overcommits() {
    let log = sample(7, 300, 64);
    assert_eq!(log, sample(7, 300, 64));
    assert_ne!(log.jobs, sample(8, 300, 64).jobs);
    let mut events: Vec<(Time, i64)> = Vec::new();
    for job in &log.jobs {
        let (start, width) = (job.start().unwrap(), i64::from(job.held().unwrap()));
        events.push((start, width));
        events.push((start + job.run.unwrap(), -width));
    }
    events.sort_unstable();
    let mut used = 0;
    for (_, change) in events {
        used += change;
        assert!((0..=64).contains(&used));
    }
    assert!(log.jobs.iter().any(|job| job.wait.unwrap().0 > 600), "some jobs wait");
    assert_eq!(sample(1, 0, 0).jobs.len(), 0);
}

fn optional_seconds() -> impl Strategy<Value = Option<Span>> {
    proptest::option::of((0..=Span::MAX.0).prop_map(Span))
}

fn thousandths() -> impl Strategy<Value = Option<i64>> {
    proptest::option::of(0i64..1_000_000_000)
}

prop_compose! {
    fn record()(
        (number, submit) in (0i64..1_000_000, 0i64..1_000_000),
        (wait, run, requested_time) in (optional_seconds(), optional_seconds(), optional_seconds()),
        processors in proptest::option::of(0u32..1 << 24),
        requested_processors in proptest::option::of(0u32..1 << 24),
        (cpu_time, memory, requested_memory) in (thousandths(), thousandths(), thousandths()),
        rest in proptest::array::uniform8(-1i64..100_000),
    ) -> Record {
        let [status, user, group, application, queue, partition, preceding, think_time] = rest;
        Record {
            number, submit: Time(submit), wait, run, processors, cpu_time, memory,
            requested_processors, requested_time, requested_memory, status, user, group,
            application, queue, partition, preceding, think_time,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(mut jobs in proptest::collection::vec(record(), 1..20)) {
        jobs.sort_by_key(|job| job.submit);
        let header = Header { entries: vec![("MaxProcs".into(), "64".into())] };
        let log = Log { name: "x".into(), header, jobs, summary: Summary::default() };
        match parse(&Input::new("x", write(&log))) {
            Ok(back) => prop_assert_eq!((back.header, back.jobs), (log.header, log.jobs)),
            Err(err) => prop_assert!(log.jobs.iter().all(|job| !job.ran()), "{}", err),
        }
    }

    #[test]
    fn any_number_text_is_read_or_refused(word in "[-+0-9.eE]{1,25}") {
        let _ = read(&format!("1 0 0 {word} 2 {word} -1 4 -1 -1 1 1 1 1 1 1 -1 -1"));
    }
}
