//! What is asked.

use std::path::PathBuf;

use clap::ValueEnum;
use tradewind_sim::queueing::{Equation, Goal, Law, Reading, Readings, Widths};

use super::values::{self, Classes, Rates, Sizes};

/// Arguments of `tradewind analyze queueing`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind analyze queueing
  tradewind analyze queueing --model printed,corrected --rate 0.1..0.28:0.01 --chart waits.svg
  tradewind analyze queueing --station mg1 --rate 0.04 --run 'exponential[mean=20]' --waits-only
  tradewind analyze queueing --station mgm --servers 16 --rate 0.1..0.8:0.1 --format csv
  tradewind analyze queueing --station priority --rate 0.04 \\
    --classes '0.3=uniform[low=2,high=6],0.7=gamma[shape=2,scale=12]'
  tradewind analyze queueing --station partitioned --sites 1 --procs 512 --widths 'log[1..128]' \\
    --queues 4 --rate 0.1 --minimize slowdown
  tradewind analyze queueing --station mgm --servers 64 --log log.swf.gz

Laws: deterministic[value], exponential[mean], weibull[shape,scale], gamma[shape,scale],
erlang[phases,mean], uniform[low,high], lognormal[mu,sigma], pareto[shape,scale], each with
NAME=NUMBER in the brackets; hyperexponential[SHARE=MEAN,SHARE=MEAN,…].
Exit code 4 if a number that was asked for is infinite: an unstable load, or a mean that does not
exist; the reason is on standard error and in the JSON document.")]
pub(crate) struct Args {
    /// What jobs pass through.
    #[arg(long, value_enum, default_value_t, value_name = "STATION")]
    pub(super) station: Station,
    /// Arrivals per second: one rate or `A..B:STEP` [default: 0.1..0.28:0.03; with --log, the
    /// log's].
    #[arg(long, value_name = "RATES", value_parser = values::rates)]
    pub(super) rate: Option<Rates>,
    /// The law of run times [default: weibull[shape=2,scale=20]].
    #[arg(long, value_name = "LAW", value_parser = values::law, conflicts_with = "log")]
    pub(super) run: Option<Law>,
    /// The law of widths: `A..B`, `log[A..B]`, or `WIDTH=SHARE,…` [default: 1..64].
    #[arg(long, value_name = "WIDTHS", value_parser = values::widths, conflicts_with = "log")]
    pub(super) widths: Option<Widths>,
    /// Take the rate, run times and widths from a log in the Standard Workload Format; `-` reads
    /// standard input.
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<String>,
    /// Whether recorded run times go with the width.
    #[arg(long, value_enum, default_value_t, requires = "log")]
    pub(super) run_times: RunTimes,

    /// Servers of `mmm` and `mgm` [default: as many as sites].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SERVERS_MOST))]
    pub(super) servers: Option<u32>,
    /// Like sites of `network` and `partitioned` [default: 5; with --log, 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SERVERS_MOST))]
    pub(super) sites: Option<u32>,
    /// Processors of each site [default: 128; with --log, the log's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub(super) procs: Option<u32>,
    /// How many partitions each site has; the best sizes are found.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) queues: u32,
    /// Partitions of these sizes instead, ascending.
    #[arg(long, value_name = "N,N,…", value_parser = values::sizes, conflicts_with = "queues")]
    pub(super) partitions: Option<Sizes>,
    /// For what partitions are the best: E(W) or E(S).
    #[arg(long, value_enum, default_value_t)]
    pub(super) minimize: Minimize,
    /// Shares of the priority classes, the highest first, each maybe with a law of its own:
    /// `0.2,0.8=LAW` [default: four quarters].
    #[arg(long, value_name = "SHARES", value_parser = values::classes)]
    pub(super) classes: Option<Classes>,
    /// How long the valuation of a job takes in `network`, where a class has no law of its own
    /// [default: deterministic[value=0]].
    #[arg(long, value_name = "LAW", value_parser = values::law)]
    pub(super) valuation: Option<Law>,

    /// Misprinted formulas as printed, as corrected, or both.
    #[arg(
        long,
        value_enum,
        default_value = "corrected",
        value_delimiter = ',',
        value_name = "MODEL"
    )]
    pub(super) model: Vec<FormulaSet>,
    /// Take one formula otherwise; may be repeated.
    #[arg(long = "equation", value_name = "NUMBER=printed|corrected", value_parser = values::equation)]
    pub(super) equations: Vec<(Equation, Reading)>,

    /// Leave slowdowns out, which many laws have none of.
    #[arg(long)]
    pub(super) waits_only: bool,
    /// Draw waits and slowdowns over the rate.
    #[arg(long, value_name = "FILE.svg|png", help_heading = "Output")]
    pub(super) chart: Option<PathBuf>,
}

/// As many servers as Erlang's recursion is tried for.
const SERVERS_MOST: i64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Station {
    /// Valuation by priority, dispatching to sites, partitions of a site: paper 003's model.
    #[default]
    Network,
    /// One server: M/G/1.
    Mg1,
    /// One server with priority classes: M/G/1, non-preemptive.
    Priority,
    /// Several servers with exponential times of the law's mean: M/M/m.
    Mmm,
    /// Several servers: M/G/m, approximately.
    Mgm,
    /// Sites cut into partitions by widths, each an M/G/1.
    Partitioned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum RunTimes {
    /// Each width has its own.
    #[default]
    ByWidth,
    /// Every width has those of all jobs, as the paper's formulas do.
    Mingled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Minimize {
    /// Mean waits: equation 25.
    #[default]
    Wait,
    /// Mean slowdowns: equation 26.
    Slowdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormulaSet {
    /// As they must be.
    Corrected,
    /// As printed, but for (7) and (9), with which the paper's own figure cannot be drawn.
    Printed,
}

impl FormulaSet {
    pub(super) fn name(self) -> &'static str {
        match self {
            FormulaSet::Corrected => "corrected",
            FormulaSet::Printed => "printed",
        }
    }
}

impl Station {
    pub(super) fn name(self) -> &'static str {
        match self {
            Station::Network => "network",
            Station::Mg1 => "mg1",
            Station::Priority => "priority",
            Station::Mmm => "mmm",
            Station::Mgm => "mgm",
            Station::Partitioned => "partitioned",
        }
    }
}

impl Args {
    /// How misprints are taken under a model.
    pub(super) fn readings(&self, model: FormulaSet) -> Readings {
        let mut readings = match model {
            FormulaSet::Corrected => Readings::corrected(),
            FormulaSet::Printed => Readings::printed(),
        };
        for (equation, reading) in &self.equations {
            readings.set(*equation, *reading);
        }
        readings
    }

    /// Options that were given and have no say at this station.
    pub(super) fn idle(&self) -> Vec<&'static str> {
        use Station::{Mgm, Mmm, Network, Partitioned, Priority};
        let given = [
            ("--servers", self.servers.is_some(), &[Mmm, Mgm][..]),
            ("--sites", self.sites.is_some(), &[Network, Partitioned, Mmm, Mgm]),
            ("--procs", self.procs.is_some(), &[Network, Partitioned]),
            ("--widths", self.widths.is_some(), &[Network, Partitioned]),
            ("--partitions", self.partitions.is_some(), &[Network, Partitioned]),
            ("--classes", self.classes.is_some(), &[Network, Priority]),
            ("--valuation", self.valuation.is_some(), &[Network]),
        ];
        let idle = given.iter().filter(|(_, given, at)| *given && !at.contains(&self.station));
        idle.map(|(name, ..)| *name).collect()
    }

    pub(super) fn goal(&self) -> Goal {
        match self.minimize {
            Minimize::Wait => Goal::Wait,
            Minimize::Slowdown => Goal::Slowdown,
        }
    }
}
