//! Several like servers of one queue, first come, first served.

use super::error::{BadParameter, Place, QueueingError, Unstable, checked_rate};
use super::moments::Moments;
use super::readings::{Equation, Reading, Readings};
use super::single::Answer;

/// What arrives at how many servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// Number of servers.
    pub count: u32,
    /// Arrivals per time.
    pub rate: f64,
}

/// Erlang's B: the probability that all of `count` servers are busy if no job can wait, for an
/// offered load of `offered` Erlang. By B(k) = aB(k−1) / (k + aB(k−1)): no factorials, so any
/// number of servers. Exact but for rounding; O(count).
pub fn erlang_b(count: u32, offered: f64) -> f64 {
    (1..=count).fold(1.0, |blocked, k| {
        let busy = offered * blocked;
        busy / (f64::from(k) + busy)
    })
}

/// Erlang's C: the chance to wait for one of `count` servers, for `offered` Erlang below `count`;
/// 1 from there on. Exact but for rounding; O(count).
pub fn erlang_c(count: u32, offered: f64) -> f64 {
    let load = offered / f64::from(count);
    if load >= 1.0 {
        return 1.0;
    }
    let blocked = erlang_b(count, offered);
    blocked / (1.0 - load * (1.0 - blocked))
}

/// M/M/m: C · E(X) / (m(1 − ρ)), C Erlang's, for exponential times of this mean; eq. 9–11 of paper
/// 003. There is no slowdown: E(1/X) is infinite. Exact with corrected readings; O(m).
///
/// # Errors
/// No rate above 0, no servers, or a load of 1 or more.
pub fn mmm(servers: Servers, mean: f64, readings: Readings) -> Result<(f64, f64), QueueingError> {
    let Servers { count, rate } = servers;
    checked_rate(rate)?;
    if count == 0 {
        return Err(BadParameter::NoServers.into());
    }
    let load = match readings.of(Equation::E9) {
        Reading::Corrected => rate * mean / f64::from(count),
        Reading::Printed => rate * mean,
    };
    if load >= 1.0 {
        let servers_from = match readings.of(Equation::E9) {
            Reading::Corrected => Some((rate * mean).floor() as u64 + 1),
            Reading::Printed => None,
        };
        let place = Place::Servers(count);
        return Err(Unstable { place, load, rate_below: rate / load, servers_from }.into());
    }
    let offered = load * f64::from(count);
    let chance = match readings.of(Equation::E10) {
        Reading::Corrected => erlang_c(count, offered),
        Reading::Printed => nobody(count, offered),
    };
    Ok((load, chance * load / (1.0 - load) / rate))
}

/// M/G/m: the wait of M/M/m times (1 + cv²) / 2 (Lee and Longton 1959; Nozaki and Ross 1978); eq. 8
/// and 12 of paper 003, which lack the half. Exact for one server and for exponential times, an
/// approximation else, the better the higher the load: in our simulations of five servers
/// (`tests/queueing.rs`) too low by 6 % for nearly constant times at a load of 0.7, and within the
/// confidence limits of 5 % for Weibull times of shape 2 at 0.85. O(m).
///
/// # Errors
/// As [`mmm`], or E(X²) infinite.
pub fn mgm(
    servers: Servers,
    service: &Moments,
    readings: Readings,
) -> Result<Answer, QueueingError> {
    let (load, exponential) = mmm(servers, service.mean, readings)?;
    let factor = match readings.of(Equation::E8) {
        Reading::Corrected => (1.0 + service.variation()?) / 2.0,
        Reading::Printed => 1.0 + service.variation()?,
    };
    let wait = exponential * factor;
    Ok(Answer { load, wait, slowdown: service.inverse.map(|inverse| wait * inverse) })
}

/// The probability p0 of an empty system: what eq. 10 has for P_N. From Erlang's C, whose
/// p0 · a^m / (m!(1 − ρ)) it is.
fn nobody(count: u32, offered: f64) -> f64 {
    let m = f64::from(count);
    let chance = erlang_c(count, offered);
    // Of very light loads C underflows, and p0 is e^(−a) to the last bit.
    if chance < f64::MIN_POSITIVE {
        return libm::exp(-offered);
    }
    let log = libm::log(chance) + libm::lgamma(m + 1.0) + libm::log(1.0 - offered / m);
    libm::exp(log - m * libm::log(offered))
}
