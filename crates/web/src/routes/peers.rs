//! Other markets: what is known of them, and what they say.

use axum::Json as Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tradewind_daemon::codec::CodecError;
use tradewind_daemon::codec::peers::{Answers, Glance, Post, Questions};
use tradewind_daemon::live::peers::{Receipts, RemoteStatus, StatusQuery};
use tradewind_daemon::live::rights::Role;
use tradewind_daemon::live::state::jobs::Settlement;
use tradewind_daemon::live::{Ask, Reply};
use tradewind_daemon::site::Excerpt;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{
    PeerAnswers, PeerGlance, PeerLetters, PeerList, PeerQuestions, PeerSettled, PeerSettlement,
};
use crate::extract::{At, Document, Json};
use crate::failure::{Answer, ErrorResponse};
use crate::receipts::ReceiptKey;
use crate::routes::output as output_routes;
use crate::views::peers;

/// Markets that jobs are exchanged with.
#[utoipa::path(
    get, path = "/v1/peers", tag = "peers", operation_id = "list_peers",
    responses((status = 200, description = "all that were ever configured", body = PeerList), Refusals),
)]
pub(crate) async fn list(State(context): State<Context>, caller: Caller) -> Answer<Body<PeerList>> {
    let mut list = context.look(move |live| peers::list(live, &caller.actor)).await?;
    list.receipt_key = context.operations.receipt_key().map(ReceiptKey::public);
    Ok(Body(list))
}

/// Ends the doubt about a job that is at a peer which does not answer, or is not in the configuration
/// any more. Administrators may. Without `confirmed` it is only said what would follow.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/settle", tag = "peers", operation_id = "settle_job",
    params(("id" = u64, Path, description = "the job")), request_body = PeerSettlement,
    responses((status = 200, description = "what follows", body = PeerSettled), Refusals),
)]
pub(crate) async fn settle(
    State(context): State<Context>,
    caller: Caller,
    At(job): At<u64>,
    Document(asked): Document<PeerSettlement>,
) -> Answer<Body<PeerSettled>> {
    if caller.actor.role != Role::Administrator {
        return Err(ErrorResponse::forbidden("only an administrator may do this"));
    }
    let unknown = || {
        let message = format!("there is no outcome `{}`", asked.outcome);
        ErrorResponse::malformed(message, "there are: lost, ran").in_field("outcome")
    };
    let outcome = Settlement::of(&asked.outcome).ok_or_else(unknown)?;
    let told =
        context.look(move |live| live.settlement(present(live.state()), job, outcome)).await?;
    let message = told.map_err(ErrorResponse::from)?;
    if asked.confirmed {
        context.ask(caller.actor, Ask::SettleAway { job, outcome }).await?;
    }
    Ok(Body(PeerSettled { job, done: asked.confirmed, message }))
}

/// Letters of another market: peers may. What they lead to is written down before the answer.
#[utoipa::path(
    post, path = "/v1/peers/letters", tag = "peers", operation_id = "hear_letters",
    request_body = PeerLetters,
    responses((status = 204, description = "heard, each letter on its own"), Refusals),
)]
pub(crate) async fn letters(
    State(context): State<Context>,
    caller: Caller,
    Json(bytes): Json,
) -> Answer<StatusCode> {
    let post = Post::read(value(&bytes)?).map_err(|wrong| invalid(&wrong))?;
    let Post { market, sent, letters, .. } = post;
    context.ask(caller.actor, Ask::Letters { market, sent, letters }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What happened to jobs that came from another market; those that it wants stopped are stopped.
/// Peers may.
#[utoipa::path(
    post, path = "/v1/peers/jobs", tag = "peers", operation_id = "report_jobs",
    request_body = PeerQuestions,
    responses((status = 200, description = "of each", body = PeerAnswers), Refusals),
)]
pub(crate) async fn jobs(
    State(context): State<Context>,
    caller: Caller,
    Json(bytes): Json,
) -> Answer<Response> {
    let questions = Questions::read(value(&bytes)?).map_err(|wrong| invalid(&wrong))?;
    let Questions { market, jobs: wanted, .. } = questions;
    match context.ask(caller.actor, Ask::Report { market: market.clone(), wanted }).await? {
        Reply::Reports(mut jobs) => {
            match context.operations.receipt_key() {
                Some(key) => jobs.iter_mut().for_each(|report| key.sign(&market, report)),
                None => jobs.iter_mut().for_each(|report| unsigned(&mut report.fate)),
            }
            let kind = [(header::CONTENT_TYPE, "application/json")];
            Ok((kind, Answers { jobs }.bytes()).into_response())
        }
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

/// A part of what a job that came from another market has written: the end, or what is behind a
/// place. Peers may.
#[utoipa::path(
    post, path = "/v1/peers/output", tag = "peers", operation_id = "show_peer_output",
    request_body = PeerGlance,
    responses(
        (status = 200, description = "the bytes as they are", body = String, content_type = "text/plain",
            headers(
                ("tradewind-output-from" = u64, description = "where the bytes begin in the file"),
                ("tradewind-output-size" = u64, description = "how long the file was, bytes"),
            )),
        Refusals,
    ),
)]
pub(crate) async fn output(
    State(context): State<Context>,
    caller: Caller,
    Json(bytes): Json,
) -> Answer<Response> {
    if caller.actor.role != Role::Peer {
        return Err(ErrorResponse::forbidden("only a peer may do this"));
    }
    let user = caller.actor.user.clone();
    let Glance { job, transfer, bytes, from, stream, .. } =
        Glance::read(value(&bytes)?).map_err(|wrong| invalid(&wrong))?;
    let found = context.look(move |live| {
        let state = live.state();
        let wanted = StatusQuery { job, transfer, cancel: false, receipt: Receipts::Unasked };
        let guest = state.guest_of(&caller.actor.user, &wanted)?;
        let part = guest.parts().first()?;
        Some((state.site_of(part.pool), guest.tag(&state.name, 0)))
    });
    let nothing = || ErrorResponse::unknown("there is no such job, or it has not begun");
    let (site, tag) = found.await?.ok_or_else(nothing)?;
    let max = (bytes as usize).clamp(1, output_routes::OUTPUT.0);
    let permit = context.may_read(&user)?;
    let outputs = std::sync::Arc::clone(&context.outputs);
    let wanted = Excerpt { stream, from, most: max };
    let found = blocking(move || outputs.read(site, &tag, wanted, permit)).await?;
    output_routes::told(found)
}

/// A market without a key signs nothing.
fn unsigned(fate: &mut RemoteStatus) {
    if let RemoteStatus::There(news) = fate {
        news.receipt = None;
    }
}

fn value(bytes: &[u8]) -> Answer<Value> {
    serde_json::from_slice(bytes).map_err(|wrong| {
        ErrorResponse::malformed(format!("not JSON: {wrong}"), "see the API's document")
    })
}

fn invalid(wrong: &CodecError) -> ErrorResponse {
    ErrorResponse::invalid(
        wrong.to_string(),
        "see docs/reference/peers.md; are both of the same release?",
    )
}
