//! What records of peers change.

use tradewind_model::{Event, Money, Time};
use tradewind_sched::negotiation::{Entry, Handing, Offer, Peer, Serial};

use crate::live::state::ApplyError;
use crate::live::state::jobs::{Away, RemoteOrigin, RemoteProgress, Settlement, Stage};
use crate::live::state::ledger::money::{Account, Motive};
use crate::live::state::ledger::used::Used;
use crate::live::state::peers::{PeerEntry, PeerVerdict};
use crate::live::state::record::PeerRecord;
use crate::live::state::{Happening, JobHold, State};

impl State {
    pub(super) fn apply_to_peers(&mut self, record: &PeerRecord) -> Result<(), ApplyError> {
        match record {
            PeerRecord::Peered { peer, known } => self.peered(*peer, known),
            PeerRecord::Negotiated { entry, guest } => {
                match entry {
                    Entry::Handing { transfer, handing } => self.hand(*transfer, handing)?,
                    Entry::Gave(transfer) => self.gave(*transfer)?,
                    Entry::Kept(transfer) => self.kept(*transfer)?,
                    Entry::Took { from, transfer, parcel, offer } => {
                        let (number, array) = guest
                            .ok_or(ApplyError::Other("a job came in without its number here"))?;
                        let origin = RemoteOrigin {
                            peer: *from,
                            name: self.peers.name_of(*from)?,
                            job: u64::from(parcel.ticket.job.0),
                            transfer: *transfer,
                            array,
                            offer: *offer,
                            submitted: Some(parcel.submitted),
                        };
                        self.take(number, origin)?;
                    }
                    Entry::Restarted
                    | Entry::Joined(_)
                    | Entry::Over(_)
                    | Entry::Returned { .. }
                    | Entry::Settled { .. } => {}
                }
                self.peers.durable.apply(entry);
                Ok(())
            }
            PeerRecord::Heard { job, news } => self.heard(*job, news),
            PeerRecord::CameBack { job, why, hold } => self.came_back(*job, why, hold),
            PeerRecord::Judged { job, verdict } => self.judged(*job, *verdict),
            PeerRecord::Recalled { job } => {
                let at = self.now();
                self.away(*job)?.0.recalled = Some(at);
                Ok(())
            }
            PeerRecord::SettledByHand { job, by, outcome } => {
                let (away, _) = self.away(*job)?;
                if *outcome == Settlement::Ran {
                    away.doubtful = None;
                }
                self.note(*job, Happening::SettledByHand(*outcome, by.clone()))
            }
        }
    }

    /// What the job came to counts for its peer's standing.
    fn judged(&mut self, number: u64, verdict: PeerVerdict) -> Result<(), ApplyError> {
        let at = self.now();
        let (away, _) = self.away(number)?;
        let (peer, name) = (away.peer, away.name.clone());
        if let PeerVerdict::Broken(why) = verdict {
            away.doubtful = Some(why);
        }
        let known = self.peers.directory.get_mut(&peer);
        let known = known.ok_or(ApplyError::Other("a peer that is not known"))?;
        known.standing.get_or_insert_default().judge(at, verdict);
        if let Some(checks) = known.checks.as_mut().filter(|checks| checks.job == number) {
            match verdict {
                PeerVerdict::Kept => checks.right += 1,
                PeerVerdict::Broken(_) => checks.wrong += 1,
            }
        }
        match verdict {
            PeerVerdict::Kept => Ok(()),
            PeerVerdict::Broken(why) => self.note(number, Happening::Doubted(name, why)),
        }
    }

    fn peered(&mut self, peer: Peer, known: &PeerEntry) -> Result<(), ApplyError> {
        let last = self.peers.directory.keys().next_back().map_or(0, |peer| peer.0);
        let named = self.peers.number_of(&known.name);
        if named != Some(peer) && (named.is_some() || peer.0 != last + 1) {
            return Err(ApplyError::Other("a peer's number is not the next one"));
        }
        self.peers.directory.insert(peer, known.clone());
        Ok(())
    }

    /// The job is in doubt: out of the queue, and what it may cost there is held.
    fn hand(&mut self, transfer: Serial, handing: &Handing) -> Result<(), ApplyError> {
        let number = u64::from(handing.parcel.ticket.job.0);
        self.end_wait(number);
        let name = self.peers.name_of(handing.to)?;
        let at = self.now();
        let job = self.job(number)?;
        match &job.stage {
            Stage::Waiting(id) => {
                let id = *id;
                self.market.apply(&Event::Cancelled { job: id })?;
                self.jobs.numbers.remove(&id);
            }
            Stage::Held(JobHold::Nowhere) => {}
            _ => return Err(ApplyError::Job(number)),
        }
        let (peer, Offer { quote, .. }) = (handing.to, handing.offer);
        let away = Away {
            peer,
            name: name.clone(),
            transfer,
            offer: handing.offer,
            news: None,
            recalled: None,
            doubtful: None,
        };
        let job = self.job(number)?;
        job.stage = Stage::Handing(away);
        let payer = job.payer();
        self.ledger.accounts.post(
            at,
            payer,
            Account::Held(number),
            quote.cost,
            Motive::Hold(number),
        );
        self.note(number, Happening::Handing(name))
    }

    /// The job that is in doubt by this hand-over leaves that stage for the one that `then` makes.
    fn settle_doubt(
        &mut self,
        transfer: Serial,
        then: impl FnOnce(Away) -> Stage,
    ) -> Result<(u64, String), ApplyError> {
        let handing = self.peers.durable.handing.get(&transfer);
        let handing = handing.ok_or(ApplyError::Other("a hand-over that is not known"))?;
        let number = u64::from(handing.parcel.ticket.job.0);
        let job = self.job(number)?;
        let Stage::Handing(away) = &job.stage else { return Err(ApplyError::Job(number)) };
        let (away, name) = (away.clone(), away.name.clone());
        job.stage = then(away);
        Ok((number, name))
    }

    fn gave(&mut self, transfer: Serial) -> Result<(), ApplyError> {
        let (number, name) = self.settle_doubt(transfer, |away| Stage::Away(away, None))?;
        self.note(number, Happening::HandedOver(name))
    }

    fn kept(&mut self, transfer: Serial) -> Result<(), ApplyError> {
        let (number, name) = self.settle_doubt(transfer, |_| Stage::Held(JobHold::Nowhere))?;
        self.refund(number)?;
        self.note(number, Happening::CameBack(format!("{name} did not take it")))
    }

    fn take(&mut self, number: u64, origin: RemoteOrigin) -> Result<(), ApplyError> {
        self.peers.taken.insert((origin.peer, origin.transfer), number);
        let name = origin.name.clone();
        self.job(number)?.origin = Some(origin);
        self.note(number, Happening::TakenIn(name))
    }

    fn away(&mut self, number: u64) -> Result<(&mut Away, &mut Option<Time>), ApplyError> {
        match &mut self.job(number)?.stage {
            Stage::Away(away, since) => Ok((away, since)),
            _ => Err(ApplyError::Job(number)),
        }
    }

    fn heard(&mut self, number: u64, news: &RemoteProgress) -> Result<(), ApplyError> {
        let (away, since) = self.away(number)?;
        let begins = news.since.is_some() && away.news.as_ref().is_none_or(|it| it.since.is_none());
        away.news = Some(news.clone());
        if begins {
            *since = news.since;
            self.note(number, Happening::Began)?;
        }
        Ok(())
    }

    fn came_back(&mut self, number: u64, why: &str, hold: &JobHold) -> Result<(), ApplyError> {
        self.away(number)?;
        self.refund(number)?;
        let job = self.job(number)?;
        job.stage = Stage::Held(hold.clone());
        job.attempt += 1;
        self.note(number, Happening::CameBack(why.to_owned()))
    }

    /// What the peer was paid goes to its account here, but no more than was agreed; nothing if it
    /// is not believed.
    pub(super) fn pay_peer(&mut self, number: u64) -> Result<(), ApplyError> {
        let (away, _) = self.away(number)?;
        let believed = away.news.as_ref().filter(|_| away.doubtful.is_none());
        let charged = believed.map_or(Money::ZERO, |news| news.charged);
        let amount = charged.clamp(Money::ZERO, away.offer.quote.cost);
        let account = Account::Peer(away.name.clone());
        self.charge(number, account, Used::NOTHING_HERE, amount)
    }
}
