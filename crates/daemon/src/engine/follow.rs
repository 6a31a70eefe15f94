//! The state of a standby: what the owner has written, applied row by row.

use std::sync::mpsc::SyncSender;

use tradewind_model::Time;

use super::handle::{CommittedRecord, Handle, tell_all};
use super::recovery::{RecoveryError, begun};
use super::standby::Followed;
use super::start::EngineSetup;
use crate::codec::Codec;
use crate::live::record::MarketRecord;
use crate::live::{Live, Record, State};
use crate::store::{Row, Store, StoreError};

/// Rows that are read at once.
const PAGE: usize = 1_024;
/// Pages that are read before anything else is answered.
const PAGES: usize = 8;

/// What is known of the market, and up to which row.
#[derive(Default)]
pub(super) struct Follower {
    view: FollowerView,
    /// The last row that is in it.
    pub(super) seq: u64,
    /// That row, if it was read: a database may lose it with its primary.
    last: Option<Row>,
    /// Whether a part of a row may be in the view.
    is_partial: bool,
    /// Subscribers have got rows up to this one; `None`: there were none yet.
    told: Option<u64>,
    pub(super) watchers: Vec<SyncSender<CommittedRecord>>,
    store: Option<Box<dyn Store>>,
}

#[derive(Default)]
enum FollowerView {
    /// Nothing was read yet.
    #[default]
    Nothing,
    /// Not all that there was at the beginning: it is not shown.
    Reading(Box<State>),
    /// A market to be looked at.
    Shown(Box<Live>),
}

impl Follower {
    /// Goes on after a term of ownership in which rows up to `told` were passed on: with its market,
    /// if that is sound and its last row is known. Without that row it could not be seen whether the
    /// database has lost it, and all is read again.
    pub(super) fn after(
        known: Option<(Live, Row)>,
        told: u64,
        watchers: Vec<SyncSender<CommittedRecord>>,
    ) -> Follower {
        let told = Some(told).filter(|told| *told > 0);
        let (view, last) = match known {
            Some((live, row)) => (FollowerView::Shown(Box::new(live)), Some(row)),
            None => (FollowerView::Nothing, None),
        };
        let seq = last.as_ref().map_or(0, |row| row.seq);
        Follower { view, seq, last, told, watchers, ..Follower::default() }
    }

    /// The market, if it can be shown.
    pub(super) fn live(&self) -> Option<&Live> {
        match &self.view {
            FollowerView::Shown(live) => Some(live),
            FollowerView::Nothing | FollowerView::Reading(_) => None,
        }
    }

    /// Takes in what was written up to row `last`, or some pages of it.
    ///
    /// # Errors
    /// If the journal cannot be read, or a row is not known to this release: what was taken in
    /// stays. If a row does not follow from those before: everything is read again the next time.
    pub(super) fn go_on<C: Codec>(
        &mut self,
        base: &EngineSetup<C>,
        handle: &Handle,
        followed: &mut dyn Followed,
        last: u64,
    ) -> Result<(), RecoveryError> {
        let is_shown = matches!(self.view, FollowerView::Shown(_));
        if is_shown && self.seq == last {
            return Ok(());
        }
        let mut store = match self.store.take() {
            Some(store) if self.seq <= last => store,
            _ => {
                let mut store = followed.read()?;
                self.compare(&mut *store)?;
                store
            }
        };
        let pages = if is_shown { PAGES } else { usize::MAX };
        self.read(base, handle, &mut *store, pages)?;
        self.store = Some(store);
        Ok(())
    }

    /// Takes in all that is left in the journal, which is this daemon's now; its state.
    ///
    /// # Errors
    /// As [`Follower::go_on`].
    pub(super) fn finish<C: Codec>(
        &mut self,
        base: &EngineSetup<C>,
        handle: &Handle,
        store: &mut dyn Store,
    ) -> Result<State, RecoveryError> {
        self.store = None;
        self.compare(store)?;
        self.read(base, handle, store, usize::MAX)?;
        self.last = None;
        match std::mem::take(&mut self.view) {
            FollowerView::Shown(live) => Ok(live.into_state()),
            FollowerView::Reading(state) => Ok(*state),
            FollowerView::Nothing => Ok(State::empty(Time(0))),
        }
    }

    fn read<C: Codec>(
        &mut self,
        base: &EngineSetup<C>,
        handle: &Handle,
        store: &mut dyn Store,
        pages: usize,
    ) -> Result<(), RecoveryError> {
        let done = self.read_pages(base, handle, store, pages);
        if done.is_err() && self.is_partial {
            self.forget();
        }
        done
    }

    /// Whether the journal, to which there is a new way, has the last row that was taken in; if not,
    /// everything is read again.
    fn compare(&mut self, store: &mut dyn Store) -> Result<(), StoreError> {
        let Some(last) = &self.last else { return Ok(()) };
        if store.read(last.seq - 1, 1)?.first() != Some(last) {
            tracing::warn!(
                row = last.seq,
                "the journal has lost a row that this standby had: all is read again"
            );
            self.forget();
        }
        Ok(())
    }

    fn forget(&mut self) {
        (self.view, self.seq, self.last, self.is_partial) = (FollowerView::Nothing, 0, None, false);
    }

    fn read_pages<C: Codec>(
        &mut self,
        base: &EngineSetup<C>,
        handle: &Handle,
        store: &mut dyn Store,
        pages: usize,
    ) -> Result<(), RecoveryError> {
        if let FollowerView::Nothing = self.view {
            let found = begun(store, &base.codec)?;
            let (seq, state) =
                found.map_or_else(|| (0, State::empty(Time(0))), |(seq, state, _)| (seq, state));
            (self.view, self.seq) = (FollowerView::Reading(Box::new(state)), seq);
        }
        for _ in 0..pages {
            let rows = store.read(self.seq, PAGE)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                self.take_in(base, &row)?;
                self.last = Some(row);
            }
            handle.gauges().written(self.seq);
        }
        handle.gauges().written(self.seq);
        self.show(base);
        Ok(())
    }

    /// Applies a row, and passes it on.
    fn take_in<C: Codec>(&mut self, base: &EngineSetup<C>, row: &Row) -> Result<(), RecoveryError> {
        let wrong =
            |what: &dyn ToString| RecoveryError::Row { seq: row.seq, what: what.to_string() };
        let record = base.codec.read_record(&row.body).map_err(|it| wrong(&it))?;
        let at = Time(row.at);
        self.is_partial = true;
        let applied = match &mut self.view {
            FollowerView::Shown(live) => live.learn(at, &record),
            FollowerView::Reading(state) => state.apply(at, &record),
            FollowerView::Nothing => Ok(()),
        };
        applied.map_err(|it| wrong(&it))?;
        (self.seq, self.is_partial) = (row.seq, false);
        if needs_another_policy(&record) && matches!(self.view, FollowerView::Shown(_)) {
            self.hide();
            self.show(base);
        }
        if self.told.is_some_and(|told| row.seq > told) {
            let news = CommittedRecord { seq: row.seq, at, record };
            tell_all(&mut self.watchers, &news);
            self.told = Some(row.seq);
        }
        Ok(())
    }

    fn hide(&mut self) {
        self.view = match std::mem::take(&mut self.view) {
            FollowerView::Shown(live) => FollowerView::Reading(Box::new(live.into_state())),
            other => other,
        };
    }

    /// Makes a market of a state that is complete; without sites there is none to be shown.
    fn show<C: Codec>(&mut self, base: &EngineSetup<C>) {
        self.view = match std::mem::take(&mut self.view) {
            FollowerView::Reading(state) if state.is_gridded() => {
                let policy = match state.policy.is_empty() {
                    true => base.policy.clone(),
                    false => state.policy.clone(),
                };
                let settings = base.settings.clone();
                match Live::watch(*state, settings, std::sync::Arc::clone(&base.maker), &policy) {
                    Ok(live) => FollowerView::Shown(Box::new(live)),
                    Err((state, why)) => {
                        tracing::warn!(policy, why, "a standby cannot show this policy");
                        FollowerView::Reading(state)
                    }
                }
            }
            other => other,
        };
        self.told = self.told.or(Some(self.seq));
    }
}

/// Whether a market that is shown must be made again.
fn needs_another_policy(record: &Record) -> bool {
    let Record::Market(record) = record else { return false };
    matches!(record, MarketRecord::Gridded { .. } | MarketRecord::Began { .. })
}
