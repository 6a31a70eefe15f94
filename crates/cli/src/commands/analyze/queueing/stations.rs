//! Puts the question to the library, rate by rate.

use tradewind_sim::queueing::{
    self as theory, Class, Law, Moments, QueueingError, Queues, Readings, Servers, Setup, Site,
};

use super::answers::{Point, StationAnswer};
use super::args::{Args, Station};
use super::arrivals::{Arrivals, refused};
use super::values::Classes;
use crate::exit::Failure;

/// What came out.
pub(super) struct Solved {
    /// Model by model, by ascending rate.
    pub(super) points: Vec<Point>,
    /// How long jobs run: under `priority`, those of all classes.
    pub(super) runs: Moments,
}

pub(super) fn solve(args: &Args, arrivals: &Arrivals) -> Result<Solved, Failure> {
    let classes = classes(args, arrivals)?;
    let mut points = Vec::with_capacity(args.model.len() * arrivals.rates.len());
    for model in &args.model {
        let question =
            StationQuestion { args, arrivals, classes: &classes, readings: args.readings(*model) };
        for rate in &arrivals.rates {
            let answer = question.at(*rate).map(|answer| match args.waits_only {
                true => answer.waits_only(),
                false => answer,
            });
            let point = Point::of(model.name(), *rate, answer);
            points.push(point.map_err(|error| refused(args.station.name(), &error))?);
        }
    }
    let mixed = || Moments::mixed(classes.iter().map(|class| (class.share, &class.service)));
    let runs = match args.station {
        Station::Priority => mixed().unwrap_or(*arrivals.mix.runs()),
        _ => *arrivals.mix.runs(),
    };
    Ok(Solved { points, runs })
}

/// Classes with their services: of the valuation in the network, of whole jobs elsewhere.
fn classes(args: &Args, arrivals: &Arrivals) -> Result<Vec<Class>, Failure> {
    let moments = |option: &str, law: &Law| law.moments().map_err(|error| refused(option, &error));
    let valuation = args.valuation.as_ref().unwrap_or(&Law::Deterministic { value: 0.0 });
    let common: Moments = match args.station {
        Station::Network => moments("--valuation", valuation)?,
        _ => *arrivals.mix.runs(),
    };
    let class = |(share, law): &(f64, Option<Law>)| {
        let service = law.as_ref().map_or(Ok(common), |law| moments("--classes", law))?;
        Ok(Class { share: *share, service })
    };
    match &args.classes {
        Some(Classes(given)) => given.iter().map(class).collect(),
        None => (0..4).map(|_| class(&(0.25, None))).collect(),
    }
}

struct StationQuestion<'a> {
    args: &'a Args,
    arrivals: &'a Arrivals,
    classes: &'a [Class],
    readings: Readings,
}

impl StationQuestion<'_> {
    fn at(&self, rate: f64) -> Result<StationAnswer, QueueingError> {
        let runs = self.arrivals.mix.runs();
        let count = self.args.servers.unwrap_or(self.arrivals.sites);
        let servers = Servers { count, rate };
        match self.args.station {
            Station::Network => {
                theory::network(rate, &self.setup()).map(|it| StationAnswer::network(&it))
            }
            Station::Mg1 => theory::mg1(rate, runs).map(StationAnswer::station),
            Station::Priority => {
                theory::priority(rate, self.classes).map(|it| StationAnswer::priority(&it))
            }
            Station::Mmm => theory::mmm(servers, runs.mean, self.readings)
                .map(|(load, wait)| StationAnswer::exponential(load, wait)),
            Station::Mgm => theory::mgm(servers, runs, self.readings).map(StationAnswer::station),
            Station::Partitioned => self.partitioned(rate).map_err(|error| self.of_grid(error)),
        }
    }

    fn setup(&self) -> Setup {
        Setup {
            sites: self.arrivals.sites,
            processors: self.arrivals.processors,
            classes: self.classes.to_vec(),
            mix: self.arrivals.mix.clone(),
            queues: self.queues(),
            readings: self.readings,
        }
    }

    fn queues(&self) -> Queues {
        match &self.args.partitions {
            Some(sizes) => Queues::Sizes(sizes.0.clone()),
            None => Queues::Best { count: self.args.queues, goal: self.args.goal() },
        }
    }

    /// One of the sites, which are all alike.
    fn partitioned(&self, rate: f64) -> Result<StationAnswer, QueueingError> {
        let Arrivals { mix, processors, sites, .. } = self.arrivals;
        let rate = rate / f64::from(*sites);
        let site = Site { processors: *processors, rate, mix, readings: self.readings };
        let sizes = match self.queues() {
            Queues::Sizes(sizes) => sizes,
            Queues::Best { count, goal } => theory::best(&site, count, goal)?,
        };
        theory::partitioned(&site, &sizes).map(|it| StationAnswer::partitioned(&it))
    }

    /// A site's limit, as the rate of the grid.
    fn of_grid(&self, error: QueueingError) -> QueueingError {
        match error {
            QueueingError::Unstable(mut why) => {
                why.rate_below *= f64::from(self.arrivals.sites);
                QueueingError::Unstable(why)
            }
            other => other,
        }
    }
}
