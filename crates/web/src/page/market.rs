//! Prices, demand and supply; owners set prices here and see what others would bring.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::Ask;
use tradewind_daemon::live::rights::Actor;
use tradewind_model::{PoolId, Price, Time};

use super::chart::{Figure, HATCHES};
use super::recent::{BACK, Chosen, PlannedPrices, TimeRange, figures};
use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::trial::{Trial, trial};
use super::words;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{Credits, PriceChange, SiteList};
use crate::extract::Selection;
use crate::failure::{Answer, Failure};
use crate::routes::sites as prices;
use crate::views::sites;
use crate::views::trends::{Trends, trends};

/// What is looked at.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct MarketQuery {
    /// The pool whose prices are tried.
    #[serde(default)]
    r#try: String,
    /// How far back.
    #[serde(default)]
    back: String,
    /// A site or a pool; all, if empty.
    #[serde(default)]
    of: String,
}

#[derive(Template)]
#[template(path = "page/market.html")]
struct MarketPage {
    shell: Shell,
    which: MarketQuery,
    sites: SiteList,
    /// By site: whether the reader may set its prices.
    managed: Vec<bool>,
    tables: Vec<(String, String)>,
    /// Sites and pools that may be chosen.
    choices: Vec<String>,
    back: TimeRange,
    figures: Vec<Figure>,
    hatches: &'static str,
    /// No job was ever submitted.
    is_new: bool,
    trial: Option<Result<Trial, String>>,
}

impl MarketPage {
    /// The owner's own table of the pool, if it has one.
    fn table(&self, pool: &str) -> &str {
        self.tables.iter().find(|(name, _)| name == pool).map_or("", |(_, text)| text)
    }

    /// Whether this pool's prices are tried.
    fn tries(&self, pool: &str) -> bool {
        self.which.r#try == pool
    }

    /// The same page from another distance.
    fn from(&self, back: &TimeRange) -> String {
        address(back.value, &self.which.of)
    }

    /// The same page of other pools.
    fn of(&self, of: &str) -> String {
        address(self.back.value, of)
    }
}

fn address(back: &str, of: &str) -> String {
    let of = words::in_address(of);
    format!("/market?back={back}&of={of}")
}

/// What the market itself says.
struct Seen {
    sites: SiteList,
    managed: Vec<bool>,
    tables: Vec<(String, String)>,
    trends: Trends,
    back: TimeRange,
    /// By pool: its owner's table, and thousandths of its nodes in use.
    asked: Vec<(Option<String>, u32)>,
    is_new: bool,
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<MarketQuery>,
) -> PageResult {
    let shell = Shell::new(&context, &caller, "Market").await?;
    let (actor, back) = (caller.actor.clone(), which.back.clone());
    let seen = context.look(move |live| seen(live.state(), &actor, &back)).await?;
    let Seen { sites, managed, tables, trends, back, asked, is_new } = seen;
    let ahead = ahead(&context, asked, &trends).await?;
    let found = match which.r#try.is_empty() {
        true => None,
        false => Some(tried(&context, &caller, &which.r#try).await),
    };
    let trial = found.map(|it| it.map_err(|failure| failure.parts().1.message.clone()));
    let chosen = chosen(&trends, &which.of);
    let figures = figures(&trends, &chosen, &ahead);
    let choices = choices(&trends);
    let hatches = HATCHES;
    let page_of = MarketPage {
        shell,
        which,
        sites,
        managed,
        tables,
        choices,
        back,
        figures,
        hatches,
        is_new,
        trial,
    };
    page(&page_of)
}

fn seen(state: &tradewind_daemon::live::State, actor: &Actor, back: &str) -> Seen {
    let pools = state.market.pools();
    let first = state.past().prices.values().filter_map(|it| it.points.front()).map(|it| it.0);
    let now = present(state);
    let age = (now - first.min().unwrap_or(now)).0;
    // As far as there is something to see.
    let usual = BACK.iter().find(|it| age <= it.step * it.spans as i64).unwrap_or(&BACK[3]);
    let back = *BACK.iter().find(|it| it.value == back).unwrap_or(usual);
    let sites = sites::for_reader(sites::list(state), state, actor);
    let shown = sites.sites.iter().flat_map(|site| &site.pools);
    let loads = shown.map(|pool| {
        let used = u64::from(pool.ours + pool.local) * 1_000 / u64::from(pool.nodes.max(1));
        (pool.name.clone(), used as u32)
    });
    let loads: std::collections::BTreeMap<String, u32> = loads.collect();
    let asked = pools.iter().map(|(id, pool)| {
        (state.tariffs().get(&id).cloned(), loads.get(&pool.name).copied().unwrap_or(0))
    });
    let tables = state.tariffs().iter();
    Seen {
        managed: state.owners().iter().map(|owner| actor.may_manage(owner)).collect(),
        tables: tables.map(|(id, text)| (pools.pool(*id).name.clone(), text.clone())).collect(),
        trends: trends(state, actor, back.step, back.spans),
        asked: asked.collect(),
        is_new: state.last_job() == 0,
        sites,
        back,
    }
}

/// What owners' tables say for the hours ahead.
async fn ahead(
    context: &Context,
    asked: Vec<(Option<String>, u32)>,
    trends: &Trends,
) -> Answer<PlannedPrices> {
    let tariffs = Arc::clone(&context.tariffs);
    let (now, until) = (trends.now, trends.now + trends.bins.step * trends.bins.spans as i64);
    blocking(move || {
        let of = |(place, (text, load)): (usize, (Option<String>, u32))| {
            let pool = PoolId(place as u32);
            let found = tariffs.ahead(pool, text.as_deref(), load, Time(now), Time(until));
            found.into_iter().map(|(at, price)| (at.0, price)).collect()
        };
        asked.into_iter().enumerate().map(of).collect()
    })
    .await
}

/// All sites, and their pools if there are several.
fn choices(trends: &Trends) -> Vec<String> {
    let sites = trends.sites.iter().enumerate().flat_map(|(place, site)| {
        let pools: Vec<&str> =
            trends.pools.iter().filter(|it| it.site == place).map(|it| it.name.as_str()).collect();
        let pools = if pools.len() > 1 { pools } else { Vec::new() };
        [site.name.as_str()].into_iter().chain(pools).map(str::to_owned).collect::<Vec<_>>()
    });
    sites.collect()
}

fn chosen<'a>(trends: &Trends, of: &'a str) -> Chosen<'a> {
    let fits = |pool: &crate::views::trends::PoolTrend| {
        pool.name == of || trends.sites.get(pool.site).is_some_and(|site| site.name == of)
    };
    let pools = trends.pools.iter().enumerate().filter(|(_, pool)| fits(pool));
    let pools: Vec<usize> = pools.map(|(place, _)| place).collect();
    match pools.is_empty() {
        true => {
            Chosen { name: "all sites", pools: (0..trends.pools.len()).collect(), is_all: true }
        }
        false => Chosen { name: of, pools, is_all: false },
    }
}

/// The pool, if the reader may set its prices.
async fn managed(context: &Context, caller: &Caller, name: &str) -> Answer<(PoolId, Price)> {
    let (wanted, actor) = (name.to_owned(), caller.actor.clone());
    let found = context.look(move |live| {
        let state = live.state();
        let found = state.market.pools().iter().find(|(_, pool)| pool.name == wanted);
        found.map(|(id, pool)| {
            (id, pool.price, actor.may_manage(&state.owners()[pool.site.0 as usize]))
        })
    });
    match found.await? {
        Some((id, price, true)) => Ok((id, price)),
        Some(_) => Err(Failure::forbidden("only its owner sets a pool's prices")),
        None => Err(Failure::unknown(format!("there is no pool `{name}`"))),
    }
}

async fn tried(context: &Context, caller: &Caller, name: &str) -> Answer<Trial> {
    let pool = managed(context, caller, name).await?;
    trial(context, caller, name, pool).await
}

/// A new price or table.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    pool: String,
    #[serde(default)]
    price: String,
    #[serde(default)]
    table: String,
    /// `price`, `table`, `file` or `again`.
    set: String,
}

pub(crate) async fn set(
    State(context): State<Context>,
    caller: Caller,
    Form(change): Form<Change>,
) -> PageResult {
    let (pool, _) = managed(&context, &caller, &change.pool).await?;
    if change.set == "again" {
        context.trials.forget(&change.pool);
        return Ok(go(&format!("/market?try={}#trial", words::in_address(&change.pool))));
    }
    let document = match change.set.as_str() {
        "price" => {
            let price = change.price.trim().parse::<serde_json::Number>().ok();
            let price = price.and_then(|it| serde_json::from_value::<Credits>(it.into()).ok());
            let hint = "credits per node-second, as in 0.002";
            let price = price.ok_or_else(|| Failure::invalid("this is no price", hint))?;
            PriceChange { price: Some(price), tariff: None }
        }
        "table" => PriceChange { price: None, tariff: Some(change.table.replace("\r\n", "\n")) },
        _ => PriceChange::default(),
    };
    let text = prices::tariff(&document)?;
    if let Some(text) = &text {
        let (tariffs, text) = (Arc::clone(&context.tariffs), text.clone());
        let sound = blocking(move || tariffs.check(pool, &text)).await?;
        sound.map_err(|wrong| Failure::invalid(wrong, "see the documentation of `price`"))?;
    }
    context.ask(caller.actor, Ask::Tariff { pool, text }).await?;
    Ok(go("/market"))
}
