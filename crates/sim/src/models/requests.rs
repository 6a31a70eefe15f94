//! Whose the jobs of a model are, and what their users ask for: models of run times and widths
//! say neither.

use tradewind_model::Span;

use super::DrawnJob;
use super::draws::{Draws, wide};

/// Users with unequal shares and habits, and requests above the run time.
///
/// The r-th of `users` users has 1/r of the first one's share of the jobs (Zipf's law), as
/// recorded logs roughly have it. In every [`Requests::BLOCK`] jobs in a row, the users drawn for
/// them are dealt out by habit: those with a taste for long jobs get the long ones. So a user's
/// jobs resemble each other, and predictions from a user's last runs mean something; the run
/// times and widths themselves stay as they were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requests {
    /// How many users there are; at least 1.
    pub users: u32,
    /// The requested over the run time, in thousandths: each in the range is equally likely;
    /// below 1,000 counts as 1,000.
    pub factor: (u32, u32),
    /// Requests are rounded up to a multiple of this.
    pub rounded_to: Span,
}

impl Default for Requests {
    /// 64 users who ask for one to four times the run time, in whole minutes.
    fn default() -> Requests {
        Requests { users: 64, factor: (1_000, 4_000), rounded_to: Span(60) }
    }
}

impl Requests {
    /// Jobs that share out their users by habit.
    pub const BLOCK: usize = 64;

    /// Users who know how long their jobs run.
    pub fn exact() -> Requests {
        Requests { factor: (1_000, 1_000), rounded_to: Span(1), ..Requests::default() }
    }

    /// Gives each job a user and a requested time.
    pub fn apply(&self, seed: u64, jobs: &mut [DrawnJob]) {
        let mut factors = Draws::new(seed, "request-factor");
        let range = wide(self.factor);
        let step = self.rounded_to.0.max(1);
        for job in jobs.iter_mut() {
            let factor = factors.within(range).max(1_000);
            let asked = up_to_multiple(job.run.0.saturating_mul(factor), 1_000) / 1_000;
            let rounded = up_to_multiple(asked, step);
            job.requested = Span(rounded.clamp(job.run.0, Span::MAX.0));
        }
        let mut users = Draws::new(seed, "user");
        let (shares, habits) = (self.shares(), self.habits(seed));
        for block in jobs.chunks_mut(Self::BLOCK) {
            let mut drawn: Vec<usize> = block.iter().map(|_| users.weighted(&shares)).collect();
            drawn.sort_unstable_by_key(|user| habits[*user]);
            let mut by_run: Vec<usize> = (0..block.len()).collect();
            by_run.sort_by_key(|job| block[*job].run);
            for (job, user) in by_run.into_iter().zip(drawn) {
                block[job].user = user as u32 + 1;
            }
        }
    }

    /// Sums of the users' shares so far, in billionths of the first one's.
    fn shares(&self) -> Vec<i64> {
        let share = |rank: u32| 1_000_000_000 / i64::from(rank);
        let mut sum = 0;
        let sums = (1..=self.users.max(1)).map(|rank| {
            sum += share(rank);
            sum
        });
        sums.collect()
    }

    /// Each user's taste for long jobs, and the user's index, so that no two are equal.
    fn habits(&self, seed: u64) -> Vec<(i64, u32)> {
        let mut habits = Draws::new(seed, "habit");
        (0..self.users.max(1)).map(|user| (habits.within((0, i64::MAX)), user)).collect()
    }
}

/// The minimum multiple of `step` that is not below `n`, neither being negative.
fn up_to_multiple(n: i64, step: i64) -> i64 {
    n.saturating_add(step - 1) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Poisson;

    fn drawn(requests: Requests) -> Vec<DrawnJob> {
        let mut jobs = Poisson::exponential().draw(1, 20_000);
        requests.apply(1, &mut jobs);
        jobs
    }

    #[test]
    fn requests_are_one_to_four_times_the_run_in_minutes() {
        let jobs = drawn(Requests::default());
        for job in &jobs {
            assert!(job.requested >= job.run && job.requested.0 % 60 == 0);
            assert!(job.requested.0 < 4 * job.run.0 + 60);
        }
        let mean: f64 = jobs.iter().map(|job| job.requested.0 as f64).sum::<f64>()
            / jobs.iter().map(|job| job.run.0 as f64).sum::<f64>();
        assert!((mean - 2.5).abs() < 0.05, "{mean}");
        assert!(drawn(Requests::exact()).iter().all(|job| job.requested == job.run));
    }

    #[test]
    fn a_users_jobs_resemble_each_other_and_shares_fall_with_the_rank() {
        let jobs = drawn(Requests::default());
        let of = |user: u32| jobs.iter().filter(move |job| job.user == user).count() as f64;
        assert!((of(1) / of(4) - 4.0).abs() < 0.8, "{} and {}", of(1), of(4));
        assert!(jobs.iter().all(|job| (1..=64).contains(&job.user)));
        // The mean of a user's last run is a better guess than the mean of all runs.
        let mean = jobs.iter().map(|job| job.run.0).sum::<i64>() / jobs.len() as i64;
        let mut last = [None; 65];
        let (mut by_user, mut by_mean) = (0, 0);
        for job in &jobs {
            if let Some(run) = last[job.user as usize] {
                by_user += (job.run.0 - i64::abs(run)).abs();
                by_mean += (job.run.0 - mean).abs();
            }
            last[job.user as usize] = Some(job.run.0);
        }
        assert!(by_user < by_mean / 2, "{by_user} against {by_mean}");
    }

    #[test]
    fn one_user_has_all() {
        let jobs = drawn(Requests { users: 1, ..Requests::default() });
        assert!(jobs.iter().all(|job| job.user == 1));
    }
}
