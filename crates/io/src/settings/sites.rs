//! `[[site]]`: pools, prices and offers.

use std::collections::BTreeMap;

use tradewind_model::{Attribute, Performance, Pools, Preemption, SitePower, Standing, Times};

use super::read::{hours, load, text};
use super::schedule::{LoadRange, Rule, Schedule};
use super::{Pool, Site, SiteKind, cluster, machine};
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{DecimalScale, Fields, Notes, PERFORMANCE};
use crate::power::{self, Electricity, Watts};
use crate::preemption;
use crate::scenario::{NameLines, attributes};
use crate::series;
use crate::submission::TIMES;
use crate::value::ValueKind::{Table, Text};

const KEYS: [&str; 13] = [
    "name",
    "kind",
    "owner",
    "times",
    "survey_timeout",
    "policy",
    "pool",
    "price",
    "offer",
    "watts",
    "carbon",
    "energy_price",
    "preemption",
];
const POOL: [&str; 7] = ["name", "nodes", "performance", "price", "class", "attributes", "watts"];
/// What a policy in Python begins with.
const PYTHON: &str = "python:";
const KINDS: [&str; 3] = ["local", "slurm", "gridengine"];
/// The attribute that names a node's class.
const CLASS: &str = "class";
/// Values of a series, at most: two years of hours.
const MAX_VALUES: usize = 2 * 366 * 24;
const SHARE: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000 };

/// The sites of a file, by what the market does there.
#[derive(Debug, Default)]
pub(super) struct ConfiguredSites {
    /// Jobs are submitted there.
    pub offered: Vec<Site>,
    /// They are only observed.
    pub observed: Vec<Site>,
    /// Series of electricity are in files of their own.
    pub has_files: bool,
}

/// `document` is the name of the file, beside which those of series are.
pub(super) fn sites(
    fields: &Fields<'_, '_>,
    document: &str,
    notes: &mut Notes<'_>,
) -> ConfiguredSites {
    let (mut names, mut pool_names) = (NameLines::default(), NameLines::default());
    let mut all = ConfiguredSites::default();
    for (i, item) in fields.list("site", notes).unwrap_or_default().iter().enumerate() {
        // A managed site has more keys; one whose kind is not known yet may have all of them.
        let known: Vec<&str> = KEYS.into_iter().chain(cluster::KEYS).chain(machine::OWN).collect();
        let Some(site) = Fields::of(item, format!("site[{i}]"), &known, notes) else { continue };
        site.require(&["name", "kind", "pool"], notes);
        let name = names.take(&site, "site", notes).unwrap_or_default();
        let kind = kind(&site, notes).unwrap_or_else(|| SiteKind::Local(Box::default()));
        let owner = text(&site, "owner", notes);
        let times = site.word("times", &TIMES, notes).unwrap_or(Times::Wall);
        let mut pools = pools(&site, &mut pool_names, notes);
        let survey_timeout = site.span("survey_timeout", cluster::SECONDS, notes);
        let is_observed = is_observed(&site, &kind, notes);
        let policy = policy(&site, is_observed, notes);
        if matches!(kind, SiteKind::Local(_)) {
            // Of an observed one it is said already.
            let is_said = |key: &&str| machine::KEYS.contains(key) || is_observed && *key == "mode";
            let managed = cluster::KEYS.into_iter().filter(|key| !is_said(key));
            only_managed(&site, &managed.collect::<Vec<_>>(), notes);
        } else {
            only_local(&site, notes);
        }
        prices(&site, &mut pools, notes);
        offers(&site, &mut pools, notes);
        let list = if is_observed { &mut all.observed } else { &mut all.offered };
        let feeds = feeds(&site, notes);
        let power = electricity(&site, &feeds, document, notes);
        let is_file =
            |key: &&str| matches!(site.get(key).map(|it| &it.kind), Some(Text(_) | Table(_)));
        all.has_files |= ["carbon", "energy_price"].iter().any(is_file);
        let preemption = preemption(&site, &kind, notes);
        list.push(Site {
            name,
            kind,
            owner,
            times,
            survey_timeout,
            policy,
            power,
            feeds,
            preemption,
            pools,
        });
    }
    all
}

/// How the market takes nodes of preemptible jobs back for the site's owners.
fn preemption(site: &Fields<'_, '_>, kind: &SiteKind, notes: &mut Notes<'_>) -> Option<Preemption> {
    let read = preemption::read(site, notes)?;
    let (message, hint) = match kind {
        SiteKind::Slurm(_) if site.text("mode", &mut Notes::new("")) == Some(cluster::OBSERVE) => {
            ("the market has no jobs at a cluster that is observed", "leave it out")
        }
        SiteKind::Slurm(it) | SiteKind::GridEngine(it) if it.owners_queue == Standing::InLine => (
            "where jobs wait in line with the owners', none gives its nodes back to them",
            "leave it out, or write `owners_queue = \"behind\"`",
        ),
        _ => return Some(read),
    };
    notes.error(site.line_of("preemption"), &site.place("preemption"), message.to_owned(), hint);
    None
}

/// The site's carbon intensity and price of electricity: kept in the journal, so in bounds.
fn electricity(
    site: &Fields<'_, '_>,
    feeds: &BTreeMap<Electricity, String>,
    document: &str,
    notes: &mut Notes<'_>,
) -> SitePower {
    let mut read = |what: Electricity| match feeds.contains_key(&what) {
        true => None,
        false => power::series_of(site, what, document, notes),
    };
    let power = SitePower { carbon: read(Electricity::Carbon), price: read(Electricity::Price) };
    for (key, series) in [("carbon", &power.carbon), ("energy_price", &power.price)] {
        let values = series.as_ref().map_or(0, |series| series.values().count());
        if values > MAX_VALUES {
            let message = format!("{values} values, and a market keeps {MAX_VALUES} at most");
            let hint = "two years of hours: leave older or later ones out";
            notes.error(site.line_of(key), &site.place(key), message, hint);
        }
    }
    power
}

/// Series that are read from an address again and again, by what they say.
fn feeds(site: &Fields<'_, '_>, notes: &mut Notes<'_>) -> BTreeMap<Electricity, String> {
    let mut all = BTreeMap::new();
    for what in Electricity::ALL {
        let Some(Text(text)) = site.get(what.key()).map(|it| &it.kind) else { continue };
        if !series::is_address(text) {
            continue;
        }
        let rest = text.split_once("://").map_or("", |(_, rest)| rest);
        let is_whole = !rest.is_empty() && !rest.starts_with(['/', ':', '?', '#']);
        match is_whole && text.bytes().all(|c| c.is_ascii_graphic()) {
            true => drop(all.insert(what, text.to_string())),
            false => {
                let message = format!("`{}` is no address", excerpt(text));
                let hint = "write it as in `https://grid.example/carbon.csv`";
                notes.error(site.line_of(what.key()), &site.place(what.key()), message, hint);
            }
        }
    }
    all
}

/// Whether the site is only observed; notes where that is not possible.
fn is_observed(site: &Fields<'_, '_>, kind: &SiteKind, notes: &mut Notes<'_>) -> bool {
    if site.text("mode", &mut Notes::new("")) != Some(cluster::OBSERVE) {
        return false;
    }
    let message = match kind {
        SiteKind::Slurm(_) => return true,
        SiteKind::Local(_) => "a local site cannot be observed: only the daemon runs jobs there",
        SiteKind::GridEngine(_) => "only clusters under Slurm can be observed",
    };
    let hint = "leave `mode` out";
    notes.error(site.line_of("mode"), &site.place("mode"), message.to_owned(), hint);
    true
}

/// A policy of the user's own, which only looks on.
fn policy(site: &Fields<'_, '_>, is_observed: bool, notes: &mut Notes<'_>) -> Option<String> {
    let written = text(site, "policy", notes)?;
    let (line, place) = (site.line_of("policy"), site.place("policy"));
    if !is_observed {
        let message = "only a cluster that is observed has a policy of its own".to_owned();
        let hint = "write `mode = \"observe\"`, or leave it out: the market's is in `[market]`";
        notes.error(line, &place, message, hint);
        return None;
    }
    let class = written.strip_prefix(PYTHON).filter(|class| is_class(class));
    if class.is_none() {
        let message = format!("`{}` is no policy in Python", excerpt(&written));
        notes.error(line, &place, message, "write `python:module:Class`");
    }
    class.map(str::to_owned)
}

/// `module:Class`, with packages before the module.
fn is_class(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    let parts = text.split_once(':');
    parts.is_some_and(|(module, class)| module.split('.').all(is_name) && is_name(class))
}

fn kind(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<SiteKind> {
    let name = fields.text("kind", notes)?;
    match name {
        "local" => return Some(SiteKind::Local(Box::new(machine::machine(fields, notes)))),
        "slurm" => return Some(SiteKind::Slurm(Box::new(cluster::cluster(fields, notes)))),
        "gridengine" => {
            return Some(SiteKind::GridEngine(Box::new(cluster::cluster(fields, notes))));
        }
        _ => {}
    }
    let message = format!("unknown kind `{}`", excerpt(name));
    notes.error(
        fields.line_of("kind"),
        &fields.place("kind"),
        message,
        &did_you_mean(name, &KINDS),
    );
    None
}

/// Notes keys that mean nothing at a local site.
fn only_managed(fields: &Fields<'_, '_>, keys: &[&str], notes: &mut Notes<'_>) {
    for key in keys.iter().filter(|key| fields.get(key).is_some()) {
        let message = "a local site has no manager".to_owned();
        let hint = "leave it out, or write `kind = \"slurm\"`";
        notes.error(fields.line_of(key), &fields.place(key), message, hint);
    }
}

/// Notes keys that mean nothing at a site with a manager.
fn only_local(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    for key in machine::OWN.iter().filter(|key| fields.get(key).is_some()) {
        let message = "only a local site runs jobs on the daemon's own machine".to_owned();
        notes.error(fields.line_of(key), &fields.place(key), message, "leave it out");
    }
}

fn pools(fields: &Fields<'_, '_>, names: &mut NameLines, notes: &mut Notes<'_>) -> Vec<Pool> {
    let of_site = Watts::read(fields, notes);
    let items = fields.list("pool", notes).unwrap_or_default();
    if items.is_empty() && fields.get("pool").is_some() {
        let (line, place) = (fields.line_of("pool"), fields.place("pool"));
        notes.error(line, &place, "there are no pools".to_owned(), "give at least one");
    }
    let known: Vec<&str> = POOL.into_iter().chain(cluster::POOL).collect();
    let mut all = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{}[{i}]", fields.place("pool"));
        let Some(pool) = Fields::of(item, path, &known, notes) else { continue };
        if fields.text("kind", &mut Notes::new("")) == Some("local") {
            only_managed(&pool, &cluster::POOL, notes);
        }
        pool.require(&["name", "nodes"], notes);
        let name = names.take(&pool, "pool", notes).unwrap_or_default();
        let nodes = pool.whole("nodes", 1..=i64::from(Pools::MAX_NODES), notes);
        let mut attributes = attributes(&pool, notes);
        if attributes.contains_key(CLASS) {
            let message = "the class is a field of the pool".to_owned();
            notes.error(pool.line_of("attributes"), &pool.path, message, "write `class = \"…\"`");
        }
        if let Some(watts) = Watts::read(&pool, notes).or(of_site) {
            watts.put(&mut attributes, &pool, notes);
        }
        let class = text(&pool, CLASS, notes).map(Attribute::Text);
        attributes.extend(class.map(|class| (CLASS.to_owned(), class)));
        all.push(Pool {
            name,
            nodes: nodes.and_then(|it| u32::try_from(it).ok()).unwrap_or(1),
            performance: pool
                .performance("performance", &PERFORMANCE, notes)
                .unwrap_or(Performance::REFERENCE),
            attributes,
            members: cluster::members(&pool, notes),
            price: pool.price("price", notes).unwrap_or_default(),
            prices: Schedule::default(),
            offers: Schedule::default(),
        });
    }
    all
}

/// The pools that a rule is for: that of the field `pool`, or all.
fn targets<'p>(
    rule: &Fields<'_, '_>,
    pools: &'p mut [Pool],
    notes: &mut Notes<'_>,
) -> Vec<&'p mut Pool> {
    let Some(name) = rule.text("pool", notes) else { return pools.iter_mut().collect() };
    if !pools.iter().any(|pool| pool.name == name) {
        let known: Vec<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
        let message = format!("the site has no pool `{}`", excerpt(name));
        let hint = did_you_mean(name, &known);
        notes.error(rule.line_of("pool"), &rule.place("pool"), message, &hint);
    }
    pools.iter_mut().filter(|pool| pool.name == name).collect()
}

fn prices(fields: &Fields<'_, '_>, pools: &mut [Pool], notes: &mut Notes<'_>) {
    for (i, item) in fields.list("price", notes).unwrap_or_default().iter().enumerate() {
        let path = format!("{}[{i}]", fields.place("price"));
        let keys = ["pool", "hours", "load", "price"];
        let Some(rule) = Fields::of(item, path, &keys, notes) else { continue };
        rule.require(&["price"], notes);
        let (hours, load) = (hours(&rule, notes), load(&rule, notes));
        let value = rule.price("price", notes).unwrap_or_default();
        for pool in targets(&rule, pools, notes) {
            pool.prices.rules.push(Rule { hours: hours.clone(), load, value });
        }
    }
}

fn offers(fields: &Fields<'_, '_>, pools: &mut [Pool], notes: &mut Notes<'_>) {
    for (i, item) in fields.list("offer", notes).unwrap_or_default().iter().enumerate() {
        let path = format!("{}[{i}]", fields.place("offer"));
        let Some(rule) = Fields::of(item, path, &["pool", "hours", "share"], notes) else {
            continue;
        };
        rule.require(&["share"], notes);
        let hours = hours(&rule, notes);
        let share = rule.scaled("share", &SHARE, notes).unwrap_or(0);
        let value = u32::try_from(share).unwrap_or(0);
        for pool in targets(&rule, pools, notes) {
            pool.offers.rules.push(Rule { hours: hours.clone(), load: LoadRange::ANY, value });
        }
    }
}
