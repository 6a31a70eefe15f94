//! What other prices would have brought an owner: the production policy on last week's jobs.

use std::sync::Arc;

use tradewind_daemon::live::rights::Actor;
use tradewind_model::{PoolId, Price};

use super::cache::PageContext;
use super::chart::{Tried, response};
use super::runs::{Run, advised};
use super::words;
use crate::api::{Advisor, MarketView};
use crate::auth::Caller;
use crate::documents::Credits;
use crate::failure::{Answer, ErrorResponse};
use crate::watch::Watch;
use crate::week::{Earned, Other, Week, hundredths, share};

/// Prices that are tried, in hundredths of what was asked.
const TRIED: [i64; 9] = [25, 50, 75, 100, 125, 150, 200, 300, 400];
/// A pool without a price is tried at these, micro-credits.
const FREE: [i64; 6] = [0, 10, 100, 1_000, 10_000, 100_000];

/// Percent by which a simulation may differ from what was before the page warns.
const OFF: i128 = 15;

/// One price: what it would have brought, or why it is unknown.
pub(crate) type TriedPrice = Result<PriceTrial, String>;

/// What a pool would have had at some price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriceTrial {
    /// Per node and second, on average.
    pub(crate) price: Credits,
    pub(crate) earned: Earned,
    /// Jobs of the whole market that began.
    pub(crate) ran: u32,
}

impl PriceTrial {
    /// In credits, for people.
    pub(crate) fn income(&self) -> String {
        words::credits(&Credits(self.earned.income))
    }
}

/// What really was, and what all prices are tried on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialBasis {
    /// When it begins.
    pub(crate) from: i64,
    /// What the pool asked per node and second, on average.
    pub(crate) asked: Credits,
    /// What it had.
    pub(crate) real: PriceTrial,
    /// Jobs of the whole market.
    pub(crate) jobs: usize,
    /// The pool's node-seconds, and those that its owner's own load had and that were not there.
    supply: i64,
    owners: i64,
    gone: i64,
}

impl TrialBasis {
    fn of(week: &Week, pool: PoolId, nodes: u32) -> TrialBasis {
        let asked = Credits::from(week.mean(pool));
        let earned = week.earned(&week.real, pool);
        let (owners, gone) = week.missed(pool);
        TrialBasis {
            from: week.from.0,
            asked,
            real: PriceTrial { price: asked, earned, ran: week.real.ran },
            jobs: week.jobs.len(),
            supply: week.length().0 * i64::from(nodes),
            owners,
            gone,
        }
    }
}

/// A trial as the page shows it.
pub(crate) struct Trial {
    pub(crate) pool: String,
    pub(crate) basis: TrialBasis,
    pub(crate) found: Vec<PriceTrial>,
    pub(crate) wanted: usize,
    /// Why there is less than wanted.
    pub(crate) wrong: Option<String>,
    /// The curves, once two prices were tried.
    pub(crate) curve: Option<String>,
}

impl Trial {
    /// Whether there is more to come.
    pub(crate) fn goes_on(&self) -> bool {
        self.wrong.is_none() && self.found.len() < self.wanted
    }

    /// The simulation at the prices that were really asked.
    pub(crate) fn same(&self) -> Option<&PriceTrial> {
        self.found.iter().find(|it| it.price == self.basis.asked)
    }

    /// The part of its nodes' time that the pool would have sold.
    pub(crate) fn used(&self, it: &PriceTrial) -> String {
        percent(it.earned.used, &self.basis)
    }

    /// By how many percent the simulated income differs from the actual one at the same prices, if
    /// that is more than [`OFF`].
    pub(crate) fn off(&self) -> Option<String> {
        let (real, same) = (self.basis.real.earned.income, self.same()?.earned.income);
        let percent = match real {
            0 if same == 0 => 0,
            0 => return Some("above what it was, which is 0,".to_owned()),
            real => (same - real).saturating_mul(100) / real,
        };
        let way = if percent > 0 { "above" } else { "below" };
        (percent.abs() > OFF).then(|| format!("{} % {way} what it was", percent.abs()))
    }

    /// The price with the most income, if it is the lowest or the highest that was tried.
    pub(crate) fn edge(&self) -> Option<String> {
        let best = self.found.iter().map(|it| it.earned.income).max().filter(|it| *it > 0)?;
        // Of several prices with that income, one between the others will do.
        let all = || self.found.iter().enumerate().filter(|(_, it)| it.earned.income == best);
        let last = self.found.len().checked_sub(1)?;
        let at_edge = all().all(|(at, _)| at == 0 || at == last);
        let (_, it) = all().next().filter(|_| at_edge && !self.goes_on())?;
        Some(self.part(it))
    }

    /// The part that its owner's own load had.
    pub(crate) fn owners(&self) -> String {
        percent(self.basis.owners, &self.basis)
    }

    /// The part that was down or not offered.
    pub(crate) fn gone(&self) -> String {
        percent(self.basis.gone, &self.basis)
    }

    /// The price as a part of the one that was asked.
    pub(crate) fn part(&self, it: &PriceTrial) -> String {
        part(it.price.0, self.basis.asked.0)
    }
}

fn percent(node_seconds: i64, of: &TrialBasis) -> String {
    format!("{:.1} %", share(node_seconds, of.supply))
}

fn part(price: i128, asked: i128) -> String {
    match asked {
        0 => words::hourly(&Credits(price)),
        _ => format!("×{}", super::chart::short(price as f64 / asked as f64, 1.0)),
    }
}

/// The trial of the pool's price: one that is there, or a new one.
pub(crate) async fn trial(
    context: &PageContext,
    caller: &Caller,
    name: &str,
    pool: (PoolId, Price),
) -> Answer<Trial> {
    let (id, now) = pool;
    let view = context.view().await?;
    let about = format!("{} {}", now, view.policy);
    let runs = &context.cache.trials;
    let run = match runs.get(name, &about) {
        Some(run) => run,
        None => {
            let week = week(context).await?;
            let basis = TrialBasis::of(&week, id, view.market.pools().pool(id).nodes);
            let tried = tried(week.mean(id));
            let run = Arc::new(Run::new(about, basis, tried.len()));
            runs.keep(name.to_owned(), Arc::clone(&run));
            let asker = (context.clone(), caller.actor.clone());
            tokio::spawn(go(asker, Arc::clone(&run), view, week, (id, tried)));
            run
        }
    };
    run.soon().await;
    let found = run.found();
    let wrong = found.iter().find_map(|it| it.as_ref().err().cloned());
    let found: Vec<PriceTrial> = found.into_iter().filter_map(Result::ok).collect();
    let curve = curve(name, &run.basis, &found);
    let (pool, basis, wanted) = (name.to_owned(), run.basis, run.wanted);
    Ok(Trial { pool, basis, found, wanted, wrong, curve })
}

/// The last week; there must be jobs in it.
async fn week(context: &PageContext) -> Answer<Week> {
    let week = context.look(Week::of).await?;
    match week.jobs.is_empty() {
        true => Err(ErrorResponse::unknown(
            "There is no load yet: no job ran or waited during the last seven days, so there is \
             nothing to try other prices on.",
        )),
        false => Ok(week),
    }
}

/// Prices, and what each is on average.
fn tried(asked: Price) -> Vec<(Other, Price)> {
    match asked {
        Price(0) => FREE.map(|flat| (Other::Flat(Price(flat)), Price(flat))).to_vec(),
        asked => TRIED.map(|part| (Other::Part(part), hundredths(asked, part))).to_vec(),
    }
}

/// One price after the other: others are advised in between.
async fn go(
    (context, who): (PageContext, Actor),
    run: Arc<Run<TrialBasis, TriedPrice>>,
    view: MarketView,
    week: Week,
    (pool, tried): (PoolId, Vec<(Other, Price)>),
) {
    let both = Arc::new((view, week));
    for (other, price) in tried {
        let both = Arc::clone(&both);
        let look = move |advisor: &dyn Advisor, watch: &Watch| {
            let (view, week) = &*both;
            let lived = advisor.replay_with_prices(view, week, &week.with(pool, other), watch)?;
            let earned = week.earned(&lived, pool);
            Ok(PriceTrial { price: price.into(), earned, ran: lived.ran })
        };
        let piece = advised(&context, &who, look).await;
        let failed = piece.is_err();
        run.add(piece);
        if failed {
            return;
        }
    }
}

fn curve(pool: &str, basis: &TrialBasis, found: &[PriceTrial]) -> Option<String> {
    let prices: Vec<f64> = found.iter().map(|it| it.price.0 as f64).collect();
    if prices.len() < 2 {
        return None;
    }
    let asked = basis.asked.0;
    // Factors stand by their logarithms; without a present price there are none.
    let low = (TRIED[0] as f64 / 100.0).log2();
    let span = (TRIED[TRIED.len() - 1] as f64 / 100.0).log2() - low;
    let place = |at: usize| match asked {
        0 => at as f64 / (FREE.len() - 1) as f64,
        asked => ((prices[at] / asked as f64).max(1e-9).log2() - low) / span,
    };
    let told = |it: &PriceTrial| {
        let hundredths = if asked == 0 { 100 } else { it.price.0 * 100 / asked };
        [25, 50, 100, 200, 400].contains(&hundredths)
    };
    let tried = found.iter().enumerate().map(|(at, it)| Tried {
        // A little air on both sides.
        place: 0.03 + 0.94 * place(at).clamp(0.0, 1.0),
        label: part(it.price.0, asked),
        is_told: told(it),
        price: format!("{} credits per node-hour", words::hourly(&it.price)),
        income: it.earned.income as f64 / 1e6,
        used: it.earned.share(basis.supply),
        is_now: it.price == basis.asked,
        note: format!("{} of {} jobs ran", it.ran, basis.jobs),
    });
    let tried: Vec<Tried> = tried.collect();
    Some(response(&format!("Income and use of {pool} against its price"), &tried))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_among_what_is_tried() {
        for asked in [0, 1, 1_000, 1 << 50] {
            let same = if asked == 0 { Other::Flat(Price(0)) } else { Other::Part(100) };
            assert!(tried(Price(asked)).contains(&(same, Price(asked))), "{asked}");
        }
    }

    fn trial_of(incomes: &[i128], real: i128) -> Trial {
        let lived = |part: i64, income| PriceTrial {
            price: Credits(10 * i128::from(part)),
            earned: Earned { income, used: 3_600 },
            ran: 1,
        };
        let found: Vec<PriceTrial> =
            TRIED.iter().zip(incomes).map(|(part, income)| lived(*part, *income)).collect();
        let (asked, real) = (Credits(1_000), lived(100, real));
        let basis =
            TrialBasis { from: 0, asked, real, jobs: 4, supply: 36_000, owners: 0, gone: 0 };
        let (wanted, pool) = (found.len(), "a/b".to_owned());
        Trial { pool, basis, found, wanted, wrong: None, curve: None }
    }

    #[test]
    fn a_trial_that_is_off_or_ends_at_its_best_says_so() {
        let rising = trial_of(&[1, 2, 3, 138, 150, 160, 170, 180, 190], 100);
        assert_eq!(rising.off().as_deref(), Some("38 % above what it was"));
        assert_eq!(rising.edge().as_deref(), Some("×4"));
        let inside = trial_of(&[1, 2, 3, 90, 150, 160, 170, 180, 90], 100);
        assert_eq!((inside.off(), inside.edge()), (None, None));
        let none = trial_of(&[0; 9], 0);
        assert_eq!((none.off(), none.edge()), (None, None));
        let falling = trial_of(&[500, 2, 3, 50, 1, 1, 1, 1, 1], 100);
        assert_eq!(falling.off().as_deref(), Some("50 % below what it was"));
        assert_eq!(falling.edge().as_deref(), Some("×0.25"));
    }

    #[test]
    fn the_curve_has_a_mark_for_each_price() {
        let lived = |price: Price| PriceTrial {
            price: price.into(),
            earned: Earned { income: i128::from(price.0) * 10, used: 3_600 },
            ran: 3,
        };
        let found: Vec<PriceTrial> =
            tried(Price(1_000)).into_iter().map(|(_, price)| lived(price)).collect();
        let (asked, real) = (Credits(1_000), lived(Price(1_000)));
        let basis =
            TrialBasis { from: 0, asked, real, jobs: 4, supply: 36_000, owners: 0, gone: 0 };
        let svg = curve("a/b", &basis, &found).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2 * TRIED.len());
        for part in
            ["×0.25<", "×1<", "×4<", "most of those tried", "3 of 4 jobs ran", "nodes used: 10 %"]
        {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(curve("a/b", &basis, &found[..1]), None);
    }
}
