//! Orders between a daemon and a site: admitted by what the site knows of terms, then carried out, and
//! the daemon may be frozen, killed or succeeded in between.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use tradewind_daemon::live::{Act, Input, Instruction};
use tradewind_daemon::site::fake::FakeSite;
use tradewind_daemon::site::{Seen, SiteError, Survey, Tag};
use tradewind_model::Time;

use super::Mutant;
use super::world::World;

/// An order that a daemon is about to give.
pub(super) struct Hand {
    pub(super) site: usize,
    pub(super) order: Instruction,
    /// No later term was at the site when it looked.
    pub(super) is_admitted: bool,
}

/// An order that was admitted and is carried out whenever it may be, without its daemon.
pub(super) struct Stray {
    site: usize,
    order: Instruction,
    term: u64,
}

impl Stray {
    pub(super) fn of(hand: Hand, term: u64) -> Stray {
        Stray { site: hand.site, order: hand.order, term }
    }
}

/// Which kind of adapter a site has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// What a term is making is in a folder of its own, which the next one takes away.
    Local,
    /// The script of a task that was submitted in an earlier term runs nothing unless the task was listed
    /// when the next term began.
    Cluster,
}

/// What a site knows of terms.
pub(super) struct Place {
    kind: PlaceKind,
    /// The newest term that it has seen.
    pub(super) newest: u64,
    /// The newest term that has listed its tasks, and those of earlier ones that may still begin.
    kept: (u64, BTreeSet<Tag>),
    pub(super) forgotten: BTreeMap<Tag, Time>,
}

impl Place {
    pub(super) fn new(kind: PlaceKind) -> Place {
        Place { kind, newest: 0, kept: Default::default(), forgotten: BTreeMap::new() }
    }

    /// The site was surveyed in this term.
    pub(super) fn keep(&mut self, term: u64, survey: Option<&Survey>) {
        let Some(survey) = survey.filter(|_| self.kept.0 < term) else { return };
        let lives = survey.tasks.iter().filter(|(_, seen)| !matches!(seen, Seen::Ended { .. }));
        self.kept = (term, lives.map(|(tag, _)| tag.clone()).collect());
    }

    /// Whether the newest term has listed its tasks: before that, nothing of them is cleared away.
    pub(super) fn has_listed(&self) -> bool {
        self.kept.0 >= self.newest
    }

    /// Carries out an order that was admitted in its term.
    fn carry_out(
        &mut self,
        site: &mut FakeSite,
        (order, term): (&Instruction, u64),
        mutant: Option<Mutant>,
    ) -> Result<(), SiteError> {
        let knows_none = mutant == Some(Mutant::OrderWithoutEpoch);
        let is_late = self.newest > term && !knows_none;
        let tag = &order.tag;
        match (order.act, self.kind) {
            (Act::Submit, PlaceKind::Local) if is_late => {
                if mutant != Some(Mutant::DraftsOfNoTerm) {
                    return Err(SiteError::Unknown("no such folder".to_owned()));
                }
                // Whether the task is gone was looked at before.
                site.sweep(tag);
            }
            (Act::Forget, PlaceKind::Local) if is_late => {
                return Err(SiteError::Unknown("no such folder".to_owned()));
            }
            (Act::Submit, PlaceKind::Cluster) if is_late => {
                let is_refused = self.kept.0 > term && !self.kept.1.contains(tag);
                if is_refused && mutant != Some(Mutant::NothingKept) {
                    // The manager takes it, and its script runs nothing.
                    return Ok(());
                }
            }
            _ => {}
        }
        let answer = order.carry_out(site);
        if order.act == Act::Forget && answer.is_ok() {
            self.kept.1.remove(tag);
        }
        answer
    }
}

impl World {
    /// The order in a daemon's hand: its site admits it, or carries out what it has admitted.
    pub(super) fn give(&mut self, which: usize) {
        let daemon = &mut self.daemons[which];
        let Some(owned) = daemon.owned.as_mut() else { return };
        let Some(mut hand) = owned.hand.take() else { return };
        let (site, term) = (hand.site, owned.session.term);
        let place = &mut self.places[site];
        let answer = if hand.is_admitted {
            self.counts.late_orders += u64::from(place.newest > term);
            place.carry_out(&mut self.sites[site], (&hand.order, term), self.mutant)
        } else {
            let is_stale = place.newest > term && self.mutant != Some(Mutant::OrderWithoutEpoch);
            self.counts.stale_orders += u64::from(is_stale);
            if daemon.lacks[site] || is_stale {
                Err(SiteError::Away("it is refused, or not reached".to_owned()))
            } else if hand.order.act == Act::Submit && owned.gone.contains(&hand.order.tag) {
                Ok(())
            } else {
                place.newest = place.newest.max(term);
                hand.is_admitted = true;
                owned.hand = Some(hand);
                return;
            }
        };
        let (tag, act) = (hand.order.tag, hand.order.act);
        let is_over = act != Act::Submit && answer.is_ok() && self.sites[site].is_gone(&tag);
        if is_over && self.database.note_gone(term, &tag) {
            owned.gone.insert(tag.clone());
            place.forgotten.entry(tag.clone()).or_insert(self.now);
        }
        owned.inbox.push_back(Input::Answered { tag, act, answer });
    }

    /// The same until its hand is empty.
    pub(super) fn give_whole(&mut self, which: usize) {
        self.give(which);
        self.give(which);
    }

    /// A daemon dies. What it has begun at a cluster goes on there.
    pub(super) fn kill(&mut self, which: usize) {
        self.daemons[which].standby.leave(None);
        let Some(owned) = self.daemons[which].owned.take() else { return };
        let begun =
            |hand: &Hand| hand.is_admitted && self.places[hand.site].kind == PlaceKind::Cluster;
        let stray = owned.hand.filter(begun).map(|hand| Stray::of(hand, owned.session.term));
        self.strays.extend(stray);
    }

    /// Some of the orders whose daemons do not wait for them are carried out.
    pub(super) fn land(&mut self) {
        for stray in std::mem::take(&mut self.strays) {
            if self.rng.random_range(0..4) > 0 {
                self.strays.push(stray);
                continue;
            }
            let Stray { site, order, term } = stray;
            let place = &mut self.places[site];
            self.counts.late_orders += u64::from(place.newest > term);
            // The answer is lost.
            let _ = place.carry_out(&mut self.sites[site], (&order, term), self.mutant);
        }
    }
}
