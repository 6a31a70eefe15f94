//! `tradewind completions` and `tradewind man`: made from the one tree of commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

/// For whom.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind completions bash > ~/.local/share/bash-completion/completions/tradewind
  tradewind completions zsh > ~/.zfunc/_tradewind
  tradewind completions fish > ~/.config/fish/completions/tradewind.fish")]
pub(crate) struct Args {
    /// The shell that will read the script.
    shell: Shell,
}

/// Of what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind man | man -l -
  tradewind man plan > tradewind-plan.1")]
pub(crate) struct ManArgs {
    /// One command; without it, the page of the whole program.
    command: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tradewind", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}

pub(crate) fn man(args: &ManArgs) -> Outcome {
    let mut tree = Cli::command();
    tree.build();
    let command = match &args.command {
        None => tree,
        Some(name) => tree
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| Failure::usage(format!("there is no command `{name}`")))?,
    };
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::data(error.to_string()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Ok)
}
