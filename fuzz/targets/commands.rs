//! What the program reads by itself: tables of users and projects, answers of a policy's command, and
//! command lines of Slurm's commands. These parsers are modules of the program, which is no library:
//! they are compiled here once more. The first byte says as what the rest is read.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the program uses the rest of these modules")]

#[path = "../../crates/cli/src/client/words.rs"]
mod words;

mod client {
    pub(crate) use crate::words;
}

mod exit {
    pub(crate) use tradewind_campaign::failure::{Exit, Failure, Problem};
}

#[path = "."]
mod project {
    #[path = "../../crates/cli/src/commands/live/project/import_file.rs"]
    mod import_file;

    pub(super) fn read(text: &str) {
        let table = match text.trim_start().starts_with('{') {
            true => import_file::json("f", text),
            false => import_file::csv("f", text).map(|(table, _)| table),
        };
        let Ok(table) = table else { return };
        let rows: Vec<_> = table.rows.iter().map(import_file::cells).collect();
        assert_eq!(rows.len(), table.rows.len());
    }
}

#[path = "."]
mod policy {
    #[path = "../../crates/cli/src/command_policy/wire.rs"]
    mod wire;

    use std::sync::Arc;

    use tradewind_model::{Demand, Event, JobId, Market, Pools, Span, Time};

    /// A greeting, or an answer for a market in which two jobs wait.
    pub(super) fn read(text: &str) {
        let _ = serde_json::from_str::<wire::Greeting>(text);
        let Ok(answer) = serde_json::from_str::<wire::PassAnswer>(text) else { return };
        let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
        for (job, width) in [(0, 1), (1, 3)] {
            let demand = Demand::new(width, Span(10));
            market.apply(&Event::Submitted { job: JobId(job), demand }).expect("a job");
        }
        let _ = answer.wake();
        for start in answer.start {
            let _ = start.command(&market);
        }
    }
}

#[path = "."]
mod shims {
    #[path = "../../crates/cli/src/shims/fields.rs"]
    mod fields;
    #[path = "../../crates/cli/src/shims/format.rs"]
    mod format;
    #[path = "../../crates/cli/src/shims/hostlist.rs"]
    mod hostlist;
    #[path = "../../crates/cli/src/shims/job_name.rs"]
    mod job_name;
    #[path = "../../crates/cli/src/shims/local_account.rs"]
    mod local_account;
    #[path = "../../crates/cli/src/shims/moments.rs"]
    mod moments;
    #[path = "../../crates/cli/src/shims/selected.rs"]
    mod selected;
    #[path = "../../crates/cli/src/shims/srun_options.rs"]
    mod srun_options;

    use jiff::Zoned;

    use crate::exit::Failure;

    fn refused(message: impl Into<String>) -> Failure {
        Failure::negative(message)
    }

    /// Names of jobs and nodes, moments, formats of columns, options of `srun`.
    pub(super) fn read(text: &str) {
        let words: Vec<String> = text.split('\0').map(str::to_owned).collect();
        let _ = job_name::JobName::list(&words);
        for word in &words {
            if let Some(names) = hostlist::unfold(word) {
                let _ = hostlist::fold(&names);
            }
            let now: Zoned = "2027-01-15T08:00+00:00[UTC]".parse().expect("a moment");
            let _ = moments::moment(word, &now);
            let _ = (format::letters(word), format::long_names(word));
            for parsable in [format::Parsable::Between("|"), format::Parsable::Behind(word)] {
                let _ = format::accounting(word, parsable);
            }
        }
        let (options, command) = srun_options::split(&words);
        assert!(options.len() + command.len() <= words.len());
        for option in &options {
            let _ = srun_options::is_letters(&option.name, &option.value);
        }
    }
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match first % 3 {
        0 => project::read(text),
        1 => policy::read(text),
        _ => shims::read(text),
    }
});
