//! Other markets: what is known of them, and what they say.

use axum::Json as Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tradewind_daemon::codec::CodecError;
use tradewind_daemon::codec::peers::{Answers, Glance, Post, Questions};
use tradewind_daemon::live::peers::StatusQuery;
use tradewind_daemon::live::rights::Role;
use tradewind_daemon::live::{Ask, Reply};
use tradewind_daemon::site::Excerpt;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::{PeerAnswers, PeerGlance, PeerLetters, PeerList, PeerQuestions};
use crate::extract::Json;
use crate::failure::{Answer, Failure};
use crate::routes::output as output_routes;
use crate::views::peers;

/// Markets that jobs are exchanged with.
#[utoipa::path(
    get, path = "/v1/peers", tag = "peers", operation_id = "list_peers",
    responses((status = 200, description = "all that were ever configured", body = PeerList), Refusals),
)]
pub(crate) async fn list(State(context): State<Context>, caller: Caller) -> Answer<Body<PeerList>> {
    context.look(move |live| peers::list(live, &caller.actor)).await.map(Body)
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
    match context.ask(caller.actor, Ask::Report { market, wanted }).await? {
        Reply::Reports(jobs) => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            Ok((kind, Answers { jobs }.bytes()).into_response())
        }
        _ => Err(Failure::unavailable("the market said nothing")),
    }
}

/// The end of what a job that came from another market has written. Peers may.
#[utoipa::path(
    post, path = "/v1/peers/output", tag = "peers", operation_id = "show_peer_output",
    request_body = PeerGlance,
    responses(
        (status = 200, description = "the bytes as they are", body = String, content_type = "text/plain"),
        Refusals,
    ),
)]
pub(crate) async fn output(
    State(context): State<Context>,
    caller: Caller,
    Json(bytes): Json,
) -> Answer<Response> {
    if caller.actor.role != Role::Peer {
        return Err(Failure::forbidden("only a peer may do this"));
    }
    let user = caller.actor.user.clone();
    let Glance { job, transfer, bytes, .. } =
        Glance::read(value(&bytes)?).map_err(|wrong| invalid(&wrong))?;
    let found = context.look(move |live| {
        let state = live.state();
        let wanted = StatusQuery { job, transfer, cancel: false };
        let guest = state.guest_of(&caller.actor.user, &wanted)?;
        let part = guest.parts().first()?;
        Some((state.site_of(part.pool), guest.tag(&state.name, 0)))
    });
    let nothing = || Failure::unknown("there is no such job, or it has not begun");
    let (site, tag) = found.await?.ok_or_else(nothing)?;
    let max = (bytes as usize).clamp(1, output_routes::OUTPUT.0);
    let permit = context.may_read(&user)?;
    let outputs = std::sync::Arc::clone(&context.outputs);
    let wanted = Excerpt::last(max);
    let found = blocking(move || outputs.read(site, &tag, wanted, permit)).await?;
    output_routes::told(found.map(|it| it.bytes))
}

fn value(bytes: &[u8]) -> Answer<Value> {
    serde_json::from_slice(bytes)
        .map_err(|wrong| Failure::malformed(format!("not JSON: {wrong}"), "see the API's document"))
}

fn invalid(wrong: &CodecError) -> Failure {
    Failure::invalid(
        wrong.to_string(),
        "see docs/reference/peers.md; are both of the same release?",
    )
}
