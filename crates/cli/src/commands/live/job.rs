//! `tradewind job`: all that is known of one job.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use tradewind_web::documents::{
    Choice, Explanation, Job, JobData, Limit, OtherPool, Part, Promise, Together,
};

use super::{Sheet, explain, jobs, output, starts};
use crate::client::words::{length, moment, moment_or_none};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output::print_styled;
use crate::tables::Side;

/// Bytes of its output.
const SHOWN: u64 = 4_096;

/// Arguments of `tradewind job`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind job 7
  tradewind job 7 --output
  tradewind job 7 --format json

For a job that waits, its reason, its expected start with ranges and its fall-backs are shown, too.")]
pub(crate) struct Args {
    /// Id of the job.
    #[arg(value_name = "ID")]
    job: u64,
    /// Show the end of what it has written, too.
    #[arg(long)]
    output: bool,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    let mut sent = market.get(&format!("/v1/jobs/{}", args.job))?;
    let job: Job = sent.read()?;
    let tail = match args.output {
        true => {
            let bytes = output::tail(&market, args.job, SHOWN)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        false => None,
    };
    match format {
        Format::Json => {
            if let (Some(tail), Some(fields)) = (tail, sent.0.as_object_mut()) {
                fields.insert("output".to_owned(), tail.into());
            }
            sent.print()?;
        }
        Format::Csv => jobs::sheet_csv(&[job]).print_csv()?,
        Format::Table => {
            let waits = job.waits_here();
            let mut text = page(&job);
            if waits {
                text.push_str(&outlook(&market, args.job)?);
            }
            if let Some(tail) = tail {
                let _ = write!(text, "\noutput\n\n{tail}");
            }
            print_styled(&text)?;
        }
    }
    Ok(Exit::Ok)
}

/// Why it waits, and what else it may get. No answer is no mistake: the job is shown all the same.
fn outlook(market: &Market, job: u64) -> Result<String, Failure> {
    match market.get(&format!("/v1/jobs/{job}/explain")) {
        Ok(sent) => {
            let explanation: Explanation = sent.read()?;
            Ok(format!("\n{}", explain::sentences(&explanation)))
        }
        Err(_) => Ok(String::new()),
    }
}

fn page(job: &Job) -> String {
    let mut text = format!("{} {}\n\n", format!("job {}", job.id).bold(), job.title());
    // A market of an earlier release says the reason alone.
    if let Some(said) = job.sentence.as_ref().or(job.message.as_ref()) {
        let _ = writeln!(text, "{said}\n");
    }
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<15} {value}");
        }
    };
    let state = match &job.reason {
        Some(reason) => format!("{} ({reason})", job.state),
        None => job.state.clone(),
    };
    line("state", Some(state));
    line("user", Some(job.user.clone()));
    line("project", job.project.clone());
    line("nodes", Some(job.nodes.to_string()));
    for limit in limits(&job.limits) {
        line("time limit", Some(limit));
    }
    line("layout", job.layout.clone());
    line("licences", job.takes_along());
    line("data", job.data.as_ref().map(JobData::words));
    line("transfer", transfer(&job.parts));
    let array = job.array.map(|it| format!("index {} of the array of job {}", it.index, it.first));
    line("array", array);
    line("submitted", Some(moment(job.submitted)));
    line("expected start", job.expected_start.as_ref().map(starts::expected));
    line("start ranges", job.expected_start.as_ref().and_then(starts::ranges));
    let booked = job.booking.as_ref();
    line(
        "booked",
        booked.map(|it| {
            format!("{} to {} on {}", moment(it.start), moment(it.end), it.pools.join(", "))
        }),
    );
    line("offer", job.promise.as_ref().map(promised));
    line("started", job.started.map(moment));
    line("together", job.together.as_ref().map(together));
    line("ended", job.ended.map(moment));
    line("time", jobs::time(job).map(length));
    line(
        "exit",
        job.exit.map(|it| match it.signal {
            0 => format!("code {}", it.code),
            signal => format!("signal {signal}"),
        }),
    );
    let dropped = |hash: &String| {
        format!("dropped with the environment, since the job is over (SHA-256 {hash})")
    };
    line("script", job.script_dropped.as_ref().map(dropped));
    line("peer", job.peer.clone());
    line("at the peer", Some(job.peer_nodes.join("; ")).filter(|it| !it.is_empty()));
    line(
        "receipt",
        job.peer_receipt.as_ref().map(|it| format!("{} {}", it.signature, it.statement)),
    );
    line("home", job.home.as_ref().map(|it| format!("job {} of {}", it.job, it.peer)));
    line("restarts", Some(job.restarts).filter(|it| *it > 0).map(|it| it.to_string()));
    line("cancelled by", job.cancelled_by.clone());
    line("notice until", job.notice_until.map(moment));
    line("cost so far", Some(format!("{} credits", job.cost_so_far)));
    line("cost at most", job.cost_at_most.map(|most| format!("{most} credits")));
    line("held", Some(format!("{} credits; {} paid", job.held, job.paid)));
    line("consumed", job.consumed.map(|it| it.to_string()));
    if !job.parts.is_empty() {
        let _ = write!(text, "\n{}", parts(&job.parts).table());
    }
    if let Some(choice) = &job.choice {
        let Choice { at, policy, why, others, left_out } = choice;
        let _ = writeln!(text, "\nchosen {} by {policy}: {why}", moment(*at));
        if !others.is_empty() {
            let _ = write!(text, "\n{}", beside(others).table());
        }
        if *left_out > 0 {
            let _ = writeln!(text, "and {left_out} more pools");
        }
    }
    if !job.history.is_empty() {
        text.push_str("\nhistory\n\n");
    }
    for entry in &job.history {
        let detail = entry.detail.as_deref().unwrap_or_default();
        let line = format!("{}  {:<10}  {detail}", moment(entry.at), entry.what);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A sentence for each limit that it has; where it has several, with their pools.
fn limits(all: &[Limit]) -> Vec<String> {
    let told = |it: &Limit| match all.len() {
        1 => it.sentence(length),
        _ => format!("{}: {}", it.pools.join(", "), it.sentence(length)),
    };
    all.iter().map(told).collect()
}

/// The offer that it accepted, and whether it was kept.
fn promised(it: &Promise) -> String {
    let reason = it.reason.as_deref().unwrap_or("no reason is known");
    let decided = it.decided.map(moment).unwrap_or_default();
    let (latest, cost, then) = (moment(it.latest_start), it.cost, &it.on_breach);
    match it.outcome.as_str() {
        "open" => format!(
            "quote {}, begins by {latest}, {cost} credits at most; if not: {then}",
            it.quote
        ),
        "kept" => format!("kept: it began at {decided}; {cost} credits at most"),
        "breached" => {
            let covered = it.covered.map(|paid| format!("; the market paid {paid}"));
            let covered = covered.unwrap_or_default();
            format!("not kept (stated {decided}): {reason}; you pay {cost} at most{covered}")
        }
        _ => format!("given up: {reason}"),
    }
}

/// How its parts begin.
fn together(it: &Together) -> String {
    let Together { begin, skew_ms, apart } = it;
    let skew = skew_ms.map(|skew| format!(", start skew {skew} ms")).unwrap_or_default();
    let begin = begin.map(moment);
    match (begin, apart) {
        (None, true) => "each part begins by itself".to_owned(),
        (Some(begin), true) => format!("each part by itself, the first at {begin}{skew}"),
        (None, false) => "its parts wait for each other".to_owned(),
        (Some(begin), false) if skew.is_empty() => format!("its parts begin at {begin}"),
        (Some(begin), false) => format!("its parts began at {begin}{skew}"),
    }
}

/// The nodes' names; or, of what was over before its site was looked at, whose they were.
fn names(part: &Part) -> String {
    match part.node_names.is_empty() && part.since.is_some() {
        true => format!("{} of {}", part.nodes, part.pool),
        false => part.node_names.join(","),
    }
}

/// How long the job's data is expected to take: "10min before its work, 2min after it".
fn transfer(parts: &[Part]) -> Option<String> {
    let longest = |of: fn(&Part) -> Option<i64>| parts.iter().filter_map(of).max();
    let (before, after) = longest(|part| part.stage_in).zip(longest(|part| part.stage_out))?;
    let (before, after) = (length(before), length(after));
    Some(format!("{before} before its work, {after} after it, beside its limit"))
}

fn parts(parts: &[Part]) -> Sheet {
    let mut columns = vec![
        ("POOL", Side::Left),
        ("NODES", Side::Right),
        ("PRICE", Side::Right),
        ("LIMIT", Side::Right),
        ("SINCE", Side::Left),
        ("ENDED", Side::Left),
        ("EXIT", Side::Left),
        ("NODELIST", Side::Left),
    ];
    let row = |part: &Part| {
        vec![
            part.pool.clone(),
            part.nodes.to_string(),
            part.price.to_string(),
            length(part.limit),
            moment_or_none(part.since),
            moment_or_none(part.ended),
            part.exit.clone().unwrap_or_default(),
            names(part),
        ]
    };
    let mut rows: Vec<Vec<String>> = parts.iter().map(row).collect();
    if parts.iter().any(|part| part.group.is_some()) {
        columns.insert(0, ("GROUP", Side::Right));
        let group = |part: &Part| part.group.map(|group| group.to_string()).unwrap_or_default();
        rows.iter_mut().zip(parts).for_each(|(row, part)| row.insert(0, group(part)));
    }
    Sheet { columns, rows }
}

/// Pools that the job could have used instead.
fn beside(others: &[OtherPool]) -> Sheet {
    let columns = vec![
        ("INSTEAD", Side::Left),
        ("START", Side::Left),
        ("LENGTH", Side::Right),
        ("COST", Side::Right),
        ("VERDICT", Side::Left),
    ];
    let row = |it: &OtherPool| {
        vec![
            it.pool.clone(),
            moment_or_none(it.start),
            length(it.length),
            it.cost.to_string(),
            it.verdict.clone(),
        ]
    };
    Sheet { columns, rows: others.iter().map(row).collect() }
}
