//! A site whose processors are cut into partitions with a queue each, by ranges of widths.

use super::error::{BadParameter, Place, QueueingError, checked_rate};
use super::mix::Mix;
use super::moments::Infinite;
use super::readings::{Equation, Reading, Readings};
use super::single::stable;

/// A site and what arrives there.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Number of processors.
    pub processors: u32,
    /// Arrivals per time at this site: eq. 15.
    pub rate: f64,
    /// The mix of arriving jobs.
    pub mix: &'a Mix,
    /// How misprints are taken.
    pub readings: Readings,
}

/// A partition and its queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partition {
    /// Its processors, and the widest job that it takes.
    pub processors: u32,
    /// The chance that a job is wider than the partition before and fits this one: eq. 16.
    pub share: f64,
    /// Offered load of the partition, by eq. 18.
    pub load: f64,
    /// Mean time in the queue, without service: eq. 19. 0 where nothing arrives.
    pub wait: f64,
    /// Mean of wait / run time. 0 where nothing arrives.
    pub slowdown: Result<f64, Infinite>,
}

/// A site's partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioned {
    /// From the narrowest to the widest.
    pub partitions: Vec<Partition>,
    /// The largest load of a partition.
    pub load: f64,
    /// The mean over jobs of their time in the queue: eq. 20, as corrected.
    pub wait: f64,
    /// The mean over jobs of wait / run time: eq. 22.
    pub slowdown: Result<f64, Infinite>,
}

/// A site cut into partitions of `sizes`, each an M/G/1 queue of the jobs that are wider than the
/// partition before and fit it (eq. 14–20, 22): one job at a time, however narrow. Run times may
/// differ by width. Exact for this model, which is none of a site that runs jobs side by side.
/// O(sizes × widths).
///
/// # Errors
/// Sizes that do not grow, do not sum to the processors or are too small for the widest job; no
/// rate above 0; a load of 1 or more; or E(X²) infinite.
pub fn partitioned(site: &Site<'_>, sizes: &[u32]) -> Result<Partitioned, QueueingError> {
    checked_rate(site.rate)?;
    check(site, sizes)?;
    let mut above = 0;
    let mut partitions = Vec::with_capacity(sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        partitions.push(partition(site, index, (above, *size))?);
        above = *size;
    }
    let load = partitions.iter().map(|partition| partition.load).fold(0.0, f64::max);
    let equal = 1.0 / sizes.len() as f64;
    let weight = |partition: &Partition| match site.readings.of(Equation::E20) {
        Reading::Corrected => partition.share,
        Reading::Printed => equal,
    };
    let wait = partitions.iter().map(|it| weight(it) * it.wait).sum();
    let slowdown = match site.readings.of(Equation::E20) {
        Reading::Corrected => partitions.iter().map(|it| Ok(it.share * it.slowdown?)).sum(),
        Reading::Printed => site.mix.runs().inverse.map(|inverse| wait * inverse),
    };
    Ok(Partitioned { partitions, load, wait, slowdown })
}

/// The partition for widths above the first number up to the second.
fn partition(
    site: &Site<'_>,
    index: usize,
    (above, size): (u32, u32),
) -> Result<Partition, QueueingError> {
    let (share, runs) = site.mix.between(above, size);
    let Some(runs) = runs else {
        let slowdown = Ok(0.0);
        return Ok(Partition { processors: size, share: 0.0, load: 0.0, wait: 0.0, slowdown });
    };
    let rate = site.rate * share;
    let load = stable(rate * runs.mean, site.rate, Place::Partition(index))?;
    let wait = rate * runs.square? / (2.0 * (1.0 - load));
    let slowdown = runs.inverse.map(|inverse| wait * inverse);
    Ok(Partition { processors: size, share, load, wait, slowdown })
}

fn check(site: &Site<'_>, sizes: &[u32]) -> Result<(), BadParameter> {
    let largest = *sizes.last().ok_or(BadParameter::None("partitions"))?;
    let grow = sizes[0] > 0 && sizes.windows(2).all(|pair| pair[0] < pair[1]);
    let sum = sizes.iter().map(|size| u64::from(*size)).sum();
    let (processors, widest) = (site.processors, site.mix.widest());
    match () {
        () if !grow => Err(BadParameter::NotIncreasing { sizes: sizes.to_vec() }),
        () if sum != u64::from(processors) => Err(BadParameter::Sum { sum, processors }),
        () if largest < widest => Err(BadParameter::TooWide { widest, largest }),
        () => Ok(()),
    }
}
