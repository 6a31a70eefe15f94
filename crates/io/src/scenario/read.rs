//! A document's tree becomes a scenario, or the list of all its mistakes.

use tradewind_model::{
    Grid, Horizon, Resources, SharedFree, Slot, SlotList, Snapshot, SnapshotError, Time,
};

use super::licences::ScenarioLicences;
use super::nodes::{ListedSpan, Nodes};
use super::sites::ScenarioSites;
use super::{Scenario, requests};
use crate::diagnostics::Diagnostics;
use crate::fields::{Fields, Notes, TEXT, hint_for};
use crate::input::Input;
use crate::kind;
use crate::links;
use crate::value::{self, Value, ValueKind};

pub(super) fn parse(input: &Input) -> Result<(Scenario, Diagnostics), Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let scenario = Fields::of(&document, String::new(), &kind::SCENARIO, &mut notes)
        .and_then(|fields| scenario(&fields, &input.name, &mut notes));
    notes.diagnostics.finish(scenario)
}

fn scenario(fields: &Fields<'_, '_>, name: &str, notes: &mut Notes<'_>) -> Option<Scenario> {
    fields.require(&["horizon", "nodes", "jobs"], notes);
    let horizon = horizon(fields, notes);
    let listed = filled(fields, "nodes", notes);
    let from = horizon.map_or(Time(0), |it| it.start);
    let nodes = Nodes::read(listed, ScenarioSites::read(fields, name, notes), (name, from), notes);
    let free = free(fields, &nodes, horizon, notes);
    let licences = ScenarioLicences::read(fields, notes);
    let names: Vec<&str> = nodes.sites().iter().map(|site| site.name.as_str()).collect();
    let links = links::read((fields, "links"), &names, notes);
    let has_resources = nodes.has_resources();
    let offered = requests::Offered {
        nodes: listed.len(),
        has_resources,
        licences: &licences,
        network: (&links, nodes.sites()),
    };
    let jobs = requests::jobs(filled(fields, "jobs", notes), offered, notes);
    let policy = fields.get("policy").map(|value| requests::policy(value, notes));
    let (title, texts) = (fields.text("title", notes), texts(fields, notes));
    let grid = nodes.grid(notes)?.with_links(links);
    let (horizon, free) = (horizon?, free?);
    requests::warn_of_hopeless(&jobs, horizon, notes);
    let (slots, busy) = slots(&grid, horizon, free, notes)?;
    let (grid, slots) = licences.apply((grid, slots), horizon, notes);
    let jobs = jobs.into_iter().map(|(job, _)| job).collect();
    let policy = policy.unwrap_or_default();
    let snapshot = checked(Snapshot { horizon, grid, slots, jobs, policy }, notes)?;
    let (busy, busy_parts) = busy.map(|all| all.into_iter().unzip()).unzip();
    let busy_parts: Vec<Option<Resources>> = busy_parts.unwrap_or_default();
    let any = busy_parts.iter().any(Option::is_some);
    let busy_parts = if any { busy_parts } else { Vec::new() };
    Some(Scenario { title: title.map(str::to_owned), notes: texts, snapshot, busy, busy_parts })
}

/// The items of a list that must not be empty.
fn filled<'v, 'i>(fields: &Fields<'v, 'i>, key: &str, notes: &mut Notes<'_>) -> &'v [Value<'i>] {
    let items = fields.list(key, notes);
    if items.is_some_and(<[_]>::is_empty) {
        let hint = format!("give at least one of the `{key}`");
        notes.error(fields.line_of(key), key, "an empty list".to_owned(), &hint);
    }
    items.unwrap_or_default()
}

fn horizon(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Horizon> {
    let keys = ["start", "end"];
    let value = fields.get("horizon")?;
    let fields = Fields::of(value, "horizon".to_owned(), &keys, notes)?;
    fields.require(&keys, notes);
    let (start, end) = (fields.time("start", notes), fields.time("end", notes));
    let horizon = Horizon { start: start?, end: end? };
    if horizon.start >= horizon.end {
        let message = format!("`start` {} is not before `end` {}", horizon.start, horizon.end);
        notes.error(fields.line, "horizon", message, "a horizon has at least one second");
        return None;
    }
    Some(horizon)
}

fn texts(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for (i, item) in fields.list("notes", notes).unwrap_or_default().iter().enumerate() {
        match &item.kind {
            ValueKind::Text(text) => all.push(text.to_string()),
            _ => {
                let message = format!("expected a text, found {}", item.describe());
                notes.error(item.line, &format!("notes[{i}]"), message, hint_for(TEXT));
            }
        }
    }
    all
}

/// What a file says about free time.
enum Free {
    Slots(Vec<SpanPart>),
    Busy(Vec<SpanPart>),
}

/// A span, and what of a shared node it is about, if not all.
type SpanPart = (Slot, Option<Resources>);

fn free(
    fields: &Fields<'_, '_>,
    nodes: &Nodes,
    horizon: Option<Horizon>,
    notes: &mut Notes<'_>,
) -> Option<Free> {
    let spans = |all: Vec<ListedSpan>| all.into_iter().map(|it| (it.span, it.part)).collect();
    match (fields.list("slots", notes), fields.list("busy", notes)) {
        (Some(_), Some(_)) => {
            let message = "both `slots` and `busy` are given".to_owned();
            let hint = "`slots` lists free time, `busy` its complement: keep one";
            notes.error(fields.line_of("busy"), "busy", message, hint);
            None
        }
        (Some(items), None) => {
            let slots = nodes.spans("slots", items, notes);
            nodes.check_slots(horizon, &slots, notes);
            Some(Free::Slots(spans(slots)))
        }
        (None, Some(items)) => Some(Free::Busy(spans(nodes.spans("busy", items, notes)))),
        (None, None) => {
            if fields.get("slots").or(fields.get("busy")).is_none() {
                let message = "`slots` or `busy` is missing".to_owned();
                let hint = "write `busy: []` if every node is free all the time";
                notes.error(fields.line, "", message, hint);
            }
            None
        }
    }
}

/// What is free on the nodes, and the busy spans if those were given.
fn slots(
    grid: &Grid,
    horizon: Horizon,
    free: Free,
    notes: &mut Notes<'_>,
) -> Option<(SlotList, Option<Vec<SpanPart>>)> {
    let spans = |all: &[SpanPart]| all.iter().map(|(span, _)| *span).collect::<Vec<Slot>>();
    let is_shared = grid.iter().any(|(id, _)| grid.is_shared(id));
    let with = |list: SlotList, shared: &dyn Fn() -> SharedFree| match is_shared {
        true => list.with_shared(shared()),
        false => list,
    };
    Some(match free {
        Free::Slots(slots) => match SlotList::new(spans(&slots)) {
            Ok(list) => (with(list, &|| SharedFree::from_slots(grid, &slots)), None),
            Err(err) => {
                notes.error(1, "slots", err.to_string(), "slots of one node do not overlap");
                return None;
            }
        },
        Free::Busy(busy) => {
            let list = SlotList::from_busy(grid, horizon, &spans(&busy));
            (with(list, &|| SharedFree::from_busy(grid, horizon, &busy)), Some(busy))
        }
    })
}

/// The snapshot, if its parts fit together.
fn checked(snapshot: Snapshot, notes: &mut Notes<'_>) -> Option<Snapshot> {
    let Err(err) = snapshot.check() else { return Some(snapshot) };
    let field = match err {
        SnapshotError::LicencesOverflow => "licences",
        _ => "nodes",
    };
    notes.error(1, field, err.to_string(), "lower the prices or shorten the horizon");
    None
}
