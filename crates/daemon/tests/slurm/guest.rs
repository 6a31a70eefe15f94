//! How much the controller is asked, and what is known without asking it.
//!
//! A site is driven as the engine drives it: by turns that are due, and when it wakes its thread. A
//! prefix before all commands writes them down, so that nothing depends on our own count.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use tradewind_daemon::site::conformance::{SiteBench, order};
use tradewind_daemon::site::slurm::ManagedSettings;
use tradewind_daemon::site::{Exit, Order, Seen, Survey, Tag, Turn, Wake};
use tradewind_model::{Span, Time};

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{ready_later, sleeps};

/// Writes commands down, one to a line, and runs them. `REWRITE` may change what they are.
const PREFIX: &str = "#!/bin/sh\necho \"$*\" >>LOG\ncase $* in REWRITE esac\nexec \"$@\"\n";
/// The shell of the account says that its folder is where we do not see it.
const FAR: &str = "*' place '*) \"$@\" | sed 's#^place /#place /elsewhere/#'; exit ;;";
/// No process can listen there.
const DEAF: &str = "*' place '*) exit 1 ;;";
/// Commands that ask the controller for lists.
const LISTS: [&str; 3] = [" squeue ", " sinfo ", " scontrol "];

struct Guest<'c> {
    bench: SlurmBench<'c>,
    woken: Receiver<()>,
    log: PathBuf,
    survey: Option<Survey>,
}

/// A site whose budget is one of so many requests per minute, at rest and otherwise.
fn guest<'c>(
    cluster: &'c Cluster,
    nodes: u32,
    (rest, busy): (u32, u32),
    rewrite: &str,
    change: impl FnOnce(&mut ManagedSettings),
) -> Guest<'c> {
    let mut log = PathBuf::new();
    let mut bench = SlurmBench::with(cluster, "main", nodes, |settings| {
        log = settings.folder.with_file_name("commands");
        let prefix = settings.folder.with_file_name("prefix");
        let text = PREFIX.replace("LOG", &log.display().to_string()).replace("REWRITE", rewrite);
        std::fs::write(&prefix, text).unwrap();
        std::fs::set_permissions(&prefix, PermissionsExt::from_mode(0o755)).unwrap();
        settings.cluster.command = vec![prefix.display().to_string()];
        settings.cluster.survey_every = Span(0);
        (settings.cluster.requests_at_rest, settings.cluster.requests_busy) = (rest, busy);
        change(settings);
    });
    let (wake, woken) = channel();
    bench.site().attend(Wake::by(move || {
        let _ = wake.send(());
    }));
    Guest { bench, woken, log, survey: None }
}

impl Guest<'_> {
    /// Waits until the next turn is due or the site wakes us, and takes it.
    fn turn(&mut self, max: Duration) -> Option<Turn> {
        let site = self.bench.site();
        let due = site.due().unwrap().saturating_duration_since(Instant::now());
        let is_woken = self.woken.recv_timeout(due.min(max)).is_ok();
        while self.woken.try_recv().is_ok() {}
        if !is_woken && due > max {
            return None;
        }
        let turn = site.turn();
        if let Turn::Heard(survey) | Turn::Looked(Ok(survey)) = &turn {
            self.survey = Some(survey.clone());
        }
        Some(turn)
    }

    fn drive(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.turn(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Drives it until this holds of the last picture.
    fn until(&mut self, what: &str, holds: impl Fn(&Survey) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.survey.as_ref().is_some_and(&holds) {
            assert!(Instant::now() < end, "it does not come about that {what}: {:?}", self.survey);
            self.turn(Duration::from_millis(500));
        }
    }

    fn until_running(&mut self, tag: &Tag) {
        self.until("it runs", |it| matches!(it.tasks.get(tag), Some(Seen::Running { .. })));
    }

    fn until_ended(&mut self, tag: &Tag) -> Exit {
        self.until("it is over", |it| matches!(it.tasks.get(tag), Some(Seen::Ended { .. })));
        match self.survey.as_ref().and_then(|survey| survey.tasks.get(tag)) {
            Some(Seen::Ended { exit, .. }) => exit.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Commands with these words so far.
    fn said(&self, words: &str) -> usize {
        std::fs::read_to_string(&self.log).unwrap_or_default().matches(words).count()
    }

    /// Lists that the controller was asked for so far.
    fn lists(&self) -> usize {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let is_list = |line: &&str| LISTS.iter().any(|name| line.contains(name));
        log.lines().filter(is_list).filter(|line| !line.contains(" release ")).count()
    }

    fn submit(&mut self, job: u64, after: u32) -> Order {
        let order = order(&mut self.bench, job, &sleeps(after, 0));
        self.bench.site().submit(&order).unwrap();
        order
    }
}

/// The file in which the task says how it ended.
fn end_of(guest: &Guest<'_>, tag: &Tag) -> PathBuf {
    guest.bench.folder.path().join("spool").join(tag.to_string()).join("end")
}

/// When the task wrote its end.
fn written(guest: &Guest<'_>, tag: &Tag) -> SystemTime {
    std::fs::metadata(end_of(guest, tag)).unwrap().modified().unwrap()
}

#[test]
fn the_controller_is_asked_within_its_budget() {
    let cluster = Cluster::start(&Plan::of("g", 20));
    // A minute of ten seconds: 2 and 10 of them.
    let mut guest = guest(&cluster, 20, (12, 60), "", |_| {});
    guest.until("everything is listed", |it| it.pools[0].up == 20);
    assert_eq!(guest.lists(), 5, "jobs, nodes, reservations, and what the site allows");
    let before = guest.lists();
    guest.drive(Duration::from_secs(20));
    let at_rest = guest.lists() - before;
    assert!(at_rest <= 4, "{at_rest} in two minutes of ten seconds");
    // A controller that answers late on a busy machine is asked less often, but it is asked.
    let end = Instant::now() + Duration::from_secs(60);
    while guest.lists() == before {
        assert!(Instant::now() < end, "the controller is not asked any more");
        guest.drive(Duration::from_secs(2));
    }
    let before = guest.lists();
    let orders: Vec<Order> = (1..=20).map(|job| guest.submit(job, 20)).collect();
    guest.drive(Duration::from_secs(10));
    let busy = guest.lists() - before;
    assert!(busy <= 10, "{busy} in a minute of ten seconds");
    for order in &orders {
        guest.until_running(&order.tag);
    }
    // All run, and nothing is due.
    let before = guest.lists();
    guest.drive(Duration::from_secs(5));
    let calm = guest.lists() - before;
    assert!(calm <= 2, "{calm} in half a minute");
    let counts = guest.bench.site().requests().unwrap().counts();
    assert_eq!(counts["sbatch"].total, 20, "{counts:?}");
    let is_list = |kind: &str| kind == "squeue" || kind.starts_with("scontrol show ");
    let lists = counts.iter().filter(|(kind, _)| is_list(kind)).map(|(_, count)| count.total);
    let lists: u64 = lists.sum();
    assert_eq!(lists, guest.lists() as u64, "our own count is right: {counts:?}");
}

#[test]
fn an_end_is_known_without_the_controller() {
    let cluster = Cluster::start(&Plan::of("h", 1));
    let mut guest = guest(&cluster, 1, (1, 60), "", |_| {});
    let order = guest.submit(1, 4);
    guest.until_running(&order.tag);
    let before = guest.lists();
    assert_eq!(guest.until_ended(&order.tag), Exit::Code(0));
    let late = written(&guest, &order.tag).elapsed().unwrap_or_default();
    assert!(late < Duration::from_secs(2), "{late:?}");
    assert_eq!(guest.lists(), before, "no command was sent");
    let survey = guest.survey.clone().unwrap();
    assert_eq!(survey.placed[&order.tag], ["h1"]);
    let whole = guest.bench.site().survey().unwrap();
    assert_eq!(whole.tasks[&order.tag], survey.tasks[&order.tag], "Slurm says the same");
    assert!(whole.pools[0].local.is_empty(), "its node is free for us");
    // The node is used again at once.
    let next = guest.submit(2, 0);
    assert_eq!(guest.until_ended(&next.tag), Exit::Code(0));
}

#[test]
fn a_shell_of_the_account_hears_where_we_see_nothing() {
    let cluster = Cluster::start(&Plan::of("i", 1));
    let mut guest = guest(&cluster, 1, (1, 60), FAR, |_| {});
    let first = guest.submit(1, 1);
    assert_eq!(guest.until_ended(&first.tag), Exit::Code(0));
    let (lists, looks) = (guest.lists(), guest.said(" look "));
    let order = guest.submit(2, 3);
    guest.until_running(&order.tag);
    assert_eq!(guest.until_ended(&order.tag), Exit::Code(0));
    let late = written(&guest, &order.tag).elapsed().unwrap_or_default();
    assert!(late < Duration::from_secs(4), "{late:?}");
    assert!(guest.lists() <= lists + 2, "that it waits may be looked at");
    assert_eq!(guest.said(" listen "), 1, "one shell, which goes on");
    assert_eq!(guest.said(" look "), looks, "and says all itself");
}

#[test]
fn what_was_not_heard_is_found() {
    let cluster = Cluster::start(&Plan::of("j", 2));
    // No process listens: folders are read, without the controller.
    let mut deaf = guest(&cluster, 1, (1, 60), DEAF, |_| {});
    let order = deaf.submit(1, 3);
    deaf.until_running(&order.tag);
    assert_eq!(deaf.until_ended(&order.tag), Exit::Code(0));
    deaf.bench.cluster.clear(None);
    // Its bell cannot be rung: the next looks find that it is over.
    let mut guest = guest(&cluster, 1, (20, 60), "", |_| {});
    let mute = guest.submit(2, 5);
    guest.until_running(&mute.tag);
    let bells = guest.bench.folder.path().join("spool/.tw-suite-alpha");
    std::fs::create_dir(bells.join(mute.tag.to_string())).unwrap();
    let before = guest.lists();
    assert_eq!(guest.until_ended(&mute.tag), Exit::Code(0));
    assert!(guest.lists() > before, "it was not heard");
}

#[test]
fn sites_that_share_a_spool_hear_their_own_tasks() {
    let cluster = Cluster::start(&Plan::of("n", 2));
    let spool = cluster.path().join("shared");
    let share = |name: &str, settings: &mut ManagedSettings| {
        settings.name = name.to_owned();
        settings.cluster.spool = spool.display().to_string();
    };
    let mut one = guest(&cluster, 2, (1, 60), "", |settings| share("one", settings));
    let mut other = guest(&cluster, 2, (1, 60), "", |settings| share("other", settings));
    let long = other.submit(1, 50);
    other.until_running(&long.tag);
    for job in 2..6 {
        let short = one.submit(job, 1);
        assert_eq!(one.until_ended(&short.tag), Exit::Code(0));
        let end = spool.join(short.tag.to_string()).join("end");
        let late = std::fs::metadata(end).unwrap().modified().unwrap().elapsed();
        let late = late.unwrap_or_default();
        assert!(late < Duration::from_secs(2), "{late:?}");
    }
}

#[test]
fn a_withdrawn_task_is_over_when_it_says_so() {
    let cluster = Cluster::start(&Plan::of("k", 1));
    let mut guest = guest(&cluster, 1, (1, 60), "", |_| {});
    let order = guest.submit(1, 60);
    guest.until_running(&order.tag);
    let began = Instant::now();
    guest.bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(guest.until_ended(&order.tag), Exit::Withdrawn);
    // On a busy machine Slurm may kill the script before it has written its end: then the listing
    // says so, a few seconds later.
    match std::fs::metadata(end_of(&guest, &order.tag)).and_then(|it| it.modified()) {
        Ok(at) => {
            let late = at.elapsed().unwrap_or_default();
            assert!(late < Duration::from_secs(4), "{late:?}");
        }
        Err(_) => assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed()),
    }
    // One that is held never began: Slurm says what happened to it.
    let start = Time(guest.bench.now().0 + 600);
    let held = ready_later(&mut guest.bench, 2, start);
    guest.bench.site().withdraw(&held.tag).unwrap();
    assert_eq!(guest.until_ended(&held.tag), Exit::Withdrawn);
}

#[test]
fn a_held_task_is_released_in_time() {
    let cluster = Cluster::start(&Plan::of("l", 1));
    let mut guest = guest(&cluster, 1, (2, 10), "", |_| {});
    guest.until("everything is listed", |it| it.pools[0].up == 1);
    let start = Time(guest.bench.now().0 + 12);
    let order = ready_later(&mut guest.bench, 1, start);
    assert_eq!(guest.until_ended(&order.tag), Exit::Code(0));
    let began = guest.survey.as_ref().unwrap().began[&order.tag];
    let late = began - start.0 * 1_000;
    assert!((0..8_000).contains(&late), "{late} ms");
}

#[test]
fn a_controller_that_hangs_is_asked_less() {
    let cluster = Cluster::start(&Plan::of("m", 1));
    let mut guest = guest(&cluster, 1, (600, 600), "", |settings| {
        settings.cluster.timeout = Span(1);
    });
    guest.until("everything is listed", |it| it.pools[0].up == 1);
    let before = guest.lists();
    guest.drive(Duration::from_secs(4));
    let usual = guest.lists() - before;
    cluster.signal_controller(Signal::STOP);
    let before = guest.lists();
    guest.drive(Duration::from_secs(12));
    let hung = guest.lists() - before;
    cluster.signal_controller(Signal::CONT);
    assert!(hung <= 4 && usual > 4, "{hung} in 12 s, {usual} in 4 s before");
    guest.survey = None;
    guest.until("it answers again", |it| it.pools[0].up == 1);
}
