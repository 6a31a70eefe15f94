use super::*;

fn what(user: i64, processors: u32, requested: i64) -> Submission {
    Submission { user, processors, requested: Span(requested), at: Time(0) }
}

/// Lets a job of this shape run.
fn runs(learner: &mut Learned, job: u32, what: Submission, run: i64) -> RunForecast {
    let forecast = learner.predict(&what).forecast;
    assert_eq!(learner.submitted(JobId(job), what), forecast.median);
    learner.ended(JobId(job), Span(run), Time(0));
    forecast
}

#[test]
fn a_class_that_was_never_seen_begins_with_what_is_known_of_its_user() {
    let mut learner = Learned::default();
    for job in 0..40 {
        runs(&mut learner, job, what(1, 4, 36_000), 300);
        runs(&mut learner, 100 + job, what(2, 4, 36_000), 30_000);
    }
    let other = learner.predict(&what(1, 8, 7_200)).forecast;
    assert!((250..=400).contains(&other.median.0), "{other:?}");
    let other = learner.predict(&what(2, 8, 36_000)).forecast;
    assert!(other.median > Span(20_000), "{other:?}");
}

#[test]
fn widths_are_classes_of_their_own_once_they_were_seen() {
    let mut learner = Learned::default();
    for job in 0..20 {
        runs(&mut learner, 2 * job, what(1, 1, 36_000), 60);
        runs(&mut learner, 2 * job + 1, what(1, 64, 36_000), 30_000);
    }
    let narrow = learner.predict(&what(1, 1, 36_000)).forecast;
    let wide = learner.predict(&what(1, 64, 36_000)).forecast;
    assert!(narrow.median < Span(100) && wide.median > Span(10_000), "{narrow:?} {wide:?}");
    assert!(narrow.turn < wide.turn && narrow.median <= narrow.late);
}

/// Users whose requests are exact, and whose jobs are never alike: predictions cannot be closer, and
/// requests are to be used.
#[test]
fn requests_that_are_better_than_predictions_are_used() {
    let mut learner = Learned::default();
    let mut worse = 0;
    for job in 0..200 {
        let requested = 60 + i64::from(job * 7_919 % 50_000);
        let forecast = runs(&mut learner, job, what(1, 1, requested), requested);
        if job >= 20 {
            worse += u32::from(forecast.median != Span(requested));
        }
        // Another user asks for a day, and needs a minute: predictions stay in use for this one.
        let forecast = runs(&mut learner, 1_000 + job, what(2, 1, 86_400), 60);
        assert!(job < 20 || forecast.median < Span(100), "{forecast:?}");
    }
    assert_eq!(worse, 0);
    let exact = learner.predict(&what(1, 1, 4_321)).forecast;
    assert_eq!((exact.median, exact.mean, exact.late), (Span(4_321), Span(4_321), Span(4_321)));
}

#[test]
fn memory_of_a_user_is_bounded() {
    let mut learner = Learned::default();
    for job in 0..500 {
        runs(&mut learner, job, what(1, job + 1, 100 + i64::from(job)), 50);
    }
    assert!(learner.classes.most() <= 32 && learner.active.is_empty());
}
