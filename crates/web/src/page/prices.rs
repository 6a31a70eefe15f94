//! Owners' prices: the rules in force are filled in, a change is previewed before it is made, and
//! the last change can be undone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Form;
use axum::extract::State;
use axum::http::StatusCode;
use tradewind_daemon::live::Ask;
use tradewind_model::{PoolId, Price, Time};

use super::cache::PageContext;
use super::market;
use super::reply::{PageResult, go, show as page};
use super::words;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::clock::present;
use crate::documents::Credits;
use crate::failure::{Answer, ErrorResponse};
use crate::price_rules::{PriceRule, PriceRules};
use crate::views::amounts;

/// Empty lines for more rules.
const MORE: usize = 2;
/// A preview's span, seconds.
const WEEK: i64 = 7 * 86_400;
/// Lines of a preview.
const LINES: usize = 16;

/// A pool whose prices the reader may set.
#[derive(Debug, Clone)]
pub(crate) struct ManagedPool {
    pub(crate) id: PoolId,
    pub(crate) name: String,
    /// The table that was set, if one was.
    pub(crate) set: Option<String>,
    /// Thousandths of its nodes that are in use.
    pub(crate) load: u32,
}

/// The form for a pool's prices.
#[derive(Debug, Clone)]
pub(crate) struct Editor {
    pub(crate) pool: String,
    /// The price while no rule matches, credits per node-hour.
    pub(crate) base: String,
    pub(crate) rows: Vec<Row>,
    /// The table in force when the page was made.
    pub(crate) was: String,
    /// The prices are not those of the configuration.
    pub(crate) is_set: bool,
    pub(crate) can_undo: bool,
    pub(crate) wrong: Option<PriceError>,
    pub(crate) preview: Option<Preview>,
}

/// A rule as it was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) hours: String,
    pub(crate) load: String,
    /// Credits per node-hour; empty: no rule.
    pub(crate) price: String,
}

/// What is wrong with what was typed, and in which row; `None`: in the price without a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PriceError {
    pub(crate) row: Option<usize>,
    pub(crate) message: String,
}

/// What a change would do.
#[derive(Debug, Clone)]
pub(crate) struct Preview {
    pub(crate) changes: Vec<RuleChange>,
    /// Moments at which a price changes: with the present load, and with all nodes in use.
    pub(crate) week: Vec<(i64, String, String)>,
    /// Changes of the week that are not listed.
    pub(crate) more: usize,
    /// Percent of the nodes that are in use.
    pub(crate) load: u32,
    pub(crate) resets: bool,
}

/// A rule before and after, credits per node-hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleChange {
    pub(crate) rule: String,
    pub(crate) now: Option<String>,
    pub(crate) next: Option<String>,
}

impl Editor {
    /// Whether this row was refused.
    pub(crate) fn is_wrong(&self, row: &usize) -> bool {
        self.wrong.as_ref().is_some_and(|it| it.row == Some(*row))
    }

    /// Whether the price without a rule was refused.
    pub(crate) fn base_is_wrong(&self) -> bool {
        self.wrong.as_ref().is_some_and(|it| it.row.is_none())
    }

    /// Whether the form is shown unfolded.
    pub(crate) fn is_open(&self) -> bool {
        self.wrong.is_some() || self.preview.is_some() || self.can_undo
    }
}

impl Preview {
    /// Nothing would change.
    pub(crate) fn is_same(&self) -> bool {
        !self.resets && self.changes.iter().all(|it| it.now == it.next)
    }
}

/// The last change of each pool's prices, while the daemon runs: the table before and after.
#[derive(Debug, Default)]
pub(crate) struct LastChanges(Mutex<BTreeMap<String, TableChange>>);

type TableChange = (Option<String>, Option<String>);

impl LastChanges {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, TableChange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table before the last change, if nothing has changed since.
    fn before(&self, pool: &ManagedPool) -> Option<Option<String>> {
        let all = self.all();
        all.get(&pool.name)
            .filter(|(_, after)| *after == pool.set)
            .map(|(before, _)| before.clone())
    }
}

/// A pool's form, with the rules in force.
pub(crate) async fn editor(context: &PageContext, pool: &ManagedPool) -> Answer<Editor> {
    let rules = rules(context, pool.id, pool.set.clone()).await?;
    let mut rows: Vec<Row> = rules.rules.iter().map(row).collect();
    rows.resize(rows.len() + MORE, Row::default());
    Ok(Editor {
        pool: pool.name.clone(),
        base: hourly(rules.base),
        rows,
        was: rules.text(),
        is_set: pool.set.is_some(),
        can_undo: context.cache.last_prices.before(pool).is_some(),
        wrong: None,
        preview: None,
    })
}

async fn rules(context: &PageContext, pool: PoolId, set: Option<String>) -> Answer<PriceRules> {
    let tariffs = Arc::clone(&context.tariffs);
    blocking(move || tariffs.rules(pool, set.as_deref())).await
}

fn row(rule: &PriceRule) -> Row {
    let PriceRule { hours, load, price } = rule.clone();
    Row { hours, load, price: hourly(price) }
}

/// For fields: it names exactly this price.
fn hourly(price: Price) -> String {
    words::plain(&amounts::hourly(&price.into()))
}

/// What is sent, as it was typed.
#[derive(Debug, Default)]
struct PriceForm {
    pool: String,
    base: String,
    rows: Vec<Row>,
    was: String,
    /// `preview`, `confirm`, `reset`, `confirm-reset`, `undo` or `again`.
    set: String,
}

impl PriceForm {
    fn of(fields: Vec<(String, String)>) -> PriceForm {
        let mut form = PriceForm::default();
        let (mut hours, mut loads, mut prices) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in fields {
            match name.as_str() {
                "pool" => form.pool = value,
                "base" => form.base = value,
                "was" => form.was = value.replace("\r\n", "\n"),
                "set" => form.set = value,
                "hours" => hours.push(value),
                "load" => loads.push(value),
                "price" => prices.push(value),
                _ => {}
            }
        }
        let rows = hours.into_iter().zip(loads).zip(prices);
        form.rows = rows.map(|((hours, load), price)| Row { hours, load, price }).collect();
        form
    }

    /// The rules that were typed.
    fn rules(&self) -> Result<PriceRules, PriceError> {
        let base = price(&self.base).map_err(|message| PriceError { row: None, message })?;
        let mut rules = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let (hours, load) = (row.hours.trim(), row.load.trim());
            if row.price.trim().is_empty() {
                continue;
            }
            let price =
                price(&row.price).map_err(|message| PriceError { row: Some(at), message })?;
            let hours = if hours.is_empty() { "always" } else { hours };
            rules.push((at, PriceRule { hours: hours.to_owned(), load: load.to_owned(), price }));
        }
        Ok(PriceRules { base, rules: rules.into_iter().map(|(_, rule)| rule).collect() })
    }

    /// The place among what was typed of the rule of that number.
    fn place(&self, rule: usize) -> Option<usize> {
        let typed = self.rows.iter().enumerate().filter(|(_, row)| !row.price.trim().is_empty());
        typed.map(|(at, _)| at).nth(rule)
    }
}

/// A price per node and second of one per node and hour, to the nearest micro-credit.
pub(super) fn price(text: &str) -> Result<Price, String> {
    let text = text.trim();
    let said = format!("`{}` is not a price: write credits per node-hour, as in 7.2", shown(text));
    let credits: Credits = serde_json::from_str(text).map_err(|_| said.clone())?;
    let price = Credits((credits.0 + 1_800).div_euclid(3_600));
    price.price().filter(|_| credits.0 >= 0).ok_or(said)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Previews a change of prices, makes it, or undoes the last one.
pub(crate) async fn set(
    State(context): State<PageContext>,
    caller: Caller,
    Form(fields): Form<Vec<(String, String)>>,
) -> PageResult {
    let form = PriceForm::of(fields);
    let pool = managed(&context, &caller, &form.pool).await?;
    let (wanted, resets) = match form.set.as_str() {
        "again" => {
            context.cache.trials.forget(&pool.name);
            return Ok(go(&format!("/market?try={}#trial", words::in_address(&pool.name))));
        }
        "undo" => return undo(&context, caller, pool).await,
        "reset" | "confirm-reset" => (rules(&context, pool.id, None).await?, true),
        _ => match checked(&context, pool.id, &form).await? {
            Ok(rules) => (rules, false),
            Err(wrong) => return refused(&context, &caller, (&pool, form), wrong).await,
        },
    };
    let confirmed = form.set.starts_with("confirm");
    let in_force = rules(&context, pool.id, pool.set.clone()).await?;
    if confirmed && form.was == in_force.text() {
        let text = (!resets).then(|| wanted.text());
        return change(&context, caller, pool, text).await;
    }
    let preview = preview(&context, &pool, (&in_force, &wanted), resets).await?;
    let mut editor = editor(&context, &pool).await?;
    if !resets {
        (editor.base, editor.rows) = (form.base, form.rows);
    }
    editor.preview = Some(preview);
    if confirmed {
        let message = "the prices have changed meanwhile: look at the preview again".to_owned();
        editor.wrong = Some(PriceError { row: None, message });
    }
    let made = market::edited(&context, &caller, editor).await?;
    let status = if confirmed { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(page(&made)?.at(status))
}

/// The same page, with what was typed and what is wrong with it.
async fn refused(
    context: &PageContext,
    caller: &Caller,
    (pool, form): (&ManagedPool, PriceForm),
    wrong: PriceError,
) -> PageResult {
    let PriceForm { base, rows, .. } = form;
    let editor = Editor { base, rows, wrong: Some(wrong), ..editor(context, pool).await? };
    let made = market::edited(context, caller, editor).await?;
    Ok(page(&made)?.at(StatusCode::UNPROCESSABLE_ENTITY))
}

/// The rules that were typed; they are checked one by one, so that the wrong one can be named.
async fn checked(
    context: &PageContext,
    pool: PoolId,
    form: &PriceForm,
) -> Answer<Result<PriceRules, PriceError>> {
    let rules = match form.rules() {
        Ok(rules) => rules,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let (tariffs, found) = (Arc::clone(&context.tariffs), rules.clone());
    let wrong = blocking(move || {
        let of = |rule: Option<PriceRule>| PriceRules {
            base: found.base,
            rules: rule.into_iter().collect(),
        };
        let base = tariffs.check(pool, &of(None).text()).err().map(|it| (None, it));
        let of_rules = found.rules.iter().enumerate().find_map(|(at, rule)| {
            tariffs.check(pool, &of(Some(rule.clone())).text()).err().map(|it| (Some(at), it))
        });
        base.or(of_rules)
    });
    let wrong = wrong.await?.map(|(rule, message)| PriceError {
        row: rule.and_then(|rule| form.place(rule)),
        message: without_line(&message),
    });
    Ok(wrong.map_or(Ok(rules), Err))
}

/// The document is made here: the user does not know its lines.
fn without_line(message: &str) -> String {
    match message.split_once(": ") {
        Some((line, rest)) if line.starts_with("line ") => rest.to_owned(),
        _ => message.to_owned(),
    }
}

async fn change(
    context: &PageContext,
    caller: Caller,
    pool: ManagedPool,
    text: Option<String>,
) -> PageResult {
    context.ask(caller.actor, Ask::Tariff { pool: pool.id, text: text.clone() }).await?;
    context.cache.last_prices.all().insert(pool.name, (pool.set, text));
    Ok(go("/market#your-prices"))
}

async fn undo(context: &PageContext, caller: Caller, pool: ManagedPool) -> PageResult {
    let hint = "look at the rules in force";
    let Some(text) = context.cache.last_prices.before(&pool) else {
        let message = "there is no change to undo: the prices have changed since";
        return Err(ErrorResponse::invalid(message, hint).into());
    };
    context.ask(caller.actor, Ask::Tariff { pool: pool.id, text }).await?;
    context.cache.last_prices.all().remove(&pool.name);
    Ok(go("/market#your-prices"))
}

async fn preview(
    context: &PageContext,
    pool: &ManagedPool,
    (now, next): (&PriceRules, &PriceRules),
    resets: bool,
) -> Answer<Preview> {
    let (tariffs, id, load) = (Arc::clone(&context.tariffs), pool.id, pool.load);
    let from = context.look(|live| present(live.state()).0).await?;
    let text = next.text();
    let [present, full] = blocking(move || {
        [load, 1_000]
            .map(|load| tariffs.ahead(id, Some(&text), load, Time(from), Time(from + WEEK)))
    })
    .await?;
    let mut moments: Vec<i64> = present.iter().chain(&full).map(|(at, _)| at.0).collect();
    moments.sort_unstable();
    moments.dedup();
    let at = |steps: &[(Time, Price)], moment: i64| {
        let step = steps.iter().rfind(|(at, _)| at.0 <= moment);
        step.map_or_else(String::new, |(_, price)| words::hourly(&Credits::from(*price)))
    };
    let more = moments.len().saturating_sub(LINES);
    let lines = moments.into_iter().take(LINES);
    let week = lines.map(|it| (it, at(&present, it), at(&full, it))).collect();
    let (changes, load) = (changes(now, next), load / 10);
    Ok(Preview { changes, week, more, load, resets })
}

/// All rules of both, the price without a rule last.
fn changes(now: &PriceRules, next: &PriceRules) -> Vec<RuleChange> {
    let name = |it: &PriceRule| match (it.hours.as_str(), it.load.as_str()) {
        ("always", "") => "always".to_owned(),
        (hours, "") => hours.to_owned(),
        ("always" | "", load) => format!("load {load}"),
        (hours, load) => format!("{hours}, load {load}"),
    };
    let price = |it: Price| words::hourly(&Credits::from(it));
    let of = |rules: &PriceRules, wanted: &str| {
        rules.rules.iter().find(|it| name(it) == wanted).map(|it| price(it.price))
    };
    let mut names: Vec<String> = next.rules.iter().map(name).collect();
    let gone = now.rules.iter().map(name).filter(|it| !names.contains(it));
    let gone: Vec<String> = gone.collect();
    names.extend(gone);
    let line = |rule: String| RuleChange { now: of(now, &rule), next: of(next, &rule), rule };
    let base = RuleChange {
        rule: "no rule matches".to_owned(),
        now: Some(price(now.base)),
        next: Some(price(next.base)),
    };
    names.into_iter().map(line).chain([base]).collect()
}

/// The pool, if the reader may set its prices.
pub(crate) async fn managed(
    context: &PageContext,
    caller: &Caller,
    name: &str,
) -> Answer<ManagedPool> {
    let (wanted, actor) = (name.to_owned(), caller.actor.clone());
    let found = context.look(move |live| {
        let state = live.state();
        let found = state.market.pools().iter().find(|(_, pool)| pool.name == wanted);
        found.map(|(id, pool)| {
            let owner = state.owners().get(pool.site.0 as usize).map_or("", String::as_str);
            let pool = market::managed_pools(state).into_iter().find(|it| it.id == id);
            pool.filter(|_| actor.may_manage(owner))
        })
    });
    match found.await? {
        Some(Some(pool)) => Ok(pool),
        Some(None) => Err(ErrorResponse::forbidden("only its owner sets a pool's prices")),
        None => Err(ErrorResponse::unknown(format!("there is no pool `{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(hours: &str, load: &str, price: i64) -> PriceRule {
        PriceRule { hours: hours.to_owned(), load: load.to_owned(), price: Price(price) }
    }

    #[test]
    fn what_is_filled_in_gives_the_same_rules() {
        let rules = PriceRules {
            base: Price(277),
            rules: vec![rule("always", ">=0.75", 6_000), rule("Sat,Sun", "", 1)],
        };
        let fields = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut all = vec![fields("pool", "a/b"), fields("base", &hourly(rules.base))];
        for it in rules.rules.iter().map(row).chain([Row::default()]) {
            all.extend([
                fields("hours", &it.hours),
                fields("load", &it.load),
                fields("price", &it.price),
            ]);
        }
        let form = PriceForm::of(all);
        assert_eq!(form.rules().unwrap(), rules);
        assert_eq!((form.place(1), form.place(2)), (Some(1), None));
    }

    #[test]
    fn prices_are_by_the_hour_and_to_the_nearest_micro_credit() {
        let read = |text: &str| price(text).map(|it| it.0).ok();
        let read = ["7.2", "1", "0", " 0.0018 ", "-0.0001", "dear", ""].map(read);
        assert_eq!(read, [Some(2_000), Some(278), Some(0), Some(1), None, None, None]);
    }

    #[test]
    fn a_preview_says_what_each_rule_becomes() {
        let now = PriceRules { base: Price(4_000), rules: vec![rule("always", ">=0.75", 6_000)] };
        let next = PriceRules { base: Price(5_000), rules: vec![rule("Sat", "", 1_000)] };
        let said: Vec<_> = changes(&now, &next)
            .into_iter()
            .map(|it| format!("{}: {:?} {:?}", it.rule, it.now, it.next))
            .collect();
        assert_eq!(
            said,
            [
                "Sat: None Some(\"3.6\")",
                "load >=0.75: Some(\"21.6\") None",
                "no rule matches: Some(\"14.4\") Some(\"18\")"
            ]
        );
    }
}
