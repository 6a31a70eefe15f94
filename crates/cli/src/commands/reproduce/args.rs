//! The command line becomes studies and the cases to run them with.

use std::path::PathBuf;
use std::sync::Arc;

use tradewind_io::{diagnostics, digest, input, swf};
use tradewind_lab::{Case, Experiment, LogFile, Parameter, Size, Study, experiments};

use super::studies;
use crate::exit::Failure;
use crate::worker_pool;

/// Arguments of `tradewind reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind reproduce list
  tradewind reproduce 001-fig4
  tradewind reproduce 001 002 --quick
  tradewind reproduce all --out reproduction
  tradewind reproduce 001-text --set rho=0.8 --quick
  tradewind reproduce all --sweep --logs logs --out reproduction

Verdicts do not change the exit code. With --out the same command goes on where it was stopped.")]
pub(crate) struct Args {
    /// Studies by their ids, a paper's number for all of its studies, or `all`; `list` prints
    /// what there is.
    #[arg(value_name = "ID|all|list", required = true)]
    what: Vec<String>,
    /// A small part of each study, in a few seconds.
    #[arg(long)]
    quick: bool,
    /// Everything that is drawn follows from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Another value for a parameter of the studies; `list` has them. May be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Also measure how the numbers move with each parameter, at quick size.
    #[arg(long)]
    sweep: bool,
    /// A folder for tables, pages and figures, and for parts that are done.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Overwrite the results of another command in this folder.
    #[arg(long, requires = "out")]
    force: bool,
    /// A folder with the logs that some studies replay.
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// Parts at a time [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// What is to be done.
pub(super) struct ReproduceSettings {
    pub(super) studies: Vec<&'static Study>,
    pub(super) size: Size,
    pub(super) seed: u64,
    /// Names and values that were set.
    pub(super) given: Vec<(String, String)>,
    pub(super) sweep: bool,
    pub(super) out: Option<PathBuf>,
    /// Whether results of another command may be overwritten.
    pub(super) force: bool,
    pub(super) threads: usize,
    /// What repeats it.
    pub(super) command: String,
    /// Those logs of the studies that are there.
    logs: Vec<(&'static str, LogFile)>,
}

impl Args {
    /// Whether only a list is wanted.
    pub(super) fn lists(&self) -> bool {
        self.what == ["list"]
    }

    pub(super) fn settings(&self) -> Result<ReproduceSettings, Failure> {
        let studies = self.studies()?;
        let given = self.given(&experiments(&studies))?;
        let logs = self.read_logs(&experiments(&studies))?;
        Ok(ReproduceSettings {
            studies,
            size: if self.quick { Size::Quick } else { Size::Full },
            seed: self.seed,
            given,
            sweep: self.sweep,
            command: self.command(&logs),
            out: self.out.clone(),
            force: self.force,
            threads: self.threads.map_or_else(worker_pool::cores, usize::from),
            logs,
        })
    }

    /// The command line as far as results depend on it; wherever its logs may be.
    fn command(&self, logs: &[(&str, LogFile)]) -> String {
        let mut command =
            format!("tradewind reproduce {} --seed {}", self.what.join(" "), self.seed);
        for (given, option) in [(self.quick, " --quick"), (self.sweep, " --sweep")] {
            command.push_str(if given { option } else { "" });
        }
        for setting in &self.set {
            command.push_str(&format!(" --set {setting}"));
        }
        command.push_str(if logs.is_empty() { "" } else { " --logs DIR" });
        command
    }

    /// Each once, in the order of the papers.
    fn studies(&self) -> Result<Vec<&'static Study>, Failure> {
        let names =
            |study: &Study, what: &str| what == "all" || what == study.id || what == study.paper();
        for what in &self.what {
            if !studies()?.iter().any(|study| names(study, what)) {
                let ids = studies()?.iter().map(|study| study.id.as_str());
                let hint = match diagnostics::suggestion(what, ids) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => "`tradewind reproduce list` has all of them".to_owned(),
                };
                return Err(Failure::usage(format!("there is no study `{what}`")).hint(hint));
            }
        }
        let wanted = |study: &&'static Study| self.what.iter().any(|what| names(study, what));
        Ok(studies()?.iter().filter(wanted).collect())
    }

    /// What `--set` says, checked against the experiments that know the name.
    fn given(&self, experiments: &[&Experiment]) -> Result<Vec<(String, String)>, Failure> {
        let mut given = Vec::new();
        for setting in &self.set {
            let (name, value) = setting
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("`--set {setting}` is not NAME=VALUE")))?;
            let all = || experiments.iter().flat_map(|experiment| experiment.parameters);
            let mut named = all().filter(|parameter| parameter.name == name).peekable();
            if named.peek().is_none() {
                let hint = match diagnostics::suggestion(name, all().map(|it| it.name)) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => "`tradewind reproduce list` has the parameters".to_owned(),
                };
                let message = format!("the studies have no parameter `{name}`");
                return Err(Failure::usage(message).hint(hint));
            }
            for parameter in named {
                parse(parameter, value)?;
            }
            given.push((name.to_owned(), value.to_owned()));
        }
        Ok(given)
    }

    /// The logs of `experiments` that are in the folder of logs.
    fn read_logs(
        &self,
        experiments: &[&'static Experiment],
    ) -> Result<Vec<(&'static str, LogFile)>, Failure> {
        let Some(folder) = &self.logs else { return Ok(Vec::new()) };
        let mut logs: Vec<(&'static str, LogFile)> = Vec::new();
        for &name in experiments.iter().flat_map(|experiment| experiment.logs) {
            let known = logs.iter().any(|(known, _)| *known == name);
            let paths = [folder.join(name), folder.join(format!("{name}.gz"))];
            let there = paths.iter().find(|path| path.is_file()).filter(|_| !known);
            let Some(path) = there else { continue };
            let input = input::read(&path.to_string_lossy())?;
            let (sha256, log) = (digest::sha256(&input.bytes), Arc::new(swf::parse(&input)?));
            logs.push((name, LogFile { log, sha256 }));
        }
        Ok(logs)
    }
}

fn parse(parameter: &Parameter, value: &str) -> Result<tradewind_lab::Value, Failure> {
    parameter.parse(value).map_err(|error| Failure::usage(format!("`--set`: {error}")))
}

impl ReproduceSettings {
    /// What `experiment` is run with.
    pub(super) fn case(&self, experiment: &Experiment, size: Size) -> Result<Case, Failure> {
        let mut case = Case::new(experiment, self.seed, size);
        for (name, value) in &self.given {
            for parameter in experiment.parameters.iter().filter(|it| it.name == name) {
                case = case.with(parameter, parse(parameter, value)?);
            }
        }
        for (name, file) in self.logs.iter().filter(|(name, _)| experiment.logs.contains(name)) {
            case = case.with_log(name, file.clone());
        }
        Ok(case)
    }
}
