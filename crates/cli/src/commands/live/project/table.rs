//! Users, projects, members and budgets go in and out as a file.

use tradewind_web::documents::{IMPORT_COLUMNS, ImportTable, Imported};

use super::import_file::{cells, csv, json, located};
use crate::client::{Market, MarketArgs};
use crate::exit::Failure;
use crate::options::Format;
use crate::output;

/// Arguments of `tradewind project import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project import people.csv --dry-run
  tradewind project import people.csv
  tradewind project export | tradewind project import -

Administrators may. The file is CSV with the columns that `export` prints, or JSON (`.json`). What it
says is so afterwards, all of it or nothing; a second time nothing changes.")]
pub(super) struct ProjectImportArgs {
    /// The file; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: String,
    /// Change nothing: print what would be changed.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind project export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project export > people.csv
  tradewind project export --format json

Administrators may. The file changes nothing when it is imported.")]
pub(super) struct ProjectExportArgs {
    #[command(flatten)]
    place: MarketArgs,
}

pub(super) fn import(args: &ProjectImportArgs, format: Format) -> Result<(), Failure> {
    let input = tradewind_io::input::read(&args.file)?;
    let text = input.text()?;
    let (table, lines) = match text.trim_start().starts_with('{') {
        true => (json(&args.file, text)?, Vec::new()),
        false => csv(&args.file, text)?,
    };
    let path = format!("/v1/import?dry_run={}", args.dry_run);
    let sent = Market::open(&args.place)?.post(&path, &table);
    let sent = sent.map_err(|failure| located(failure, &args.file, &lines))?;
    let Imported { changes, .. } = sent.read()?;
    match format {
        Format::Json => sent.print(),
        Format::Csv => {
            let head = vec!["change".to_owned()];
            let rows = changes.into_iter().map(|it| vec![it]);
            output::print(&output::csv(&std::iter::once(head).chain(rows).collect::<Vec<_>>())?)
        }
        Format::Table if changes.is_empty() => output::print("nothing to change\n"),
        Format::Table => {
            output::print(&changes.iter().map(|it| format!("{it}\n")).collect::<String>())
        }
    }
}

pub(super) fn export(args: &ProjectExportArgs, format: Format) -> Result<(), Failure> {
    let sent = Market::open(&args.place)?.get("/v1/export")?;
    if format == Format::Json {
        return sent.print();
    }
    let ImportTable { rows } = sent.read()?;
    let mut all = vec![IMPORT_COLUMNS.map(str::to_owned).to_vec()];
    all.extend(rows.iter().map(cells));
    output::print(&output::csv(&all)?)
}
