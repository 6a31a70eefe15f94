//! Why something cannot be done, and the exit code that says so.

use std::process::ExitCode;

use tradewind_io::diagnostics::{Diagnostic, Diagnostics};

/// What the exit code says; `docs/reference/exit-codes.md` is the page for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or done as far as the output is still read.
    Ok,
    /// The answer is no.
    Negative,
    /// The arguments or the configuration make no sense.
    Usage,
    /// A file cannot be read, or is not what it should be.
    Data,
    /// Nothing satisfies what was asked.
    Infeasible,
    /// An internal error of the program.
    Bug,
    /// Stopped from outside; what was done so far is kept.
    Interrupted,
    /// That of a job which was waited for.
    Job(u8),
}

impl Exit {
    /// As the shell sees it.
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Negative => 1,
            Exit::Usage => 2,
            Exit::Data => 3,
            Exit::Infeasible => 4,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
            Exit::Job(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command stops.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The exit code of the command.
    pub exit: Exit,
    /// Ready to print, one problem per line; lower case, no final period. Empty: say nothing.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, problems: vec![Problem { message: message.into(), hint: None }] }
    }

    /// Arguments that make no sense.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// The answer is no.
    pub fn negative(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Negative, message)
    }

    /// Input that cannot be used.
    pub fn data(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Data, message)
    }

    /// Nothing satisfies what was asked.
    pub fn infeasible(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Infeasible, message)
    }

    /// With a way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        if let Some(last) = self.problems.last_mut() {
            last.hint = Some(hint.into());
        }
        self
    }

    /// What is no use as input was given by arguments alone.
    pub fn of_arguments(mut self) -> Failure {
        if self.exit == Exit::Data {
            self.exit = Exit::Usage;
        }
        self
    }

    /// The output is not read any more: not an error, and nothing to say.
    pub fn quiet() -> Failure {
        Failure { exit: Exit::Ok, problems: Vec::new() }
    }
}

impl From<Diagnostics> for Failure {
    /// Bad input, whole: as many problems as one can read.
    fn from(all: Diagnostics) -> Failure {
        let shown = all.iter().take(Diagnostics::SHOWN);
        let mut problems: Vec<Problem> = shown.map(Problem::from).collect();
        let more = all.errors() + all.warnings() - problems.len();
        if more > 0 {
            problems.push(Problem { message: format!("… and {more} more problems"), hint: None });
        }
        Failure { exit: Exit::Data, problems }
    }
}

impl From<&Diagnostic> for Problem {
    /// `FILE:LINE:COLUMN: field: message`, without the word for its severity.
    fn from(diagnostic: &Diagnostic) -> Problem {
        let bare = Diagnostic { hint: None, ..diagnostic.clone() };
        let text = bare.to_string();
        let label = format!("{}: ", diagnostic.severity.name());
        let message = text.strip_prefix(&label).unwrap_or(&text).to_owned();
        Problem { message, hint: diagnostic.hint.clone() }
    }
}
