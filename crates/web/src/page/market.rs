//! Prices, demand and supply; owners set prices here and see what others would bring.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::Ask;
use tradewind_model::{PoolId, Price};

use super::reply::{Shown, go, show as page};
use super::shell::Shell;
use super::steps::{Frame, Line, over_time};
use super::words;
use crate::api::{Context, PastJob, PriceTrial, blocking};
use crate::documents::{Credits, PriceChange, SiteList};
use crate::doors::Caller;
use crate::extract::Selection;
use crate::failure::{Answer, Failure};
use crate::routes::sites as prices;
use crate::views::{sites, trends};

/// A week of hours.
const STEP: i64 = 3_600;
const SPANS: usize = 7 * 24;
/// Prices that are tried, in hundredths of the present one.
const TRIED: [i64; 9] = [25, 50, 75, 100, 125, 150, 200, 300, 400];
/// A pool without a price is tried at these, micro-credits.
const FREE: [i64; 5] = [0, 100, 1_000, 10_000, 100_000];

/// Which pool's prices are tried.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    #[serde(default)]
    r#try: String,
}

#[derive(Template)]
#[template(path = "page/market.html")]
struct MarketPage {
    shell: Shell,
    sites: SiteList,
    /// By site: whether the reader may set its prices.
    managed: Vec<bool>,
    tables: Vec<(String, String)>,
    charts: Vec<(&'static str, String)>,
    trial: Option<Result<Trial, String>>,
}

/// What other prices would have brought.
struct Trial {
    pool: String,
    now: Credits,
    found: Vec<PriceTrial>,
}

impl MarketPage {
    /// The owner's own table of the pool, if it has one.
    fn table(&self, pool: &str) -> &str {
        self.tables.iter().find(|(name, _)| name == pool).map_or("", |(_, text)| text)
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<Which>,
) -> Shown {
    let shell = Shell::new(&context, &caller, "Market").await?;
    let actor = caller.actor.clone();
    let (sites, managed, tables, trends) = context
        .look(move |live| {
            let state = live.state();
            let managed = state.owners.iter().map(|owner| actor.may_manage(owner)).collect();
            let pools = state.market.pools();
            let tables = state.tariffs.iter();
            let tables = tables.map(|(id, text)| (pools.pool(*id).name.clone(), text.clone()));
            let trends = trends::trends(state, &actor, STEP, SPANS);
            (sites::list(state), managed, tables.collect(), trends)
        })
        .await?;
    let trial = match which.r#try.is_empty() {
        true => None,
        false => Some(trial(&context, &caller, &which.r#try).await),
    };
    let trial = trial.map(|it| it.map_err(|failure| failure.parts().1.message.clone()));
    let charts = charts(&trends);
    page(&MarketPage { shell, sites, managed, tables, charts, trial })
}

fn charts(trends: &trends::Trends) -> Vec<(&'static str, String)> {
    let frame = |title: &str, unit, most| {
        let title = format!("{title}, by hour, the last seven days");
        Frame { title, unit, from: trends.from, step: trends.step, most }
    };
    let part = |site: &trends::SiteTrend, used: &i64| {
        *used as f64 * 100.0 / (f64::from(site.nodes.max(1)) * trends.step as f64)
    };
    let used = trends.sites.iter().map(|site| Line {
        name: site.name.clone(),
        values: site.used.iter().map(|used| part(site, used)).collect(),
    });
    let nodes: u32 = trends.sites.iter().map(|site| site.nodes).sum();
    let demand = trends.demand.iter().map(|it| *it as f64 / trends.step as f64).collect();
    let supply = vec![f64::from(nodes); trends.demand.len()];
    let demand = [
        Line { name: "nodes waited for".to_owned(), values: demand },
        Line { name: "nodes in all".to_owned(), values: supply },
    ];
    let income = trends.sites.iter().filter_map(|site| {
        let values = site.income.as_ref()?.iter().map(|it| *it as f64 / 1e6).collect();
        Some(Line { name: site.name.clone(), values })
    });
    let income: Vec<Line> = income.collect();
    let used: Vec<Line> = used.collect();
    let mut charts = vec![
        (
            "Nodes that the market’s jobs used",
            over_time(&frame("Utilisation", "%", Some(100.0)), &used),
        ),
        ("Demand and supply", over_time(&frame("Demand and supply", "nodes", None), &demand)),
    ];
    if !income.is_empty() {
        let frame = frame("Owners’ income", "cr/h", None);
        charts.push(("Owners’ income", over_time(&frame, &income)));
    }
    charts
}

/// The pool, if the reader may set its prices.
async fn managed(context: &Context, caller: &Caller, name: &str) -> Answer<(PoolId, Price)> {
    let (wanted, actor) = (name.to_owned(), caller.actor.clone());
    let found = context.look(move |live| {
        let state = live.state();
        let found = state.market.pools().iter().find(|(_, pool)| pool.name == wanted);
        found.map(|(id, pool)| {
            (id, pool.price, actor.may_manage(&state.owners[pool.site.0 as usize]))
        })
    });
    match found.await? {
        Some((id, price, true)) => Ok((id, price)),
        Some(_) => Err(Failure::forbidden("only its owner sets a pool's prices")),
        None => Err(Failure::unknown(format!("there is no pool `{name}`"))),
    }
}

async fn trial(context: &Context, caller: &Caller, name: &str) -> Answer<Trial> {
    let (pool, now) = managed(context, caller, name).await?;
    let permit = Arc::clone(&context.advice).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::limit("others are being advised"))?;
    let view = context.view().await?;
    let from = view.market.now().0 - STEP * SPANS as i64;
    let past = context
        .look(move |live| {
            let all = live.state().jobs.values().filter(|job| job.submitted.0 >= from);
            all.filter_map(|job| PastJob::of(live, job)).collect::<Vec<_>>()
        })
        .await?;
    if past.is_empty() {
        return Err(Failure::unknown(
            "no job has run in the last seven days: there is nothing to try",
        ));
    }
    let tried: Vec<Price> = match now {
        Price(0) => FREE.map(Price).to_vec(),
        Price(now) => TRIED.map(|part| Price(now * part / 100)).to_vec(),
    };
    let advisor = Arc::clone(&context.advisor);
    let found = blocking(move || {
        let found = advisor.prices(&view, &past, pool, &tried);
        drop(permit);
        found
    });
    Ok(Trial { pool: name.to_owned(), now: now.into(), found: found.await?? })
}

/// A new price or table.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    pool: String,
    #[serde(default)]
    price: String,
    #[serde(default)]
    table: String,
    /// `price`, `table` or `file`.
    set: String,
}

pub(crate) async fn set(
    State(context): State<Context>,
    caller: Caller,
    Form(change): Form<Change>,
) -> Shown {
    let (pool, _) = managed(&context, &caller, &change.pool).await?;
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
