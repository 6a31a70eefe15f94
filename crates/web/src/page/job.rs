//! One job.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::state::Job as Known;
use tradewind_daemon::live::{Ask, Live};
use tradewind_daemon::site::{Excerpt, Stream};
use tradewind_io::scenario::criterion_name;

use super::alternatives::{self, Alternative};
use super::board;
use super::change::{self, ChangeForm};
use super::considered::{Considered, considered};
use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Explanation, Job, Limit};
use crate::extract::At;
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::routes::advice;
use crate::routes::output::{Source, source_of};
use crate::views::jobs;
use crate::views::sentence::{StatusSentence, status_sentence};

/// Bytes of output that are shown.
const OUTPUT: usize = 16_384;

#[derive(Template)]
#[template(path = "page/job.html")]
struct JobPage {
    shell: Shell,
    job: Job,
    facts: Facts,
    /// Why it waits; the error, if it is unknown.
    waits: Option<Result<Explanation, String>>,
    /// Windows that it could have instead of its own.
    others: Vec<Alternative>,
    /// The end of its output, once it has begun; and of its standard error, if that is apart.
    output: Option<Result<String, String>>,
    errors: Option<Result<String, String>>,
    script: Option<String>,
    /// Where it stands.
    said: StatusSentence,
    /// What can be changed of it, as filled in, while it waits.
    change: Option<ChangeForm>,
    /// What was wrong with a change.
    wrong: Option<ErrorResponse>,
    /// Of the timeline: where it is or could be, and its height.
    board_pools: String,
    board_height: u32,
}

/// What the job's document does not say.
#[derive(Debug)]
struct Facts {
    /// What it prefers, in words.
    prefers: String,
    /// Where it could run or could have run, or why nowhere.
    considered: Result<Considered, String>,
    /// Where it writes, once it has begun.
    source: Option<Source>,
    /// All pools, each with its nodes.
    pools: Vec<(String, u32)>,
}

impl JobPage {
    fn is_over(&self) -> bool {
        self.job.ended.is_some()
    }

    fn is_held(&self) -> bool {
        self.job.reason.as_deref().is_some_and(|it| it.contains("Held") || it == "ReservationLost")
    }

    /// What is lost if it is cancelled.
    fn loss(&self) -> String {
        let paid = words::credits(&self.job.cost_so_far);
        match (self.job.started, self.job.booking.is_some()) {
            (Some(_), _) => format!(
                "Its work so far is lost; {paid} credits are paid, the rest of what is held is \
                 given back."
            ),
            (None, true) => "Its reserved nodes are given back, and its offer with its price is \
                             gone. Held credits are given back."
                .to_owned(),
            (None, false) => "It leaves the queue. Held credits are given back.".to_owned(),
        }
    }

    /// What the status sentence does not say of a job that waits; nothing if that is all.
    fn more(&self) -> Option<&Result<Explanation, String>> {
        self.waits.as_ref().filter(|waits| {
            let is_empty = |it: &Explanation| {
                it.relaxations.is_empty() && it.fair_share.is_none() && it.advice.is_none()
            };
            !waits.as_ref().is_ok_and(is_empty)
        })
    }

    /// How long it may run, in words.
    fn limit(&self, it: &Limit) -> String {
        it.sentence(|seconds| words::span(&seconds))
    }

    /// How much later an alternative would start than expected.
    fn later(&self, other: &Alternative) -> String {
        let expected = self.job.expected_start.map(|it| it.at);
        match other.offer.start.zip(expected).map(|(start, own)| start - own) {
            None => String::new(),
            Some(0) => "the same start".to_owned(),
            Some(late) if late > 0 => format!("{} later", words::span(&late)),
            Some(early) => format!("{} sooner", words::span(&-early)),
        }
    }
}

fn facts(live: &Live, job: &Known) -> Facts {
    let state = live.state();
    let criterion = criterion_name(&job.submission.terms.criterion);
    // What a peer has is on the page of the output: that it answers slowly delays no other page.
    let source = source_of(state, job).filter(|_| job.away().is_none());
    let pools = state.market.pools().iter().map(|(_, pool)| (pool.name.clone(), pool.nodes));
    Facts {
        prefers: alternatives::in_words(&criterion),
        considered: considered(live, job),
        source,
        pools: pools.collect(),
    }
}

async fn look(context: &Context, caller: &Caller, number: u64) -> Answer<(Job, Facts)> {
    let actor = caller.actor.clone();
    let found = context.see(move |live, moment| {
        let job = jobs::find(moment.state, &actor, number)?;
        Some((jobs::whole(moment, job), facts(live, job)))
    });
    found.await?.ok_or_else(|| ErrorResponse::unknown(format!("you have no job {number}")))
}

/// A job with its history, why it waits, and what it has written.
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
) -> PageResult {
    page(&shown(&context, &caller, number, None).await?)
}

/// The page; with a change that was not accepted, and why.
async fn shown(
    context: &Context,
    caller: &Caller,
    number: u64,
    refused: Option<(ChangeForm, ErrorResponse)>,
) -> Answer<JobPage> {
    let shell = Shell::new(context, caller, "Job").await?;
    let (job, _) = look(context, caller, number).await?;
    notes::read(&context.audit, caller, &job.user, &format!("job {number} of {}", job.user));
    let waits = match job.waits_here() {
        true => Some(explained(context, caller.clone(), number).await),
        false => None,
    };
    // The explanation may have waited for a newer plan: the rest of the page is of that one, too.
    let (job, mut facts) = look(context, caller, number).await?;
    facts.source = facts.source.filter(|_| job.started.is_some());
    let waits = waits.filter(|_| job.waits_here());
    let offers = waits.as_ref().and_then(|it| it.as_ref().ok()).map(|it| it.fall_backs.clone());
    let (others, _) = alternatives::alternatives(offers.unwrap_or_default());
    let written = output(context, caller, &facts, Stream::Output).await;
    let errors = output(context, caller, &facts, Stream::Error).await;
    let text = |name: &str| job.submission.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let script = text("script");
    let board_pools = pools(&job, &others, &facts);
    let sizes = facts.pools.iter().map(|(name, nodes)| (name.as_str(), *nodes));
    let board_height = board::height(&board_pools, sizes);
    let said = status_sentence(&job, waits.as_ref().and_then(|it| it.as_ref().ok()));
    let (filled, wrong) = refused.unzip();
    let change = match filled {
        None if job.waits_here() && job.booking.is_none() => {
            Some(change::present(context, caller, number).await?)
        }
        filled => filled,
    };
    Ok(JobPage {
        shell,
        facts,
        waits,
        others,
        output: written,
        errors,
        script,
        said,
        board_pools,
        board_height,
        change,
        wrong,
        job,
    })
}

/// Where it is, was or could be; if it is unknown, where it might.
fn pools(job: &Job, others: &[Alternative], facts: &Facts) -> String {
    let booked = job.booking.iter().flat_map(|it| it.pools.clone());
    // As its lane is called.
    let away = job.peer.iter().map(|name| format!("at {name}"));
    let known = job.parts.iter().map(|part| part.pool.clone()).chain(booked).chain(away);
    let of_others = alternatives::pools(others);
    let of_others = of_others.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
    let mut names: Vec<String> = known.chain(of_others).collect();
    if names.is_empty() {
        let rows = facts.considered.iter().flat_map(|it| &it.rows);
        let suited = rows.map(|row| row.pool.pool.clone());
        names.extend(suited);
    }
    names.sort();
    names.dedup();
    names.join(",")
}

/// The end of what it has written, if it writes that at all.
async fn output(
    context: &Context,
    caller: &Caller,
    facts: &Facts,
    stream: Stream,
) -> Option<Result<String, String>> {
    let apart = |it: &&Source| stream == Stream::Output || it.is_apart;
    let source = facts.source.as_ref().filter(apart)?;
    let wanted = Excerpt { stream, from: None, most: OUTPUT };
    let read = source.read(context, caller, wanted).await.and_then(|it| it);
    let text = read.map(|it| String::from_utf8_lossy(&it.bytes).into_owned());
    Some(text.map_err(|it| it.parts().1.message.clone()))
}

async fn explained(context: &Context, caller: Caller, number: u64) -> Result<Explanation, String> {
    let told: Answer<_> = advice::explain(State(context.clone()), caller, At(number)).await;
    told.map(|it| it.0).map_err(|failure| failure.parts().1.message.clone())
}

/// What is to be done with it.
#[derive(Debug, Deserialize)]
pub(crate) struct ActionForm {
    act: String,
    #[serde(flatten)]
    change: ChangeForm,
}

/// Cancels, holds, releases, requeues or changes it.
pub(crate) async fn act(
    State(context): State<Context>,
    caller: Caller,
    At(job): At<u64>,
    Form(ActionForm { act, change: wanted }): Form<ActionForm>,
) -> PageResult {
    if act == "change" {
        return match change::change(&context, &caller, (job, &wanted)).await {
            Ok(()) => Ok(go(&format!("/jobs/{job}"))),
            Err(failure) => {
                let status = failure.parts().0;
                let refused = Some((wanted, failure));
                Ok(page(&shown(&context, &caller, job, refused).await?)?.at(status))
            }
        };
    }
    let ask = match act.as_str() {
        "cancel" => Ask::Cancel { job },
        "hold" => Ask::Hold { job },
        "release" => Ask::Release { job },
        "requeue" => Ask::Requeue { job },
        _ => return Err(ErrorResponse::malformed("a job has no such action", "").into()),
    };
    context.ask(caller.actor, ask).await?;
    Ok(go(&format!("/jobs/{job}")))
}
