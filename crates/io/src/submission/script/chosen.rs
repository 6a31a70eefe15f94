//! Which of several values of an option counts.

use std::collections::BTreeMap;

use super::super::options::{OptionSpec, Owner, Support};
use super::{Given, Origin, Wrong, arguments, capitals, directives, words};
use crate::diagnostics::{Diagnostic, Diagnostics};

/// Where an option was given.
#[derive(Debug, Clone)]
pub(super) struct OptionPlace {
    file: String,
    line: Option<u32>,
    field: String,
}

impl OptionPlace {
    /// A mistake here.
    pub(super) fn error(&self, Wrong { message, hint }: Wrong) -> Diagnostic {
        self.put(Diagnostic::error(&self.file, message)).with_hint(hint)
    }

    /// Something odd here.
    pub(super) fn warning(&self, Wrong { message, hint }: Wrong) -> Diagnostic {
        self.put(Diagnostic::warning(&self.file, message)).with_hint(hint)
    }

    fn put(&self, it: Diagnostic) -> Diagnostic {
        let it = it.in_field(&self.field);
        match self.line {
            Some(line) => it.at_line(line),
            None => it,
        }
    }
}

/// An option as it counts.
#[derive(Debug, Clone)]
pub(super) struct ChosenOption {
    pub(super) option: &'static OptionSpec,
    pub(super) value: Option<String>,
    pub(super) place: OptionPlace,
    /// Source and position; the higher rank takes effect.
    pub(super) rank: (Source, usize),
}

/// Later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Default,
    Slurm,
    Tradewind,
    Environment,
    CommandLine,
}

/// The options that count, by name; notes those that are refused or unknown.
pub(super) fn chosen(
    (file, text): (&str, Option<&str>),
    given: &[Given],
    problems: &mut Diagnostics,
) -> BTreeMap<&'static str, ChosenOption> {
    let mut all = match text {
        Some(text) => written(file, text, problems),
        None => Vec::new(),
    };
    let before = all.len();
    all.extend(given.iter().enumerate().map(|(i, it)| outside(it, before + i)));
    all.sort_by_key(|it| it.rank);
    let mut by_name = BTreeMap::new();
    for it in all {
        if it.option.kind == Support::Refused {
            let message = format!("`{}` is refused", it.place.field);
            problems.push(it.place.error(super::wrong(message, it.option.says)));
        } else {
            by_name.insert(it.option.name, it);
        }
    }
    by_name
}

/// The options of a script's lines, in their order.
fn written(file: &str, text: &str, problems: &mut Diagnostics) -> Vec<ChosenOption> {
    let mut all = Vec::new();
    for line in directives::lines(file, text, problems) {
        let place = |field: &str| {
            let field = field.to_owned();
            OptionPlace { file: file.to_owned(), line: Some(line.number), field }
        };
        let (source, mark) = match line.owner {
            Owner::Slurm => (Source::Slurm, "#SBATCH"),
            Owner::Tradewind => (Source::Tradewind, "#TRADEWIND"),
        };
        let words = match words::split(line.rest) {
            Ok(words) => words,
            Err(wrong) => {
                problems.push(place(mark).error(wrong));
                continue;
            }
        };
        let (found, rest) = match line.owner {
            Owner::Slurm => arguments::options(&words),
            Owner::Tradewind => (arguments::assignments(&words), &words[words.len()..]),
        };
        for found in found {
            match found {
                Ok((option, value)) => {
                    let place = place(&label(option, line.owner));
                    all.push(ChosenOption { option, value, place, rank: (source, all.len()) });
                }
                Err(wrong) => problems.push(place(mark).error(wrong)),
            }
        }
        if let Some(word) = rest.first() {
            let message = format!("`{}` is no option", crate::diagnostics::excerpt(word));
            let hint = "options begin with `-`; quote values that have blanks";
            problems.push(place(mark).error(super::wrong(message, hint)));
        }
    }
    all
}

fn label(option: &OptionSpec, owner: Owner) -> String {
    match owner {
        Owner::Slurm => format!("--{}", option.name),
        Owner::Tradewind => option.name.to_owned(),
    }
}

fn outside(given: &Given, order: usize) -> ChosenOption {
    let Given { option, value, origin } = given;
    let (file, field, source) = match origin {
        Origin::Default => ("default", format!("--{}", option.name), Source::Default),
        Origin::CommandLine => ("command line", format!("--{}", option.name), Source::CommandLine),
        Origin::Environment => {
            let field = match option.owner {
                Owner::Slurm => format!("SBATCH_{}", option.variable),
                Owner::Tradewind => format!("TRADEWIND_{}", capitals(option.name)),
            };
            ("environment", field, Source::Environment)
        }
    };
    let place = OptionPlace { file: file.to_owned(), line: None, field };
    ChosenOption { option, value: value.clone(), place, rank: (source, order) }
}
