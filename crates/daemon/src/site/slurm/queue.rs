//! The waiting jobs of others, in the order in which Slurm looks at them: by the priority of their
//! partition, then by their own.

use std::collections::BTreeSet;

use tradewind_io::settings::cluster::{Members, NodeUnit};
use tradewind_model::Time;

use super::asked::{self, AskedNodes};
use super::doctor::finding;
use super::listing::SlurmJob;
use super::nodes::Node;
use super::pools::{self, Needs};
use super::{Controller, PoolsView, caps};
use crate::site::clock::now;
use crate::site::managed::driver::{Base, Manager};
use crate::site::managed::tickets::tag_in;
use crate::site::queued::{
    Blocked, EndedJob, OrderKey, QueuedJob, WaitingJobs, limit_of, name_of, shown, tasks,
};
use crate::site::{Finding, Tag, Verdict};

/// What is said if no job of others can be seen.
const HIDDEN: &str = "the cluster hides jobs of other users (PrivateData): nodes in use are seen, but \
                      not until when, and the waiting jobs of its owners are not known";

/// A pool as waiting jobs see it.
struct QueuePool<'n> {
    /// Partitions with nodes of the pool: jobs of each of them compete for these nodes.
    partitions: BTreeSet<&'n str>,
    /// The smallest of its nodes, by which a job's width is counted.
    smallest: Option<&'n Node>,
}

impl<'n> QueuePool<'n> {
    fn of(nodes: &'n [Node], members: &Members) -> QueuePool<'n> {
        let own = pools::belonging(nodes, members);
        QueuePool {
            partitions: own.iter().flat_map(|it| &it.partitions).map(String::as_str).collect(),
            smallest: own.into_iter().filter(|node| node.cpus > 0).min_by_key(|node| node.cpus),
        }
    }
}

impl Controller {
    /// See [`Manager::queue`](crate::site::managed::driver::Manager::queue).
    pub(super) fn queue_of(&self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> WaitingJobs {
        let places: Vec<QueuePool<'_>> =
            base.members.iter().map(|members| QueuePool::of(&self.nodes, members)).collect();
        let mut theirs: Vec<&SlurmJob> = theirs(base, view).collect();
        // Of equals, Slurm takes the lower number first.
        theirs.sort_by_key(|job| job.id);
        let mut cut = 0;
        let waiting = theirs.iter().filter_map(|job| {
            let asked = job.asked.as_deref().filter(|_| job.is_waiting())?;
            cut += u32::from(tasks(&asked.array).is_cut);
            let queued = queued(job, asked, &places, base.cluster.unit)?;
            Some((self.order_of(job), queued))
        });
        let mut queue = WaitingJobs::with_own(waiting.collect(), self.own_of(base, view));
        if cut > 0 {
            queue
                .notes
                .push(format!("of {cut} arrays `squeue` lists only the first waiting tasks"));
        }
        if self.hides_others(base, view) {
            queue.notes.push(HIDDEN.to_owned());
        }
        queue
    }

    /// Whether the cluster shows our account no jobs of others.
    pub(super) fn hides_others(&self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> bool {
        let shows_own_only =
            || shows_only(theirs(base, view), &base.own_account().unwrap_or_default());
        self.limits.hides_jobs && shows_own_only()
    }

    /// See [`Manager::ended`](crate::site::managed::driver::Manager::ended). A job that was cancelled
    /// while it waited had no nodes, though Slurm says that it started.
    pub(super) fn ended_of(&self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> Vec<EndedJob> {
        let places: Vec<QueuePool<'_>> =
            base.members.iter().map(|members| QueuePool::of(&self.nodes, members)).collect();
        let ended = view.theirs().filter(|job| {
            let had_nodes = !job.nodes.is_empty() && 0 < job.start && job.start <= job.end;
            job.is_over() && had_nodes
        });
        let ended = ended.filter_map(|job| {
            let asked = job.asked.as_deref()?;
            let known = queued(job, asked, &places, base.cluster.unit)?;
            Some(EndedJob { job: known, start: Time(job.start), end: Time(job.end) })
        });
        ended.collect()
    }

    /// Tasks of the market that wait, by what Slurm orders them.
    fn own_of(&self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> Vec<(Tag, OrderKey)> {
        let own = view.jobs.iter().filter(|job| job.is_waiting());
        let own = own.filter_map(|job| {
            let tag = tag_in(&job.comment).filter(|tag| base.markets.contains(&tag.market))?;
            let priority = job.asked.as_deref().and_then(|asked| asked.priority);
            Some((tag, (self.order_of(job), priority, Time(job.submitted))))
        });
        own.collect()
    }

    /// How much of the waiting jobs of others can be seen.
    pub(super) fn queue_is_known(&mut self, base: &Base) -> Finding {
        let what = "waiting jobs of the cluster's owners can be seen";
        let listed = match self.has_brief_list(base) {
            true => self.jobs_in_brief(base),
            false => self.jobs(base),
        };
        let jobs = match listed.and_then(|jobs| self.list_nodes(base).map(|()| jobs)) {
            Ok(jobs) => jobs,
            Err(wrong) => {
                return finding(what, Verdict::Bad, wrong.to_string(), "see the message");
            }
        };
        let ours = vec![false; jobs.len()];
        let queue = self.queue_of(base, &PoolsView { jobs: &jobs, ours: &ours, now: now() });
        let all = queue.jobs.len() + queue.beyond as usize;
        let verdict = if queue.notes.is_empty() { Verdict::Good } else { Verdict::Warning };
        let notes = queue.notes.iter().flat_map(|note| ["; ", note.as_str()]);
        let found = format!("{all} wait{}", notes.collect::<String>());
        let remedy = "forecasts are wrong by what is not known: give partitions a MaxTime, and let \
                      the account that runs our commands see all jobs";
        finding(what, verdict, found, remedy)
    }

    /// Less for jobs that are looked at first.
    fn order_of(&self, job: &SlurmJob) -> u32 {
        let tiers = job.partitions.iter().filter_map(|name| self.limits.tiers.get(name));
        u32::MAX - tiers.max().copied().unwrap_or(0)
    }
}

/// Makes entries of all `jobs` for two nodes of their partitions: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub(super) fn read_all(jobs: &[SlurmJob]) {
    let partitions: Vec<String> =
        jobs.iter().flat_map(|job| &job.partitions).take(8).cloned().collect();
    let node = |cpus| Node { cpus, partitions: partitions.clone(), is_up: true, ..Node::default() };
    let (nodes, members) = ([node(0), node(3)], Members::default());
    let places = [QueuePool::of(&nodes, &members)];
    for unit in [NodeUnit::Node, NodeUnit::Cores(2), NodeUnit::Gpu] {
        let waiting = jobs
            .iter()
            .filter_map(|job| Some((0, queued(job, job.asked.as_deref()?, &places, unit)?)));
        let _ = WaitingJobs::of(waiting.collect());
    }
}

/// Whether no job is listed but those of this account.
fn shows_only<'a>(mut jobs: impl Iterator<Item = &'a SlurmJob>, account: &str) -> bool {
    jobs.all(|job| job.user == account)
}

/// Jobs that are not of the market.
fn theirs<'a>(base: &Base, view: &PoolsView<'a, SlurmJob>) -> impl Iterator<Item = &'a SlurmJob> {
    let is_of_market =
        |job: &SlurmJob| tag_in(&job.comment).is_some_and(|tag| base.markets.contains(&tag.market));
    view.theirs().filter(move |job| !is_of_market(job))
}

/// The job as surveys list it; `None`: it waits for none of our nodes.
fn queued(
    job: &SlurmJob,
    asked: &AskedNodes,
    places: &[QueuePool<'_>],
    unit: NodeUnit,
) -> Option<QueuedJob> {
    let may_use = |place: &QueuePool<'_>| {
        job.partitions.iter().any(|name| place.partitions.contains(name.as_str()))
    };
    let own = || places.iter().enumerate().filter(|(_, place)| may_use(place));
    let pools: Vec<usize> = own().map(|(number, _)| number).collect();
    let widths = own().filter_map(|(_, place)| place.smallest);
    let nodes = widths.map(|node| width(job, asked, node, unit)).max();
    let (limit, is_capped) = limit_of(asked.limit);
    let tasks = tasks(&asked.array);
    let blocked = blocked(job, asked);
    let start = (job.start > 0).then_some(Time(job.start));
    let (earliest, expected) = match blocked {
        Blocked::BeginTime(begin) => (Some(begin), None),
        _ => (None, start),
    };
    (!pools.is_empty()).then(|| QueuedJob {
        name: job.id.to_string(),
        pools,
        nodes: nodes.unwrap_or(asked.nodes).max(1),
        processors: job.cpus,
        limit,
        is_capped,
        rank: 0,
        priority: asked.priority,
        user: shown(&job.user),
        account: shown(&asked.account),
        submitted: Time(job.submitted),
        earliest,
        blocked,
        tasks: tasks.waiting,
        at_once: tasks.at_once,
        expected,
        reserves: true,
    })
}

/// The market's nodes that the job needs if all nodes are like this one.
fn width(job: &SlurmJob, asked: &AskedNodes, node: &Node, unit: NodeUnit) -> u32 {
    // A job that asks for processors alone may be listed with fewer nodes than it needs.
    let nodes = asked.nodes.max(job.cpus.div_ceil(node.cpus.max(1))).max(1);
    let needs = Needs { nodes, cpus: job.cpus, memory: job.memory, gpus: job.gpus };
    let each = match asked.is_exclusive {
        true => pools::units(node, unit),
        false => needs.units_of(node, unit),
    };
    nodes.saturating_mul(each.max(1))
}

fn blocked(job: &SlurmJob, asked: &AskedNodes) -> Blocked {
    let reason = job.reason.as_str();
    if job.is_held || reason.starts_with("JobHeld") {
        return Blocked::Held;
    }
    if let Some(name) = shown(&asked.reservation) {
        return Blocked::Reservation(name);
    }
    if reason.starts_with("Dependency") || shown(&asked.dependency).is_some() {
        return Blocked::Dependency(asked::dependencies(&asked.dependency));
    }
    match reason {
        "BeginTime" if job.start > 0 => Blocked::BeginTime(Time(job.start)),
        "" | "None" | "Priority" | "Resources" => Blocked::Eligible,
        // It waits for nodes like any other, but this is what Slurm calls it.
        _ if reason.starts_with("Nodes required for job are DOWN") => Blocked::Eligible,
        "JobArrayTaskLimit" => Blocked::Limit(reason.to_owned()),
        _ if caps::of_reason(reason).is_some() => Blocked::Limit(name_of(reason)),
        _ => Blocked::Other(name_of(reason)),
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;
    use crate::site::queued::MAX_LIMIT;

    fn node(name: &str, cpus: u32, partitions: &[&str]) -> Node {
        let partitions = partitions.iter().map(|name| (*name).to_owned()).collect();
        Node { name: name.to_owned(), cpus, partitions, is_up: true, ..Node::default() }
    }

    fn waits(id: u64, reason: &str, asked: AskedNodes) -> SlurmJob {
        SlurmJob {
            id,
            state: "PENDING".to_owned(),
            reason: reason.to_owned(),
            partitions: vec!["main".to_owned()],
            user: "eve".to_owned(),
            submitted: 100,
            asked: Some(Box::new(asked)),
            ..SlurmJob::default()
        }
    }

    fn asked(nodes: u32) -> AskedNodes {
        AskedNodes { nodes, limit: Some(Span(60)), priority: Some(5), ..AskedNodes::default() }
    }

    fn listed(job: &SlurmJob, unit: NodeUnit) -> Option<QueuedJob> {
        let nodes = [node("a1", 8, &["main", "fast"]), node("a2", 4, &["main"])];
        let members = [Some("main"), Some("fast"), Some("other")]
            .map(|name| Members { partition: name.map(str::to_owned), ..Members::default() });
        let places = members.iter().map(|members| QueuePool::of(&nodes, members));
        let asked = job.asked.as_deref().unwrap();
        queued(job, asked, &places.collect::<Vec<_>>(), unit)
    }

    #[test]
    fn a_job_competes_for_all_pools_whose_nodes_its_partitions_have() {
        let job = waits(7, "Priority", asked(2));
        let told = listed(&job, NodeUnit::Node).unwrap();
        assert_eq!((told.name.as_str(), &told.pools[..], told.nodes), ("7", &[0, 1][..], 2));
        assert_eq!((told.user.as_deref(), told.account), (Some("eve"), None));
        let elsewhere = SlurmJob { partitions: vec!["big".to_owned()], ..job };
        assert_eq!(listed(&elsewhere, NodeUnit::Node), None);
    }

    #[test]
    fn widths_are_those_of_the_smallest_node() {
        let of = |cpus, wanted: AskedNodes, unit| {
            listed(&SlurmJob { cpus, ..waits(7, "Priority", wanted) }, unit).unwrap().nodes
        };
        assert_eq!(of(7, asked(1), NodeUnit::Node), 2, "four processors on each node");
        assert_eq!(of(7, asked(2), NodeUnit::Cores(2)), 4);
        assert_eq!(of(1, asked(0), NodeUnit::Node), 1);
        let alone = AskedNodes { is_exclusive: true, ..asked(1) };
        assert_eq!(of(1, alone, NodeUnit::Cores(1)), 8, "all that a node of either pool has");
        let absurd = of(u32::MAX, asked(u32::MAX), NodeUnit::Node);
        assert_eq!(absurd, u32::MAX);
    }

    #[test]
    fn what_a_job_waits_for_is_told() {
        let of = |job: &SlurmJob| listed(job, NodeUnit::Node).unwrap().blocked;
        for reason in ["None", "Priority", "Resources", "", NODES_DOWN] {
            assert_eq!(of(&waits(1, reason, asked(1))), Blocked::Eligible, "{reason}");
        }
        let held = SlurmJob { is_held: true, ..waits(1, "JobHeldUser", asked(1)) };
        assert_eq!(of(&held), Blocked::Held);
        let limit = "AssocGrpCpuLimit";
        assert_eq!(of(&waits(1, limit, asked(1))), Blocked::Limit(limit.to_owned()));
        let other = "ReqNodeNotAvail, UnavailableNodes:a1";
        assert_eq!(of(&waits(1, other, asked(1))), Blocked::Other(other.to_owned()));
        let inside = AskedNodes { reservation: "course".to_owned(), ..asked(1) };
        let told = of(&waits(1, "Reservation", inside));
        assert_eq!(told, Blocked::Reservation("course".to_owned()));
        // In a circle, or after itself: names are only told.
        for (id, after) in [(1, "afterok:2(unfulfilled)"), (2, "afterok:1(unfulfilled)")] {
            let after = AskedNodes { dependency: after.to_owned(), ..asked(1) };
            let wanted = Blocked::Dependency(vec![(3 - id).to_string()]);
            assert_eq!(of(&waits(id, "Dependency", after)), wanted);
        }
        let never = waits(1, "DependencyNeverSatisfied", asked(1));
        assert_eq!(of(&never), Blocked::Dependency(Vec::new()));
        let begins = SlurmJob { start: 900, ..waits(1, "BeginTime", asked(1)) };
        let told = listed(&begins, NodeUnit::Node).unwrap();
        assert_eq!((told.earliest, told.expected), (Some(Time(900)), None));
        let planned = SlurmJob { start: 900, ..waits(1, "Resources", asked(1)) };
        let told = listed(&planned, NodeUnit::Node).unwrap();
        assert_eq!((told.earliest, told.expected), (None, Some(Time(900))));
    }

    #[test]
    fn jobs_of_others_are_hidden_if_only_our_own_are_listed() {
        let [own, other] =
            ["eve", "ana"].map(|user| SlurmJob { user: user.to_owned(), ..SlurmJob::default() });
        assert!(shows_only([].into_iter(), "eve") && shows_only([&own].into_iter(), "eve"));
        assert!(!shows_only([&own, &other].into_iter(), "eve"));
    }

    const NODES_DOWN: &str = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";

    #[test]
    fn limits_and_arrays_are_bounded() {
        let array = AskedNodes { limit: None, array: "0-4000000000%9".to_owned(), ..asked(1) };
        let told = listed(&waits(1, "Priority", array), NodeUnit::Node).unwrap();
        assert_eq!((told.limit, told.is_capped), (MAX_LIMIT, true));
        assert_eq!((told.tasks, told.at_once), (crate::site::queued::MAX_TASKS, Some(9)));
    }
}
