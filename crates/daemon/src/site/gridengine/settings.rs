//! From a configuration to what Grid Engine is told.

use tradewind_io::settings::cluster;

use super::replies::{GridEngineJob, Instance};
use super::resources;
use crate::site::PoolSetup;
use crate::site::managed::driver::ManagedSettings;
use crate::site::room::Room;
use crate::site::size::UnitSize;
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

/// A queue, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool {
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
pub(super) enum Unit {
    /// So many slots of one host, at least 1. Tasks share hosts.
    Slots(u32),
    /// So many slots of one host with so much of its memory. Tasks share hosts.
    Shared(UnitSize),
    /// A host with all slots that it has in the queue; the same number at each host of a pool.
    Host,
}

impl Unit {
    /// Slots of a unit, at least 1; `None`: all that its host has.
    pub(super) fn slots(self) -> Option<u32> {
        match self {
            Unit::Slots(slots) => Some(slots.max(1)),
            Unit::Shared(unit) => Some(unit.cores.max(1)),
            Unit::Host => None,
        }
    }
}

/// The pools of a configured site.
///
/// # Errors
/// If something in them means nothing to Grid Engine.
pub(super) fn pools(settings: &ManagedSettings) -> Result<Vec<Pool>, String> {
    let cluster = &settings.cluster;
    let unit = match cluster.unit {
        cluster::NodeUnit::Node => Unit::Host,
        cluster::NodeUnit::Cores(cores) => Unit::Slots(cores),
        cluster::NodeUnit::Shared { cores, memory } => Unit::Shared(UnitSize { cores, memory }),
        cluster::NodeUnit::Gpu => return Err("`unit`: Grid Engine has slots, no GPUs".to_owned()),
    };
    let environment = cluster.options.iter().find(|(name, _)| name == ENVIRONMENT);
    let environment = environment.map(|(_, value)| value.clone());
    let pool = |(setup, members): &(PoolSetup, cluster::Members)| {
        if let Some(feature) = members.features.first() {
            return Err(format!(
                "pool `{}`: {feature:?}: name `hosts` instead of features",
                setup.name
            ));
        }
        let queue = members.partition.clone().unwrap_or_else(|| ALL.to_owned());
        let hosts = members.hosts.as_deref().map(hostlist::expand).unwrap_or_default();
        let (setup, environment) = (setup.clone(), environment.clone());
        Ok(Pool { setup, queue, hosts, environment, unit })
    };
    settings.pools.iter().map(pool).collect()
}

/// Words for every `qsub`.
///
/// # Errors
/// If an option is the adapter's own, or none.
pub(super) fn options(all: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for (name, value) in all.iter() {
        if name == ENVIRONMENT || resources::OPTIONS.contains(&name.as_str()) {
            continue;
        }
        if OURS.contains(&name.as_str()) || !name.chars().all(|c| c.is_ascii_alphabetic()) {
            return Err(format!("`options`: {name:?} is not for a configuration to say"));
        }
        words.push(format!("-{name}"));
        words.extend((!value.is_empty()).then(|| value.clone()));
    }
    Ok(words)
}

impl Pool {
    /// Slots of a unit on this host, at least 1.
    pub(super) fn slots_on(&self, instance: &Instance) -> u32 {
        self.unit.slots().unwrap_or(instance.slots.max(1))
    }

    /// Slots of a unit, at least 1; `None`: none of the pool's hosts is there to tell.
    pub(super) fn slots(&self, instances: &[Instance]) -> Option<u32> {
        let own = instances.iter().filter(|instance| self.has(instance));
        self.unit.slots().or_else(|| own.map(|instance| self.slots_on(instance)).max())
    }

    /// Units of this host in so many of its slots and so much of its memory.
    pub(super) fn units_in(&self, instance: &Instance, room: Room) -> u32 {
        match self.unit {
            Unit::Shared(unit) => unit.within(room.cores, room.memory),
            Unit::Slots(_) | Unit::Host => room.cores / self.slots_on(instance),
        }
    }

    /// Whether the queue on this host belongs to the pool.
    pub(super) fn has(&self, instance: &Instance) -> bool {
        let host = instance.host();
        let short = host.split('.').next().unwrap_or(host);
        let named = self.hosts.iter().any(|one| one == host || one == short);
        instance.queue() == self.queue && (self.hosts.is_empty() || named)
    }

    /// Whether a job that asks for this queue (`QUEUE`, or `QUEUE@HOST`) may wait for our nodes.
    fn asks(&self, queue: &str) -> bool {
        queue.split('@').next() == Some(self.queue.as_str())
    }

    /// Whether a job that waits may get slots of the pool.
    pub(super) fn is_asked_by(&self, job: &GridEngineJob) -> bool {
        job.queues.is_empty() || job.queues.iter().any(|one| self.asks(one))
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

#[cfg(any(test, feature = "fuzzing"))]
impl Pool {
    /// A pool of eight units of a queue.
    pub(super) fn named(queue: &str, unit: Unit) -> Pool {
        let setup = PoolSetup {
            name: "p".to_owned(),
            nodes: 8,
            performance: tradewind_model::Performance::REFERENCE,
            attributes: std::collections::BTreeMap::new(),
        };
        Pool { setup, queue: queue.to_owned(), hosts: Vec::new(), environment: None, unit }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use tradewind_io::settings::cluster::{Cluster, Members};
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
            let said = options(&cluster.options);
            let (name, folder) = ("grid".to_owned(), PathBuf::new());
            let pools = vec![(setup.clone(), members)];
            super::pools(&ManagedSettings { name, folder, cluster, pools })
                .and_then(|it| Ok((it, said?)))
        };
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let usual = Cluster {
            unit: cluster::NodeUnit::Cores(2),
            options: vec![option("pe", "units"), option("P", "market"), option("notify", "")],
            ..Cluster::default()
        };
        let hosts = Members { hosts: Some("a[1-2],b".to_owned()), ..Members::default() };
        let (pools, options) = of(usual.clone(), hosts).unwrap();
        assert_eq!(options, ["-P", "market", "-notify"]);
        let pool = &pools[0];
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
