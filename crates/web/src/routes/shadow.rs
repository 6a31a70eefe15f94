//! What was seen of clusters that are only observed.

use axum::Json;
use axum::extract::State;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::Shadow;
use crate::failure::{Answer, ErrorResponse};
use crate::views::shadow;

/// Forecasts of starts on observed clusters, and what came of them; use and waits there.
/// Administrators may.
#[utoipa::path(
    get, path = "/v1/shadow", tag = "sites", operation_id = "show_shadow",
    responses((status = 200, description = "errors of forecasts, use, waits", body = Shadow), Refusals),
)]
pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> Answer<Json<Shadow>> {
    document(&context, &caller).await.map(Json)
}

/// What was seen.
///
/// # Errors
/// If the caller is no administrator.
pub(crate) async fn document(context: &Context, caller: &Caller) -> Answer<Shadow> {
    if !caller.actor.may_act_for("") {
        return Err(ErrorResponse::forbidden("only an administrator may see this"));
    }
    let observations = context.observations.clone();
    blocking(move || shadow::document(observations.summary())).await
}
