//! Policies of a grid without a centre: how sites schedule, and how they pass jobs to each other.

use tradewind_io::{decimal, duration};
use tradewind_model::{Pool, Pools, Span, Time};
use tradewind_sched::negotiation::{self, Choose, Discover, Peer};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::autonomous::{AutonomousSites, HomeRule};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::local::{LocalScheduler, Plain, PlainSettings, QueueOrder};
use tradewind_sched::policy::multiqueue::{
    self, Age, Alpha, Borders, Guard, MultiQueue, Overflow, OverflowMoves, RemoteClasses, Reserve,
    ShortFirst,
};
use tradewind_sim::network::{Faults, Links, NetworkPartition, NetworkSettings, Storm};

use crate::failure::Failure;

use super::parameters::{Wrong, depth, number, span, word};

/// What a site does with its own queues.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Site {
    /// Three queues (paper 004).
    Hybrid(multiqueue::MultiQueueSettings),
    /// One queue: the controls.
    Plain(PlainSettings),
}

/// Whether sites pass jobs to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migrate {
    On,
    Off,
}

/// When the first half of the sites and the second cannot reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    from: Time,
    /// `None`: it never heals.
    until: Option<Time>,
}

/// A grid without a centre.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Federal {
    pub(super) site: Site,
    pub(super) migrate: Migrate,
    negotiation: negotiation::NegotiationSettings,
    /// If the policy says so itself.
    rounds: Option<u32>,
    links: Links,
    /// Megabytes for every processor and for every job, if the policy says so itself.
    data: Option<u64>,
    base_data: Option<u64>,
    storm: Storm,
    cut: Option<Cut>,
    /// A parameter that was given and is about simulated networks alone.
    simulated: Option<&'static str>,
}

/// Parameters of [`Site::Hybrid`].
pub(super) const HYBRID: [&str; 11] = [
    "alpha",
    "beta",
    "patience",
    "guard",
    "reserve",
    "borders",
    "remote-classes",
    "short-first",
    "age",
    "moves",
    "overflow",
];

/// Parameters of [`Site::Plain`].
pub(super) const PLAIN: [&str; 2] = ["depth", "order"];

/// Parameters of both kinds of sites.
pub(super) const SITES: [&str; 20] = [
    "migrate",
    "choose",
    "discover",
    "rounds",
    "window",
    "offer-life",
    "tries",
    "retry-max",
    "pause",
    "horizon",
    "hops",
    "latency",
    "bandwidth",
    "data",
    "base-data",
    "loss",
    "doubles",
    "late",
    "lateness",
    "cut",
];

/// The longest that a late message is late, if nothing is said.
const LATENESS: Span = Span(60);

impl Federal {
    /// The multi-queue grid.
    pub(super) fn hybrid() -> Federal {
        Federal::of(Site::Hybrid(multiqueue::MultiQueueSettings::default()))
    }

    /// Sites with one queue each, of which so many jobs hold a reservation.
    pub(super) fn plain(depth: Depth) -> Federal {
        Federal::of(Site::Plain(PlainSettings { depth, turn: QueueOrder::Arrival }))
    }

    fn of(site: Site) -> Federal {
        Federal {
            site,
            migrate: Migrate::On,
            negotiation: negotiation::NegotiationSettings::default(),
            rounds: None,
            links: Links::default(),
            data: None,
            base_data: None,
            simulated: None,
            storm: Storm { lateness: LATENESS, ..Storm::CALM },
            cut: None,
        }
    }

    /// Whether anything is drawn from a seed.
    pub(super) fn draws(&self) -> bool {
        let Storm { loss, twice, late, .. } = self.storm;
        let samples = self.negotiation.discover != Discover::All;
        let (min, max) = self.links.latency;
        self.migrate == Migrate::On && (samples || min != max || loss + twice + late > 0)
    }

    /// Whether volunteers are chosen by their free memory.
    pub(super) fn chooses_by_memory(&self) -> bool {
        self.migrate == Migrate::On && self.negotiation.choose == Choose::Memory
    }

    /// Whether the network is cut for ever.
    pub(super) fn never_heals(&self) -> bool {
        self.migrate == Migrate::On && self.cut.is_some_and(|cut| cut.until.is_none())
    }

    pub(super) fn build(&self, pools: &Pools, seed: u64) -> Box<dyn Policy> {
        let sites = pools.as_slice().len() as u32;
        let settings = NetworkSettings {
            negotiation: (self.migrate == Migrate::On).then(|| self.negotiation()),
            links: self.simulated_links(),
            faults: self.faults(sites),
            seed,
        };
        Box::new(settings.sites(pools, |pool| self.site_of(pool)))
    }

    fn simulated_links(&self) -> Links {
        let Links { base_mb, per_processor_mb, .. } = self.links;
        Links {
            base_mb: self.base_data.unwrap_or(base_mb),
            per_processor_mb: self.data.unwrap_or(per_processor_mb),
            ..self.links
        }
    }

    fn site_of(&self, pool: &Pool) -> Box<dyn LocalScheduler> {
        match self.site {
            Site::Hybrid(settings) => Box::new(MultiQueue::new(pool.nodes, settings)),
            Site::Plain(settings) => Box::new(Plain::new(pool.nodes, settings)),
        }
    }

    /// On a live market each pool is a site. Jobs go to other markets, by the same rules as between
    /// the sites of a simulated grid; not between the pools of one market.
    pub(super) fn live(&self, name: &str, pools: &Pools) -> Result<Box<dyn Policy>, Failure> {
        let build = |pool: &Pool| self.site_of(pool);
        if let Some(key) = self.simulated {
            let message = format!("policy `{name}`: `{key}` is about a simulated network");
            let hint = "leave it out: between live markets the real network decides";
            return Err(Failure::usage(message).hint(hint));
        }
        if self.migrate == Migrate::On && self.negotiation.choose.goes_by_status() {
            let message = format!(
                "policy `{name}`: live markets state no slowdown, network use, memory or free processors"
            );
            let hint = "choose by `load`, `start` or `cost`";
            return Err(Failure::usage(message).hint(hint));
        }
        if self.migrate == Migrate::On {
            let links = Links {
                base_mb: self.base_data.unwrap_or(0),
                per_processor_mb: self.data.unwrap_or(0),
                ..self.links
            };
            let talks = (self.negotiation(), links);
            return Ok(Box::new(AutonomousSites::among_others(pools, talks, build)));
        }
        if let Site::Hybrid(multiqueue::MultiQueueSettings {
            overflow: Overflow::Migrate, ..
        }) = self.site
        {
            let message =
                format!("policy `{name}`: no job is passed on that `overflow=migrate` would offer");
            return Err(Failure::usage(message).hint("leave out `migrate=off`"));
        }
        Ok(Box::new(AutonomousSites::isolated(pools, HomeRule::FirstSuitable, build)))
    }

    /// A site that asks a few asks again by default.
    fn negotiation(&self) -> negotiation::NegotiationSettings {
        let rounds = match self.negotiation.discover {
            Discover::All => self.negotiation.rounds,
            Discover::Sample(choices) => negotiation::NegotiationSettings::sampling(choices).rounds,
        };
        negotiation::NegotiationSettings {
            rounds: self.rounds.unwrap_or(rounds),
            ..self.negotiation
        }
    }

    fn faults(&self, sites: u32) -> Faults {
        let partition = |Cut { from, until }| NetworkPartition {
            from,
            until: until.unwrap_or(Time::MAX),
            inside: (0..sites / 2).map(Peer).collect(),
        };
        Faults {
            storm: self.storm,
            until: Time::MAX,
            partitions: self.cut.map(partition).into_iter().collect(),
            stops: Vec::new(),
        }
    }
}

pub(super) fn set(to: &mut Federal, key: &str, value: &str) -> Result<(), Wrong> {
    match &mut to.site {
        Site::Hybrid(settings) if HYBRID.contains(&key) => hybrid(settings, key, value),
        Site::Plain(settings) if PLAIN.contains(&key) => plain(settings, key, value),
        _ => grid(to, key, value),
    }
}

fn hybrid(to: &mut multiqueue::MultiQueueSettings, key: &str, value: &str) -> Result<(), Wrong> {
    match key {
        "alpha" => to.alpha = alpha(value)?,
        "beta" => {
            to.beta = multiqueue::MultiQueueSettings::new(0, number(value, 0)?).map_err(said)?.beta;
        }
        "patience" => {
            let patience = if value == "none" { None } else { Some(number(value, 0)?) };
            *to = to.with_patience(patience).map_err(said)?;
        }
        "guard" => to.guard = word(value, &Guard::ALL)?,
        "reserve" => to.reserve = word(value, &Reserve::ALL)?,
        "borders" => to.borders = word(value, &Borders::ALL)?,
        "remote-classes" => to.remote_classes = word(value, &RemoteClasses::ALL)?,
        "short-first" => to.short_first = word(value, &ShortFirst::ALL)?,
        "age" => to.age = word(value, &Age::ALL)?,
        "moves" => to.moves = word(value, &OverflowMoves::ALL)?,
        _ => to.overflow = word(value, &Overflow::ALL)?,
    }
    Ok(())
}

fn said(error: multiqueue::MultiQueueSettingsError) -> Wrong {
    error.to_string().into()
}

fn alpha(text: &str) -> Result<Alpha, Wrong> {
    let share = decimal::parse(text, 3).ok().and_then(|it| u32::try_from(it).ok());
    share.and_then(|it| Alpha::from_thousandths(it).ok()).ok_or_else(|| {
        let message = "the share of jobs with a reservation is from 0 to 1, three decimals";
        message.to_owned().into()
    })
}

fn plain(to: &mut PlainSettings, key: &str, value: &str) -> Result<(), Wrong> {
    match key {
        "depth" => to.depth = depth(value)?,
        _ => {
            let name = match value {
                "fcfs" => "arrival",
                "sjf" => "shortest",
                name => name,
            };
            to.turn = word(name, &QueueOrder::ALL)?;
        }
    }
    Ok(())
}

fn grid(to: &mut Federal, key: &str, value: &str) -> Result<(), Wrong> {
    let knobs = &mut to.negotiation;
    match key {
        "migrate" => to.migrate = word(value, &[(Migrate::On, "on"), (Migrate::Off, "off")])?,
        "choose" => knobs.choose = word(value, &Choose::ALL)?,
        "discover" => knobs.discover = discover(value)?,
        "rounds" => to.rounds = Some(number(value, 1)?),
        "window" => knobs.window = span(value)?,
        "offer-life" => knobs.offer_life = span(value)?,
        "tries" => knobs.tries = number(value, 1)?,
        "retry-max" => knobs.retry_max = span(value)?,
        "pause" => knobs.pause = span(value)?,
        "horizon" => knobs.horizon = duration::parse_span(value)?,
        "hops" => knobs.hops = number(value, 1)?,
        key => network(to, key, value)?,
    }
    Ok(())
}

/// Faults that are drawn.
const DRAWN: [&str; 5] = ["loss", "doubles", "late", "lateness", "cut"];

fn network(to: &mut Federal, key: &str, value: &str) -> Result<(), Wrong> {
    to.simulated = to.simulated.or(DRAWN.into_iter().find(|drawn| *drawn == key));
    match key {
        "latency" => to.links.latency = latency(value)?,
        "bandwidth" => to.links.bandwidth_mb = number(value, 1)?.into(),
        "data" => to.data = Some(number(value, 0)?.into()),
        "base-data" => to.base_data = Some(number(value, 0)?.into()),
        "loss" => to.storm.loss = chance(value)?,
        "doubles" => to.storm.twice = chance(value)?,
        "late" => to.storm.late = chance(value)?,
        "lateness" => to.storm.lateness = span(value)?,
        _ => to.cut = Some(cut(value)?),
    }
    Ok(())
}

fn discover(text: &str) -> Result<Discover, Wrong> {
    match text {
        "all" => Ok(Discover::All),
        text => number(text, 1)
            .map(Discover::Sample)
            .map_err(|_| "neither a number from 1 nor `all`".to_owned().into()),
    }
}

/// `1s`, or from the minimum to the longest: `1s..5s`.
fn latency(text: &str) -> Result<(Span, Span), Wrong> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let (min, max) = (duration::parse_span(min)?, duration::parse_span(max)?);
    match min <= max {
        true => Ok((min, max)),
        false => Err("ends before it begins".to_owned().into()),
    }
}

/// What is sent often enough arrives: 1 is not a chance.
fn chance(text: &str) -> Result<u32, Wrong> {
    let thousandths = decimal::parse(text, 3).ok().and_then(|it| u32::try_from(it).ok());
    thousandths
        .filter(|it| *it <= MOST_CHANCE)
        .ok_or_else(|| "a chance is from 0 to 0.9, with at most three decimals".to_owned().into())
}

const MOST_CHANCE: u32 = 900;

/// `1d..2d`, or `1d..`: for ever.
fn cut(text: &str) -> Result<Cut, Wrong> {
    let Some((from, until)) = text.split_once("..") else {
        return Err("not from a time to a time: `1d..2d`, or for ever: `1d..`".to_owned().into());
    };
    let from = duration::parse_time(from)?;
    let until = match until {
        "" => None,
        until => Some(duration::parse_time(until)?),
    };
    match until.is_none_or(|until| from < until) {
        true => Ok(Cut { from, until }),
        false => Err("ends before it begins".to_owned().into()),
    }
}
