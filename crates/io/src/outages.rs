//! When nodes are missing: entries of a grid file, or a CSV table of their own.

mod targets;
#[cfg(test)]
mod tests;

use tradewind_model::{Cause, Horizon, Outage, Pools, SiteId, Span, Time};

use crate::diagnostics::{Diagnostics, excerpt, suggestion};
use crate::fields::{Fields, Notes};
use crate::input::{self, Input};
use crate::rows::rows;
use crate::value::Value;

pub use targets::{Target, TargetKind, Targets};

const PLANNED_KEYS: [&str; 7] = ["pool", "nodes", "from", "until", "repeat", "announced", "notice"];
const LISTED_KEYS: [&str; 8] =
    ["pool", "nodes", "from", "until", "cause", "node", "announced", "notice"];

/// Nodes that are missing, once or again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The first time.
    pub what: Outage,
    /// When policies learn of it.
    pub known: KnownFrom,
    /// From one beginning to the next; never shorter than the outage itself.
    pub repeat: Option<Span>,
}

/// When policies learn of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFrom {
    /// From the start.
    Always,
    /// At this moment; of a repeated outage, the first time.
    At(Time),
    /// So long before it begins.
    Ahead(Span),
}

impl Planned {
    /// The most repetitions of one entry that are listed: a limit against absurd ones.
    pub const MAX: i64 = 1_000_000;

    /// The outages that have not ended before the horizon, each with the moment of its
    /// announcement, which is not before the horizon. Of repeated ones, those that begin within it:
    /// a single one also counts beyond, as jobs are planned around it long before.
    pub fn closures(&self, within: Horizon) -> impl Iterator<Item = (Time, Outage)> + use<> {
        let Planned { what, known, repeat } = *self;
        let step = repeat.map_or(0, |repeat| repeat.0);
        // The first that may end within the horizon, and the first that begins beyond it.
        let past = (within.start - what.until).0.max(0);
        let first = past.checked_div(step).unwrap_or(0);
        let ahead = (within.end - what.from).0.max(0);
        let last = (u64::try_from(ahead).unwrap_or(0))
            .checked_div(step.unsigned_abs())
            .map_or(0, |count| i64::try_from(count).unwrap_or(i64::MAX));
        let last = last.min(first.saturating_add(Self::MAX));
        let each = move |index: i64| {
            let by = Span(index * step);
            let (from, until) = (what.from + by, what.until + by);
            let told = match known {
                KnownFrom::Always => within.start,
                KnownFrom::At(at) => at + by,
                KnownFrom::Ahead(span) => from - span,
            };
            (told.min(from).max(within.start), Outage { from, until, ..what })
        };
        let inside = move |(_, it): &(Time, Outage)| {
            it.until > within.start && (repeat.is_none() || it.from < within.end)
        };
        (first..=last).map(each).filter(inside)
    }
}

/// Reads the outage table `path`, which names these pools; `-` is standard input.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str, targets: &Targets) -> Result<Vec<Planned>, Diagnostics> {
    parse(&input::read(path)?, targets)
}

/// Reads an outage table: CSV with a row per outage.
///
/// # Errors
/// All that is wrong with it.
pub fn parse(input: &Input, targets: &Targets) -> Result<Vec<Planned>, Diagnostics> {
    let rows = rows(&input.name, input.text()?, &LISTED_KEYS)?;
    let mut notes = Notes::new(&input.name);
    let among = Among { targets, site: None };
    let mut all = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        all.extend(event(row, format!("row {}", i + 1), among, &mut notes));
    }
    notes.diagnostics.finish(Some(all)).map(|(all, _)| all)
}

/// The outages in the list `key` of a document.
pub(crate) fn listed(
    fields: &Fields<'_, '_>,
    key: &str,
    targets: &Targets,
    notes: &mut Notes<'_>,
) -> Vec<Planned> {
    let among = Among { targets, site: None };
    let items = fields.list(key, notes).unwrap_or_default();
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        all.extend(event(item, format!("{key}[{i}]"), among, notes));
    }
    all
}

/// What an entry may name.
#[derive(Clone, Copy)]
pub(crate) struct Among<'t> {
    /// Names that outages may refer to.
    pub(crate) targets: &'t Targets,
    /// Whose pools alone, if so.
    pub(crate) site: Option<SiteId>,
}

/// An entry of load or maintenance.
pub(crate) fn planned(
    value: &Value<'_>,
    path: String,
    among: Among<'_>,
    (cause, known): (Cause, KnownFrom),
    notes: &mut Notes<'_>,
) -> Vec<Planned> {
    let Some(fields) = Fields::of(value, path, &PLANNED_KEYS, notes) else { return Vec::new() };
    let repeat = fields.span("repeat", 1..=Span::MAX.0, notes);
    let known = self::known(&fields, known, notes);
    let closures = closures(&fields, among, cause, notes);
    if let (Some(repeat), Some(what)) = (repeat, closures.first())
        && repeat < what.until - what.from
    {
        let message = format!("it repeats after {repeat} s, before it is over");
        let hint = "give it a longer `repeat`, or end it earlier";
        notes.error(fields.line_of("repeat"), &fields.place("repeat"), message, hint);
    }
    closures.into_iter().map(|what| Planned { what, known, repeat }).collect()
}

/// An entry of the list of outages.
fn event(value: &Value<'_>, path: String, among: Among<'_>, notes: &mut Notes<'_>) -> Vec<Planned> {
    let Some(fields) = Fields::of(value, path, &LISTED_KEYS, notes) else { return Vec::new() };
    let node = fields.whole("node", 0..=i64::from(Pools::MAX_NODES), notes);
    let node = node.and_then(|node| u32::try_from(node).ok());
    let week = KnownFrom::Ahead(Span(7 * 86_400));
    let causes = [
        ("failure", (Cause::Failure(node.unwrap_or(0)), KnownFrom::Ahead(Span::ZERO))),
        ("maintenance", (Cause::Maintenance, week)),
        ("local", (Cause::Local, KnownFrom::Always)),
    ];
    let (cause, known) = fields.word("cause", &causes, notes).unwrap_or(causes[0].1);
    if node.is_some() && !matches!(cause, Cause::Failure(_)) {
        let (line, place) = (fields.line_of("node"), fields.place("node"));
        let hint = "leave `node` out: those that are free are taken first";
        notes.error(line, &place, "only a failure hits a certain node".to_owned(), hint);
    }
    let known = self::known(&fields, known, notes);
    let closures = closures(&fields, among, cause, notes);
    closures.into_iter().map(|what| Planned { what, known, repeat: None }).collect()
}

fn known(fields: &Fields<'_, '_>, otherwise: KnownFrom, notes: &mut Notes<'_>) -> KnownFrom {
    let at = fields.time("announced", notes).map(KnownFrom::At);
    let ahead = fields.span("notice", 0..=Span::MAX.0, notes).map(KnownFrom::Ahead);
    if at.is_some() && ahead.is_some() {
        let (line, place) = (fields.line_of("notice"), fields.place("notice"));
        let hint = "`announced` is a moment, `notice` a time before the beginning";
        notes.error(line, &place, "both `announced` and `notice`".to_owned(), hint);
    }
    at.or(ahead).unwrap_or(otherwise)
}

/// One for each pool that is concerned; none if something is wrong.
fn closures(
    fields: &Fields<'_, '_>,
    among: Among<'_>,
    cause: Cause,
    notes: &mut Notes<'_>,
) -> Vec<Outage> {
    fields.require(&["from", "until"], notes);
    let found = target(fields, among, notes);
    let nodes = fields.whole("nodes", 1..=i64::from(Pools::MAX_NODES), notes);
    let (from, until) = (fields.time("from", notes), fields.time("until", notes));
    let Some(target) = found else { return Vec::new() };
    let there_are = target.total();
    let default = if matches!(cause, Cause::Failure(_)) { 1 } else { there_are };
    let nodes = nodes.and_then(|nodes| u32::try_from(nodes).ok()).unwrap_or(default);
    if nodes > there_are {
        let (line, place) = (fields.line_of("nodes"), fields.place("nodes"));
        let message = format!("{nodes} nodes of a pool of {there_are}");
        notes.error(line, &place, message, "leave `nodes` out for all of them");
    }
    let (Some(from), Some(until)) = (from, until) else { return Vec::new() };
    if from >= until {
        let message = format!("`from` {from} is not before `until` {until}");
        let hint = "`until` is the first second at which the nodes are there again";
        notes.error(fields.line_of("until"), &fields.path, message, hint);
        return Vec::new();
    }
    let parts = target.split(nodes.min(there_are), cause).into_iter();
    parts.map(|(pool, nodes, cause)| Outage { pool, nodes, from, until, cause }).collect()
}

/// What the entry names; the only pool if it names none.
fn target<'t>(
    fields: &Fields<'_, '_>,
    among: Among<'t>,
    notes: &mut Notes<'_>,
) -> Option<&'t Target> {
    let all = among.targets.0.iter();
    let eligible = all.filter(|it| among.site.is_none_or(|site| it.site == site));
    let Some(name) = fields.text("pool", notes) else {
        let mut pools = eligible.filter(|it| it.kind == TargetKind::Pool);
        let only = pools.next()?;
        if pools.next().is_some() && fields.get("pool").is_none() {
            let message = "`pool` is missing".to_owned();
            notes.error(fields.line, &fields.path, message, "there are several pools");
            return None;
        }
        return Some(only);
    };
    let names: Vec<&Target> = eligible.collect();
    let found = names.iter().find(|it| it.name == name);
    if found.is_none() {
        let known = names.iter().map(|it| it.name.as_str());
        let hint = match suggestion(name, known) {
            Some(best) => format!("did you mean `{best}`?"),
            None => "a pool or a queue of the site, by its name".to_owned(),
        };
        let message = format!("unknown pool `{}`", excerpt(name));
        notes.error(fields.line_of("pool"), &fields.place("pool"), message, &hint);
    }
    found.copied()
}
