//! What users have used, less the longer it is ago: who has had least comes first.
//!
//! Use is counted in processor-seconds, whatever the processors are worth, while jobs run. It loses
//! half of its weight in every half-life, moment by moment: after a job of p processors has run for
//! t, it counts as p·∫2^(−x/h)dx over [0, t], h being the half-life.
//!
//! All in integers, so that the same calls lead to the same answers on every machine. Between two
//! calls a number is off by some parts in ten million at most.

use std::collections::BTreeMap;

use tradewind_model::{Command, JobId, Market, Place, Share, Span, Time};

/// A user's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserShare {
    /// Number of the user.
    pub user: i64,
    /// Processor-seconds, decayed, rounded down.
    pub used: u64,
}

/// Fractions of one.
const BITS: u32 = 48;
const ONE: u64 = 1 << BITS;
/// 2^(−1/2), 2^(−1/4), 2^(−1/8), …: of [`ONE`], rounded down.
const ROOTS: [u64; BITS as usize] = roots();
/// 1/ln 2 of [`ONE`].
const LOG2_E: u128 = 406_082_553_034_799;
/// Processor-seconds are kept in such parts.
const PARTS: u32 = 20;
/// As much as is ever kept of one user: 16 million processors for a thousand years.
const MAX: u128 = 1 << (60 + PARTS);

const fn roots() -> [u64; BITS as usize] {
    let mut roots = [0; BITS as usize];
    let (mut at, mut last) = (0, (ONE / 2) as u128);
    while at < roots.len() {
        last = (last << BITS).isqrt();
        roots[at] = last as u64;
        at += 1;
    }
    roots
}

/// 2^(−span/half) of [`ONE`].
fn decay(span: Span, half: Span) -> u64 {
    let (span, half) = (span.0.max(0).unsigned_abs(), half.0.max(1).unsigned_abs());
    let halvings = span / half;
    if halvings >= u64::from(BITS) {
        return 0;
    }
    let part = (u128::from(span % half) << BITS) / u128::from(half);
    let mut left = ONE >> halvings;
    for (at, root) in (1..).zip(ROOTS) {
        if part >> (BITS - at) & 1 == 1 {
            left = ((u128::from(left) * u128::from(root)) >> BITS) as u64;
        }
    }
    left
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// In [`PARTS`] of a processor-second.
    used: u128,
    /// Processors of running jobs.
    holds: u32,
}

/// The books of a policy that puts jobs in the order of fair shares.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    half_life: Span,
    /// The moment up to which the books are kept; `None` until the first call.
    now: Option<Time>,
    accounts: BTreeMap<i64, Account>,
}

impl Usage {
    /// No user has used anything so far.
    pub(super) fn new(half_life: Span) -> Usage {
        Usage { half_life, now: None, accounts: BTreeMap::new() }
    }

    /// What users had used when the policy began.
    pub(super) fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        for (user, used) in usage {
            let used = (u128::from(*used) << PARTS).min(MAX);
            self.accounts.insert(*user, Account { used, holds: 0 });
        }
    }

    /// Counts what ran up to now, and notes who holds nodes from now on. O(users + running jobs).
    pub(super) fn follow(&mut self, market: &Market) {
        self.pass_to(market.now());
        self.accounts.values_mut().for_each(|account| account.holds = 0);
        for job in market.running() {
            let holds = job.shares().map(|share| share.nodes).sum();
            self.hold(job.demand.terms().user, holds);
        }
        self.accounts.retain(|_, account| account.used > 0 || account.holds > 0);
    }

    /// Notes who starts by these commands.
    pub(super) fn started(&mut self, market: &Market, commands: &[Command]) {
        for command in commands {
            if let Command::Start { job, place } = command {
                self.start(market, *job, place);
            }
        }
    }

    fn start(&mut self, market: &Market, job: JobId, place: &Place) {
        let Some(demand) = market.demand(job) else { return };
        let nodes = |share: Share| share.nodes;
        self.hold(demand.terms().user, place.shares(demand.processors).map(nodes).sum());
    }

    fn hold(&mut self, user: i64, processors: u32) {
        let account = self.accounts.entry(user).or_default();
        account.holds = account.holds.saturating_add(processors);
    }

    fn pass_to(&mut self, now: Time) {
        let span = self.now.replace(now).map_or(Span::ZERO, |before| now - before);
        if span.0 <= 0 {
            return;
        }
        let left = decay(span, self.half_life);
        let half = u128::from(self.half_life.0.clamp(1, 1 << 40).unsigned_abs());
        // A processor's use since then: h/ln 2 · (1 − 2^(−span/h)).
        let lost = u128::from(ONE - left) * half;
        let each = ((lost >> PARTS) * LOG2_E) >> (2 * (BITS - PARTS));
        for account in self.accounts.values_mut() {
            let kept = (account.used >> PARTS) * u128::from(left);
            let rest = (account.used & ((1 << PARTS) - 1)) * u128::from(left);
            let kept = (kept >> (BITS - PARTS)) + (rest >> BITS);
            account.used = (kept + each * u128::from(account.holds)).min(MAX);
        }
    }

    /// What a user counts for, in parts of a processor-second.
    pub(super) fn key(&self, user: i64) -> i64 {
        let used = self.accounts.get(&user).map_or(0, |account| account.used);
        i64::try_from(used).unwrap_or(i64::MAX)
    }

    /// All users who have used something up to `now`, least first, then by user.
    pub(super) fn standing(&self, now: Time) -> Vec<UserShare> {
        let mut books = self.clone();
        books.pass_to(now);
        let standing = |(user, account): (&i64, &Account)| {
            let used = u64::try_from(account.used >> PARTS).unwrap_or(u64::MAX);
            (account.used, UserShare { user: *user, used })
        };
        let mut all: Vec<(u128, UserShare)> = books.accounts.iter().map(standing).collect();
        all.sort_by_key(|(used, it)| (*used, it.user));
        all.into_iter().map(|(_, standing)| standing).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usage(half: i64, holds: u32) -> Usage {
        let mut usage = Usage::new(Span(half));
        usage.pass_to(Time(0));
        usage.hold(7, holds);
        usage
    }

    fn used(usage: &Usage) -> f64 {
        usage.accounts[&7].used as f64 / f64::from(1 << PARTS)
    }

    #[test]
    fn half_is_forgotten_in_a_half_life() {
        assert_eq!(decay(Span(0), Span(10)), ONE);
        assert_eq!([decay(Span(10), Span(10)), decay(Span(30), Span(10))], [ONE / 2, ONE / 8]);
        assert_eq!(decay(Span(480), Span(10)), 0);
        let mut usage = Usage::new(Span(604_800));
        usage.resume(&BTreeMap::from([(7, 1 << 40), (8, 0), (9, 3)]));
        usage.pass_to(Time(0));
        usage.pass_to(Time(604_800));
        let standing: Vec<_> =
            usage.standing(Time(604_800)).iter().map(|it| (it.user, it.used)).collect();
        assert_eq!(standing, [(8, 0), (9, 1), (7, 1 << 39)]);
    }

    proptest! {
        #[test]
        fn use_is_the_integral_in_whatever_steps(
            half in 1i64..3_000_000, holds in 1u32..100_000, run in 1i64..5_000_000,
            rest in 0i64..5_000_000, steps in 1i64..40,
        ) {
            let h = half as f64;
            let whole = h / std::f64::consts::LN_2 * (1.0 - (-run as f64 / h).exp2());
            let expected = f64::from(holds) * whole * (-rest as f64 / h).exp2();
            let mut stepped = usage(half, holds);
            (1..=steps).for_each(|step| stepped.pass_to(Time(run * step / steps)));
            let mut once = usage(half, holds);
            once.pass_to(Time(run));
            for usage in [&mut stepped, &mut once] {
                usage.accounts.get_mut(&7).unwrap().holds = 0;
                usage.pass_to(Time(run + rest));
                let off = (used(usage) - expected).abs();
                prop_assert!(off <= 1e-5 * expected + 0.1, "{} {expected}", used(usage));
            }
        }
    }
}
