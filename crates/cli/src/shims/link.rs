//! `tradewind shims`: a folder with Slurm's commands.

use std::path::{Path, PathBuf};

use super::NAMES;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

/// Arguments of `tradewind shims`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind shims ~/tradewind/bin
  export PATH=~/tradewind/bin:$PATH
  sbatch --time 10 train.sh && squeue --me

Links `sbatch`, `squeue`, `scancel`, `sacct`, `scontrol`, `sinfo`, `srun` and `sacctmgr` to this
program: under these names it answers as Slurm's commands do, for jobs of the market. With the folder
first in PATH, scripts and tools for Slurm run on the market unchanged. `TRADEWIND_URL` and
`TRADEWIND_TOKEN` name the market; without them it is the one on this machine.")]
pub(crate) struct Args {
    /// The folder; made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace what is there under these names.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let program = std::env::current_exe();
    let program = program.map_err(|wrong| Failure::data(format!("where am I? {wrong}")))?;
    let folder = &args.folder;
    let failed = |wrong| Failure::data(format!("failed to make `{}`: {wrong}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let folder = folder.canonicalize().map_err(failed)?;
    let taken = NAMES.iter().map(|name| folder.join(name)).find(|it| !is_ours(it, &program));
    if let Some(taken) = taken.filter(|_| !args.force) {
        let message =
            format!("`{}` is there already, and is no link to tradewind", taken.display());
        return Err(Failure::usage(message).hint("choose another folder, or give --force"));
    }
    for name in NAMES {
        link(&program, &folder.join(name))?;
    }
    let text = format!("export PATH={}:$PATH\n", folder.display());
    output::print(&text)?;
    Ok(Exit::Ok)
}

/// Whether nothing is at `path`, or a link to a `tradewind`, this one or another.
fn is_ours(path: &Path, program: &Path) -> bool {
    match std::fs::read_link(path) {
        Ok(target) => target == *program || target.file_name() == program.file_name(),
        Err(_) => std::fs::symlink_metadata(path).is_err(),
    }
}

/// Whole or not at all: another process may be calling the command.
fn link(program: &Path, path: &Path) -> Result<(), Failure> {
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let made = std::os::unix::fs::symlink(program, &beside);
    made.and_then(|()| std::fs::rename(&beside, path)).map_err(|wrong| {
        let _ = std::fs::remove_file(&beside);
        Failure::data(format!("failed to make `{}`: {wrong}", path.display()))
    })
}
