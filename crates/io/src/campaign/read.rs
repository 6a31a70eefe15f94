//! A document's tree becomes a campaign, or the list of all its mistakes.

use std::path::Path;

use tradewind_model::{Pools, Span};

use super::words::Keyword;
use super::{
    Campaign, Check, Checks, Dependencies, Homes, LogField, MemoryField, MemorySize, NodeSize,
    OfferedLoad, Output, Seeds, Trim, Workload,
};
use crate::diagnostics::{Diagnostics, did_you_mean, excerpt};
use crate::fields::{DecimalScale, Fields, Notes, TEXT, hint_for, scaled};
use crate::input::Input;
use crate::kind;
use crate::value::{self, Value, ValueKind};

const WORKLOAD_KEYS: [&str; 19] = [
    "name",
    "log",
    "model",
    "users",
    "procs",
    "grid",
    "outages",
    "side",
    "from",
    "to",
    "squeeze",
    "homes",
    "dependencies",
    "keep-to",
    "moldable",
    "preemptible",
    "memory",
    "node-processors",
    "node-memory",
];

pub(super) fn parse(
    input: &Input,
    checks: Checks<'_>,
) -> Result<(Campaign, Diagnostics), Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let folder = Path::new(&input.name).parent().unwrap_or(Path::new(""));
    let campaign = Fields::of(&document, String::new(), &kind::CAMPAIGN, &mut notes)
        .map(|fields| campaign(&fields, folder, checks, &mut notes));
    notes.diagnostics.finish(campaign)
}

fn campaign(
    fields: &Fields<'_, '_>,
    folder: &Path,
    checks: Checks<'_>,
    notes: &mut Notes<'_>,
) -> Campaign {
    fields.require(&["workload", "policies"], notes);
    Campaign {
        title: fields.text("title", notes).map(str::to_owned),
        workloads: workloads(fields, folder, checks, notes),
        policies: policies(fields, checks.policy, notes),
        command: None,
        semantics: words(fields, "semantics", notes).unwrap_or_else(|| vec![Default::default()]),
        overruns: words(fields, "overruns", notes).unwrap_or_else(|| vec![Default::default()]),
        estimates: words(fields, "estimates", notes).unwrap_or_else(|| vec![Default::default()]),
        loads: loads(fields, notes),
        seeds: seeds(fields, notes),
        trim: trim(fields, notes),
        outputs: words(fields, "outputs", notes).unwrap_or_else(|| Output::DEFAULT.to_vec()),
    }
}

/// The items of a list that must not be empty if it is there, with their places.
fn items<'v, 'i>(
    fields: &Fields<'v, 'i>,
    key: &str,
    notes: &mut Notes<'_>,
) -> Option<Vec<(String, &'v Value<'i>)>> {
    let items = fields.list(key, notes)?;
    if items.is_empty() {
        let (line, place) = (fields.line_of(key), fields.place(key));
        notes.error(line, &place, "an empty list".to_owned(), "give at least one, or leave it out");
    }
    let place = |i: usize| format!("{}[{i}]", fields.place(key));
    Some(items.iter().enumerate().map(|(i, item)| (place(i), item)).collect())
}

/// The texts of a list, each once.
fn texts<'v>(
    fields: &Fields<'v, '_>,
    key: &str,
    notes: &mut Notes<'_>,
) -> Option<Vec<(String, u32, &'v str)>> {
    let mut all: Vec<(String, u32, &str)> = Vec::new();
    for (place, item) in items(fields, key, notes)? {
        let ValueKind::Text(text) = &item.kind else {
            let message = format!("expected a text, found {}", item.describe());
            notes.error(item.line, &place, message, hint_for(TEXT));
            continue;
        };
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            let message = format!("`{}` is not a name", excerpt(text));
            notes.error(item.line, &place, message, "keep to letters, digits and signs");
        } else if all.iter().any(|(_, _, other)| *other == text.trim()) {
            let message = format!("`{}` is named twice", excerpt(text));
            notes.error(item.line, &place, message, "name it once");
        } else {
            all.push((place, item.line, text.trim()));
        }
    }
    Some(all)
}

fn words<T: Keyword>(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for (place, line, text) in texts(fields, key, notes)? {
        match T::named(text) {
            Some(word) => all.push(word),
            None => {
                let message = format!("unknown value `{}`", excerpt(text));
                notes.error(line, &place, message, &did_you_mean(text, &T::names()));
            }
        }
    }
    Some(all)
}

fn policies(fields: &Fields<'_, '_>, check: Check<'_>, notes: &mut Notes<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for (place, line, name) in texts(fields, "policies", notes).unwrap_or_default() {
        match check(name) {
            None => all.push(name.to_owned()),
            Some((message, hint)) => notes.error(line, &place, message, &hint),
        }
    }
    all
}

fn loads(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<OfferedLoad> {
    let scale = DecimalScale { decimals: 3, range: 1..=i64::from(OfferedLoad::MAX.thousandths()) };
    let mut all: Vec<OfferedLoad> = Vec::new();
    for (place, item) in items(fields, "loads", notes).unwrap_or_default() {
        let ValueKind::Number(text) = &item.kind else {
            let message = format!("expected a number, found {}", item.describe());
            notes.error(item.line, &place, message, "a share of the machine, such as `0.7`");
            continue;
        };
        match scaled(text, &scale) {
            Ok(load) => match OfferedLoad::from_thousandths(load) {
                Some(load) if all.contains(&load) => {
                    let message = format!("the load {load} is given twice");
                    notes.error(item.line, &place, message, "give it once");
                }
                Some(load) => all.push(load),
                None => {}
            },
            Err((message, hint)) => notes.error(item.line, &place, message, &hint),
        }
    }
    all
}

/// `seeds`, or one as `seed`.
fn seeds(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Seeds> {
    let (many, one) = (fields.get("seeds"), fields.get("seed"));
    if let (Some(_), Some(one)) = (many, one) {
        let hint = "`seed = 7` is `seeds = 7`: leave one of them out";
        notes.error(one.line, "seed", "`seeds` is given as well".to_owned(), hint);
        return None;
    }
    let key = if many.is_some() { "seeds" } else { "seed" };
    let value = many.or(one)?;
    let text = match &value.kind {
        ValueKind::Number(text) => text.as_ref(),
        _ => fields.text(key, notes)?,
    };
    let refused = |message: String| {
        notes.error(value.line, key, message, "`\"1..10\"` means ten replications");
    };
    let seeds: Seeds = text.parse().map_err(refused).ok()?;
    if key == "seed" && seeds.are_many() {
        notes.error(value.line, key, "more than one seed".to_owned(), "write `seeds` for several");
        return None;
    }
    Some(seeds)
}

fn trim(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Trim {
    let inner = fields
        .get("trim")
        .and_then(|value| Fields::of(value, "trim".to_owned(), &["warm-up", "cool-down"], notes));
    let Some(inner) = inner else { return Trim::default() };
    let span = |key: &str, notes: &mut Notes<'_>| inner.span(key, 0..=Span::MAX.0, notes);
    Trim {
        warm_up: span("warm-up", notes).unwrap_or_default(),
        cool_down: span("cool-down", notes).unwrap_or_default(),
    }
}

fn workloads(
    fields: &Fields<'_, '_>,
    folder: &Path,
    checks: Checks<'_>,
    notes: &mut Notes<'_>,
) -> Vec<Workload> {
    let mut all: Vec<Workload> = Vec::new();
    for (place, item) in items(fields, "workload", notes).unwrap_or_default() {
        let Some(fields) = Fields::of(item, place, &WORKLOAD_KEYS, notes) else { continue };
        let workload = workload(&fields, folder, checks, notes);
        if all.iter().any(|other| other.name == workload.name) {
            let message = format!("a second workload `{}`", excerpt(&workload.name));
            let line = fields.line_of("name");
            notes.error(line, &fields.place("name"), message, "give each a `name` of its own");
        }
        all.push(workload);
    }
    all
}

fn workload(
    fields: &Fields<'_, '_>,
    folder: &Path,
    checks: Checks<'_>,
    notes: &mut Notes<'_>,
) -> Workload {
    let logs = texts(fields, "log", notes).unwrap_or_default();
    let logs: Vec<String> = logs.into_iter().map(|(_, _, path)| beside(folder, path)).collect();
    let model = named("model", fields, checks.model, notes);
    one_source(fields, notes);
    let (from, to) = (fields.time("from", notes), fields.time("to", notes));
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        let message = format!("`from` {from} is not before `to` {to}");
        notes.error(fields.line_of("to"), &fields.place("to"), message, "leave some time between");
    }
    let count = |key: &str, max: u32, notes: &mut Notes<'_>| {
        fields.whole(key, 1..=i64::from(max), notes).and_then(|count| u32::try_from(count).ok())
    };
    let file = |key: &str, notes: &mut Notes<'_>| {
        fields.text(key, notes).map(|path| beside(folder, path.trim()))
    };
    Workload {
        name: name(fields, &logs, model.as_deref(), notes),
        logs,
        grid: file("grid", notes),
        outages: file("outages", notes),
        side: file("side", notes),
        users: count("users", Workload::MAX_USERS, notes),
        procs: count("procs", Pools::MAX_NODES, notes),
        squeeze: count("squeeze", Workload::MAX_SQUEEZE, notes),
        homes: homes(fields, notes),
        dependencies: dependencies(fields, notes),
        keep_to: keep_to(fields, notes),
        moldable: named("moldable", fields, checks.moldable, notes),
        preemptible: named("preemptible", fields, checks.preemptible, notes),
        memory: memory(fields, notes),
        nodes: nodes(fields, notes),
        model,
        from,
        to,
    }
}

/// A model or law, if what is said of it makes sense.
fn named(
    key: &str,
    fields: &Fields<'_, '_>,
    check: Check<'_>,
    notes: &mut Notes<'_>,
) -> Option<String> {
    let text = fields.text(key, notes)?.trim();
    if let Some((message, hint)) = check(text) {
        notes.error(fields.line_of(key), &fields.place(key), message, &hint);
    }
    Some(text.to_owned())
}

/// Where jobs are submitted matters on a grid only.
fn homes(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Homes> {
    let text = fields.text("homes", notes)?.trim();
    let (line, place) = (fields.line_of("homes"), fields.place("homes"));
    let homes = Homes::named(text);
    if homes.is_none() {
        let message = format!("unknown value `{}`", excerpt(text));
        notes.error(line, &place, message, &did_you_mean(text, &Homes::names()));
    } else if fields.get("grid").is_none() {
        let message = "jobs have homes on a grid only".to_owned();
        notes.error(line, &place, message, "add a `grid`, or leave it out");
    }
    homes
}

/// Only a log as it is says which job came before which.
fn dependencies(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Dependencies> {
    let text = fields.text("dependencies", notes)?.trim();
    let (line, place) = (fields.line_of("dependencies"), fields.place("dependencies"));
    let found = Dependencies::named(text);
    if found.is_none() {
        let message = format!("unknown value `{}`", excerpt(text));
        notes.error(line, &place, message, &did_you_mean(text, &Dependencies::names()));
    } else if let Some(other) = ["model", "users"].iter().find(|key| fields.get(key).is_some()) {
        let message = format!("`{other}` draws jobs, which follow no others");
        notes.error(line, &place, message, "leave one of them out");
    }
    found.filter(|found| *found != Dependencies::Ignore)
}

/// Which memory of jobs is counted: of a log's, on shared nodes.
fn memory(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<MemoryField> {
    let text = fields.text("memory", notes)?.trim();
    let (line, place) = (fields.line_of("memory"), fields.place("memory"));
    let found = MemoryField::named(text).filter(|found| *found != MemoryField::Ignore);
    let sizes = ["node-processors", "node-memory"];
    let in_grid = fields.get("grid").is_some();
    let missing = sizes.iter().find(|key| fields.get(key).is_none() && !in_grid);
    // Pools of a grid say themselves how much their nodes have.
    let stated = sizes.iter().any(|key| fields.get(key).is_some());
    let others = ["model", "outages"].iter().chain(["grid"].iter().filter(|_| stated));
    let other = others.into_iter().find(|key| fields.get(key).is_some());
    let mistake = match (MemoryField::named(text), found, other, missing) {
        (None, ..) => {
            let hint = did_you_mean(text, &MemoryField::names());
            Some((format!("unknown value `{}`", excerpt(text)), hint))
        }
        (_, Some(_), Some(other), _) => {
            let hint = "leave one out; in a grid, pools have `memory` themselves".to_owned();
            Some((format!("`memory` and `{other}` are given"), hint))
        }
        (_, Some(_), None, Some(missing)) => {
            let hint = "memory is counted on nodes of a stated size".to_owned();
            Some((format!("`{missing}` is missing"), hint))
        }
        _ => None,
    };
    if let Some((message, hint)) = mistake {
        notes.error(line, &place, message, &hint);
    }
    found
}

/// The size of the nodes whose memory is counted.
fn nodes(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<NodeSize> {
    let processors = fields.whole("node-processors", 1..=i64::from(Pools::MAX_NODES), notes);
    let text = fields.text("node-memory", notes);
    let (line, place) = (fields.line_of("node-memory"), fields.place("node-memory"));
    let memory = text.and_then(|text| match text.trim().parse::<MemorySize>() {
        Ok(size) => Some(size),
        Err(hint) => {
            notes.error(line, &place, format!("`{}` is no size", excerpt(text)), &hint);
            None
        }
    });
    let processors = processors.and_then(|count| u32::try_from(count).ok())?;
    let size = NodeSize { processors, memory: memory? };
    let counted = fields.text("memory", notes).map(str::trim);
    counted.filter(|text| MemoryField::named(text) != Some(MemoryField::Ignore)).map(|_| size)
}

/// Only the pools of a grid have attributes.
fn keep_to(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<LogField> {
    let kept = words(fields, "keep-to", notes).unwrap_or_default();
    if !kept.is_empty() && fields.get("grid").is_none() {
        let message = "jobs keep to pools of a grid only".to_owned();
        let (line, place) = (fields.line_of("keep-to"), fields.place("keep-to"));
        notes.error(line, &place, message, "add a `grid`, or leave it out");
    }
    kept
}

/// Jobs come from logs or from a model, and a model has more to say than a log.
fn one_source(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    let error = |key: &str, message: &str, hint: &str, notes: &mut Notes<'_>| {
        notes.error(fields.line_of(key), &fields.path, message.to_owned(), hint);
    };
    let has = |key: &str| fields.get(key).is_some();
    if has("procs") && has("grid") {
        error("procs", "`procs` and `grid` are given", "the grid says how many nodes", notes);
    }
    match (has("log"), has("model")) {
        (true, true) => error("model", "`log` and `model` are given", "keep one", notes),
        (false, false) => {
            error("", "`log` or `model` is missing", "say where jobs come from", notes);
        }
        (true, false) => {}
        (false, true) if !has("procs") && !has("grid") => {
            let hint = "a model needs the machine's size, or a `grid`";
            error("model", "`procs` is missing", hint, notes);
        }
        (false, true) if has("users") => {
            let hint = "write the model's own: `lublin[users=9]`";
            error("users", "`users` are those of a log", hint, notes);
        }
        (false, true) => {}
    }
}

/// The workload's name: as given, or else its model's or its logs'.
fn name(
    fields: &Fields<'_, '_>,
    logs: &[String],
    model: Option<&str>,
    notes: &mut Notes<'_>,
) -> String {
    let given = fields.text("name", notes);
    if let Some(text) = given.filter(|text| !is_folder(text)) {
        let message = format!("`{}` cannot name a folder", excerpt(text));
        let hint = "no slashes, and no dot in front";
        notes.error(fields.line_of("name"), &fields.place("name"), message, hint);
    }
    let own = || model.map_or_else(|| Workload::name_of(logs), str::to_owned);
    given.map_or_else(own, str::to_owned)
}

fn is_folder(name: &str) -> bool {
    !name.contains(['/', '\\']) && !name.starts_with('.')
}

/// A path in a file starts from the file's folder.
pub(crate) fn beside(folder: &Path, path: &str) -> String {
    match path {
        "-" => "-".to_owned(),
        path => folder.join(path).to_string_lossy().into_owned(),
    }
}
