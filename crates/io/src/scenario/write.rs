//! A scenario as JSON text: one line per item, so that it can be read and compared.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value, json};
use tradewind_model::{
    Attribute, Attributes, Criteria, Criterion, Energy, Grid, Job, JobShape, Licence, LicenceId,
    Limit, NodeId, Packing, Performance, Power, Quantity, Request, Resources, Rho, Series, Shapes,
    Site, SitePower, Slot, SlotList, Spread, VoPolicy,
};

use super::words::{component_name, criterion_name, measure_name, objective_name, quantity_scale};
use super::{Scenario, licences, resources};
use crate::{decimal, links, power, series};

pub(super) fn json(scenario: &Scenario) -> String {
    let snapshot = &scenario.snapshot;
    let grid = &snapshot.grid;
    let mut out = String::from("{");
    if let Some(title) = &scenario.title {
        section(&mut out, "title", &Value::from(title.as_str()).to_string());
    }
    if !scenario.notes.is_empty() {
        let notes = scenario.notes.iter().map(|note| Value::from(note.as_str()).to_string());
        section(&mut out, "notes", &lines(notes));
    }
    let horizon = snapshot.horizon;
    let ends = format!("{{\"start\": {}, \"end\": {}}}", horizon.start, horizon.end);
    section(&mut out, "horizon", &ends);
    if let Some(power) = grid.power().filter(|power| power::is_known(power)) {
        section(&mut out, "sites", &lines(sites(grid, power)));
    }
    section(&mut out, "nodes", &lines(grid.iter().map(|(id, _)| node(grid, id))));
    let licence = |all: (u32, &Licence)| {
        table(licences::written((LicenceId(all.0), all.1), &snapshot.slots, horizon))
    };
    if !grid.licences().is_empty() {
        section(&mut out, "licences", &lines((0..).zip(grid.licences()).map(licence)));
    }
    if let Some(links) = grid.links() {
        let all = links.as_slice().iter().map(|link| table(links::written(link)));
        section(&mut out, "links", &lines(all));
    }
    match &scenario.busy {
        Some(busy) => {
            let parts =
                scenario.busy_parts.iter().map(Option::as_ref).chain(std::iter::repeat(None));
            let all = busy.iter().zip(parts).map(|(span, part)| slot(grid, span, part));
            section(&mut out, "busy", &lines(all));
        }
        None => section(&mut out, "slots", &lines(slots(grid, &snapshot.slots).into_iter())),
    }
    section(&mut out, "jobs", &lines(snapshot.jobs.iter().map(|it| job(it, grid))));
    section(&mut out, "policy", &policy(&snapshot.policy));
    out.push_str("\n}\n");
    out
}

fn section(out: &mut String, key: &str, value: &str) {
    let comma = if out.len() > 1 { "," } else { "" };
    // Writing to a string cannot fail.
    let _ = write!(out, "{comma}\n  \"{key}\": {value}");
}

fn lines(items: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = items.map(|item| format!("\n    {item}")).collect();
    if all.is_empty() { "[]".to_owned() } else { format!("[{}\n  ]", all.join(",")) }
}

/// One table on one line, in the order of the fields given; `None` is left out.
fn table<const N: usize>(fields: [(&str, Option<Value>); N]) -> String {
    let given = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let text: Vec<String> = given.map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", text.join(", "))
}

fn node(grid: &Grid, id: NodeId) -> String {
    let node = grid.node(id);
    let has = grid.resources(id);
    let amounts = has.map(|has| resources::written(&has.all)).unwrap_or_default();
    let [shared, unit_prices, charge] = resources::sharing(has);
    let [cores, memory, gres] = amounts;
    let by_units = unit_prices.1.is_some();
    table([
        ("name", Some(json!(node.name))),
        ("site", Some(json!(grid.site_of(id).name))),
        ("performance", Some(performance(node.performance))),
        ("price", (!by_units).then(|| price(grid, id))),
        ("host", node.host.as_ref().map(|host| json!(host))),
        ("attributes", attributes(&other_than_watts(grid, &node.attributes))),
        ("watts", grid.power().and_then(|_| watts(&node.attributes))),
        cores,
        memory,
        gres,
        shared,
        unit_prices,
        charge,
    ])
}

fn price(grid: &Grid, id: NodeId) -> Value {
    match grid.rate(id) {
        Some(rate) => series::rate_json(rate),
        None => Value::Number(decimal::price(grid.node(id).price)),
    }
}

/// Sites of which something is known beside the name.
fn sites(grid: &Grid, power: &Power) -> impl Iterator<Item = String> {
    let known = |(site, power): (&Site, &SitePower)| {
        let series = |series: &Option<Series>, key| series.as_ref().map(|it| power::json(it, key));
        let (carbon, price) =
            (series(&power.carbon, "carbon"), series(&power.price, "energy_price"));
        (carbon.is_some() || price.is_some()).then(|| {
            let name = Some(json!(site.name));
            table([("name", name), ("carbon", carbon), ("energy_price", price)])
        })
    };
    let all: Vec<String> = grid.sites().iter().zip(&power.sites).filter_map(known).collect();
    all.into_iter()
}

/// The attributes that `watts` does not say.
fn other_than_watts(grid: &Grid, all: &Attributes) -> Attributes {
    let mut all = all.clone();
    if grid.power().is_some() && watts(&all).is_some() {
        all.remove(Energy::BUSY);
        all.remove(Energy::IDLE);
    }
    all
}

fn watts(all: &Attributes) -> Option<Value> {
    match (all.get(Energy::IDLE), all.get(Energy::BUSY)) {
        (Some(Attribute::Number(idle)), Some(Attribute::Number(busy))) => {
            Some(json!({"idle": thousandths(*idle), "busy": thousandths(*busy)}))
        }
        _ => None,
    }
}

fn slot(grid: &Grid, slot: &Slot, part: Option<&Resources>) -> String {
    let [cores, memory, gres] = part.map(resources::written).unwrap_or_default();
    table([
        ("node", Some(json!(grid.node(slot.node).name))),
        ("start", Some(json!(slot.start.0))),
        ("end", Some(json!(slot.end.0))),
        cores,
        memory,
        gres,
    ])
}

/// The slots of whole nodes, then the steps of what is free on each shared node.
fn slots(grid: &Grid, list: &SlotList) -> Vec<String> {
    let whole = list.as_slice().iter().filter(|it| !grid.is_shared(it.node));
    let mut all: Vec<String> = whole.map(|it| slot(grid, it, None)).collect();
    let Some(shared) = list.shared() else { return all };
    for (node, _) in grid.iter() {
        for pair in shared.steps(node).unwrap_or_default().windows(2) {
            let span = Slot { start: pair[0].from, end: pair[1].from, node };
            let free = &pair[0].free;
            all.extend(free.kinds().next().map(|_| slot(grid, &span, Some(free))));
        }
    }
    all
}

/// A group of a job whose tasks differ.
fn group(group: &Request) -> Value {
    let fields = [
        ("nodes", Some(json!(group.tasks))),
        ("work", Some(json!(group.work.0))),
        ("min_performance", group.min_performance.map(performance)),
        ("attributes", attributes(&group.attributes)),
    ];
    let given = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(given.collect())
}

fn job(job: &Job, grid: &Grid) -> String {
    let request = &job.request;
    let spread = Some(request.spread).filter(|it| *it != Spread::default());
    let own = Some(&request.criterion).filter(|it| **it != Criterion::default());
    let equal = request.others.is_empty();
    let rigid = request.shapes.is_none();
    let shape = |it: &JobShape| json!({"nodes": it.nodes, "time": it.time.0});
    let shapes = |all: &Shapes| all.as_slice().iter().map(shape).collect();
    let groups = || request.groups().map(|it| group(&it)).collect();
    let needs = request.needs.as_deref();
    let [cores, memory, gres] = needs.map(|it| resources::written(&it.each)).unwrap_or_default();
    let packing = needs.map(|it| it.packing).filter(|it| *it != Packing::default());
    table([
        ("name", Some(json!(job.name))),
        ("nodes", (equal && rigid && needs.is_none()).then(|| json!(request.tasks))),
        ("tasks", needs.map(|_| json!(request.tasks))),
        ("work", (equal && rigid).then(|| json!(request.work.0))),
        ("groups", (!equal).then(|| Value::Array(groups()))),
        ("shapes", request.shapes.as_ref().map(|all| Value::Array(shapes(all)))),
        ("min_performance", request.min_performance.filter(|_| equal).map(performance)),
        ("max_price", request.max_price.map(|price| Value::Number(decimal::price(price)))),
        ("budget", request.budget.map(|budget| Value::Number(decimal::credits(budget)))),
        ("deadline", request.deadline.map(|time| json!(time.0))),
        ("earliest_start", request.earliest_start.map(|time| json!(time.0))),
        ("minimize", own.map(|it| json!(criterion_name(it)))),
        ("priority", Some(job.priority).filter(|it| *it != 0).map(|it| json!(it))),
        ("attributes", attributes(&request.attributes).filter(|_| equal)),
        ("spread", spread.map(|it| json!(it.name()))),
        cores,
        memory,
        gres,
        ("packing", packing.map(|it| json!(it.name()))),
        ("licences", licences::of_request(request, grid)),
        ("data", request.data.as_ref().map(|staging| links::data_json(staging.data()))),
    ])
}

fn policy(policy: &VoPolicy) -> String {
    let auto = || Value::from("auto");
    let rho = Some(policy.rho).filter(|rho| *rho != Rho::ONE);
    let time = match policy.time_limit {
        Limit::Auto => auto(),
        Limit::At(span) => json!(span.0),
    };
    let budget = match policy.budget_limit {
        Limit::Auto => auto(),
        Limit::At(budget) => Value::Number(decimal::credits(budget)),
    };
    table([
        ("objective", Some(json!(objective_name(policy.objective)))),
        ("measure", Some(json!(measure_name(policy.measure)))),
        ("time_limit", Some(time)),
        ("budget_limit", Some(budget)),
        ("rho", rho.map(|rho| thousandths(i64::from(rho.thousandths())))),
        ("order", order(&policy.criteria)),
        ("limits", limits(&policy.criteria)),
    ])
}

fn order(criteria: &Criteria) -> Option<Value> {
    let names: Vec<String> = criteria.order.iter().map(component_name).collect();
    (!names.is_empty()).then(|| Value::from(names))
}

fn limits(criteria: &Criteria) -> Option<Value> {
    let limit = |(quantity, limit): &(Quantity, i64)| {
        let (decimals, unit) = quantity_scale(quantity);
        (quantity.name(), Value::Number(decimal::json(limit / unit, decimals)))
    };
    let all: Map<String, Value> = criteria.limits.iter().map(limit).collect();
    (!all.is_empty()).then_some(Value::Object(all))
}

fn performance(performance: Performance) -> Value {
    thousandths(i64::from(performance.thousandths()))
}

fn thousandths(n: i64) -> Value {
    let number: Number = decimal::json(n, 3);
    Value::Number(number)
}

fn attributes(attributes: &Attributes) -> Option<Value> {
    let value = |attribute: &Attribute| match attribute {
        Attribute::Flag(flag) => Value::Bool(*flag),
        Attribute::Number(n) => thousandths(*n),
        Attribute::Text(text) => Value::from(text.as_str()),
        Attribute::OneOf(names) => Value::from(names.clone()),
    };
    let all: Map<String, Value> =
        attributes.iter().map(|(name, it)| (name.clone(), value(it))).collect();
    (!all.is_empty()).then_some(Value::Object(all))
}
