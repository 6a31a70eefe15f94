//! What carries messages and jobs between sites.

use std::fmt::Debug;

use tradewind_model::{Span, Time};

use crate::negotiation::{Envelope, Parcel, Peer};

/// What a site hears from the network, or what happens to its negotiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A message has arrived.
    Message(Envelope),
    /// The negotiator of this site is down: it forgets what it has not written down, and neither
    /// sends nor receives. The site's nodes and its scheduler go on.
    Stopped(Peer),
    /// It is up again.
    Restarted(Peer),
}

/// A network between autonomous sites. It may lose, repeat, delay and reorder messages.
pub trait Transport: Debug + Send {
    /// Sends a message.
    fn send(&mut self, now: Time, envelope: Envelope);

    /// The next signal that has arrived by `now`. Messages to a negotiator that is down do not
    /// arrive.
    fn receive(&mut self, now: Time) -> Option<Signal>;

    /// When the next signal arrives, if that is known.
    fn next(&self) -> Option<Time>;

    /// The data of a job of this width, in megabytes.
    fn data_mb(&self, processors: u32) -> u64;

    /// How long a job with its data takes at most from one site to another, unless something
    /// fails.
    fn transfer(&self, parcel: &Parcel, from: Peer, to: Peer) -> Span;

    /// What it has counted, under names of measures.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The transport of sites that do not negotiate. It has no values.
#[derive(Debug, Clone, Copy)]
pub enum NoTransport {}

impl Transport for NoTransport {
    fn send(&mut self, _: Time, _: Envelope) {
        match *self {}
    }

    fn receive(&mut self, _: Time) -> Option<Signal> {
        match *self {}
    }

    fn next(&self) -> Option<Time> {
        match *self {}
    }

    fn data_mb(&self, _: u32) -> u64 {
        match *self {}
    }

    fn transfer(&self, _: &Parcel, _: Peer, _: Peer) -> Span {
        match *self {}
    }
}
