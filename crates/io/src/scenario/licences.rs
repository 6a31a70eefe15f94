//! Licences: how many there are, when others have them, and what jobs take along.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tradewind_model::{
    FreeLicences, Grid, Horizon, Licence, LicenceId, LicenceShare, LicenceShares, Request, SlotList,
};

use super::nodes::NameLines;
use crate::decimal;
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{DecimalScale, Fields, Notes, scaled};
use crate::value::{Entry, Value, ValueKind};

const KEYS: [&str; 4] = ["name", "count", "price", "busy"];
const BUSY_KEYS: [&str; 3] = ["start", "end", "count"];

/// The most of one licence.
const MOST: i64 = 1 << 24;
/// The most licences in one scenario.
const MOST_KINDS: usize = 1_000;

/// The licences as read.
#[derive(Debug, Default)]
pub(super) struct ScenarioLicences {
    all: Vec<Licence>,
    /// By name; `None` for those with mistakes.
    ids: BTreeMap<String, Option<LicenceId>>,
    busy: Vec<BusyLicences>,
}

/// The spans in which others have a licence, and where they stand in the file.
#[derive(Debug)]
struct BusyLicences {
    licence: LicenceId,
    spans: Vec<(LicenceShare, Horizon)>,
    place: String,
    line: u32,
}

impl ScenarioLicences {
    /// The list `licences`.
    pub(super) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> ScenarioLicences {
        let mut read = ScenarioLicences::default();
        let mut names = NameLines::default();
        let items = fields.list("licences", notes).unwrap_or_default();
        if items.len() > MOST_KINDS {
            let message = format!("{} licences", items.len());
            let hint = format!("at most {MOST_KINDS} are possible");
            notes.error(fields.line_of("licences"), "licences", message, &hint);
        }
        for (i, item) in items.iter().take(MOST_KINDS).enumerate() {
            let path = format!("licences[{i}]");
            let Some(of) = Fields::of(item, path, &KEYS, notes) else { continue };
            of.require(&["name", "count"], notes);
            let name = names.take(&of, "licence", notes);
            let count = of.whole("count", 1..=MOST, notes).and_then(|it| u32::try_from(it).ok());
            let price = of.price("price", notes).unwrap_or_default();
            let id = LicenceId(read.all.len() as u32);
            let known = count.map(|_| id);
            if let Some((name, count)) = name.clone().zip(count) {
                read.all.push(Licence { name, count, price });
                read.busy.extend(busy(&of, id, notes));
            }
            read.ids.extend(name.map(|name| (name, known)));
        }
        read
    }

    /// What a job takes along; `None` if nothing, or with mistakes.
    pub(super) fn of_job(&self, job: &Fields<'_, '_>, notes: &mut Notes<'_>) -> LicenceShares {
        let value = job.get("licences")?;
        let place = job.place("licences");
        let ValueKind::Table(entries) = &value.kind else {
            let message = format!("expected a table, found {}", value.describe());
            notes.error(value.line, &place, message, "such as `licences = { abaqus = 4 }`");
            return None;
        };
        let share = |entry: &Entry<'_>| self.share(entry, &place, notes);
        let mut shares: Vec<LicenceShare> = entries.iter().filter_map(share).collect();
        shares.sort_unstable_by_key(|share| share.licence);
        (!shares.is_empty()).then(|| Arc::from(shares))
    }

    fn share(&self, entry: &Entry<'_>, place: &str, notes: &mut Notes<'_>) -> Option<LicenceShare> {
        let Some(known) = self.ids.get(&*entry.key) else {
            let message = format!("unknown licence `{}`", excerpt(&entry.key));
            let known: Vec<&str> = self.ids.keys().map(String::as_str).collect();
            let hint = match known.is_empty() {
                true => "list it with its `name` and `count` in `licences`".to_owned(),
                false => did_you_mean(&entry.key, &known),
            };
            notes.error(entry.line, place, message, &hint);
            return None;
        };
        let place = format!("{place}.{}", excerpt(&entry.key));
        let count = match &entry.value.kind {
            ValueKind::Number(text) => scaled(text, &DecimalScale { decimals: 0, range: 1..=MOST }),
            _ => Err((
                format!("expected a number, found {}", entry.value.describe()),
                "write digits, such as `4`".to_owned(),
            )),
        };
        let count =
            count.map_err(|(message, hint)| notes.error(entry.line, &place, message, &hint));
        let (licence, count) = ((*known)?, u32::try_from(count.ok()?).ok()?);
        let all = self.all.get(licence.index())?.count;
        if count > all {
            let message = format!("{count} of `{}` needed, there are {all}", excerpt(&entry.key));
            let hint = "no window has so many: ask for fewer, or raise the licence's `count`";
            notes.error(entry.line, &place, message, hint);
        }
        Some(LicenceShare { licence, count })
    }

    /// The grid with the licences, and the list with what is free of them within the horizon. What
    /// others have in sum beyond the count is noted.
    pub(super) fn apply(
        self,
        (grid, slots): (Grid, SlotList),
        horizon: Horizon,
        notes: &mut Notes<'_>,
    ) -> (Grid, SlotList) {
        if self.all.is_empty() {
            return (grid, slots);
        }
        let mut free = FreeLicences::new(&self.all, horizon.start);
        for of in &self.busy {
            for (share, span) in &of.spans {
                free.take(*share, span.start.max(horizon.start), span.end.min(horizon.end));
            }
            let levels = free.levels(of.licence, horizon.end);
            if let Some(short) = levels.iter().find(|level| level.free < 0) {
                let all = i64::from(self.all[of.licence.index()].count);
                let (taken, at) = (all - short.free, short.at);
                let message = format!("others have {taken} at {at} s, and there are {all}");
                let hint = "spans may overlap, and their `count`s then add up: lower one, or raise the licence's `count`";
                notes.error(of.line, &of.place, message, hint);
            }
        }
        (grid.with_licences(self.all), slots.with_licences(free))
    }
}

/// The spans in which others have the licence.
fn busy(of: &Fields<'_, '_>, licence: LicenceId, notes: &mut Notes<'_>) -> Option<BusyLicences> {
    let items = of.list("busy", notes).filter(|items| !items.is_empty())?;
    let place = of.place("busy");
    let mut spans = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        spans.extend(busy_span(item, format!("{place}[{i}]"), licence, notes));
    }
    Some(BusyLicences { licence, spans, place, line: of.line_of("busy") })
}

fn busy_span(
    item: &Value<'_>,
    place: String,
    licence: LicenceId,
    notes: &mut Notes<'_>,
) -> Option<(LicenceShare, Horizon)> {
    let fields = Fields::of(item, place, &BUSY_KEYS, notes)?;
    fields.require(&BUSY_KEYS, notes);
    let (start, end) = (fields.time("start", notes), fields.time("end", notes));
    let count = fields.whole("count", 1..=MOST, notes).and_then(|it| u32::try_from(it).ok());
    let (start, end, count) = (start?, end?, count?);
    if start >= end {
        let message = format!("`start` {start} is not before `end` {end}");
        notes.error(fields.line, &fields.path, message, "a span has at least one second");
        return None;
    }
    Some((LicenceShare { licence, count }, Horizon { start, end }))
}

/// A licence as fields of a JSON table, with what others have of it within the horizon.
pub(super) fn written(
    (id, licence): (LicenceId, &Licence),
    slots: &SlotList,
    horizon: Horizon,
) -> [(&'static str, Option<Json>); 4] {
    let levels = slots.licences().map(|free| free.levels(id, horizon.end)).unwrap_or_default();
    let ends = levels.iter().skip(1).map(|level| level.at).chain([horizon.end]);
    let span = |(level, end): (&tradewind_model::Level, tradewind_model::Time)| {
        let taken = i64::from(licence.count) - level.free;
        (taken > 0).then(|| json!({"start": level.at.0, "end": end.0, "count": taken}))
    };
    let busy: Vec<Json> = levels.iter().zip(ends).filter_map(span).collect();
    let price = Some(licence.price).filter(|price| price.0 > 0);
    [
        ("name", Some(json!(licence.name))),
        ("count", Some(json!(licence.count))),
        ("price", price.map(|price| Json::Number(decimal::price(price)))),
        ("busy", (!busy.is_empty()).then_some(Json::Array(busy))),
    ]
}

/// What a job takes along, by name.
pub(super) fn of_request(request: &Request, grid: &Grid) -> Option<Json> {
    let shares = request.licences.as_ref()?;
    let named = |share: &LicenceShare| {
        let licence = grid.licences().get(share.licence.index())?;
        Some((licence.name.clone(), json!(share.count)))
    };
    let all: Map<String, Json> = shares.iter().filter_map(named).collect();
    (!all.is_empty()).then_some(Json::Object(all))
}
