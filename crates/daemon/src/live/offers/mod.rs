//! Offers: windows that users were quoted, and those that they booked.

mod asides;

use std::collections::BTreeMap;

use tradewind_model::{Money, Place, Price, Span, Time, TimeMode};

use super::ApplyError;
use super::jobs::Jobs;

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
}

impl Booking {
    /// What it costs a job of so many tasks at most.
    pub fn max(&self, tasks: u32) -> Money {
        let shares = self.place.shares(tasks).zip(&self.ends).zip(&self.prices);
        shares.map(|((share, end), price)| price.of(share.nodes, *end - self.start)).sum()
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
}

impl Offers {
    /// Makes one change; a job that accepts a quote has its booking.
    pub(super) fn apply(
        &mut self,
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
                    job.booking = Some(gone.booking);
                }
            }
        }
        Ok(())
    }
}
