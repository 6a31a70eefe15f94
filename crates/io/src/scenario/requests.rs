//! Jobs and the policy of a scenario.

use tradewind_model::{
    Component, Criteria, Criterion, Horizon, Job, Limit, Links, Measure, Money, Objective,
    Quantity, Request, Rho, Shapes, Site, Span, Spread, TaskGroup, VoPolicy,
};

use super::licences::ScenarioLicences;
use super::nodes::NameLines;
use super::shapes;
use super::words::{
    COMPONENTS, CRITERIA, MEASURES, OBJECTIVES, component, criterion, quantity, quantity_scale,
};
use super::{groups, resources};
use crate::diagnostics::{did_you_mean, excerpt};
use crate::duration;
use crate::fields::{DecimalScale, Fields, Notes, scaled};
use crate::links;
use crate::value::{Value, ValueKind};

const JOB_KEYS: [&str; 21] = [
    "name",
    "nodes",
    "work",
    "groups",
    "shapes",
    "min_performance",
    "max_price",
    "budget",
    "deadline",
    "earliest_start",
    "minimize",
    "priority",
    "attributes",
    "spread",
    "tasks",
    "cores",
    "memory",
    "gres",
    "packing",
    "licences",
    "data",
];
const POLICY_KEYS: [&str; 7] =
    ["objective", "measure", "time_limit", "budget_limit", "rho", "order", "limits"];

/// The largest absolute priority.
const MAX_PRIORITY: i64 = 1_000_000_000_000;
/// The largest time limit for a batch: sums over many jobs exceed [`Span::MAX`].
const MAX_TIME_LIMIT: i64 = i64::MAX / 4;

/// What jobs may ask for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered<'a> {
    pub(super) nodes: usize,
    /// Whether any node says what it has.
    pub(super) has_resources: bool,
    pub(super) licences: &'a ScenarioLicences,
    /// Links, and the sites between which they are.
    pub(super) network: (&'a Links, &'a [Site]),
}

/// The jobs as read, where this is offered; those with mistakes are left out.
pub(super) fn jobs(
    items: &[Value<'_>],
    offered: Offered<'_>,
    notes: &mut Notes<'_>,
) -> Vec<(Job, u32)> {
    let mut names = NameLines::default();
    let mut all = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let path = format!("jobs[{i}]");
        let Some(fields) = Fields::of(item, path, &JOB_KEYS, notes) else { continue };
        match fields.get("groups").or(fields.get("shapes")) {
            _ if resources::any(&fields) => fields.require(&["name", "tasks", "work"], notes),
            Some(_) => fields.require(&["name"], notes),
            None => fields.require(&["name", "nodes", "work"], notes),
        }
        let name = names.take(&fields, "job", notes);
        let priority = fields.whole("priority", -MAX_PRIORITY..=MAX_PRIORITY, notes);
        let request = request(&fields, offered, notes);
        if let (Some(name), Some(request)) = (name, request) {
            all.push((Job { name, priority: priority.unwrap_or(0), request }, fields.line));
        }
    }
    all
}

fn request(
    fields: &Fields<'_, '_>,
    offered: Offered<'_>,
    notes: &mut Notes<'_>,
) -> Option<Request> {
    let needs = resources::of_job(fields, notes);
    let shapes = shapes::read(fields, notes);
    let groups = match (&shapes, fields.get("groups")) {
        (Some(shapes), _) => shapes::first(fields, shapes, notes).map(|group| vec![group]),
        _ if needs.is_some() => groups::one(fields, "tasks", notes).map(|group| vec![group]),
        (None, Some(_)) => {
            fields.list("groups", notes).and_then(|items| groups::read(fields, items, notes))
        }
        (None, None) => groups::one(fields, "nodes", notes).map(|group| vec![group]),
    };
    let spreads = Spread::ALL.map(|(spread, name)| (name, spread));
    let limits = Request {
        budget: fields.money("budget", notes),
        max_price: fields.price("max_price", notes),
        earliest_start: fields.time("earliest_start", notes),
        deadline: fields.time("deadline", notes),
        criterion: minimize(fields, notes).unwrap_or_default(),
        spread: fields.word("spread", &spreads, notes).unwrap_or_default(),
        licences: offered.licences.of_job(fields, notes),
        data: links::data(fields, offered.network, notes),
        ..Request::new(1, Span(1))
    };
    let mut groups = groups?.into_iter();
    let TaskGroup { tasks, work, min_performance, attributes } = groups.next()?;
    let others = groups.collect();
    let shapes = shapes.and_then(|shapes| Shapes::new(&shapes).ok().flatten());
    let equal = Request { tasks, work, min_performance, attributes, ..limits };
    let request = Request { others, needs, shapes, ..equal };
    check_width(fields, &request, offered, notes);
    Some(request)
}

/// Notes a job that the grid never has room for.
fn check_width(
    fields: &Fields<'_, '_>,
    request: &Request,
    offered: Offered<'_>,
    notes: &mut Notes<'_>,
) {
    let Offered { nodes, has_resources, .. } = offered;
    let tasks = shapes::narrowest(request).unwrap_or_else(|| request.all_tasks());
    if request.needs.is_some() {
        if nodes > 0 && !has_resources {
            let message = "no node says what it has".to_owned();
            let hint = "give nodes `cores`, `memory` and `gres`, and `shared = true` where tasks share them";
            notes.error(fields.line, &fields.path, message, hint);
        }
        return;
    }
    // Without any node there is another mistake to correct first.
    if nodes > 0 && tasks as usize > nodes {
        let given = |key: &&str| fields.get(key).is_some();
        let key = ["groups", "shapes"].into_iter().find(given).unwrap_or("nodes");
        let message = format!("{tasks} nodes needed, the grid has {nodes}");
        let hint = "each task needs a node of its own: ask for fewer, or list more nodes";
        notes.error(fields.line_of(key), &fields.place(key), message, hint);
    }
}

fn minimize(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Criterion> {
    let name = fields.text("minimize", notes)?;
    let found = criterion(name);
    if found.is_none() {
        let known: Vec<&str> = CRITERIA.iter().copied().chain(["sum:ATTRIBUTE"]).collect();
        let message = format!("unknown criterion `{}`", excerpt(name));
        let (line, place) = (fields.line_of("minimize"), fields.place("minimize"));
        notes.error(line, &place, message, &did_you_mean(name, &known));
    }
    found
}

/// Warns of jobs that can never be placed as written. They are no mistake in the file: a plan
/// postpones them with a reason.
pub(super) fn warn_of_hopeless(jobs: &[(Job, u32)], horizon: Horizon, notes: &mut Notes<'_>) {
    let postponed = "the plan will postpone it";
    for (i, (job, line)) in jobs.iter().enumerate() {
        let (field, name, request) = (format!("jobs[{i}]"), excerpt(&job.name), &job.request);
        let start = request.earliest_start.unwrap_or(horizon.start).max(horizon.start);
        if let Some(deadline) = request.deadline
            && deadline <= start
        {
            let message = format!("job `{name}` has its deadline {deadline} before it can start");
            notes.warning(*line, &format!("{field}.deadline"), message, postponed);
        } else if start >= horizon.end {
            let message = format!("job `{name}` starts after the horizon ends");
            notes.warning(*line, &format!("{field}.earliest_start"), message, postponed);
        }
    }
}

/// The policy; defaults for what is not given.
pub(super) fn policy(value: &Value<'_>, notes: &mut Notes<'_>) -> VoPolicy {
    let Some(fields) = Fields::of(value, "policy".to_owned(), &POLICY_KEYS, notes) else {
        return VoPolicy::default();
    };
    let time = |notes: &mut Notes<'_>| fields.span("time_limit", 0..=MAX_TIME_LIMIT, notes);
    let rho = DecimalScale { decimals: 3, range: 1..=1_000 };
    VoPolicy {
        objective: fields.word::<Objective>("objective", &OBJECTIVES, notes).unwrap_or_default(),
        measure: fields.word::<Measure>("measure", &MEASURES, notes).unwrap_or_default(),
        time_limit: limit(&fields, "time_limit", time, notes),
        budget_limit: limit::<Money>(
            &fields,
            "budget_limit",
            |notes| fields.money("budget_limit", notes),
            notes,
        ),
        rho: fields
            .scaled("rho", &rho, notes)
            .and_then(|thousandths| Rho::from_thousandths(thousandths as u32))
            .unwrap_or_default(),
        criteria: Criteria { order: order(&fields, notes), limits: limits(&fields, notes) },
    }
}

/// The components in `order`, most important first.
fn order(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<Component> {
    let mut all = Vec::new();
    for (i, item) in fields.list("order", notes).unwrap_or_default().iter().enumerate() {
        let place = format!("{}[{i}]", fields.place("order"));
        let ValueKind::Text(name) = &item.kind else {
            let message = format!("expected a text, found {}", item.describe());
            notes.error(item.line, &place, message, &did_you_mean("", &COMPONENTS));
            continue;
        };
        match component(name) {
            Some(component) => all.push(component),
            None => {
                let message = format!("unknown component `{}`", excerpt(name));
                notes.error(item.line, &place, message, &did_you_mean(name, &COMPONENTS));
            }
        }
    }
    all
}

/// The table `limits`: the largest sum of each quantity over the batch.
fn limits(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<(Quantity, i64)> {
    let mut all = Vec::new();
    let Some(value) = fields.get("limits") else { return all };
    let place = fields.place("limits");
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &place, message, "such as `limits = { energy = 2.5 }`, in kWh");
        return all;
    };
    for entry in entries {
        let Some(quantity) = quantity(&entry.key) else {
            let message = format!("unknown quantity `{}`", excerpt(&entry.key));
            notes.error(entry.line, &place, message, &did_you_mean(&entry.key, &COMPONENTS));
            continue;
        };
        let (decimals, unit) = quantity_scale(&quantity);
        let found = match &entry.value.kind {
            ValueKind::Text(text) if decimals == 0 => duration::parse_span(text)
                .map(|span| span.0)
                .map_err(|message| (message, duration::FORMS.to_owned())),
            ValueKind::Number(text) => {
                scaled(text, &DecimalScale { decimals, range: 0..=MAX_TIME_LIMIT / unit })
            }
            _ => Err((
                format!("expected a number, found {}", entry.value.describe()),
                "credits, kWh, gCO2e or seconds, by the quantity".to_owned(),
            )),
        };
        match found {
            Ok(limit) => all.push((quantity, limit.saturating_mul(unit))),
            Err((message, hint)) => {
                let place = format!("{place}.{}", excerpt(&entry.key));
                notes.error(entry.line, &place, message, &hint);
            }
        }
    }
    all
}

/// `auto`, or what `read` makes of the field.
fn limit<T>(
    fields: &Fields<'_, '_>,
    key: &str,
    read: impl FnOnce(&mut Notes<'_>) -> Option<T>,
    notes: &mut Notes<'_>,
) -> Limit<T> {
    let auto = |value: &Value<'_>| matches!(&value.kind, ValueKind::Text(text) if text == "auto");
    match fields.get(key) {
        Some(value) if !auto(value) => read(notes).map_or(Limit::Auto, Limit::At),
        _ => Limit::Auto,
    }
}
