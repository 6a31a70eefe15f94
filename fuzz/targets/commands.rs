//! What the program reads by itself: tables of users and projects, answers of a policy's command, command
//! lines of Slurm's commands, names of policies, owners' prices, results of earlier runs, and the list of
//! partitions that Slurm prints. These parsers are modules of the program, which is no library: they are
//! compiled here once more. The first byte says as what the rest is read.
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

/// Policies of a market, and the prices of its pools.
#[path = "."]
mod up {
    #[path = "../../crates/cli/src/commands/up/tariff.rs"]
    mod tariff;

    use tradewind_campaign::policy::PolicySpec;
    use tradewind_io::settings::Pool;
    use tradewind_io::settings::cluster::Members;
    use tradewind_io::settings::schedule::Schedule;
    use tradewind_model::{Attributes, Performance, Pools, Price};

    pub(super) fn policy(text: &str) {
        let Ok(policy) = PolicySpec::parse(text) else { return };
        assert_eq!(policy.text(), text);
        let _ = policy.for_live_market(&Pools::cluster(4));
    }

    pub(super) fn prices(text: &str) {
        let pool = Pool {
            name: "fast".to_owned(),
            nodes: 8,
            performance: Performance::REFERENCE,
            attributes: Attributes::new(),
            price: Price(7),
            prices: Schedule::default(),
            offers: Schedule::default(),
            members: Members::default(),
        };
        if let Ok(priced) = tariff::read(&pool, text) {
            assert_eq!((priced.name, priced.nodes), (pool.name, pool.nodes));
        }
    }
}

/// Files of a campaign's runs, of which reports are made.
#[path = "."]
mod results {
    #[path = "../../crates/cli/src/commands/simulate/part.rs"]
    mod part;
    #[path = "../../crates/cli/src/commands/simulate/stays.rs"]
    mod stays;

    use tradewind_campaign::summary::Summary;
    use tradewind_io::chart::{Across, Curve, Curves, Line, Lines, Picture, Spread, Trace, Unit};
    use tradewind_model::Span;
    use tradewind_sim::metrics;

    pub(super) fn read(text: &str) {
        if let Some(stays) = stays::read(text.as_bytes()) {
            let ran: Vec<(Span, Span)> = stays.into_iter().flatten().collect();
            let _ = metrics::waits(&ran, Span(10));
        }
        if let Some(part) = part::Part::of(text.as_bytes()) {
            draw(part);
        }
        if let Some(summary) = Summary::read(text.as_bytes()) {
            let again = summary.measured_again(1, &metrics::waits(&[(Span(1), Span(1))], Span(10)));
            summary.fields().keys().for_each(|key| drop(again.cell(key)));
        }
    }

    /// The run twice, as two replications of one policy.
    fn draw(part: part::Part) {
        let mut values = part.waits.clone();
        values.merge(&part.waits);
        let _ = values.quantile(0.5);
        let (title, name) = (String::new(), String::new());
        let curves = vec![Curve { name: name.clone(), values }];
        let curves = Curves { title: title.clone(), measure: Spread::Wait, curves };
        let _ = Picture::Curves(curves).svg();
        let trace = Trace::mean(&[&part.misses, &part.load_deviation]);
        for trace in [trace, part.misses] {
            let lines = Lines {
                title: title.clone(),
                subtitle: String::new(),
                across: Across::Time,
                name: String::new(),
                unit: Unit::Count,
                lines: vec![Line { name: name.clone(), facts: String::new(), trace }],
                notes: part.notes.clone(),
            };
            let _ = Picture::Lines(lines).svg();
        }
    }
}

#[path = "."]
mod init {
    mod file {
        #[derive(Debug)]
        pub(super) struct PoolText {
            pub(super) name: String,
            pub(super) nodes: u32,
        }
    }
    #[path = "../../crates/cli/src/commands/init/sinfo.rs"]
    mod sinfo;

    pub(super) fn partitions(text: &str) {
        let pools = sinfo::rows(&mut text.as_bytes());
        assert!(pools.iter().all(|pool| pool.nodes > 0 && !pool.name.is_empty()));
    }
}

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match first % 7 {
        0 => project::read(text),
        1 => policy::read(text),
        2 => shims::read(text),
        3 => up::policy(text),
        4 => up::prices(text),
        5 => results::read(text),
        _ => init::partitions(text),
    }
});
