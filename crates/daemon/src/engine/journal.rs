//! The journal as the engine writes it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_model::Time;

use super::ahead::PageThread;
use super::gauges::Gauges;
use super::nothing::Nothing;
use super::start::OpenStore;
use crate::codec::Codec;
use crate::codec::pages::{self, Pages};
use crate::live::{Record, State};
use crate::store::{Row, Snapshot, Store, StoreError};

/// A snapshot is kept after so many bytes of rows, however few they are.
const LONG: usize = 16 << 20;

/// The journal's log is moved into its file so often, if there is something in it.
const SETTLE_EVERY: Duration = Duration::from_secs(30);

pub(super) struct Journal {
    pub(super) store: Box<dyn Store>,
    pub(super) open: OpenStore,
    /// The last row that was appended since the opening.
    pub(super) last: Option<Row>,
    /// Whether the last append went well.
    pub(super) sound: bool,
    /// The last row that is in its lasting place, and when that was looked after.
    pub(super) settled: (u64, Instant),
    /// The row of the last snapshot.
    pub(super) snapshot_at: u64,
    /// Bytes of the rows behind it, as far as they are of this process.
    pub(super) since: usize,
    /// What the store has of the last snapshot.
    pub(super) pages: Pages,
    /// Makes pages before they are needed.
    pub(super) ahead: PageThread,
    pub(super) gauges: Arc<Gauges>,
}

impl Journal {
    /// What is safe after a failure is known after an opening only.
    pub(super) fn reopen(&mut self) -> Result<(), StoreError> {
        // The old one holds the lock until it is gone.
        self.store = Box::new(Nothing(self.store.origin().clone()));
        self.last = None;
        self.store = (self.open)()?;
        self.sound = true;
        Ok(())
    }

    /// Whether so much was written since the last snapshot that reading it would take long.
    pub(super) fn is_long(&self, rows: u64) -> bool {
        // A journal that could not be opened again has no rows.
        self.store.last().saturating_sub(self.snapshot_at) >= rows || self.since >= LONG
    }

    /// Keeps a snapshot: of jobs those pages that were touched since the last one.
    pub(super) fn keep(&mut self, state: &State, touched: &BTreeSet<u64>) {
        let begin = Instant::now();
        (self.snapshot_at, self.since) = (self.store.last(), 0);
        self.pages.prepare(self.ahead.take());
        let (body, changed) = self.pages.of(state, touched);
        let (seq, at) = (self.snapshot_at, state.now().0);
        let snapshot = Snapshot { seq, at, version: pages::VERSION, body };
        if let Err(wrong) = self.store.keep_pages(&snapshot, &changed) {
            tracing::warn!(%wrong, "no snapshot");
            // The next one has everything.
            self.pages = Pages::default();
        }
        let (pages, took_us) = (changed.pages().len(), begin.elapsed().as_micros());
        tracing::debug!(pages, took_us, "a snapshot");
    }

    /// Now and then, what was written is moved into its lasting place.
    pub(super) fn settle(&mut self) {
        let (row, when) = self.settled;
        if self.sound && when.elapsed() >= SETTLE_EVERY && row != self.store.last() {
            self.settled = (self.store.last(), Instant::now());
            if let Err(wrong) = self.store.settle() {
                tracing::warn!(%wrong, "the journal's log could not be moved into its file");
            }
        }
    }

    /// Records of one moment.
    pub(super) fn write<C: Codec>(
        &mut self,
        codec: &C,
        at: Time,
        records: &[Record],
    ) -> Result<(), StoreError> {
        self.write_all(codec, records.iter().map(|record| (at, record)))
    }

    /// Records, each of its moment: all of them, or none.
    pub(super) fn write_all<'a, C: Codec>(
        &mut self,
        codec: &C,
        records: impl Iterator<Item = (Time, &'a Record)> + Clone,
    ) -> Result<(), StoreError> {
        self.ahead.order(records.clone().map(|(_, record)| record));
        let mut rows: Vec<(i64, Vec<u8>)> =
            records.map(|(at, record)| (at.0, codec.record(record))).collect();
        if rows.is_empty() {
            return Ok(());
        }
        self.since += rows.iter().map(|(_, body)| body.len()).sum::<usize>();
        let begin = Instant::now();
        let appended = self.store.append(&rows);
        let took = begin.elapsed();
        self.gauges.appends.add(1, took);
        self.gauges.rows.add(rows.len() as u64, took);
        self.gauges.written(self.store.last());
        if appended.is_ok() {
            let seq = self.store.last();
            self.last = rows.pop().map(|(at, body)| Row { seq, at, body });
        }
        // On a full disk nothing was written, and that is certain.
        self.sound = matches!(appended, Ok(()) | Err(StoreError::Full { .. }));
        appended
    }
}
