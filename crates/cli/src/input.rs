//! Input files, and what may be wrong with them.

use tradewind_io::diagnostics::{self, Diagnostics};
use tradewind_io::scenario::{self, Scenario};
use tradewind_io::settings::{self, Settings};
use tradewind_model::{Job, Snapshot};

use crate::exit::{Exit, Failure, Problem};
use crate::report::Report;

/// The scenario at `path`; `-` is standard input. Warnings go to `report`.
pub(crate) fn scenario(path: &str, report: &Report) -> Result<Scenario, Failure> {
    let (scenario, warnings) = scenario::load(path).map_err(Failure::from)?;
    warn(&warnings, report);
    Ok(scenario)
}

/// The configuration of a market at `path`; what is wrong with it is not data but configuration.
/// Warnings go to `report`.
pub(crate) fn configuration(path: &str, report: &Report) -> Result<Settings, Failure> {
    let (settings, warnings) = settings::load(path)
        .map_err(|wrong| Failure { exit: Exit::Usage, ..Failure::from(wrong) })?;
    warn(&warnings, report);
    Ok(settings)
}

/// Passes warnings on.
pub(crate) fn warn(warnings: &Diagnostics, report: &Report) {
    for warning in warnings.iter().take(Diagnostics::SHOWN) {
        report.warning(&Problem::from(warning));
    }
}

/// The job of this name.
pub(crate) fn job<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Job, Failure> {
    let found = snapshot.jobs.iter().find(|job| job.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = snapshot.jobs.iter().map(|job| job.name.as_str()).collect();
        let hint = match diagnostics::suggestion(name, names.iter().copied()) {
            Some(best) => format!("did you mean `{best}`?"),
            None => match names.as_slice() {
                few @ [_, ..] if few.len() <= 20 => format!("its jobs: {}", few.join(", ")),
                many => format!("it has {} jobs", many.len()),
            },
        };
        Failure::usage(format!("the scenario has no job `{name}`")).hint(hint)
    })
}
