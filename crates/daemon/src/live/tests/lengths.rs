//! A market that plans by run times that it has learned.

use tradewind_io::settings::Estimates;
use tradewind_io::submission::Counted;
use tradewind_sched::predict::JobTraits;

use super::*;
use crate::codec::pages::{Draft, Pages, VERSION};
use crate::codec::{Codec as _, Json};
use crate::store::Changes;

const HOUR: i64 = 3_600;

fn learning() -> Settings {
    Settings { estimates: Estimates::Learned, ..Settings::default() }
}

/// On the fast nodes, where a job takes half of its work.
fn at_b(tasks: u32, work: i64) -> Submission {
    let terms = Conditions { sites: vec!["b".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, work) }
}

/// Jobs that ask for a day and need ten minutes, one after the other.
fn trained(settings: Settings, runs: i64) -> Stage {
    let jobs = (0..runs).map(|_| (at_b(1, 24 * HOUR), 600));
    trained_by(settings, jobs.collect())
}

/// Jobs on the fast nodes that run for so long, one after the other.
fn trained_by(settings: Settings, jobs: Vec<(Submission, i64)>) -> Stage {
    let mut stage = Stage::with(settings);
    for (number, (submission, run)) in (0..).zip(jobs) {
        let at = later(2_000 * number);
        stage.submit(at, submission).unwrap();
        let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
        let tag = order.tag;
        stage.survey(at + Span(1), 1, vec![(tag.clone(), running(at))], &[]);
        let over = ended(at, at + Span(run), Exit::Code(0));
        stage.survey(at + Span(run), 1, vec![(tag.clone(), over)], &[]);
        let forgotten = Input::Answered { tag, act: Act::Forget, answer: Ok(()) };
        stage.step(at + Span(run + 1), forgotten);
    }
    stage
}

/// Named so, running this program.
fn called(name: &str, program: &str) -> Submission {
    let work = Work::Command(vec![program.to_owned()]);
    Submission { name: name.to_owned(), work, ..at_b(1, 24 * HOUR) }
}

fn submitted(stage: &mut Stage, at: Time, submission: Submission) -> u64 {
    submitted_by(stage, at, ("ana", submission))
}

fn submitted_by(stage: &mut Stage, at: Time, (user, submission): (&str, Submission)) -> u64 {
    let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
    let actor = Actor { user: user.to_owned(), role: Role::User };
    let Ok(Reply::Jobs(jobs)) = stage.asked(at, actor, ask) else { panic!() };
    jobs[0]
}

/// What is expected of a job that waits or runs, and its limit.
fn demand(stage: &Stage, job: u64) -> (Option<Span>, Span) {
    let state = stage.live.state();
    let demand = state.market.demand(state.jobs[&job].id().unwrap()).unwrap();
    (demand.expected, demand.estimate)
}

fn is_running(stage: &Stage, job: u64) -> bool {
    stage.phase(job) == Phase::Running
}

/// One node is busy for an hour of work of a user who is not known, and a job waits for both.
fn with_queue(settings: Settings, runs: i64) -> (Stage, Time) {
    let (mut stage, at) = (trained(settings, runs), later(100_000));
    let busy = submitted_by(&mut stage, at, ("bo", at_b(1, HOUR)));
    let wide = submitted(&mut stage, at, at_b(2, HOUR));
    assert!(is_running(&stage, busy) && !is_running(&stage, wide));
    (stage, at)
}

#[test]
fn a_job_like_others_that_were_short_is_backfilled() {
    for (settings, runs, is_short) in
        [(learning(), 20, true), (learning(), 7, false), (Settings::default(), 20, false)]
    {
        let (mut stage, at) = with_queue(settings, runs);
        let short = submitted(&mut stage, at, at_b(1, 24 * HOUR));
        let (expected, limit) = demand(&stage, short);
        assert_eq!((limit, is_running(&stage, short)), (Span(24 * HOUR), is_short), "{runs}");
        assert_eq!(expected.is_some(), is_short, "{expected:?}");
        assert!(expected.is_none_or(|it| (1_000..=1_450).contains(&it.0)), "{expected:?}");
        // What is paid and when it is stopped follow the limit.
        let part = stage.live.state().jobs[&short].parts().first().cloned();
        assert!(part.is_none_or(|part| part.limit == Span(12 * HOUR)));
    }
}

#[test]
fn limits_count_where_they_are_checked_and_for_those_who_are_not_known() {
    let (mut stage, at) = with_queue(learning(), 20);
    let with = |change: fn(&mut Conditions)| {
        let mut submission = at_b(1, 24 * HOUR);
        change(&mut submission.terms);
        submission
    };
    let budget = with(|terms| terms.budget = Some(Money::credits(1_000_000)));
    let deadline = with(|terms| terms.deadline = Some(later(1_000_000)));
    for submission in [budget, deadline] {
        let job = submitted(&mut stage, at, submission);
        assert_eq!(demand(&stage, job).0, None);
    }
    let job = submitted_by(&mut stage, at, ("bo", at_b(1, 24 * HOUR)));
    assert_eq!(demand(&stage, job).0, None);
}

#[test]
fn limits_count_as_long_as_a_job_has_waited_for_long() {
    let (mut stage, at) = with_queue(learning(), 20);
    let soon = submitted(&mut stage, at + Span(34 * HOUR), at_b(1, 24 * HOUR));
    let late = submitted(&mut stage, at + Span(35 * HOUR), at_b(1, 24 * HOUR));
    // It asks for half of all nodes: 190,000 − 130,000 / 2 s.
    assert!(demand(&stage, soon).0.is_some() && demand(&stage, late).0.is_none());
}

/// Names differ in numbers, programs do not; then the reverse.
#[test]
fn jobs_of_a_name_or_with_a_script_are_classes_of_their_own() {
    let by_program = |number: i64, program: &str| called(&format!("run {number}"), program);
    let by_name =
        |number: i64, name: &str| called(&format!("{name}-{number}"), &number.to_string());
    let both: [fn(i64, &str) -> Submission; 2] = [by_program, by_name];
    for submission in both {
        let jobs = (0..20).flat_map(|number| {
            [(submission(2 * number, "brief"), 60), (submission(2 * number + 1, "long"), 1_800)]
        });
        let mut stage = trained_by(learning(), jobs.collect());
        let mut expected = |what: &str| {
            let job = submitted(&mut stage, later(200_000), submission(777, what));
            demand(&stage, job).0.unwrap().0
        };
        let (brief, long) = (expected("brief"), expected("long"));
        assert!((100..=150).contains(&brief) && (3_000..=4_400).contains(&long), "{brief} {long}");
    }
}

/// An hour of wall-clock time on nodes that are twice as fast is two hours of work.
#[test]
fn what_was_learned_at_one_site_is_true_at_another() {
    let counted = Counted::Job(Times::Wall);
    let at = |site: &[&str]| {
        let sites = site.iter().map(|site| (*site).to_owned()).collect();
        let terms = Conditions { sites, ..Conditions::default() };
        let time = TimeLimit::One { limit: Span(24 * HOUR), counted };
        Submission { time, terms, ..job(1, 1) }
    };
    let mut stage = trained_by(learning(), (0..20).map(|_| (at(&["b"]), 600)).collect());
    let mut expected = |sites: &[&str]| {
        let job = submitted(&mut stage, later(200_000), at(sites));
        demand(&stage, job).0.unwrap().0
    };
    let (fast, slow) = (expected(&["b"]), expected(&["a"]));
    assert!((500..=725).contains(&fast) && (1_000..=1_450).contains(&slow), "{fast} {slow}");
    // Where it may run on both, it is expected to take as long as on the slower ones.
    assert_eq!(expected(&["a", "b"]), slow);
}

#[test]
fn a_restart_changes_no_prediction() {
    let (mut stage, at) = with_queue(learning(), 20);
    submitted(&mut stage, at, at_b(1, 24 * HOUR));
    let state = stage.live.state();
    assert_eq!(state.lengths.runs.len(), 20);
    let mut replayed = State::empty(DAY);
    stage.records.iter().for_each(|(at, record)| replayed.apply(*at, record).unwrap());
    assert_eq!(replayed.lengths, state.lengths);
    let read = Json.read_state(Json::VERSION, &Json.state(state)).unwrap();
    assert_eq!((&read.lengths, &read.market.state()), (&state.lengths, &state.market.state()));
    let (head, Changes::All(pages)) = Pages::default().of(state, &BTreeSet::new()) else {
        panic!("a first snapshot has all pages");
    };
    let mut draft = Draft::begin(VERSION, &head).unwrap();
    pages.iter().for_each(|page| draft.add(page).unwrap());
    let (read, _) = draft.finish().unwrap();
    assert_eq!(read.lengths, state.lengths);
    let (live, step) = Live::begin(read, learning(), Arc::new(Easy), "easy", at).unwrap();
    let records = step.records.into_iter().map(|record| (at, record)).collect();
    let mut again = Stage { live, records };
    for stage in [&mut stage, &mut again] {
        let job = submitted(stage, at + Span(60), at_b(1, 24 * HOUR));
        let (expected, _) = demand(stage, job);
        assert!(expected.is_some());
    }
    let last = |stage: &Stage| demand(stage, *stage.live.state().jobs.keys().last().unwrap());
    assert_eq!(last(&stage), last(&again));
}

#[test]
fn old_runs_are_dropped_and_the_learner_follows() {
    use crate::live::lengths::LengthLearner;
    use crate::live::state::lengths::{Lengths, PastRun};
    let run = |number: i64| PastRun {
        user: number % 3,
        processors: 1,
        requested: Span(36_000),
        longest: Span(36_000),
        median: Span(100),
        run: Span(60 + number),
        traits: JobTraits::default(),
    };
    let (mut lengths, mut kept) = (Lengths::default(), LengthLearner::default());
    for number in 0..10_000 {
        lengths.add(run(number));
        if number % 97 == 0 {
            kept.follow(&lengths);
        }
    }
    assert!((2_048..4_096).contains(&lengths.runs.len()), "{}", lengths.runs.len());
    let mut fresh = LengthLearner::default();
    [&mut kept, &mut fresh].into_iter().for_each(|it| it.follow(&lengths));
    for user in 0..4 {
        assert_eq!(kept.says(user), fresh.says(user));
    }
}
