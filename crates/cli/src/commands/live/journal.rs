//! `tradewind journal`: the market's journal, proved, replayed, exported, archived.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tradewind_daemon::codec::{Codec as _, Json};
use tradewind_daemon::engine::RecoveryError;
use tradewind_daemon::journal::{JournalError, Proof, prove, state_after};
use tradewind_daemon::live::State;
use tradewind_daemon::store::archive::Segment;
use tradewind_daemon::store::sqlite::{self, ArchiveCutoff, Cover, Sqlite};
use tradewind_daemon::store::{
    Digest, ExportError, ExportedRows, ImportError, RowSource, Store, StoreError, StoreRows,
    Verified, export,
};
use tradewind_postgres::{Keeper, Postgres};

use super::audit::{Since, since};
use super::facts;
use crate::exit::{Exit, Failure, Outcome};
use crate::journals::{JournalPlace, PAGE};
use crate::options::Format;
use crate::{decisions, output};

/// What to do with the journal.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: JournalCommand,
}

#[derive(Debug, clap::Subcommand)]
enum JournalCommand {
    /// Prove that the journal is whole, and that its state is what its rows make.
    Verify(JournalArgs),
    /// Make the state again from the rows alone, up to any of them.
    Replay(ReplayArgs),
    /// Write all rows as lines of JSON.
    Export(JournalExportArgs),
    /// Copy a journal to where none is: between files and databases, or from an export.
    Import(JournalImportArgs),
    /// Move old rows into compressed archive files beside the journal.
    Archive(ArchiveArgs),
    /// Make the journal's file as small as what is in it.
    Compact(CompactArgs),
}

/// Arguments of `tradewind journal verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal verify
  tradewind journal verify --state /var/lib/tradewind
  tradewind journal verify --file backup.db

Also while the market runs. Exit code 1 if the journal is damaged or a state is not what the rows
make; the document says `proved: false` then, and why.")]
struct JournalArgs {
    #[command(flatten)]
    journal: JournalChoice,
}

#[derive(Debug, clap::Args)]
struct JournalChoice {
    /// The folder of the market; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A journal by itself, such as a backup.
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    file: Option<PathBuf>,
    /// A journal in PostgreSQL: `postgresql://USER@HOST/DATABASE`.
    #[arg(long, value_name = "URL", conflicts_with_all = ["state", "file"])]
    store: Option<String>,
}

/// Arguments of `tradewind journal import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal import journal.db postgresql://tradewind@db.example/tradewind
  tradewind journal import postgresql://tradewind@db.example/tradewind back.db
  tradewind journal import rows.jsonl journal.db

The market must not run. Every row is verified, all of them are copied or none, and the digests of
both journals are compared. The market keeps its name, so only one of the two may be used
afterwards. Snapshots are not copied: the next start reads all rows.")]
struct JournalImportArgs {
    /// A journal's file, an export of one (`.jsonl`), or the URL of a database.
    #[arg(value_name = "FROM")]
    from: String,
    /// A file that is not there yet, or the URL of a database without a journal.
    #[arg(value_name = "TO")]
    to: String,
}

/// Arguments of `tradewind journal replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal replay
  tradewind journal replay --to 310 --format json > then.json

No snapshot is asked: the state is made of rows. JSON is all of it.")]
struct ReplayArgs {
    /// The last row that counts; all of them without it.
    #[arg(long, value_name = "ROW")]
    to: Option<u64>,
    #[command(flatten)]
    journal: JournalChoice,
}

/// Arguments of `tradewind journal export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal export | jq -c .body
  tradewind journal export --output rows.jsonl")]
struct JournalExportArgs {
    /// A file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    journal: JournalChoice,
}

/// Arguments of `tradewind journal archive`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal archive
  tradewind journal archive --before 30d --state /var/lib/tradewind
  tradewind journal archive --before 2027-01-15T08:00:00Z

The market must not run: `up` archives by itself, after `journal.retention` of the configuration.
Rows that the latest snapshot does not have stay; a market that was stopped has one of its last row.
All commands read archive files and journal as one.")]
struct ArchiveArgs {
    /// Rows that are older than this go: a moment such as `2027-01-15T08:00:00Z`, or an age such as
    /// `90d`.
    #[arg(long, value_name = "WHEN", value_parser = since, default_value = "90d")]
    before: Since,
    #[command(flatten)]
    journal: JournalChoice,
}

/// Arguments of `tradewind journal compact`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind journal compact
  tradewind journal compact --state /var/lib/tradewind

The market must not run. The disk needs room for the file once more. Nothing is lost; afterwards the
file shrinks by itself when rows are archived.")]
struct CompactArgs {
    #[command(flatten)]
    journal: JournalChoice,
}

impl JournalChoice {
    fn place(&self) -> Result<JournalPlace, Failure> {
        match (&self.file, &self.store) {
            (Some(file), _) => Ok(JournalPlace::File(file.clone())),
            (None, Some(url)) => JournalPlace::database(url),
            (None, None) => JournalPlace::of_folder(self.state.as_deref()),
        }
    }

    /// A file by itself may be a backup.
    fn advise(&self, failure: Failure) -> Failure {
        if self.file.is_some() { of_backup(failure) } else { failure }
    }
}

/// What to do about a damaged journal of a market.
const RESTORE: &str = "`tradewind restore` brings a backup back";

/// The same about a damaged backup.
const ANOTHER: &str =
    "if it is a backup, prove an earlier one, or make a new one of the market: `tradewind backup`";

/// The journal's file of the market in this folder, which must be there.
pub(super) fn found(state: Option<&Path>) -> Result<PathBuf, Failure> {
    match JournalPlace::of_folder(state)? {
        JournalPlace::File(path) => Ok(path),
        JournalPlace::Database(address) => {
            let message = format!("the journal is in {}", address.name());
            Err(Failure::usage(message)
                .hint(format!("the database has its own backups: see {PAGE}")))
        }
    }
}

/// The failure with what helps if the damaged file is a backup.
pub(super) fn of_backup(mut failure: Failure) -> Failure {
    for problem in &mut failure.problems {
        if problem.hint.as_deref() == Some(RESTORE) {
            problem.hint = Some(ANOTHER.to_owned());
        }
    }
    failure
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    match &args.what {
        JournalCommand::Verify(args) => verify(&args.journal, format),
        JournalCommand::Replay(args) => replay(args, format).map_err(|it| args.journal.advise(it)),
        JournalCommand::Export(args) => write(args).map_err(|it| args.journal.advise(it)),
        JournalCommand::Import(args) => import(args, format),
        JournalCommand::Archive(args) => {
            archive(args, format).map_err(|it| args.journal.advise(it))
        }
        JournalCommand::Compact(args) => {
            compact(args, format).map_err(|it| args.journal.advise(it))
        }
    }
}

fn archive(args: &ArchiveArgs, format: Format) -> Outcome {
    let place = args.journal.place()?;
    let made = archived(&place, args.before.seconds()).map_err(|it| stored(&it))?;
    let all = archives(&place).map_err(|it| stored(&it))?;
    let document = json!({
        "journal": place.name(),
        "archived_rows": made.iter().map(|it| it.last - it.first + 1).sum::<u64>(),
        "new_files": made.iter().map(Segment::name).collect::<Vec<_>>(),
        "archive_files": all.len(),
        "first_row": all.last().map_or(1, |it| it.last + 1),
    });
    facts(&document, format)?;
    Ok(Exit::Ok)
}

/// Moves all rows that are older than `before` into archives; returns these.
fn archived(place: &JournalPlace, before: i64) -> Result<Vec<Segment>, StoreError> {
    let address = match place {
        JournalPlace::File(path) => return sqlite::archive_all(path, Cover::Snapshots, before),
        JournalPlace::Database(address) => address,
    };
    let mut keeper = Keeper::beside(address)?;
    let due = ArchiveCutoff { before, partly_before: before };
    let mut made = Vec::new();
    while let Some(segment) = keeper.archive(due, Cover::Snapshots)? {
        made.push(segment);
    }
    Ok(made)
}

/// What is archived.
fn archives(place: &JournalPlace) -> Result<Vec<Segment>, StoreError> {
    match place {
        JournalPlace::File(path) => Sqlite::look(path)?.archives(),
        JournalPlace::Database(address) => Postgres::look(address)?.archives(),
    }
}

fn compact(args: &CompactArgs, format: Format) -> Outcome {
    let path = match args.journal.place()? {
        JournalPlace::File(path) => path,
        JournalPlace::Database(_) => {
            let message = "a database makes its files small by itself";
            return Err(Failure::usage(message).hint("PostgreSQL's `VACUUM FULL` does it at once"));
        }
    };
    let size = || std::fs::metadata(&path).map_or(0, |it| it.len());
    let before = size();
    sqlite::compact(&path).map_err(|it| stored(&it))?;
    let journal = path.display().to_string();
    facts(&json!({ "journal": journal, "bytes_before": before, "bytes": size() }), format)?;
    Ok(Exit::Ok)
}

fn verify(journal: &JournalChoice, format: Format) -> Outcome {
    let place = journal.place()?;
    match proof(&place) {
        Ok(document) => {
            facts(&document, format)?;
            Ok(Exit::Ok)
        }
        Err(failure) => {
            let failure = journal.advise(failure);
            if failure.exit == Exit::Negative && format == Format::Json {
                output::json(&disproof(&place, &failure))?;
            }
            Err(failure)
        }
    }
}

/// What `verify` says of a journal that is not whole.
fn disproof(place: &JournalPlace, failure: &Failure) -> Value {
    let problems: Vec<&String> = failure.problems.iter().map(|it| &it.message).collect();
    json!({ "journal": place.name(), "proved": false, "problems": problems })
}

/// The snapshots that are damaged; a file is checked as a whole for that.
fn damaged_snapshots(place: &JournalPlace) -> Result<Vec<u64>, StoreError> {
    match place {
        JournalPlace::File(path) => Ok(sqlite::check(path)?.damaged_snapshots),
        JournalPlace::Database(address) => Postgres::look(address)?.damaged_snapshots(),
    }
}

pub(crate) fn proof(place: &JournalPlace) -> Result<Value, Failure> {
    let damaged = damaged_snapshots(place).map_err(|wrong| stored(&wrong))?;
    let mut store = place.look().map_err(|wrong| stored(&wrong))?;
    let proof = prove(store.as_mut(), &Json).map_err(|wrong| journal(&wrong))?;
    let decisions = decisions::retrace(store.as_mut(), &Json).map_err(|wrong| {
        Failure::negative(wrong)
            .hint("the policies of this program decide otherwise than those that kept this journal")
    })?;
    let archives = archives(place).map_err(|wrong| stored(&wrong))?;
    let mut document = document(place, &proof, &damaged, &archives);
    document["decisions"] = json!(decisions);
    Ok(document)
}

fn document(place: &JournalPlace, proof: &Proof, damaged: &[u64], archives: &[Segment]) -> Value {
    let (first, last) = proof.verified.times.unzip();
    json!({
        "journal": place.name(),
        "rows": proof.verified.rows,
        "first": first,
        "last": last,
        "chain": proof.verified.digest.to_string(),
        "snapshot": proof.snapshot,
        "damaged_snapshots": damaged,
        "archive_files": archives.len(),
        "archived_rows": archives.last().map_or(0, |it| it.last),
        "state": proof.state.to_string(),
        "proved": true,
    })
}

fn replay(args: &ReplayArgs, format: Format) -> Outcome {
    let mut store = args.journal.place()?.look().map_err(|wrong| stored(&wrong))?;
    let to = args.to.unwrap_or_else(|| store.last());
    let state = state_after(store.as_mut(), &Json, to).map_err(|wrong| journal(&wrong))?;
    let bytes = Json.state(&state);
    match format {
        Format::Json => {
            output::print_bytes(&bytes)?;
            output::print("\n")?;
        }
        Format::Table | Format::Csv => facts(&summary(to, &state, Digest::of(&bytes)), format)?,
    }
    Ok(Exit::Ok)
}

fn summary(row: u64, state: &State, digest: Digest) -> Value {
    json!({
        "row": row,
        "time": state.now().0,
        "market": state.name,
        "policy": state.policy,
        "jobs": state.jobs.len(),
        "tokens": state.tokens().len(),
        "state": digest.to_string(),
    })
}

fn write(args: &JournalExportArgs) -> Outcome {
    let mut store = args.journal.place()?.look().map_err(|wrong| stored(&wrong))?;
    let failed = |wrong: ExportError| match wrong {
        ExportError::Store(wrong) => stored(&wrong),
        ExportError::Write(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Failure::quiet()
        }
        ExportError::Write(_) => Failure::data(wrong.to_string()),
    };
    match &args.output {
        Some(to) => output::write_with(to, |file: &mut File| {
            let mut buffer = BufWriter::new(file);
            export(store.as_mut(), &mut buffer).map_err(std::io::Error::other)?;
            buffer.flush()
        })?,
        None => {
            let mut to = BufWriter::new(std::io::stdout().lock());
            export(store.as_mut(), &mut to).map_err(failed)?;
        }
    }
    Ok(Exit::Ok)
}

fn import(args: &JournalImportArgs, format: Format) -> Outcome {
    let (from, to) = (JournalPlace::named(&args.from)?, JournalPlace::named(&args.to)?);
    let imported = match &from {
        JournalPlace::File(path) if is_export(path) => {
            let file = File::open(path).map_err(|wrong| {
                Failure::data(format!("`{}` cannot be read: {wrong}", path.display()))
            })?;
            let rows = ExportedRows::begin(BufReader::new(file));
            rows.and_then(|mut rows| put(&to, &mut rows))
        }
        _ => {
            let mut store = idle(&from).map_err(|wrong| stored(&wrong))?;
            put(&to, &mut StoreRows::of(store.as_mut()))
        }
    };
    let verified = imported.map_err(|wrong| match wrong {
        ImportError::Store(wrong) => stored(&wrong),
        ImportError::Read(_) => Failure::data(wrong.to_string()),
        ImportError::Line { .. } | ImportError::Different { .. } => {
            Failure::negative(wrong.to_string())
        }
    })?;
    let document = json!({
        "from": from.name(),
        "to": to.name(),
        "rows": verified.rows,
        "chain": verified.digest.to_string(),
    });
    facts(&document, format)?;
    Ok(Exit::Ok)
}

/// Whether the file is lines of JSON.
fn is_export(path: &Path) -> bool {
    let mut first = [0];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"{"
}

/// A journal that no daemon writes meanwhile.
fn idle(from: &JournalPlace) -> Result<Box<dyn Store>, StoreError> {
    match from {
        // It has the lock as long as it is open.
        JournalPlace::File(path) => Ok(Box::new(Sqlite::reopen(path)?)),
        JournalPlace::Database(address) if Postgres::facts(address)?.has_owner => {
            Err(StoreError::Busy { path: address.name().to_owned() })
        }
        JournalPlace::Database(_) => from.look(),
    }
}

fn put(to: &JournalPlace, rows: &mut dyn RowSource) -> Result<Verified, ImportError> {
    match to {
        JournalPlace::File(path) => sqlite::import(path, rows),
        JournalPlace::Database(address) => tradewind_postgres::import(address, rows),
    }
}

/// What is wrong with a file is a negative answer; that it cannot be read at all is none.
pub(super) fn stored(wrong: &StoreError) -> Failure {
    let message = wrong.to_string();
    match wrong {
        StoreError::Damaged { .. } => Failure::negative(message).hint(RESTORE),
        StoreError::Io { .. } | StoreError::Full { .. } => Failure::data(message),
        StoreError::Lost { .. } => Failure::data(message).hint(RESTORE),
        StoreError::Busy { .. } => Failure::usage(message).hint("is the market running?"),
        StoreError::Superseded { .. } => Failure::usage(message),
        StoreError::TooNew { .. } => Failure::usage(message).hint("use that release"),
    }
}

fn journal(wrong: &JournalError) -> Failure {
    match wrong {
        JournalError::Rows(RecoveryError::Store(wrong)) => stored(wrong),
        JournalError::NoRow { .. } => Failure::usage(wrong.to_string()),
        JournalError::Rows(_) | JournalError::Different { .. } => {
            Failure::negative(wrong.to_string())
        }
    }
}
