//! What needs no token on this machine.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::openapi::{self, Refusals};
use crate::context::Context;
use crate::documents::Health;
use crate::failure::{Answer, ErrorResponse};
use crate::metrics;

/// How long the market may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "open", operation_id = "health", security(()),
    responses((status = 200, description = "it does", body = Health)),
)]
pub(crate) async fn healthy() -> Json<Health> {
    Json(Health { status: "ok".to_owned() })
}

/// Whether the market answers; `read-only` if it can only be read, since its disk is full;
/// `standby` if another daemon owns it.
#[utoipa::path(
    get, path = "/readyz", tag = "open", operation_id = "readiness", security(()),
    responses(
        (status = 200, description = "it does", body = Health),
        (status = 503, description = "not now", body = crate::documents::Failure),
    ),
)]
pub(crate) async fn ready(State(context): State<Context>) -> Answer<Json<Health>> {
    let look = tokio::time::timeout(PATIENCE, context.look(|live| live.state().is_gridded()));
    match look.await {
        Ok(Ok(true)) => {
            let gauges = context.market.gauges();
            let status = match gauges.is_read_only() {
                _ if gauges.standing().is_some() => "standby",
                true => "read-only",
                false => "ok",
            };
            Ok(Json(Health { status: status.to_owned() }))
        }
        Ok(Ok(false)) => Err(ErrorResponse::unavailable("there are no sites yet")),
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(ErrorResponse::unavailable("the market does not answer")),
    }
}

/// Numbers for Prometheus: without a token on this machine, from elsewhere for administrators.
#[utoipa::path(
    get, path = "/metrics", tag = "open", operation_id = "metrics",
    security((), ("token" = [])),
    responses(
        (status = 200, description = "in OpenMetrics' text format", body = String,
            content_type = "application/openmetrics-text"),
        Refusals,
    ),
)]
pub(crate) async fn metrics(State(context): State<Context>) -> Answer<Response> {
    let text = metrics::scrape(&context).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// This description.
#[utoipa::path(
    get, path = "/openapi.json", tag = "open", operation_id = "openapi", security(()),
    responses((status = 200, description = "OpenAPI 3.1")),
)]
pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::text()).into_response()
}
