//! A Grid Engine site under test, on a cluster of its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::gridengine;
use tradewind_daemon::site::managed::driver::ManagedSettings;
use tradewind_daemon::site::{PoolSetup, Site};
use tradewind_io::settings::{
    self,
    cluster::{Accounts, Members},
};
use tradewind_model::{Performance, Span, Time};

use crate::fixture::Cluster;

/// A task that is unknown for so long counts as lost.
const PATIENCE: Duration = Duration::from_secs(4);

pub(crate) struct GridBench {
    pub(crate) cluster: Cluster,
    pub(crate) settings: ManagedSettings,
    pub(crate) patience: Duration,
    /// `None` only while it is being replaced.
    grid: Option<Box<dyn Site>>,
    /// The owner's job.
    taken: Option<String>,
    /// Queue, parallel environment and slots of a unit, for the owner.
    owners: (&'static str, &'static str, u32),
}

impl GridBench {
    pub(crate) fn new() -> GridBench {
        GridBench::with(|_| {})
    }

    /// With settings changed before the site is opened.
    pub(crate) fn with(change: impl FnOnce(&mut ManagedSettings)) -> GridBench {
        GridBench::on(Cluster::start(), change)
    }

    /// The same on this cluster.
    pub(crate) fn on(cluster: Cluster, change: impl FnOnce(&mut ManagedSettings)) -> GridBench {
        let pools = vec![pool("main", "main.q", 8), pool("other", "other.q", 2)];
        let mut settings = settings(&cluster, configured(&cluster), pools);
        change(&mut settings);
        let grid = Some(gridengine::open(settings.clone(), PATIENCE).unwrap());
        GridBench {
            cluster,
            settings,
            patience: PATIENCE,
            grid,
            taken: None,
            owners: ("main.q", "units", 1),
        }
    }

    /// On whole hosts, four of them.
    pub(crate) fn whole() -> GridBench {
        GridBench::whole_with(|_| {})
    }

    /// The same with settings changed before the site is opened.
    pub(crate) fn whole_with(change: impl FnOnce(&mut ManagedSettings)) -> GridBench {
        let cluster = Cluster::with_hosts(5);
        let configured = settings::cluster::Cluster {
            unit: settings::cluster::NodeUnit::Node,
            options: vec![("pe".to_owned(), "whole".to_owned())],
            ..configured(&cluster)
        };
        let mut settings = settings(&cluster, configured, vec![pool("whole", "whole.q", 4)]);
        change(&mut settings);
        let grid = Some(gridengine::open(settings.clone(), PATIENCE).unwrap());
        GridBench {
            cluster,
            settings,
            patience: PATIENCE,
            grid,
            taken: None,
            owners: ("whole.q", "whole", 2),
        }
    }

    /// The cluster, and the site as a market drives it.
    pub(crate) fn into_parts(self) -> (Cluster, Box<dyn Site>) {
        (self.cluster, self.grid.unwrap())
    }

    /// Asks until the answer is so; what it was last, if it never is.
    pub(crate) fn until<T: std::fmt::Debug>(
        &mut self,
        seconds: u64,
        mut ask: impl FnMut(&mut GridBench) -> T,
        is_so: impl Fn(&T) -> bool,
    ) -> T {
        // As asked, or longer: the machine may be busy with others.
        let end = Instant::now() + Duration::from_secs(seconds.max(60));
        loop {
            let last = ask(self);
            if is_so(&last) {
                return last;
            }
            let is_early = Instant::now() < end;
            assert!(is_early, "after {seconds} s it is {last:?}\n{}", self.cluster.told());
            self.wait();
        }
    }
}

fn pool(name: &str, queue: &str, nodes: u32) -> (PoolSetup, Members) {
    let setup = PoolSetup {
        name: name.to_owned(),
        nodes,
        performance: Performance::REFERENCE,
        attributes: BTreeMap::new(),
    };
    (setup, Members { partition: Some(queue.to_owned()), ..Members::default() })
}

/// As a site's owner would configure it.
fn configured(cluster: &Cluster) -> settings::cluster::Cluster {
    let text = |name: &str| cluster.path(name).to_str().unwrap().to_owned();
    settings::cluster::Cluster {
        command: cluster.prefix(),
        environment: cluster.environment().into_iter().collect(),
        accounts: Accounts::Of(BTreeMap::from([("*".to_owned(), "nobody".to_owned())])),
        timeout: Span(60),
        grace: Span(1),
        directory: text("work"),
        spool: text("spool"),
        unit: settings::cluster::NodeUnit::Cores(1),
        options: vec![("pe".to_owned(), "units".to_owned())],
        ..settings::cluster::Cluster::default()
    }
}

fn settings(
    cluster: &Cluster,
    configured: settings::cluster::Cluster,
    pools: Vec<(PoolSetup, Members)>,
) -> ManagedSettings {
    let (name, folder) = ("grid".to_owned(), cluster.path("site"));
    ManagedSettings { name, folder, cluster: configured, pools }
}

impl SiteBench for GridBench {
    fn site(&mut self) -> &mut dyn Site {
        self.grid.as_mut().unwrap().as_mut()
    }

    fn now(&mut self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Time(i64::try_from(since.as_secs()).unwrap())
    }

    fn wait(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
    }

    fn patience(&self) -> u32 {
        200
    }

    fn restart(&mut self) {
        self.grid = None;
        self.grid = Some(gridengine::open(self.settings.clone(), self.patience).unwrap());
    }

    fn take(&mut self, nodes: u32) {
        let listed = |bench: &mut GridBench| bench.cluster.must(&["qstat", "-u", "*"], "");
        if let Some(id) = self.taken.take() {
            self.cluster.must(&["qdel", &id], "");
            self.until(10, listed, |listed| !listed.contains("owners"));
        }
        if nodes > 0 {
            let (queue, environment, slots) = self.owners;
            let place = (queue, environment);
            let id = self.cluster.owners_job_in(place, "owners", nodes * slots, 60);
            self.taken = Some(id);
            self.until(10, listed, |listed| listed.contains(" r "));
        }
    }

    fn line_up(&mut self, nodes: &[u32]) -> bool {
        let (queue, environment, slots) = self.owners;
        for nodes in nodes {
            self.cluster.owners_job_in((queue, environment), "line", nodes * slots, 300);
        }
        true
    }
}
