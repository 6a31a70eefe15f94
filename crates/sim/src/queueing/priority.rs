//! One server and classes of jobs: the highest class that waits is served next, no job is
//! interrupted.

use super::error::{BadParameter, Place, QueueingError, checked_rate};
use super::mix::shares_sum_to_one;
use super::moments::{Infinite, Moments};
use super::single::stable;

/// Jobs of one priority.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The chance that an arriving job is of it.
    pub share: f64,
    /// How long it is served.
    pub service: Moments,
}

/// What a class has to wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassAnswer {
    /// The chance that a job is of it.
    pub share: f64,
    /// The load that it brings.
    pub load: f64,
    /// Mean time in the queue, without service.
    pub wait: f64,
    /// Mean of wait / service time.
    pub slowdown: Result<f64, Infinite>,
}

/// What all have to wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Priority {
    /// The load of all classes.
    pub load: f64,
    /// From the highest class to the lowest.
    pub classes: Vec<ClassAnswer>,
    /// The mean over jobs of their time in the queue.
    pub wait: f64,
    /// The mean over jobs of wait + service: eq. 6.
    pub stay: f64,
    /// The mean over jobs of wait / service time.
    pub slowdown: Result<f64, Infinite>,
}

/// M/G/1 with non-preemptive priorities, the highest class first (Cobham 1954; eq. 3–6 of paper
/// 003): class j waits λE(X²) / 2 / ((1 − σ_{j−1})(1 − σ_j)), where σ_j is the load of the classes
/// up to j. Exact. O(classes).
///
/// # Errors
/// Shares that do not sum to 1, no rate above 0, a load of 1 or more, or E(X²) infinite.
pub fn priority(rate: f64, classes: &[Class]) -> Result<Priority, QueueingError> {
    checked_rate(rate)?;
    let shares: Vec<f64> = classes.iter().map(|class| class.share).collect();
    shares_sum_to_one("classes", &shares)?;
    let mixed = Moments::mixed(classes.iter().map(|class| (class.share, &class.service)));
    let all = mixed.ok_or(BadParameter::None("classes"))?;
    let mut above = 0.0;
    let mut answers = Vec::with_capacity(classes.len());
    for (index, class) in classes.iter().enumerate() {
        let load = rate * class.share * class.service.mean;
        let upto = stable(above + load, rate, Place::Class(index))?;
        let wait = rate * all.square? / (2.0 * (1.0 - above) * (1.0 - upto));
        let slowdown = class.service.inverse.map(|inverse| wait * inverse);
        answers.push(ClassAnswer { share: class.share, load, wait, slowdown });
        above = upto;
    }
    let wait = answers.iter().map(|class| class.share * class.wait).sum::<f64>();
    let slowdown = answers.iter().map(|class| Ok(class.share * class.slowdown?)).sum();
    Ok(Priority { load: above, classes: answers, wait, stay: wait + all.mean, slowdown })
}
