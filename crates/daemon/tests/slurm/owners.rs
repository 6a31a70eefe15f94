//! Waiting jobs of others, as surveys list them and as `squeue` does.

use std::collections::BTreeMap;
use std::time::Duration;

use tradewind_daemon::site::Survey;
use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::queued::{Blocked, MAX_LIMIT, QueuedJob};
use tradewind_daemon::site::slurm;
use tradewind_model::{Span, Time};

use super::bench::{SlurmBench, pool};
use super::cluster::{Cluster, Plan};
use super::gotchas::{ready, sleeps, survey};
use super::users::as_root;

/// Two partitions, the second of which has only one of the nodes.
fn plan(name: &'static str) -> Plan {
    let mut plan = Plan::of(name, 4);
    plan.more.push(format!("PartitionName=fast Nodes={name}1 MaxTime=60 DefaultTime=10 State=UP"));
    plan
}

/// What `squeue` says of a job in these columns.
fn squeue(cluster: &Cluster, job: &str, columns: &str) -> String {
    cluster.say(&["squeue", "-h", "-j", job, "-o", columns]).trim().to_owned()
}

fn by_name(survey: &Survey) -> BTreeMap<&str, &QueuedJob> {
    survey.queue.iter().map(|job| (job.name.as_str(), job)).collect()
}

/// What does not change from one moment to the next: Slurm plans starts while we look.
fn lasting(survey: &Survey) -> Vec<QueuedJob> {
    let plain = |job: &QueuedJob| QueuedJob { expected: None, ..job.clone() };
    survey.queue.iter().map(plain).collect()
}

/// A full cluster with all kinds of jobs behind: each is listed as `squeue` lists it, whether Slurm
/// was asked for the brief list or for all that it knows.
#[test]
fn a_backlog_of_the_owners_is_listed_as_squeue_lists_it() {
    let cluster = Cluster::start(&plan("w"));
    let mut bench = SlurmBench::with(&cluster, "main", 4, |settings| {
        settings.pools.push(pool("fast", 1, "fast"));
    });
    let job = |options: &[&str]| cluster.job(options);
    let runs = job(&["-N", "4", "--exclusive", "--time=30"]);
    cluster.until_state(&runs, "RUNNING");
    let wide = job(&["-N", "3", "--exclusive", "--time=10"]);
    let unlimited = job(&["-N", "1", "--exclusive", "--time=UNLIMITED"]);
    let year = job(&["-n", "7", "--time=366-0"]);
    let array = job(&["-N", "1", "--exclusive", "--time=3", "--array=1-900%5"]);
    let after = job(&["-N", "1", &format!("--dependency=afterok:{runs}")]);
    let later = job(&["-N", "1", "--begin=now+1hour"]);
    let held = job(&["-N", "1", "--hold"]);
    let both = job(&["-N", "1", "--partition=main,fast", "--time=5"]);
    let ours = ready(&mut bench, 1, &sleeps(0, 0));
    let all = [&wide, &unlimited, &year, &array, &after, &later, &held, &both];
    let mut seen = Survey::default();
    cluster.until("the first has a planned start", |it| squeue(it, &wide, "%S") != "N/A");
    for list in ["all that Slurm knows", "the brief list"] {
        seen = survey(&mut bench);
        assert_eq!(seen.queue.len(), all.len(), "{list}: {:#?}", seen.queue);
        for name in all {
            let told = by_name(&seen)[name.as_str()];
            let wanted = squeue(&cluster, name, "%D %u");
            let told = format!("{} {}", told.nodes, told.user.as_deref().unwrap_or("?"));
            assert_eq!(told, wanted, "{list}: job {name}");
        }
    }
    assert_eq!(lasting(&survey(&mut bench)), lasting(&seen));
    let queue = by_name(&seen);
    let of = |name: &String| queue[name.as_str()];
    assert!(!queue.values().any(|job| job.name == ours.tag.to_string()) && queue.len() == 8);
    assert_eq!((of(&wide).limit, of(&wide).is_capped), (Span(600), false));
    for name in [&unlimited, &year] {
        assert_eq!((of(name).limit, of(name).is_capped), (MAX_LIMIT, true), "{:?}", of(name));
    }
    assert_eq!((of(&array).tasks, of(&array).at_once), (900, Some(5)));
    assert_eq!(of(&after).blocked, Blocked::Dependency(vec![runs]));
    assert!(matches!(of(&later).blocked, Blocked::BeginTime(_)), "{:?}", of(&later));
    assert_eq!(of(&held).blocked, Blocked::Held);
    // Jobs of `main` may be given the node that `fast` has, too.
    assert!(queue.values().all(|job| job.pools == [0, 1]), "{queue:#?}");
    assert!(
        seen.queue_notes.iter().any(|note| note.starts_with("2 waiting jobs have no time limit"))
    );
    assert_eq!(seen.queue_beyond, 0);
    // As Slurm orders them: by priority, then by number.
    let mut order: Vec<(i64, u64)> = Vec::new();
    for job in &seen.queue {
        let priority: i64 = squeue(&cluster, &job.name, "%Q").parse().unwrap();
        order.push((-priority, job.name.parse().unwrap()));
    }
    assert!(order.is_sorted(), "{order:?}");
    let rule = seen.limits.as_ref().and_then(|limits| limits.queue).unwrap();
    assert_eq!((rule.depth, rule.window, rule.interval), (500, Span(86_400), Span(1)));
    // By its number: `squeue` lists it by its tasks, which `scancel` does not read.
    cluster.run(&["scancel", &array]);
}

/// Slurm plans the first job of the queue behind what runs, and says so.
#[test]
fn slurms_own_expected_start_is_listed() {
    let cluster = Cluster::start(&Plan::of("x", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let runs = cluster.job(&["-N", "2", "--exclusive", "--time=20"]);
    cluster.until_state(&runs, "RUNNING");
    let waits = cluster.job(&["-N", "2", "--exclusive", "--time=5"]);
    cluster.until("it has a planned start", |it| squeue(it, &waits, "%S") != "N/A");
    let now = bench.now();
    let seen = survey(&mut bench);
    let expected = by_name(&seen)[waits.as_str()].expected.unwrap();
    let behind = now + Span(20 * 60);
    let is_near = (behind - Span(120)..=behind + Span(120)).contains(&expected);
    assert!(is_near && expected > Time(0), "{expected} of about {behind}");
}

/// How many findings of `doctor` have these words.
fn findings(bench: &mut SlurmBench<'_>, words: &str) -> usize {
    bench.site().doctor().iter().filter(|finding| finding.found.contains(words)).count()
}

/// Thousands of tasks without a limit, and jobs that are to wait for each other: what is not known is
/// said once.
#[test]
fn an_absurd_backlog_is_bounded_and_said_once() {
    let cluster = Cluster::start(&Plan::of("y", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let runs = cluster.job(&["-N", "2", "--exclusive", "--time=30"]);
    cluster.until_state(&runs, "RUNNING");
    let array = ["-N", "1", "--exclusive", "--time=UNLIMITED", "--array=0-999"];
    let arrays = [(); 3].map(|()| cluster.job(&array));
    let first = cluster.job(&["-N", "1", &format!("--dependency=afterok:{runs}")]);
    let second = cluster.job(&["-N", "1", &format!("--dependency=afterok:{first}")]);
    // Slurm itself refuses a circle, or makes one: both are said, or neither is.
    let circle = [&format!("JobId={first}"), &format!("Dependency=afterok:{second}")];
    let has_circle = cluster.run(&["scontrol", "update", circle[0], circle[1]]).status.success();
    let seen = survey(&mut bench);
    let tasks: u32 = seen.queue.iter().map(|job| job.tasks).sum();
    assert_eq!((seen.queue.len(), tasks), (5, 3_002), "{:#?}", seen.queue);
    assert!(by_name(&seen)[arrays[0].as_str()].is_capped);
    assert_eq!(findings(&mut bench, "3 waiting jobs have no time limit"), 1);
    assert_eq!(findings(&mut bench, "wait for each other"), usize::from(has_circle));
    arrays.iter().for_each(|array| drop(cluster.run(&["scancel", array])));
}

/// The cluster hides jobs of other users from the account that asks.
#[test]
fn jobs_that_the_cluster_hides_are_said_once_to_be_unknown() {
    if !rustix::process::geteuid().is_root() {
        return as_root("owners::jobs_that_the_cluster_hides_are_said_once_to_be_unknown");
    }
    let mut plan = Plan::of("z", 2);
    plan.more.push("PrivateData=jobs".to_owned());
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        let other = ["setpriv", "--reuid=news", "--regid=news", "--clear-groups"];
        settings.cluster.command = other.map(str::to_owned).to_vec();
    });
    let runs = cluster.job(&["-N", "2", "--exclusive", "--time=20"]);
    cluster.until_state(&runs, "RUNNING");
    cluster.job(&["-N", "2", "--exclusive", "--time=20"]);
    let seen = survey(&mut bench);
    assert!(seen.queue.is_empty(), "{:#?}", seen.queue);
    // Which nodes are in use is no secret.
    let local: Vec<(&str, u32)> =
        seen.pools[0].local.iter().map(|(name, task)| (name.as_str(), task.nodes)).collect();
    assert_eq!(local, [("hidden job on z1", 1), ("hidden job on z2", 1)]);
    let hides = "hides jobs of other users (PrivateData)";
    let notes = seen.queue_notes.iter().filter(|note| note.contains(hides));
    assert_eq!(notes.count(), 1, "{:?}", seen.queue_notes);
    assert_eq!(findings(&mut bench, hides), 1);
}

/// A job that waited and ran, one that came and went, and one that was cancelled before it ran: none of
/// them is listed any more at the second look.
#[test]
fn jobs_that_the_controller_has_forgotten_are_found_in_the_accounting() {
    let accounts = &[
        "add cluster k",
        "add account climate",
        "add user USER account=climate",
        "modify user USER set defaultaccount=climate",
    ];
    let mut plan = Plan { accounts, ..Plan::of("k", 2) };
    // The last one counts.
    plan.more.push("MinJobAge=2".to_owned());
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let mut settings = bench.settings.clone();
    settings.folder = bench.folder.path().join("observed");
    let mut site = slurm::observe(settings).unwrap();
    let job = |options: &[&str]| cluster.job(&[&["-N2", "--exclusive", "-t5"], options].concat());
    let over = |job: &str| {
        cluster.run(&["scancel", job]);
        cluster.until_state(job, "");
    };
    let runs = job(&[]);
    cluster.until_state(&runs, "RUNNING");
    let waits = job(&[]);
    let first = site.survey(None).unwrap();
    assert_eq!((first.queue.len(), first.unwatched, first.ended.len()), (1, Span(0), 0));
    let since = bench.now();
    over(&runs);
    cluster.until_state(&waits, "RUNNING");
    over(&waits);
    let brief = job(&[]);
    cluster.until_state(&brief, "RUNNING");
    over(&brief);
    over(&job(&["--hold"]));
    let listed = ["squeue", "--noheader", "--states=all", "--format=%A"];
    cluster.until_within(Duration::from_secs(180), "all are forgotten", |it| {
        it.say(&listed).trim().is_empty()
    });
    assert!(bench.now() - since > Span(2), "{since}");
    let second = site.survey(Some(since)).unwrap();
    let mut found: Vec<&str> = second.ended.iter().map(|it| it.job.name.as_str()).collect();
    found.sort_unstable_by_key(|name| name.parse::<u64>().ok());
    let shown = || format!("{:#?}\n{}", second.ended, cluster.say(&["sacct", "-aXnP"]));
    assert_eq!((found, second.unwatched), (vec![&*runs, &*waits, &*brief], Span(0)), "{}", shown());
    let ended = second.ended.iter().find(|it| it.job.name == brief).unwrap();
    assert!(since <= ended.start && ended.start <= ended.end, "{ended:?}");
    assert_eq!((ended.job.nodes, ended.job.limit), (2, Span(300)), "{ended:?}");
    assert_eq!(ended.job.account.as_deref(), Some("climate"));
}
