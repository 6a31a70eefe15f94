//! What is done on the side while a market runs: old rows of its journal and of its audit log are
//! moved into archive files, and all that is old is read again, slowly, so that damage is noticed
//! before it is needed.
//!
//! One thread does a little of it each second, on connections of its own: at most one archive file
//! and some hundred rows. The market waits for it for milliseconds at most, and goes on whatever is
//! found here.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_model::Span;

use crate::engine::Gauges;
use crate::store::StoreError;
use crate::store::archive::Segment;
use crate::store::sqlite::{ArchiveCutoff, Cover, Damage, Keeper, Scrub, Scrubbed};

/// What a kind of store offers for its care, on connections of its own. It is open in this process.
pub trait Maintenance: Debug + Send {
    /// Where it is, in messages.
    fn name(&self) -> String;

    /// Moves the oldest rows that are due into one archive file; `None`: there are none, or too few.
    ///
    /// # Errors
    /// If rows are damaged, or the store does not take it. All rows can be read as before then.
    fn archive(&mut self, due: ArchiveCutoff) -> Result<Option<Segment>, StoreError>;

    /// Looks at the next rows for damage; begins with the first.
    ///
    /// # Errors
    /// If they cannot be read at all; damage is no error.
    fn scrub(&mut self) -> Result<Scrubbed, StoreError>;

    /// The next look begins with the first row.
    fn end_scrub(&mut self);
}

/// The care of a journal that SQLite keeps.
#[derive(Debug)]
pub struct SqliteMaintenance {
    path: PathBuf,
    cover: Cover,
    scrub: Option<Scrub>,
}

impl SqliteMaintenance {
    /// Of the file at `path`, where the rows that `cover` says must stay.
    pub fn new(path: PathBuf, cover: Cover) -> SqliteMaintenance {
        SqliteMaintenance { path, cover, scrub: None }
    }
}

impl Maintenance for SqliteMaintenance {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn archive(&mut self, due: ArchiveCutoff) -> Result<Option<Segment>, StoreError> {
        let mut keeper = Keeper::beside(&self.path, self.cover)?;
        let made = keeper.archive(due)?;
        keeper.shrink()?;
        Ok(made)
    }

    fn scrub(&mut self) -> Result<Scrubbed, StoreError> {
        match &mut self.scrub {
            Some(scrub) => scrub.step(),
            none => none.insert(Scrub::begin(&self.path)?).step(),
        }
    }

    fn end_scrub(&mut self) {
        self.scrub = None;
    }
}

/// A database that is looked after.
#[derive(Debug)]
pub struct MaintainedDatabase {
    /// The database.
    pub database: Box<dyn Maintenance>,
    /// Older rows go to archive files; `None`: none do.
    pub retention: Option<Span>,
}

/// How often what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two turns.
    pub turn: Duration,
    /// Between two looks for old rows, while there are none.
    pub archive: Duration,
    /// From the end of one look at everything to the begin of the next.
    pub scrub: Duration,
    /// After a failure.
    pub again: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        let (turn, archive) = (Duration::from_secs(1), Duration::from_secs(60));
        Pace { turn, archive, scrub: hours(24), again: hours(1) }
    }
}

/// Handle of the background thread.
#[derive(Debug)]
pub struct Upkeep {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Upkeep {
    /// Begins; findings are in the log and in the gauges.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(
        all: Vec<MaintainedDatabase>,
        pace: Pace,
        gauges: Arc<Gauges>,
    ) -> std::io::Result<Upkeep> {
        let (stop, stopped) = channel();
        let work = move || go_on(all, pace, &gauges, &stopped);
        let thread = std::thread::Builder::new().name("upkeep".to_owned()).spawn(work)?;
        Ok(Upkeep { stop, thread })
    }

    /// Waits for its present turn, and ends. Before the databases are closed.
    pub fn stop(self) {
        drop(self.stop);
        drop(self.thread.join());
    }
}

fn go_on(all: Vec<MaintainedDatabase>, pace: Pace, gauges: &Gauges, stopped: &Receiver<()>) {
    let mut wards: Vec<Ward> = all.into_iter().map(Ward::new).collect();
    while stopped.recv_timeout(pace.turn) == Err(RecvTimeoutError::Timeout) {
        for ward in &mut wards {
            ward.archive(pace, gauges);
            ward.look(pace, gauges);
        }
        gauges.set_damage(wards.iter().flat_map(Ward::damage).cloned().collect());
    }
}

/// A database, and how far the work is.
struct Ward {
    kept: MaintainedDatabase,
    /// When rows are looked for that are old.
    archive_at: Instant,
    /// When everything is looked at again.
    scrub_at: Instant,
    look: ScrubState,
    /// What the present look has found.
    found: BTreeSet<Damage>,
    /// What the one before had found.
    known: BTreeSet<Damage>,
}

impl Ward {
    fn new(kept: MaintainedDatabase) -> Ward {
        let now = Instant::now();
        let (found, known) = (BTreeSet::new(), BTreeSet::new());
        Ward { kept, archive_at: now, scrub_at: now, look: ScrubState::Rests, found, known }
    }

    fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.known.union(&self.found)
    }

    /// One archive file at most.
    fn archive(&mut self, pace: Pace, gauges: &Gauges) {
        let Some(retention) = self.kept.retention else { return };
        if self.archive_at > Instant::now() {
            return;
        }
        let wait = match self.next_file(retention, gauges) {
            Ok(Next::More) => Duration::ZERO,
            Ok(Next::Nothing) => pace.archive,
            Err(wrong) => {
                tracing::warn!(%wrong, "old rows stay where they are for now");
                pace.again
            }
        };
        self.archive_at = Instant::now() + wait;
    }

    fn next_file(&mut self, retention: Span, gauges: &Gauges) -> Result<Next, StoreError> {
        let Some(made) = self.kept.database.archive(due(retention))? else {
            return Ok(Next::Nothing);
        };
        let rows = made.last - made.first + 1;
        gauges.archived.add(rows, Duration::ZERO);
        tracing::info!(rows, file = made.name(), "old rows of {} are archived", self.name());
        Ok(Next::More)
    }

    /// Checks the next rows.
    fn look(&mut self, pace: Pace, gauges: &Gauges) {
        if self.look == ScrubState::Rests && self.scrub_at > Instant::now() {
            return;
        }
        self.look = ScrubState::GoesOn;
        match self.kept.database.scrub() {
            Ok(Scrubbed::Rows(rows)) => gauges.scrubbed.add(rows, Duration::ZERO),
            Ok(Scrubbed::Damaged(damage)) => self.tell(damage),
            Ok(Scrubbed::End) => {
                self.known = std::mem::take(&mut self.found);
                self.rest(pace.scrub);
            }
            Err(wrong) => {
                tracing::warn!(%wrong, "{} cannot be looked at for damage", self.name());
                self.rest(pace.again);
            }
        }
    }

    fn rest(&mut self, pause: Duration) {
        self.kept.database.end_scrub();
        (self.look, self.scrub_at) = (ScrubState::Rests, Instant::now() + pause);
    }

    /// Once, as long as it lasts.
    fn tell(&mut self, damage: Damage) {
        if !self.known.contains(&damage) {
            let Damage { path, row, what } = &damage;
            tracing::error!("{path} is damaged at row {row}: {what}");
        }
        self.found.insert(damage);
    }

    fn name(&self) -> String {
        self.kept.database.name()
    }
}

/// Whether a look for damage is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScrubState {
    GoesOn,
    Rests,
}

/// Whether there may be more to archive at once.
enum Next {
    More,
    Nothing,
}

/// Rows that fill no file wait a tenth of the retention longer: a quiet market has some files a
/// year, and not one for each day.
fn due(retention: Span) -> ArchiveCutoff {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let before = i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(retention.0);
    ArchiveCutoff { before, partly_before: before.saturating_sub(retention.0 / 10) }
}
