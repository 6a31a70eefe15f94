//! Job scripts: `#SBATCH` and `#TRADEWIND` lines, merged with the options of a command line and
//! of the environment.
//!
//! The command line wins over the environment, that over `#TRADEWIND` lines, and those over
//! `#SBATCH` lines; of equals the last. No option is ignored: [`super::options`] says what becomes
//! of each.

mod arguments;
mod build;
mod chosen;
mod directives;
mod limits;
mod moments;
mod shape;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use tradewind_model::Time;

use super::options::{OPTIONS, OptionSpec, Owner, Takes};
use super::{Submission, Work};
use crate::diagnostics::{Diagnostic, Diagnostics, excerpt, suggestion};

pub(super) use limits::digits;

/// What is wrong with a value, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Describes a mistake, with a hint.
pub(super) fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Wrong {
    Wrong { message: message.into(), hint: hint.into() }
}

/// Where an option comes from, outside the script; later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The command's own default: what the script says goes before it.
    Default,
    /// A variable `SBATCH_…` or `TRADEWIND_…`.
    Environment,
    /// An argument of `tradewind submit`.
    CommandLine,
}

/// An option that was given outside the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The option that is set.
    pub option: &'static OptionSpec,
    /// Its value, if one was given.
    pub value: Option<String>,
    /// Where the option was given.
    pub origin: Origin,
}

/// What a submission is read against: nothing here looks at a clock.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The moment of the submission: seconds since 1970.
    pub now: Time,
    /// The zone of civil times such as `16:00`.
    pub zone: &'a TimeZone,
    /// The variables that `--export` may take along.
    pub variables: &'a BTreeMap<String, String>,
}

/// The options at the beginning of a command line's words, and what follows them: a script and
/// its arguments.
///
/// # Errors
/// Every word that looks like an option and is none.
pub fn command_line(words: &[String]) -> Result<(Vec<Given>, &[String]), Diagnostics> {
    let mut problems = Diagnostics::default();
    let mut given = Vec::new();
    let (found, rest) = arguments::options(words);
    for found in found {
        match found {
            Ok((option, value)) => given.push(Given { option, value, origin: Origin::CommandLine }),
            Err(Wrong { message, hint }) => {
                problems.push(Diagnostic::error("command line", message).with_hint(hint));
            }
        }
    }
    if rest.first().is_some_and(|word| word == ":") {
        let message = format!("`:`: {}", directives::HETEROGENEOUS);
        problems.push(Diagnostic::error("command line", message).with_hint(directives::INSTEAD));
    }
    problems.finish(Some((given, rest))).map(|(found, _)| found)
}

/// The options that variables set: `SBATCH_TIMELIMIT` and its like as `sbatch` reads them, and
/// `TRADEWIND_` with the name of one of Tradewind's own options in capitals. Warns of other
/// `SBATCH_` variables, which set nothing.
pub fn environment(variables: &BTreeMap<String, String>) -> (Vec<Given>, Diagnostics) {
    let mut warnings = Diagnostics::default();
    let mut given = Vec::new();
    for (name, value) in variables {
        match variable(name) {
            Some(option) => given.extend(set(option, value)),
            None if name.starts_with("SBATCH_") => warnings.push(stray(name)),
            None => {}
        }
    }
    (given, warnings)
}

/// The option that the variable `name` sets.
fn variable(name: &str) -> Option<&'static OptionSpec> {
    let of_slurm = |suffix: &str| OPTIONS.iter().find(|it| it.variable == suffix);
    match (name, name.split_once('_')?) {
        ("SLURM_CLUSTERS" | "SLURM_HINT", (_, suffix)) => of_slurm(suffix),
        ("SBATCH_WAIT4SWITCH", _) => of_slurm("REQ_SWITCH"),
        (_, ("SBATCH", suffix)) if !suffix.is_empty() => of_slurm(suffix),
        (_, ("TRADEWIND", suffix)) => {
            let own =
                |it: &&OptionSpec| it.owner == Owner::Tradewind && suffix == capitals(it.name);
            OPTIONS.iter().find(own)
        }
        _ => None,
    }
}

/// What a variable of this value gives. `SBATCH_DEBUG=0` is nothing, as `sbatch` has it.
fn set(option: &'static OptionSpec, value: &str) -> Option<Given> {
    let value = match option.takes {
        Takes::Nothing if value == "0" && option.variable == "DEBUG" => return None,
        Takes::Nothing => None,
        Takes::Perhaps if value.is_empty() => None,
        Takes::Perhaps | Takes::Value => Some(value.to_owned()),
    };
    Some(Given { option, value, origin: Origin::Environment })
}

fn stray(name: &str) -> Diagnostic {
    let known = OPTIONS.iter().filter(|it| !it.variable.is_empty());
    let known: Vec<String> = known.map(|it| it.variable.to_lowercase()).collect();
    let suffix = name.trim_start_matches("SBATCH_");
    let hint = match suggestion(suffix, known.iter().map(String::as_str)) {
        Some(best) => format!("did you mean `SBATCH_{}`?", best.to_uppercase()),
        None => "it is no variable that `sbatch` reads: unset it".to_owned(),
    };
    Diagnostic::warning("environment", "this variable sets nothing")
        .in_field(excerpt(name))
        .with_hint(hint)
}

fn capitals(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// Reads what is submitted: `work` with the options that were `given`, and if it is a script,
/// those of its own lines. Without work, `--wrap` must be given. `file` names the script in
/// messages, and the job if nothing else does. Returns the submission and warnings about it.
///
/// # Errors
/// All that is wrong with it, with lines; options that are refused are among it.
pub fn parse(
    file: &str,
    work: Option<Work>,
    given: &[Given],
    around: &Around<'_>,
) -> Result<(Submission, Diagnostics), Diagnostics> {
    let mut problems = Diagnostics::default();
    let text = match &work {
        Some(Work::Script { text, .. }) => Some(text.as_str()),
        _ => None,
    };
    let chosen = chosen::chosen((file, text), given, &mut problems);
    let submission = build::submission(file, work, chosen, around, &mut problems);
    problems.finish(submission)
}
