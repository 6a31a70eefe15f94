//! The market as a whole.

use axum::Json;
use axum::extract::State;
use tradewind_daemon::live::Ask;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::store::sqlite::Damage;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Market, PolicyChoice, Report};
use crate::extract::Document;
use crate::failure::{Answer, ErrorResponse};
use crate::views::{market, reports};

/// The longest name of a policy.
const MAX_POLICY: usize = 500;

/// The market as a whole: public for all users.
#[utoipa::path(
    get, path = "/v1/market", tag = "market", operation_id = "show_market",
    responses((status = 200, description = "policy, time, totals", body = Market), Refusals),
)]
pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> Answer<Json<Market>> {
    document(&context, &caller.actor).await.map(Json)
}

/// Has another policy decide from now on: administrators may.
#[utoipa::path(
    put, path = "/v1/market/policy", tag = "market", operation_id = "set_policy", request_body = PolicyChoice,
    responses((status = 200, description = "as it is now", body = Market), Refusals),
)]
pub(crate) async fn policy(
    State(context): State<Context>,
    caller: Caller,
    Document(PolicyChoice { policy }): Document<PolicyChoice>,
) -> Answer<Json<Market>> {
    if policy.is_empty() || policy.len() > MAX_POLICY {
        let message = "this is no name of a policy";
        return Err(ErrorResponse::invalid(message, "`simulate --help` has all").in_field("policy"));
    }
    let actor = caller.actor.clone();
    context.ask(caller.actor, Ask::Policy { policy }).await.map_err(|it| it.in_field("policy"))?;
    document(&context, &actor).await.map(Json)
}

/// What users and sites did, by the jobs that are kept.
#[utoipa::path(
    get, path = "/v1/report", tag = "market", operation_id = "show_report",
    responses((status = 200, description = "per user and per site", body = Report), Refusals),
)]
pub(crate) async fn report(State(context): State<Context>, caller: Caller) -> Answer<Json<Report>> {
    context.look(move |live| reports::report(live.state(), &caller.actor)).await.map(Json)
}

/// The market as it is now.
async fn document(context: &Context, actor: &Actor) -> Answer<Market> {
    let gauges = context.market.gauges();
    let read_only = gauges.is_read_only();
    let damage = match actor.role {
        Role::Administrator => gauges.damage().iter().map(in_words).collect(),
        Role::User | Role::Owner | Role::Peer => Vec::new(),
    };
    let market = context.look(|live| market::market(live.state())).await?;
    let standby = super::standby::standing(context);
    Ok(Market { read_only: read_only.then_some(true), standby, damage, ..market })
}

fn in_words(damage: &Damage) -> String {
    let Damage { path, row, what } = damage;
    format!("{path}, row {row}: {what}")
}
