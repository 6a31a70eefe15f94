//! The model of paper 003 for a whole metascheduler: three stations in a row.

use super::error::{Place, QueueingError};
use super::mix::Mix;
use super::moments::Infinite;
use super::optimum::{Goal, best};
use super::partition::{Partitioned, Site, partitioned};
use super::priority::{Class, Priority, priority};
use super::readings::{Equation, Reading, Readings};
use super::servers::{Servers, mgm};

/// A grid of like sites, and what arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Number of sites.
    pub sites: u32,
    /// Processors of each.
    pub processors: u32,
    /// Priority classes, the highest first, and how long each one's valuation takes.
    pub classes: Vec<Class>,
    /// Widths and run times of the jobs.
    pub mix: Mix,
    /// The partitions of each site.
    pub queues: Queues,
    /// How misprints are taken.
    pub readings: Readings,
}

/// A site's partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queues {
    /// Queues of these sizes.
    Sizes(Vec<u32>),
    /// The best of this many.
    Best {
        /// Number of queues.
        count: u32,
        /// The goal that the sizes serve best.
        goal: Goal,
    },
}

/// What one station adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationShare {
    /// The load of the station; of the fullest partition for the third.
    pub load: f64,
    /// W1, W2 or W3.
    pub wait: f64,
    /// S1, S2 or S3.
    pub slowdown: Result<f64, Infinite>,
}

/// The three stations together.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueingNetwork {
    /// Valuation, dispatching, execution.
    pub stages: [StationShare; 3],
    /// W1 + W2 + W3: eq. 23.
    pub wait: f64,
    /// S1 + S2 + S3: eq. 24.
    pub slowdown: Result<f64, Infinite>,
    /// The first station, class by class.
    pub valuation: Priority,
    /// The third, at each site.
    pub site: Partitioned,
}

/// Valuation by priority (M/G/1, Cobham), dispatching to the sites (M/G/m, a site being a server),
/// execution at a site (partitions, M/G/1 each): eq. 3–24 of paper 003, and 25 or 26 if partitions
/// are to be the best. W1 includes the valuation itself, as eq. 6 does.
///
/// An approximation through and through: arrivals at the second and third station are taken for
/// Poisson, and a job's run time is served twice, once by its site as a whole and once by a
/// partition of it. Costs as [`best`].
///
/// # Errors
/// As those of the three stations.
pub fn network(rate: f64, setup: &Setup) -> Result<QueueingNetwork, QueueingError> {
    let runs = setup.mix.runs();
    let valuation = priority(rate, &setup.classes).map_err(in_network)?;
    let first = StationShare {
        load: valuation.load,
        wait: valuation.stay,
        slowdown: valuation_slowdown(setup, &valuation),
    };
    let servers = Servers { count: setup.sites, rate };
    let dispatch = mgm(servers, runs, setup.readings).map_err(in_network)?;
    let second =
        StationShare { load: dispatch.load, wait: dispatch.wait, slowdown: dispatch.slowdown };
    let site = at_site(rate, setup)?;
    let factor = match setup.readings.of(Equation::E21) {
        Reading::Corrected => 1.0,
        Reading::Printed => rate,
    };
    let third = StationShare {
        load: site.load,
        wait: factor * site.wait,
        slowdown: site.slowdown.map(|slowdown| factor * slowdown),
    };
    let stages = [first, second, third];
    let wait = stages.iter().map(|stage| stage.wait).sum();
    let slowdown = stages.iter().map(|stage| stage.slowdown).sum();
    Ok(QueueingNetwork { stages, wait, slowdown, valuation, site })
}

/// Names a station after its part in the network.
fn in_network(error: QueueingError) -> QueueingError {
    let QueueingError::Unstable(mut why) = error else { return error };
    why.place = match why.place {
        Place::Class(index) => Place::Valuation(index),
        Place::Servers(count) => Place::Sites(count),
        other => other,
    };
    why.into()
}

/// S1: eq. 7.
fn valuation_slowdown(setup: &Setup, valuation: &Priority) -> Result<f64, Infinite> {
    match setup.readings.of(Equation::E7) {
        Reading::Corrected => Ok(valuation.stay * setup.mix.runs().inverse?),
        Reading::Printed => {
            let classes = valuation.classes.iter().zip(&setup.classes);
            classes
                .map(|(answer, class)| {
                    let stay = answer.wait + class.service.mean;
                    Ok(class.share * stay * class.service.inverse?)
                })
                .sum()
        }
    }
}

/// The third station: all sites are alike, so the mean over them is one of them. It is stable
/// whenever the second one is, for which a whole site is one server.
fn at_site(rate: f64, setup: &Setup) -> Result<Partitioned, QueueingError> {
    let Setup { processors, mix, readings, .. } = setup;
    let rate = rate / f64::from(setup.sites);
    let site = Site { processors: *processors, rate, mix, readings: *readings };
    match &setup.queues {
        Queues::Sizes(sizes) => partitioned(&site, sizes),
        Queues::Best { count, goal } => partitioned(&site, &best(&site, *count, *goal)?),
    }
}
