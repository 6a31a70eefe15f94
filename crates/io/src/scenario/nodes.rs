//! Nodes, sites, slots and busy spans of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{
    Attribute, Attributes, Energy, Grid, Horizon, Node, NodeId, NodeResources, Performance, Price,
    Rates, Resources, Series, Sharing, Site, SiteId, Slot, Time, Times,
};

use super::{MAX_NAME, resources, sites};
use crate::diagnostics::{excerpt, suggestion};
use crate::fields::{Fields, NUMBER, Notes, PERFORMANCE, TABLE, hint_for, scaled};
use crate::power::Watts;
use crate::series::{self, Rate};
use crate::value::{Value, ValueKind};

const NODE_KEYS: [&str; 13] = [
    "name",
    "site",
    "performance",
    "price",
    "host",
    "attributes",
    "watts",
    "cores",
    "memory",
    "gres",
    "shared",
    "unit_prices",
    "charge",
];
const SLOT_KEYS: [&str; 3] = ["node", "start", "end"];
const SPAN_KEYS: [&str; 6] = ["node", "start", "end", "cores", "memory", "gres"];

/// The most cores of all nodes that say what they have.
const MOST_CORES: u64 = 1 << 22;

/// The site of nodes that name none.
const DEFAULT_SITE: &str = "local";

/// Names, and the line on which each was first given.
#[derive(Default)]
pub(crate) struct NameLines {
    lines: BTreeMap<String, u32>,
}

impl NameLines {
    /// The table's `name`, noted if it was used before.
    pub(crate) fn take(
        &mut self,
        fields: &Fields<'_, '_>,
        kind: &str,
        notes: &mut Notes<'_>,
    ) -> Option<String> {
        let name = fields.text("name", notes)?.to_owned();
        let (line, place) = (fields.line_of("name"), fields.place("name"));
        self.claim(name, kind, (line, place), notes)
    }

    /// `name`, which stands in this line and field; noted if it was used before.
    pub(crate) fn claim(
        &mut self,
        name: String,
        kind: &str,
        (line, place): (u32, String),
        notes: &mut Notes<'_>,
    ) -> Option<String> {
        if name.len() > MAX_NAME {
            let message = format!("a name of more than {MAX_NAME} bytes");
            notes.error(line, &place, message, "shorten it");
            return None;
        }
        match self.lines.insert(name.clone(), line) {
            None => Some(name),
            Some(first) => {
                let message =
                    format!("the {kind} name `{}` is used before, in line {first}", excerpt(&name));
                notes.error(line, &place, message, "every name is used once");
                None
            }
        }
    }
}

/// A span and its place in the file.
#[derive(Debug, Clone)]
pub(super) struct ListedSpan {
    pub(super) span: Slot,
    /// What of a shared node it is about, if not all.
    pub(super) part: Option<Resources>,
    /// In its list, from 0.
    index: usize,
    line: u32,
}

/// The nodes as read, with their ids by name.
pub(super) struct Nodes {
    sites: Vec<Site>,
    site_ids: BTreeMap<String, SiteId>,
    nodes: Vec<Node>,
    ids: BTreeMap<String, NodeId>,
    rates: Vec<Option<Arc<Series>>>,
    resources: Vec<Option<NodeResources>>,
    power: sites::ScenarioSites,
}

impl Nodes {
    /// The sites that were named so far.
    pub(super) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// `document` names the files that prices are in; prices of `from` stand for those that change.
    pub(super) fn read(
        items: &[Value<'_>],
        power: sites::ScenarioSites,
        (document, from): (&str, Time),
        notes: &mut Notes<'_>,
    ) -> Nodes {
        let mut all = Nodes {
            sites: Vec::new(),
            site_ids: BTreeMap::new(),
            nodes: Vec::with_capacity(items.len()),
            ids: BTreeMap::new(),
            rates: Vec::with_capacity(items.len()),
            resources: Vec::with_capacity(items.len()),
            power,
        };
        let mut names = NameLines::default();
        for (i, item) in items.iter().enumerate() {
            let path = format!("nodes[{i}]");
            if let Some(fields) = Fields::of(item, path, &NODE_KEYS, notes) {
                all.add(&fields, &mut names, (document, from), notes);
            }
        }
        all.bound_cores(notes);
        all
    }

    /// Places for tasks are at most as many as cores.
    fn bound_cores(&self, notes: &mut Notes<'_>) {
        let cores: u64 = self.resources.iter().flatten().map(|it| u64::from(it.all.cores)).sum();
        if cores > MOST_CORES {
            let message = format!("{cores} cores in all");
            notes.error(1, "nodes", message, &format!("at most {MOST_CORES} are possible"));
        }
    }

    /// Whether any node says what it has.
    pub(super) fn has_resources(&self) -> bool {
        self.resources.iter().any(Option::is_some)
    }

    fn add(
        &mut self,
        fields: &Fields<'_, '_>,
        names: &mut NameLines,
        (document, from): (&str, Time),
        notes: &mut Notes<'_>,
    ) {
        fields.require(&["name"], notes);
        let name = names.take(fields, "node", notes);
        let site_name = fields.text("site", notes).unwrap_or(DEFAULT_SITE);
        let site = self.site(site_name);
        let mut attributes = attributes(fields, notes);
        let watts = Watts::read(fields, notes).inspect(|_| self.power.mark());
        if let Some(watts) = watts.or(self.power.watts(site_name)) {
            watts.put(&mut attributes, fields, notes);
        }
        let rate = series::rate(fields, "price", document, notes);
        let rate = rate.or_else(|| self.power.rate(site_name));
        let (has, whole) = resources::of_node(fields, rate.as_ref(), notes).unzip();
        let rate = whole.flatten().map(Rate::Fixed).or(rate);
        if has.as_ref().is_some_and(|it| it.sharing != Sharing::Whole)
            && attributes.contains_key(Energy::BUSY)
        {
            let hint = "leave `watts` out, also at its site: it is not divided among tasks";
            let message = "electricity of a shared node".to_owned();
            notes.error(fields.line_of("watts"), &fields.place("watts"), message, hint);
        }
        self.resources.push(has);
        let (price, rate) = match rate {
            Some(Rate::Changes(rate)) => (Price(rate.at(from)), Some(rate)),
            Some(Rate::Fixed(price)) => (price, None),
            None => (Price::default(), None),
        };
        self.rates.push(rate);
        let performance = fields.performance("performance", &PERFORMANCE, notes);
        let node = Node {
            name: name.clone().unwrap_or_default(),
            site,
            host: fields.text("host", notes).map(str::to_owned),
            performance: performance.unwrap_or(Performance::REFERENCE),
            price,
            attributes,
            times: Times::Work,
        };
        // Past the limit of `Grid` the id is wrong, but then there is no grid.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        if let Some(name) = name {
            self.ids.insert(name, id);
        }
    }

    fn site(&mut self, name: &str) -> SiteId {
        if let Some(id) = self.site_ids.get(name) {
            return *id;
        }
        let id = SiteId(self.sites.len() as u32);
        self.sites.push(Site { name: name.to_owned() });
        self.site_ids.insert(name.to_owned(), id);
        id
    }

    /// Spans `[start, end)` on nodes, with the place of each.
    pub(super) fn spans(
        &self,
        key: &str,
        items: &[Value<'_>],
        notes: &mut Notes<'_>,
    ) -> Vec<ListedSpan> {
        let mut spans = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let path = format!("{key}[{i}]");
            let Some(fields) = Fields::of(item, path, &SPAN_KEYS, notes) else { continue };
            fields.require(&SLOT_KEYS, notes);
            let node = self.node(&fields, notes);
            let (start, end) = (fields.time("start", notes), fields.time("end", notes));
            let (Some(node), Some(start), Some(end)) = (node, start, end) else { continue };
            if start >= end {
                let message = format!("`start` {start} is not before `end` {end}");
                let hint = "a span ends after it starts: `end` is the first second beyond it";
                notes.error(fields.line_of("end"), &fields.path, message, hint);
                continue;
            }
            let part = self.part(&fields, node, notes);
            let span = Slot { start, end, node };
            spans.push(ListedSpan { span, part, index: i, line: fields.line });
        }
        spans
    }

    /// What a span is about of a node that tasks share: at most what the node has.
    fn part(
        &self,
        fields: &Fields<'_, '_>,
        node: NodeId,
        notes: &mut Notes<'_>,
    ) -> Option<Resources> {
        let part = resources::amounts(fields, &Resources::default(), notes)?;
        let node = node.0 as usize;
        let name = excerpt(&self.nodes[node].name);
        let Some(NodeResources { all, sharing: Sharing::Shared(_) }) = &self.resources[node] else {
            let message = format!("amounts on `{name}`, which is not shared");
            let hint = "leave `cores`, `memory` and `gres` out, or add `shared = true` to the node";
            notes.error(fields.line, &fields.path, message, hint);
            return None;
        };
        if !all.holds(&part) {
            let message = format!("{part} of `{name}`, which has {all}");
            notes.error(fields.line, &fields.path, message, "at most what the node has");
        }
        Some(part)
    }

    fn node(&self, fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<NodeId> {
        let name = fields.text("node", notes)?;
        let id = self.ids.get(name).copied();
        if id.is_none() {
            let (line, place) = (fields.line_of("node"), fields.place("node"));
            let message = format!("unknown node `{}`", excerpt(name));
            match suggestion(name, self.ids.keys().map(String::as_str)) {
                Some(best) => {
                    let hint = format!("did you mean `{best}`?");
                    notes.error(line, &place, message, &hint);
                }
                None => notes.error(line, &place, message, "`nodes` lists all nodes"),
            }
        }
        id
    }

    /// Notes slots outside the horizon and slots that share time on one node.
    pub(super) fn check_slots(
        &self,
        horizon: Option<Horizon>,
        slots: &[ListedSpan],
        notes: &mut Notes<'_>,
    ) {
        let place = |it: &ListedSpan| format!("slots[{}]", it.index);
        for it in slots {
            let slot = it.span;
            if let Some(Horizon { start, end }) = horizon
                && (slot.start < start || slot.end > end)
            {
                let message = format!(
                    "the slot [{}, {}) is outside the horizon [{start}, {end})",
                    slot.start, slot.end
                );
                notes.error(it.line, &place(it), message, "cut it to the horizon");
            }
        }
        let mut by_node = slots.to_vec();
        by_node.sort_by_key(|it| (it.span.node, it.span.start));
        for pair in by_node.windows(2) {
            let (one, two) = (pair[0].span, pair[1].span);
            if one.node == two.node && one.end > two.start {
                let message = format!(
                    "the slot [{}, {}) on `{}` overlaps [{}, {}) of line {}",
                    two.start,
                    two.end,
                    excerpt(&self.nodes[two.node.0 as usize].name),
                    one.start,
                    one.end,
                    pair[0].line
                );
                notes.error(pair[1].line, &place(&pair[1]), message, "join them into one slot");
            }
        }
    }

    /// The grid; notes what the model refuses.
    pub(super) fn grid(self, notes: &mut Notes<'_>) -> Option<Grid> {
        self.power.check(self.sites.iter().map(|site| site.name.as_str()), notes);
        if notes.diagnostics.errors() > 0 {
            return None;
        }
        let power = self.power;
        match Grid::new(self.sites, self.nodes) {
            Ok(grid) => {
                let grid = grid.with_rates(Rates::new(self.rates)).with_resources(self.resources);
                Some(power.into_power(&grid).map_or(grid.clone(), |it| grid.with_power(it)))
            }
            Err(err) => {
                notes.error(1, "nodes", err.to_string(), "give the nodes in parts");
                None
            }
        }
    }
}

/// The table `attributes`: texts, flags, and numbers with up to three decimals.
pub(crate) fn attributes(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Attributes {
    let mut all = Attributes::new();
    let Some(value) = fields.get("attributes") else { return all };
    let path = fields.place("attributes");
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &path, message, hint_for(TABLE));
        return all;
    };
    for entry in entries {
        let place = format!("{path}.{}", excerpt(&entry.key));
        let attribute = match &entry.value.kind {
            ValueKind::Flag(flag) => Attribute::Flag(*flag),
            ValueKind::Text(text) => Attribute::Text(text.to_string()),
            ValueKind::Number(text) => match scaled(text, &NUMBER) {
                Ok(thousandths) => Attribute::Number(thousandths),
                Err((message, hint)) => {
                    notes.error(entry.line, &place, message, &hint);
                    continue;
                }
            },
            _ => {
                let found = entry.value.describe();
                let message =
                    format!("expected a text, a number, `true` or `false`, found {found}");
                notes.error(entry.line, &place, message, "an attribute has a single value");
                continue;
            }
        };
        all.insert(entry.key.to_string(), attribute);
    }
    all
}
