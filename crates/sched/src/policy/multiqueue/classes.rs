//! Which queue a job goes to, and who comes first there.

use tradewind_model::Span;

use super::settings::{MultiQueueSettings, RemoteClasses, ShortFirst};
use crate::policy::local::Origin;

/// Where large, medium and small jobs meet, on a site of n processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Borders {
    /// Equations (2) to (4): small below ⌊n/3⌋, large from ⌊2n/3⌋ on.
    #[default]
    Paper,
    /// The pseudo-code of figure 4: small up to n/3, large above 2n/3.
    Pseudo,
}

/// A site's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteQueues {
    /// Large jobs, and those that waited too long elsewhere. Some hold a reservation.
    Job,
    /// Medium jobs and remote ones.
    First,
    /// The backfill queue of small jobs.
    Second,
}

impl Borders {
    /// Every value, with its name on the command line.
    pub const ALL: [(Borders, &'static str); 2] =
        [(Borders::Paper, "paper"), (Borders::Pseudo, "pseudo")];

    /// The queue of a local job of so many processors.
    pub fn queue(self, site: u32, processors: u32) -> SiteQueues {
        let (n, wide) = (u64::from(site), u64::from(processors));
        let (small, large) = match self {
            Borders::Paper => (wide < n / 3, wide >= 2 * n / 3),
            Borders::Pseudo => (3 * wide <= n, 3 * wide > 2 * n),
        };
        match (small, large) {
            (_, true) => SiteQueues::Job,
            (true, false) => SiteQueues::Second,
            (false, false) => SiteQueues::First,
        }
    }
}

/// The mean run time of jobs that were completed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mean {
    sum: i128,
    count: u32,
}

impl Mean {
    pub(super) fn add(&mut self, ran: Span) {
        self.sum += i128::from(ran.0);
        self.count += 1;
    }

    /// Equations (5) and (6). Before the first completion every job is taken to be as long as
    /// the mean, and so long.
    pub(super) fn is_long(&self, length: Span) -> bool {
        i128::from(length.0) * i128::from(self.count) >= self.sum
    }
}

/// A job as its site classifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassifiedJob {
    pub(super) queue: SiteQueues,
    pub(super) origin: Origin,
    /// Not shorter than the mean.
    long: bool,
    /// A remote job of half the site's processors or more.
    large: bool,
}

/// Ranks of jobs in the job queue are below this.
pub(super) const JOB_QUEUE: i64 = key(2, 0);

/// A rank's key: tiers one after another, in each of them four classes.
const fn key(tier: i64, class: i64) -> i64 {
    (4 * tier + class) << 56
}

impl ClassifiedJob {
    /// Of a job of so many processors on a site, given the site's mean.
    pub(super) fn new(
        borders: Borders,
        [site, processors]: [u32; 2],
        long: bool,
        origin: Origin,
    ) -> ClassifiedJob {
        let queue = match origin {
            Origin::Local => borders.queue(site, processors),
            Origin::Remote => SiteQueues::First,
        };
        ClassifiedJob { queue, origin, long, large: processors >= site / 2 }
    }

    /// The same job in the job queue.
    pub(super) fn promoted(self) -> ClassifiedJob {
        ClassifiedJob { queue: SiteQueues::Job, ..self }
    }

    /// Its place in the order of all waiting jobs, apart from its age: the job queue, then medium,
    /// then small, then remote jobs; in each of them by class.
    pub(super) fn key(self, settings: &MultiQueueSettings) -> i64 {
        let long = i64::from(self.long && settings.short_first == ShortFirst::On);
        let small = i64::from(!self.large);
        match (self.queue, self.origin) {
            (SiteQueues::Job, Origin::Local) => key(0, long),
            (SiteQueues::Job, Origin::Remote) => key(1, long),
            (_, Origin::Remote) => match settings.remote_classes {
                RemoteClasses::WidthFirst => key(4, 2 * small + long),
                RemoteClasses::LengthFirst => key(4, 2 * long + small),
            },
            (SiteQueues::First, Origin::Local) => key(2, long),
            (SiteQueues::Second, Origin::Local) => key(3, long),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_differ_at_the_borders_only() {
        let of = |borders: Borders| {
            (1..=10).map(|wide| borders.queue(10, wide) as i64).collect::<Vec<_>>()
        };
        assert_eq!(of(Borders::Paper), [2, 2, 1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(of(Borders::Pseudo), [2, 2, 2, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(Borders::Paper.queue(1, 1), SiteQueues::Job);
        assert_eq!(Borders::Paper.queue(2, 1), SiteQueues::Job);
    }

    #[test]
    fn a_job_is_long_from_the_mean_on() {
        let mut mean = Mean::default();
        assert!(mean.is_long(Span(1)));
        mean.add(Span(4));
        mean.add(Span(5));
        assert!(!mean.is_long(Span(4)) && mean.is_long(Span(5)));
    }

    #[test]
    fn local_jobs_stand_before_remote_ones_and_short_ones_before_long_ones() {
        let class = |processors, long, origin| {
            ClassifiedJob::new(Borders::Paper, [12, processors], long, origin)
                .key(&MultiQueueSettings::default())
        };
        let local =
            [8, 4, 1].map(|wide| [false, true].map(|long| class(wide, long, Origin::Local)));
        let remote = [6, 5].map(|wide| [false, true].map(|long| class(wide, long, Origin::Remote)));
        let all: Vec<i64> = local.into_iter().chain(remote).flatten().collect();
        assert!(all.is_sorted_by(|one, two| one < two));
    }
}
