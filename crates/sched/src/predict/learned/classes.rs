//! Runs by class of jobs.

use std::collections::BTreeMap;

use tradewind_model::Span;

use super::spread::{BINS, ClassRuns, Spread, bin_of};
use crate::predict::Submission;

/// How many runs what the level above says counts as.
const PRIOR: f64 = 1.0;
/// What earlier runs of a class still count when one more comes: of all jobs that ask for about as
/// long, of an account's, of a user's, of those that ask for as long, of those that are as wide, of
/// those of one name, and of those with one script on as many nodes.
const KEPT: [f32; 7] = [0.999, 0.99, 0.9, 0.85, 0.7, 0.7, 0.7];
/// Classes that are kept of a user on each level; the one that was used longest ago goes first.
const CLASSES: usize = 32;

/// All classes.
#[derive(Debug)]
pub(super) struct RunClasses {
    by_request: [ClassRuns; BINS],
    accounts: BTreeMap<u64, ClassRuns>,
    users: BTreeMap<i64, UserRuns>,
}

impl Default for RunClasses {
    fn default() -> RunClasses {
        RunClasses {
            by_request: std::array::from_fn(|_| ClassRuns::default()),
            accounts: BTreeMap::new(),
            users: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default)]
struct UserRuns {
    all: ClassRuns,
    by_request: Recent<Span>,
    by_shape: Recent<(Span, u32)>,
    by_name: Recent<u64>,
    by_script: Recent<(u64, u32)>,
}

impl RunClasses {
    /// How long such a job runs, at most `longest`.
    pub(super) fn spread(&self, what: &Submission, longest: Span) -> Spread {
        let Submission { requested, processors, traits, .. } = *what;
        let mut spread = Spread::unknown(longest);
        spread.refine(&self.by_request[bin_of(requested)], PRIOR);
        let account = traits.account.and_then(|account| self.accounts.get(&account));
        account.into_iter().for_each(|runs| spread.refine(runs, PRIOR));
        let Some(user) = self.users.get(&what.user) else { return spread };
        let special = [
            Some(&user.all),
            user.by_request.get(&requested),
            user.by_shape.get(&(requested, processors)),
            traits.name.and_then(|name| user.by_name.get(&name)),
            traits.script.and_then(|script| user.by_script.get(&(script, processors))),
        ];
        special.into_iter().flatten().for_each(|runs| spread.refine(runs, PRIOR));
        spread
    }

    pub(super) fn learn(&mut self, what: &Submission, run: Span) {
        let bin = bin_of(run);
        let Submission { requested, processors, traits, .. } = *what;
        self.by_request[bin_of(requested)].add(bin, KEPT[0]);
        if let Some(account) = traits.account {
            self.accounts.entry(account).or_default().add(bin, KEPT[1]);
        }
        let user = self.users.entry(what.user).or_default();
        user.all.add(bin, KEPT[2]);
        user.by_request.of(requested).add(bin, KEPT[3]);
        user.by_shape.of((requested, processors)).add(bin, KEPT[4]);
        if let Some(name) = traits.name {
            user.by_name.of(name).add(bin, KEPT[5]);
        }
        if let Some(script) = traits.script {
            user.by_script.of((script, processors)).add(bin, KEPT[6]);
        }
    }

    /// The most classes that any user has on a level.
    #[cfg(test)]
    pub(super) fn most(&self) -> usize {
        let of = |user: &UserRuns| {
            let requests = [user.by_request.classes.len(), user.by_shape.classes.len()];
            let works = [user.by_name.classes.len(), user.by_script.classes.len()];
            requests.into_iter().chain(works).max().unwrap_or(0)
        };
        self.users.values().map(of).max().unwrap_or(0)
    }
}

/// A bounded number of classes, by key.
#[derive(Debug)]
struct Recent<K> {
    /// With the turn at which each was used last.
    classes: BTreeMap<K, (u64, ClassRuns)>,
    turn: u64,
}

impl<K> Default for Recent<K> {
    fn default() -> Recent<K> {
        Recent { classes: BTreeMap::new(), turn: 0 }
    }
}

impl<K: Ord + Copy> Recent<K> {
    fn get(&self, key: &K) -> Option<&ClassRuns> {
        self.classes.get(key).map(|(_, runs)| runs)
    }

    fn of(&mut self, key: K) -> &mut ClassRuns {
        self.turn += 1;
        if self.classes.len() >= CLASSES && !self.classes.contains_key(&key) {
            let oldest =
                self.classes.iter().min_by_key(|(_, (turn, _))| *turn).map(|(key, _)| *key);
            oldest.into_iter().for_each(|oldest| _ = self.classes.remove(&oldest));
        }
        let (turn, runs) = self.classes.entry(key).or_default();
        *turn = self.turn;
        runs
    }
}
