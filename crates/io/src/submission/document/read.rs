//! A JSON document becomes a submission, or the list of all its mistakes.

use std::collections::BTreeMap;

use tradewind_model::{Attribute, Attributes, JobShape, Request, Shapes, Span, Spread};

use super::super::script::Wrong;
use super::super::signal;
use super::super::{
    Append, Conditions, Dependency, Gather, Mail, OnBreach, OnLost, PeerChoice, Shape, Submission,
    Surroundings, TIMES, TimeLimit, When, Work, groups, lists,
};
use crate::diagnostics::{Diagnostics, did_you_mean, excerpt};
use crate::duration;
use crate::fields::{DecimalScale, Fields, NUMBER, Notes, PERFORMANCE, TEXT, hint_for, scaled};
use crate::hidden::is_hidden;
use crate::input::Input;
use crate::links;
use crate::scenario;
use crate::value::{self, Entry, Value, ValueKind};

const KEYS: [&str; 48] = [
    "name",
    "script",
    "arguments",
    "command",
    "nodes",
    "max_nodes",
    "ntasks",
    "ntasks_per_node",
    "cpus_per_task",
    "shapes",
    "groups",
    "time",
    "times",
    "min_performance",
    "max_price",
    "budget",
    "value",
    "earliest_start",
    "deadline",
    "minimize",
    "priority",
    "licences",
    "data",
    "attributes",
    "sites",
    "partitions",
    "spread",
    "peers",
    "exclude_peers",
    "project",
    "directory",
    "output",
    "error",
    "input",
    "open_mode",
    "environment",
    "after",
    "array",
    "held",
    "on_lost",
    "preemptible",
    "gather",
    "on_breach",
    "mail",
    "comment",
    "quote",
    "passed_through",
    "stay_home",
];

/// As far as the model's jobs go.
const MAX_PRIORITY: i64 = 1_000_000_000_000;

type Table<'v, 'i> = Fields<'v, 'i>;

pub(super) fn parse(input: &Input) -> Result<Submission, Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let submission = Fields::of(&document, String::new(), &KEYS, &mut notes)
        .and_then(|fields| submission(&fields, &mut notes));
    notes.diagnostics.finish(submission).map(|(submission, _)| submission)
}

fn submission(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<Submission> {
    let groups = super::groups::read(fields, notes);
    let shapes = if groups.is_none() { shapes(fields, notes) } else { None };
    match shapes.is_some() || groups.is_some() {
        true => fields.require(&["name"], notes),
        false => fields.require(&["name", "time"], notes),
    }
    let name = text(fields, "name", notes);
    if name.as_ref().is_some_and(|name| name.chars().count() > Submission::MAX_NAME) {
        let message = format!("a name of more than {} characters", Submission::MAX_NAME);
        notes.error(fields.line_of("name"), "name", message, "shorten it");
    }
    let work = work(fields, notes);
    let (shape, time, shapes) = match (&shapes, &groups) {
        (_, Some(groups)) => {
            let (tasks, longest) = groups::whole(groups);
            let shape = Shape { nodes: Some(tasks), ..Shape::default() };
            (shape, Some(counted(fields, longest, notes)), None)
        }
        (Some(all), None) => {
            let first = *all.first()?;
            let shape = Shape { nodes: Some(first.nodes), ..Shape::default() };
            let time = Some(counted(fields, first.time, notes));
            (shape, time, Shapes::new(all).ok().flatten())
        }
        (None, None) => (shape(fields, notes), time(fields, notes), None),
    };
    let terms = Conditions { shapes, ..terms(fields, notes) }.with_groups(groups);
    if terms.attributes.contains_key(lists::CLASS) && matches!(time, Some(TimeLimit::Classes(_))) {
        let message = "classes of nodes are given twice".to_owned();
        let hint = "name classes in `time` or in `attributes`";
        notes.error(fields.line_of("time"), "time", message, hint);
    }
    let on_lost = [("fail", OnLost::Fail), ("rerun", OnLost::Rerun), ("hold", OnLost::Hold)];
    let array = fields.text("array", notes).map(lists::array);
    let array = array.and_then(|it| accept(fields, "array", it, notes));
    let surroundings = surroundings(fields, notes);
    Some(Submission {
        terms,
        surroundings,
        array,
        project: text(fields, "project", notes),
        after: each(fields, "after", notes, dependency),
        held: flag(fields, "held", notes).unwrap_or(false),
        on_lost: fields.word("on_lost", &on_lost, notes).unwrap_or_default(),
        on_preempted: flag(fields, "preemptible", notes)
            .and_then(|may| may.then_some(OnLost::Rerun)),
        on_breach: fields.word("on_breach", &OnBreach::ALL, notes),
        gather: gather(fields, notes),
        mail: fields.get("mail").and_then(|value| mail(value, notes)),
        comment: text(fields, "comment", notes),
        quote: fields.whole("quote", 1..=i64::MAX - 1, notes).and_then(|it| u64::try_from(it).ok()),
        passed_through: each(fields, "passed_through", notes, passed),
        stay_home: flag(fields, "stay_home", notes).unwrap_or(false),
        name: name?,
        work: work?,
        tasks: shape.units(),
        shape: Some(shape).filter(|shape| !shape.is_plain() || shape.nodes.is_none()),
        time: time?,
    })
}

/// The shapes, if any are given: a list, or a text. Nothing else then says nodes or time.
fn shapes(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<Vec<JobShape>> {
    fields.get("shapes")?;
    for key in ["nodes", "max_nodes", "ntasks", "ntasks_per_node", "cpus_per_task", "time"] {
        if fields.get(key).is_some() {
            let message = "stands beside `shapes`, which say nodes and time".to_owned();
            notes.error(fields.line_of(key), key, message, "leave one of them out");
        }
    }
    // Anything is right for going on after a mistake.
    let any = || vec![JobShape { nodes: 1, time: Span(1) }];
    Some(scenario::shapes(fields, notes).unwrap_or_else(any))
}

/// One limit, counted as `times` says.
fn counted(fields: &Table<'_, '_>, limit: Span, notes: &mut Notes<'_>) -> TimeLimit {
    let limit = TimeLimit::one(limit);
    match fields.word("times", &TIMES, notes) {
        Some(times) => limit.counted_by(times),
        None => limit,
    }
}

/// Tasks and nodes; a document without any of it asks for one task.
fn shape(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Shape {
    let mut count = |key: &str| {
        let found = fields.whole(key, 1..=i64::from(Request::MAX_TASKS), notes);
        found.and_then(|count| u32::try_from(count).ok())
    };
    let nodes = count("nodes");
    let shape = Shape {
        nodes,
        max_nodes: count("max_nodes"),
        tasks: count("ntasks"),
        tasks_per_node: count("ntasks_per_node"),
        cpus_per_task: count("cpus_per_task"),
    };
    let place = ("max_nodes", fields.line_of("max_nodes"));
    match (shape.nodes, shape.max_nodes) {
        (Some(min), Some(max)) if max < min => {
            let message = format!("less than `nodes`, which is {min}");
            notes.error(
                place.1,
                place.0,
                message,
                "give the most that it may have, or leave it out",
            );
        }
        (None, Some(_)) => {
            let message = "`max_nodes` without `nodes`".to_owned();
            notes.error(place.1, place.0, message, "give both, as in `1` and `4`");
        }
        _ => {}
    }
    // A number of nodes alone is that number.
    Shape { max_nodes: shape.max_nodes.or(nodes), ..shape }
}

/// Seconds, or a text with a unit; 0: each part by itself.
fn gather(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<Gather> {
    let within = fields.span("gather", 0..=Submission::MAX_GATHER.0, notes)?;
    Some(if within == Span(0) { Gather::Apart } else { Gather::Within(within) })
}

fn text(fields: &Table<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<String> {
    fields.text(key, notes).map(str::to_owned)
}

/// A result of a reader of texts.
fn accept<T>(
    fields: &Table<'_, '_>,
    key: &str,
    result: Result<T, Wrong>,
    notes: &mut Notes<'_>,
) -> Option<T> {
    let refused =
        |it: Wrong| notes.error(fields.line_of(key), &fields.place(key), it.message, &it.hint);
    result.map_err(refused).ok()
}

fn work(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<Work> {
    let both = (fields.get("script"), fields.get("command"));
    let arguments = each(fields, "arguments", notes, any_text);
    let mistake = |key: &str, message: &str, hint: &str, notes: &mut Notes<'_>| {
        notes.error(fields.line_of(key), key, message.to_owned(), hint);
        None
    };
    match both {
        (None, None) => mistake("", "`script` or `command` is missing", "give one of them", notes),
        (Some(_), Some(_)) => mistake("command", "both `script` and `command`", "keep one", notes),
        (None, Some(_)) => {
            let words = each(fields, "command", notes, any_text);
            if fields.get("arguments").is_some() {
                let hint = "put them into `command`";
                return mistake("arguments", "a command has them in its list", hint, notes);
            }
            if words.first().is_none_or(String::is_empty) {
                return mistake("command", "there is nothing to run", "name a program", notes);
            }
            Some(Work::Command(words))
        }
        (Some(script), None) => {
            let text = any_text(script, "script", notes)?;
            if text.len() > Submission::MAX_SCRIPT {
                return mistake("script", "longer than 4 MiB", "keep data in files", notes);
            }
            if !text.starts_with("#!") {
                let hint = "begin it with `#!` and an interpreter";
                return mistake("script", "the script names no interpreter", hint, notes);
            }
            Some(Work::Script { text, arguments })
        }
    }
}

/// Any text but one with a zero byte, which no program could be given.
fn any_text(value: &Value<'_>, place: &str, notes: &mut Notes<'_>) -> Option<String> {
    match &value.kind {
        ValueKind::Text(text) if text.contains('\0') => {
            notes.error(value.line, place, "a zero byte".to_owned(), "leave it out");
            None
        }
        ValueKind::Text(text) => Some(text.to_string()),
        _ => {
            let message = format!("expected a text, found {}", value.describe());
            notes.error(value.line, place, message, hint_for(TEXT));
            None
        }
    }
}

/// The items of a list as `read` reads them; those with mistakes are left out.
fn each<T>(
    fields: &Table<'_, '_>,
    key: &str,
    notes: &mut Notes<'_>,
    read: impl Fn(&Value<'_>, &str, &mut Notes<'_>) -> Option<T>,
) -> Vec<T> {
    let place = fields.place(key);
    let items = fields.list(key, notes).unwrap_or_default().iter().enumerate();
    items.filter_map(|(i, item)| read(item, &format!("{place}[{i}]"), notes)).collect()
}

fn flag(fields: &Table<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<bool> {
    let value = fields.get(key)?;
    if let ValueKind::Flag(flag) = value.kind {
        return Some(flag);
    }
    let message = format!("expected `true` or `false`, found {}", value.describe());
    notes.error(value.line, &fields.place(key), message, "write it without quotes");
    None
}

/// The entries of a table with any keys.
fn entries<'v, 'i>(
    fields: &Table<'v, 'i>,
    key: &str,
    notes: &mut Notes<'_>,
) -> Option<&'v [Entry<'i>]> {
    let value = fields.get(key)?;
    if let ValueKind::Table(entries) = &value.kind {
        return Some(entries);
    }
    let message = format!("expected a table, found {}", value.describe());
    notes.error(value.line, &fields.place(key), message, hint_for(crate::fields::TABLE));
    None
}

fn time(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<TimeLimit> {
    let limit = limit(fields, notes);
    let Some(times) = fields.word("times", &TIMES, notes) else { return limit };
    if let Some(TimeLimit::Classes(_)) = limit {
        let (line, message) = (fields.line_of("times"), TimeLimit::BY_CLASS.to_owned());
        notes.error(line, "times", message, TimeLimit::BY_CLASS_HINT);
    }
    limit.map(|limit| limit.counted_by(times))
}

fn limit(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<TimeLimit> {
    let range = 1..=Span::MAX.0;
    if !matches!(fields.get("time")?.kind, ValueKind::Table(_)) {
        return fields.span("time", range, notes).map(TimeLimit::one);
    }
    let mut limits = BTreeMap::new();
    for entry in entries(fields, "time", notes)? {
        let place = format!("time.{}", excerpt(&entry.key));
        let seconds = match &entry.value.kind {
            ValueKind::Number(text) => {
                scaled(text, &DecimalScale { decimals: 0, range: range.clone() }).ok()
            }
            ValueKind::Text(text) => duration::parse_span(text).ok().map(|span| span.0),
            _ => None,
        };
        match seconds.filter(|seconds| range.contains(seconds)) {
            Some(_) if !lists::is_name(&entry.key) => {
                let message = "this is no name of a class".to_owned();
                notes.error(entry.line, &place, message, "write `fast`, for one");
            }
            Some(seconds) => {
                limits.insert(entry.key.to_string(), Span(seconds));
            }
            None => {
                let message = format!("expected a limit, found {}", entry.value.describe());
                notes.error(entry.line, &place, message, duration::FORMS);
            }
        }
    }
    if limits.is_empty() {
        let hint = "write `{\"fast\": \"10m\"}`";
        notes.error(fields.line_of("time"), "time", "no limit for any class".to_owned(), hint);
        return None;
    }
    Some(TimeLimit::Classes(limits))
}

/// To which other markets it may be passed on.
fn peers(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<PeerChoice> {
    let only = each(fields, "peers", notes, name);
    let not = each(fields, "exclude_peers", notes, name);
    if !only.is_empty() && !not.is_empty() {
        let message = "peers are named twice: those that may have it, and those that may not";
        let hint = "keep `peers` alone: it may go to no others";
        notes.error(fields.line_of("exclude_peers"), "exclude_peers", message.to_owned(), hint);
    }
    match (only.is_empty(), not.is_empty()) {
        (false, _) => Some(PeerChoice::Only(only)),
        (true, false) => Some(PeerChoice::Not(not)),
        (true, true) => None,
    }
}

fn terms(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Conditions {
    const CRITERIA: [&str; 6] =
        ["start", "finish", "runtime", "cost", "processor-time", "sum:ATTRIBUTE"];
    let minimize = fields.text("minimize", notes).and_then(|name| {
        let found = scenario::criterion(name);
        if found.is_none() {
            let message = format!("unknown criterion `{}`", excerpt(name));
            let hint = did_you_mean(name, &CRITERIA);
            notes.error(fields.line_of("minimize"), "minimize", message, &hint);
        }
        found
    });
    let spreads = Spread::ALL.map(|(spread, name)| (name, spread));
    let terms = Conditions {
        min_performance: fields.performance("min_performance", &PERFORMANCE, notes),
        max_price: fields.price("max_price", notes),
        budget: fields.money("budget", notes),
        value: fields.money("value", notes),
        earliest_start: fields.time("earliest_start", notes),
        deadline: fields.time("deadline", notes),
        criterion: minimize.unwrap_or_default(),
        priority: fields.whole("priority", -MAX_PRIORITY..=MAX_PRIORITY, notes).unwrap_or(0),
        attributes: attributes(fields, notes),
        sites: each(fields, "sites", notes, name),
        pools: each(fields, "partitions", notes, name),
        spread: fields.word("spread", &spreads, notes).unwrap_or_default(),
        peers: peers(fields, notes),
        shapes: None,
        groups: None,
        licences: licences(fields, notes),
        data: links::data_alone(fields, notes).map(|(data, ..)| data),
    };
    if let (Some(start), Some(end)) = (terms.earliest_start, terms.deadline)
        && start >= end
    {
        let message = "the deadline is not after the earliest start".to_owned();
        notes.error(fields.line_of("deadline"), "deadline", message, "change one of them");
    }
    terms
}

fn licences(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Option<BTreeMap<String, u32>> {
    let mut all = BTreeMap::new();
    for entry in entries(fields, "licences", notes).unwrap_or_default() {
        let place = fields.place(&format!("licences.{}", excerpt(&entry.key)));
        let count = match &entry.value.kind {
            ValueKind::Number(text) => lists::licence_count(text),
            _ => None,
        };
        match count.filter(|_| lists::is_licence(&entry.key)) {
            Some(count) => _ = all.insert(entry.key.to_string(), count),
            None => {
                let message = "this is no number of a licence".to_owned();
                notes.error(entry.line, &place, message, lists::LICENCES);
            }
        }
    }
    Some(all).filter(|all| !all.is_empty())
}

fn name(value: &Value<'_>, place: &str, notes: &mut Notes<'_>) -> Option<String> {
    let text = any_text(value, place, notes)?;
    if !lists::is_name(&text) {
        let message = format!("`{}` is not a name", excerpt(&text));
        notes.error(value.line, place, message, "letters, digits and `_-.+/=`");
        return None;
    }
    Some(text)
}

pub(super) fn attributes(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Attributes {
    let mut all = Attributes::new();
    for entry in entries(fields, "attributes", notes).unwrap_or_default() {
        let place = fields.place(&format!("attributes.{}", excerpt(&entry.key)));
        let attribute = match &entry.value.kind {
            ValueKind::Flag(flag) => Some(Attribute::Flag(*flag)),
            ValueKind::Text(text) => Some(Attribute::Text(text.to_string())),
            ValueKind::Number(text) => scaled(text, &NUMBER).ok().map(Attribute::Number),
            ValueKind::List(items) => {
                let names = items.iter().filter_map(|item| any_text(item, &place, notes));
                let names: Vec<String> = names.collect();
                (names.len() == items.len() && names.len() > 1).then_some(Attribute::OneOf(names))
            }
            _ => None,
        };
        match attribute {
            Some(attribute) => {
                all.insert(entry.key.to_string(), attribute);
            }
            None => {
                let message = format!("{} is no demand", entry.value.describe());
                let hint = "a text, a flag, a number with at most three decimals, or two texts or \
                            more in a list";
                notes.error(entry.line, &place, message, hint);
            }
        }
    }
    all
}

fn surroundings(fields: &Table<'_, '_>, notes: &mut Notes<'_>) -> Surroundings {
    let modes = [("append", Append::Append), ("truncate", Append::Truncate)];
    let mut environment = BTreeMap::new();
    for entry in entries(fields, "environment", notes).unwrap_or_default() {
        let place = format!("environment.{}", excerpt(&entry.key));
        if !lists::is_variable(&entry.key) {
            let message = "this is no name of a variable".to_owned();
            notes.error(entry.line, &place, message, "letters, digits and `_`, no digit first");
        } else if let Some(text) = any_text(&entry.value, &place, notes) {
            environment.insert(entry.key.to_string(), text);
        }
    }
    Surroundings {
        environment,
        directory: text(fields, "directory", notes),
        output: text(fields, "output", notes),
        error: text(fields, "error", notes),
        input: text(fields, "input", notes),
        append: fields.word("open_mode", &modes, notes).unwrap_or_default(),
    }
}

fn dependency(value: &Value<'_>, place: &str, notes: &mut Notes<'_>) -> Option<Dependency> {
    let fields = Fields::of(value, place.to_owned(), &["when", "job"], notes)?;
    fields.require(&["when"], notes);
    let when = fields.word("when", &lists::WHEN, notes)?;
    if when != When::Singleton {
        fields.require(&["job"], notes);
    } else if fields.get("job").is_some() {
        let message = "`singleton` names no job".to_owned();
        notes.error(fields.line_of("job"), &fields.place("job"), message, "leave it out");
    } else {
        return Some(Dependency { when, job: 0 });
    }
    let job = fields.whole("job", 1..=i64::MAX - 1, notes);
    Some(Dependency { when, job: u64::try_from(job?).ok()? })
}

fn mail(value: &Value<'_>, notes: &mut Notes<'_>) -> Option<Mail> {
    let fields = Fields::of(value, "mail".to_owned(), &["to", "begin", "end", "fail"], notes)?;
    let [begin, end, fail] =
        ["begin", "end", "fail"].map(|key| flag(&fields, key, notes).unwrap_or(false));
    if !(begin || end || fail) {
        let message = "nothing that mail is sent about".to_owned();
        notes.error(fields.line, "mail", message, "set `begin`, `end` or `fail`");
    }
    let to = text(&fields, "to", notes);
    let to = to.and_then(|it| accept(&fields, "to", lists::address(&it), notes));
    Some(Mail { to, begin, end, fail })
}

fn passed(value: &Value<'_>, place: &str, notes: &mut Notes<'_>) -> Option<(String, String)> {
    let fields = Fields::of(value, place.to_owned(), &["option", "value"], notes)?;
    fields.require(&["option", "value"], notes);
    let option = fields.text("option", notes)?;
    if !lists::is_passed(option) {
        let message = format!("`{}` is no option that is passed through", excerpt(option));
        let hint = "see the table in `docs/reference/submit.md`";
        notes.error(fields.line_of("option"), &fields.place("option"), message, hint);
        return None;
    }
    let given = fields.get("value")?;
    let value = any_text(given, &fields.place("value"), notes)?;
    if value.chars().any(is_hidden) {
        let message = "the value has control characters".to_owned();
        notes.error(given.line, &fields.place("value"), message, "keep to one line");
    }
    if option == signal::OPTION {
        accept(&fields, "value", signal::parse(&value), notes)?;
    }
    Some((option.to_owned(), value))
}
