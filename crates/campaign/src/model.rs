//! Models of workloads by name: `lublin`, `weibull[jobs=5000,shape=0.7]`. The same name, size and
//! seed draw the same jobs as `tradewind generate` does.

use tradewind_io::decimal;
use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::swf::Log;
use tradewind_model::Pools;
use tradewind_sim::models::{JOB_MODELS, JobModel, ParameterError, Requests};

use crate::brackets::{self, Named};
use crate::drawing::{ModelSource, log_of};
use crate::failure::Failure;

/// Parameters that every model has.
const COMMON: [&str; 4] = ["jobs", "users", "request", "procs"];
/// Jobs if nothing is said.
const JOBS: usize = 10_000;
/// The most jobs.
const JOBS_MOST: usize = 50_000_000;

/// A synthetic stream of jobs.
pub struct Model {
    name: String,
    model: JobModel,
    jobs: usize,
    requests: Requests,
    processors: u32,
}

/// The model of this name for a machine of so many processors.
pub fn read(text: &str, processors: u32) -> Result<Model, Failure> {
    let Named { name, parameters } = Named::of("model", text)?;
    let unknown = || {
        let failure = Failure::usage(format!("there is no model `{name}`"));
        failure.hint(did_you_mean(name, &JOB_MODELS))
    };
    let own = parameters.iter().find(|(key, _)| *key == "procs");
    let processors = own.map_or(Ok(processors), |(_, value)| machine(name, value))?;
    let model = JobModel::named(name, processors).ok_or_else(unknown)?;
    let (jobs, requests) = (JOBS, Requests::default());
    let mut model = Model { name: name.to_owned(), model, jobs, requests, processors };
    for (key, value) in parameters {
        model.set(name, key, value)?;
    }
    Ok(model)
}

/// What is wrong with a model in a campaign file, if anything.
pub fn objection(text: &str) -> Option<(String, String)> {
    const ANY_SIZE: u32 = 128;
    let hint = "write a name, such as `lublin`, or one with parameters: `lublin[jobs=5000]`";
    brackets::objection(read(text, ANY_SIZE), hint)
}

/// The size of the machine that the jobs are made for.
fn machine(name: &str, text: &str) -> Result<u32, Failure> {
    let max = Pools::MAX_NODES;
    text.parse().ok().filter(|count| (1..=max).contains(count)).ok_or_else(|| {
        Failure::usage(format!("model `{name}`: `procs` is a number from 1 to {max}"))
    })
}

impl Model {
    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), Failure> {
        let wrong = |what: &str| Failure::usage(format!("model `{name}`: `{key}` {what}"));
        let count = |max: usize| {
            let count = value.parse().ok().filter(|count| (1..=max).contains(count));
            count.ok_or_else(|| wrong(&format!("is a number from 1 to {max}")))
        };
        match key {
            // It was needed before all others.
            "procs" => {}
            "jobs" => self.jobs = count(JOBS_MOST)?,
            "users" => self.requests.users = count(1_000_000)? as u32,
            "request" => {
                let read = requests(value, self.requests);
                self.requests =
                    read.ok_or_else(|| wrong("is `exact` or a range such as `1..4`"))?;
            }
            _ => {
                let number: f64 = value.parse().map_err(|_| wrong("is a number"))?;
                self.model.set(key, number).map_err(|error| {
                    let names = self.model.parameters().into_iter().map(|(name, _)| name);
                    let names: Vec<&str> = COMMON.into_iter().chain(names).collect();
                    match error {
                        ParameterError::Unknown => {
                            let failure = wrong("is none of its parameters");
                            failure.hint(did_you_mean(key, &names))
                        }
                        error => wrong(&error.to_string()),
                    }
                })?;
            }
        }
        Ok(())
    }

    /// The jobs, as a log.
    pub fn draw(&self, seed: u64) -> Log {
        let Model { ref name, ref model, jobs, requests, processors } = *self;
        log_of(&ModelSource { name, model, jobs, processors, requests }, seed)
    }
}

fn requests(text: &str, others: Requests) -> Option<Requests> {
    if text == "exact" {
        return Some(Requests { users: others.users, ..Requests::exact() });
    }
    let (low, high) = text.split_once("..")?;
    let factor = |text: &str| decimal::parse(text, 3).ok().and_then(|n| u32::try_from(n).ok());
    let factor = (factor(low)?, factor(high)?);
    (factor.0 <= factor.1).then_some(Requests { factor, ..others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_set_and_refused() {
        let text = "weibull[jobs=50,users=3,request=exact,shape=0.5,gap=9]";
        let log = read(text, 16).unwrap().draw(1);
        assert_eq!((log.jobs.len(), log.header.max_procs()), (50, Some(16)));
        assert!(log.jobs.iter().all(|job| job.requested_time == job.run));
        assert_eq!(log, read(text, 16).unwrap().draw(1));
        assert_ne!(log.jobs, read(text, 16).unwrap().draw(2).jobs);
        let narrow = read("exponential[procs=8,jobs=99]", 64).unwrap().draw(1);
        assert_eq!(narrow.jobs.iter().filter_map(tradewind_io::swf::Record::held).max(), Some(8));
        for (text, said) in [
            ("lubin", "did you mean `lublin`?"),
            ("lublin[job=9]", "did you mean `jobs`?"),
            ("weibull[shap=1]", "did you mean `shape`?"),
        ] {
            assert_eq!(objection(text).unwrap().1, said);
        }
        for text in
            ["lublin[procs=0]", "lublin[", "lublin[jobs=0]", "lublin[jobs=x]", "weibull[shape=0]"]
        {
            assert!(objection(text).is_some(), "{text}");
        }
        assert_eq!(objection("lublin[request=1..2.5]"), None);
    }
}
