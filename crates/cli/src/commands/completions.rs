//! `tradewind completions` and `tradewind man`: made from the one tree of commands.

use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;

use crate::exit::{Exit, Failure, Outcome};
use crate::output;

/// Arguments of `tradewind completions`.
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

/// Arguments of `tradewind man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind man | man -l -
  tradewind man plan > tradewind-plan.1
  tradewind man generate lublin | man -l -
  tradewind man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// One command, and one of its own; without any, the page of the whole program.
    command: Vec<String>,
    /// Write the pages of the program and of all commands into this folder, which is made if need
    /// be.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, mut tree: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree, "tradewind", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}

pub(crate) fn man(args: &ManArgs, mut tree: clap::Command) -> Outcome {
    if let Some(folder) = &args.out {
        return pages(folder, tree);
    }
    tree.build();
    let mut command = &tree;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            Failure::usage(format!("there is no command `{}`", args.command.join(" ")))
        })?;
    }
    let command = command.clone();
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::data(error.to_string()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Ok)
}

/// All pages, each in a file: `tradewind.1`, `tradewind-plan.1`, …
fn pages(folder: &Path, tree: clap::Command) -> Outcome {
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(tree, folder));
    let unwritable = |error| Failure::data(format!("{}: {error}", folder.display()));
    written.map_err(unwritable)?;
    Ok(Exit::Ok)
}
