//! `scontrol`: shows jobs, partitions and settings; holds, releases and requeues.

use std::fmt::Write as _;

use tradewind_web::documents::{Job, SiteList};

use super::fields::{Field, moment_or};
use super::job_name::JobName;
use super::select::{Wanted, jobs_of};
use super::selected::SelectedJob;
use super::{SPOKEN, error, hostlist, json, refused, scontrol_update, sinfo};
use crate::client::words;
use crate::client::{Market, MarketArgs, Sent};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

/// How long ended jobs are shown, at least: seconds.
const SHOWN_FOR: u32 = 604_800;

pub(super) fn run(given: &[String]) -> Outcome {
    let (options, words): (Vec<&String>, Vec<&String>) =
        given.iter().partition(|word| word.starts_with('-'));
    let manner = manner(&options)?;
    let words: Vec<&str> = words.into_iter().map(String::as_str).collect();
    let market = || Market::open(&MarketArgs::default());
    match words[..] {
        ["show", what, ref rest @ ..] => show(what, rest, manner),
        ["hold" | "uhold", ref jobs @ ..] => each(&market()?, jobs, "hold"),
        ["release", ref jobs @ ..] => each(&market()?, jobs, "release"),
        ["update", ref settings @ ..] => scontrol_update::run(&market()?, settings),
        ["requeue", ref jobs @ ..] => each(&market()?, jobs, "requeue"),
        ["requeuehold", ..] => {
            Err(refused("requeuehold cannot be honoured: use requeue, then hold"))
        }
        ["ping"] => {
            market()?.get("/v1/me")?;
            output::print("Slurmctld(primary) at tradewind is UP\n").map(|()| Exit::Ok)
        }
        ["version"] => output::print(&format!("slurm {SPOKEN}\n")).map(|()| Exit::Ok),
        [] => Err(refused("too few arguments for scontrol: interactive use is not offered")),
        [other, ..] => Err(refused(format!("invalid keyword: {other}"))),
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct ScontrolOptions {
    /// One line for each.
    one_line: bool,
    json: bool,
}

fn manner(options: &[&String]) -> Result<ScontrolOptions, Failure> {
    let mut manner = ScontrolOptions::default();
    for option in options {
        match option.as_str() {
            "-o" | "--oneliner" => manner.one_line = true,
            "--json" => manner.json = true,
            "-a" | "--all" | "-d" | "--details" | "-Q" | "--quiet" | "-v" | "--verbose" => {}
            other => return Err(refused(format!("the option {other} cannot be honoured"))),
        }
    }
    Ok(manner)
}

fn show(what: &str, rest: &[&str], manner: ScontrolOptions) -> Outcome {
    let market = || Market::open(&MarketArgs::default());
    match (what, rest) {
        ("job" | "jobs", []) => {
            let rows = Wanted::default().rows(&market()?, &[])?;
            print_jobs(&rows, manner)
        }
        ("job" | "jobs", names) => {
            let market = market()?;
            let names: Vec<String> = names.iter().map(|it| it.replace("JobId=", "")).collect();
            let mut rows = Vec::new();
            for name in JobName::list(&names)? {
                let found: Vec<Job> = jobs_of(&market, &name)?;
                if found.is_empty() {
                    return Err(refused("slurm_load_jobs error: Invalid job id specified"));
                }
                rows.extend(found.into_iter().map(SelectedJob::new));
            }
            print_jobs(&rows, manner)
        }
        ("config", []) => output::print(&config()).map(|()| Exit::Ok),
        ("partition" | "partitions", names) => {
            let SiteList { sites, .. } = market()?.get("/v1/sites")?.read()?;
            let text = sinfo::partitions(&sites, names, manner.one_line)?;
            output::print(&text).map(|()| Exit::Ok)
        }
        ("hostnames" | "hostname", names) => {
            let usual = std::env::var("SLURM_JOB_NODELIST").unwrap_or_default();
            let text = if names.is_empty() { usual } else { names.join(",") };
            let all = hostlist::unfold(&text);
            let all = all.ok_or_else(|| refused(format!("Invalid hostlist: {text}")))?;
            output::print(&all.iter().map(|it| format!("{it}\n")).collect::<String>())
                .map(|()| Exit::Ok)
        }
        ("hostlist" | "hostlistsorted", [names]) => {
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            output::print(&format!("{}\n", hostlist::fold(&names))).map(|()| Exit::Ok)
        }
        ("nodes" | "node", _) => {
            Err(refused("show node cannot be honoured: nodes of the market have no names"))
        }
        (other, _) => Err(refused(format!("invalid entity:{other} for keyword:show"))),
    }
}

fn print_jobs(rows: &[SelectedJob], manner: ScontrolOptions) -> Outcome {
    if manner.json {
        return output::json(&json::jobs("scontrol", rows)).map(|()| Exit::Ok);
    }
    if rows.is_empty() {
        return output::print("No jobs in the system\n").map(|()| Exit::Ok);
    }
    let text: String = rows.iter().map(|row| page(row, manner.one_line)).collect();
    output::print(&text).map(|()| Exit::Ok)
}

/// A job as `scontrol show job` shows it.
fn page(row: &SelectedJob, one_line: bool) -> String {
    let (job, field) = (&row.job, |it| row.field(it));
    let array = job
        .array
        .map_or(String::new(), |it| format!(" ArrayJobId={} ArrayTaskId={}", it.first, it.index));
    let account = if row.account().is_empty() { "(null)" } else { row.account() };
    let nodes = match row.nodes() {
        nodes if nodes.is_empty() => "(null)".to_owned(),
        nodes => hostlist::fold(&nodes),
    };
    let restarts = job.restarts;
    let lines = [
        format!("JobId={}{array} JobName={}", job.id, job.name),
        format!("UserId={} Account={account} QOS={}", job.user, field(Field::Qos)),
        format!("Priority={} Nice=0", field(Field::Priority)),
        format!(
            "JobState={} Reason={} Dependency={}",
            job.state,
            field(Field::Reason),
            field(Field::Dependency)
        ),
        format!(
            "Requeue={} Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode={}",
            u8::from(row.asked["on_lost"] == "rerun"),
            field(Field::ExitCode)
        ),
        format!(
            "RunTime={} TimeLimit={} TimeMin=N/A",
            field(Field::Elapsed),
            row.limit().map_or("UNLIMITED".to_owned(), super::fields::clock)
        ),
        format!("SubmitTime={} EligibleTime={}", field(Field::Submit), field(Field::Eligible)),
        format!(
            "StartTime={} EndTime={} Deadline=N/A",
            moment_or(row.start(), "Unknown"),
            moment_or(row.end(), "Unknown")
        ),
        format!("Partition={} AllocNode:Sid=(null)", row.partition()),
        format!("NodeList={nodes}"),
        format!(
            "NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={}",
            job.nodes,
            row.processors(),
            row.tasks(),
            (row.processors() / row.tasks().max(1)).max(1)
        ),
        format!("Comment={}", field(Field::Comment)),
        format!("Command={}", row.command()),
        format!("WorkDir={}", field(Field::WorkDir)),
        format!("StdErr={}", field(Field::Stderr)),
        format!(
            "StdIn={}",
            match row.file("input") {
                text if text.is_empty() => "/dev/null".to_owned(),
                text => text,
            }
        ),
        format!("StdOut={}", field(Field::Stdout)),
        format!(
            "CostSoFar={} CostAtMost={}",
            job.cost_so_far,
            job.cost_at_most.map_or("N/A".to_owned(), |it| it.to_string())
        ),
    ];
    match one_line {
        true => lines.join(" ") + "\n",
        false => lines.join("\n   ") + "\n\n",
    }
}

/// What tools ask of a cluster's settings.
fn config() -> String {
    let mut text = format!("Configuration data as of {}\n", words::moment(words::now()));
    for (name, value) in [
        ("AccountingStorageType", "accounting_storage/slurmdbd".to_owned()),
        ("ClusterName", "tradewind".to_owned()),
        ("JobRequeue", "0".to_owned()),
        ("MaxArraySize", "10001".to_owned()),
        ("MinJobAge", format!("{SHOWN_FOR} sec")),
        ("SLURM_VERSION", SPOKEN.to_owned()),
        ("SelectType", "select/linear".to_owned()),
    ] {
        let _ = writeln!(text, "{name:<23} = {value}");
    }
    text
}

/// Holds, releases or requeues each of `names`.
fn each(market: &Market, names: &[&str], act: &str) -> Outcome {
    if names.is_empty() {
        return Err(refused(format!("too few arguments for keyword:{act}")));
    }
    let names: Vec<String> = names.iter().map(|it| it.replace("JobId=", "")).collect();
    to_each(market, &names, |job| market.post_nothing(&format!("/v1/jobs/{}/{act}", job.id)))
}

/// Does it to each job of `names`, of several with one name to those that are not over; says where it
/// failed.
pub(super) fn to_each(
    market: &Market,
    names: &[String],
    act: impl Fn(&Job) -> Result<Sent, Failure>,
) -> Outcome {
    let mut exit = Exit::Ok;
    for name in JobName::list(names)? {
        let jobs = jobs_of(market, &name)?;
        if jobs.is_empty() {
            error("scontrol", &format!("Invalid job id specified for job {}", name.number));
            exit = Exit::Negative;
        }
        let alone = jobs.len() == 1;
        for job in jobs.iter().filter(|job| alone || !words::is_over(Some(&job.state))) {
            match act(job) {
                Ok(_) => {}
                Err(failure) if failure.exit == Exit::Negative => {
                    failure.problems.iter().for_each(|it| error("scontrol", &it.message));
                    exit = Exit::Negative;
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    Ok(exit)
}
