//! What nodes have, and what tasks take of nodes that they share.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use tradewind_model::{
    Charge, NodeResources, Packing, Price, Resource, Resources, Sharing, TaskNeeds, UnitPrices,
};

use crate::decimal;
use crate::diagnostics::excerpt;
use crate::fields::{AMOUNT, DecimalScale, Fields, Notes, TABLE, hint_for, scaled};
use crate::memory;
use crate::series::Rate;
use crate::value::{Entry, Value, ValueKind};

/// Keys of amounts, wherever they are.
pub(super) const AMOUNTS: [&str; 3] = ["cores", "memory", "gres"];
/// Generic resources that a table may name.
const MOST_GRES: usize = 16;
const MEMORY_FORMS: &str = "an amount in quotes, such as `\"512 GB\"`, `\"1.5T\"` or `\"800M\"`";

/// Whether any of [`AMOUNTS`] is given.
pub(super) fn any(fields: &Fields<'_, '_>) -> bool {
    AMOUNTS.iter().any(|key| fields.get(key).is_some())
}

/// The amounts that are given, others as in `default`; `None` if none is given or one is wrong.
pub(super) fn amounts(
    fields: &Fields<'_, '_>,
    default: &Resources,
    notes: &mut Notes<'_>,
) -> Option<Resources> {
    if !any(fields) {
        return None;
    }
    let before = notes.diagnostics.errors();
    let range = i64::from(default.cores.min(1))..=i64::from(Resources::MAX_COUNT);
    let cores = fields.whole("cores", range, notes).and_then(|it| u32::try_from(it).ok());
    let memory = fields.get("memory").and_then(|value| memory(fields, value, notes));
    let gres = fields.get("gres").map(|value| gres(fields, value, notes));
    (notes.diagnostics.errors() == before).then(|| Resources {
        cores: cores.unwrap_or(default.cores),
        memory: memory.unwrap_or(default.memory),
        gres: gres.unwrap_or_else(|| default.gres.clone()),
    })
}

fn memory(fields: &Fields<'_, '_>, value: &Value<'_>, notes: &mut Notes<'_>) -> Option<u64> {
    let place = fields.place("memory");
    let ValueKind::Text(text) = &value.kind else {
        let message = format!("expected an amount of memory, found {}", value.describe());
        notes.error(value.line, &place, message, MEMORY_FORMS);
        return None;
    };
    let kib = memory::kib(text).filter(|kib| *kib <= Resources::MAX_MEMORY);
    if kib.is_none() {
        let message = format!("`{}` is not an amount of memory up to 1024 TB", excerpt(text));
        notes.error(value.line, &place, message, MEMORY_FORMS);
    }
    kib
}

/// A table of generic resources, read number by number.
fn by_name<T>(
    (place, value): (String, &Value<'_>),
    scale: &DecimalScale,
    notes: &mut Notes<'_>,
    make: impl Fn(i64) -> T,
) -> BTreeMap<String, T> {
    let mut all = BTreeMap::new();
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &place, message, hint_for(TABLE));
        return all;
    };
    if entries.len() > MOST_GRES {
        let message = format!("{} generic resources", entries.len());
        notes.error(value.line, &place, message, &format!("at most {MOST_GRES} are possible"));
    }
    for entry in entries.iter().take(MOST_GRES) {
        let place = format!("{place}.{}", excerpt(&entry.key));
        if let Some(number) = number(entry, &place, scale, notes) {
            all.insert(entry.key.to_string(), make(number));
        }
    }
    all
}

fn number(
    entry: &Entry<'_>,
    place: &str,
    scale: &DecimalScale,
    notes: &mut Notes<'_>,
) -> Option<i64> {
    let read = match &entry.value.kind {
        ValueKind::Number(text) => scaled(text, scale),
        _ => Err((
            format!("expected a number, found {}", entry.value.describe()),
            "write digits, such as `4`".to_owned(),
        )),
    };
    read.map_err(|(message, hint)| notes.error(entry.line, place, message, &hint)).ok()
}

fn gres(
    fields: &Fields<'_, '_>,
    value: &Value<'_>,
    notes: &mut Notes<'_>,
) -> BTreeMap<String, u32> {
    let scale = DecimalScale { decimals: 0, range: 0..=i64::from(Resources::MAX_COUNT) };
    let mut all = by_name((fields.place("gres"), value), &scale, notes, |n| n as u32);
    all.retain(|_, count| *count > 0);
    all
}

/// What a node has, with the price of the whole; `rate` is the price that it would have otherwise.
pub(super) fn of_node(
    fields: &Fields<'_, '_>,
    rate: Option<&Rate>,
    notes: &mut Notes<'_>,
) -> Option<(NodeResources, Option<Price>)> {
    let all = amounts(fields, &Resources::default(), notes);
    let is_shared = flag(fields, "shared", notes).unwrap_or(false);
    let prices = fields.get("unit_prices").map(|value| unit_prices(fields, value, notes));
    let rules = [("sum", false), ("greatest", true)];
    let by_greatest = fields.word("charge", &rules, notes);
    let mut refuse = |key: &str, message: &str, hint: &str| {
        notes.error(fields.line_of(key), &fields.place(key), message.to_owned(), hint);
    };
    if !is_shared {
        for key in ["unit_prices", "charge"].into_iter().filter(|key| fields.get(key).is_some()) {
            refuse(key, "of no use where one task has the whole node", "add `shared = true`");
        }
        return all.map(|all| (NodeResources { all, sharing: Sharing::Whole }, None));
    }
    if fields.get("cores").is_none() {
        refuse("shared", "a shared node without `cores`", "say how many cores it has");
    }
    if matches!(rate, Some(Rate::Changes(_))) && prices.is_none() {
        refuse("price", "a price that changes on a shared node", "give it one price");
    }
    if prices.is_some() && fields.get("price").is_some() {
        refuse(
            "price",
            "both `price` and `unit_prices`",
            "keep one: the price of the whole, or of units",
        );
    }
    if prices.is_none() && by_greatest.is_some() {
        refuse("charge", "`charge` without `unit_prices`", "say what a core, a GB or a GPU costs");
    }
    let charge = match (prices, by_greatest) {
        (None, _) => Charge::Share,
        (Some(prices), Some(true)) => Charge::Greatest(prices),
        (Some(prices), _) => Charge::Sum(prices),
    };
    let has_units = charge != Charge::Share;
    let node = NodeResources { all: all?, sharing: Sharing::Shared(charge) };
    let price = has_units.then(|| node.price(Price::default(), &node.all));
    Some((node, price))
}

/// Prices of a core, of a GB of memory and of generic resources by name.
fn unit_prices(fields: &Fields<'_, '_>, value: &Value<'_>, notes: &mut Notes<'_>) -> UnitPrices {
    let at = (fields.place("unit_prices"), value);
    let mut all = by_name(at, &AMOUNT, notes, Price);
    UnitPrices {
        core: all.remove("core").unwrap_or_default(),
        memory: all.remove("memory").unwrap_or_default(),
        gres: all,
    }
}

/// `true` or `false`.
fn flag(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<bool> {
    let value = fields.get(key)?;
    if let ValueKind::Flag(flag) = value.kind {
        return Some(flag);
    }
    let message = format!("expected `true` or `false`, found {}", value.describe());
    notes.error(value.line, &fields.place(key), message, "without quotes");
    None
}

/// What each task of a job takes, if it says so.
pub(super) fn of_job(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Box<TaskNeeds>> {
    let packing = fields.word("packing", &Packing::ALL.map(|(it, name)| (name, it)), notes);
    if !any(fields) {
        for key in ["tasks", "packing"].into_iter().filter(|key| fields.get(key).is_some()) {
            let message = format!("`{key}` without what a task takes");
            let hint =
                "add `cores`, `memory` or `gres`; `nodes` counts tasks with a whole node each";
            notes.error(fields.line_of(key), &fields.place(key), message, hint);
        }
        return None;
    }
    for key in ["nodes", "groups"].into_iter().filter(|key| fields.get(key).is_some()) {
        let message = format!("`{key}` of a job whose tasks may share nodes");
        let hint = "give `tasks`, or leave `cores`, `memory` and `gres` out: whole nodes";
        notes.error(fields.line_of(key), &fields.place(key), message, hint);
    }
    let one_core = Resources { cores: 1, ..Resources::default() };
    let each = amounts(fields, &one_core, notes)?;
    Some(Box::new(TaskNeeds { each, packing: packing.unwrap_or_default() }))
}

/// Amounts as fields of a JSON table, those that are not 0.
pub(super) fn written(all: &Resources) -> [(&'static str, Option<Json>); 3] {
    let gres: Map<String, Json> =
        all.gres.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    [
        ("cores", (all.cores > 0).then(|| json!(all.cores))),
        ("memory", (all.memory > 0).then(|| json!(Resource::Memory.show(all.memory)))),
        ("gres", (!gres.is_empty()).then_some(Json::Object(gres))),
    ]
}

/// `shared`, `unit_prices` and `charge` of a node.
pub(super) fn sharing(node: Option<&NodeResources>) -> [(&'static str, Option<Json>); 3] {
    let charge = node.and_then(|node| match &node.sharing {
        Sharing::Whole => None,
        Sharing::Shared(charge) => Some(charge),
    });
    let (prices, rule) = match charge {
        None | Some(Charge::Share) => (None, None),
        Some(Charge::Greatest(prices)) => (Some(prices), Some("greatest")),
        Some(Charge::Sum(prices)) => (Some(prices), Some("sum")),
    };
    let prices = prices.map(|prices| {
        let plain = [("core", prices.core), ("memory", prices.memory)];
        let plain = plain.map(|(name, price)| (name.to_owned(), price));
        let gres = prices.gres.iter().map(|(name, price)| (name.clone(), *price));
        let all = plain.into_iter().chain(gres).filter(|(_, price)| price.0 > 0);
        all.map(|(name, price)| (name, Json::Number(decimal::price(price)))).collect()
    });
    [
        ("shared", charge.map(|_| json!(true))),
        ("unit_prices", prices.map(Json::Object)),
        ("charge", rule.map(|rule| json!(rule))),
    ]
}
