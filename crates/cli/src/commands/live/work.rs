//! What `submit` and `quote` submit: a script or a command, with options.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use tradewind_io::input;
use tradewind_io::submission::script::{self, Around, Given};
use tradewind_io::submission::{Submission, Work};
use tradewind_model::Time;

use super::options::JobOptions;
use crate::client::words;
use crate::exit::Failure;
use crate::input::warn;
use crate::report::Report;

/// The job that `words` and `options` describe: a script and its arguments, or behind `--` a
/// command, or nothing if `--wrap` is given. All mistakes are reported at once.
pub(super) fn read(
    words: &[String],
    options: &JobOptions,
    report: &Report,
) -> Result<Submission, Failure> {
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let (mut given, warnings) = script::environment(&variables);
    given.extend(options.0.iter().cloned());
    warn(&warnings, report);
    let zone = TimeZone::system();
    let around = Around { now: Time(words::now()), zone: &zone, variables: &variables };
    let (file, work) = work(words, &given)?;
    let (submission, warnings) = script::parse(&file, work, &given, &around)?;
    warn(&warnings, report);
    Ok(submission)
}

/// The name for messages, and what runs.
fn work(words: &[String], given: &[Given]) -> Result<(String, Option<Work>), Failure> {
    let wrapped = given.iter().any(|it| it.option.name == "wrap");
    let Some((first, arguments)) = words.split_first() else {
        if wrapped {
            return Ok(("wrap".to_owned(), None));
        }
        let hint = "give a script, or `-` for standard input; `-- COMMAND`; or `--wrap LINE`";
        return Err(Failure::usage("there is nothing to run").hint(hint));
    };
    if is_command(words) {
        return Ok((first.clone(), Some(Work::Command(words.to_vec()))));
    }
    let text = input::read(first)?.text()?.to_owned();
    let name = if first == "-" { "stdin" } else { first };
    Ok((name.to_owned(), Some(Work::Script { text, arguments: arguments.to_vec() })))
}

/// Whether `--` stands right before the words, which are the last of the command line.
fn is_command(words: &[String]) -> bool {
    let line: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    begins_behind_dashes(&line, words)
}

fn begins_behind_dashes(line: &[String], words: &[String]) -> bool {
    let before = line.strip_suffix(words).and_then(<[String]>::last);
    before.is_some_and(|word| word == "--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_behind_dashes() {
        let of = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(begins_behind_dashes(&of("t submit -N 2 -- echo -n x"), &of("echo -n x")));
        assert!(!begins_behind_dashes(&of("t submit run.sh -- x"), &of("run.sh -- x")));
        assert!(!begins_behind_dashes(&of("t quote run.sh -- -x"), &of("run.sh -x")));
    }
}
