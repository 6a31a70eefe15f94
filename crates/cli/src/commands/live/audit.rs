//! `tradewind audit`: refusals, sign-ins, and who changed or read what.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tradewind_daemon::audit::AuditKind;
use tradewind_daemon::store::sqlite::Sqlite;
use tradewind_daemon::store::{ExportError, StoreError, export, verify};
use tradewind_web::documents::{AUDIT_COLUMNS, AuditList, AuditRow};

use super::{Sheet, facts};
use crate::client::words::moment;
use crate::client::{Market, MarketArgs, encode, place};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Which rows of the log, or what to do with its file.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  tradewind audit --since 24h
  tradewind audit --user ana --kind refusal --format csv
  tradewind audit verify --state /var/lib/tradewind
  tradewind audit export | jq -c .body

Administrators may list it; `verify` and `export` read the file in the market's folder, also while
the market runs.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<AuditCommand>,
    /// Not older than this: a moment such as `2027-01-15T08:00:00Z`, or a time back from now such as
    /// `90s`, `15m`, `24h`, `7d`.
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Since>,
    /// Of this user; `@ADDRESS` where the user is unknown.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Of this kind: refusal, sign-in, read, job, rights, price, policy, money or lost.
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<AuditKind>,
    #[command(flatten)]
    place: MarketArgs,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Prove that no row is missing, changed or swapped.
    Verify(FileArgs),
    /// Write all rows as lines of JSON, with their chain.
    Export(AuditExportArgs),
}

/// Arguments of `tradewind audit verify`.
#[derive(Debug, clap::Args)]
struct FileArgs {
    /// The folder of the market; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Arguments of `tradewind audit export`.
#[derive(Debug, clap::Args)]
struct AuditExportArgs {
    #[command(flatten)]
    file: FileArgs,
    /// A file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The moment from which on rows are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// Seconds since 1970.
    At(i64),
    /// Seconds before now.
    Ago(i64),
}

impl Since {
    pub(super) fn seconds(self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match self {
            Since::At(at) => at,
            Since::Ago(ago) => i64::try_from(now.as_secs()).unwrap_or(0).saturating_sub(ago),
        }
    }
}

pub(super) fn since(text: &str) -> Result<Since, String> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Ok(Since::At(moment.as_second()));
    }
    let wrong = || "write a moment such as `2027-01-15T08:00:00Z`, or `90s`, `15m`, `24h`, `7d`";
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong().to_owned()),
    };
    let count: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let ago = count.checked_mul(seconds).filter(|ago| *ago >= 0).ok_or_else(wrong)?;
    Ok(Since::Ago(ago))
}

fn kind(text: &str) -> Result<AuditKind, String> {
    let found = AuditKind::ALL.into_iter().find(|(_, name)| *name == text).map(|(kind, _)| kind);
    found.ok_or_else(|| format!("there are: {}", AuditKind::ALL.map(|(_, name)| name).join(", ")))
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    match &args.what {
        None => list(args, format),
        Some(AuditCommand::Verify(file)) => proved(file, format),
        Some(AuditCommand::Export(args)) => write(args),
    }
}

fn list(args: &Args, format: Format) -> Outcome {
    let mut path = "/v1/audit".to_owned();
    let mut ask = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let sign = if path.contains('?') { '&' } else { '?' };
            path += &format!("{sign}{name}={}", encode(&value));
        }
    };
    ask("since", args.since.map(|it| it.seconds().to_string()));
    ask("user", args.user.clone());
    ask("kind", args.kind.map(|it| it.name().to_owned()));
    let sent = Market::open(&args.place)?.pages(&path, "rows")?;
    let AuditList { rows, .. } = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => {
            let columns = AUDIT_COLUMNS.map(|head| (head, Side::Left)).to_vec();
            Sheet { columns, rows: rows.iter().map(|it| it.cells().to_vec()).collect() }
                .print_csv()?;
        }
        Format::Table => output::print_styled(&table(&rows))?,
    }
    Ok(Exit::Ok)
}

fn table(rows: &[AuditRow]) -> String {
    let columns = vec![
        ("TIME", Side::Left),
        ("KIND", Side::Left),
        ("USER", Side::Left),
        ("SUBJECT", Side::Left),
        ("OUTCOME", Side::Left),
        ("COUNT", Side::Right),
    ];
    let row = |it: &AuditRow| {
        vec![
            moment(it.at),
            it.kind.clone(),
            it.user.clone(),
            it.subject.clone(),
            it.outcome.clone(),
            it.count.unwrap_or(1).to_string(),
        ]
    };
    Sheet { columns, rows: rows.iter().map(row).collect() }.table()
}

/// The log of the market in the folder, which must be there.
fn found(file: &FileArgs) -> Result<(PathBuf, Sqlite), Failure> {
    let path = place::audit(&place::folder(file.state.as_deref())?);
    if !path.exists() {
        let message = format!("there is no audit log: `{}`", path.display());
        return Err(Failure::usage(message).hint("name the folder of a market: `--state DIR`"));
    }
    let store = Sqlite::look(&path).map_err(|wrong| stored(&wrong))?;
    Ok((path, store))
}

fn stored(wrong: &StoreError) -> Failure {
    match wrong {
        StoreError::Damaged { .. } => Failure::negative(wrong.to_string()),
        _ => Failure::usage(wrong.to_string()),
    }
}

fn proved(file: &FileArgs, format: Format) -> Outcome {
    let (path, mut store) = found(file)?;
    let verified = verify(&mut store).map_err(|wrong| stored(&wrong))?;
    let (first, last) = verified.times.unzip();
    let document = json!({
        "audit": path.display().to_string(),
        "rows": verified.rows,
        "first": first,
        "last": last,
        "chain": verified.digest.to_string(),
        "proved": true,
    });
    facts(&document, format)?;
    Ok(Exit::Ok)
}

fn write(args: &AuditExportArgs) -> Outcome {
    let (_, mut store) = found(&args.file)?;
    let written = match &args.output {
        None => export(&mut store, &mut std::io::stdout().lock()),
        Some(path) => {
            let file = File::create(path);
            let file = file.map_err(|wrong| {
                Failure::usage(format!("cannot write `{}`: {wrong}", path.display()))
            })?;
            let mut file = BufWriter::new(file);
            let written = export(&mut store, &mut file);
            written.and_then(|rows| Ok(file.flush().map(|()| rows)?))
        }
    };
    match written {
        Ok(_) => Ok(Exit::Ok),
        Err(ExportError::Write(wrong)) if wrong.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Ok)
        }
        Err(ExportError::Write(wrong)) => {
            Err(Failure::usage(format!("the export could not be written: {wrong}")))
        }
        Err(ExportError::Store(wrong)) => Err(stored(&wrong)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_both_forms() {
        assert_eq!(since("24h"), Ok(Since::Ago(86_400)));
        assert_eq!(since("2027-01-15T08:00:00Z"), Ok(Since::At(1_800_000_000)));
        for wrong in ["", "h", "1y", "-5m", "99999999999999999d", "é"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
