//! One server, first come, first served.

use super::error::{Place, QueueingError, Unstable, checked_rate};
use super::moments::{Infinite, Moments};

/// What a station makes jobs wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Work that arrives per time and server, below 1.
    pub load: f64,
    /// Mean time in the queue, without service.
    pub wait: f64,
    /// Mean of wait / service time: wait × E(1/X), since who waits first come, first served waits
    /// independently of the own service.
    pub slowdown: Result<f64, Infinite>,
}

/// M/G/1: λE(X²) / (2(1 − ρ)), ρ = λE(X) (Pollaczek and Khinchine). Exact.
///
/// # Errors
/// No rate above 0, a load of 1 or more, or E(X²) infinite.
pub fn mg1(rate: f64, service: &Moments) -> Result<Answer, QueueingError> {
    let load = stable(checked_rate(rate)? * service.mean, rate, Place::Server)?;
    let wait = rate * service.square? / (2.0 * (1.0 - load));
    Ok(Answer { load, wait, slowdown: service.inverse.map(|inverse| wait * inverse) })
}

/// `load`, if it is below 1; it grows in proportion to `rate`.
pub(super) fn stable(load: f64, rate: f64, place: Place) -> Result<f64, Unstable> {
    match load < 1.0 {
        true => Ok(load),
        false => Err(Unstable { place, load, rate_below: rate / load, servers_from: None }),
    }
}
