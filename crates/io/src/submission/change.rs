//! What a user changes of a job that waits: options of a submission, given later.

use tradewind_model::JobData;

use super::options::{OPTIONS, OptionSpec};
use super::script::{self, Around, Given, Origin};
use super::{Submission, TimeLimit, Work};
use crate::diagnostics::{Diagnostic, Diagnostics, excerpt};

/// Takes what an option says over from the second submission into the first.
type Take = fn(&mut Submission, &Submission);

/// Options that may be given later, too. The second part says whether the job is planned again.
const CHANGEABLE: [(&str, bool, Take); 27] = [
    ("begin", true, |job, new| job.terms.earliest_start = new.terms.earliest_start),
    ("budget", true, |job, new| job.terms.budget = new.terms.budget),
    ("comment", false, |job, new| job.comment.clone_from(&new.comment)),
    ("clusters", true, |job, new| job.terms.sites.clone_from(&new.terms.sites)),
    ("data-in", true, take_input),
    ("data-out", true, take_output),
    ("deadline", true, |job, new| job.terms.deadline = new.terms.deadline),
    ("dependency", true, |job, new| job.after.clone_from(&new.after)),
    ("earliest-start", true, |job, new| job.terms.earliest_start = new.terms.earliest_start),
    ("error", false, |job, new| job.surroundings.error.clone_from(&new.surroundings.error)),
    ("input", false, |job, new| job.surroundings.input.clone_from(&new.surroundings.input)),
    ("job-name", false, |job, new| job.name.clone_from(&new.name)),
    ("licenses", true, |job, new| job.terms.licences.clone_from(&new.terms.licences)),
    ("mail-type", false, |job, new| job.mail.clone_from(&new.mail)),
    ("max-price", true, |job, new| job.terms.max_price = new.terms.max_price),
    ("min-performance", true, |job, new| job.terms.min_performance = new.terms.min_performance),
    ("minimize", true, |job, new| job.terms.criterion = new.terms.criterion.clone()),
    ("nice", true, |job, new| job.terms.priority = new.terms.priority),
    ("no-requeue", false, |job, new| job.on_lost = new.on_lost),
    ("nodes", true, |job, new| (job.tasks, job.shape) = (new.tasks, new.shape)),
    ("output", false, |job, new| job.surroundings.output.clone_from(&new.surroundings.output)),
    ("partition", true, |job, new| job.terms.pools.clone_from(&new.terms.pools)),
    ("priority", true, |job, new| job.terms.priority = new.terms.priority),
    ("requeue", false, |job, new| job.on_lost = new.on_lost),
    ("sites", true, |job, new| job.terms.sites.clone_from(&new.terms.sites)),
    ("time", true, |job, new| job.time = new.time.clone()),
    ("value", true, |job, new| job.terms.value = new.terms.value),
];

/// The output stays as it was.
fn take_input(job: &mut Submission, new: &Submission) {
    let (old, new) = (data_of(job), data_of(new));
    put_data(job, JobData { input: new.input, from: new.from, ..old });
}

/// The input stays as it was.
fn take_output(job: &mut Submission, new: &Submission) {
    let (old, new) = (data_of(job), data_of(new));
    put_data(job, JobData { output: new.output, to: new.to, ..old });
}

fn data_of(job: &Submission) -> JobData {
    job.terms.data.clone().unwrap_or_default()
}

fn put_data(job: &mut Submission, data: JobData) {
    job.terms.data = (data.input > 0 || data.output > 0).then_some(data);
}

/// The options, by name.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter(|it| CHANGEABLE.iter().any(|(name, ..)| *name == it.name))
}

/// Options whose value may not be taken away.
const NEEDED: [&str; 3] = ["job-name", "nodes", "time"];

/// A change of a job that waits. An option without a value (`--deadline=`) takes what was said away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionChange {
    /// Places in the list.
    options: Vec<usize>,
    /// A submission with these options, for nothing in particular.
    values: Box<Submission>,
}

impl SubmissionChange {
    /// Reads options as a submission has them.
    ///
    /// # Errors
    /// All that is wrong with them, and options of a submission that cannot be changed.
    pub fn read(given: &[Given], around: &Around<'_>) -> Result<SubmissionChange, Diagnostics> {
        let mut problems = Diagnostics::default();
        let mut options = Vec::new();
        let mut kept = Vec::new();
        for it in given {
            let name = it.option.name;
            let Some(at) = CHANGEABLE.iter().position(|(known, ..)| *known == name) else {
                problems.push(unchangeable(name));
                continue;
            };
            options.push(at);
            let is_empty = it.value.as_deref() == Some("");
            match is_empty && !NEEDED.contains(&name) {
                true => kept.retain(|other: &Given| other.option.name != name),
                false => kept.push(it.clone()),
            }
        }
        if options.is_empty() {
            let known: Vec<&str> = CHANGEABLE.iter().map(|(name, ..)| *name).collect();
            let hint = format!("give one of these options: {}", known.join(", "));
            problems.push(Diagnostic::error("update", "nothing is to be changed").with_hint(hint));
        }
        // A submission needs a time limit.
        if let Ok(option) = OptionSpec::find("time") {
            kept.push(Given { option, value: Some("1".to_owned()), origin: Origin::Default });
        }
        let nothing = Some(Work::Command(vec!["true".to_owned()]));
        match script::parse("update", nothing, &kept, around) {
            Ok((values, _)) => problems
                .finish(Some(SubmissionChange { options, values: Box::new(values) }))
                .map(|it| it.0),
            Err(more) => {
                problems.extend(more.iter().cloned());
                Err(problems)
            }
        }
    }

    /// Whether the job is planned again: it then waits behind those that wait already.
    pub fn plans_again(&self) -> bool {
        self.options.iter().any(|at| CHANGEABLE[*at].1)
    }

    /// The submission with this change.
    ///
    /// # Errors
    /// What of the submission cannot be changed so, and what to do instead.
    pub fn of(&self, submission: &Submission) -> Result<Submission, (String, &'static str)> {
        let mut changed = submission.clone();
        for at in &self.options {
            let (name, _, take) = CHANGEABLE[*at];
            match (name, &changed) {
                ("nodes" | "time", it)
                    if it.terms.shapes.is_some() || it.terms.groups.is_some() =>
                {
                    let message = "its shapes or groups of tasks say nodes and time".to_owned();
                    return Err((message, "cancel it, and submit it again"));
                }
                ("nodes", Submission { shape: Some(it), .. }) if !it.is_plain() => {
                    let message = "how many nodes it needs follows from its tasks".to_owned();
                    return Err((message, "cancel it, and submit it again"));
                }
                _ => {}
            }
            take(&mut changed, &self.values);
        }
        if let (TimeLimit::One { limit, .. }, TimeLimit::One { counted, .. }) =
            (&changed.time, &submission.time)
        {
            changed.time = TimeLimit::One { limit: *limit, counted: *counted };
        }
        match (changed.terms.earliest_start, changed.terms.deadline) {
            (Some(start), Some(end)) if start >= end => {
                let message = "the deadline is not after the earliest start".to_owned();
                Err((message, "change both"))
            }
            _ => Ok(changed),
        }
    }
}

fn unchangeable(name: &str) -> Diagnostic {
    let message = format!("`{}` cannot be changed", excerpt(name));
    let hint = "cancel the job, and submit it again";
    Diagnostic::error("update", message).in_field(format!("--{}", excerpt(name))).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::tz::TimeZone;
    use tradewind_model::{Span, Time};

    use super::super::{Dependency, OnLost, When};
    use super::*;

    fn read(words: &[&str]) -> Result<SubmissionChange, Diagnostics> {
        let words: Vec<String> = words.iter().map(|&it| it.to_owned()).collect();
        let (given, rest) = script::command_line(&words)?;
        assert!(rest.is_empty());
        let (zone, variables) = (TimeZone::UTC, BTreeMap::new());
        SubmissionChange::read(
            &given,
            &Around { now: Time(1_000), zone: &zone, variables: &variables },
        )
    }

    fn job() -> Submission {
        let work = Work::Command(vec!["sleep".to_owned(), "9".to_owned()]);
        let mut job = Submission::new("old", work, 2, TimeLimit::one(Span(600)));
        job.after = vec![Dependency { when: When::Any, job: 3 }];
        (job.comment, job.terms.deadline) = (Some("old".to_owned()), Some(Time(90_000)));
        job
    }

    #[test]
    fn what_is_given_is_changed_and_all_else_stays() {
        let change = read(&["--time=20", "-N", "3", "--nice=5"]).unwrap();
        let changed = change.of(&job()).unwrap();
        let mut wanted = job();
        (wanted.tasks, wanted.time) = (3, TimeLimit::one(Span(1_200)));
        wanted.terms.priority = -5;
        assert_eq!(changed, wanted);
        assert!(change.plans_again());

        let change = read(&["-J", "new", "--requeue", "--comment="]).unwrap();
        let changed = change.of(&job()).unwrap();
        let wanted =
            Submission { name: "new".to_owned(), comment: None, on_lost: OnLost::Rerun, ..job() };
        assert_eq!((changed, change.plans_again()), (wanted, false));
    }

    #[test]
    fn input_and_output_are_changed_by_themselves() {
        let places = |input: u64, output: u64| {
            let named =
                |bytes: u64, name: &str| if bytes > 0 { name.to_owned() } else { String::new() };
            let (from, to) = (named(input, "a"), named(output, "b"));
            Some(JobData { input: input << 30, from, output: output << 30, to })
        };
        let mut job = job();
        let mut after = |words: &[&str]| {
            job = read(words).unwrap().of(&job).unwrap();
            job.terms.data.clone()
        };
        assert_eq!(after(&["--data-in=2G@a"]), places(2, 0));
        assert_eq!(after(&["--data-out=1G@b"]), places(2, 1), "its input stays");
        assert_eq!(after(&["--data-in=5G@a"]), places(5, 1), "its output stays");
        assert_eq!(after(&["--data-in="]), places(0, 1));
        assert_eq!(after(&["--data-out="]), None);
    }

    #[test]
    fn nothing_behind_an_option_takes_away_what_was_said() {
        let changed = read(&["--dependency=", "--deadline="]).unwrap().of(&job()).unwrap();
        assert_eq!((changed.after, changed.terms.deadline), (Vec::new(), None));
    }

    #[test]
    fn what_cannot_be_changed_is_refused_by_its_name() {
        let why = |words: &[&str]| read(words).unwrap_err().to_string();
        assert!(why(&["--array=1-3"]).contains("`array` cannot be changed"), "{}", why(&["-a1-3"]));
        assert!(why(&[]).contains("nothing is to be changed"));
        assert!(why(&["--time="]).contains("--time"), "{}", why(&["--time="]));
        let late = read(&["--begin=2030-01-01"]).unwrap().of(&job()).unwrap_err();
        assert_eq!(late.0, "the deadline is not after the earliest start");
        let shape = super::super::Shape { tasks: Some(8), ..Default::default() };
        let tasks = Submission { shape: Some(shape), ..job() };
        assert!(
            read(&["-N2"]).unwrap().of(&tasks).unwrap_err().0.contains("follows from its tasks")
        );
    }
}
