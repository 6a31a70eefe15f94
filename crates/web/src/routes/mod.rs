//! The paths, and who answers on each.

pub(crate) mod accounts;
pub(crate) mod advice;
pub(crate) mod audit;
pub(crate) mod events;
pub(crate) mod handover;
pub(crate) mod import;
pub(crate) mod jobs;
mod leftover;
pub(crate) mod market;
pub(crate) mod open;
pub mod openapi;
pub(crate) mod output;
pub(crate) mod peers;
pub(crate) mod projects;
pub(crate) mod sessions;
pub(crate) mod shadow;
pub(crate) mod sign_in;
pub(crate) mod sites;
pub(crate) mod standby;
pub(crate) mod submission;
pub(crate) mod submit;
pub(crate) mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use tower_http::catch_panic::CatchPanicLayer;

use crate::context::Context;
use crate::failure::ErrorResponse;
use crate::guard;
use crate::metrics::Request as Label;
use crate::notes;

/// Most entries of a page, and the default.
const PAGE: (usize, usize) = (1_000, 100);

/// Browsers that have been here once come back encrypted for a year.
const ALWAYS_ENCRYPTED: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Number of entries a page has.
fn page(limit: Option<u32>) -> Result<usize, ErrorResponse> {
    let (max, usual) = PAGE;
    let limit = limit.map_or(usual, |limit| limit as usize);
    match (1..=max).contains(&limit) {
        true => Ok(limit),
        false => {
            let message = format!("a page has 1 to {max} entries");
            Err(ErrorResponse::malformed(message, "ask for the rest with `after`")
                .in_field("limit"))
        }
    }
}

/// The routes of the API, the pages and the files.
pub(crate) fn router(context: &Context) -> Router {
    let guarded = guarded().route_layer(from_fn_with_state(context.clone(), guard::guard));
    let metrics = Router::new()
        .route("/metrics", get(open::metrics))
        .route_layer(from_fn_with_state(context.clone(), guard::guard_metrics));
    Router::new()
        .route("/healthz", get(open::healthy))
        .route("/readyz", get(open::ready))
        .route("/openapi.json", get(open::openapi))
        .route("/v1/sign-in", get(sign_in::ways))
        .route("/v1/sign-in/device", post(sign_in::begin))
        .route("/v1/sign-in/device/token", post(sign_in::end))
        .merge(metrics)
        .merge(guarded)
        .merge(crate::page::router(context))
        .fallback(crate::page::nowhere)
        .method_not_allowed_fallback(async || {
            let (status, hint) = (StatusCode::METHOD_NOT_ALLOWED, "see `/openapi.json`");
            ErrorResponse::new(status, "method", "this path knows no such method", hint)
        })
        .layer(CatchPanicLayer::custom(caught))
        .layer(from_fn_with_state(context.clone(), guard::guard_host))
        .layer(from_fn_with_state(context.clone(), leftover::read_on))
        .layer(from_fn_with_state(context.clone(), count))
        .with_state(context.clone())
}

fn guarded() -> Router<Context> {
    Router::new()
        .route("/v1/me", get(tokens::me))
        .route("/v1/jobs", post(submit::submit).get(jobs::list))
        .route("/v1/jobs/{id}", get(jobs::show).delete(jobs::cancel))
        .route("/v1/jobs/{id}/hold", post(jobs::hold))
        .route("/v1/jobs/{id}/release", post(jobs::release))
        .route("/v1/jobs/{id}/requeue", post(jobs::requeue))
        .route("/v1/jobs/{id}/update", post(jobs::update))
        .route("/v1/jobs/{id}/settle", post(peers::settle))
        .route("/v1/jobs/{id}/output", get(output::output))
        .route("/v1/jobs/{id}/wait", get(jobs::wait))
        .route("/v1/jobs/{id}/explain", get(advice::explain))
        .route("/v1/sites", get(sites::list))
        .route("/v1/sites/{site}/pools/{pool}/price", put(sites::price))
        .route("/v1/sites/{site}/reclaim", post(sites::reclaim))
        .route("/v1/accounts", get(accounts::list))
        .route("/v1/accounts/{account}", get(accounts::statement))
        .route("/v1/accounts/{account}/budget", get(accounts::show_budget).put(accounts::budget))
        .route("/v1/transfers", post(accounts::transfer))
        .route("/v1/import", post(import::import))
        .route("/v1/export", get(import::export))
        .route("/v1/usage", get(import::used))
        .route("/v1/projects", get(projects::list).post(projects::create))
        .route("/v1/projects/{project}", get(projects::show))
        .route("/v1/projects/{project}/limits", put(projects::limit))
        .route("/v1/projects/{project}/members/{user}", put(projects::add).delete(projects::remove))
        .route("/v1/tokens", get(tokens::list).post(tokens::issue))
        .route("/v1/tokens/{id}", delete(tokens::revoke))
        .route("/v1/tokens/{id}/rotate", post(tokens::rotate))
        .route("/v1/sessions", get(sessions::list))
        .route("/v1/sessions/{id}", delete(sessions::end))
        .route("/v1/market", get(market::show))
        .route("/v1/market/policy", put(market::policy))
        .route("/v1/handover", post(handover::hand_over))
        .route("/v1/report", get(market::report))
        .route("/v1/audit", get(audit::list))
        .route("/v1/shadow", get(shadow::show))
        .route("/v1/quotes", post(advice::quote))
        .route("/v1/whatif", post(advice::whatif))
        .route("/v1/events", get(events::stream))
        .route("/v1/peers", get(peers::list))
        .route("/v1/peers/letters", post(peers::letters))
        .route("/v1/peers/jobs", post(peers::jobs))
        .route("/v1/peers/output", post(peers::output))
}

/// Counts and logs requests, and says what browsers must not do with the answers. Of headers and
/// bodies nothing is logged: there are secrets in them.
async fn count(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let busy = context.auth.places.begin(peer).map(Arc::new);
    // A stream of events holds it until it ends: its connection is not idle.
    if let Some(busy) = busy.clone() {
        request.extensions_mut().insert(busy);
    }
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|it| it.as_str().to_owned());
    let wanted = request.uri().path_and_query().map(|it| it.as_str().to_owned());
    let mut response = next.run(request).await;
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        // A client that does not wait as asked is delayed: else refusing would be all that is done.
        tokio::time::sleep(guard::DELAY).await;
    }
    let failure = response.extensions_mut().remove::<ErrorResponse>();
    let took = begin.elapsed();
    let route = route.unwrap_or_else(|| "none".to_owned());
    standby::mark(&context, &mut response, failure.as_ref(), wanted.as_deref());
    let (named, status) = (method_name(&method), response.status().as_u16());
    if let Some(failure) = failure {
        notes::refused(&context.audit, &failure, peer.ip(), (&named, &route));
    }
    tracing::debug!(%method, route, status, took_us = took.as_micros(), "answered");
    context.metrics.request_time.observe(took.as_secs_f64());
    let label = Label { method: named, route, status };
    context.metrics.requests.get_or_create(&label).inc();
    let headers = response.headers_mut();
    let kept = headers.entry(header::CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
    if context.auth.ours.is_encrypted() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, ALWAYS_ENCRYPTED);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Methods that a client invents would make as many counters.
fn method_name(method: &axum::http::Method) -> String {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    let known = known.into_iter().find(|it| *it == method.as_str());
    known.unwrap_or("other").to_owned()
}

/// An internal error: the caller learns where to find it in the log.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
fn caught(panic: Box<dyn std::any::Any + Send>) -> Response {
    use std::hash::{BuildHasher, RandomState};
    let id = RandomState::new().hash_one(std::time::SystemTime::now());
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
    tracing::error!(id = format!("{id:016x}"), text, "a handler panicked");
    ErrorResponse::internal(id).into_response()
}
