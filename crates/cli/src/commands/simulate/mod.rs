//! `tradewind simulate`: a log replayed under one or several policies.

mod documents;
mod policy;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use tradewind_io::{swf, wire};
use tradewind_model::Pools;
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::Backfill;
use tradewind_sim::workload::{self, LogJob, Workload};
use tradewind_sim::{Estimate, Semantics, Settings, SimError, check, metrics};

use crate::cli::Format;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::report::Report;
use documents::Summary;
use policy::Choice;

/// Which log, which policies, and by which rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind simulate log.swf.gz --policy easy --out run
  tradewind simulate log.swf.gz --policy fcfs,easy,conservative --check --out runs
  tradewind simulate examples/small.swf --policy 'easy[depth=4,order=shortest]' --out run

Policies: fcfs, sjf, easy, conservative; each takes [depth=N|all,order=ORDER].
Writes jobs.csv and summary.json into DIR, or into DIR/POLICY with several policies.")]
pub(crate) struct Args {
    /// A log in the Standard Workload Format 2.2, plain or gzip; `-` reads standard input.
    #[arg(value_name = "LOG")]
    log: String,
    /// Policies, separated by commas.
    #[arg(long, value_name = "P[,P…]")]
    policy: String,
    /// What happens in which order within one second.
    #[arg(long, value_enum, default_value_t)]
    semantics: SemanticsArg,
    /// What becomes of a job that outlives its request [default: kill].
    #[arg(long, value_enum)]
    overrun: Option<OverrunArg>,
    /// What policies are told about run times [default: requested].
    #[arg(long, value_enum)]
    estimate: Option<EstimateArg>,
    /// Processors of the machine [default: as the log's header says].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    procs: Option<u32>,
    /// Watch every step: nothing over-allocated, no job lost or run twice, promises kept.
    #[arg(long)]
    check: bool,
    /// The folder for the results; made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum SemanticsArg {
    /// All ends, then all submissions, then one pass.
    #[default]
    Textbook,
    /// As the simulator pyss: submissions before ends, a pass for each.
    Pyss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum OverrunArg {
    /// It is killed.
    #[default]
    Kill,
    /// It runs on.
    Extend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum EstimateArg {
    /// The user's request.
    #[default]
    Requested,
    /// The real run time.
    Exact,
    /// The mean of the user's last two runs.
    Predicted,
}

/// The arguments in the simulator's words.
struct Rules {
    settings: Settings,
    overrun: workload::Overrun,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let policies = policy::list(&args.policy)?;
    let rules = rules(args)?;
    let started = Instant::now();
    let log = swf::load(&args.log)?;
    report.detail(|| {
        let took = started.elapsed().as_secs_f64();
        format!("read {} jobs in {took:.3} s", log.summary.jobs)
    });
    let jobs: Vec<LogJob> =
        log.jobs.iter().map(dated).chain(log.undated.iter().map(undated)).collect();
    let processors = args.procs.or(log.header.max_procs()).ok_or_else(|| {
        let failure = Failure::data(format!("{}: no MaxProcs in the header", log.name));
        failure.hint("say how many processors the machine has: `--procs N`")
    })?;
    let pools = Arc::new(Pools::cluster(processors));
    let workload = workload::prepare(&jobs, pools, rules.settings.semantics, rules.overrun);
    note_rejected(&workload, report);
    let mut progress = Progress::new(report);
    let all = (policies.len() * workload.jobs.len()) as u64;
    let mut summaries = Vec::with_capacity(policies.len());
    for (done, choice) in policies.iter().enumerate() {
        progress.set((done * workload.jobs.len()) as u64, all, || choice.name.clone());
        let context = Context { args, rules: &rules, jobs: &jobs, workload: &workload };
        let folder = match policies.len() {
            1 => args.out.clone(),
            _ => args.out.join(&choice.name),
        };
        summaries.push(context.simulate(choice, &folder, report)?);
    }
    progress.finish();
    documents::print(&summaries, format)?;
    Ok(Exit::Ok)
}

fn rules(args: &Args) -> Result<Rules, Failure> {
    let implied = args.overrun.is_none_or(|it| it == OverrunArg::Kill)
        && args.estimate.is_none_or(|it| it == EstimateArg::Requested);
    if args.semantics == SemanticsArg::Pyss && !implied {
        let failure = Failure::usage("`--semantics pyss` fixes overruns and estimates");
        return Err(failure.hint("leave `--overrun` and `--estimate` out"));
    }
    let semantics = match args.semantics {
        SemanticsArg::Textbook => Semantics::Textbook,
        SemanticsArg::Pyss => Semantics::Pyss,
    };
    let estimate = match args.estimate.unwrap_or_default() {
        EstimateArg::Requested => Estimate::Requested,
        EstimateArg::Exact => Estimate::Exact,
        EstimateArg::Predicted => Estimate::Predicted,
    };
    let overrun = match args.overrun.unwrap_or_default() {
        OverrunArg::Kill => workload::Overrun::Kill,
        OverrunArg::Extend => workload::Overrun::Extend,
    };
    Ok(Rules { settings: Settings { semantics, estimate }, overrun })
}

/// A job of the log; its width is what it got, or else what it asked for.
fn dated(job: &swf::Record) -> LogJob {
    LogJob {
        number: job.number,
        submit: Some(job.submit),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time.filter(|span| span.0 > 0),
        user: job.user,
        terms: None,
    }
}

fn undated(job: &swf::Record) -> LogJob {
    LogJob { submit: None, ..dated(job) }
}

/// How many jobs can never run, by reason.
fn note_rejected(workload: &Workload, report: &Report) {
    for (reason, count) in documents::refusals(workload) {
        report.note(&format!("{count} jobs can never run: {reason}"));
    }
}

/// What every policy of one call shares.
struct Context<'a> {
    args: &'a Args,
    rules: &'a Rules,
    jobs: &'a [LogJob],
    workload: &'a Workload,
}

impl Context<'_> {
    fn simulate(
        &self,
        choice: &Choice,
        folder: &std::path::Path,
        report: &Report,
    ) -> Result<Summary, Failure> {
        let started = Instant::now();
        let mut policy = Backfill::new(choice.settings);
        let mut checkers = match self.args.check {
            true => check::all(policy.promise()),
            false => Vec::new(),
        };
        let run =
            tradewind_sim::run(self.workload, self.rules.settings, &mut policy, &mut checkers)
                .map_err(|error| misbehaved(choice, &error))?;
        report.detail(|| {
            let (took, passes) = (started.elapsed().as_secs_f64(), run.passes);
            format!("{}: {} jobs, {passes} passes in {took:.3} s", choice.name, run.jobs.len())
        });
        let started = Instant::now();
        let measured = metrics::measure(self.workload, &run, metrics::Options::default());
        let summary = Summary::new(self, choice, &measured);
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::data(format!("failed to make the folder `{}`: {error}", folder.display()))
        })?;
        let csv = documents::jobs_csv(&self.args.log, self.jobs, self.workload, &run);
        output::write_file(&folder.join("jobs.csv"), &csv)?;
        output::write_file(&folder.join("summary.json"), wire::to_json(&summary).as_bytes())?;
        report.detail(|| format!("wrote it in {:.3} s", started.elapsed().as_secs_f64()));
        Ok(summary)
    }
}

/// A policy of ours that breaks its word is our fault.
fn misbehaved(choice: &Choice, error: &SimError) -> Failure {
    Failure { exit: Exit::Bug, ..Failure::data(format!("policy `{}`: {error}", choice.name)) }
}
