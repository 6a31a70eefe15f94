//! Who was refused, who signed in, who read others' data, and who changed rights, prices, policy
//! and money: a log beside the journal, chained by the same [`Store`].
//!
//! [`Audit::note`] never waits: a thread writes what it is given, and what does not fit into its
//! queue is counted and written as a row of its own. What repeats within a minute becomes one row
//! with a count, so that a flood of refusals is a few rows. There are no secrets in it: entries
//! consist of names, routes and outcomes, never of headers, queries or bodies. [`Audit::read`] shows
//! what was noted before it.

mod sum;
#[cfg(test)]
mod tests;

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tradewind_io::hidden::is_hidden;

use crate::store::{Store, StoreError};
use sum::Sums;

/// Entries that may wait to be written.
const QUEUE: usize = 4_096;
/// Entries that are written at once.
const BATCH: usize = 512;
/// How often what was summed up is looked at: what is older than a minute is written.
const TICK: Duration = Duration::from_millis(500);
/// A reader waits so long at most until what was noted is written.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest text of a field, bytes.
const MAX_TEXT: usize = 256;

/// Kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// A request was refused.
    Refusal,
    /// A user signed in, or tried to.
    SignIn,
    /// An administrator read what belongs to another user.
    Read,
    /// A token was issued or revoked, or a right, a project or its members changed.
    Rights,
    /// A price was set.
    Price,
    /// Another policy was chosen.
    Policy,
    /// Money was moved.
    Money,
    /// A job of another user was cancelled, held or released.
    Job,
    /// Entries were lost: there were too many, or the disk would not have them.
    Lost,
}

impl AuditKind {
    /// All of them.
    pub const ALL: [(AuditKind, &'static str); 9] = [
        (AuditKind::Refusal, "refusal"),
        (AuditKind::SignIn, "sign-in"),
        (AuditKind::Read, "read"),
        (AuditKind::Rights, "rights"),
        (AuditKind::Price, "price"),
        (AuditKind::Policy, "policy"),
        (AuditKind::Money, "money"),
        (AuditKind::Job, "job"),
        (AuditKind::Lost, "lost"),
    ];

    /// The name in files and documents.
    pub fn name(self) -> &'static str {
        AuditKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// One row of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Kind of the entry.
    pub kind: AuditKind,
    /// Who did it: a user; `@ADDRESS` if the user is unknown.
    pub actor: String,
    /// What it was about, as in `job 7 of ana` or `POST /v1/jobs`.
    pub subject: String,
    /// What came of it, as in `done` or `429 limit`.
    pub outcome: String,
    /// How often it happened, where rows were summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// When it happened first of these times: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
}

/// A row as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAuditEntry {
    /// Number of the row, from 1.
    pub seq: u64,
    /// When it was written: seconds since 1970.
    pub at: i64,
    /// The entry.
    pub entry: AuditEntry,
}

type Opens = dyn Fn() -> Result<Box<dyn Store>, StoreError> + Send + Sync;

/// The log, for those who write to it and read it. Clones are the same log.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Inside>>);

/// What is sent to the writer.
enum WriterMessage {
    Entry(AuditEntry),
    /// To answer once all that it was told before is written.
    Flush(SyncSender<()>),
}

struct Inside {
    send: Mutex<Option<SyncSender<WriterMessage>>>,
    lost: Arc<AtomicU64>,
    /// Opens it for reading.
    look: Box<Opens>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("is_kept", &self.0.is_some()).finish()
    }
}

impl Audit {
    /// No log: whatever is noted is dropped.
    pub fn off() -> Audit {
        Audit(None)
    }

    /// Keeps the log in `store`; `look` opens the same for reading.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(
        store: Box<dyn Store>,
        look: impl Fn() -> Result<Box<dyn Store>, StoreError> + Send + Sync + 'static,
    ) -> std::io::Result<Audit> {
        let (send, receive) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer { store, lost: Arc::clone(&lost), sums: Sums::default() };
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let writer = Mutex::new(Some(thread.spawn(move || writer.run(&receive))?));
        let (send, look) = (Mutex::new(Some(send)), Box::new(look));
        Ok(Audit(Some(Arc::new(Inside { send, lost, look, writer }))))
    }

    /// Writes that `actor` did something to `subject`, and what came of it. Never waits.
    pub fn note(
        &self,
        actor: &str,
        kind: AuditKind,
        subject: impl Into<String>,
        outcome: impl Into<String>,
    ) {
        let Some(inside) = &self.0 else { return };
        let (subject, outcome) = (clean(subject.into()), clean(outcome.into()));
        let actor = clean(actor.to_owned());
        let entry = AuditEntry { kind, actor, subject, outcome, count: None, since: None };
        let send = inside.send.lock().unwrap_or_else(PoisonError::into_inner);
        match send.as_ref().map(|send| send.try_send(WriterMessage::Entry(entry))) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                inside.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Rows after `after`, in order, at most `max`, of those that `wanted` takes among the next
    /// `looked` ones; and the last row that was looked at, if there are more. Waits for the disk.
    ///
    /// # Errors
    /// If they cannot be read, or are not what was written.
    pub fn read(
        &self,
        after: u64,
        (max, looked): (usize, usize),
        since: Option<i64>,
        wanted: impl Fn(&StoredAuditEntry) -> bool,
    ) -> Result<(Vec<StoredAuditEntry>, Option<u64>), StoreError> {
        let Some(inside) = &self.0 else { return Ok((Vec::new(), None)) };
        inside.flush();
        let mut store = (inside.look)()?;
        let mut at = match since {
            Some(since) => first_at(&mut *store, since)?.max(after),
            None => after,
        };
        let (mut found, mut seen) = (Vec::new(), 0);
        loop {
            let rows = store.read(at, BATCH)?;
            if rows.is_empty() {
                return Ok((found, None));
            }
            for row in rows {
                (at, seen) = (row.seq, seen + 1);
                let entry = serde_json::from_slice(&row.body).ok();
                let kept = entry.map(|entry| StoredAuditEntry { seq: row.seq, at: row.at, entry });
                found.extend(kept.filter(&wanted));
                if found.len() >= max || seen >= looked {
                    return Ok((found, Some(at).filter(|at| *at < store.last())));
                }
            }
        }
    }

    /// Writes what is there, and nothing more.
    pub fn stop(&self) {
        let Some(inside) = &self.0 else { return };
        drop(inside.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = inside.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            drop(writer.join());
        }
    }
}

impl Inside {
    /// Waits until what was noted is written, if the writer has come so far within [`PATIENCE`].
    fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        let begun = Instant::now();
        let mut told = WriterMessage::Flush(done);
        loop {
            let send = self.send.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match send.map(|send| send.try_send(told)) {
                Some(Err(TrySendError::Full(back))) if begun.elapsed() < PATIENCE => told = back,
                Some(Ok(())) => break,
                _ => return,
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = is_done.recv_timeout(PATIENCE.saturating_sub(begun.elapsed()));
    }
}

/// The last row before all that are not before `since`. Logarithmic in the rows.
fn first_at(store: &mut dyn Store, since: i64) -> Result<u64, StoreError> {
    let (mut low, mut high) = (0, store.last());
    while low < high {
        let middle = low + (high - low) / 2;
        let row = store.read(middle, 1)?;
        match row.first().is_some_and(|row| row.at < since) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// Without characters that have no place in a line, and not too long.
fn clean(text: String) -> String {
    let mut text = match text.chars().any(is_hidden) {
        true => text.chars().filter(|c| !is_hidden(*c)).collect(),
        false => text,
    };
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

/// The thread that writes.
struct Writer {
    store: Box<dyn Store>,
    lost: Arc<AtomicU64>,
    sums: Sums,
}

impl Writer {
    fn run(mut self, receive: &Receiver<WriterMessage>) {
        loop {
            let (mut rows, mut readers) = (Vec::new(), Vec::new());
            let open = match receive.recv_timeout(TICK) {
                Ok(first) => {
                    for told in std::iter::once(first).chain(receive.try_iter().take(BATCH)) {
                        match told {
                            WriterMessage::Entry(entry) => rows.extend(self.sums.add(entry, now())),
                            WriterMessage::Flush(done) => readers.push(done),
                        }
                    }
                    true
                }
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            rows.extend(if open { self.sums.due(now()) } else { self.sums.all() });
            self.write(rows);
            for done in readers {
                let _ = done.try_send(());
            }
            if !open {
                return;
            }
        }
    }

    fn write(&mut self, mut rows: Vec<AuditEntry>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            rows.push(AuditEntry {
                kind: AuditKind::Lost,
                actor: String::new(),
                subject: "entries of this log".to_owned(),
                outcome: "not written".to_owned(),
                count: Some(lost),
                since: None,
            });
        }
        if rows.is_empty() {
            return;
        }
        let at = now();
        let body = |entry: &AuditEntry| (at, serde_json::to_vec(entry).unwrap_or_default());
        let bodies: Vec<_> = rows.iter().map(body).collect();
        if let Err(wrong) = self.store.append(&bodies) {
            // They are counted, and the count is written when the disk takes rows again.
            let gone = rows.iter().map(|it| it.count.unwrap_or(1)).sum();
            self.lost.fetch_add(gone, Ordering::Relaxed);
            tracing::error!(%wrong, rows = gone, "the audit log could not be written");
            std::thread::sleep(TICK);
        }
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(0)
}
