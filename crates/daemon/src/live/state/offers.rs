//! Offers: windows that users were quoted, and those that they booked.

use std::collections::BTreeMap;

use tradewind_io::submission::OnBreach;
use tradewind_model::{Money, Span, Time, TimeMode};

use super::ApplyError;
use super::jobs::{Booking, BreachReason, Happening, Jobs, OfferOutcome, Promise};

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
    pub(in crate::live) fn first_expiry(&self) -> Option<Time> {
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
