//! The two local sites of a market whose configuration names no site, and how many slots they have.
//!
//! A new market has as many slots as this machine has processors. Their numbers are noted in the folder
//! of the market, so that they stay when it is restored elsewhere or the machine changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tradewind_io::settings::cluster::Members;
use tradewind_io::settings::schedule::Schedule;
use tradewind_io::settings::{Pool, Settings, Site, SiteKind};
use tradewind_model::{Attributes, Performance, Price, SitePower, Times};

use crate::exit::Failure;

/// The file of the note, in the folder of the market.
pub(crate) const NOTE: &str = "default-sites.json";
/// The most slots of a site.
const MOST: u32 = 65_536;

/// Slots of the default sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefaultSlots {
    alpha: u32,
    beta: u32,
    /// The sites are called `local-alpha` and `local-beta`, since an observed cluster is called like one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    local: bool,
}

impl DefaultSlots {
    /// Those of the demo, of markets without a note (earlier releases began them), and of several daemons
    /// of one market, which may run on different machines.
    pub(crate) const FIXED: DefaultSlots = DefaultSlots { alpha: 4, beta: 2, local: false };

    /// One for each of so many processors: a third of them are cheaper. Each site has one at least.
    fn of(processors: usize) -> DefaultSlots {
        let all = u32::try_from(processors).unwrap_or(MOST).min(MOST);
        let beta = (all / 3).max(1);
        DefaultSlots { alpha: all.saturating_sub(beta).max(1), beta, local: false }
    }

    /// Those of this machine: processors that this process may use.
    fn of_machine() -> DefaultSlots {
        DefaultSlots::of(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
    }

    /// Those that are noted in the folder of the market; `None`: there is no note.
    ///
    /// # Errors
    /// If the note cannot be read.
    pub(crate) fn noted(folder: &Path) -> Result<Option<DefaultSlots>, Failure> {
        let path = folder.join(NOTE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(wrong) if wrong.kind() == ErrorKind::NotFound => return Ok(None),
            Err(wrong) => return Err(unreadable(&path, &wrong.to_string())),
        };
        let slots: DefaultSlots =
            serde_json::from_str(&text).map_err(|wrong| unreadable(&path, &wrong.to_string()))?;
        match [slots.alpha, slots.beta].iter().all(|it| (1..=MOST).contains(it)) {
            true => Ok(Some(slots)),
            false => Err(unreadable(&path, &format!("expected 1 to {MOST} slots"))),
        }
    }

    /// The same in a market that begins and observes these clusters: none has the name of a site.
    pub(crate) fn beside(self, observed: &[Site]) -> DefaultSlots {
        let local = self.sites().iter().any(|own| observed.iter().any(|it| it.name == own.name));
        DefaultSlots { local: self.local || local, ..self }
    }

    /// For a market that begins in the folder and observes these clusters: as noted, or those of this
    /// machine, which are noted.
    ///
    /// # Errors
    /// If the note cannot be read or written.
    pub(crate) fn begin(
        folder: &Path,
        observed: &[Site],
        write: impl FnOnce(&Path, &str) -> Result<(), Failure>,
    ) -> Result<DefaultSlots, Failure> {
        if let Some(slots) = DefaultSlots::noted(folder)? {
            return Ok(slots);
        }
        let slots = DefaultSlots::of_machine().beside(observed);
        write(&folder.join(NOTE), &slots.text())?;
        Ok(slots)
    }

    fn text(self) -> String {
        let local = if self.local { ", \"local\": true" } else { "" };
        format!("{{\"alpha\": {}, \"beta\": {}{local}}}\n", self.alpha, self.beta)
    }

    /// The sites.
    pub(crate) fn sites(self) -> Vec<Site> {
        let first = if self.local { "local-" } else { "" };
        vec![
            local_site(format!("{first}alpha"), ("main", self.alpha), Price(2_000)),
            local_site(format!("{first}beta"), ("spare", self.beta), Price(1_000)),
        ]
    }

    /// The settings with these sites, if they have none.
    pub(crate) fn complete(self, settings: &mut Settings) {
        if settings.sites.is_empty() {
            settings.sites = self.sites();
        }
    }
}

fn unreadable(path: &Path, why: &str) -> Failure {
    let message = format!("failed to read `{}`: {why}", path.display());
    let hint = "write the slots of both sites, as `{\"alpha\": 4, \"beta\": 2}`; or name sites with \
                `[[site]]` in a configuration";
    Failure::usage(message).hint(hint)
}

fn local_site(name: String, (pool, nodes): (&str, u32), price: Price) -> Site {
    let pool = Pool {
        name: pool.to_owned(),
        nodes,
        performance: Performance::REFERENCE,
        attributes: Attributes::new(),
        members: Members::default(),
        price,
        prices: Schedule::default(),
        offers: Schedule::default(),
    };
    let times = Times::Wall;
    let kind = SiteKind::Local(Box::default());
    let (survey_timeout, power) = (None, SitePower::default());
    let (owner, policy, feeds, pools) = (None, None, BTreeMap::new(), vec![pool]);
    let preemption = None;
    Site { name, kind, owner, times, survey_timeout, policy, power, feeds, preemption, pools }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) -> Result<(), Failure> {
        fs::write(path, text).map_err(|wrong| Failure::usage(wrong.to_string()))
    }

    #[test]
    fn a_machine_has_a_slot_for_each_processor() {
        for (processors, alpha, beta) in
            [(1, 1, 1), (2, 1, 1), (3, 2, 1), (6, 4, 2), (64, 43, 21), (1 << 20, 43_691, 21_845)]
        {
            assert_eq!(DefaultSlots::of(processors), DefaultSlots { alpha, beta, local: false });
        }
    }

    #[test]
    fn what_is_noted_stays() {
        let folder = tempfile::tempdir().unwrap();
        let begun = DefaultSlots::begin(folder.path(), &[], write).unwrap();
        assert_eq!(begun, DefaultSlots::of_machine());
        assert_eq!(DefaultSlots::noted(folder.path()).unwrap(), Some(begun));
        write(&folder.path().join(NOTE), "{\"alpha\": 7, \"beta\": 9}").unwrap();
        let noted = DefaultSlots { alpha: 7, beta: 9, local: false };
        assert_eq!(DefaultSlots::begin(folder.path(), &[], write).unwrap(), noted);
        let nodes: Vec<u32> = noted.sites().iter().map(|site| site.pools[0].nodes).collect();
        assert_eq!(nodes, [7, 9]);
    }

    #[test]
    fn no_site_of_a_new_market_has_the_name_of_an_observed_cluster() {
        let cluster = |name: &str| local_site(name.to_owned(), ("main", 1), Price(0));
        let names = |folder: &Path, observed: &[&str]| {
            let observed: Vec<Site> = observed.iter().copied().map(cluster).collect();
            let slots = DefaultSlots::begin(folder, &observed, write).unwrap();
            slots.sites().into_iter().map(|site| site.name).collect::<Vec<_>>()
        };
        for (observed, expected) in
            [(&["gamma"], ["alpha", "beta"]), (&["beta"], ["local-alpha", "local-beta"])]
        {
            let folder = tempfile::tempdir().unwrap();
            assert_eq!(names(folder.path(), observed), expected);
            // They are in its journal: whatever is observed later, they stay.
            assert_eq!(names(folder.path(), &["alpha"]), expected);
            assert_eq!(names(folder.path(), &[]), expected);
        }
    }

    #[test]
    fn a_note_that_makes_no_sense_is_refused_with_what_to_write() {
        for text in ["", "4 2", "{\"alpha\": 0, \"beta\": 2}", "{\"alpha\": 4}", "{\"alpha\": -1}"]
        {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join(NOTE), text).unwrap();
            let failure = DefaultSlots::begin(folder.path(), &[], write).unwrap_err();
            assert!(failure.problems[0].message.contains(NOTE), "{text}");
        }
    }
}
