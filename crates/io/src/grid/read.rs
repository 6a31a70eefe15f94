//! A document's tree becomes a grid, or the list of all its mistakes.

use std::collections::BTreeMap;

use tradewind_model::{Admission, Cause, Performance, Pool, Pools, Site, SiteId};

use super::{GridFile, laws};
use crate::diagnostics::{Diagnostics, excerpt};
use crate::fields::{Fields, Notes, PERFORMANCE};
use crate::input::Input;
use crate::outages::{self, Known, Planned, Target};
use crate::scenario::{Names, attributes};
use crate::value;

const KEYS: [&str; 3] = ["title", "site", "outage"];
const SITE_KEYS: [&str; 7] = ["name", "log", "pool", "local", "maintenance", "failures", "load"];
const POOL_KEYS: [&str; 5] = ["name", "nodes", "performance", "price", "attributes"];

/// How long ahead maintenance is announced if nothing else is said: a week.
const NOTICE_S: i64 = 7 * 86_400;

pub(super) fn parse(input: &Input) -> Result<(GridFile, Diagnostics), Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let grid = Fields::of(&document, String::new(), &KEYS, &mut notes)
        .and_then(|fields| grid(&fields, &mut notes));
    notes.diagnostics.finish(grid)
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    sites: Vec<Site>,
    pools: Vec<Pool>,
    logs: Vec<(String, SiteId)>,
    site_names: Names,
    pool_names: Names,
    /// By log: the line that names it.
    log_lines: BTreeMap<String, u32>,
}

fn grid(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<GridFile> {
    fields.require(&["site"], notes);
    let title = fields.text("title", notes).map(str::to_owned);
    let items = fields.list("site", notes).unwrap_or_default();
    if items.is_empty() && fields.get("site").is_some() {
        let (line, place) = (fields.line_of("site"), fields.place("site"));
        notes.error(line, &place, "there are no sites".to_owned(), "list at least one");
    }
    let mut reader = Reader::default();
    let mut sites = Vec::new();
    for (i, item) in items.iter().enumerate() {
        if let Some(site) = Fields::of(item, format!("site[{i}]"), &SITE_KEYS, notes) {
            reader.site(&site, notes);
            sites.push(site);
        }
    }
    let mut file = (Vec::new(), Vec::new(), Vec::new());
    for (i, site) in sites.iter().enumerate() {
        let id = SiteId(i as u32);
        planned(site, &reader.pools, id, &mut file.0, notes);
        let failures = site.get("failures");
        let failures = failures.and_then(|it| laws::failures(it, site.place("failures"), notes));
        file.1.extend(failures.map(|it| (id, it)));
        let load = site.get("load").and_then(|it| laws::load(it, site.place("load"), notes));
        file.2.extend(load.map(|it| (id, it)));
    }
    file.0.extend(outages::listed(fields, "outage", &reader.pools, notes));
    if notes.diagnostics.errors() > 0 {
        return None;
    }
    let pools = Pools::new(reader.sites, reader.pools)
        .map_err(|err| notes.error(1, "site", err.to_string(), "see `docs/grid.md`"))
        .ok()?;
    let (planned, failures, loads) = file;
    Some(GridFile { title, pools, planned, failures, loads, logs: reader.logs })
}

impl Reader {
    fn site(&mut self, fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
        fields.require(&["name", "pool"], notes);
        let id = SiteId(self.sites.len() as u32);
        let name = self.site_names.take(fields, "site", notes).unwrap_or_default();
        let items = fields.list("pool", notes).unwrap_or_default();
        if items.is_empty() && fields.get("pool").is_some() {
            let (line, place) = (fields.line_of("pool"), fields.place("pool"));
            let hint = "a site has at least one pool of nodes";
            notes.error(line, &place, "there are no pools".to_owned(), hint);
        }
        for (i, item) in items.iter().enumerate() {
            let path = format!("{}[{i}]", fields.place("pool"));
            if let Some(pool) = Fields::of(item, path, &POOL_KEYS, notes) {
                self.pool(&pool, id, notes);
            }
        }
        self.sites.push(Site { name });
        self.log(fields, id, notes);
    }

    fn pool(&mut self, fields: &Fields<'_, '_>, site: SiteId, notes: &mut Notes<'_>) {
        fields.require(&["name", "nodes"], notes);
        let name = self.pool_names.take(fields, "pool", notes);
        let nodes = fields.whole("nodes", 1..=i64::from(Pools::MAX_NODES), notes);
        let performance = fields.performance("performance", &PERFORMANCE, notes);
        self.pools.push(Pool {
            name: name.unwrap_or_default(),
            site,
            nodes: nodes.and_then(|nodes| u32::try_from(nodes).ok()).unwrap_or(1),
            performance: performance.unwrap_or(Performance::REFERENCE),
            price: fields.price("price", notes).unwrap_or_default(),
            attributes: attributes(fields, notes),
            admission: Admission::NONE,
        });
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
    pools: &[Pool],
    site: SiteId,
    into: &mut Vec<Planned>,
    notes: &mut Notes<'_>,
) {
    let ahead = Known::Ahead(tradewind_model::Span(NOTICE_S));
    let kinds =
        [("local", Cause::Local, Known::Always), ("maintenance", Cause::Maintenance, ahead)];
    for (key, cause, known) in kinds {
        for (i, item) in fields.list(key, notes).unwrap_or_default().iter().enumerate() {
            let path = format!("{}[{i}]", fields.place(key));
            let target = Target { pools, site: Some(site) };
            into.extend(outages::planned(item, path, &target, (cause, known), notes));
        }
    }
}
