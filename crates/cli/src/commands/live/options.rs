//! The options of `submit` and `quote`, from the table of all options of `sbatch`: one source of
//! help, completions, manual pages and of what a job script may say.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use tradewind_io::submission::change;
use tradewind_io::submission::options::{OPTIONS, OptionSpec, Owner, Support, Takes};
use tradewind_io::submission::script::{Given, Origin};

/// Options that the command line has for itself, under these names.
const OURS: [&str; 6] = ["help", "parsable", "quiet", "verbose", "version", "wait"];
/// Letters that mean something else in every command.
const LETTERS: [char; 4] = ['h', 'q', 'v', 'V'];

/// What the job is to be like, as far as the command line says; in its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobOptions(pub(crate) Vec<Given>);

fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter(|known| !OURS.contains(&known.name))
}

fn argument(known: &'static OptionSpec) -> Arg {
    let heading = match (known.owner, known.kind) {
        (Owner::Tradewind, _) => "Job: terms of the market",
        (Owner::Slurm, Support::PassedThrough) => "Job: for the managers of sites",
        (Owner::Slurm, _) => "Job: as with sbatch",
    };
    let short = known.short.filter(|letter| !LETTERS.contains(letter));
    let arg = Arg::new(known.name)
        .long(known.name)
        .short(short)
        .help(without_links(known.says))
        .help_heading(heading)
        // What is refused says why when it is given.
        .hide(known.kind == Support::Refused)
        .hide_short_help(known.kind == Support::PassedThrough);
    let valued = |arg: Arg| arg.action(ArgAction::Append).value_name("VALUE");
    match known.takes {
        Takes::Value => valued(arg).allow_hyphen_values(true),
        Takes::Perhaps => {
            valued(arg).num_args(0..=1).require_equals(true).default_missing_value("")
        }
        Takes::Nothing => arg.action(ArgAction::SetTrue).overrides_with(known.name),
    }
}

/// Markdown without the addresses of its links, which lead nowhere in a terminal.
fn without_links(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once("](") {
        match (before.rsplit_once('['), link.split_once(')')) {
            (Some((before, shown)), Some((_, after))) => {
                text.extend([before, shown]);
                rest = after;
            }
            _ => break,
        }
    }
    text + rest
}

impl clap::Args for JobOptions {
    fn augment_args(command: Command) -> Command {
        options().fold(command, |command, known| command.arg(argument(known)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        JobOptions::augment_args(command)
    }
}

impl FromArgMatches for JobOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<JobOptions, clap::Error> {
        Ok(JobOptions(given(matches, options())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = JobOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What the command line says of `all`, in its order.
fn given(matches: &ArgMatches, all: impl Iterator<Item = &'static OptionSpec>) -> Vec<Given> {
    let mut given: Vec<(usize, Given)> = Vec::new();
    for known in all {
        let places = matches.indices_of(known.name).into_iter().flatten();
        let values: Vec<Option<String>> = match known.takes {
            Takes::Nothing => vec![None; usize::from(matches.get_flag(known.name))],
            Takes::Value | Takes::Perhaps => {
                let all = matches.get_many::<String>(known.name).into_iter().flatten();
                all.map(|value| Some(value.clone())).collect()
            }
        };
        for (place, value) in places.zip(values) {
            let value = value.filter(|value| known.takes == Takes::Value || !value.is_empty());
            given.push((place, Given { option: known, value, origin: Origin::CommandLine }));
        }
    }
    given.sort_by_key(|(place, _)| *place);
    given.into_iter().map(|(_, given)| given).collect()
}

/// What is changed of a job that waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeOptions(pub(crate) Vec<Given>);

impl clap::Args for ChangeOptions {
    fn augment_args(command: Command) -> Command {
        change::options().fold(command, |command, known| command.arg(argument(known)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        ChangeOptions::augment_args(command)
    }
}

impl FromArgMatches for ChangeOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ChangeOptions, clap::Error> {
        Ok(ChangeOptions(given(matches, change::options())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ChangeOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The same options for a command whose help only names `submit`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unlisted(pub(crate) JobOptions);

impl clap::Args for Unlisted {
    fn augment_args(command: Command) -> Command {
        options().fold(command, |command, known| command.arg(argument(known).hide(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Unlisted::augment_args(command)
    }
}

impl FromArgMatches for Unlisted {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Unlisted, clap::Error> {
        JobOptions::from_arg_matches(matches).map(Unlisted)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    fn read(line: &str) -> String {
        let command = JobOptions::augment_args(Command::new("submit").infer_long_args(true));
        let command = command.arg(Arg::new("rest").num_args(0..).trailing_var_arg(true));
        let words = std::iter::once("submit").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words).unwrap();
        let show = |it: &Given| match &it.value {
            Some(value) => format!("{}={value}", it.option.name),
            None => it.option.name.to_owned(),
        };
        let given = JobOptions::from_arg_matches(&matches).unwrap();
        let mut shown: Vec<String> = given.0.iter().map(show).collect();
        shown.extend(matches.get_many::<String>("rest").into_iter().flatten().cloned());
        shown.join(" ")
    }

    #[test]
    fn help_has_no_addresses_of_links() {
        assert_eq!(without_links("a [b c](#d) of x[1-2] and [e](f)."), "a b c of x[1-2] and e.");
        assert_eq!(without_links("no link](x) [y"), "no link](x) [y");
        assert!(options().all(|known| !without_links(known.says).contains("](")));
    }

    #[test]
    fn options_are_read_as_sbatch_reads_them() {
        assert_eq!(
            read("-N2 -n 4 --time 10 --job-n=x -Ha1 --nice --nice=3 --begin -1 run.sh -N 3"),
            "nodes=2 ntasks=4 time=10 job-name=x hold array=1 nice nice=3 begin=-1 run.sh -N 3"
        );
        assert_eq!(read("--requeue --no-requeue --requeue"), "no-requeue requeue");
        assert_eq!(read("--uid 7 --wait-all-nodes 1"), "uid=7 wait-all-nodes=1");
    }
}
