//! The command line becomes a campaign and the way to run it.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tradewind_campaign::replay::Watch;
use tradewind_campaign::{checks, model, moldable, preemptible};
use tradewind_io::campaign::{
    self, Campaign, Checks, Dependencies, EstimateKind, Homes, Keyword, LogField, MemoryField,
    MemorySize, NodeSize, OfferedLoad, Output, Overrun, Seeds, Semantics, Shard, Trim, Workload,
};
use tradewind_io::duration::{parse_span, parse_time};
use tradewind_io::parquet::HAS_PARQUET;
use tradewind_model::{Pools, Span, Time};

use crate::exit::{Exit, Failure};
use crate::input;
use crate::policy;
use crate::report::Report;
use crate::worker_pool;

/// Headings of the help, in which options stand together.
const WORKLOAD: &str = "Workload";
const POLICIES: &str = "Policies and rules";
const MACHINE: &str = "Machine";
const RUNS: &str = "Runs";
const RESULTS: &str = "Results";

/// Which logs, which policies, and by which rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind simulate log.swf.gz --policy easy
  tradewind simulate log.swf.gz --policy 'easy[backfill=shortest]' --estimate predicted --out run
  tradewind simulate log.swf.gz --policy fcfs,easy,conservative --check --out runs
  tradewind simulate examples/small.swf --policy 'easy[depth=4,order=shortest]' --out run
  tradewind simulate log.swf.gz --policy easy --estimate requested,exact --load 0.7,0.9 --out runs
  tradewind simulate --model lublin --procs 128 --policy fcfs,easy --seeds 1..10 --out runs
  tradewind simulate log.swf.gz --grid examples/grid.toml --policy easy,css,bsf --out runs
  tradewind simulate log.swf.gz --grid examples/edg.toml --side examples/dam-side.toml \\
      --squeeze 1000 --policy auction,fcfs,edf-fq --seeds 1..10 --out runs
  tradewind simulate campaign.toml --shard 3/16 --out runs

Policies: fcfs, sjf, easy, conservative [depth=N|all,order=ORDER,backfill=ORDER,spread=grid|site,shape=RULE]; learned;
css, batch-slicer, whole-batch, on-the-fly, bsf [period=SPAN,objective=…]; auction, admission,
meta-fcfs, meta-sjf, edf-fq, hvfq, fair-share [cycle=SPAN,gate=on|off,…]; multi-queue [alpha=A,beta=N,…] and
fcfs-sites, easy-sites, conservative-sites [migrate=on|off,discover=all|N,…]; all parameters are in
docs/reference/simulate.md.
With --out, writes summary.json, jobs.csv and others into DIR, or into DIR/POLICY/… for each of several runs.
The same command again goes on where it was stopped.")]
pub(crate) struct Args {
    /// Logs in the Standard Workload Format 2.2, plain, gzip or zstd, replayed together; `-` reads
    /// standard input. Or one campaign file, `*.toml` or `*.json`.
    #[arg(value_name = "LOG", required_unless_present_any = ["campaign", "model"])]
    logs: Vec<String>,
    /// A campaign file, which says the same as logs and the options below.
    #[arg(long, value_name = "FILE", conflicts_with = "logs", help_heading = WORKLOAD)]
    campaign: Option<String>,
    #[command(flatten)]
    axes: Axes,
    /// A policy of your own: a command that answers lines of JSON on standard input. It stands
    /// beside other policies as `command`.
    #[arg(long, value_name = "CMD", help_heading = POLICIES)]
    policy_cmd: Option<String>,
    /// How long that command may take for an answer, at least a second.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = patience, help_heading = POLICIES)]
    policy_timeout: Span,
    /// The folder for the results; made if it is not there. Without it a table is printed, and no
    /// file is written.
    #[arg(long, value_name = "DIR", help_heading = RESULTS)]
    out: Option<PathBuf>,
    /// Watch every step: nothing over-allocated, no job lost or run twice, promises kept.
    #[arg(long, help_heading = RUNS)]
    check: bool,
    /// Runs at a time [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = RUNS)]
    threads: Option<u16>,
    /// Only this part of the campaign: every n-th run from the i-th on.
    #[arg(long, value_name = "i/n", requires = "out", help_heading = RUNS)]
    shard: Option<Shard>,
    /// Run everything again and overwrite what another campaign left in DIR.
    #[arg(long, requires = "out", help_heading = RESULTS)]
    force: bool,
}

/// What a campaign file says, too. Nothing has a default here, so that it shows what was given.
#[derive(Debug, clap::Args)]
struct Axes {
    /// Policies, separated by commas.
    #[arg(long, value_name = "P[,P…]", help_heading = POLICIES)]
    policy: Option<String>,
    /// What happens in which order within one second [default: textbook].
    #[arg(long, value_delimiter = ',', value_parser = word::<Semantics>(), help_heading = POLICIES)]
    semantics: Vec<Semantics>,
    /// What happens to a job that exceeds its request [default: kill].
    #[arg(long, value_delimiter = ',', value_parser = word::<Overrun>(), help_heading = POLICIES)]
    overrun: Vec<Overrun>,
    /// The run times that policies expect [default: requested].
    #[arg(long, value_delimiter = ',', value_parser = word::<EstimateKind>(), help_heading = POLICIES)]
    estimate: Vec<EstimateKind>,
    /// Offered loads to scale the workload to, as shares of the machine.
    #[arg(long, value_name = "L[,L…]", value_delimiter = ',', help_heading = WORKLOAD)]
    load: Vec<OfferedLoad>,
    /// Replications, both ends included.
    #[arg(long, value_name = "A..B", help_heading = RUNS)]
    seeds: Option<Seeds>,
    /// One replication: the same as `--seeds N`.
    #[arg(long, value_name = "N", conflicts_with = "seeds", help_heading = RUNS)]
    seed: Option<u64>,
    /// Draw the jobs from a model instead of a log; needs --procs or --grid.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["logs", "users"], help_heading = WORKLOAD)]
    model: Option<String>,
    /// Draw so many users from each log's, with replacement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Workload::MAX_USERS)), help_heading = WORKLOAD)]
    users: Option<u32>,
    /// Processors of the machine [default: as the log's header says].
    #[arg(long, value_name = "N", value_parser = processors, help_heading = MACHINE)]
    procs: Option<u32>,
    /// Sites with their nodes, prices, local load and failures, in TOML or JSON, instead of one
    /// cluster.
    #[arg(long, value_name = "FILE", conflicts_with = "procs", help_heading = MACHINE)]
    grid: Option<String>,
    /// At which sites of the grid jobs are submitted [default: log; of a model: nodes].
    #[arg(long, value_name = "HOW", value_parser = word::<Homes>(), requires = "grid", help_heading = WORKLOAD)]
    homes: Option<Homes>,
    /// Which jobs are submitted when others are over [default: ignore].
    #[arg(long, value_name = "HOW", value_parser = word::<Dependencies>(), conflicts_with_all = ["model", "users"], help_heading = WORKLOAD)]
    dependencies: Option<Dependencies>,
    /// By which fields of the log jobs keep to pools of the grid with that attribute.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = word::<LogField>(), requires = "grid", conflicts_with = "model", help_heading = WORKLOAD)]
    keep_to: Vec<LogField>,
    /// Which memory of the log's jobs is counted, on shared nodes or in a grid [default: ignore].
    #[arg(long, value_name = "HOW", value_parser = word::<MemoryField>(), conflicts_with_all = ["model", "outages"], help_heading = MACHINE)]
    memory: Option<MemoryField>,
    /// Processors of each shared node, with `--memory`.
    #[arg(long, value_name = "N", value_parser = processors, requires = "memory", conflicts_with = "grid", help_heading = MACHINE)]
    node_processors: Option<u32>,
    /// Memory of each shared node, with `--memory`: `512M`, `1G`, `1.5T`.
    #[arg(long, value_name = "SIZE", requires = "memory", conflicts_with = "grid", help_heading = MACHINE)]
    node_memory: Option<MemorySize>,
    /// Give jobs other shapes, by a law of speed-ups: `downey[a=0.5..4,sigma=0..2,reach=4]`.
    #[arg(long, value_name = "LAW", help_heading = WORKLOAD)]
    moldable: Option<String>,
    /// Which jobs are preemptible: `all`, `drawn[share=0.5,checkpoint=10m,restart=30s]`, `user[number=7]`.
    #[arg(long, value_name = "WHICH", help_heading = WORKLOAD)]
    preemptible: Option<String>,
    /// When nodes are missing, in CSV.
    #[arg(long, value_name = "FILE", help_heading = MACHINE)]
    outages: Option<String>,
    /// Budgets, deadlines, values and criteria of jobs, given or drawn.
    #[arg(long, value_name = "FILE", help_heading = WORKLOAD)]
    side: Option<String>,
    /// When cyclic schemes plan again what has not started [default: next-cycle].
    #[arg(long, value_name = "WHEN", value_parser = ["on-release", "next-cycle"], help_heading = POLICIES)]
    replan: Option<String>,
    /// Leave out jobs submitted before this moment of the log's clock.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true, help_heading = WORKLOAD)]
    from: Option<Time>,
    /// Leave out jobs submitted at this moment or later.
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true, help_heading = WORKLOAD)]
    to: Option<Time>,
    /// Submit jobs so many times as fast: distances from the first submission are divided by it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Workload::MAX_SQUEEZE)), help_heading = WORKLOAD)]
    squeeze: Option<u32>,
    /// Metrics leave out jobs submitted within so long after the first [default: 0].
    #[arg(long, value_name = "SPAN", value_parser = parse_span, help_heading = WORKLOAD)]
    warm_up: Option<Span>,
    /// Metrics leave out jobs submitted within so long before the last [default: 0].
    #[arg(long, value_name = "SPAN", value_parser = parse_span, help_heading = WORKLOAD)]
    cool_down: Option<Span>,
    /// Files of each run [default: summary,jobs,schedule,trades,refused].
    #[arg(long, value_delimiter = ',', value_parser = word::<Output>(), requires = "out", help_heading = RESULTS)]
    outputs: Vec<Output>,
    /// A file jobs.parquet for each run, too: for notebooks.
    #[arg(long, requires = "out", help_heading = RESULTS)]
    parquet: bool,
    /// Pictures of each run and of the campaign, and one page about it all, report.html, too.
    #[arg(long, requires = "out", help_heading = RESULTS)]
    report: bool,
}

/// How to run a campaign.
#[derive(Debug)]
pub(super) struct CampaignSettings {
    pub(super) out: Option<PathBuf>,
    pub(super) check: bool,
    pub(super) threads: usize,
    pub(super) shard: Option<Shard>,
    pub(super) force: bool,
    /// For each answer of the user's own policy.
    pub(super) answer_within: Span,
}

impl CampaignSettings {
    /// What is checked on the way.
    pub(super) fn watch(&self) -> Watch {
        if self.check { Watch::EveryStep } else { Watch::Nothing }
    }
}

/// A span that is worth waiting for.
fn patience(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    let long = (span >= Span(1)).then_some(span);
    long.ok_or_else(|| "an answer takes some time: at least `1s`".to_owned())
}

fn processors(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=Pools::MAX_NODES).contains(count));
    count.ok_or_else(|| {
        format!("say how many processors the machine has: a number from 1 to {}", Pools::MAX_NODES)
    })
}

/// Reads one of the words of `T`, with their help.
pub(in crate::commands) fn word<T: Keyword + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::WORDS.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values)
        .try_map(|name| T::named(&name).ok_or_else(|| format!("unknown word `{name}`")))
}

impl Args {
    /// How to run whatever is to be run.
    pub(super) fn settings(&self) -> CampaignSettings {
        CampaignSettings {
            out: self.out.clone(),
            check: self.check,
            threads: self.threads.map_or_else(worker_pool::cores, usize::from),
            shard: self.shard,
            force: self.force,
            answer_within: self.policy_timeout,
        }
    }

    /// What is to be run: what the file says, or else the options; and the user's own policy.
    pub(super) fn campaign(&self, report: &Report) -> Result<Campaign, Failure> {
        let mut campaign = self.without_command(report)?;
        if self.policy_cmd.is_some() {
            campaign.policies.push(policy::COMMAND.to_owned());
            campaign.command.clone_from(&self.policy_cmd);
        }
        Ok(campaign)
    }

    fn without_command(&self, report: &Report) -> Result<Campaign, Failure> {
        let file = self.campaign.as_ref().or(match self.logs.as_slice() {
            [only] if only.ends_with(".toml") || only.ends_with(".json") => Some(only),
            _ => None,
        });
        let Some(path) = file else { return self.axes.campaign(&self.logs, self.policies()?) };
        let input = tradewind_io::input::read(path)?;
        // What is in the file is configuration; that it cannot be read is a matter of data.
        let checks = Checks {
            policy: &policy::objection,
            model: &model::objection,
            moldable: &moldable::objection,
            preemptible: &preemptible::objection,
        };
        let (mut campaign, warnings) = campaign::parse(&input, checks)
            .map_err(|wrong| Failure { exit: Exit::Usage, ..Failure::from(wrong) })?;
        if let Some(option) = self.axes.given() {
            let message = format!("`{option}` stands beside the campaign file `{path}`");
            return Err(Failure::usage(message).hint("say it in the file, or use options only"));
        }
        input::warn(&warnings, report);
        self.axes.add_outputs(&mut campaign.outputs);
        can_write(&campaign.outputs)?;
        Ok(campaign)
    }
}

impl Args {
    /// Our own policies: none only beside one of the user's.
    fn policies(&self) -> Result<Vec<String>, Failure> {
        match &self.axes.policy {
            Some(names) => {
                let policies = policy::list(names)?.into_iter();
                let planned = policies.map(|policy| match &self.axes.replan {
                    Some(word) => policy.with_replan(word),
                    None => Ok(policy),
                });
                planned.map(|policy| Ok(policy?.text().to_owned())).collect()
            }
            None if self.policy_cmd.is_some() => Ok(Vec::new()),
            None => {
                let failure = Failure::usage("no policy is named");
                Err(failure.hint("for instance `--policy fcfs,easy,conservative`"))
            }
        }
    }
}

impl Axes {
    /// One of the options that were given and that a campaign file says itself.
    fn given(&self) -> Option<&'static str> {
        let all = [
            ("--policy", self.policy.is_some()),
            ("--semantics", !self.semantics.is_empty()),
            ("--overrun", !self.overrun.is_empty()),
            ("--estimate", !self.estimate.is_empty()),
            ("--load", !self.load.is_empty()),
            ("--seeds", self.seeds.is_some()),
            ("--seed", self.seed.is_some()),
            ("--model", self.model.is_some()),
            ("--users", self.users.is_some()),
            ("--procs", self.procs.is_some()),
            ("--grid", self.grid.is_some()),
            ("--outages", self.outages.is_some()),
            ("--side", self.side.is_some()),
            ("--replan", self.replan.is_some()),
            ("--from", self.from.is_some()),
            ("--to", self.to.is_some()),
            ("--squeeze", self.squeeze.is_some()),
            ("--homes", self.homes.is_some()),
            ("--dependencies", self.dependencies.is_some()),
            ("--keep-to", !self.keep_to.is_empty()),
            ("--moldable", self.moldable.is_some()),
            ("--preemptible", self.preemptible.is_some()),
            ("--memory", self.memory.is_some()),
            ("--warm-up", self.warm_up.is_some()),
            ("--cool-down", self.cool_down.is_some()),
            ("--outputs", !self.outputs.is_empty()),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    fn campaign(&self, logs: &[String], policies: Vec<String>) -> Result<Campaign, Failure> {
        Ok(Campaign {
            title: None,
            workloads: vec![self.workload(logs)?],
            policies,
            command: None,
            semantics: once("--semantics", &self.semantics, &[Semantics::default()])?,
            overruns: once("--overrun", &self.overrun, &[Overrun::default()])?,
            estimates: once("--estimate", &self.estimate, &[EstimateKind::default()])?,
            loads: once("--load", &self.load, &[])?,
            seeds: self.seeds.or(self.seed.map(Seeds::one)),
            trim: Trim {
                warm_up: self.warm_up.unwrap_or_default(),
                cool_down: self.cool_down.unwrap_or_default(),
            },
            outputs: self.outputs()?,
        })
    }

    fn workload(&self, logs: &[String]) -> Result<Workload, Failure> {
        let workload = Workload {
            name: self.model.clone().unwrap_or_else(|| Workload::name_of(logs)),
            logs: logs.to_vec(),
            model: self.model.clone(),
            users: self.users,
            procs: self.procs,
            grid: self.grid.clone(),
            outages: self.outages.clone(),
            side: self.side.clone(),
            from: self.from,
            to: self.to,
            squeeze: self.squeeze,
            homes: self.homes,
            dependencies: self.dependencies.filter(|how| *how != Dependencies::Ignore),
            keep_to: once("--keep-to", &self.keep_to, &[])?,
            moldable: self.moldable.clone(),
            preemptible: self.preemptible.clone(),
            memory: self.memory.filter(|how| *how != MemoryField::Ignore),
            nodes: self.nodes(),
        };
        checks::workload(&workload)?;
        Ok(workload)
    }

    /// The size of shared nodes, if memory is counted.
    fn nodes(&self) -> Option<NodeSize> {
        self.memory.filter(|how| *how != MemoryField::Ignore)?;
        Some(NodeSize { processors: self.node_processors?, memory: self.node_memory? })
    }

    fn outputs(&self) -> Result<Vec<Output>, Failure> {
        let mut outputs = once("--outputs", &self.outputs, &Output::DEFAULT)?;
        self.add_outputs(&mut outputs);
        can_write(&outputs)?;
        Ok(outputs)
    }

    fn add_outputs(&self, outputs: &mut Vec<Output>) {
        for (asked, output) in [(self.parquet, Output::Parquet), (self.report, Output::Report)] {
            if asked && !outputs.contains(&output) {
                outputs.push(output);
            }
        }
    }
}

/// Some builds write fewer formats.
fn can_write(outputs: &[Output]) -> Result<(), Failure> {
    match outputs.contains(&Output::Parquet) && !HAS_PARQUET {
        true => Err(Failure::usage("this program was built without Parquet")
            .hint("`jobs` writes CSV; `cargo build --release` builds a program with Parquet")),
        false => Ok(()),
    }
}

/// What was given, each once, or else the default.
fn once<T: Copy + PartialEq>(option: &str, given: &[T], default: &[T]) -> Result<Vec<T>, Failure> {
    let twice = (1..given.len()).any(|at| given[..at].contains(&given[at]));
    match (given, twice) {
        (_, true) => Err(Failure::usage(format!("`{option}` names something twice"))),
        ([], _) => Ok(default.to_vec()),
        _ => Ok(given.to_vec()),
    }
}
