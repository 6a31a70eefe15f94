//! A standby that is driven by hand, a look at a time: for worlds in which nothing happens by itself.

use std::sync::Arc;

use tradewind_model::Pools;

use super::follow::Follower;
use super::handle::Handle;
use super::recovery::RecoveryError;
use super::standby::Followed;
use super::start::{EngineSetup, Timing};
use crate::codec::Codec;
use crate::live::{Live, Make, Settings, State};
use crate::store::{Row, Store};

/// What a standby knows of a market, as [`Engine::share`](super::Engine::share) keeps it.
pub struct StandbyByHand<C> {
    base: EngineSetup<C>,
    handle: Handle,
    follower: Follower,
}

impl<C: Codec> StandbyByHand<C> {
    /// It has read nothing yet.
    pub fn new(
        codec: C,
        pools: Arc<Pools>,
        (maker, policy): (Arc<dyn Make>, &str),
        settings: Settings,
    ) -> StandbyByHand<C> {
        let (policy, timing) = (policy.to_owned(), Timing::default());
        let base =
            EngineSetup { codec, pools, owners: Vec::new(), maker, policy, settings, timing };
        StandbyByHand { base, handle: Handle::pair().0, follower: Follower::default() }
    }

    /// The market, if it can be shown.
    pub fn live(&self) -> Option<&Live> {
        self.follower.live()
    }

    /// The last row that it has taken in.
    pub fn last(&self) -> u64 {
        self.follower.seq
    }

    /// Takes in rows that were written since.
    ///
    /// # Errors
    /// If the journal cannot be read, or a row does not follow from those before.
    pub fn go_on(&mut self, followed: &mut dyn Followed) -> Result<(), RecoveryError> {
        let look = followed.look()?;
        self.follower.go_on(&self.base, &self.handle, followed, look.last)
    }

    /// Takes in all that is left of a journal that is this daemon's now; its state.
    ///
    /// # Errors
    /// As [`StandbyByHand::go_on`].
    pub fn finish(&mut self, store: &mut dyn Store) -> Result<State, RecoveryError> {
        self.follower.finish(&self.base, &self.handle, store)
    }

    /// A term of ownership is over; its market with the last row that is in it, if that is sound.
    pub fn leave(&mut self, known: Option<(Live, Row)>) {
        let told = known.as_ref().map_or(0, |(_, row)| row.seq);
        self.follower = Follower::after(known, told, Vec::new());
    }
}
