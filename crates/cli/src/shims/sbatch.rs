//! `sbatch`: submits a script.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use jiff::tz::TimeZone;
use tradewind_io::submission::options::OptionSpec;
use tradewind_io::submission::script::{self, Around, Given, Origin};
use tradewind_io::submission::{Submission, Work, document};
use tradewind_model::Time;
use tradewind_web::documents::{Quotes, Submitted};

use super::{refused, warning};
use crate::client::{self, Market, MarketArgs, words};
use crate::commands::live::submit::run_from_here;
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Global;
use crate::report::Report;
use crate::{commands, output};

/// What a job gets that asks for no time limit: minutes, unless `TRADEWIND_DEFAULT_TIME` says
/// otherwise. A market sells time, so there must be a limit.
const DEFAULT_TIME: &str = "60";
/// The largest script that is read from standard input, bytes: one more than a job may have.
const MAX_INPUT: u64 = Submission::MAX_SCRIPT as u64 + 1;

/// Options of the command itself.
#[derive(Debug, Default)]
struct SbatchOptions {
    parsable: bool,
    quiet: bool,
    wait: bool,
    test_only: bool,
}

pub(super) fn run(words: &[String]) -> Outcome {
    if words.iter().take_while(|word| word.starts_with('-')).any(|it| it == "--help" || it == "-h")
    {
        return help();
    }
    let (given, rest) = script::command_line(words)?;
    let (manner, given) = manner(given);
    let submission = read(rest, given, &manner)?;
    let place = MarketArgs::default();
    // Only options that are wrong have an exit code of their own.
    let refused = |failure| Failure { exit: Exit::Negative, ..failure };
    let market = Market::open(&place).map_err(refused)?;
    let body = document::value(&submission);
    if manner.test_only {
        return test(&market, &body, &submission).map_err(refused);
    }
    let sent = market.submit(&body, &client::new_key()).map_err(refused)?;
    let Submitted { jobs, warnings } = sent.read()?;
    if !manner.quiet {
        warnings.iter().for_each(|it| warning("sbatch", it));
    }
    let first = jobs.first().copied().unwrap_or_default();
    match (manner.parsable, manner.quiet) {
        (true, _) => output::print(&format!("{first}\n"))?,
        (false, false) => output::print(&format!("Submitted batch job {first}\n"))?,
        (false, true) => {}
    }
    match manner.wait {
        true => {
            let report = Report::new(&Global::quiet());
            let (exit, _) = commands::live::wait::until_over(&place, &jobs, None, &report)?;
            Ok(exit)
        }
        false => Ok(Exit::Ok),
    }
}

fn help() -> Outcome {
    let text = "Usage: sbatch [OPTIONS(0)...] script(0) [args(0)...]\n\nSubmits to the market of \
                Tradewind. Options are those of Slurm and, with two dashes, Tradewind's own: \
                `tradewind submit --help` lists them, and docs/reference/submit.md those that are \
                refused, with reasons.\n";
    output::print(text).map(|()| Exit::Ok)
}

/// Takes out what concerns the command and not the job.
fn manner(given: Vec<Given>) -> (SbatchOptions, Vec<Given>) {
    let mut manner = SbatchOptions::default();
    let given = given.into_iter().filter(|it| {
        match it.option.name {
            "parsable" => manner.parsable = true,
            "quiet" => manner.quiet = true,
            "wait" => manner.wait = true,
            "test-only" => manner.test_only = true,
            "verbose" => {}
            _ => return true,
        }
        false
    });
    let given = given.collect();
    (manner, given)
}

/// The job, with the defaults of Slurm where the market's are others.
fn read(rest: &[String], given: Vec<Given>, manner: &SbatchOptions) -> Result<Submission, Failure> {
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let wrapped = given.iter().any(|it| it.option.name == "wrap");
    let (file, work) = work(rest, wrapped)?;
    let (of_environment, warnings) = script::environment(&variables);
    let mut all = defaults(&variables, &given);
    all.extend(of_environment);
    all.extend(given);
    // What an outer job was told of itself is not this job's.
    let exported: BTreeMap<String, String> =
        variables.into_iter().filter(|(name, _)| !name.starts_with("SLURM_")).collect();
    let zone = TimeZone::system();
    let around = Around { now: Time(words::now()), zone: &zone, variables: &exported };
    let (mut submission, more) = script::parse(&file, work, &all, &around)?;
    if !manner.quiet {
        let lines = warnings.iter().chain(more.iter());
        lines.for_each(|it| warning("sbatch", &it.to_string()));
    }
    here(&mut submission);
    Ok(submission)
}

/// What `sbatch` does where nothing is said: all variables, output in `slurm-%j.out`.
fn defaults(variables: &BTreeMap<String, String>, given: &[Given]) -> Vec<Given> {
    let is_array = given.iter().any(|it| it.option.name == "array");
    let time = variables.get("TRADEWIND_DEFAULT_TIME").map_or(DEFAULT_TIME, String::as_str);
    let output = if is_array { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    let one = |(name, value): (&str, &str)| {
        let option = OptionSpec::find(name).ok()?;
        Some(Given { option, value: Some(value.to_owned()), origin: Origin::Default })
    };
    // A job of Slurm runs in one cluster: `srun` reaches no node of another.
    let all = [("time", time), ("export", "ALL"), ("output", output), ("spread", "site")];
    all.into_iter().filter_map(one).collect()
}

/// It runs where it was submitted, and knows that it was submitted so.
fn here(submission: &mut Submission) {
    let here = run_from_here(submission);
    let around = &mut submission.surroundings;
    around.environment.extend(here.map(|here| ("SLURM_SUBMIT_DIR".to_owned(), here)));
    around.environment.insert("TRADEWIND_SHIMS".to_owned(), "1".to_owned());
    // Commands inside the job find the same market. Tokens themselves are never handed on.
    for name in ["TRADEWIND_URL", "TRADEWIND_STATE", "TRADEWIND_TOKEN_FILE", "TRADEWIND_CA"] {
        if let Ok(value) = std::env::var(name) {
            around.environment.entry(name.to_owned()).or_insert(value);
        }
    }
}

/// The script's name in messages, and the script; none with `--wrap`.
fn work(rest: &[String], wrapped: bool) -> Result<(String, Option<Work>), Failure> {
    let (file, text, arguments) = match rest.split_first() {
        Some((first, _)) if wrapped => {
            return Err(refused(format!(
                "a script, here `{first}`, and --wrap exclude each other"
            )));
        }
        None if wrapped => return Ok(("wrap".to_owned(), None)),
        None => ("stdin", from_input()?, Vec::new()),
        Some((first, rest)) => {
            let unreadable = |_| refused(format!("Unable to open file {first}"));
            let text = tradewind_io::input::read(first).map_err(unreadable)?.text()?.to_owned();
            (first.as_str(), text, rest.to_vec())
        }
    };
    let name = file.rsplit('/').next().unwrap_or(file);
    Ok((name.to_owned(), Some(Work::Script { text, arguments })))
}

fn from_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text);
    read.map_err(|wrong| {
        refused(format!("unable to read the script from standard input: {wrong}"))
    })?;
    match text.trim().is_empty() {
        true => Err(refused("batch script is empty, aborting")),
        false => Ok(text),
    }
}

/// Says when the job would start, as `sbatch --test-only` does: on standard error.
fn test(market: &Market, body: &serde_json::Value, submission: &Submission) -> Outcome {
    let Quotes { quotes, .. } = market.post("/v1/quotes", body)?.read()?;
    let starts = quotes.iter().filter_map(|offer| Some((offer.start?, offer)));
    let Some((start, offer)) = starts.min_by_key(|(start, _)| *start) else {
        return Err(refused("allocation failure: Requested node configuration is not available"));
    };
    let pools: Vec<&str> = offer.nodes.iter().map(|it| it.pool.as_str()).collect();
    let nodes: u32 = offer.nodes.iter().map(|it| it.nodes).sum();
    let _ = writeln!(
        anstream::stderr(),
        "sbatch: Job to start at {} using {nodes} nodes for {} tasks in partition {}",
        words::moment(start),
        submission.tasks,
        pools.join(",")
    );
    Ok(Exit::Ok)
}
