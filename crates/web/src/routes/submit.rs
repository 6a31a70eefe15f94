//! Handing jobs in.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tradewind_daemon::live::{Ask, Live, Reply};
use utoipa::IntoParams;

use super::openapi::{Refusals, Work};
use super::submission;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::Submitted;
use crate::extract::{self, Selection};
use crate::failure::{Answer, ErrorResponse};

/// The longest `Idempotency-Key`.
const MAX_KEY: usize = 128;

/// Parameters of the URL for submissions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SubmitParams {
    /// The quote that is accepted: its price and start, or nothing.
    quote: Option<u64>,
}

/// Hands a job in, or an array of jobs. The answer comes when it is safe on disk.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", operation_id = "submit_job", params(
        SubmitParams,
        ("Idempotency-Key" = Option<String>, Header,
            min_length = 1, max_length = 128,
            description = "the same key again gives the same jobs, and changes nothing; with \
                           another submission it is refused"),
    ),
    request_body(content = Work, description = "every field spelt out; or with `options`, a script"),
    responses((status = 201, description = "taken on", body = Submitted), Refusals),
)]
pub(crate) async fn submit(
    State(context): State<Context>,
    caller: Caller,
    Selection(how): Selection<SubmitParams>,
    headers: HeaderMap,
    _: extract::Submitting,
    body: extract::Large,
) -> Answer<(StatusCode, Json<Submitted>)> {
    let done = take_on(&context, caller, &how, &headers, body).await;
    let done = done.inspect_err(|_| {
        context.metrics.refusals.inc();
    })?;
    Ok((StatusCode::CREATED, Json(done)))
}

async fn take_on(
    context: &Context,
    caller: Caller,
    how: &SubmitParams,
    headers: &HeaderMap,
    body: extract::Large,
) -> Answer<Submitted> {
    let key = key(headers)?;
    let (submission, mut warnings) = submission::read_large(context, &body).await?;
    let quote = how.quote.or(submission.quote);
    let ask = Ask::Submit { submission: Arc::new(submission), key, quote };
    match context.ask(caller.actor, ask).await? {
        Reply::Jobs(jobs) => {
            if let Some(&first) = jobs.first() {
                let told = move |live: &Live| {
                    let more = [live.slots_for_nodes(first), live.unknown_peers(first)];
                    (live.left_out(first), more)
                };
                let (left_out, more) = context.look(told).await?;
                warnings.extend(left_out.into_iter().map(|why| format!("left out: {why}")));
                warnings.extend(more.into_iter().flatten());
            }
            Ok(Submitted { jobs, warnings })
        }
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

fn key(headers: &HeaderMap) -> Answer<Option<String>> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let text = key.to_str().ok().map(str::trim);
    let text = text.filter(|text| (1..=MAX_KEY).contains(&text.len()));
    let text = text.ok_or_else(|| {
        let message = format!("the key is not 1 to {MAX_KEY} printable characters");
        ErrorResponse::malformed(message, "a random UUID will do").in_field("Idempotency-Key")
    })?;
    Ok(Some(text.to_owned()))
}
