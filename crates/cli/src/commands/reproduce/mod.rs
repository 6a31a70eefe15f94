//! `tradewind reproduce`: the papers' studies, run again.
//!
//! `args` says which and how, `work` runs the parts of their experiments on all cores, `store`
//! keeps finished parts, `files` writes what came of it and `render` prints it.

mod args;
mod files;
mod render;
mod store;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tradewind_lab::report::{Report as Findings, Sensitivity, StudyResult, Swept};
use tradewind_lab::{
    Case, DataError, Experiment, Parameter, Size, Study, Tally, Value, experiments,
};

pub(crate) use args::Args;
use args::ReproduceSettings;
use store::Store;
use work::ExperimentRun;

use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;
use crate::worker_pool;

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    if args.lists() {
        render::list(format)?;
        return Ok(Exit::Ok);
    }
    let settings = args.settings()?;
    report.seed(settings.seed);
    let plan = ReproducePlan::new(&settings, report)?;
    if let Some(out) = settings.out.as_deref().filter(|_| !settings.force) {
        files::check(out, &settings.command)?;
    }
    let store = Store::new(settings.out.as_deref())?;
    let stop = Arc::new(AtomicBool::new(false));
    worker_pool::listen(&stop);
    let tallies = work::run(&plan.runs, &store, settings.threads, &stop, report)?;
    let Some(tallies) = tallies.filter(|_| !stop.load(Ordering::Relaxed)) else {
        report.note(match settings.out {
            Some(_) => "stopped; the same command resumes the rest",
            None => "stopped; with `--out DIR` the same command would go on where it was",
        });
        return Ok(Exit::Interrupted);
    };
    let findings = plan.conclude(&settings, &tallies)?;
    if let Some(out) = &settings.out {
        files::write(out, &findings)?;
    }
    render::print(&findings, format)?;
    Ok(Exit::Ok)
}

/// All studies, by name.
fn studies() -> Result<&'static [Study], Failure> {
    tradewind_lab::studies().map_err(|error| broken_data(&error))
}

/// The data of the studies are part of the program.
fn broken_data(error: &DataError) -> Failure {
    Failure { exit: Exit::Bug, ..Failure::data(error.to_string()) }
}

/// Which experiments are run with what, and for which studies.
struct ReproducePlan {
    studies: Vec<&'static Study>,
    experiments: Vec<&'static Experiment>,
    /// First one of each experiment, then those of the sweep.
    runs: Vec<ExperimentRun>,
    sweeps: Vec<Sweep>,
}

/// A run of the sweep: with which parameter changed, if any.
struct Sweep {
    experiment: &'static Experiment,
    changed: Option<(&'static Parameter, Value)>,
}

impl ReproducePlan {
    fn new(settings: &ReproduceSettings, report: &Report) -> Result<ReproducePlan, Failure> {
        let experiments = experiments(&settings.studies);
        let mut runs = Vec::new();
        for experiment in &experiments {
            runs.push(ExperimentRun {
                experiment,
                case: settings.case(experiment, settings.size)?,
            });
        }
        work::say_missing_logs(&runs, report);
        let mut sweeps = Vec::new();
        for &experiment in experiments.iter().filter(|_| settings.sweep) {
            let base = settings.case(experiment, Size::Quick)?;
            for changed in changes(experiment, &base) {
                let case = base.clone();
                let case = match changed {
                    Some((parameter, value)) => case.with(parameter, value),
                    None => case,
                };
                runs.push(ExperimentRun { experiment, case });
                sweeps.push(Sweep { experiment, changed });
            }
        }
        Ok(ReproducePlan { studies: settings.studies.clone(), experiments, runs, sweeps })
    }

    /// What the studies say to `tallies`, which stand in the order of the runs.
    fn conclude(
        &self,
        settings: &ReproduceSettings,
        tallies: &[Tally],
    ) -> Result<Findings, Failure> {
        let results = self.studies.iter().map(|study| {
            let at = self.experiments.iter().position(|it| it.id == study.experiment.id);
            let at = at.unwrap_or_default();
            let case = self.runs[at].case.clone();
            let findings = study.findings(&case, &tallies[at]);
            let findings = findings.map_err(|error| broken_data(&error))?;
            Ok(StudyResult { study, case, findings })
        });
        Ok(Findings {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: settings.command.clone(),
            seed: settings.seed,
            size: settings.size,
            settings: settings.given.clone(),
            results: results.collect::<Result<_, Failure>>()?,
            sensitivity: self.sensitivity(&tallies[self.experiments.len()..])?,
        })
    }

    fn sensitivity(&self, tallies: &[Tally]) -> Result<Vec<Sensitivity>, Failure> {
        let mut all: Vec<Sensitivity> = Vec::new();
        let cases = self.runs[self.experiments.len()..].iter().map(|run| &run.case);
        for ((sweep, case), tally) in self.sweeps.iter().zip(cases).zip(tallies) {
            let row = self.swept(sweep, case, tally)?;
            match all.last_mut().filter(|last| last.experiment.id == sweep.experiment.id) {
                Some(last) => last.rows.push(row),
                None => all.push(Sensitivity { experiment: sweep.experiment, rows: vec![row] }),
            }
        }
        Ok(all)
    }

    fn swept(&self, sweep: &Sweep, case: &Case, tally: &Tally) -> Result<Swept, Failure> {
        let mine = self.studies.iter().filter(|it| it.experiment.id == sweep.experiment.id);
        let results: Result<Vec<_>, _> = mine.map(|study| study.findings(case, tally)).collect();
        let results = results.map_err(|error| broken_data(&error))?;
        Ok(Sensitivity::row(sweep.changed, &results))
    }
}

/// Nothing, then every value of every parameter's sweep that `base` does not have.
fn changes(experiment: &Experiment, base: &Case) -> Vec<Option<(&'static Parameter, Value)>> {
    let values = experiment.parameters.iter().flat_map(|parameter| {
        let values = parameter.sweep().into_iter().chain([parameter.default()]);
        let others = values.filter(|value| *value != base.value(parameter));
        others.map(|value| Some((*parameter, value))).collect::<Vec<_>>()
    });
    std::iter::once(None).chain(values).collect()
}
