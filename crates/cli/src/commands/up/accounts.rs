//! The accounts under which local sites run jobs, and what that means for the administrator.

use tradewind_io::settings::Settings;

use super::Args;
use crate::exit::Failure;
use crate::report::Report;
use crate::sites;

/// Local sites beside which only administrators may have tokens.
pub(super) fn alone(settings: &Settings) -> Vec<String> {
    match settings.shared_account {
        true => Vec::new(),
        false => sites::sharing(settings),
    }
}

/// Says in the first lines whose account runs jobs.
pub(super) fn tell(settings: &Settings, args: &Args, report: &Report) {
    let sharing = sites::sharing(settings);
    if sharing.is_empty() {
        return;
    }
    let names = sharing.join(", ");
    if args.demo {
        report.note("demo: all users share this account, so each could act as administrator");
    } else if settings.shared_account {
        report.note(&format!(
            "shared account: jobs of all users at {names} run as this account, so each user can \
             read the administrator's token, the journal and the other users' files"
        ));
    } else {
        report.note(&format!(
            "jobs of {names} run as this account, so only administrators get tokens; for other \
             users set `user_command` (docs/reference/local-site.md)"
        ));
    }
    if rustix::process::geteuid().is_root() {
        let message = format!("jobs of {names} run as root: who submits one has the whole machine");
        let hint = "set `user_command`, or run the daemon under an account of its own";
        let warning = Failure::usage(message).hint(hint);
        warning.problems.iter().for_each(|problem| report.warning(problem));
    }
}
