//! A log and a grid from the accounting of Slurm.

mod call;

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use tradewind_io::diagnostics::{Diagnostic, Diagnostics};
use tradewind_io::input::{self, Stream};
use tradewind_io::sacct::{Arrival, History, KeepNames, ProcessorUnit, SacctOptions, SacctReader};
use tradewind_model::Span;

use super::Target;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::report::Report;

/// A list of nodes of a very wide job is long; anything longer than this is no row.
const LONGEST_LINE: usize = 4 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind generate sacct --from 2026-03-01 --to 2026-04-01 -o march.swf --grid march.toml
  sacct -aXDP -S 2026-03-01 -E 2026-04-01 -o ALL > march.txt
  tradewind generate sacct march.txt --timezone Europe/Berlin -o march.swf --grid march.toml
  tradewind simulate march.swf --grid march.toml --policy easy,conservative --out runs")]
pub(super) struct Args {
    /// What `sacct -aXDP` printed, with its header line, plain or gzip; `-` reads standard input.
    #[arg(value_name = "FILE", required_unless_present = "from", conflicts_with_all = ["from", "to", "cluster", "timeout"])]
    file: Option<String>,
    /// Run `sacct` for jobs from this date on, instead of reading a file.
    #[arg(long, value_name = "DATE", requires = "to", value_parser = call::date)]
    from: Option<String>,
    /// The end of the period.
    #[arg(long, value_name = "DATE", requires = "from", value_parser = call::date)]
    to: Option<String>,
    /// The cluster that `sacct` is asked for [default: its own].
    #[arg(long, value_name = "NAME", requires = "from", value_parser = call::cluster)]
    cluster: Option<String>,
    /// How long `sacct` may take.
    #[arg(long, value_name = "SPAN", default_value = "30m", value_parser = tradewind_io::duration::parse_span)]
    timeout: Span,
    /// Write a grid file with the partitions' nodes, as far as the jobs show them.
    #[arg(long, value_name = "FILE")]
    grid: Option<PathBuf>,
    /// Write which number stands for which name; readable for you only.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// The time zone of times in the file, such as `Europe/Berlin` [default: that of this machine].
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    timezone: Option<TimeZone>,
    /// What a processor of the log is [default: `cpus` if the rows have them].
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
    /// When a job arrives.
    #[arg(long, value_enum, default_value_t)]
    arrival: ArrivalArg,
    /// Only jobs of this partition; may be repeated.
    #[arg(long = "partition", value_name = "NAME")]
    partitions: Vec<String>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnitArg {
    /// Slurm's CPUs: jobs share nodes.
    Cpus,
    /// Whole nodes.
    Nodes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ArrivalArg {
    /// When it could have started: after its dependencies, holds and begin time.
    #[default]
    Eligible,
    /// When it was submitted.
    Submit,
}

fn zone(text: &str) -> Result<TimeZone, String> {
    TimeZone::get(text).map_err(|_| "no such time zone: write `Europe/Berlin` or `UTC`".to_owned())
}

impl Args {
    fn options(&self) -> SacctOptions {
        let zone = self.timezone.clone().unwrap_or_else(TimeZone::system);
        SacctOptions {
            unit: self.unit.map(|unit| match unit {
                UnitArg::Cpus => ProcessorUnit::Cpus,
                UnitArg::Nodes => ProcessorUnit::Nodes,
            }),
            arrival: match self.arrival {
                ArrivalArg::Eligible => Arrival::Eligible,
                ArrivalArg::Submit => Arrival::Submit,
            },
            partitions: self.partitions.iter().cloned().collect::<BTreeSet<_>>(),
            names: if self.names.is_some() { KeepNames::Yes } else { KeepNames::No },
            ..SacctOptions::new(zone)
        }
    }
}

pub(super) fn run(args: &Args, report: &Report) -> Outcome {
    let history = match (&args.file, &args.from, &args.to) {
        (Some(file), _, _) => {
            let Stream { mut from, size } = input::open(file)?;
            read(file, &mut *from, size, args.options(), report)?
        }
        (None, Some(from), Some(to)) => {
            let query = call::Query { from, to, cluster: args.cluster.as_deref() };
            call::run(&query, args.timeout, |from| {
                read("sacct", from, None, args.options(), report)
            })?
        }
        _ => return Err(Failure::usage("give a file, or `--from` and `--to`")),
    };
    for remark in history.counts().remarks() {
        report.note(&remark);
    }
    let size = history.processors();
    if size == 0 {
        let failure = Failure::data("no job ran, so that there is nothing to replay");
        return Err(failure.hint("give a period in which jobs ended"));
    }
    let (jobs, pools) = (history.counts().jobs, history.pools());
    report.note(&format!("jobs written: {jobs}; pools of nodes: {pools}, {size} processors"));
    if pools > 1 {
        report.note(
            "a policy may start a job in any pool: to keep jobs where they ran, make a log of each \
             pool with --partition",
        );
    }
    write(args, &history)?;
    Ok(Exit::Ok)
}

fn write(args: &Args, history: &History) -> Result<(), Failure> {
    if let Some(path) = &args.grid {
        output::write_file(path, history.grid().as_bytes())?;
    }
    if let Some(path) = &args.names {
        write_names(path, history)?;
    }
    args.target.write_with(|to| history.write_log(to))
}

/// A file for its owner only, new or with its mode changed before it has anything in it.
fn write_names(path: &Path, history: &History) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::data(format!("failed to write `{}`: {error}", path.display()));
    let mut open = std::fs::OpenOptions::new();
    let file = open.write(true).create(true).truncate(true).mode(0o600).open(path);
    let file = file.map_err(failed)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    file.set_permissions(mode).map_err(failed)?;
    let mut to = io::BufWriter::new(file);
    history.write_names(&mut to).and_then(|()| to.flush()).map_err(failed)
}

/// Reads all rows of `from`; `size` is how many bytes there are, for the progress bar.
fn read(
    name: &str,
    from: &mut dyn BufRead,
    size: Option<u64>,
    options: SacctOptions,
    report: &Report,
) -> Result<History, Failure> {
    const STEP: u64 = 10_000;
    let mut reader = SacctReader::new(name, options);
    let mut progress = Progress::new(report, "kB");
    let (mut line, mut bytes, mut rows) = (Vec::new(), 0u64, 0u64);
    loop {
        match input::read_line(from, &mut line, LONGEST_LINE) {
            Ok(true) => reader.line(&line),
            Ok(false) => break,
            Err(error) => {
                let it = Diagnostic::error(name, format!("cannot be read: {error}"));
                let it = it.at_line(u32::try_from(rows + 1).unwrap_or(u32::MAX));
                let hint = "is the file complete, and text or gzip?";
                return Err(Diagnostics::from(it.with_hint(hint)).into());
            }
        }
        (bytes, rows) = (bytes + line.len() as u64 + 1, rows + 1);
        if rows % STEP == 0 {
            // A packed file is smaller than its rows: then only what was read is known.
            let all = size.filter(|size| *size >= bytes).unwrap_or(bytes);
            progress.set(bytes / 1_000, all / 1_000, || format!("{rows} rows"));
        }
    }
    let took = progress.finish().as_secs_f64();
    report.detail(|| format!("read {rows} lines in {took:.3} s"));
    Ok(reader.finish()?)
}
