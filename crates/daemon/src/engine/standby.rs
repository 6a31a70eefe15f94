//! Several daemons, one market: one owns it, the others follow its journal and can take over.
//!
//! The engine's thread has one of two roles: it owns the market ([`Loop`]) until that is given up or
//! lost, or it follows the rows of the one that does ([`Follower`]), answers looks meanwhile, and
//! refuses requests. The way to it and its subscribers stay the same throughout. Who owns the
//! market is decided elsewhere, behind [`Followed`]; each term of ownership has a [`Lease`], and
//! sites that are opened for it: nothing of an earlier term can act in a later one.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use tradewind_model::Pools;

use super::follow::Follower;
use super::handle::{Handle, Message};
use super::lease::Lease;
use super::run::{AGAIN, Loop};
use super::sites;
use super::start::{EngineSetup, OpenStore, Partners, Readers, Timing, assemble, journal};
use crate::codec::Codec;
use crate::live::{Make, Refusal, RefusalKind, RuleChange, Settings};
use crate::store::{Store, StoreError};

/// How often a standby looks at the journal.
const POLL: Duration = Duration::from_millis(100);
/// Messages that a standby answers between two looks.
const AT_ONCE: usize = 256;
/// A daemon that has given the market up takes it back if no other wants it within this time.
const LEFT: Duration = Duration::from_secs(5);
/// How long orders that are under way may take at a handover.
const LAST_ORDERS: Duration = Duration::from_secs(5);

/// What a daemon is to its market.
#[derive(Debug, Clone)]
pub enum MarketRole {
    /// It decides, writes and gives orders.
    Owner {
        /// The epoch with which it writes; 0: its journal has none.
        epoch: u64,
    },
    /// It follows what the owner writes.
    Standby(StandbyStatus),
}

impl Default for MarketRole {
    fn default() -> MarketRole {
        MarketRole::Owner { epoch: 0 }
    }
}

impl MarketRole {
    pub(super) fn standby() -> MarketRole {
        MarketRole::Standby(StandbyStatus::default())
    }
}

/// How a standby stands.
#[derive(Debug, Clone, Default)]
pub struct StandbyStatus {
    /// Where the owner can be reached; `None`: there is none now, or it has not said.
    pub owner: Option<String>,
    /// Rows of the journal that are not in its state yet.
    pub rows_behind: u64,
    /// When its state was last that of the journal's last row.
    pub as_of: Option<Instant>,
}

/// What keeps a lease; dropping it lets the lease run out.
pub trait LeaseHold: Send {
    /// Gives the lease up, so that another daemon can have it at once.
    fn release(self: Box<Self>);
}

/// A term of ownership.
pub struct Term {
    /// Opens the journal; again, if it could not be written.
    pub open: OpenStore,
    /// The epoch that its orders carry; 0: the journal has none.
    pub epoch: u64,
    /// How long orders may leave.
    pub lease: Arc<Lease>,
    /// Renews the lease; `None`: it is endless.
    pub hold: Option<Box<dyn LeaseHold>>,
    /// When it takes up rules of counting that the journal does not have yet.
    pub rules: RuleChange,
}

impl Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// Who owns a market, and how far its journal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerLook {
    /// The journal's last row.
    pub last: u64,
    /// Whether this daemon can own it now: the lease has run out, or was given up.
    pub is_free: bool,
    /// Where the owner can be reached, if it has said.
    pub url: Option<String>,
}

/// A journal that several daemons follow, and one of them owns.
pub trait Followed: Send {
    /// Who owns it now.
    ///
    /// # Errors
    /// If it cannot be reached; it may be asked again.
    fn look(&mut self) -> Result<OwnerLook, StoreError>;

    /// Lets others see that this standby's last row is `seq`. Nothing depends on it.
    fn say(&mut self, _seq: u64) {}

    /// Opens the journal for reading.
    ///
    /// # Errors
    /// If it cannot be reached.
    fn read(&mut self) -> Result<Box<dyn Store>, StoreError>;

    /// Takes the market if it is free; `None`: it is another's.
    ///
    /// # Errors
    /// If the journal cannot be reached, or not be written.
    fn take(&mut self) -> Result<Option<Term>, StoreError>;
}

/// Opens sites and peers for a term of ownership with this epoch.
pub type OpenPartners = Box<dyn FnMut(u64) -> Result<Partners, String> + Send>;

/// A market that several daemons may own in turn.
pub struct SharedSetup<C> {
    /// How the journal is written.
    pub codec: C,
    /// Sites and pools; those that the journal knows, in their places, first.
    pub pools: Arc<Pools>,
    /// By site, the name of its owner.
    pub owners: Vec<String>,
    /// Builds policies from their names.
    pub maker: Arc<dyn Make>,
    /// Which one, unless the journal knows another that was chosen while the market ran.
    pub policy: String,
    /// What is allowed.
    pub settings: Settings,
    /// How often what is done.
    pub timing: Timing,
    /// Opens the sites, in the order of the pools' sites, and the peers.
    pub sites: OpenPartners,
    /// Learns of each change of role.
    pub changed: Box<dyn Fn(&MarketRole) + Send>,
}

/// How a term of ownership ended.
pub(super) enum TermEnd {
    /// The daemon stops.
    Stopped,
    /// As these asked.
    HandedOver(Vec<Leaver>),
    /// Another daemon has the market, or may have it.
    Lost(String),
}

/// A caller that waits until the market is given up.
pub(super) type Leaver = SyncSender<Result<(), Refusal>>;

/// Takes requests to hand over out of a batch; refuses them where no other daemon can own the
/// market.
pub(super) fn leaver(batch: &mut Vec<Message>, is_shared: bool) -> Option<Vec<Leaver>> {
    let is_one = |message: &Message| matches!(message, Message::HandOver(_));
    if !batch.iter().any(is_one) {
        return None;
    }
    let (found, rest) = std::mem::take(batch).into_iter().partition::<Vec<_>, _>(is_one);
    *batch = rest;
    let mut leavers = Vec::new();
    for message in found {
        match message {
            Message::HandOver(leaver) if is_shared => leavers.push(leaver),
            other => other.refuse(Refusal::new(
                RefusalKind::Conflict,
                "the journal of this market is a file: no other daemon can own it",
                "keep the journal in PostgreSQL: docs/how-to/standby.md",
            )),
        }
    }
    Some(leavers).filter(|leavers| !leavers.is_empty())
}

/// What a standby says to a request.
fn refusal(owner: Option<&str>) -> Refusal {
    let message = "this daemon is a standby, and only the owner of the market changes it";
    let hint = match owner {
        Some(url) => format!("ask the owner: {url}"),
        None => "the market has no owner at this moment: try again".to_owned(),
    };
    Refusal::new(RefusalKind::Standby, message, hint)
}

/// How a market is shared.
pub(super) struct Sharing {
    followed: Box<dyn Followed>,
    sites: OpenPartners,
    changed: Box<dyn Fn(&MarketRole) + Send>,
    /// It is not taken before.
    not_before: Option<Instant>,
    /// Whether the last look failed.
    is_away: bool,
}

impl Sharing {
    /// Of a market that may be taken at once.
    pub(super) fn new(
        followed: Box<dyn Followed>,
        sites: OpenPartners,
        changed: Box<dyn Fn(&MarketRole) + Send>,
    ) -> Sharing {
        Sharing { followed, sites, changed, not_before: None, is_away: false }
    }
}

/// All that the engine's thread lives through.
pub(super) struct Life<C> {
    base: Arc<EngineSetup<C>>,
    handle: Handle,
    readers: Readers,
    owned: Option<Loop<C>>,
    follower: Follower,
    sharing: Option<Sharing>,
}

impl<C: Codec> Life<C> {
    /// Of a market that only this process owns.
    pub(super) fn alone(
        base: Arc<EngineSetup<C>>,
        handle: Handle,
        readers: Readers,
        owned: Loop<C>,
    ) -> Life<C> {
        let follower = Follower::default();
        Life { base, handle, readers, owned: Some(owned), follower, sharing: None }
    }

    /// Of one that is shared; `None`: it begins as a standby.
    pub(super) fn shared(
        base: Arc<EngineSetup<C>>,
        (handle, readers): (Handle, Readers),
        owned: Option<Loop<C>>,
        sharing: Sharing,
    ) -> Life<C> {
        let follower = Follower::default();
        Life { base, handle, readers, owned, follower, sharing: Some(sharing) }
    }

    /// Reads the journal for the first time, so that there is something to look at.
    ///
    /// # Errors
    /// If it cannot be read, or its owner has written nothing yet.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        let Some(sharing) = &mut self.sharing else { return Ok(()) };
        let look = sharing.followed.look().map_err(|wrong| wrong.to_string())?;
        let read = self.follower.go_on(&self.base, &self.handle, &mut *sharing.followed, look.last);
        read.map_err(|wrong| wrong.to_string())?;
        match self.follower.live() {
            Some(_) => Ok(()),
            None => Err("the journal has no rows: its owner has not begun yet".to_owned()),
        }
    }

    /// Until the engine is stopped.
    pub(super) fn go_on(mut self, messages: &Receiver<Message>) {
        loop {
            let owned = self.owned.take();
            let Some(owned) = owned.or_else(|| self.stand_by(messages)) else { return };
            if !self.own(owned, messages) {
                return;
            }
        }
    }

    /// Owns the market until that ends; whether to go on as a standby.
    fn own(&mut self, mut owned: Loop<C>, messages: &Receiver<Message>) -> bool {
        owned.watchers.append(&mut self.follower.watchers);
        let ended = owned.go_on(messages);
        if let TermEnd::Stopped = ended {
            owned.keep_now();
            let Loop { workers, journal, hold, .. } = owned;
            sites::stop(workers);
            drop(journal);
            if let Some(hold) = hold {
                hold.release();
            }
            return false;
        }
        let leavers = self.leave(owned, ended);
        let role = MarketRole::standby();
        self.handle.gauges().set_role(role.clone());
        self.readers.set(Vec::new());
        if let Some(sharing) = &self.sharing {
            (sharing.changed)(&role);
        }
        leavers.into_iter().for_each(|leaver| drop(leaver.send(Ok(()))));
        true
    }

    /// Ends a term: no order leaves any more. What is known of the market stays.
    fn leave(&mut self, owned: Loop<C>, ended: TermEnd) -> Vec<Leaver> {
        let Loop { workers, journal, hold, lease, live, unwritten, watchers, .. } = owned;
        let leavers = match ended {
            TermEnd::HandedOver(leavers) => {
                lease.lose("the market was given up");
                if !lease.await_orders(LAST_ORDERS) {
                    tracing::warn!("a site has not answered an order: its next owner asks again");
                }
                leavers
            }
            TermEnd::Lost(why) => {
                tracing::error!(why, "this daemon does not own the market any more: a standby now");
                lease.lose(why);
                Vec::new()
            }
            TermEnd::Stopped => Vec::new(),
        };
        let live = live.filter(|_| unwritten.is_none() && journal.sound);
        let known = live.zip(journal.last.clone());
        self.follower = Follower::after(known, journal.store.last(), watchers);
        // The session ends first: it has a lock that says that the market has a daemon.
        drop(journal);
        if let Some(hold) = hold
            && !leavers.is_empty()
        {
            hold.release();
            if let Some(sharing) = &mut self.sharing {
                sharing.not_before = Some(Instant::now() + LEFT);
            }
        }
        // A site that hangs is not waited for: it can do nothing any more.
        let stop = move || sites::stop(workers);
        drop(std::thread::Builder::new().name("last-sites".to_owned()).spawn(stop));
        leavers
    }

    /// Follows until the market can be owned; `None`: the engine is stopped.
    fn stand_by(&mut self, messages: &Receiver<Message>) -> Option<Loop<C>> {
        let mut looked: Option<Instant> = None;
        loop {
            let wait = looked.map_or(Duration::ZERO, |it| POLL.saturating_sub(it.elapsed()));
            let mut batch = match messages.recv_timeout(wait) {
                Ok(message) => vec![message],
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            batch.extend(messages.try_iter().take(AT_ONCE));
            for message in batch {
                if let Message::Stop = message {
                    return None;
                }
                self.answer(message);
            }
            if looked.is_none_or(|it| it.elapsed() >= POLL) {
                let is_free = self.follow();
                looked = Some(Instant::now());
                if is_free && let Some(owned) = self.take() {
                    return Some(owned);
                }
            }
        }
    }

    fn answer(&mut self, message: Message) {
        match message {
            Message::Look(look) => {
                if let Some(live) = self.follower.live() {
                    look(live);
                }
            }
            Message::Watch(watcher) => self.follower.watchers.push(watcher),
            // Of an earlier term, or of no use to a state that only follows.
            Message::Input(_) | Message::Stop => {}
            Message::Ask(..) | Message::HandOver(_) => {
                let owner = self.handle.gauges().standing().and_then(|it| it.owner);
                message.refuse(refusal(owner.as_deref()));
            }
        }
    }

    /// Takes new rows in; whether the market is free.
    fn follow(&mut self) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        let read = sharing.followed.look().map_err(Into::into).and_then(|look| {
            let followed = &mut *sharing.followed;
            let read = self.follower.go_on(&self.base, &self.handle, followed, look.last);
            followed.say(self.follower.seq);
            let behind = look.last.saturating_sub(self.follower.seq);
            let url = look.url.clone().filter(|_| !look.is_free);
            self.handle.gauges().set_standing(url, behind);
            read.map(|()| look)
        });
        match read {
            Ok(look) => {
                sharing.is_away = false;
                if !look.is_free {
                    // Whatever was waited for: another daemon has owned the market since.
                    sharing.not_before = None;
                }
                look.is_free && sharing.not_before.is_none_or(|it| it <= Instant::now())
            }
            Err(wrong) => {
                if !sharing.is_away {
                    tracing::warn!(%wrong, "the journal cannot be followed");
                }
                sharing.is_away = true;
                false
            }
        }
    }

    /// Owns the market, if no other daemon was quicker.
    fn take(&mut self) -> Option<Loop<C>> {
        let sharing = self.sharing.as_mut()?;
        sharing.not_before = Some(Instant::now() + AGAIN);
        let term = match sharing.followed.take() {
            Ok(term) => term?,
            Err(wrong) => {
                tracing::warn!(%wrong, "the market cannot be taken over");
                return None;
            }
        };
        let Term { open, epoch, lease, hold, rules } = term;
        tracing::warn!(epoch, "this daemon owns the market from now on");
        match self.begin(open, (epoch, rules), &lease) {
            Ok(mut owned) => {
                owned.hold = hold;
                let role = MarketRole::Owner { epoch };
                self.handle.gauges().set_role(role.clone());
                self.readers.set(owned.readers());
                if let Some(sharing) = &mut self.sharing {
                    sharing.not_before = None;
                    (sharing.changed)(&role);
                }
                Some(owned)
            }
            Err(wrong) => {
                tracing::error!(wrong, "the market was taken over and cannot go on here");
                lease.lose("it cannot go on here");
                if let Some(hold) = hold {
                    hold.release();
                }
                // Another standby may be luckier.
                if let Some(sharing) = &mut self.sharing {
                    sharing.not_before = Some(Instant::now() + LEFT);
                }
                None
            }
        }
    }

    fn begin(
        &mut self,
        mut open: OpenStore,
        (epoch, rules): (u64, RuleChange),
        lease: &Arc<Lease>,
    ) -> Result<Loop<C>, String> {
        let Some(sharing) = &mut self.sharing else { return Err("it is not shared".to_owned()) };
        let store = open().map_err(|wrong| wrong.to_string())?;
        let mut journal = journal(store, open, &self.handle);
        let state = self.follower.finish(&self.base, &self.handle, &mut *journal.store);
        let state = state.map_err(|wrong| wrong.to_string())?;
        let mut clock = super::clock::Clock::new();
        let begun = self.base.begin(state, &mut journal, &mut clock, rules);
        let begun = begun.map_err(|wrong| wrong.to_string())?;
        let partners = (sharing.sites)(epoch)?;
        let terms = (Arc::clone(lease), None);
        assemble(&self.base, (journal, clock), begun, partners, terms, &self.handle)
    }
}
