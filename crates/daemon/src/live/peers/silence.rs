//! Peers that do not answer, and peers that are not in the configuration any more.

use tradewind_model::{Span, Time};
use tradewind_sched::negotiation::Peer;

use crate::live::record::PeerRecord;
use crate::live::state::peers::PeerEntry;
use crate::live::state::{Job, Phase, State};
use crate::live::{ApplyError, Live};

/// A peer that has not answered for so long does not answer: messages may be lost.
const SILENT_AFTER: Span = Span(10);

/// Why nothing is known of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerSilence {
    /// The peer does not answer, since this moment.
    Silent(Time),
    /// The peer is not in the configuration any more, since this moment.
    Removed(Time),
}

impl PeerSilence {
    /// Since when.
    pub fn since(self) -> Time {
        match self {
            PeerSilence::Silent(since) | PeerSilence::Removed(since) => since,
        }
    }
}

impl State {
    /// Why nothing is known of the job, which is at a peer or on its way there; `None` if the peer
    /// answers, as far as is known.
    pub fn silence_of(&self, job: &Job) -> Option<PeerSilence> {
        if !matches!(job.phase(), Phase::Away | Phase::Handing) {
            return None;
        }
        let known = self.peers.directory.get(&job.away()?.peer)?;
        let removed = known.removed.map(PeerSilence::Removed);
        removed.or(known.silent.map(PeerSilence::Silent))
    }

    /// Whether it is not known at all how the job is: nothing is known of it, and it should be over
    /// by now; or nothing will be known of it.
    pub fn is_unknown_at_peer(&self, job: &Job, now: Time) -> bool {
        match self.silence_of(job) {
            None => false,
            Some(PeerSilence::Removed(_)) => true,
            Some(PeerSilence::Silent(_)) => self.due_from_peer(job).is_some_and(|due| now > due),
        }
    }
}

impl Live {
    /// A peer has begun to answer, or has stopped.
    pub(in crate::live) fn note_contact(
        &mut self,
        at: Time,
        peer: Peer,
        there: bool,
    ) -> Result<(), ApplyError> {
        self.contacts.insert(peer, (there, at));
        match there {
            true => self.change_peer(at, peer, |known| known.silent = None),
            false => Ok(()),
        }
    }

    /// Writes down which peers have not answered for a while.
    pub(in crate::live) fn mind_silence(&mut self, at: Time) -> Result<(), ApplyError> {
        let late = |since: Time| at - since >= SILENT_AFTER;
        let silent = self.contacts.iter().filter(|(_, (there, since))| !there && late(*since));
        let silent: Vec<(Peer, Time)> = silent.map(|(peer, (_, since))| (*peer, *since)).collect();
        for (peer, since) in silent {
            self.change_peer(at, peer, |known| known.silent = known.silent.or(Some(since)))?;
        }
        Ok(())
    }

    /// Writes down which peers are not in the configuration any more.
    pub(super) fn mind_removed(&mut self, at: Time) -> Result<(), ApplyError> {
        let all: Vec<(Peer, bool)> = self
            .state
            .peers
            .directory
            .iter()
            .map(|(peer, known)| (*peer, self.settings.peers.contains(&known.name)))
            .collect();
        for (peer, is_configured) in all {
            self.change_peer(at, peer, |known| {
                known.removed = match is_configured {
                    true => None,
                    false => known.removed.or(Some(at)),
                };
            })?;
        }
        Ok(())
    }

    /// Changes what is known of a peer, if that changes anything.
    pub(super) fn change_peer(
        &mut self,
        at: Time,
        peer: Peer,
        change: impl FnOnce(&mut PeerEntry),
    ) -> Result<(), ApplyError> {
        let Some(before) = self.state.peers.directory.get(&peer) else { return Ok(()) };
        let mut known = before.clone();
        change(&mut known);
        match known == *before {
            true => Ok(()),
            false => self.put(at, PeerRecord::Peered { peer, known }),
        }
    }
}
