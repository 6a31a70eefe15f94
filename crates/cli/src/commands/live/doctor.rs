//! `tradewind doctor`: whether sites have what they need, and what to do.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tradewind_daemon::site::{Finding, Verdict};
use tradewind_io::settings::{self, Settings};

use super::Sheet;
use crate::cli::Format;
use crate::client::{Sent, place};
use crate::exit::{Exit, Failure, Outcome};
use crate::report::Report;
use crate::tables::Side;
use crate::{input, sites};

/// Of which market.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind doctor
  tradewind doctor --config tradewind.toml --state /var/lib/tradewind

Commands, rights, clocks and latencies of each site, with what to do; also while the market runs.
Exit code 1 if something is bad.")]
pub(crate) struct Args {
    /// The configuration; without one, the sites of a market that has none.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// The folder of the market [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let settings = match &args.config {
        Some(path) => {
            let (settings, warnings) = settings::load(path)?;
            input::warn(&warnings, report);
            settings
        }
        None => Settings::default(),
    };
    let folder = place::folder(args.state.as_deref())?;
    let all = look(&settings, &folder)?;
    let bad = all.iter().any(|(_, finding)| finding.verdict == Verdict::Bad);
    let document = Sent(Value::Array(all.iter().map(|(site, it)| document(site, it)).collect()));
    sheet(&all).print(&document, format)?;
    Ok(if bad { Exit::Negative } else { Exit::Ok })
}

/// A running market has its sites' folders to itself, so ours are beside them, on the same disk,
/// and are removed again.
fn look(settings: &Settings, folder: &Path) -> Result<Vec<(String, Finding)>, Failure> {
    let scratch = Scratch(folder.join(format!("doctor-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).map_err(|wrong| {
        let message = format!("failed to make `{}`: {wrong}", scratch.0.display());
        Failure::usage(message).hint("choose another folder: `--state DIR`")
    })?;
    let mut all = Vec::new();
    for mut setup in sites::open(settings, &scratch.0)? {
        let findings = setup.site.doctor();
        all.extend(findings.into_iter().map(|finding| (setup.name.clone(), finding)));
    }
    Ok(all)
}

/// A folder that goes again.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is empty, and in nobody's way.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn verdict(it: Verdict) -> &'static str {
    match it {
        Verdict::Good => "good",
        Verdict::Warning => "warning",
        Verdict::Bad => "bad",
    }
}

fn document(site: &str, it: &Finding) -> Value {
    json!({
        "site": site, "what": it.what, "verdict": verdict(it.verdict), "found": it.found,
        "remedy": it.remedy,
    })
}

fn sheet(all: &[(String, Finding)]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("VERDICT", Side::Left),
        ("WHAT", Side::Left),
        ("FOUND", Side::Left),
        ("WHAT TO DO", Side::Left),
    ];
    let row = |(site, it): &(String, Finding)| {
        let verdict = verdict(it.verdict).to_owned();
        vec![site.clone(), verdict, it.what.clone(), it.found.clone(), it.remedy.clone()]
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}
