//! The sites of a scenario, as far as it says more of them than a name.

use std::collections::BTreeMap;

use tradewind_model::{Grid, Power, SitePower};

use super::nodes::NameLines;
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::power::{self, Watts};
use crate::series::{self, Rate};

const KEYS: [&str; 5] = ["name", "watts", "carbon", "energy_price", "price"];

/// What the list `sites` says, by name.
#[derive(Default)]
pub(super) struct ScenarioSites {
    sites: BTreeMap<String, ListedSite>,
    /// Whether anything is said of electricity at all.
    used: bool,
}

struct ListedSite {
    watts: Option<Watts>,
    power: SitePower,
    rate: Option<Rate>,
    line: u32,
}

impl ScenarioSites {
    pub(super) fn read(
        fields: &Fields<'_, '_>,
        document: &str,
        notes: &mut Notes<'_>,
    ) -> ScenarioSites {
        let mut all = ScenarioSites::default();
        let mut names = NameLines::default();
        for (i, item) in fields.list("sites", notes).unwrap_or_default().iter().enumerate() {
            let path = format!("sites[{i}]");
            let Some(site) = Fields::of(item, path, &KEYS, notes) else { continue };
            site.require(&["name"], notes);
            let name = names.take(&site, "site", notes);
            let watts = Watts::read(&site, notes);
            let power = power::site(&site, document, notes);
            let rate = series::rate(&site, "price", document, notes);
            all.used |= watts.is_some() || power.is_some();
            let (power, line) = (power.unwrap_or_default(), site.line);
            all.sites.extend(name.map(|name| (name, ListedSite { watts, power, rate, line })));
        }
        all
    }

    /// What nodes of the site consume that do not say it themselves.
    pub(super) fn watts(&self, site: &str) -> Option<Watts> {
        self.sites.get(site).and_then(|site| site.watts)
    }

    /// What nodes of the site cost that do not say it themselves.
    pub(super) fn rate(&self, site: &str) -> Option<Rate> {
        self.sites.get(site).and_then(|site| site.rate.clone())
    }

    /// Electricity matters: a node says what it consumes.
    pub(super) fn mark(&mut self) {
        self.used = true;
    }

    /// Notes sites that no node belongs to.
    pub(super) fn check<'a>(&self, known: impl Iterator<Item = &'a str>, notes: &mut Notes<'_>) {
        let known: Vec<&str> = known.collect();
        for (name, site) in self.sites.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            let message = format!("no node belongs to the site `{}`", excerpt(name));
            notes.error(site.line, "sites", message, &did_you_mean(name, &known));
        }
    }

    /// The electricity of a grid's sites, if anything is said of it.
    pub(super) fn into_power(mut self, grid: &Grid) -> Option<Power> {
        let mut of_site = |name: &str| self.sites.remove(name).map(|it| it.power);
        let sites = grid.sites().iter().map(|it| of_site(&it.name).unwrap_or_default()).collect();
        self.used.then_some(Power { sites })
    }
}
