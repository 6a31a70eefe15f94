use super::*;
use crate::predict::RunForecast;

fn forecast(seconds: i64) -> RunForecast {
    let span = Span(seconds);
    RunForecast { median: span, mean: span, late: span, turn: span }
}

fn submission(processors: u32, requested: i64, at: i64) -> Submission {
    let (requested, at, traits) = (Span(requested), Time(at), JobTraits::default());
    Submission { user: 1, processors, requested, at, traits }
}

fn weigh(at: i64, processors: u32, seconds: i64) -> WeighedJob {
    let what = submission(processors, i64::MAX / 2, at);
    LearnedSettings::default().weigh(&what, &forecast(seconds), 100)
}

#[test]
fn short_jobs_are_due_soon_and_no_job_later_than_the_bound() {
    assert!(weigh(50, 1, 60).due < weigh(0, 1, 600).due);
    let latest = LearnedSettings::default().latest;
    assert_eq!(weigh(0, 1, i64::MAX / 2).due, Time(latest.0));
    assert!(weigh(latest.0 + 1, 1, 1).due > weigh(0, 1, 1 << 45).due, "overtaking is bounded");
}

#[test]
fn wide_jobs_are_protected_earlier() {
    let (narrow, wide) = (weigh(0, 1, 600), weigh(0, 100, 600));
    assert!(wide.protected < narrow.protected);
    let key = |job: &WeighedJob| weigh::protected_key(job.protected);
    assert!(weigh::is_protected(key(&narrow)) && !weigh::is_protected(narrow.due.0));
    assert!(key(&wide) < key(&narrow));
}

#[test]
fn plans_go_from_the_median_to_the_request() {
    let known = KnownJob {
        user: 1,
        processors: 1,
        requested: Span(100),
        expected: [Span(10), Span(40)],
        turn: Span(10),
        median: Span(10),
        protected: Time(1_000),
        rank: Rank { key: 0, job: JobId(1) },
        start: None,
    };
    let length = |basis, elapsed| known.length(basis, Span(elapsed)).0;
    let predicted = [0, 9, 10, 40, 100].map(|elapsed| length(Basis::Predictions, elapsed));
    assert_eq!(predicted, [10, 10, 40, 100, 200]);
    assert_eq!([0, 99, 100].map(|elapsed| length(Basis::Requests, elapsed)), [100, 100, 200]);
}
