//! The market's state as documents: what each caller may see of it.

pub(crate) mod accounts;
pub(crate) mod amounts;
pub(crate) mod at_peer;
pub(crate) mod choice;
pub(crate) mod failures;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod limits;
pub(crate) mod market;
pub(crate) mod offers;
pub(crate) mod peers;
mod price_limit;
pub(crate) mod projects;
pub(crate) mod promises;
pub(crate) mod reports;
pub(crate) mod sentence;
#[cfg(test)]
mod sentence_states;
pub(crate) mod shadow;
pub(crate) mod sites;
pub(crate) mod spending;
pub(crate) mod starts;
pub(crate) mod status;
pub(crate) mod trends;
pub(crate) mod usage;
pub(crate) mod words;
