//! Where a workload runs and on which terms: the grid file, the outages, the side file.

use std::sync::Arc;

use tradewind_io::campaign::{Homes as HomesRule, NodeSize, Workload as Spec};
use tradewind_io::diagnostics::Diagnostics;
use tradewind_io::grid::{self, GridFile};
use tradewind_io::input::{self, Input};
use tradewind_io::outages::{self, Planned, Targets};
use tradewind_io::snapshot::side::{self, Asker, ReplayedTerms, Side};
use tradewind_model::{Pools, SiteId, Span, Terms};
use tradewind_sim::models::{FailureModel, LocalLoad, Repair, owners_load};
use tradewind_sim::outage::{self, AnnouncedOutage};
use tradewind_sim::workload::{OwnersLoad, Workload};

use crate::failure::Failure;
use crate::homes::{Homes, Newcomer};
use crate::owners::{self, OwnersSource};
use crate::policy::Layout;

/// What there is to run on.
pub(crate) struct Sites {
    place: NodesSource,
    planned: Vec<Planned>,
    side: Option<Side>,
    owners: Vec<OwnersSource>,
}

/// Where nodes are.
enum NodesSource {
    Cluster(Arc<Pools>),
    Grid(Box<GridFile>),
}

/// A file of these, if the workload has one.
pub(crate) struct Inputs<'a> {
    pub(crate) grid: Option<&'a Input>,
    pub(crate) outages: Option<&'a Input>,
    pub(crate) side: Option<&'a Input>,
    /// Owners' logs of the grid file, as it names them.
    pub(crate) owners: &'a [Result<Input, Diagnostics>],
}

/// Number of processors a plain cluster has.
pub(crate) type Processors<'a> = &'a dyn Fn() -> Result<u32, Failure>;

/// One cluster: processors, or shared nodes if their size is given.
fn cluster(nodes: Option<NodeSize>, processors: u32) -> Result<Pools, Failure> {
    let Some(NodeSize { processors: each, memory }) = nodes else {
        return Ok(Pools::cluster(processors));
    };
    if !processors.is_multiple_of(each) {
        let message = format!("{processors} processors are not whole nodes of {each}");
        let hint = "choose `--node-processors` or `--procs` so that one divides the other";
        return Err(Failure::usage(message).hint(hint));
    }
    Pools::shared(processors / each, each, memory.kib())
        .map_err(|error| Failure::usage(format!("shared nodes: {error}")))
}

impl Sites {
    /// The sites of the grid file, or else one cluster.
    pub(crate) fn read(
        inputs: &Inputs<'_>,
        nodes: Option<NodeSize>,
        processors: Processors<'_>,
    ) -> Result<Sites, Failure> {
        let unpacked = |packed: &Input| input::unpacked(packed).map(|it| (*it).clone());
        let place = match inputs.grid {
            Some(packed) => NodesSource::Grid(Box::new(grid::parse(&unpacked(packed)?)?.0)),
            None => NodesSource::Cluster(Arc::new(cluster(nodes, processors()?)?)),
        };
        let (mut planned, targets) = match &place {
            NodesSource::Grid(grid) => (grid.planned.clone(), grid.targets.clone()),
            NodesSource::Cluster(pools) => (Vec::new(), Targets::of(pools)),
        };
        if let Some(packed) = inputs.outages {
            planned.extend(outages::parse(&unpacked(packed)?, &targets)?);
        }
        let side = match inputs.side {
            Some(packed) => Some(side::parse(&unpacked(packed)?)?),
            None => None,
        };
        let owners = match (&place, inputs.grid) {
            (NodesSource::Grid(grid), Some(input)) => {
                owners::read(grid, &input.name, inputs.owners)?
            }
            _ => Vec::new(),
        };
        Ok(Sites { place, planned, side, owners })
    }

    /// The nodes, at the prices that the seed draws.
    pub(crate) fn pools(&self, seed: u64) -> Arc<Pools> {
        match &self.place {
            NodesSource::Cluster(pools) => Arc::clone(pools),
            NodesSource::Grid(grid) => Arc::new(grid.pools(seed)),
        }
    }

    /// The grid file, if there is one.
    pub(crate) fn grid(&self) -> Option<&GridFile> {
        match &self.place {
            NodesSource::Cluster(_) => None,
            NodesSource::Grid(grid) => Some(grid),
        }
    }

    /// The owners' jobs that have queues of their own.
    pub(crate) fn owners(&self, pools: &Pools) -> Vec<OwnersLoad> {
        self.owners.iter().map(|source| source.load(pools)).collect()
    }

    /// The log and the numbers of jobs of each owners' queue.
    pub(crate) fn owners_logs(&self) -> impl Iterator<Item = &OwnersSource> {
        self.owners.iter()
    }

    /// Whether pools are cut into queues.
    pub(crate) fn layout(&self) -> Layout {
        match self.grid().is_some_and(GridFile::has_queues) {
            true => Layout::Queues,
            false => Layout::Pools,
        }
    }

    /// Gives the jobs of logs their terms on these pools.
    pub(crate) fn terms(&self, homes: HomesRule, seed: u64, pools: &Pools) -> Asking<'_> {
        let replayed = self.side.as_ref().map(|side| ReplayedTerms::new(side, seed, pools));
        Asking { grid: self.grid(), replayed, homes: Homes::new(homes, seed, pools) }
    }

    /// All that makes nodes go missing, as the files say or draw it.
    pub(crate) fn outages(&self, seed: u64, workload: &Workload) -> Vec<AnnouncedOutage> {
        let (within, pools) = (outage::horizon(workload), &workload.pools);
        let planned = self.planned.iter().flat_map(|planned| planned.closures(within));
        let mut all: Vec<AnnouncedOutage> =
            planned.map(|(announced, what)| AnnouncedOutage { announced, what }).collect();
        let Some(grid) = self.grid() else { return outage::in_order(pools, all) };
        for (id, pool) in pools.iter() {
            for (_, law) in grid.failures.iter().filter(|(site, _)| *site == pool.site) {
                all.extend(faults(law).draw(seed, id, pool.nodes, within));
            }
            for (_, load) in grid.loads.iter().filter(|(site, _)| *site == pool.site) {
                let grid::OwnerLoad { share, steps, tasks: lengths, period } = *load;
                let load = LocalLoad { share, steps, lengths, period };
                all.extend(owners_load(&load, seed, (id, pool.nodes), within));
            }
        }
        outage::in_order(pools, all)
    }
}

fn faults(law: &grid::Failures) -> FailureModel {
    let repair = match law.repair_sigma {
        Some(sigma) => Repair::Lognormal { mean: law.repair, sigma },
        None => Repair::Exponential(law.repair),
    };
    FailureModel { mtbf: law.mtbf, shape: law.shape, repair, burst: law.burst }
}

/// Knows on which terms a job asks.
pub(crate) struct Asking<'a> {
    grid: Option<&'a GridFile>,
    replayed: Option<ReplayedTerms<'a>>,
    homes: Homes,
}

impl Asking<'_> {
    /// The site at which the jobs of a log are submitted, if the grid file says so.
    pub(crate) fn home(&self, log: &str, index: usize) -> Option<SiteId> {
        self.grid?.home(log, index)
    }

    /// The terms of a job, which `jobs.csv` calls `name`.
    pub(crate) fn of(&self, name: &str, newcomer: &Newcomer<'_>) -> Option<Terms> {
        let job = newcomer.job;
        let home = self.grid.and_then(|_| self.homes.of(newcomer));
        let work = job.requested_time.filter(|span| span.0 > 0).or(job.run).unwrap_or(Span(1));
        let run = job.run.unwrap_or(work);
        let (submit, tasks, user) = (job.submit, job.held().unwrap_or(1), job.user);
        match &self.replayed {
            Some(replayed) => replayed.terms(&Asker { name, submit, tasks, work, run, user, home }),
            None => home.map(|_| Terms { user, home, ..Terms::NONE }),
        }
    }

    /// Whether no job has any terms.
    pub(crate) fn is_silent(&self) -> bool {
        self.grid.is_none() && self.replayed.is_none()
    }
}

/// The paths of a workload's files beside its logs, in the order of [`Spec::files`].
pub(crate) fn split<'i>(spec: &Spec, others: &[&'i Input]) -> Inputs<'i> {
    let mut rest = others.iter().copied();
    let mut next = |given: &Option<String>| given.as_ref().and_then(|_| rest.next());
    Inputs {
        grid: next(&spec.grid),
        outages: next(&spec.outages),
        side: next(&spec.side),
        owners: &[],
    }
}
