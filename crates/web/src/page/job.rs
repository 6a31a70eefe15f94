//! One job.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::Ask;

use super::reply::{Shown, go, show as page};
use super::shell::Shell;
use super::words;
use crate::api::{Context, blocking};
use crate::documents::{Explanation, Job};
use crate::doors::Caller;
use crate::extract::At;
use crate::failure::{Answer, Failure};
use crate::routes::advice;
use crate::views::jobs;

/// Bytes of output that are shown.
const OUTPUT: usize = 16_384;

#[derive(Template)]
#[template(path = "page/job.html")]
struct JobPage {
    shell: Shell,
    job: Job,
    /// Why it waits; what went wrong, if nobody can say.
    waits: Option<Result<Explanation, String>>,
    output: Option<Result<String, String>>,
    script: Option<String>,
}

impl JobPage {
    fn is_over(&self) -> bool {
        self.job.ended.is_some()
    }

    fn is_held(&self) -> bool {
        self.job.reason.as_deref().is_some_and(|it| it.contains("Held"))
    }
}

/// A job with its history, why it waits, and what it has written.
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> Shown {
    let shell = Shell::new(&context, &caller, "Job").await?;
    let actor = caller.actor.clone();
    let found = context.look(move |live| {
        let state = live.state();
        let job = jobs::find(state, &actor, number)?;
        let first =
            job.parts.first().map(|part| (state.site_of(part.pool), job.tag(&state.name, 0)));
        Some((jobs::whole(state, job), first))
    });
    let unknown = || Failure::unknown(format!("you have no job {number}"));
    let (job, first) = found.await?.ok_or_else(unknown)?;
    let waits = match job.state == "PENDING" {
        true => Some(explained(&context, caller, number).await),
        false => None,
    };
    let output = match first {
        Some((site, tag)) if job.started.is_some() => {
            let outputs = std::sync::Arc::clone(&context.outputs);
            let tail = blocking(move || outputs.tail(site, &tag, OUTPUT)).await?;
            Some(
                tail.map(|it| String::from_utf8_lossy(&it).into_owned())
                    .map_err(|it| it.to_string()),
            )
        }
        _ => None,
    };
    let text = |name: &str| job.submission.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let script = text("script");
    page(&JobPage { shell, waits, output, script, job })
}

async fn explained(context: &Context, caller: Caller, number: u64) -> Result<Explanation, String> {
    let told: Answer<_> = advice::explain(State(context.clone()), caller, At(number)).await;
    told.map(|it| it.0).map_err(|failure| failure.parts().1.message.clone())
}

/// What is to be done with it.
#[derive(Debug, Deserialize)]
pub(crate) struct Wish {
    act: String,
}

/// Cancels, holds or releases it.
pub(crate) async fn act(
    State(context): State<Context>,
    caller: Caller,
    At(job): At<u64>,
    Form(Wish { act }): Form<Wish>,
) -> Shown {
    let ask = match act.as_str() {
        "cancel" => Ask::Cancel { job },
        "hold" => Ask::Hold { job },
        "release" => Ask::Release { job },
        _ => return Err(Failure::malformed("nobody can do that with a job", "").into()),
    };
    context.ask(caller.actor, ask).await?;
    Ok(go(&format!("/jobs/{job}")))
}
