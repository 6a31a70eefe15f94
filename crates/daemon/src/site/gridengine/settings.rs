//! From a configuration to what the adapter works with.

use std::path::PathBuf;
use std::time::Duration;

use tradewind_io::settings::cluster::{self, Accounts, Cluster, Members};
use tradewind_model::Span;

use super::replies::{Instance, Status};
use crate::site::PoolSetup;
use crate::site::managed::tool::Tool;
use crate::site::slurm::hostlist;

/// The queue of a fresh installation.
const ALL: &str = "all.q";
/// The option that is not one of `qsub`'s but of the pools.
const ENVIRONMENT: &str = "pe";
/// Options of `qsub` that are the adapter's own.
const OURS: [&str; 19] = [
    "N", "o", "e", "j", "wd", "cwd", "S", "C", "a", "ar", "h", "r", "q", "b", "t", "sync", "terse",
    "v", "V",
];

/// What a Grid Engine site is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the adapter keeps what it must not forget; made if need be.
    pub folder: PathBuf,
    /// Runs the cluster's commands.
    pub tool: Tool,
    /// Whose account is whose.
    pub accounts: Accounts,
    /// Where tasks run that do not say where, and from where relative paths count; `{user}` stands
    /// for the account.
    pub directory: String,
    /// The folder of tasks' folders, seen by the nodes and where our commands run; `{user}` stands
    /// for the account, who must be able to write there.
    pub spool: String,
    /// How nodes are held for jobs.
    pub mode: Mode,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// Words for every `qsub`, such as `-P` and a project.
    pub options: Vec<String>,
    /// Programs and arguments that are run as the user before a task is handed in.
    pub stage_in: Vec<Vec<String>>,
    /// Programs and arguments that are run as the user when it has ended.
    pub stage_out: Vec<Vec<String>>,
    /// From `SIGTERM` to `SIGKILL` at a task's limit.
    pub grace: Duration,
    /// A job that somebody holds at the manager is taken back after so long.
    pub held_after: Span,
    /// So long a task may be unknown to the manager before it counts as lost.
    pub patience: Duration,
}

/// How nodes are held for jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Not at all: a job is handed in with its start, and may find its nodes taken.
    Begin,
    /// By an advance reservation for each job.
    Reservation,
}

/// A queue, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// As the market knows it.
    pub setup: PoolSetup,
    /// The cluster queue.
    pub queue: String,
    /// Its hosts that belong to the pool, with domain or without; empty: all.
    pub hosts: Vec<String>,
    /// The parallel environment for more than one slot; `None`: one slot is all that a job can have.
    pub environment: Option<String>,
    /// What a node of the pool is.
    pub unit: Unit,
}

/// What the market calls a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many slots of one host, at least 1. Tasks share hosts.
    Slots(u32),
    /// A host with all slots that it has in the queue; the same number at each host of a pool.
    Host,
}

impl Settings {
    /// Accounting is written every 15 s, unless the cluster's owner has chosen otherwise.
    const PATIENCE: Duration = Duration::from_secs(45);

    /// Those of a configured site, which keeps its files in `folder`.
    ///
    /// # Errors
    /// If something in it means nothing to Grid Engine.
    pub fn of(
        name: &str,
        folder: PathBuf,
        cluster: &Cluster,
        pools: Vec<(PoolSetup, Members)>,
    ) -> Result<Settings, String> {
        let unit = match cluster.unit {
            cluster::NodeUnit::Node => Unit::Host,
            cluster::NodeUnit::Cores(cores) => Unit::Slots(cores),
            cluster::NodeUnit::Gpu => {
                return Err("`unit`: Grid Engine has slots, no GPUs".to_owned());
            }
        };
        let environment = cluster.options.iter().find(|(name, _)| name == ENVIRONMENT);
        let environment = environment.map(|(_, value)| value.clone());
        let pool = |(setup, members): (PoolSetup, Members)| {
            if let Some(feature) = members.features.first() {
                return Err(format!(
                    "pool `{}`: {feature:?}: name `hosts` instead of features",
                    setup.name
                ));
            }
            let queue = members.partition.unwrap_or_else(|| ALL.to_owned());
            let hosts = members.hosts.as_deref().map(hostlist::expand).unwrap_or_default();
            Ok(Pool { setup, queue, hosts, environment: environment.clone(), unit })
        };
        Ok(Settings {
            folder,
            tool: Tool::of(name, cluster),
            accounts: cluster.accounts.clone(),
            directory: cluster.directory.clone(),
            spool: cluster.spool.clone(),
            mode: match cluster.mode {
                // Grid Engine is punctual with `-a`: nothing is gained by holding jobs.
                cluster::Mode::HoldRelease | cluster::Mode::Begin => Mode::Begin,
                cluster::Mode::Reservation => Mode::Reservation,
            },
            pools: pools.into_iter().map(pool).collect::<Result<_, _>>()?,
            options: options(&cluster.options)?,
            stage_in: cluster.stage_in.clone(),
            stage_out: cluster.stage_out.clone(),
            grace: duration(cluster.grace),
            held_after: cluster.held_after,
            patience: Settings::PATIENCE,
        })
    }
}

fn options(all: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (name, value) in all.iter().filter(|(name, _)| name != ENVIRONMENT) {
        if OURS.contains(&name.as_str()) || !name.chars().all(|c| c.is_ascii_alphabetic()) {
            return Err(format!("`options`: {name:?} is not for a configuration to say"));
        }
        words.push(format!("-{name}"));
        words.extend((!value.is_empty()).then(|| value.clone()));
    }
    Ok(words)
}

fn duration(span: Span) -> Duration {
    Duration::from_secs(u64::try_from(span.0).unwrap_or_default())
}

impl Pool {
    /// Slots of a unit on this host, at least 1.
    pub(super) fn slots_on(&self, instance: &Instance) -> u32 {
        match self.unit {
            Unit::Slots(slots) => slots.max(1),
            Unit::Host => instance.slots.max(1),
        }
    }

    /// Slots of a unit, at least 1; `None`: none of the pool's hosts is there to tell.
    pub(super) fn slots(&self, status: &Status) -> Option<u32> {
        let own = status.instances.iter().filter(|instance| self.has(instance));
        own.map(|instance| self.slots_on(instance)).max()
    }

    /// Whether the queue on this host belongs to the pool.
    pub(super) fn has(&self, instance: &Instance) -> bool {
        let host = instance.host();
        let short = host.split('.').next().unwrap_or(host);
        let named = self.hosts.iter().any(|one| one == host || one == short);
        instance.queue() == self.queue && (self.hosts.is_empty() || named)
    }

    /// Whether a job that asks for this queue (`QUEUE`, or `QUEUE@HOST`) may wait for our nodes.
    pub(super) fn asks(&self, queue: &str) -> bool {
        queue.split('@').next() == Some(self.queue.as_str())
    }

    /// As `-q` wants it.
    pub(super) fn queues(&self) -> String {
        match self.hosts.is_empty() {
            true => self.queue.clone(),
            false => {
                let all = self.hosts.iter().map(|host| format!("{}@{host}", self.queue));
                all.collect::<Vec<_>>().join(",")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tradewind_model::Performance;

    use super::*;

    #[test]
    fn a_configuration_says_what_grid_engine_understands() {
        let setup = PoolSetup {
            name: "p".to_owned(),
            nodes: 4,
            performance: Performance::REFERENCE,
            attributes: BTreeMap::new(),
        };
        let of = |cluster: Cluster, members: Members| {
            Settings::of("grid", PathBuf::new(), &cluster, vec![(setup.clone(), members)])
        };
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let usual = Cluster {
            command: vec!["ssh".to_owned(), "login".to_owned()],
            unit: cluster::NodeUnit::Cores(2),
            options: vec![option("pe", "units"), option("P", "market"), option("notify", "")],
            ..Cluster::default()
        };
        let hosts = Members { hosts: Some("a[1-2],b".to_owned()), ..Members::default() };
        let settings = of(usual.clone(), hosts).unwrap();
        assert_eq!(settings.options, ["-P", "market", "-notify"]);
        assert!(settings.tool.ours.remote_shell && settings.mode == Mode::Begin);
        let pool = &settings.pools[0];
        assert_eq!(pool.queues(), "all.q@a1,all.q@a2,all.q@b");
        assert_eq!((pool.environment.as_deref(), pool.unit), (Some("units"), Unit::Slots(2)));
        let of = |cluster, members| of(cluster, members).unwrap_err();
        let features = Members { features: vec!["fat".to_owned()], ..Members::default() };
        assert!(of(usual.clone(), features).contains("\"fat\""));
        let gpu = Cluster { unit: cluster::NodeUnit::Gpu, ..usual.clone() };
        assert!(of(gpu, Members::default()).contains("no GPUs"));
        for name in ["N", "-l", "q"] {
            let odd = Cluster { options: vec![option(name, "x")], ..usual.clone() };
            assert!(of(odd, Members::default()).contains(name));
        }
    }
}
