//! Offers: windows that users were quoted, and those that they booked.

mod asides;
mod groups;
mod keep;
pub mod promise;
mod reason;
mod update;

use std::collections::BTreeMap;

use tradewind_io::submission::OnBreach;
use tradewind_model::{Money, Place, PoolId, Price, Share, Span, Time, TimeMode};

use super::ApplyError;
use super::jobs::{Happening, Jobs};
pub use promise::{BreachReason, OfferOutcome, Promise};

/// Quotes that may be accepted.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// By their numbers.
    pub(crate) quotes: BTreeMap<u64, Quote>,
    /// The last quote's number.
    pub(crate) last: u64,
}

/// A window that a user may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its number.
    pub number: u64,
    /// Whose.
    pub user: String,
    /// What for: the submission must ask for the same.
    pub tasks: u32,
    /// For how long.
    pub work: Span,
    /// How that is counted.
    pub times: TimeMode,
    /// Where and when.
    pub booking: Booking,
    /// What it costs at most.
    pub cost: Money,
    /// Until when it may be accepted.
    pub expires: Time,
    /// A job that accepts it starts so much after the window's start at the latest; `None`: of an
    /// older release, or for a peer's job, and nothing is promised.
    pub slack: Option<Span>,
}

/// Nodes that are set aside for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// From when on.
    pub start: Time,
    /// Until when, by share of the place.
    pub ends: Vec<Time>,
    /// Where.
    pub place: Place,
    /// What it pays per node and second, by share of the place.
    pub prices: Vec<Price>,
    /// Of a job whose tasks differ: its parts, a group may have several. Then the place has the nodes
    /// of all groups by pool, and each of its ends is that of the longest part there.
    pub groups: Option<Vec<BookedPart>>,
}

/// Nodes of one pool that a job gets in its window for tasks that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookedPart {
    /// Which of the job's groups of tasks they are for, from 0 on; 0 where all tasks are equal.
    pub group: u32,
    /// Where, and how many.
    pub share: Share,
    /// Until when.
    pub end: Time,
    /// What it pays per node and second.
    pub price: Price,
}

impl Booking {
    /// The window of a job whose tasks differ, in these parts; `price` is what a pool asks of a task
    /// for so long.
    pub fn of_groups(
        start: Time,
        parts: impl IntoIterator<Item = (u32, Share, Span)>,
        price: impl Fn(PoolId, Span) -> Price,
    ) -> Booking {
        let (mut pools, mut groups) = (BTreeMap::new(), Vec::new());
        for (group, share, length) in parts {
            let end = start + length;
            let (nodes, last) = pools.entry(share.pool).or_insert((0, end));
            *nodes += share.nodes;
            *last = end.max(*last);
            groups.push(BookedPart { group, share, end, price: price(share.pool, length) });
        }
        let share =
            |(pool, (nodes, _)): (&PoolId, &(u32, Time))| Share { pool: *pool, nodes: *nodes };
        let place = Place::counted(pools.iter().map(share).collect());
        let prices = pools.iter().map(|(pool, (_, end))| price(*pool, *end - start)).collect();
        let ends = pools.values().map(|(_, end)| *end).collect();
        Booking { start, ends, place, prices, groups: Some(groups) }
    }

    /// The parts that a job of so many tasks gets: one for each share of the place, or those of its
    /// groups.
    pub fn parts(&self, tasks: u32) -> Vec<BookedPart> {
        if let Some(groups) = &self.groups {
            return groups.clone();
        }
        let shares = self.place.shares(tasks).zip(&self.ends).zip(&self.prices);
        let part = |((share, end), price): ((Share, &Time), &Price)| BookedPart {
            group: 0,
            share,
            end: *end,
            price: *price,
        };
        shares.map(part).collect()
    }

    /// What it costs a job of so many tasks at most.
    pub fn max(&self, tasks: u32) -> Money {
        let cost = |part: &BookedPart| part.price.of(part.share.nodes, part.end - self.start);
        self.parts(tasks).iter().map(cost).sum()
    }

    /// What must be free for it, by part: all nodes of the part's pool that it needs until the part's
    /// end.
    pub(in crate::live) fn needs(&self, tasks: u32) -> Vec<BookedPart> {
        let parts = self.parts(tasks);
        let nodes = |part: &BookedPart| {
            let lasts = |it: &&BookedPart| it.share.pool == part.share.pool && it.end >= part.end;
            parts.iter().filter(lasts).map(|it| it.share.nodes).sum()
        };
        let with = |part: &BookedPart| {
            let share = Share { pool: part.share.pool, nodes: nodes(part) };
            BookedPart { share, ..*part }
        };
        parts.iter().map(with).collect()
    }

    /// How long ago its start is at `at`.
    pub(in crate::live) fn late_by(&self, at: Time) -> Span {
        Span((at - self.start).0.max(0))
    }

    /// The same window, so much later.
    fn later_by(&self, late: Span) -> Booking {
        let ends = self.ends.iter().map(|end| *end + late).collect();
        let later = |part: &BookedPart| BookedPart { end: part.end + late, ..*part };
        let groups = self.groups.as_ref().map(|groups| groups.iter().map(later).collect());
        Booking { start: self.start + late, ends, groups, ..self.clone() }
    }
}

/// What is written down of quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferRecord {
    /// A quote was given.
    Quoted {
        /// With its number, the next one.
        quote: Quote,
    },
    /// A quote was accepted; or it has expired, if there is no job.
    Taken {
        /// Which.
        quote: u64,
        /// By which job.
        job: Option<u64>,
    },
    /// A job that accepted a quote has begun in its window, not later than promised.
    Kept {
        /// Which.
        job: u64,
        /// When its work began.
        began: Time,
    },
    /// A job that accepted a quote did not get its window, or lost it.
    Breached {
        /// Which.
        job: u64,
        /// Why.
        why: BreachReason,
    },
    /// A job's own side gave its window up: its user cancelled it, or it cannot be paid.
    Voided {
        /// Which.
        job: u64,
        /// Why.
        why: String,
    },
    /// What happens with a job if its window is not kept.
    OnBreach {
        /// Which.
        job: u64,
        /// What.
        then: OnBreach,
    },
}

impl Offers {
    /// When the first quote expires. Linear in the quotes.
    pub(super) fn first_expiry(&self) -> Option<Time> {
        self.quotes.values().map(|quote| quote.expires).min()
    }

    /// Makes one change; a job that accepts a quote has its booking.
    pub(super) fn apply(
        &mut self,
        at: Time,
        record: &OfferRecord,
        jobs: &mut Jobs,
    ) -> Result<(), ApplyError> {
        match record {
            OfferRecord::Quoted { quote } => {
                if quote.number != self.last + 1 {
                    return Err(ApplyError::Other("a quote's number is not the next one"));
                }
                self.last = quote.number;
                self.quotes.insert(quote.number, quote.clone());
            }
            OfferRecord::Taken { quote, job } => {
                let gone = self.quotes.remove(quote);
                let gone = gone.ok_or(ApplyError::Other("a quote that is not known"))?;
                if let Some(job) = job {
                    let job = jobs.job(*job)?;
                    job.is_as_wide_as(gone.tasks, None);
                    // Older releases promised nothing, and kept the window as it was.
                    let late = gone.slack.map_or(Span::ZERO, |_| gone.booking.late_by(at));
                    let window = gone.booking.later_by(late);
                    job.booking = Some(window.clone());
                    job.promises.extend(gone.promised(at, window, job.submission.on_breach));
                }
            }
            OfferRecord::Kept { job, began } => {
                jobs.promise(*job)?.outcome = OfferOutcome::Kept(*began);
                jobs.note(at, *job, Happening::Kept)?;
            }
            OfferRecord::Breached { job, why } => {
                jobs.promise(*job)?.outcome = OfferOutcome::Breached(at, why.clone());
                jobs.note(at, *job, Happening::Breached(why.clone()))?;
            }
            OfferRecord::Voided { job, why } => {
                jobs.promise(*job)?.outcome = OfferOutcome::Void(why.clone());
            }
            OfferRecord::OnBreach { job, then } => jobs.promise(*job)?.on_breach = *then,
        }
        Ok(())
    }
}

impl Quote {
    /// What a job is promised that accepts it.
    fn promised(
        self,
        accepted: Time,
        window: Booking,
        on_breach: Option<OnBreach>,
    ) -> Option<Promise> {
        Some(Promise {
            quote: self.number,
            accepted,
            nodes: self.tasks,
            window,
            cost: self.cost,
            slack: self.slack?,
            on_breach: on_breach.unwrap_or_default(),
            outcome: OfferOutcome::Open,
        })
    }
}

impl Jobs {
    /// The offer that the job accepted last, to be changed.
    fn promise(&mut self, job: u64) -> Result<&mut Promise, ApplyError> {
        self.job(job)?.promises.last_mut().ok_or(ApplyError::Job(job))
    }
}
