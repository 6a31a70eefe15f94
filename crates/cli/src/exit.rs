//! Exit codes by meaning, and what leads to them.

use std::io::Write as _;
use std::process::ExitCode;

/// What the exit code says; `docs/reference/exit-codes.md` is the page for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
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
    pub(crate) fn code(self) -> u8 {
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
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Ready to print, one problem per line; lower case, no final period. Empty: say nothing.
    pub(crate) problems: Vec<Problem>,
}

/// One thing that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, problems: vec![Problem { message: message.into(), hint: None }] }
    }

    /// Arguments that make no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// The answer is no.
    pub(crate) fn negative(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Negative, message)
    }

    /// Input that cannot be used.
    pub(crate) fn data(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Data, message)
    }

    /// Nothing satisfies what was asked.
    pub(crate) fn infeasible(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Infeasible, message)
    }

    /// With a way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        if let Some(last) = self.problems.last_mut() {
            last.hint = Some(hint.into());
        }
        self
    }

    /// What is no use as input was given by arguments alone.
    pub(crate) fn of_arguments(mut self) -> Failure {
        if self.exit == Exit::Data {
            self.exit = Exit::Usage;
        }
        self
    }

    /// The output is not read any more: not an error, and nothing to say.
    pub(crate) fn quiet() -> Failure {
        Failure { exit: Exit::Ok, problems: Vec::new() }
    }
}

/// What a command returns.
pub(crate) type Outcome = Result<Exit, Failure>;

/// A panic is a bug of ours: says so in short, and exits with 70.
pub(crate) fn install_bug_notice() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let payload = panic.payload();
        let what = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let _ = writeln!(
            anstream::stderr(),
            "bug: tradewind {} stopped{}: {what}\n  hint: this is never your fault; please report \
             it with the command line and the input",
            env!("CARGO_PKG_VERSION"),
            place.unwrap_or_default()
        );
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}
