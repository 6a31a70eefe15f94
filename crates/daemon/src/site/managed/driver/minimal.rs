//! The minimal manager: what must be given of one, and nothing of what may be left out. Its batch
//! system is a folder and a few lines of shell.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tradewind_io::settings::cluster::{Accounts, Cluster, Members};
use tradewind_model::{Performance, Span, Time};

use super::manager::{Manager, ManagerJob, PoolsView, SubmitAnswer, TaskSubmission};
use super::{Base, Driver, ManagedSettings};
use crate::site::clock::now;
use crate::site::conformance::{CHECKS, SiteBench, TaskBehaviour, order};
use crate::site::managed::bundle::{Words, ahead};
use crate::site::managed::tickets::Ticket;
use crate::site::managed::tool::{Call, Purpose, Who};
use crate::site::{Aside, LocalTask, OrderData, PoolSetup, PoolSurvey, Site, SiteError};

/// Nodes of the pool.
const NODES: u32 = 4;

/// A job has a folder with its mark and its script, and is over when the folder is gone.
const BATCH: &str = r#"#!/bin/sh
jobs=${0%/*}/jobs
# Commands come behind `env` and variables.
while case $1 in env | *=*) ;; *) false ;; esac; do shift; done
case $1 in
submit)
    until job=$(date +%s%N) && mkdir "$jobs/.$job" 2>/dev/null; do :; done
    cat >"$jobs/.$job/script"
    echo "$2" >"$jobs/.$job/mark"
    mv "$jobs/.$job" "$jobs/$job"
    BATCH_JOB=$job setsid sh -c 'echo $$ >"$1/pid"; sleep "$2"; sh "$1/script"; rm -rf "$1"' \
        sh "$jobs/$job" "$3" >/dev/null 2>&1 &
    echo "$job"
    ;;
list)
    for job in "$jobs"/*; do
        mark=$(cat "$job/mark" 2>/dev/null) && echo "${job##*/} $mark $(id -un)"
    done
    echo end
    ;;
delete)
    for job in $(grep -lx "$2" "$jobs"/*/mark 2>/dev/null); do
        kill -KILL -- "-$(cat "${job%/mark}/pid")" 2>/dev/null
        rm -rf "${job%/mark}"
    done
    ;;
*) exec "$@" ;;
esac
"#;

/// A line of the list.
#[derive(Debug, Clone)]
struct BatchJob {
    id: String,
    mark: String,
    account: String,
}

impl ManagerJob for BatchJob {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn account(&self) -> &str {
        &self.account
    }

    fn waits(&self) -> bool {
        false
    }

    fn holds_nodes(&self) -> bool {
        true
    }

    fn is_running(&self) -> bool {
        true
    }

    fn reason(&self) -> &str {
        ""
    }

    fn shown(&self) -> String {
        "listed".to_owned()
    }

    fn is_held(&self) -> bool {
        false
    }
}

/// The batch system.
#[derive(Debug)]
struct Batch;

impl Manager for Batch {
    type Job = BatchJob;

    const NAME: &'static str = "the batch system";
    const LISTS_BY: &'static str = "list";
    const KEEPS_ENDED: bool = false;
    const CANCEL_KILLS: bool = true;

    fn words(&self) -> &'static Words {
        &Words { id: "echo \"$BATCH_JOB\"", nodes: "uname -n", signal: "" }
    }

    fn mark(ticket: &Ticket) -> String {
        ticket.tag.clone()
    }

    fn jobs(&mut self, base: &Base) -> Result<Vec<BatchJob>, SiteError> {
        let text = base.tool.must(&Call::ours(&["list"]))?.text();
        let whole = text.strip_suffix("end\n").ok_or_else(|| base.misread("list", "no end"))?;
        let job = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            Some(BatchJob { id: words.next()?, mark: words.next()?, account: words.next()? })
        };
        Ok(whole.lines().filter_map(job).collect())
    }

    fn pools(
        &mut self,
        _: &Base,
        view: &PoolsView<'_, BatchJob>,
    ) -> Result<Vec<PoolSurvey>, SiteError> {
        let until = view.now + Span(60);
        let task = LocalTask { nodes: 1, from: view.now, until };
        let local = view.theirs().map(|job| (format!("job {}", job.id), task)).collect();
        Ok(vec![PoolSurvey { up: NODES, local, ..PoolSurvey::default() }])
    }

    fn submit(&self, base: &Base, one: &TaskSubmission<'_>) -> SubmitAnswer {
        let wait = ahead(one.order, now()).map_or(0, |start| (start - now()).0);
        let words = ["submit".to_owned(), one.ticket.tag.clone(), wait.to_string()].to_vec();
        let who = Who::User(&one.ticket.account);
        let call = Call { who, words, input: one.script.as_bytes(), purpose: Purpose::Order };
        (base.tool.must(&call).map(|_| ()), None)
    }

    fn cancel(&self, base: &Base, ticket: &Ticket, _: Option<&BatchJob>) -> Result<(), SiteError> {
        let call = Call::by(Who::User(&ticket.account), &["delete", &ticket.tag]).order();
        base.tool.must(&call).map(|_| ())
    }
}

struct Bench {
    folder: TempDir,
    site: Option<Driver<Batch>>,
    change: Box<dyn Fn(&mut Cluster)>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(|_| {})
    }

    fn with(change: impl Fn(&mut Cluster) + 'static) -> Bench {
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("batch");
        fs::write(&program, BATCH).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("jobs")).unwrap();
        let mut bench = Bench { folder, site: None, change: Box::new(change) };
        bench.restart();
        bench
    }

    fn settings(&self) -> ManagedSettings {
        let text = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        let own = Command::new("id").arg("-un").output().unwrap();
        let own = String::from_utf8(own.stdout).unwrap().trim().to_owned();
        let mut cluster = Cluster {
            command: vec![text("batch")],
            user_command: vec![text("batch")],
            accounts: Accounts::Of([("*".to_owned(), own)].into()),
            directory: text(""),
            spool: text("spool"),
            timeout: Span(60),
            ..Cluster::default()
        };
        (self.change)(&mut cluster);
        let setup = PoolSetup {
            name: "p".to_owned(),
            nodes: NODES,
            performance: Performance::REFERENCE,
            attributes: BTreeMap::new(),
        };
        let folder = self.folder.path().join("site");
        let pools = vec![(setup, Members::default())];
        ManagedSettings { name: "here".to_owned(), folder, cluster, pools }
    }
}

impl SiteBench for Bench {
    fn site(&mut self) -> &mut dyn Site {
        self.site.as_mut().unwrap()
    }

    fn now(&mut self) -> Time {
        now()
    }

    fn wait(&mut self) {
        thread::sleep(Duration::from_millis(50));
    }

    fn patience(&self) -> u32 {
        1_200
    }

    fn restart(&mut self) {
        self.site = None;
        self.site = Some(Driver::open(self.settings(), Batch, None).unwrap());
    }

    fn take(&mut self, _: u32) {}

    fn line_up(&mut self, _: &[u32]) -> bool {
        false
    }
}

/// All that does not need a batch system which counts nodes, and does not take long.
const KEPT: [&str; 16] = [
    "a task runs once for its tag",
    "what was acknowledged is seen",
    "a task that was forgotten is gone for ever",
    "a restart of the adapter loses nothing",
    "an unknown pool is refused",
    "exit codes are reported",
    "signals are reported",
    "withdrawn while it runs, it stops",
    "withdrawn after its end, nothing changes",
    "withdrawn before it was known, it never runs",
    "recalled when its work has begun, it runs on",
    "recalled before it was known, it never runs",
    "the output's tail is reported",
    "arguments arrive as they are",
    "the environment arrives as it is",
    "names may be odd",
];

#[test]
fn a_manager_that_gives_only_what_it_must_keeps_the_promises_of_a_site() {
    let wanted = CHECKS.iter().filter(|(name, _)| KEPT.contains(name));
    let all: Vec<_> = wanted.collect();
    assert_eq!(all.len(), KEPT.len(), "checks are called so");
    thread::scope(|scope| {
        let run = |check: &'static (&str, crate::site::conformance::SiteCheck)| {
            scope.spawn(move || {
                check.1(&mut Bench::new()).map_err(|why| format!("{}: {why}", check.0))
            })
        };
        let running: Vec<_> = all.into_iter().map(run).collect();
        let broken: Vec<String> =
            running.into_iter().filter_map(|it| it.join().unwrap().err()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    });
}

#[test]
fn what_it_leaves_out_is_refused_or_nothing() {
    let mut bench = Bench::new();
    let site = bench.site.as_mut().unwrap();
    let wanted = Aside {
        market: "m".to_owned(),
        job: 1,
        user: "ana".to_owned(),
        pool: "p".to_owned(),
        nodes: 1,
        from: now(),
        until: now() + Span(60),
    };
    let refused = site.manager.reserve(&site.base, "r", &wanted).unwrap_err();
    assert!(refused.to_string().contains("cannot reserve nodes"), "{refused}");
    assert_eq!(site.set_aside("m", &[wanted]).unwrap(), [], "only where that is the mode");
    assert_eq!(site.doctor().len(), 2, "the clock and the accounts");
}

/// A task of a job that reads from another site and writes to a third.
fn with_data(bench: &mut Bench, job: u64) -> crate::site::Order {
    use tradewind_model::{JobData, StageTimes};
    let plain = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
    let data = JobData {
        input: 5 << 20,
        from: "there".to_owned(),
        output: 3 << 20,
        to: "beyond".to_owned(),
    };
    let times = StageTimes { stage_in: Span(20), stage_out: Span(7) };
    let limit = Span(87);
    crate::site::Order { limit, data: Some(Box::new(OrderData { data, times })), ..plain }
}

fn shell(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(str::to_owned).to_vec()
}

fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = found() {
            return found;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not come within 30 s");
}

#[test]
fn data_is_brought_while_the_site_goes_on() {
    let mut bench = Bench::with(|cluster| {
        let bring = "until [ -e {directory}/open ]; do sleep 0.05; done; \
                     echo {input} from {from} >{directory}/brought-{job}";
        cluster.stage_in = vec![shell(bring)];
        cluster.stage_out = vec![shell("echo {output} to {to} >{directory}/taken-{job}")];
    });
    let task = with_data(&mut bench, 1);
    assert_eq!(bench.site().submit(&task), Err(SiteError::Staging));
    // The site answers, and other tasks with data wait as well.
    bench.site().survey().unwrap();
    let other = with_data(&mut bench, 2);
    assert_eq!(bench.site().submit(&other), Err(SiteError::Staging));
    assert_eq!(bench.site().submit(&task), Err(SiteError::Staging), "it is not brought twice");
    // One that is called off waits for nothing.
    bench.site().withdraw(&other.tag).unwrap();
    assert_eq!(bench.site().submit(&other), Ok(()), "it is known, and never runs");
    assert!(!format!("{:?}", bench.site.as_ref().unwrap().staging).contains("job: 2"));
    // A restart loses what is under way: it begins again.
    bench.restart();
    let path = |bench: &Bench, name: &str| bench.folder.path().join(name);
    let read = |bench: &Bench, name: &str| fs::read_to_string(path(bench, name)).ok();
    assert_eq!(bench.site().submit(&task), Err(SiteError::Staging));
    fs::write(path(&bench, "open"), "").unwrap();
    until(|| bench.site().submit(&task).is_ok().then_some(()));
    assert_eq!(read(&bench, "brought-1").unwrap(), "5242880 from there\n");
    // Its own limit is without the time for which commands bring its data.
    let ticket = bench.site.as_ref().unwrap().base.tickets.get(&task.tag).unwrap().clone();
    assert_eq!(ticket.limit, 60);
    until(|| {
        bench.site().survey().unwrap();
        read(&bench, "taken-1").filter(|text| text.ends_with('\n'))
    });
    assert_eq!(read(&bench, "taken-1").unwrap(), "3145728 to beyond\n");
}

#[test]
fn commands_for_data_are_for_jobs_that_have_some() {
    let mut bench = Bench::with(|cluster| {
        let touch = |name: &str| shell(&format!("touch {{directory}}/{name}-{{job}}"));
        cluster.stage_in = vec![touch("all"), shell("touch {directory}/{from}-{job}; exit 3")];
    });
    let plain = order(&mut bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    bench.site().submit(&plain).unwrap();
    let task = with_data(&mut bench, 2);
    let refused = bench.site().submit(&task);
    assert!(
        matches!(&refused, Err(SiteError::Refused(why)) if why.contains("ended with 3")),
        "{refused:?}"
    );
    let mut local = with_data(&mut bench, 3);
    local.data.as_mut().unwrap().data.from = "here".to_owned();
    bench.site().submit(&local).unwrap();
    let is_there = |name: &str| bench.folder.path().join(name).exists();
    assert!(is_there("all-1") && is_there("all-2") && is_there("all-3"));
    assert!(is_there("there-2") && !is_there("here-3"), "it is here already");
    assert_eq!(bench.site.as_ref().unwrap().base.tickets.get(&local.tag).unwrap().limit, 67);
}

/// The manager has lost the submission: the files are there.
#[test]
fn what_is_submitted_again_is_not_brought_again() {
    let bring = || vec![shell("echo {from} >>{directory}/brought-{job}")];
    let mut bench = Bench::with(move |cluster| cluster.stage_in = bring());
    let task = with_data(&mut bench, 1);
    let task = crate::site::Order { start: now() + Span(3_600), ..task };
    until(|| bench.site().submit(&task).is_ok().then_some(()));
    bench.restart();
    let site = bench.site.as_mut().unwrap();
    site.base.change(&task.tag, |ticket| ticket.is_taken = false).unwrap();
    let ticket = site.base.tickets.get(&task.tag).unwrap().clone();
    site.manager.cancel(&site.base, &ticket, None).unwrap();
    assert_eq!(bench.site().submit(&task), Ok(()));
    let brought = fs::read_to_string(bench.folder.path().join("brought-1")).unwrap();
    assert_eq!(brought, "there\n");
    bench.site().withdraw(&task.tag).unwrap();
}

/// A transfer that takes much longer than expected ends the attempt.
#[test]
fn data_that_does_not_come_in_time_refuses_the_task() {
    let mut bench = Bench::with(|cluster| {
        cluster.timeout = Span(2);
        cluster.stage_in = vec![shell("echo slowly >&2; sleep 60; true {from}")];
    });
    let mut task = with_data(&mut bench, 1);
    task.data.as_mut().unwrap().times.stage_in = Span(0);
    assert_eq!(bench.site().submit(&task), Err(SiteError::Staging));
    let refused = until(|| match bench.site().submit(&task) {
        Err(SiteError::Staging) => None,
        other => Some(other),
    });
    assert!(
        matches!(&refused, Err(SiteError::Refused(why)) if why.contains("within 2 s") && why.contains("slowly")),
        "{refused:?}"
    );
}

/// Without commands the task brings its data itself, in its limit.
#[test]
fn a_site_without_commands_leaves_the_transfer_to_the_task() {
    let mut bench = Bench::new();
    let task = with_data(&mut bench, 1);
    bench.site().submit(&task).unwrap();
    assert_eq!(bench.site.as_ref().unwrap().base.tickets.get(&task.tag).unwrap().limit, 87);
}
