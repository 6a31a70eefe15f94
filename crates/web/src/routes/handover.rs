//! The market is given to another daemon.

use axum::Json;
use axum::extract::State;
use tradewind_daemon::audit::AuditKind;

use super::openapi::Refusals;
use super::standby::standing;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::Standby;
use crate::failure::{Answer, ErrorResponse};

/// Gives the market up, for a standby to own it: administrators may. The answer comes once all that
/// was accepted is written down and no order is on its way; this daemon is a standby then.
#[utoipa::path(
    post, path = "/v1/handover", tag = "market", operation_id = "hand_over",
    responses((status = 200, description = "how it stands now", body = Standby), Refusals),
)]
pub(crate) async fn hand_over(
    State(context): State<Context>,
    caller: Caller,
) -> Answer<Json<Standby>> {
    if !caller.actor.may_act_for("") {
        return Err(ErrorResponse::forbidden("only an administrator may do this"));
    }
    let market = context.market.clone();
    let given = blocking(move || market.hand_over()).await?;
    let outcome = given.as_ref().map_or_else(ToString::to_string, |()| "done".to_owned());
    context.audit.note(&caller.actor.user, AuditKind::Rights, "the market given up", outcome);
    given?;
    Ok(Json(standing(&context).unwrap_or_default()))
}
