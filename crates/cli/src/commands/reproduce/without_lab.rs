//! `tradewind reproduce` in a program that was built without the papers' studies.

use crate::exit::{Failure, Outcome};
use crate::options::Format;
use crate::report::Report;

/// Whatever the whole program takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    what: Vec<String>,
}

/// Says how to get the studies.
pub(crate) fn run(args: &Args, _: Format, _: &Report) -> Outcome {
    let what = args.what.join(" ");
    let message = format!(
        "`reproduce {what}` needs the papers' studies, and this program was built without them"
    );
    Err(Failure::usage(message).hint("build it with them: `cargo build --release`"))
}
