//! Sites and their prices.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use tradewind_daemon::live::input::Reclaim;
use tradewind_daemon::live::{Ask, Reply};
use tradewind_model::{PoolId, Span};

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::{PriceChange, ReclaimOrder, Reclaimed, SiteList};
use crate::extract::{At, Document};
use crate::failure::{Answer, ErrorResponse};
use crate::views::{jobs::site_name, sites};

/// All sites: they are public.
#[utoipa::path(
    get, path = "/v1/sites", tag = "sites", operation_id = "list_sites",
    responses((status = 200, description = "all sites with their pools", body = SiteList), Refusals),
)]
pub(crate) async fn list(State(context): State<Context>, caller: Caller) -> Answer<Json<SiteList>> {
    all(&context, &caller).await
}

async fn all(context: &Context, caller: &Caller) -> Answer<Json<SiteList>> {
    let actor = caller.actor.clone();
    let list = move |live: &_| sites::for_reader(sites::list_now(live), live.state(), &actor);
    let list = context.look(list).await?;
    Ok(Json(sites::counted(list, context.market.gauges(), &caller.actor)))
}

/// Sets what a pool costs: its owner and administrators may. An empty document brings the
/// configuration's prices back. Running jobs keep the price that they agreed on.
#[utoipa::path(
    put, path = "/v1/sites/{site}/pools/{pool}/price", tag = "sites", operation_id = "set_price",
    params(
        ("site" = String, Path, description = "the site"),
        ("pool" = String, Path, description = "the pool's name at its site"),
    ),
    request_body = PriceChange,
    responses((status = 200, description = "all sites; prices follow in a second", body = SiteList), Refusals),
)]
pub(crate) async fn price(
    State(context): State<Context>,
    caller: Caller,
    At((site, pool)): At<(String, String)>,
    Document(change): Document<PriceChange>,
) -> Answer<Json<SiteList>> {
    let text = tariff(&change)?;
    let id = find(&context, &site, &pool).await?;
    if let Some(text) = &text {
        let (tariffs, text) = (Arc::clone(&context.tariffs), text.clone());
        let field = if change.price.is_some() { "price" } else { "tariff" };
        let sound = blocking(move || tariffs.check(id, &text)).await?;
        sound.map_err(|wrong| ErrorResponse::invalid(wrong, "see `price`").in_field(field))?;
    }
    context.ask(caller.actor.clone(), Ask::Tariff { pool: id, text }).await?;
    all(&context, &caller).await
}

/// Takes nodes back from preemptible jobs: the site's owner and administrators may. Free nodes are taken
/// first, then those of the jobs that started last, after their notice.
#[utoipa::path(
    post, path = "/v1/sites/{site}/reclaim", tag = "sites", operation_id = "reclaim_nodes",
    params(("site" = String, Path, description = "the site")),
    request_body = ReclaimOrder,
    responses((status = 200, description = "which jobs are given notice", body = Reclaimed), Refusals),
)]
pub(crate) async fn reclaim(
    State(context): State<Context>,
    caller: Caller,
    At(site): At<String>,
    Document(order): Document<ReclaimOrder>,
) -> Answer<Json<Reclaimed>> {
    let length = order.length.map_or(Reclaim::USUAL, Span);
    let ReclaimOrder { nodes, pool, notice, dry_run, .. } = order;
    let wanted = Reclaim { site, pool, nodes, notice: notice.map(Span), length };
    let (jobs, from) = match dry_run {
        true => {
            let actor = caller.actor.clone();
            let plan =
                context.look(move |live| live.reclaim_plan(live.state().now(), &actor, &wanted));
            let plan = plan.await??;
            (plan.jobs, plan.from)
        }
        false => match context.ask(caller.actor, Ask::Reclaim(wanted)).await? {
            Reply::Reclaimed { jobs, from } => (jobs, from),
            _ => return Err(ErrorResponse::unknown("nothing was taken")),
        },
    };
    Ok(Json(Reclaimed { jobs, from: from.0, until: (from + length).0 }))
}

/// The table in TOML that the change asks for.
pub(crate) fn tariff(change: &PriceChange) -> Answer<Option<String>> {
    match (&change.price, &change.tariff) {
        (Some(_), Some(_)) => {
            let hint = "keep one of them";
            Err(ErrorResponse::invalid("both `price` and `tariff`", hint).in_field("tariff"))
        }
        (Some(price), None) => {
            let price = price.price().ok_or_else(|| {
                ErrorResponse::invalid("a price is at least 0", "give credits").in_field("price")
            })?;
            Ok(Some(format!("price = {price}\n")))
        }
        (None, tariff) => Ok(tariff.clone()),
    }
}

async fn find(context: &Context, site: &str, pool: &str) -> Answer<PoolId> {
    let (wanted_site, wanted) = (site.to_owned(), format!("{site}/{pool}"));
    let found = context.look(move |live| {
        let state = live.state();
        let mut pools = state.market.pools().iter();
        let same = |id, name: &str| site_name(state, id) == wanted_site && name == wanted;
        pools.find(|(id, it)| same(*id, &it.name)).map(|(id, _)| id)
    });
    found.await?.ok_or_else(|| ErrorResponse::unknown(format!("there is no pool `{site}/{pool}`")))
}
