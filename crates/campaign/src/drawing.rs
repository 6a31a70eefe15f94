//! A log drawn from a model of jobs.

use tradewind_io::diagnostics;
use tradewind_io::swf::transform::{self, Factor, TransformError};
use tradewind_io::swf::{Header, Log, Record};
use tradewind_sim::models::{DrawnJob, JobModel, ParameterError, Requests};

use crate::failure::Failure;

/// What to draw.
#[derive(Debug, Clone)]
pub struct DrawRequest<'a> {
    /// One of [`tradewind_sim::models::JOB_MODELS`].
    pub model: &'a str,
    /// Number of jobs.
    pub jobs: usize,
    /// Processors of the machine, and of the widest job.
    pub processors: u32,
    /// Other values for the model's parameters.
    pub parameters: &'a [(String, f64)],
    /// The share of the machine that is asked for; `None`: as drawn.
    pub offered: Option<Factor>,
    /// Whose the jobs are, and what they ask for.
    pub requests: Requests,
}

impl<'a> DrawRequest<'a> {
    /// The model of this name as it was published.
    pub fn of(model: &'a str) -> DrawRequest<'a> {
        DrawRequest {
            model,
            jobs: 10_000,
            processors: 128,
            parameters: &[],
            offered: None,
            requests: Requests::default(),
        }
    }

    /// The log. Its header names the model, its parameters and the seed.
    ///
    /// # Errors
    /// There is no such model or parameter, or a value makes no sense.
    pub fn draw(&self, seed: u64) -> Result<Log, Failure> {
        let unknown = || Failure::usage(format!("there is no model `{}`", self.model));
        let mut model = JobModel::named(self.model, self.processors).ok_or_else(unknown)?;
        for (parameter, value) in self.parameters {
            model.set(parameter, *value).map_err(|error| refused(&model, parameter, error))?;
        }
        let DrawRequest { model: name, jobs, processors, requests, .. } = *self;
        let log = log_of(&ModelSource { name, model: &model, jobs, processors, requests }, seed);
        match self.offered {
            None => Ok(log),
            Some(load) => transform::scale_to_load(&log, self.processors, load).map_err(failed),
        }
    }
}

/// A model ready to draw.
#[derive(Debug, Clone, Copy)]
pub struct ModelSource<'a> {
    /// One of [`tradewind_sim::models::JOB_MODELS`].
    pub name: &'a str,
    /// With its parameters.
    pub model: &'a JobModel,
    /// Number of jobs.
    pub jobs: usize,
    /// Processors of the machine.
    pub processors: u32,
    /// Whose the jobs are, and what they ask for.
    pub requests: Requests,
}

/// The log that `source` draws from `seed`.
pub fn log_of(source: &ModelSource<'_>, seed: u64) -> Log {
    let mut jobs = source.model.draw(seed, source.jobs);
    source.requests.apply(seed, &mut jobs);
    let records = (1..).zip(&jobs).map(|(number, job)| record(number, job)).collect();
    Log::new(source.name, header(source, seed), records)
}

fn header(source: &ModelSource<'_>, seed: u64) -> Header {
    let mut header = Header::default();
    let (jobs, processors) = (source.jobs.to_string(), source.processors.to_string());
    for (key, value) in [
        ("Version", "2.2"),
        ("Computer", "none"),
        ("Installation", "made up"),
        ("MaxJobs", &jobs),
        ("MaxRecords", &jobs),
        ("UnixStartTime", "0"),
        ("TimeZoneString", "UTC"),
        ("MaxNodes", &processors),
        ("MaxProcs", &processors),
    ] {
        header.set(key, value);
    }
    let name = source.name;
    header.note(&format!("no real jobs: drawn by Tradewind's model {name} from seed {seed}"));
    let parameters = source.model.parameters();
    let parameters: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    header.note(&parameters.join(" "));
    header
}

fn refused(model: &JobModel, parameter: &str, error: ParameterError) -> Failure {
    let names: Vec<&str> = model.parameters().into_iter().map(|(name, _)| name).collect();
    let failure = Failure::usage(format!("parameter `{parameter}`: {error}"));
    match diagnostics::suggestion(parameter, names.iter().copied()) {
        _ if error != ParameterError::Unknown => failure,
        Some(best) => failure.hint(format!("did you mean `{best}`?")),
        None => failure.hint(format!("its parameters: {}", names.join(", "))),
    }
}

/// A transformation that cannot be made is asked for by options.
pub fn failed(error: TransformError) -> Failure {
    Failure::usage(error.to_string())
}

fn record(number: i64, job: &DrawnJob) -> Record {
    Record {
        number,
        submit: job.submit,
        wait: None,
        run: Some(job.run),
        processors: Some(job.processors),
        cpu_time: None,
        memory: None,
        requested_processors: Some(job.processors),
        requested_time: Some(job.requested),
        requested_memory: None,
        status: 1,
        user: i64::from(job.user),
        group: -1,
        application: -1,
        queue: -1,
        partition: -1,
        preceding: -1,
        think_time: -1,
    }
}
