//! Several jobs cancelled, held or released at once, and what came of it.

use axum::Form;
use axum::extract::State;
use tradewind_daemon::live::Ask;
use tradewind_daemon::live::state::Phase;

use super::reply::{PageResult, go};
use crate::auth::Caller;
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};

/// A choice of all jobs of an array: this, and the number of the first.
const ARRAY: &str = "array-";
/// Jobs that may be changed at once.
const MOST: usize = 2_000;
/// Jobs that are named if they were not changed.
const NAMED: usize = 5;

/// What was done, as the address of the list has it: action, how many jobs, and which were not
/// changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BulkResult {
    act: String,
    done: usize,
    failed: Vec<u64>,
}

impl BulkResult {
    /// Reads what [`BulkResult::text`] wrote.
    pub(crate) fn of(text: &str) -> Option<BulkResult> {
        let mut parts = text.split(':');
        let act = parts.next().filter(|it| ["cancel", "hold", "release"].contains(it))?.to_owned();
        let done = parts.next()?.parse().ok()?;
        let failed = parts.next()?.split('.').filter_map(|it| it.parse().ok()).collect();
        Some(BulkResult { act, done, failed })
    }

    fn text(&self) -> String {
        let failed: Vec<String> = self.failed.iter().map(u64::to_string).collect();
        format!("{}:{}:{}", self.act, self.done, failed.join("."))
    }

    /// What was done, for people.
    pub(crate) fn done(&self) -> String {
        let jobs = if self.done == 1 { "job" } else { "jobs" };
        let what = match self.act.as_str() {
            "cancel" => "cancelled",
            "hold" => "held",
            _ => "released",
        };
        format!("{} {jobs} {what}", self.done)
    }

    /// What was not done, if that is so.
    pub(crate) fn failed(&self) -> Option<String> {
        let (first, jobs) = (self.failed.first()?, self.failed.len());
        let named = self.failed.iter().take(NAMED).map(u64::to_string).collect::<Vec<_>>();
        let more = if jobs > NAMED { " and others" } else { "" };
        match jobs {
            1 => Some(format!("Job {first} was not changed: its page says where it stands")),
            _ => Some(format!("Jobs {}{more} were not changed", named.join(", "))),
        }
    }
}

/// Does it to all jobs that were chosen, and goes back to the list.
pub(crate) async fn act(
    State(context): State<Context>,
    caller: Caller,
    Form(fields): Form<Vec<(String, String)>>,
) -> PageResult {
    let said = |wanted: &'static str| {
        fields.iter().filter(move |(name, _)| name == wanted).map(|(_, it)| it.clone())
    };
    let act = said("act").next().unwrap_or_default();
    let ask = |job| match act.as_str() {
        "cancel" => Ok(Ask::Cancel { job }),
        "hold" => Ok(Ask::Hold { job }),
        "release" => Ok(Ask::Release { job }),
        _ => Err(ErrorResponse::malformed("jobs have no such action", "")),
    };
    ask(0)?;
    let mut result = BulkResult { act: act.clone(), done: 0, failed: Vec::new() };
    for job in chosen(&context, &caller, said("job").collect()).await? {
        match context.ask(caller.actor.clone(), ask(job)?).await {
            Ok(_) => result.done += 1,
            Err(failure) if failure.is_unavailable() => return Err(failure.into()),
            Err(_) => result.failed.push(job),
        }
    }
    result.failed.truncate(NAMED + 1);
    // Nowhere but to the list.
    let back = said("back").next().filter(|it| it.starts_with("/jobs?"));
    let back = back.unwrap_or_else(|| "/jobs?show=active".to_owned());
    Ok(go(&format!("{back}&did={}", result.text())))
}

/// The numbers of the jobs; of an array, of those that are not over.
async fn chosen(context: &Context, caller: &Caller, words: Vec<String>) -> Answer<Vec<u64>> {
    let actor = caller.actor.clone();
    let look = context.look(move |live| {
        let jobs = &live.state().jobs;
        let of_array = |first: u64| {
            let open = jobs.values().filter(|job| !matches!(job.phase(), Phase::Over(_)));
            let of = open.filter(|job| job.array.is_some_and(|it| it.0 == first));
            let own = of.filter(|job| actor.may_act_for(&job.user));
            own.map(|job| job.number).collect::<Vec<_>>()
        };
        let of = |word: &String| match word.strip_prefix(ARRAY) {
            Some(first) => first.parse().map(of_array).unwrap_or_default(),
            None => word.parse().into_iter().collect(),
        };
        words.iter().flat_map(of).collect::<Vec<u64>>()
    });
    let jobs = look.await?;
    match jobs.len() > MOST {
        true => {
            let message = format!("{} jobs are chosen, and {MOST} may be", jobs.len());
            Err(ErrorResponse::invalid(message, "filter the list, and choose fewer"))
        }
        false => Ok(jobs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_are_written() {
        let result = BulkResult { act: "cancel".to_owned(), done: 2, failed: vec![7, 8] };
        assert_eq!(BulkResult::of(&result.text()), Some(result.clone()));
        assert_eq!(result.done(), "2 jobs cancelled");
        assert_eq!(result.failed().as_deref(), Some("Jobs 7, 8 were not changed"));
        let all = BulkResult::of("hold:1:").unwrap();
        assert_eq!((all.done().as_str(), all.failed()), ("1 job held", None));
        assert_eq!(BulkResult::of("<b>:1:"), None);
    }
}
