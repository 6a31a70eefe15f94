//! What other prices would have brought an owner: the production policy on last week's jobs.

use std::sync::Arc;

use tradewind_model::{PoolId, Price};

use super::chart::{Tried, response};
use super::runs::{Run, advised};
use super::words;
use crate::api::{Advisor, Context, MarketView, PastJob, PriceTrial};
use crate::documents::Credits;
use crate::failure::{Answer, Failure};

/// Seven days.
const WEEK: i64 = 7 * 86_400;
/// Prices that are tried, in hundredths of the present one.
const TRIED: [i64; 9] = [25, 50, 75, 100, 125, 150, 200, 300, 400];
/// A pool without a price is tried at these, micro-credits.
const FREE: [i64; 6] = [0, 10, 100, 1_000, 10_000, 100_000];

/// One price: what it would have brought, or why nobody knows.
pub(crate) type Piece = Result<PriceTrial, String>;

/// A trial as the page shows it.
pub(crate) struct Trial {
    pub(crate) pool: String,
    pub(crate) now: Credits,
    /// When the first of the jobs was handed in.
    pub(crate) at: i64,
    pub(crate) found: Vec<PriceTrial>,
    pub(crate) wanted: usize,
    /// Why there is less than wanted.
    pub(crate) wrong: Option<String>,
    /// The curves, once two prices were tried.
    pub(crate) curve: Option<String>,
    /// The pool's node-seconds in the time that was looked at.
    supply: i64,
}

impl Trial {
    /// Whether there is more to come.
    pub(crate) fn goes_on(&self) -> bool {
        self.wrong.is_none() && self.found.len() < self.wanted
    }

    /// The part of its nodes' time that the pool would have sold.
    pub(crate) fn used(&self, it: &PriceTrial) -> String {
        format!("{:.1} %", used(it, self.supply))
    }

    /// The price as a part of the present one.
    pub(crate) fn part(&self, it: &PriceTrial) -> String {
        part(it.price.0, self.now.0)
    }
}

fn used(it: &PriceTrial, supply: i64) -> f64 {
    (it.used as f64 * 100.0 / supply.max(1) as f64).min(100.0)
}

fn part(price: i128, now: i128) -> String {
    match now {
        0 => words::hourly(&Credits(price)),
        _ => format!("×{}", super::chart::short(price as f64 / now as f64, 1.0)),
    }
}

/// The trial of the pool's price: one that is there, or a new one.
pub(crate) async fn trial(context: &Context, name: &str, pool: (PoolId, Price)) -> Answer<Trial> {
    let (id, now) = pool;
    let gauges = Arc::clone(context.market.gauges());
    let view = context.view().await?;
    let nodes = view.market.pools().pool(id).nodes;
    let about = format!("{} {}", now, view.policy);
    let runs = &context.trials;
    let run = match runs.get(name, &about) {
        Some(run) => run,
        None => {
            let past = past(context).await?;
            let first = past.iter().map(|job| job.submit.0).min().unwrap_or(view.market.now().0);
            let tried = tried(now);
            let seen = (gauges.last_row(), first);
            let run = Arc::new(Run::new(about, seen, tried.len()));
            runs.keep(name.to_owned(), Arc::clone(&run));
            tokio::spawn(go(context.clone(), Arc::clone(&run), view.clone(), past, (id, tried)));
            run
        }
    };
    run.soon().await;
    let found = run.found();
    let wrong = found.iter().find_map(|it| it.as_ref().err().cloned());
    let found: Vec<PriceTrial> = found.into_iter().filter_map(Result::ok).collect();
    let supply = i64::from(nodes) * (view.market.now().0 - run.at).clamp(3_600, WEEK);
    let now = Credits::from(now);
    let curve = curve(name, now, &found, supply);
    let (pool, at, wanted) = (name.to_owned(), run.at, run.wanted);
    Ok(Trial { pool, now, at, found, wanted, wrong, curve, supply })
}

/// Last week's jobs; there must be some.
async fn past(context: &Context) -> Answer<Vec<PastJob>> {
    let past = context.look(|live| {
        let from = live.state().now().0 - WEEK;
        let all = live.state().jobs.values().filter(|job| job.submitted.0 >= from);
        all.filter_map(|job| PastJob::of(live, job)).collect::<Vec<_>>()
    });
    let past = past.await?;
    match past.is_empty() {
        true => Err(Failure::unknown(
            "There is no load yet: no job was handed in during the last seven days, so there is \
             nothing to try other prices on.",
        )),
        false => Ok(past),
    }
}

fn tried(now: Price) -> Vec<Price> {
    match now {
        Price(0) => FREE.map(Price).to_vec(),
        Price(now) => TRIED.map(|part| Price(now.saturating_mul(part) / 100)).to_vec(),
    }
}

/// One price after the other: others are advised in between.
async fn go(
    context: Context,
    run: Arc<Run<Piece>>,
    view: MarketView,
    past: Vec<PastJob>,
    (pool, tried): (PoolId, Vec<Price>),
) {
    let (view, past) = (Arc::new(view), Arc::new(past));
    for price in tried {
        let (view, past) = (Arc::clone(&view), Arc::clone(&past));
        let look = move |advisor: &dyn Advisor| advisor.prices(&view, &past, pool, &[price]);
        let Some(found) = advised(&context, look).await else { return };
        let none = || "nothing is said".to_owned();
        let piece = found.and_then(|found| found.into_iter().next().ok_or_else(none));
        let failed = piece.is_err();
        run.add(piece);
        if failed {
            return;
        }
    }
}

fn curve(pool: &str, now: Credits, found: &[PriceTrial], supply: i64) -> Option<String> {
    let prices: Vec<f64> = found.iter().map(|it| it.price.0 as f64).collect();
    if prices.len() < 2 {
        return None;
    }
    // Factors stand by their logarithms; without a present price there are none.
    let low = (TRIED[0] as f64 / 100.0).log2();
    let span = (TRIED[TRIED.len() - 1] as f64 / 100.0).log2() - low;
    let place = |at: usize| match now.0 {
        0 => at as f64 / (FREE.len() - 1) as f64,
        now => ((prices[at] / now as f64).max(1e-9).log2() - low) / span,
    };
    let told = |it: &PriceTrial| {
        let hundredths = if now.0 == 0 { 100 } else { it.price.0 * 100 / now.0 };
        [25, 50, 100, 200, 400].contains(&hundredths)
    };
    let tried = found.iter().enumerate().map(|(at, it)| Tried {
        // A little air on both sides.
        place: 0.03 + 0.94 * place(at).clamp(0.0, 1.0),
        label: part(it.price.0, now.0),
        is_told: told(it),
        price: format!("{} credits per node-hour", words::hourly(&it.price)),
        income: it.income.0 as f64 / 1e6,
        used: used(it, supply),
        is_now: it.price == now,
        note: format!("{} of {} jobs ran", it.ran, it.jobs),
    });
    let tried: Vec<Tried> = tried.collect();
    Some(response(&format!("Income and use of {pool} against its price"), &tried))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_price_is_among_those_that_are_tried() {
        for now in [0, 1, 1_000, 1 << 50] {
            assert!(tried(Price(now)).contains(&Price(now)), "{now}");
        }
    }

    #[test]
    fn the_curve_has_a_mark_for_each_price() {
        let found: Vec<PriceTrial> = tried(Price(1_000))
            .into_iter()
            .map(|price| PriceTrial {
                price: price.into(),
                income: Credits(i128::from(price.0) * 10),
                used: 3_600,
                ran: 3,
                jobs: 4,
            })
            .collect();
        let svg = curve("a/b", Credits(1_000), &found, 36_000).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2 * TRIED.len());
        for part in ["×0.25<", "×1<", "×4<", "most income", "3 of 4 jobs ran", "nodes used: 10 %"]
        {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(curve("a/b", Credits(1_000), &found[..1], 1), None);
    }
}
