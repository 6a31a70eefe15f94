//! `tradewind backup` and `tradewind restore`: a copy of journal, audit log and what sites know, there and back.

use std::path::{Path, PathBuf};

use serde_json::json;
use tradewind_daemon::site::copies;
use tradewind_daemon::store::Verified;
use tradewind_daemon::store::sqlite;

use super::facts;
use super::journal::{found, of_backup, stored};
use crate::client::place;
use crate::default_sites::NOTE;
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;

/// The folder of a market's sites, beside its journal.
const SITES: &str = "sites";
/// Small files beside the journal, and what follows the backup's name in theirs: the key with which the
/// market signs receipts, and how large its default sites are.
const FILES: [(&str, &str); 2] = [("receipt.key", "receipt-key"), (NOTE, "default-sites")];

/// Arguments of `tradewind backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind backup /backups/market.db
  tradewind backup market.db --state /var/lib/tradewind

Also while the market runs, which is not held up. Beside the file come `FILE.archive` with archive
files, if there are any, `FILE.audit` with the audit log, and `FILE.sites` with what the sites know
of submitted tasks, `FILE.receipt-key` with the key that signs receipts for peers, and
`FILE.default-sites`. Journal and audit log are checked, and only their owner can read any of it.
Exit code 1 if the journal is damaged.")]
pub(crate) struct BackupArgs {
    /// A file that is not there yet.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the market; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Arguments of `tradewind restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind restore /backups/market.db --state /var/lib/tradewind

There must be no journal in the folder. The market keeps its name and what runs at its sites, so a
market and its copy must never both be in use.")]
pub(crate) struct RestoreArgs {
    /// File of the backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the market that it becomes.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
}

pub(crate) fn backup(args: &BackupArgs, format: Format) -> Outcome {
    let from = found(args.state.as_deref())?;
    let log = from.with_file_name("audit.db");
    let (to, sites) = (beside(&args.file, "audit"), beside(&args.file, "sites"));
    let files = FILES.map(|(name, suffix)| (from.with_file_name(name), beside(&args.file, suffix)));
    for to in [&to, &sites].into_iter().chain(files.iter().map(|(_, to)| to)) {
        if to.symlink_metadata().is_ok() {
            let message = format!("{} is there already", to.display());
            return Err(Failure::data(message).hint("move it away, or name another file"));
        }
    }
    let copied = sqlite::backup(&from, &args.file).map_err(|wrong| stored(&wrong))?;
    if log.exists() {
        sqlite::backup(&log, &to).map_err(|wrong| stored(&wrong))?;
    }
    copies::backup(&from.with_file_name(SITES), &sites).map_err(|wrong| unwritten(&wrong))?;
    copy(&files)?;
    told(&args.file, &copied, format)
}

pub(crate) fn restore(args: &RestoreArgs, format: Format) -> Outcome {
    let to = place::journal(&args.state);
    if !args.file.exists() {
        return Err(Failure::data(format!("there is no backup `{}`", args.file.display())));
    }
    let copied = sqlite::restore(&args.file, &to).map_err(|wrong| of_backup(stored(&wrong)))?;
    let log = beside(&args.file, "audit");
    if log.exists() {
        let to = place::audit(&args.state);
        sqlite::restore(&log, &to).map_err(|wrong| of_backup(stored(&wrong)))?;
    }
    let sites = beside(&args.file, "sites");
    copies::restore(&sites, &args.state.join(SITES)).map_err(|wrong| unwritten(&wrong))?;
    // What is in the folder already is newer, and stays.
    let files = FILES.map(|(name, suffix)| (beside(&args.file, suffix), args.state.join(name)));
    let missing: Vec<_> = files.into_iter().filter(|(_, to)| !to.exists()).collect();
    copy(&missing)?;
    told(&to, &copied, format)
}

/// Copies the files that are there, for their owner only.
fn copy(files: &[(PathBuf, PathBuf)]) -> Result<(), Failure> {
    for (from, to) in files {
        copies::copy(from, to).map_err(|wrong| unwritten(&wrong))?;
    }
    Ok(())
}

/// What belongs to a backup of the journal, by its suffix.
fn beside(backup: &Path, suffix: &str) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

fn unwritten(wrong: &std::io::Error) -> Failure {
    Failure::data(format!("what belongs to the journal is not copied: {wrong}"))
}

fn told(path: &Path, copied: &Verified, format: Format) -> Outcome {
    let document = json!({
        "journal": path.display().to_string(),
        "rows": copied.rows,
        "last": copied.times.map(|(_, last)| last),
        "chain": copied.digest.to_string(),
    });
    facts(&document, format)?;
    Ok(Exit::Ok)
}
