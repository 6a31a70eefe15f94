//! A document's tree becomes a grid, or the list of all its mistakes.

use std::collections::BTreeMap;

use tradewind_model::{
    Cause, Licence, Pools, Power, Preemption, Price, Rates, Site, SiteId, SitePower,
};

use super::data::DataUse;
use super::node_memory::NodeMemory;
use super::pools::{self, Charge, SiteDefaults};
use super::{GridFile, distributions, owners};
use crate::diagnostics::{Diagnostics, excerpt};
use crate::fields::{Fields, Notes};
use crate::input::Input;
use crate::kind;
use crate::licences;
use crate::links;
use crate::outages::{self, Among, KnownFrom, Planned, Targets};
use crate::power::{self, Watts};
use crate::preemption;
use crate::scenario::NameLines;
use crate::value;

const SITE_KEYS: [&str; 14] = [
    "name",
    "log",
    "price",
    "pool",
    "local",
    "maintenance",
    "failures",
    "load",
    "owners",
    "watts",
    "carbon",
    "energy_price",
    "preemption",
    "memory",
];

/// How long ahead maintenance is announced if nothing else is said: a week.
const NOTICE_S: i64 = 7 * 86_400;

pub(super) fn parse(input: &Input) -> Result<(GridFile, Diagnostics), Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let grid = Fields::of(&document, String::new(), &kind::GRID, &mut notes)
        .and_then(|fields| grid(&fields, &input.name, &mut notes));
    notes.diagnostics.finish(grid)
}

/// What has been read so far.
#[derive(Default)]
struct GridReader {
    sites: Vec<Site>,
    pools: pools::PoolReader,
    logs: Vec<(String, SiteId)>,
    names: NameLines,
    /// By site.
    power: Vec<SitePower>,
    /// By site: how it takes nodes back.
    preemption: Vec<Preemption>,
    /// Whether any site says something of its electricity.
    electric: bool,
    /// By log: the line that names it.
    log_lines: BTreeMap<String, u32>,
}

fn grid(fields: &Fields<'_, '_>, name: &str, notes: &mut Notes<'_>) -> Option<GridFile> {
    fields.require(&["site"], notes);
    let title = fields.text("title", notes).map(str::to_owned);
    let items = fields.list("site", notes).unwrap_or_default();
    if items.is_empty() && fields.get("site").is_some() {
        let (line, place) = (fields.line_of("site"), fields.place("site"));
        notes.error(line, &place, "there are no sites".to_owned(), "list at least one");
    }
    let mut reader = GridReader::default();
    let mut sites = Vec::new();
    for (i, item) in items.iter().enumerate() {
        if let Some(site) = Fields::of(item, format!("site[{i}]"), &SITE_KEYS, notes) {
            reader.site(&site, name, notes);
            sites.push(site);
        }
    }
    let mut file = (Vec::new(), Vec::new(), Vec::new());
    let mut owners = owners::OwnersReader::default();
    for (i, site) in sites.iter().enumerate() {
        let id = SiteId(i as u32);
        planned(site, &reader.pools.targets, id, &mut file.0, notes);
        let failures = site.get("failures");
        let failures =
            failures.and_then(|it| distributions::failures(it, site.place("failures"), notes));
        file.1.extend(failures.map(|it| (id, it)));
        let load =
            site.get("load").and_then(|it| distributions::load(it, site.place("load"), notes));
        file.2.extend(load.map(|it| (id, it)));
        for (i, item) in site.list("owners", notes).unwrap_or_default().iter().enumerate() {
            let path = format!("{}[{i}]", site.place("owners"));
            owners.queue((item, path, name), &reader.pools.targets, id, notes);
        }
    }
    let names: Vec<&str> = reader.sites.iter().map(|site| site.name.as_str()).collect();
    let keys = [&licences::KEYS[..], &["jobs"]].concat();
    let all = licences::read((fields, &keys), &names, notes, distributions::licence_use);
    let (licences, uses): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let owned = |(licence, site): (Licence, usize)| (licence, SiteId(site as u32));
    let licences = licences.into_iter().map(owned).collect();
    let links = links::read((fields, "link"), &names, notes);
    let data = DataUse::read(fields, (&links, &reader.sites), notes);
    file.0.extend(outages::listed(fields, "outage", &reader.pools.targets, notes));
    if notes.diagnostics.errors() > 0 {
        return None;
    }
    let pools::PoolReader {
        pools, targets, drawn, rates, load_prices, ask_factors, electric, ..
    } = reader.pools;
    let power = Power { sites: reader.power };
    let with_power = |pools: Pools| match electric || reader.electric {
        true => pools.with_power(power),
        false => pools,
    };
    let pools = Pools::new(reader.sites, pools)
        .map_err(|err| notes.error(1, "site", err.to_string(), "see `docs/reference/grid.md`"))
        .ok()
        .map(|pools| with_power(pools).with_rates(Rates::new(rates)).with_load_prices(load_prices))
        .map(|pools| pools.with_preemption(reader.preemption).with_ask_factors(ask_factors))
        .and_then(|pools| pools.with_licences(licences).ok())?
        .with_links(links);
    let (planned, failures, loads) = file;
    let (owners, logs) = (owners.queues, reader.logs);
    Some(GridFile {
        title,
        pools,
        drawn,
        targets,
        planned,
        failures,
        loads,
        owners,
        logs,
        uses,
        data,
    })
}

impl GridReader {
    fn site(&mut self, fields: &Fields<'_, '_>, document: &str, notes: &mut Notes<'_>) {
        fields.require(&["name", "pool"], notes);
        let id = SiteId(self.sites.len() as u32);
        let name = self.names.take(fields, "site", notes).unwrap_or_default();
        let items = fields.list("pool", notes).unwrap_or_default();
        if items.is_empty() && fields.get("pool").is_some() {
            let (line, place) = (fields.line_of("pool"), fields.place("pool"));
            let hint = "a site has at least one pool of nodes";
            notes.error(line, &place, "there are no pools".to_owned(), hint);
        }
        let usual = pools::charge(fields, document, notes);
        let usual = usual.unwrap_or(Charge::Fixed(Price::default()));
        let (watts, memory) = (Watts::read(fields, notes), NodeMemory::read(fields, notes));
        let defaults = SiteDefaults { watts, memory };
        for (i, item) in items.iter().enumerate() {
            let path = format!("{}[{i}]", fields.place("pool"));
            self.pools.pool(item, path, (id, &usual, defaults, document), notes);
        }
        let power = power::site(fields, document, notes);
        self.electric |= power.is_some();
        self.power.push(power.unwrap_or_default());
        self.preemption.push(preemption::read(fields, notes).unwrap_or_default());
        self.sites.push(Site { name });
        self.log(fields, id, notes);
    }

    /// The log whose jobs are submitted here.
    fn log(&mut self, fields: &Fields<'_, '_>, site: SiteId, notes: &mut Notes<'_>) {
        let Some(log) = fields.text("log", notes) else { return };
        let line = fields.line_of("log");
        match self.log_lines.insert(log.to_owned(), line) {
            None => self.logs.push((log.to_owned(), site)),
            Some(first) => {
                let message =
                    format!("the log `{}` has a site before, in line {first}", excerpt(log));
                notes.error(line, &fields.place("log"), message, "a log has one site");
            }
        }
    }
}

/// `[[site.local]]` and `[[site.maintenance]]`.
fn planned(
    fields: &Fields<'_, '_>,
    targets: &Targets,
    site: SiteId,
    into: &mut Vec<Planned>,
    notes: &mut Notes<'_>,
) {
    let ahead = KnownFrom::Ahead(tradewind_model::Span(NOTICE_S));
    let kinds =
        [("local", Cause::Local, KnownFrom::Always), ("maintenance", Cause::Maintenance, ahead)];
    for (key, cause, known) in kinds {
        for (i, item) in fields.list(key, notes).unwrap_or_default().iter().enumerate() {
            let path = format!("{}[{i}]", fields.place(key));
            let among = Among { targets, site: Some(site) };
            into.extend(outages::planned(item, path, among, (cause, known), notes));
        }
    }
}
