//! Prices, demand and supply; owners set prices here and see what others would bring.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;
use tradewind_model::{PoolId, Time};

use super::cache::PageContext;
use super::chart::{Figure, HATCHES};
use super::prices::{self, Editor, ManagedPool};
use super::recent::{BACK, Chosen, PlannedPrices, TimeRange, figures};
use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::trial::{Trial, trial};
use super::words;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::clock::present;
use crate::documents::SiteList;
use crate::extract::Selection;
use crate::failure::Answer;
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
    /// Of pools whose prices the reader may set.
    editors: Vec<Editor>,
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
    /// Pools whose prices the reader may set.
    managed: Vec<ManagedPool>,
    trends: Trends,
    back: TimeRange,
    /// By pool: its owner's table, and thousandths of its nodes in use.
    asked: Vec<(Option<String>, u32)>,
    is_new: bool,
}

pub(crate) async fn show(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(which): Selection<MarketQuery>,
) -> PageResult {
    page(&shown(&context, &caller, which, None).await?)
}

/// The page with one form as it was filled in.
pub(crate) async fn edited(
    context: &PageContext,
    caller: &Caller,
    editor: Editor,
) -> Answer<impl Template> {
    shown(context, caller, MarketQuery::default(), Some(editor)).await
}

async fn shown(
    context: &PageContext,
    caller: &Caller,
    which: MarketQuery,
    edited: Option<Editor>,
) -> Answer<MarketPage> {
    let shell = Shell::new(context, caller, "Market").await?;
    let (actor, back) = (caller.actor.clone(), which.back.clone());
    let seen = context.look(move |live| seen(live.state(), &actor, &back)).await?;
    let Seen { sites, managed, trends, back, asked, is_new } = seen;
    let ahead = ahead(context, asked, &trends).await?;
    let mut editors = Vec::new();
    for pool in &managed {
        let own = edited.clone().filter(|it| it.pool == pool.name);
        editors.push(match own {
            Some(edited) => edited,
            None => prices::editor(context, pool).await?,
        });
    }
    let found = match which.r#try.is_empty() {
        true => None,
        false => Some(tried(context, caller, &which.r#try).await),
    };
    let trial = found.map(|it| it.map_err(|failure| failure.parts().1.message.clone()));
    let chosen = chosen(&trends, &which.of);
    let figures = figures(&trends, &chosen, &ahead);
    let choices = choices(&trends);
    let hatches = HATCHES;
    Ok(MarketPage { shell, which, sites, editors, choices, back, figures, hatches, is_new, trial })
}

/// All pools with their tables and loads, in the order of their numbers.
pub(crate) fn managed_pools(state: &tradewind_daemon::live::State) -> Vec<ManagedPool> {
    let sites = sites::list(state).sites;
    let shown = sites.iter().flat_map(|site| &site.pools);
    let loads = shown.map(|pool| {
        let used = u64::from(pool.ours + pool.local) * 1_000 / u64::from(pool.nodes.max(1));
        (pool.name.as_str(), used as u32)
    });
    let loads: std::collections::BTreeMap<&str, u32> = loads.collect();
    let pools = state.market.pools().iter().map(|(id, pool)| ManagedPool {
        id,
        name: pool.name.clone(),
        set: state.tariffs().get(&id).cloned(),
        load: loads.get(pool.name.as_str()).copied().unwrap_or(0),
    });
    pools.collect()
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
    let all = managed_pools(state);
    let asked = all.iter().map(|it| (it.set.clone(), it.load)).collect();
    let may_manage = |it: &ManagedPool| {
        let site = pools.pool(it.id).site.0 as usize;
        state.owners().get(site).is_some_and(|owner| actor.may_manage(owner))
    };
    Seen {
        managed: all.into_iter().filter(may_manage).collect(),
        trends: trends(state, actor, back.step, back.spans),
        asked,
        is_new: state.last_job() == 0,
        sites,
        back,
    }
}

/// What owners' tables say for the hours ahead.
async fn ahead(
    context: &PageContext,
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

async fn tried(context: &PageContext, caller: &Caller, name: &str) -> Answer<Trial> {
    let pool = prices::managed(context, caller, name).await?;
    let price = context.look(move |live| live.state().market.price_now(pool.id)).await?;
    trial(context, caller, name, (pool.id, price)).await
}
