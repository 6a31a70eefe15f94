//! Reservations, units, and what the doctor says.

use tradewind_daemon::site::conformance::{SiteBench, order};
use tradewind_daemon::site::{Aside, Exit, LocalTask, Order, Seen, SiteError, Verdict};
use tradewind_io::settings::cluster::{Mode, NodeUnit};
use tradewind_model::{Span, Time};

use super::bench::{SlurmBench, pool};
use super::cluster::{Cluster, Plan};
use super::gotchas::{ready, sleeps, survey, until_ended, until_running};

fn reserving<'c>(cluster: &'c Cluster, nodes: u32) -> SlurmBench<'c> {
    SlurmBench::with(cluster, "main", nodes, |settings| settings.cluster.mode = Mode::Reservation)
}

fn names(cluster: &Cluster) -> Vec<String> {
    let all = cluster.say(&["scontrol", "-o", "show", "reservation"]);
    let name =
        |line: &str| line.split(' ').next()?.strip_prefix("ReservationName=").map(str::to_owned);
    all.lines().filter_map(name).collect()
}

#[test]
fn a_reservation_is_made_or_the_task_is_refused() {
    let cluster = Cluster::start(&Plan::of("o", 2));
    let mut bench = reserving(&cluster, 2);
    let mut first = order(&mut bench, 1, &sleeps(0, 0));
    (first.start, first.nodes) = (first.start + Span(4), 2);
    bench.site().submit(&first).unwrap();
    bench.site().submit(&first).unwrap();
    assert_eq!(names(&cluster), [first.tag.to_string()]);
    assert!(survey(&mut bench).pools[0].local.is_empty(), "it is our own");
    // The owner's job does not fit in before it, and ours does not fit in beside it.
    let owners = cluster.job(&["-N", "1", "--exclusive", "--time=5"]);
    let second = Order { start: first.start, ..order(&mut bench, 2, &sleeps(0, 0)) };
    let told = bench.site().submit(&second).unwrap_err();
    assert!(matches!(&told, SiteError::Refused(why) if why.contains("Requested")), "{told:?}");
    let (since, exit) = until_ended(&mut bench, &first.tag);
    assert!(since >= Some(first.start) && exit == Exit::Code(0), "{since:?} {exit:?}");
    survey(&mut bench);
    assert!(names(&cluster).is_empty(), "it is given back");
    cluster.until_state(&owners, "RUNNING");
}

#[test]
fn nodes_are_kept_for_a_promise() {
    let cluster = Cluster::start(&Plan::of("p", 2));
    let mut bench = reserving(&cluster, 2);
    let now = bench.now();
    let aside = |job: u64, nodes: u32, from: i64| Aside {
        market: "suite".to_owned(),
        job,
        user: "somebody".to_owned(),
        pool: "cpu".to_owned(),
        nodes,
        from: now + Span(from),
        until: now + Span(from + 60),
    };
    let all = [aside(1, 2, 4), aside(2, 1, 3_600)];
    for _ in 0..2 {
        assert_eq!(bench.site().set_aside("suite", &all), Ok(Vec::new()));
    }
    assert_eq!(names(&cluster), ["tw-suite-1-cpu", "tw-suite-2-cpu"]);
    let too_much = [all[0].clone(), all[1].clone(), aside(3, 1, 4)];
    let denied = bench.site().set_aside("suite", &too_much).unwrap();
    assert!(
        matches!(&denied[..], [(3, why)] if why.contains("Requested nodes are busy")),
        "{denied:?}"
    );
    let owners = cluster.job(&["-N", "1", "--exclusive", "--time=5"]);
    let booked = Order {
        aside: true,
        nodes: 2,
        start: now + Span(4),
        ..order(&mut bench, 1, &sleeps(0, 0))
    };
    bench.site().submit(&booked).unwrap();
    let (since, exit) = until_ended(&mut bench, &booked.tag);
    assert_eq!(exit, Exit::Code(0));
    let late = since.unwrap_or(Time(0)) - booked.start;
    assert!((0..30).contains(&late.0), "{late:?}");
    assert_eq!(bench.site().set_aside("suite", &all[1..]), Ok(Vec::new()));
    assert_eq!(names(&cluster), ["tw-suite-2-cpu"]);
    // The clock was set back meanwhile: the same moment is called otherwise.
    let start = || {
        let text = cluster.say(&["scontrol", "-o", "show", "reservation", "tw-suite-2-cpu"]);
        text.split("StartTime=").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    let (before, sooner) = (start(), [aside(2, 1, 1_800)]);
    for _ in 0..2 {
        assert_eq!(bench.site().set_aside("suite", &sooner), Ok(Vec::new()));
    }
    assert!(start() < before, "{before}");
    assert_eq!(bench.site().set_aside("other", &[]), Ok(Vec::new()));
    assert_eq!(names(&cluster), ["tw-suite-2-cpu"], "it is another market's");
    assert_eq!(bench.site().set_aside("suite", &[]), Ok(Vec::new()));
    cluster.until_state(&owners, "RUNNING");
}

#[test]
fn a_partly_used_node_offers_the_rest() {
    let mut plan = Plan::of("q", 2);
    plan.node = "CPUs=8 RealMemory=8000 State=UNKNOWN";
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::with(&cluster, "main", 8, |settings| {
        settings.cluster.unit = NodeUnit::Cores(2);
    });
    let owners = cluster.job(&["-n", "3", "-N", "1"]);
    cluster.until_state(&owners, "RUNNING");
    let runs = Order { nodes: 6, ..order(&mut bench, 1, &sleeps(50, 0)) };
    bench.site().submit(&runs).unwrap();
    until_running(&mut bench, &runs.tag);
    let pool = survey(&mut bench).pools.remove(0);
    let taken: Vec<&LocalTask> = pool.local.values().collect();
    assert_eq!((pool.up, taken.len(), taken[0].nodes), (8, 1, 2), "three processors are two units");
    // Slurm itself gives a processor less than asked for where a node has an odd number left.
    let shown = cluster.say(&["squeue", "-h", "-o", "%i %C"]);
    assert!(shown.contains("2 12") || shown.contains("2 11"), "two for each unit: {shown}");
}

/// Two accelerators on each of two nodes: files that are called so, and counted.
#[test]
fn accelerators_are_units() {
    let mut plan = Plan::of("x", 2);
    plan.more.push("GresTypes=gpu".to_owned());
    plan.node = "CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN";
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::with(&cluster, "main", 4, |settings| {
        settings.cluster.unit = NodeUnit::Gpu;
    });
    let owners = cluster.job(&["-n", "1", "--gpus=1"]);
    cluster.until_state(&owners, "RUNNING");
    let two = |bench: &mut SlurmBench<'_>, job| {
        let order = Order { nodes: 2, ..order(bench, job, &sleeps(50, 0)) };
        bench.site().submit(&order).unwrap();
        order.tag
    };
    let first = two(&mut bench, 1);
    until_running(&mut bench, &first);
    let pool = survey(&mut bench).pools.remove(0);
    let taken: Vec<&LocalTask> = pool.local.values().collect();
    assert_eq!((pool.up, taken.len(), taken[0].nodes), (4, 1, 1));
    // One is left.
    let second = two(&mut bench, 2);
    cluster.until("it waits for accelerators", |it| {
        let reasons = it.say(&["squeue", "-h", "-t", "PD", "-o", "%r"]);
        ["Resources", "Priority"].contains(&reasons.trim())
    });
    assert_eq!(survey(&mut bench).tasks[&second], Seen::Waiting);
    cluster.say(&["scancel", &owners]);
    until_running(&mut bench, &second);
    assert!(survey(&mut bench).pools[0].local.is_empty());
}

#[test]
fn hosts_may_be_named() {
    let cluster = Cluster::start(&Plan::of("r", 3));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        settings.pools = ["r[2]", "r[1,3]"]
            .into_iter()
            .zip([("one", 1), ("two", 2)])
            .map(|(hosts, (name, nodes))| {
                let (setup, mut members) = pool(name, nodes, "main");
                members.hosts = Some(hosts.to_owned());
                (setup, members)
            })
            .collect();
    });
    let seen = survey(&mut bench);
    assert_eq!((seen.pools[0].up, seen.pools[1].up), (1, 2));
    let one = ready(&mut bench, 1, &sleeps(50, 0));
    let two = Order { pool: "two".to_owned(), nodes: 2, ..order(&mut bench, 2, &sleeps(50, 0)) };
    bench.site().submit(&two).unwrap();
    for (tag, wanted) in [(&one.tag, vec!["r2"]), (&two.tag, vec!["r1", "r3"])] {
        match until_running(&mut bench, tag) {
            Seen::Running { nodes, .. } => assert_eq!(nodes, wanted),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_doctor_names_command_and_remedy() {
    let mut plan = Plan::of("s", 2);
    plan.scheduler = "";
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        settings.pools.push(pool("gone", 2, "nowhere"));
        settings.pools.push(pool("more", 5, "main"));
        let (setup, mut named) = pool("named", 4, "main");
        named.hosts = Some("s[1-4]".to_owned());
        settings.pools.push((setup, named));
        let accounts = [("ana".to_owned(), cluster.user.clone())].into();
        settings.cluster.accounts = tradewind_io::settings::cluster::Accounts::Of(accounts);
    });
    let found = bench.site().doctor();
    let of = |what: &str| {
        let one = found.iter().find(|it| it.what.contains(what));
        one.unwrap_or_else(|| panic!("nothing on {what:?}: {found:#?}"))
    };
    // Slow at worst, on a machine that does other things, too.
    for what in ["`squeue --json", "show nodes`"] {
        assert_ne!(of(what).verdict, Verdict::Bad, "{:?}", of(what));
    }
    for what in ["controller", "clock", "pool cpu", "reserved"] {
        assert_eq!(of(what).verdict, Verdict::Good, "{:?}", of(what));
    }
    for (what, verdict, remedy) in [
        ("without delay", Verdict::Warning, "sched_interval=1"),
        ("pool gone", Verdict::Bad, "partition"),
        ("pool more", Verdict::Warning, "nodes"),
        ("pool named", Verdict::Bad, "hosts"),
    ] {
        let one = of(what);
        assert_eq!(one.verdict, verdict, "{one:?}");
        assert!(one.remedy.contains(remedy), "{one:?}");
    }
    assert_eq!(of(&format!("as {}", cluster.user)).verdict, Verdict::Good, "{found:#?}");
    drop(bench);
    let mut bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        let nowhere = ("SLURM_CONF".to_owned(), "/no/such/slurm.conf".to_owned());
        settings.cluster.environment = [nowhere].into();
        // Slurm asks the network's name servers where its configuration may be.
        settings.cluster.timeout = Span(1);
    });
    let found = bench.site().doctor();
    let bad = found.iter().filter(|it| it.verdict == Verdict::Bad);
    assert_eq!(bad.clone().count(), 3, "the first two, and no more is tried: {found:#?}");
    for one in bad {
        assert!(!one.remedy.is_empty(), "{one:?}");
    }
    let told = bench.site().survey().unwrap_err().to_string();
    assert!(told.contains("site alpha: `scontrol"), "{told}");
}
