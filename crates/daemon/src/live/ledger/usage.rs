//! What users have used, of which less counts the longer ago it was: for a policy that begins.

use std::collections::BTreeMap;

use tradewind_model::Time;

use crate::live::state::State;

/// After so long, use counts half.
const HALF_LIFE_S: i64 = 7 * 86_400;

impl State {
    /// By the users' places: processor-seconds of jobs that are kept, each halved for every
    /// half-life since it ended, linearly in between. A policy with a half-life of its own goes on
    /// from there.
    pub fn usage(&self, at: Time) -> BTreeMap<i64, u64> {
        let mut usage = BTreeMap::new();
        let places: BTreeMap<&str, i64> = self
            .jobs
            .users
            .iter()
            .enumerate()
            .map(|(place, user)| (user.as_str(), place as i64))
            .collect();
        for job in self.jobs.values() {
            let (Some(place), Some(ended)) = (places.get(job.user.as_str()), job.ended()) else {
                continue;
            };
            let used = job.parts().iter().filter_map(|part| {
                let (end, _) = part.exit.as_ref()?;
                Some(i128::from((*end - job.works_since(part)?).0.max(0)) * i128::from(part.nodes))
            });
            let used = decayed(used.sum(), (at - ended).0.max(0));
            if used > 0 {
                *usage.entry(*place).or_insert(0) += used;
            }
        }
        usage
    }
}

/// So much use, so long after: exact at whole half-lives, a straight line between them.
fn decayed(used: i128, age: i64) -> u64 {
    let (lives, rest) = (age / HALF_LIFE_S, i128::from(age % HALF_LIFE_S));
    let full = used >> lives.min(100);
    let left = full - full * rest / i128::from(2 * HALF_LIFE_S);
    u64::try_from(left).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_halves_with_every_half_life() {
        assert_eq!(decayed(1_000, 0), 1_000);
        assert_eq!(decayed(1_000, HALF_LIFE_S / 2), 750);
        assert_eq!(decayed(1_000, HALF_LIFE_S), 500);
        assert_eq!(decayed(1_000, 3 * HALF_LIFE_S), 125);
        assert_eq!(decayed(1_000, i64::MAX), 0);
    }
}
