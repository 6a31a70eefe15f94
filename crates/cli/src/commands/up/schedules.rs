//! Prices, offers and policy by hours and load: reported to the market
//! whenever it changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Input, Live, Withheld};
use tradewind_io::settings::{Pool, Settings};
use tradewind_model::{PoolId, Power, Price, Series, Span, Time};

use crate::background::Background;
use crate::feeds;
use crate::policy::PolicySpec;

/// How often load is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How far ahead the market learns of hours that are not offered: to the end of the day after
/// so long. It stays the same all day, and so does what is said.
const AHEAD: Span = Span(2 * DAY_S);
const DAY_S: i64 = 86_400;
/// How often files of electricity are read.
const REREAD: Span = Span(60);
/// So long after the start the first answers of addresses are there.
const FIRST_ANSWERS: Span = Span(5);

/// Starts to look.
///
/// # Errors
/// If there is no thread for it.
pub(crate) fn start(
    market: Handle,
    settings: &Settings,
    state: &Path,
) -> std::io::Result<Background> {
    let sites = crate::sites::configured(settings);
    let pools = sites.iter().flat_map(|site| site.pools.clone()).collect();
    let zone = settings.zone.clone().unwrap_or_else(TimeZone::system);
    let rules = settings.market.clone();
    let electricity = ElectricityFiles::of(settings, state);
    let mut eye = Eye {
        market,
        pools,
        zone,
        rules,
        last: None,
        weeks: BTreeMap::new(),
        policy: None,
        electricity,
    };
    Background::start("schedules", move |flag| flag.repeat(EVERY, || eye.look()))
}

/// What owners say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    /// The prices of now.
    prices: Vec<(PoolId, Price)>,
    /// Of pools whose price changes with the hours.
    rates: BTreeMap<PoolId, Arc<Series>>,
    withheld: Vec<Withheld>,
}

/// A pool's prices over a week, and of what they were made: the same day, load and table of prices
/// make the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Week {
    from: Time,
    lead: Span,
    /// By rule: whether its range of loads holds.
    holds: Vec<bool>,
    table: Option<String>,
    rate: Option<Arc<Series>>,
}

struct Eye {
    market: Handle,
    pools: Vec<Pool>,
    zone: TimeZone,
    rules: tradewind_io::settings::Market,
    /// What the market got last.
    last: Option<Said>,
    /// By pool.
    weeks: BTreeMap<PoolId, Week>,
    /// The policy that the rules asked for last.
    policy: Option<String>,
    electricity: ElectricityFiles,
}

/// The electricity of sites, in files that may be written again while the daemon runs.
struct ElectricityFiles {
    /// The configuration that names them, if any does.
    configuration: Option<String>,
    /// Where the last answers of addresses are.
    state: PathBuf,
    /// As it was read last.
    known: Option<Power>,
    /// What was wrong when it was read last.
    wrong: Option<String>,
    /// When it is read next.
    due: Time,
}

impl ElectricityFiles {
    /// Of the file that was just read.
    fn of(settings: &Settings, state: &Path) -> ElectricityFiles {
        let (configuration, state) = (settings.electricity_from.clone(), state.to_owned());
        let known = crate::sites::electricity(settings);
        let first = if feeds::of(settings).is_empty() { REREAD } else { FIRST_ANSWERS };
        ElectricityFiles { configuration, state, known, wrong: None, due: now() + first }
    }

    /// What they say, if that is due and something else than before. What cannot be read changes
    /// nothing, and is said once.
    fn news(&mut self, now: Time) -> Option<Power> {
        let configuration = self.configuration.as_ref().filter(|_| self.due <= now)?;
        self.due = now + REREAD;
        let read = tradewind_io::settings::load(configuration);
        let wrong = read.as_ref().err().map(std::string::ToString::to_string);
        if let Some(wrong) = wrong.as_ref().filter(|_| self.wrong != wrong) {
            tracing::warn!(%wrong, "the electricity of sites stays as it is");
        }
        self.wrong = wrong;
        let mut settings = read.ok()?.0;
        feeds::fill(&mut settings, &self.state);
        let power = crate::sites::electricity(&settings)?;
        let is_news = self
            .known
            .as_ref()
            .is_some_and(|known| *known != power && known.sites.len() == power.sites.len());
        is_news.then(|| self.known.insert(power).clone())
    }
}

impl Eye {
    fn look(&mut self) -> Result<(), EngineStopped> {
        let now = now();
        let (loads, all, tariffs, lead, policy) = self.market.look(|live| {
            let state = live.state();
            let (tariffs, policy) = (state.tariffs().clone(), state.policy.clone());
            (loads(live), load_of_all(live), tariffs, state.lead(), policy)
        })?;
        // A policy that knows one price of each pool gets that of now.
        let knows_hours = PolicySpec::parse(&policy).is_ok_and(|it| it.needs_one_price().is_none());
        let (mut prices, mut rates) = (Vec::new(), BTreeMap::new());
        let mut withheld = Vec::new();
        for (place, pool) in self.pools.iter().enumerate() {
            let id = PoolId(place as u32);
            let load = loads.get(&id).copied().unwrap_or(0);
            let table = tariffs.get(&id);
            let own = table.and_then(|text| super::tariff::read(pool, text).ok());
            let pool = own.as_ref().unwrap_or(pool);
            prices.push((id, pool.price_at(now, load, &self.zone)));
            let rate = week(&mut self.weeks, (id, pool, table), (now, lead), load, &self.zone);
            rates.extend(rate.filter(|_| knows_hours).map(|rate| (id, rate)));
            let spans = pool.withheld(now, horizon(now), &self.zone);
            withheld.extend(spans.into_iter().map(|it| Withheld {
                pool: id,
                nodes: it.nodes,
                // Hours are the clock's; the market gets its own time.
                from: it.from + lead,
                until: it.until + lead,
            }));
        }
        self.tell(Said { prices, rates, withheld })?;
        if let Some(power) = self.electricity.news(now) {
            self.market.tell(Input::Electricity { power })?;
        }
        self.decide(now, all);
        Ok(())
    }

    fn tell(&mut self, mut said: Said) -> Result<(), EngineStopped> {
        // What has begun began when it was first said.
        if let Some(Said { withheld: last, .. }) = &self.last {
            for it in &mut said.withheld {
                let same = |old: &&Withheld| {
                    old.pool == it.pool && old.nodes == it.nodes && old.until == it.until
                };
                if let Some(old) = last.iter().find(same) {
                    it.from = it.from.min(old.from);
                }
            }
        }
        if self.last.as_ref() == Some(&said) {
            return Ok(());
        }
        let Said { prices, rates, withheld } = self.last.insert(said).clone();
        self.market.tell(Input::Terms { prices, rates, withheld })
    }

    /// Has the policy decide that the rules name, whenever they name another.
    fn decide(&mut self, now: Time, load: u32) {
        if self.rules.rules.rules.is_empty() {
            return;
        }
        let policy = self.rules.policy_at(now, load, &self.zone).to_owned();
        if self.policy.as_ref() == Some(&policy) {
            return;
        }
        let actor = Actor { user: "rules".to_owned(), role: Role::Administrator };
        match self.market.ask(actor, Ask::Policy { policy: policy.clone() }) {
            Ok(_) => self.policy = Some(policy),
            Err(refusal) => tracing::error!(%refusal, policy, "a rule of the configuration"),
        }
    }
}

/// The pool's prices of this week by the market's time, if they change with the hours.
fn week(
    weeks: &mut BTreeMap<PoolId, Week>,
    (id, pool, table): (PoolId, &Pool, Option<&String>),
    (now, lead): (Time, Span),
    load: u32,
    zone: &TimeZone,
) -> Option<Arc<Series>> {
    let from = Time(now.0.div_euclid(DAY_S) * DAY_S);
    let holds: Vec<bool> = pool.prices.rules.iter().map(|rule| rule.load.holds(load)).collect();
    let is_known = |it: &&Week| {
        it.from == from && it.lead == lead && it.holds == holds && it.table.as_ref() == table
    };
    if let Some(known) = weeks.get(&id).filter(is_known) {
        return known.rate.clone();
    }
    let rate = pool.weekly_prices(from, load, zone).map(|rate| Arc::new(rate.later_by(lead)));
    let new = Week { from, lead, holds, table: table.cloned(), rate: rate.clone() };
    weeks.insert(id, new);
    rate
}

fn horizon(now: Time) -> Time {
    Time(((now + AHEAD).0 / DAY_S + 1) * DAY_S)
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_secs()).unwrap_or(0))
}

/// By pool: thousandths of its nodes that are in use.
fn loads(live: &Live) -> BTreeMap<PoolId, u32> {
    let market = &live.state().market;
    let pools = market.pools().iter();
    pools.map(|(id, pool)| (id, thousandths(market.nodes_in_use(id), pool.nodes))).collect()
}

fn load_of_all(live: &Live) -> u32 {
    let market = &live.state().market;
    let used = market.pools().iter().map(|(id, _)| market.nodes_in_use(id)).sum();
    thousandths(used, market.processors())
}

fn thousandths(part: u32, whole: u32) -> u32 {
    (u64::from(part) * 1_000 / u64::from(whole.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_the_same_all_day() {
        let noon = Time(1_800_000_000);
        assert_eq!(horizon(noon), horizon(noon + Span(3_600)));
        assert!(horizon(noon) - noon >= AHEAD && horizon(noon) - noon <= AHEAD + Span(DAY_S));
    }
}
