//! How sites pass jobs to each other: discover → volunteer → commit → migrate → done (paper 004,
//! figure 7a, made safe).
//!
//! A [`Negotiator`] per site is a state machine without clock, network or files: what happens goes
//! in as [`Input`], what is to be done comes out as [`Output`]. A simulator and a daemon carry the
//! same messages.
//!
//! The promise: **a job is owned by one site at any time, and no two sites may run it**, whatever
//! messages are lost, doubled, late or out of order, and whenever sites stop and come back. It
//! rests on four rules.
//!
//! 1. A job belongs to its origin until a volunteer writes down [`Entry::Took`]; that entry is the
//!    passing of ownership.
//! 2. From [`Entry::Handing`] on, written before the first `Migrate` leaves, the origin neither
//!    runs the job nor offers it, until it gets `Done` or `Returned`.
//! 3. A volunteer answers every `Migrate` of one transfer alike: the verdict is a tombstone,
//!    written before the answer leaves.
//! 4. Serials are never used twice, and an origin says with every message below which serial it
//!    has got all results. Tombstones below it may go, and a `Migrate` below it is late and
//!    means nothing. So tombstones are few, and no clock decides how long they are kept.
//!
//! Everything before `Migrate` is soft: it may be forgotten by either side without harm, and a
//! volunteer keeps its own jobs first all the while.

mod choice;
mod durable;
mod machine;
mod message;
mod origin;
mod settings;
#[cfg(test)]
mod tests;
mod volunteer;

pub use durable::{Durable, Entry, Handing, Tombstones, TransferVerdict};
pub use machine::{Host, Input, Member, Negotiator, Output, Pledged, Preference};
pub use message::{
    Body, Envelope, Kind, Offer, Parcel, Peer, Serial, SiteMemory, SiteStatus, StartQuote, Ticket,
};
pub use settings::{Choose, Discover, NegotiationSettings, NegotiationSettingsError};
