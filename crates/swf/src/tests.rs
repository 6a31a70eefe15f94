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
fn what_is_no_key_is_text() {
    let log = read(
        "; --- converted ---\n;\n; by hand\n;     Version: 2.2\n; Information: http://a.b/c\n\
        ;   http://a.b/d\n;\tsee: there\n; Preemption:\n; Queue:  1  express \n; Queue: 2\n\
        ; maxprocs: 8\n; Site: x\n1 0 -1 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n",
    );
    let header = log.unwrap().header;
    assert_eq!(header.get(""), Some("--- converted --- by hand"));
    assert_eq!(header.get("Information"), Some("http://a.b/c http://a.b/d see: there"));
    assert_eq!(header.get("Preemption"), Some(""));
    assert_eq!(header.queues(), [(1, "express"), (2, "")]);
    assert_eq!((header.max_procs(), header.get("Site")), (Some(8), Some("x")));
}

#[test]
fn entries_are_set_where_the_format_has_them() {
    let text = "; hello\n; Version: 2.2\n; Site: x\n; MaxProcs: 4\n; Note: a\n; Note: b\n";
    let mut header =
        read(&format!("{text}1 0 -1 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")).unwrap().header;
    header.set("MaxNodes", "2");
    header.set("maxprocs", "8\n");
    header.set("Note", "only");
    header.note("last");
    let entries: Vec<_> =
        header.entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected = [
        ("", "hello"),
        ("Version", "2.2"),
        ("MaxNodes", "2"),
        ("Site", "x"),
        ("MaxProcs", "8"),
        ("Note", "only"),
        ("Note", "last"),
    ];
    assert_eq!(entries, expected);
    let mut empty = Header::default();
    STANDARD_KEYS.iter().rev().for_each(|key| empty.set(key, "1"));
    let keys: Vec<_> = empty.entries.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, STANDARD_KEYS);
}

#[test]
fn a_result_says_what_the_replay_made_of_each_job() {
    let log = read(
        "; MaxProcs: 8\n5 10 3 60 4 1.5 2 -1 60 -1 1 7 8 9 1 1 -1 -1\n\
        6 20 0 90 2 -1 -1 -1 60 -1 1 7 8 9 1 1 5 2\n7 -1 -1 -1 2 -1 -1 -1 60 -1 5 1 1 1 1 1 -1 -1\n",
    );
    let replayed = |wait, run, fate| ReplayedJob {
        wait: Some(Span(wait)),
        run: Some(Span(run)),
        processors: Some(4),
        fate,
    };
    let all = [replayed(0, 60, SwfOutcome::Completed), replayed(9, 60, SwfOutcome::Failed)];
    let rules = Rules { policy: "easy[depth=4]", semantics: "textbook", processors: 16 };
    let text = result(&log.unwrap(), &all, &rules);
    let words: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "5 10 0 60 4 -1 -1 -1 60 -1 1 7 8 9 1 1 -1 -1",
        "6 20 9 60 4 -1 -1 -1 60 -1 0 7 8 9 1 1 5 2",
        "7 -1 -1 -1 -1 -1 -1 -1 60 -1 5 1 1 1 1 1 -1 -1",
    ];
    assert_eq!(words, expected);
    let header = read(&text).unwrap().header;
    assert_eq!(header.max_procs(), Some(16));
    let note = header.get("Note").unwrap();
    assert!(note.contains("policy easy[depth=4], semantics textbook"), "{note}");
}

#[test]
fn remarks_say_what_is_missing_and_what_was_done() {
    let log = read(
        "; MaxProcs: 4\n1 50 -1 10 1 -1 -1 -1 9 -1 1 1 1 1 1 1 -1 -1\n\
        2 20 -1 0 -1 -1 -1 -1 9.5 -1 1 1 1 1 1 1 -1 -1\n\
        3 60 -1 -1 5 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n\
        4 -1 -1 -1 8 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n",
    );
    let log = log.unwrap();
    let expected = [
        "1 of 4 jobs have no submit time, and so no place in time",
        "1 of 4 jobs have no run time",
        "1 of 4 jobs ran for 0 s",
        "1 of 4 jobs have no number of processors, held or requested",
        "1 of 4 jobs are wider than the 4 processors of the header",
        "1 of 4 jobs have no requested time",
        "1 of 4 jobs ran longer than they requested",
        "the log has no wait times",
        "jobs that stand after a later one, sorted by submit time: 1",
        "times with a fraction of a second, rounded up: 1",
    ];
    assert_eq!(log.remarks(), expected);
    let counted = Summary { out_of_order: 1, rounded: 1, ..Summary::of(&log.jobs, &log.undated) };
    assert_eq!(counted, log.summary);
    assert_eq!(sample(1, 5, 4).remarks(), [""; 0]);
    let absurd =
        read("; MaxProcs: 99999999999\n1 0 0 5 2 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n").unwrap();
    assert!(absurd.header.no_max_procs().contains("`99999999999`"));
    let bare = read("1 0 0 5 2 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n").unwrap();
    assert_eq!(bare.remarks(), ["the header does not say how many processors there are"]);
}

#[test]
fn clock_size_numbers_are_refused_with_their_field() {
    for (word, message) in [
        ("1000000000000000000", "out of range"),
        ("1e18", "out of range"),
        ("9223372036854775808", "out of range"),
        ("99999999999999999999999999", "out of range"),
        ("-9223372036854775809", "out of range"),
        ("0x10", "not a number"),
        ("nan", "not a number"),
    ] {
        for field in [2, 3, 4, 5, 9] {
            let mut words = vec!["1"; 18];
            words[field - 1] = word;
            let err = read(&words.join(" ")).unwrap_err();
            assert!(err.contains(&format!("log.swf:1: field {field} (")), "{err}");
            assert!(err.contains(message), "{err}");
        }
    }
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
        4 -1 -1 -1 8 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n\
        1 20 -1 10.2 -1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    let log = read(text).unwrap();
    let numbers: Vec<i64> = log.jobs.iter().map(|job| job.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(log.undated.iter().map(|job| job.number).collect::<Vec<_>>(), [4]);
    assert!(!log.has_waits());
    let expected = Summary {
        jobs: 4,
        without_submit: 1,
        usable: 1,
        without_run: 1,
        without_processors: 1,
        without_wait: 3,
        without_request: 2,
        out_of_order: 1,
        rounded: 1,
    };
    assert_eq!(log.summary, expected);
    assert_eq!(log.jobs[0].run, Some(Span(11)), "a fraction of a second is rounded up");
}

#[test]
fn all_broken_lines_are_reported_with_their_fields() {
    let text = "; MaxProcs: 4\n\
        1 0 0 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1\n\
        2 0 0 5 two -1 -1 4 1e99 -1 1 1 1 1 1 1 -1 -1\n\
        -1 1 0 -5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n\
        4 0 0 5 2 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1 9\n";
    let err = read(text).unwrap_err();
    for expected in [
        "error: log.swf:2: 17 fields instead of 18\n  hint: a line of SWF has 18 fields",
        "error: log.swf:3: field 5 (allocated processors): `two` is not a number",
        "error: log.swf:3: field 9 (requested time): `1e99` is out of range",
        "error: log.swf:4: field 1 (job number): missing",
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
    assert!(read("{\"what\": 1}").unwrap_err().contains("2 fields instead of 18"));
    assert!(read("{\"horizon\": 1}").unwrap_err().contains("this is a scenario"));
    let idle = "1 0 -1 -1 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n";
    assert!(read(idle).unwrap_err().contains("no job of 1 has a submit time"));
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

fn entry() -> impl Strategy<Value = (String, String)> {
    let key = prop_oneof![
        proptest::sample::select(&STANDARD_KEYS[..]).prop_map(str::to_owned),
        "[A-Z][A-Za-z0-9]{0,8}",
    ];
    (key, "([0-9a-z;:()./]{0,8} ){0,3}").prop_map(|(key, value)| (key, value.trim().to_owned()))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        jobs in proptest::collection::vec(record(), 1..20),
        undated in proptest::collection::vec(record(), 0..3),
        entries in proptest::collection::vec(entry(), 0..8),
        text in "([a-z]{1,9} ){0,3}",
    ) {
        let mut entries = entries;
        if !text.is_empty() {
            entries.insert(0, (String::new(), text.trim().to_owned()));
        }
        let mut log = Log::new("x", Header { entries }, jobs);
        log.undated = undated;
        log.undated.iter_mut().for_each(|job| job.submit = Time(-1));
        log.summary = Summary::of(&log.jobs, &log.undated);
        match parse(&Input::new("x", write(&log))) {
            Ok(back) => prop_assert_eq!(back, log),
            Err(err) => prop_assert!(log.jobs.iter().all(|job| !job.ran()), "{}", err),
        }
    }

    #[test]
    fn halves_are_read_as_the_whole_is(
        lines in proptest::collection::vec(0..8usize, 0..5),
        sound in proptest::collection::vec((-1i64..30, -1i64..3), 12..40),
    ) {
        let odd = ["", "; Note: a", ";", "; b", "1 2", "1 x", "\r", " "];
        let mut text: Vec<String> = sound
            .iter()
            .map(|(submit, run)| format!("1 {submit} {run} {run} {run}.5 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1"))
            .collect();
        for (at, line) in lines.iter().enumerate().filter(|(at, line)| (at + **line) % 3 == 0) {
            text.insert(at * 7 % text.len(), odd[*line].to_owned());
        }
        let input = Input::new("x", text.join("\n"));
        prop_assert_eq!(read::parse_halves(&input, 0), read::parse_halves(&input, usize::MAX));
    }

    #[test]
    fn any_number_text_is_read_or_refused(word in "[-+0-9.eE]{1,25}") {
        let _ = read(&format!("1 0 0 {word} 2 {word} -1 4 -1 -1 1 1 1 1 1 1 -1 -1"));
    }
}
