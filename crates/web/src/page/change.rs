//! Changing a job that waits, on its page: what is filled in is what the job has, and only what differs
//! is changed.

use serde::Deserialize;
use tradewind_daemon::live::Ask;

use super::submit::{self, SubmitForm};
use crate::auth::Caller;
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};
use crate::routes::submission;

/// Fields of the form, as they were typed. An empty one that the job has takes its value away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ChangeForm {
    pub(crate) name: String,
    pub(crate) nodes: String,
    pub(crate) time: String,
    pub(crate) budget: String,
    pub(crate) site: String,
}

impl ChangeForm {
    fn of(job: SubmitForm) -> ChangeForm {
        let SubmitForm { name, nodes, time, budget, site, .. } = job;
        ChangeForm { name, nodes, time, budget, site }
    }

    /// Options as on the command line.
    fn options(&self) -> [(&'static str, &str); 5] {
        [
            ("--job-name", &self.name),
            ("--nodes", &self.nodes),
            ("--time", &self.time),
            ("--budget", &self.budget),
            ("--clusters", &self.site),
        ]
    }

    /// What differs from what the job has: option and value.
    fn changed(&self, job: &ChangeForm) -> Vec<Vec<String>> {
        let pairs = self.options().into_iter().zip(job.options());
        let changed = pairs.filter(|((_, now), (_, before))| now.trim() != *before);
        changed
            .map(|((option, value), _)| vec![option.to_owned(), value.trim().to_owned()])
            .collect()
    }
}

/// What the job has.
///
/// # Errors
/// There is no such job for the reader.
pub(crate) async fn present(context: &Context, caller: &Caller, job: u64) -> Answer<ChangeForm> {
    submit::again_of(context, caller, job).await.map(ChangeForm::of)
}

/// Changes the job.
///
/// # Errors
/// Nothing differs, or what is filled in is wrong, or the job waits no more.
pub(crate) async fn change(
    context: &Context,
    caller: &Caller,
    (job, wanted): (u64, &ChangeForm),
) -> Answer<()> {
    let options = wanted.changed(&present(context, caller, job).await?);
    if options.is_empty() {
        return Err(ErrorResponse::malformed("nothing is to be changed", "change a field"));
    }
    let change = Box::new(submission::change(options, None)?);
    context.ask(caller.actor.clone(), Ask::Change { job, change }).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_changed() {
        let text = str::to_owned;
        let job = ChangeForm {
            nodes: text("2"),
            time: text("1:00:00"),
            budget: text("30"),
            ..ChangeForm::default()
        };
        assert!(job.changed(&job).is_empty());
        let wanted =
            ChangeForm { nodes: text(" 2 "), time: text("20"), budget: text(""), ..job.clone() };
        let pair = |option, value| vec![text(option), text(value)];
        assert_eq!(wanted.changed(&job), [pair("--time", "20"), pair("--budget", "")]);
    }
}
