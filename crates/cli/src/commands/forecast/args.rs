//! The command line of `forecast`.

use std::path::PathBuf;

use clap::ValueEnum;
use tradewind_io::campaign::{EstimateKind, Overrun, Semantics};
use tradewind_model::{JobId, Pools, Span, Time};
use tradewind_sched::predict::{LastTwo, Learned, Learner, PublishedLinear, Submission};

use crate::commands::simulate::single::Single;
use crate::commands::simulate::word;

/// Which log, which policy, and by which rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind forecast log.swf.gz
  tradewind forecast log.swf.gz --policy conservative --format json
  tradewind forecast log.swf.gz --lengths requested --report forecast
  tradewind forecast examples/small.swf --procs 8

Each job that does not start at once gets a median and ranges for 50, 80 and 95 of 100 such jobs,
made of what is known in the second of its submission. With --report, writes report.html, pictures
and forecasts.csv into DIR.")]
pub(crate) struct Args {
    /// A log in the Standard Workload Format 2.2, plain, gzip or zstd; `-` reads standard input.
    #[arg(value_name = "LOG")]
    log: String,
    /// The policy.
    #[arg(long, value_name = "P", default_value = "easy")]
    policy: String,
    /// Run times that the look-ahead over the queue expects.
    #[arg(long, value_enum, default_value_t)]
    lengths: Lengths,
    /// What happens in which order within one second.
    #[arg(long, default_value = "textbook", value_parser = word::<Semantics>())]
    semantics: Semantics,
    /// What happens to a job that exceeds its request.
    #[arg(long, default_value = "kill", value_parser = word::<Overrun>())]
    overrun: Overrun,
    /// The run times that the policy expects.
    #[arg(long, default_value = "requested", value_parser = word::<EstimateKind>())]
    estimate: EstimateKind,
    /// Processors of the machine [default: as the log's header says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Pools::MAX_NODES)))]
    procs: Option<u32>,
    /// A folder for a page, pictures and the forecast of each job; made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub(super) report: Option<PathBuf>,
}

/// Run times that the look-ahead expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Lengths {
    /// The mean of the user's last two runs
    #[default]
    LastTwo,
    /// Learned online, as in a study of 2015
    PublishedLinear,
    /// Learned online, by our own learner
    Learned,
    /// The user's request
    Requested,
}

impl Lengths {
    pub(super) fn name(self) -> &'static str {
        match self {
            Lengths::PublishedLinear => "published-linear",
            Lengths::LastTwo => "last-two",
            Lengths::Learned => "learned",
            Lengths::Requested => "requested",
        }
    }

    pub(super) fn learner(self) -> Box<dyn Learner> {
        match self {
            Lengths::PublishedLinear => Box::<PublishedLinear>::default(),
            Lengths::LastTwo => Box::<LastTwo>::default(),
            Lengths::Learned => Box::<Learned>::default(),
            Lengths::Requested => Box::new(Requests),
        }
    }
}

/// Expects what users ask for.
#[derive(Debug)]
struct Requests;

impl Learner for Requests {
    fn submitted(&mut self, _: JobId, what: Submission) -> Span {
        what.requested
    }

    fn ended(&mut self, _: JobId, _: Span, _: Time) {}
}

impl Args {
    pub(super) fn single(&self) -> Single {
        Single {
            log: self.log.clone(),
            policy: self.policy.clone(),
            procs: self.procs,
            semantics: self.semantics,
            overrun: self.overrun,
            estimate: self.estimate,
        }
    }

    /// The log's name, without its folder.
    pub(super) fn log_name(&self) -> &str {
        tradewind_io::campaign::log_name(&self.log)
    }

    pub(super) fn lengths(&self) -> Lengths {
        self.lengths
    }

    /// Names and values, and the command that repeats it.
    pub(super) fn settings(&self) -> (Vec<(&'static str, String)>, String) {
        use tradewind_io::campaign::Keyword as _;
        let mut all = vec![
            ("policy", self.policy.clone()),
            ("lengths", self.lengths.name().to_owned()),
            ("semantics", self.semantics.name().to_owned()),
            ("overrun", self.overrun.name().to_owned()),
            ("estimate", self.estimate.name().to_owned()),
        ];
        all.extend(self.procs.map(|procs| ("procs", procs.to_string())));
        let options = all.iter().map(|(name, value)| format!(" --{name} '{value}'"));
        let command = format!("tradewind forecast '{}'{}", self.log, options.collect::<String>());
        (all, command)
    }
}
