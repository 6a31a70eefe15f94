//! The switches of the mechanism.

use std::num::NonZeroU32;

use tradewind_model::{JobId, Time};

use super::classes::Borders;

/// Why numbers are no settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MultiQueueSettingsError {
    /// α is a share.
    #[error("alpha is {0} thousandths, and the share of jobs with a reservation is at most 1,000")]
    Alpha(u32),
    /// No job could ever wait in a backfill queue.
    #[error("beta is 0, and a backfill queue overflows at 1 job or more")]
    Beta,
    /// No job could ever wait in a backfill queue.
    #[error("patience is 0, and a job is passed over 1 time or more before it loses patience")]
    Patience,
}

/// α: the share of the job queue's jobs that hold a reservation, in thousandths. The paper tries
/// 100 to 500; 1,000 is a reservation for every job, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alpha(u32);

impl Alpha {
    /// The middle of the paper's range.
    pub const DEFAULT: Alpha = Alpha(300);

    /// So many thousandths.
    ///
    /// # Errors
    /// If there are more than 1,000.
    pub fn from_thousandths(thousandths: u32) -> Result<Alpha, MultiQueueSettingsError> {
        match thousandths {
            ..=1_000 => Ok(Alpha(thousandths)),
            _ => Err(MultiQueueSettingsError::Alpha(thousandths)),
        }
    }

    /// The number in thousandths.
    pub fn thousandths(self) -> u32 {
        self.0
    }
}

/// Among remote jobs, what decides first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteClasses {
    /// Large before small; within each, short before long: as among local jobs.
    #[default]
    WidthFirst,
    /// Short before long; within each, large before small.
    LengthFirst,
}

impl RemoteClasses {
    /// Every value, with its name on the command line.
    pub const ALL: [(RemoteClasses, &'static str); 2] =
        [(RemoteClasses::WidthFirst, "width-first"), (RemoteClasses::LengthFirst, "length-first")];
}

/// Whether short jobs stand before long ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShortFirst {
    /// They do: the paper.
    #[default]
    On,
    /// The age alone decides within a queue.
    Off,
}

impl ShortFirst {
    /// Every value, with its name on the command line.
    pub const ALL: [(ShortFirst, &'static str); 2] =
        [(ShortFirst::On, "on"), (ShortFirst::Off, "off")];
}

/// What makes one job older than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Age {
    /// It was submitted first, wherever that was.
    #[default]
    Arrival,
    /// It joined this site first.
    Joined,
}

impl Age {
    /// Every value, with its name on the command line.
    pub const ALL: [(Age, &'static str); 2] = [(Age::Arrival, "arrival"), (Age::Joined, "joined")];
}

/// Which jobs leave a backfill queue that overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverflowMoves {
    /// The oldest job.
    #[default]
    Oldest,
    /// Those that come last in the queue's order.
    Lowest,
    /// The newest job.
    Newest,
}

impl OverflowMoves {
    /// Every value, with its name on the command line.
    pub const ALL: [(OverflowMoves, &'static str); 3] = [
        (OverflowMoves::Oldest, "oldest"),
        (OverflowMoves::Lowest, "lowest"),
        (OverflowMoves::Newest, "newest"),
    ];
}

/// What happens to jobs that leave a backfill queue. All go to the job queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// And stay there.
    #[default]
    Queue,
    /// Local ones are offered to other sites as well.
    Migrate,
}

impl Overflow {
    /// Every value, with its name on the command line.
    pub const ALL: [(Overflow, &'static str); 2] =
        [(Overflow::Queue, "queue"), (Overflow::Migrate, "migrate")];
}

/// Who is sure of one of the job queue's reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guard {
    /// The oldest job, whatever its class.
    #[default]
    Oldest,
    /// No job beyond what its class gives: as printed, and long jobs may starve.
    Nobody,
}

impl Guard {
    /// Every value, with its name on the command line.
    pub const ALL: [(Guard, &'static str); 2] =
        [(Guard::Oldest, "oldest"), (Guard::Nobody, "nobody")];
}

/// Whether a reservation is kept after the pass that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reserve {
    /// It is kept, and only moves closer, whatever arrives.
    #[default]
    Kept,
    /// Every pass withdraws all reservations and makes them again, for the jobs that come first by
    /// then: a job may lose its reservation to one that arrived later.
    Replanned,
}

impl Reserve {
    /// Every value, with its name on the command line.
    pub const ALL: [(Reserve, &'static str); 2] =
        [(Reserve::Kept, "kept"), (Reserve::Replanned, "replanned")];
}

/// The switches of [`MultiQueue`](super::MultiQueue).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MultiQueueSettings {
    /// α: how many jobs of the job queue hold a reservation. With none, no job is promised
    /// anything.
    pub alpha: Alpha,
    /// β: at so many jobs a backfill queue overflows.
    pub beta: NonZeroU32,
    /// A job moves to the job queue once so many jobs have started here while it waited to be
    /// backfilled; `None`: however many, as printed, and such jobs may starve.
    pub patience: Option<NonZeroU32>,
    /// Where large, medium and small jobs meet.
    pub borders: Borders,
    /// Among remote jobs, what decides first.
    pub remote_classes: RemoteClasses,
    /// Whether short jobs stand before long ones.
    pub short_first: ShortFirst,
    /// What makes one job older than another.
    pub age: Age,
    /// Which jobs leave a backfill queue that overflows.
    pub moves: OverflowMoves,
    /// What happens to them.
    pub overflow: Overflow,
    /// Who is sure of a reservation.
    pub guard: Guard,
    /// Whether reservations are kept. The paper does not say.
    pub reserve: Reserve,
}

/// When a job came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    /// When its user submitted it, wherever that was.
    pub(super) submitted: Time,
    /// The how manyeth it was to join the site.
    pub(super) joined: i64,
}

/// The latest moment that ranks tell apart from later ones: what a rank has place for beside a class.
const LAST: i64 = (1 << 55) - 1;

/// From here on the paper sees little influence.
const DEFAULT_BETA: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);
/// Measured: the mean wait is close to that without patience, the longest far below it.
const DEFAULT_PATIENCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(255);

impl Default for MultiQueueSettings {
    fn default() -> MultiQueueSettings {
        MultiQueueSettings {
            alpha: Alpha::DEFAULT,
            beta: DEFAULT_BETA,
            patience: Some(DEFAULT_PATIENCE),
            borders: Borders::default(),
            remote_classes: RemoteClasses::default(),
            short_first: ShortFirst::default(),
            age: Age::default(),
            moves: OverflowMoves::default(),
            overflow: Overflow::default(),
            guard: Guard::default(),
            reserve: Reserve::default(),
        }
    }
}

impl MultiQueueSettings {
    /// With α in thousandths and β; everything else as by default.
    ///
    /// # Errors
    /// If α is more than 1,000 or β is 0.
    pub fn new(alpha: u32, beta: u32) -> Result<MultiQueueSettings, MultiQueueSettingsError> {
        let alpha = Alpha::from_thousandths(alpha)?;
        let beta = NonZeroU32::new(beta).ok_or(MultiQueueSettingsError::Beta)?;
        Ok(MultiQueueSettings { alpha, beta, ..MultiQueueSettings::default() })
    }

    /// The same with this patience.
    ///
    /// # Errors
    /// If it is 0.
    pub fn with_patience(
        self,
        patience: Option<u32>,
    ) -> Result<MultiQueueSettings, MultiQueueSettingsError> {
        let some = |limit| NonZeroU32::new(limit).ok_or(MultiQueueSettingsError::Patience);
        Ok(MultiQueueSettings { patience: patience.map(some).transpose()?, ..self })
    }

    /// J_r = ceil(α·J_n): how many of so many jobs in the job queue hold a reservation.
    pub fn reservations(&self, queued: usize) -> usize {
        (queued * self.alpha.0 as usize).div_ceil(1_000)
    }

    /// A number that is lower for older jobs; equals go by their ids. Ids follow the order of
    /// submission within one grid; jobs that came from other grids are compared by the moment.
    pub(super) fn age_of(&self, came: Came) -> i64 {
        match self.age {
            Age::Arrival => came.submitted.0.clamp(0, LAST),
            Age::Joined => came.joined,
        }
    }

    /// Which job leaves a full backfill queue first: the lowest.
    pub(super) fn turn(&self, key: i64, came: Came, job: JobId) -> (i64, i64) {
        let id = i64::from(job.0);
        let age = self.age_of(came);
        match self.moves {
            OverflowMoves::Oldest => (age, id),
            OverflowMoves::Newest => (-age, -id),
            OverflowMoves::Lowest => (-key, -id),
        }
    }
}
