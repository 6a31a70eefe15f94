//! Daemons that own the market in turn, on real Slurm: one that was frozen while another took over.

use std::time::Duration;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::notes::memory::NotesInMemory;
use tradewind_daemon::site::slurm::{self, Ownership};
use tradewind_daemon::site::{Exit, Seen, Site, SiteError};

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{sleeps, until_ended};

/// A daemon of its own folder, in a term of ownership.
fn owner(bench: &SlurmBench<'_>, name: &str, notes: &NotesInMemory, epoch: u64) -> Box<dyn Site> {
    let mut settings = bench.settings.clone();
    settings.folder = bench.folder.path().join(name);
    let (market, notes) = ("trial".to_owned(), Some(notes.open("alpha")));
    slurm::open_for(settings, Ownership { market, epoch, is_fenced: false, notes }).unwrap()
}

fn is_stale<T: std::fmt::Debug>(said: Result<T, SiteError>, word: &str) {
    let why = said.unwrap_err().to_string();
    assert!(why.contains(word), "{why}");
}

#[test]
fn a_daemon_that_was_succeeded_submits_cancels_and_settles_nothing() {
    let cluster = Cluster::start(&Plan::of("t", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let (notes, unnoted) = (NotesInMemory::default(), NotesInMemory::default());
    let mut old = owner(&bench, "one", &notes, 5);
    bench.slurm = Some(owner(&bench, "idle", &unnoted, 1));
    let say = |text: &str| TaskBehaviour::Say(text.to_owned(), 0);
    let runs = order(&mut bench, 1, &sleeps(30, 0));
    let mut waits = order(&mut bench, 2, &say("waited"));
    waits.nodes = 2;
    let next = order(&mut bench, 3, &say("next"));
    old.survey().unwrap();
    old.submit(&runs).unwrap();
    cluster.until("the first task runs", |it| {
        it.say(&["squeue", "-h", "-o", "%T"]).trim() == "RUNNING"
    });
    old.submit(&waits).unwrap();
    // One whose submission no other daemon learns of: it is under way while another takes over.
    let mut late = order(&mut bench, 4, &say("late"));
    late.nodes = 2;
    let mut frozen = owner(&bench, "two", &unnoted, 5);
    frozen.submit(&late).unwrap();
    notes.succeed();
    let mut new = owner(&bench, "three", &notes, 6);
    let survey = new.survey().unwrap();
    assert!(matches!(survey.tasks.get(&runs.tag), Some(Seen::Running { .. })), "{survey:?}");
    assert_eq!(survey.tasks.get(&waits.tag), Some(&Seen::Waiting));
    // It wakes: what it notes first is refused by the notes, what it orders by the site.
    is_stale(old.submit(&next), "another daemon owns the market");
    is_stale(old.withdraw(&runs.tag), "another daemon owns the market");
    is_stale(old.recall(&waits.tag), "another daemon owns the market");
    is_stale(frozen.submit(&next), "the site knows epoch 6");
    is_stale(frozen.recall(&late.tag), "the site knows epoch 6");
    is_stale(frozen.withdraw(&late.tag), "the site knows epoch 6");
    let all = cluster.say(&["squeue", "-h", "-o", "%i"]);
    assert_eq!(all.lines().count(), 3, "nothing was cancelled, nothing came: {all}");
    new.withdraw(&runs.tag).unwrap();
    bench.slurm = Some(new);
    assert_eq!(until_ended(&mut bench, &runs.tag).1, Exit::Withdrawn);
    let (since, exit) = until_ended(&mut bench, &waits.tag);
    assert_eq!((since.is_some(), exit), (true, Exit::Code(0)), "what the owner has found runs");
    assert_eq!(bench.site().output(&waits.tag, 100).unwrap(), b"waited");
    cluster.until("what was under way is over, too", |it| {
        it.say(&["squeue", "-h", "-o", "%i"]).trim().is_empty()
    });
    let written = bench.folder.path().join("work/tradewind-4.out");
    assert!(!written.exists(), "it never ran");
    std::thread::sleep(Duration::from_millis(200));
    let spool = bench.folder.path().join("spool").join(late.tag.to_string());
    assert!(!spool.exists());
    // The owner can submit it again, and then it runs.
    bench.site().submit(&late).unwrap();
    assert_eq!(until_ended(&mut bench, &late.tag).1, Exit::Code(0));
    assert_eq!(bench.site().output(&late.tag, 100).unwrap(), b"late");
}
