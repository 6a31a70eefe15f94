//! Which orders sites were sent, and when each is sent again if it is still wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tradewind_model::SiteId;

use crate::live::{Act, Instruction};
use crate::site::{SiteError, Tag};

/// So long after an order has failed, or was answered and is still wanted, it is sent again; each further
/// time after twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Sent {
    site: SiteId,
    /// Not before.
    again: Instant,
    /// How often in a row it had the same kind of answer: that it was carried out, or not.
    answers: u32,
    /// Of the last of them.
    was_ok: bool,
    /// It was answered since it was sent last.
    is_answered: bool,
}

/// Orders that were sent and not carried out yet, as far as is known.
#[derive(Debug)]
pub(super) struct SentOrders {
    orders: BTreeMap<(Tag, Act), Sent>,
    /// Sites whose last survey failed.
    lost: BTreeSet<SiteId>,
    /// How long a site has to answer, and the longest pause after a failure.
    patience: Duration,
}

impl SentOrders {
    pub(super) fn new(patience: Duration) -> SentOrders {
        SentOrders { orders: BTreeMap::new(), lost: BTreeSet::new(), patience }
    }

    /// Forgets all that was sent: it is sent again at once.
    pub(super) fn clear(&mut self) {
        self.orders.clear();
    }

    /// Whether the order is not to be sent now.
    pub(super) fn is_told(&self, tag: &Tag, act: Act, now: Instant) -> bool {
        self.orders.get(&(tag.clone(), act)).is_some_and(|sent| now < sent.again)
    }

    /// The orders leave now.
    pub(super) fn sent(&mut self, orders: &[Instruction], now: Instant) {
        // One that failed and is not wanted any more is not sent again.
        let patience = self.patience;
        self.orders.retain(|_, sent| now < sent.again + patience);
        for order in orders {
            let again = now + patience;
            let sent = self.orders.entry((order.tag.clone(), order.act));
            let (site, answers) = (order.site, 0);
            let new = Sent { site, again, answers, was_ok: false, is_answered: false };
            let sent = sent.or_insert(new);
            (sent.again, sent.is_answered) = (again, false);
        }
    }

    /// A site that cannot be reached would get an order that failed hundreds of times a second if it
    /// were sent again at once. The same goes for a withdrawal, which is wanted until the task is over: a
    /// site says yes at once, and stopping may take minutes.
    pub(super) fn answered(
        &mut self,
        (tag, act): (&Tag, Act),
        answer: &Result<(), SiteError>,
        now: Instant,
    ) {
        let order = (tag.clone(), act);
        if answer.is_ok() && act != Act::Withdraw {
            self.orders.remove(&order);
        } else if let (Err(SiteError::Staging), Some(sent)) = (answer, self.orders.get_mut(&order))
        {
            // All goes well there.
            sent.again = now + FIRST_PAUSE;
        } else if let Some(sent) = self.orders.get_mut(&order) {
            if answer.is_ok() != sent.was_ok {
                (sent.answers, sent.was_ok) = (0, answer.is_ok());
            }
            let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(sent.answers));
            sent.answers = sent.answers.saturating_add(1);
            (sent.again, sent.is_answered) = (now + pause.min(self.patience), true);
        }
    }

    /// A survey came, or failed. When a site is back, what it could not do is sent again at once.
    pub(super) fn surveyed(&mut self, site: SiteId, answers: bool) {
        if !answers {
            self.lost.insert(site);
        } else if self.lost.remove(&site) {
            self.orders.retain(|_, sent| sent.site != site || !sent.is_answered);
            let left = self.orders.values_mut().filter(|sent| sent.site == site);
            left.for_each(|sent| sent.answers = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn refused() -> Result<(), SiteError> {
        Err(SiteError::Away(String::new()))
    }

    fn order(job: u64) -> Instruction {
        let tag = Tag { market: "m".to_owned(), job, attempt: 0, part: 0 };
        let (site, act) = (SiteId(0), Act::Withdraw);
        Instruction { site, tag, act, order: None, go: None, signal: None }
    }

    /// Sends the order and lets it fail; how many seconds later it is sent again.
    fn pause_after_failure(told: &mut SentOrders, now: &mut Instant) -> u64 {
        pause_after(told, &refused(), now)
    }

    /// The same with any answer.
    fn pause_after(
        told: &mut SentOrders,
        answer: &Result<(), SiteError>,
        now: &mut Instant,
    ) -> u64 {
        let order = order(1);
        told.sent(std::slice::from_ref(&order), *now);
        told.answered((&order.tag, order.act), answer, *now);
        let begin = *now;
        while told.is_told(&order.tag, order.act, *now) {
            *now += Duration::from_secs(1);
        }
        (*now - begin).as_secs()
    }

    #[test]
    fn an_order_that_fails_again_and_again_waits_longer_each_time() {
        let (mut told, mut now) = (SentOrders::new(PATIENCE), Instant::now());
        let pauses: Vec<u64> = (0..8).map(|_| pause_after_failure(&mut told, &mut now)).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
        // One that was carried out and is wanted once more begins with the first pause.
        told.answered((&order(1).tag, Act::Withdraw), &Ok(()), now);
        assert_eq!(pause_after_failure(&mut told, &mut now), 1);
    }

    /// It is wanted until the task is over, and every site says yes at once.
    #[test]
    fn a_withdrawal_of_a_task_that_stops_slowly_is_not_sent_all_the_time() {
        let (mut told, mut now) = (SentOrders::new(PATIENCE), Instant::now());
        let pauses: Vec<u64> = (0..7).map(|_| pause_after(&mut told, &Ok(()), &mut now)).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause_after_failure(&mut told, &mut now), 1);
        assert_eq!(pause_after_failure(&mut told, &mut now), 2);
        // A controller that was away may have lost it.
        assert_eq!(pause_after(&mut told, &Ok(()), &mut now), 1);
        told.sent(&[order(1)], now);
        told.answered((&order(1).tag, Act::Withdraw), &Ok(()), now);
        told.surveyed(SiteId(0), false);
        assert!(told.is_told(&order(1).tag, Act::Withdraw, now));
        told.surveyed(SiteId(0), true);
        assert!(!told.is_told(&order(1).tag, Act::Withdraw, now));
    }

    #[test]
    fn when_a_site_is_back_what_failed_there_is_sent_again_at_once() {
        let (mut told, mut now) = (SentOrders::new(PATIENCE), Instant::now());
        told.surveyed(SiteId(0), false);
        for _ in 0..6 {
            pause_after_failure(&mut told, &mut now);
        }
        told.sent(&[order(1), order(2), order(3)], now);
        for job in [1, 2] {
            told.answered((&order(job).tag, Act::Withdraw), &refused(), now);
        }
        now += Duration::from_secs(2);
        told.sent(&[order(2)], now);
        let is_told = |told: &SentOrders| {
            [1, 2, 3].map(|job| told.is_told(&order(job).tag, Act::Withdraw, now))
        };
        told.surveyed(SiteId(1), true);
        assert_eq!(is_told(&told), [true; 3], "it is not back");
        told.surveyed(SiteId(0), true);
        assert_eq!(
            is_told(&told),
            [false, true, true],
            "what may still be answered is not sent twice"
        );
        assert_eq!(pause_after_failure(&mut told, &mut now), 1);
        // Surveys that come while orders fail change nothing.
        told.surveyed(SiteId(0), true);
        assert_eq!(pause_after_failure(&mut told, &mut now), 2);
    }

    #[test]
    fn orders_that_are_not_wanted_any_more_are_forgotten() {
        let (mut told, now) = (SentOrders::new(PATIENCE), Instant::now());
        told.sent(&[order(1), order(2)], now);
        told.answered((&order(1).tag, Act::Withdraw), &refused(), now);
        told.sent(&[], now + Duration::from_secs(31));
        assert_eq!(told.orders.keys().map(|(tag, _)| tag.job).collect::<Vec<_>>(), [2]);
        told.sent(&[], now + PATIENCE + PATIENCE);
        assert!(told.orders.is_empty());
    }
}
