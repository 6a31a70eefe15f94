//! The pages: the market as people look at it.
//!
//! Every page is made here as a whole, from the same state and the same views as the API's
//! documents; forms work without scripts. Scripts (`assets/`, our own, embedded) add what moves:
//! the timeline, live updates, local times. Nothing is fetched from elsewhere, and the policy that
//! is sent along forbids it.

mod access;
mod admin;
mod alternatives;
mod assets;
mod board;
mod breakdown;
mod bulk;
mod cache;
mod census;
mod change;
mod chart;
mod choice;
mod clock;
mod considered;
mod curve;
mod help;
mod job;
mod jobs;
mod ledger;
mod mark;
mod market;
mod next;
mod now;
mod output;
mod peers;
mod policy;
mod prices;
mod projects;
mod provider;
mod quote;
mod recent;
mod reply;
mod runs;
mod scene;
mod session;
mod shadow;
mod shell;
mod spending;
#[cfg(debug_assertions)]
mod styleguide;
mod submit;
mod timeline_api;
mod trial;
mod words;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::net::SocketAddr;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use crate::context::Context;
use crate::failure::ErrorResponse;
use crate::guard;
use cache::PageContext;
use reply::Trouble;

/// What a page may do: use what comes from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// Reads what may be in a field or the address of a page: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(text: &str) {
    let _ = (clock::clock(text), clock::instant(text, &jiff::tz::TimeZone::UTC));
    let _ = (timeline_api::windows(text), prices::price(text));
}

/// Where there is no page: as a page to browsers, and else as the API does.
pub(crate) async fn nowhere(headers: HeaderMap) -> Response {
    let kinds = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    match kinds.contains("text/html") {
        true => Trouble::from(ErrorResponse::unknown("there is no such page")).into_response(),
        false => {
            ErrorResponse::unknown("there is nothing here; see `/openapi.json`").into_response()
        }
    }
}

/// The routes of all pages.
pub(crate) fn router(context: &Context) -> Router<Context> {
    let inside = Router::new()
        .route("/", get(now::show))
        .route("/jobs", get(jobs::show).post(bulk::act))
        .route("/jobs/{id}", get(job::show).post(job::act))
        .route("/jobs/{id}/output", get(output::show))
        .route("/jobs/{id}/output/file", get(output::file))
        .route("/submit", get(submit::form).post(submit::act))
        .route("/quote", get(quote::form).post(quote::asked))
        .route("/market", get(market::show).post(prices::set))
        .route("/ledger", get(ledger::show))
        .route("/ledger.csv", get(ledger::csv))
        .route("/spending", get(spending::show))
        .route("/spending.csv", get(spending::csv))
        .route("/admin", get(admin::show).post(admin::act))
        .route("/help", get(help::show))
        .route("/projects", get(projects::show).post(projects::change))
        .route("/policy", get(policy::show).post(policy::switch))
        .route("/shadow", get(shadow::show))
        .route("/peers", get(peers::show))
        .route("/access", get(access::show_all).post(access::end))
        .route("/page/board", get(timeline_api::frame))
        .route("/page/board/picture", get(timeline_api::picture))
        .route("/page/board/digest", get(timeline_api::digest))
        .route("/page/board/places", get(timeline_api::places));
    // For those who change the pages.
    #[cfg(debug_assertions)]
    let inside = inside.route("/styleguide", get(styleguide::show));
    let inside = inside.route_layer(from_fn_with_state(context.clone(), guard));
    Router::new()
        .route("/signin", get(session::form).post(session::begin))
        .route("/signin/oidc", get(provider::begin))
        .route(crate::oidc::Oidc::BACK, get(provider::back))
        .route("/signout", post(session::end))
        .route("/assets/{version}/{*name}", get(assets::file))
        .merge(inside)
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(from_fn(guarded))
        .with_state(PageContext::new(context.clone()))
}

/// Admits signed-in users only.
async fn guard(
    State(context): State<Context>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let entered = guard::enter(&context, peer, request.method(), request.headers()).await;
    match entered {
        Ok(caller) => guard::told(&context, caller, request, next).await,
        Err(failure) if failure.is_unauthorized() => session::to_the_door(request.uri()),
        Err(failure) => Trouble::from(failure).into_response(),
    }
}

/// What scripts ask; they read the API's documents.
const ASKED_BY_SCRIPTS: &str = "/page/";

async fn guarded(request: Request, next: Next) -> Response {
    let is_page = !request.uri().path().starts_with(ASKED_BY_SCRIPTS);
    let mut response = next.run(request).await;
    // Of an address that cannot be read, too, a page says so.
    if let Some(failure) = response.extensions_mut().remove::<ErrorResponse>().filter(|_| is_page) {
        response = Trouble::from(failure.clone()).into_response();
        response.extensions_mut().insert(failure);
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}
