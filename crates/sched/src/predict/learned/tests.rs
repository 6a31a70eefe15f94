use super::*;
use crate::predict::JobTraits;

fn what(user: i64, processors: u32, requested: i64) -> Submission {
    let traits = JobTraits::default();
    Submission { user, processors, requested: Span(requested), at: Time(0), traits }
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

#[test]
fn names_and_scripts_are_classes_of_their_own_and_accounts_help_new_users() {
    let of = |user, name, script| {
        let traits = JobTraits { account: Some(1), name: Some(name), script: Some(script) };
        Submission { traits, ..what(user, 4, 86_400) }
    };
    let mut learner = Learned::default();
    for job in 0..20 {
        // Two names, and under one of them two scripts.
        runs(&mut learner, 3 * job, of(1, 1, 1), 60);
        runs(&mut learner, 3 * job + 1, of(1, 2, 2), 1_000);
        runs(&mut learner, 3 * job + 2, of(1, 2, 3), 30_000);
        // Jobs of other accounts are long.
        (0..3).for_each(|_| _ = runs(&mut learner, 100 + job, what(2, 4, 86_400), 80_000));
    }
    let median = |learner: &Learned, what| learner.predict(&what).forecast.median.0;
    let [short, middle, long] =
        [of(1, 1, 1), of(1, 2, 2), of(1, 2, 3)].map(|what| median(&learner, what));
    assert!((54..=70).contains(&short), "{short}");
    assert!((900..=1_200).contains(&middle) && long > 25_000, "{middle} {long}");
    // A script that was never seen is expected to be like others of its name.
    assert!(median(&learner, of(1, 1, 9)) < 100);
    let (inside, outside) = (median(&learner, of(3, 9, 9)), median(&learner, what(3, 4, 86_400)));
    assert!(inside < outside / 4, "{inside} {outside}");
}

/// The same runs, counted in another unit.
#[test]
fn runs_may_be_counted_in_another_unit_than_requests() {
    let mut learner = Learned::default();
    (0..20)
        .for_each(|_| learner.learn_up_to(&what(1, 1, 600), Span(1_200), (Span(800), Span(900))));
    let forecast = |longest| learner.predict_up_to(&what(1, 1, 600), Span(longest)).forecast;
    assert!((800..=1_000).contains(&forecast(1_200).median.0));
    assert_eq!(forecast(300).late, Span(300), "never beyond what is the request there");
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
        let number = Some(u64::from(job) + 1);
        let traits = JobTraits { account: number, name: number, script: number };
        let what = what(1, job + 1, 100 + i64::from(job));
        runs(&mut learner, job, Submission { traits, ..what }, 50);
    }
    assert!(learner.classes.most() <= 32 && learner.active.is_empty());
}
