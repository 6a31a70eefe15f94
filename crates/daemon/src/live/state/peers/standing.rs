//! How far a peer is believed: offers that it kept and did not keep, and what may be at it at once.

use tradewind_model::Time;

use crate::live::state::jobs::BrokenOffer;

impl BrokenOffer {
    /// What it takes from the standing, thousandths.
    fn weight(self) -> u32 {
        match self {
            // Nodes fail everywhere.
            BrokenOffer::NotStarted | BrokenOffer::Lost => LEAST,
            _ => 3 * LEAST,
        }
    }
}

/// How a job that went to a peer was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerVerdict {
    /// It ran as was agreed, as far as can be seen.
    Kept,
    /// It did not; why.
    Broken(BrokenOffer),
}

/// Offers that a peer kept and did not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Offers that it kept.
    pub kept: u64,
    /// Offers that it did not keep.
    pub broken: u64,
    /// What is missing to full standing at `at`, thousandths.
    pub deficit: u32,
    /// When that was counted.
    pub at: Time,
}

/// What an offer that was not kept takes at least, thousandths.
const LEAST: u32 = 100;
/// Full standing.
pub const FULL: u32 = 1_000;
/// What a kept offer gives back.
const KEPT: u32 = 20;
/// In this time half of what is missing is forgotten.
const HALF: i64 = 86_400;

impl Standing {
    /// Thousandths at `now`: of what is missing, half is forgotten in a day, evenly within each.
    pub fn score(&self, now: Time) -> u32 {
        FULL - self.missing(now)
    }

    fn missing(&self, now: Time) -> u32 {
        let past = (now - self.at).0.max(0);
        let halved =
            self.deficit.min(FULL).checked_shr(u32::try_from(past / HALF).unwrap_or(u32::MAX));
        let halved = halved.unwrap_or(0);
        // Less than the deficit, so it fits.
        let within = i64::from(halved) * (past % HALF) / (2 * HALF);
        halved - u32::try_from(within).unwrap_or(0)
    }

    /// How many places of jobs are taken up by offers that were not kept: one for each
    /// [`LEAST`] that is missing of the standing.
    pub(in crate::live) fn places(&self, now: Time) -> usize {
        usize::try_from(self.missing(now).div_ceil(LEAST)).unwrap_or(usize::MAX)
    }

    /// One offer more.
    pub(in crate::live::state) fn judge(&mut self, now: Time, verdict: PeerVerdict) {
        let missing = self.missing(now);
        self.at = now;
        match verdict {
            PeerVerdict::Kept => {
                self.kept += 1;
                self.deficit = missing.saturating_sub(KEPT);
            }
            PeerVerdict::Broken(why) => {
                self.broken += 1;
                self.deficit = (missing + why.weight()).min(FULL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;

    const DAY: Span = Span(HALF);

    #[test]
    fn a_standing_falls_with_broken_offers_and_comes_back_with_time_and_kept_ones() {
        let mut standing = Standing::default();
        let begin = Time(1_800_000_000);
        assert_eq!(standing.score(begin), FULL);
        let broken = PeerVerdict::Broken(BrokenOffer::NoStart);
        standing.judge(begin, broken);
        standing.judge(begin, broken);
        assert_eq!((standing.broken, standing.score(begin)), (2, 400));
        assert_eq!(standing.score(begin + DAY), 700);
        assert_eq!(standing.score(begin + Span(2 * DAY.0)), 850);
        assert_eq!(standing.score(begin + Span(DAY.0 / 2)), 550);
        assert_eq!(standing.score(begin + Span(1_000 * DAY.0)), FULL);
        assert_eq!(standing.score(begin - DAY), 400, "clocks may step back");
        (0..5).for_each(|_| standing.judge(begin, PeerVerdict::Kept));
        assert_eq!((standing.kept, standing.score(begin)), (5, 500));
        (0..9).for_each(|_| standing.judge(begin, broken));
        assert_eq!(standing.score(begin), 0);
    }

    #[test]
    fn each_job_that_is_lost_takes_up_at_least_its_place() {
        let mut standing = Standing::default();
        let begin = Time(1_800_000_000);
        assert_eq!(standing.places(begin), 0);
        for lost in 1..=4 {
            standing.judge(begin + Span(lost * 60), PeerVerdict::Broken(BrokenOffer::Lost));
            let later = begin + Span(lost * 60 + 3_600);
            assert_eq!(standing.places(later), lost as usize);
        }
        (0..20).for_each(|_| standing.judge(begin + DAY, PeerVerdict::Kept));
        assert_eq!(standing.places(begin + DAY), 0, "kept offers give places back");
    }

    #[test]
    fn a_standing_never_falls_by_time_alone() {
        let standing = Standing { deficit: 777, at: Time(0), ..Standing::default() };
        let scores: Vec<u32> = (0..400).map(|step| standing.score(Time(step * 3_571))).collect();
        assert!(scores.is_sorted(), "{scores:?}");
    }
}
