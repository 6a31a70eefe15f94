use super::*;

fn labels() -> RunLabels {
    RunLabels {
        workload: "both".to_owned(),
        policy: "easy".to_owned(),
        semantics: "textbook".to_owned(),
        overrun: "kill".to_owned(),
        estimate: "exact".to_owned(),
        load: Some(750),
        seed: None,
        logs: vec!["small".to_owned()],
        slowdown_bound: Span(10),
    }
}

fn finished(start: i64, end: i64, ending: Ending) -> JobOutcome {
    JobOutcome::Finished(Finished {
        start: Time(start),
        end: Time(end),
        ending,
        busy: Span(4 * (end - start)),
        backfilled: true,
        site: Some("alpha".to_owned()),
        cost: Some(Money::credits(2)),
    })
}

fn job(fate: JobOutcome) -> JobRow {
    JobRow {
        log: 0,
        number: 7,
        submit: Some(Time(10)),
        processors: Some(4),
        requested: Some(Span(60)),
        user: Some(3),
        group: None,
        queue: None,
        budget: None,
        deadline: Some(Time(20)),
        lost: Span(0),
        fate,
    }
}

/// The cells of the column `name`, as text.
fn cells(rows: &[JobRow], name: &str) -> String {
    let at = FIELDS.iter().position(|field| field.name == name).unwrap();
    format!("{:?}", columns(&labels(), rows)[at])
}

#[test]
fn columns_are_those_of_the_file() {
    let rows =
        [job(finished(12, 14, Ending::Completed)), job(JobOutcome::Rejected("wide".to_owned()))];
    let mut file = JobsFile::new(Vec::new()).unwrap();
    file.run(&labels(), &rows).unwrap();
    file.run(&labels(), &[]).unwrap();
    let bytes = file.finish("simulate").unwrap();
    assert_eq!(bytes, jobs_parquet(&labels(), &rows, "simulate").unwrap());
}

#[test]
fn times_and_quotients() {
    let rows = [
        job(finished(12, 14, Ending::Completed)),
        job(finished(30, 30, Ending::Completed)),
        job(JobOutcome::Rejected("wide".to_owned())),
    ];
    assert_eq!(cells(&rows, "wait_s"), "Int64([Some(2), Some(20), None])");
    assert_eq!(cells(&rows, "busy_processor_s"), "Int64([Some(8), Some(0), None])");
    assert_eq!(cells(&rows, "turnaround_s"), "Int64([Some(4), Some(20), None])");
    assert_eq!(cells(&rows, "slowdown"), "Double([Some(2.0), None, None])");
    assert_eq!(cells(&rows, "bounded_slowdown"), "Double([Some(1.0), Some(2.0), None])");
    assert!(cells(&rows, "final_state").contains("of: [Some(0), Some(0), Some(1)]"));
    assert!(cells(&rows, "reason").contains("[\"wide\"], of: [None, None, Some(0)]"));
    assert!(cells(&rows, "site").contains("[\"alpha\"], of: [Some(0), Some(0), None]"));
}

#[test]
fn jobs_of_several_logs_are_distinguished() {
    let row = job(JobOutcome::Rejected("wide".to_owned()));
    let mut both = labels();
    assert_eq!(both.id(&row), "7");
    both.logs.push("large".to_owned());
    assert_eq!(both.id(&JobRow { log: 1, ..row }), "large!7");
}

#[test]
fn a_deadline_is_met_by_a_result_in_time() {
    let mut free = job(finished(12, 21, Ending::Completed));
    free.deadline = None;
    let rows = [
        job(finished(12, 20, Ending::Completed)),
        job(finished(12, 21, Ending::Completed)),
        job(finished(12, 14, Ending::Killed)),
        job(JobOutcome::Rejected("wide".to_owned())),
        free,
    ];
    assert_eq!(
        cells(&rows, "deadline_met"),
        "Flag([Some(true), Some(false), Some(false), Some(false), None])"
    );
}
