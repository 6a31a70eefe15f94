//! A site on a part of a real cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tempfile::TempDir;
use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::slurm::{self, ManagedSettings};
use tradewind_daemon::site::{PoolSetup, Site};
use tradewind_io::settings::cluster::{Accounts, Cluster as Described, Members};
use tradewind_model::{Performance, Span, Time};

use super::cluster::Cluster;

pub(crate) struct SlurmBench<'c> {
    pub(crate) cluster: &'c Cluster,
    partition: String,
    pub(crate) folder: Rc<TempDir>,
    pub(crate) settings: ManagedSettings,
    /// `None` only while it is being replaced.
    pub(crate) slurm: Option<Box<dyn Site>>,
    taken: Option<String>,
    is_kept: bool,
}

/// A pool of so many nodes of a partition.
pub(crate) fn pool(name: &str, nodes: u32, partition: &str) -> (PoolSetup, Members) {
    let setup = PoolSetup {
        name: name.to_owned(),
        nodes,
        performance: Performance::REFERENCE,
        attributes: BTreeMap::new(),
    };
    (setup, Members { partition: Some(partition.to_owned()), ..Members::default() })
}

/// How a cluster is reached from here: the jobs of all users run as this account.
pub(crate) fn described(cluster: &Cluster, folder: &std::path::Path) -> Described {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let accounts = BTreeMap::from([("*".to_owned(), cluster.user.clone())]);
    Described {
        environment: BTreeMap::from([("SLURM_CONF".to_owned(), text(cluster.conf()))]),
        accounts: Accounts::Of(accounts),
        directory: text(folder.join("work")),
        spool: text(folder.join("spool")),
        grace: Span(1),
        ..Described::default()
    }
}

impl<'c> SlurmBench<'c> {
    pub(crate) fn new(cluster: &'c Cluster, partition: &str, nodes: u32) -> SlurmBench<'c> {
        SlurmBench::with(cluster, partition, nodes, |_| {})
    }

    pub(crate) fn with(
        cluster: &'c Cluster,
        partition: &str,
        nodes: u32,
        change: impl FnOnce(&mut ManagedSettings),
    ) -> SlurmBench<'c> {
        let folder = TempDir::new_in(cluster.path()).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let mut settings = ManagedSettings {
            name: "alpha".to_owned(),
            folder: folder.path().join("site"),
            cluster: described(cluster, folder.path()),
            pools: vec![pool("cpu", nodes, partition)],
        };
        change(&mut settings);
        SlurmBench::again(cluster, partition, settings, Rc::new(folder))
    }

    /// With what an earlier bench has left.
    pub(crate) fn again(
        cluster: &'c Cluster,
        partition: &str,
        settings: ManagedSettings,
        folder: Rc<TempDir>,
    ) -> SlurmBench<'c> {
        let slurm = Some(slurm::open(settings.clone()).unwrap());
        let partition = partition.to_owned();
        SlurmBench { cluster, partition, folder, settings, slurm, taken: None, is_kept: false }
    }

    /// Ends the adapter, and leaves its jobs and its folder for the next.
    pub(crate) fn keep(mut self) -> Rc<TempDir> {
        self.is_kept = true;
        Rc::clone(&self.folder)
    }
}

impl Drop for SlurmBench<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.cluster.clear(Some(&self.partition));
        }
    }
}

impl SiteBench for SlurmBench<'_> {
    fn site(&mut self) -> &mut dyn Site {
        self.slurm.as_mut().unwrap().as_mut()
    }

    fn now(&mut self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Time(i64::try_from(since.as_secs()).unwrap())
    }

    fn wait(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
    }

    fn patience(&self) -> u32 {
        400
    }

    fn restart(&mut self) {
        self.slurm = None;
        self.slurm = Some(slurm::open(self.settings.clone()).unwrap());
    }

    fn take(&mut self, nodes: u32) {
        if let Some(job) = self.taken.take() {
            self.cluster.run(&["scancel", &job]);
            self.cluster.until_state(&job, "");
        }
        if nodes > 0 {
            let nodes = nodes.to_string();
            let job = self.cluster.job(&["-p", &self.partition, "--exclusive", "-N", &nodes]);
            self.cluster.until_state(&job, "RUNNING");
            self.taken = Some(job);
        }
    }

    fn line_up(&mut self, nodes: &[u32]) -> bool {
        for nodes in nodes {
            let nodes = nodes.to_string();
            let place = ["-p", &self.partition, "--exclusive", "--time=5", "-N", &nodes];
            self.cluster.job(&place);
        }
        true
    }
}
