//! Command lines of Slurm: long options that may be abbreviated, letters that stand together.

use clap::FromArgMatches;

use super::refused;
use crate::exit::Failure;

/// Reads the options of `name`; the last of several counts.
///
/// # Errors
/// An option that is unknown or refused, by its name.
pub(super) fn read<T: clap::Args + FromArgMatches>(
    name: &'static str,
    words: &[String],
) -> Result<T, Failure> {
    let command = T::augment_args(clap::Command::new(name))
        .args_override_self(true)
        .infer_long_args(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .no_binary_name(true);
    let matches = command.try_get_matches_from(words).map_err(|wrong| failure(&wrong))?;
    T::from_arg_matches(&matches).map_err(|wrong| failure(&wrong))
}

/// In one line, without the usage.
fn failure(wrong: &clap::Error) -> Failure {
    let text = wrong.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match wrong.kind() {
        clap::error::ErrorKind::UnknownArgument => {
            refused(format!("{first}; options that the market cannot honour are refused"))
        }
        _ => refused(first),
    }
}

/// Values with commas between them, of all times that the option was given.
pub(super) fn list(given: &[String]) -> Vec<String> {
    let all = given.iter().flat_map(|it| it.split(','));
    all.map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}
