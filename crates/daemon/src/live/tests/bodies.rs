//! Bytes of what waits.

use tradewind_io::submission::Array;

use super::*;

/// A job with so many variables of so many bytes each.
fn heavy(variables: usize, bytes: usize) -> Submission {
    let variable = |i: usize| (format!("V{i}"), "x".repeat(bytes));
    let environment = (0..variables).map(variable).collect();
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    Submission { surroundings, held: true, ..job(1, 60) }
}

fn submit_as(stage: &mut Stage, user: &str, submission: Submission) -> Result<Reply, Refusal> {
    let actor = Actor { user: user.to_owned(), role: Role::User };
    let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
    stage.step(DAY, Input::Asked { actor, ask }).unwrap()
}

fn limit(answer: Result<Reply, Refusal>) -> (String, u64, bool) {
    let refusal = answer.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Limit, "{refusal}");
    let usage = refusal.usage.clone().unwrap();
    assert!(refusal.message.contains(&usage.limit), "{refusal}");
    (usage.limit, usage.allowed, usage.wait > 0)
}

#[test]
fn bytes_of_waiting_jobs_have_a_limit_per_user_and_for_all() {
    let mut stage = Stage::new();
    stage.live.settings.max_bytes_per_user = 1 << 20;
    stage.live.settings.max_bytes = 3 << 19;
    let half = || heavy(1, 500 << 10);
    submit_as(&mut stage, "ana", half()).unwrap();
    submit_as(&mut stage, "ana", half()).unwrap();
    let refused = limit(submit_as(&mut stage, "ana", half()));
    assert_eq!(refused, ("job_bytes_per_user".to_owned(), 1 << 20, true));
    submit_as(&mut stage, "bob", half()).unwrap();
    assert_eq!(limit(submit_as(&mut stage, "eve", half())).0, "job_bytes");
    let root = Actor { user: "root".to_owned(), role: Role::Administrator };
    let ask = Ask::Cancel { job: 1 };
    stage.step(later(1), Input::Asked { actor: root, ask }).unwrap().unwrap();
    submit_as(&mut stage, "ana", half()).unwrap();
}

#[test]
fn an_environment_has_a_limit_that_waiting_does_not_change() {
    let mut stage = Stage::new();
    let refused = limit(stage.submit(DAY, heavy(1, (1 << 20) + 1)));
    assert_eq!(refused, ("environment_bytes".to_owned(), 1 << 20, false));
    let refused = limit(stage.submit(DAY, heavy(8_193, 1)));
    assert_eq!(refused, ("environment_variables".to_owned(), 8_192, false));
    stage.submit(DAY, heavy(8_192, 1)).unwrap();
}

#[test]
fn the_jobs_of_an_array_share_one_body() {
    let mut stage = Stage::new();
    stage.live.settings.max_bytes_per_user = 1 << 20;
    let array = Some(Array { indices: (0..1_000).collect(), at_once: None });
    let all = Submission { array, ..heavy(1, 900 << 10) };
    let Reply::Jobs(jobs) = stage.submit(DAY, all).unwrap() else { panic!() };
    assert_eq!(jobs.len(), 1_000);
    let written: usize = stage
        .records
        .iter()
        .map(|(_, it)| crate::codec::Codec::record(&crate::codec::Json, it).len())
        .sum();
    assert!(written < 2 << 20, "{written} bytes in the journal");
    let state = stage.live.state();
    let first = &state.jobs[&1].submission;
    assert!(state.jobs.values().all(|job| Arc::ptr_eq(&job.submission, first)));
    assert_eq!(
        (state.jobs[&1_000].array, state.jobs[&1_000].user.as_str()),
        (Some((1, 999)), "ana")
    );
    // As after a restart, when each was read by itself.
    let mut state = state.clone();
    for job in state.jobs.values_mut() {
        job.submission = Arc::new((*job.submission).clone());
    }
    let (live, _) = Live::begin(state, Settings::default(), Arc::new(Easy), "easy", DAY).unwrap();
    let jobs = &live.state().jobs;
    assert!(jobs.values().all(|job| Arc::ptr_eq(&job.submission, &jobs[&1].submission)));
    // Nothing is left over when all have ended.
    for job in 1..=1_000 {
        stage.step(later(1), Input::Asked { actor: ana(), ask: Ask::Cancel { job } });
    }
    assert!(stage.live.is_idle());
    stage.submit(later(2), heavy(1, 900 << 10)).unwrap();
}
