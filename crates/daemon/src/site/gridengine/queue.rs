//! The waiting jobs of others, in the order in which Grid Engine looks at them.

use tradewind_model::Time;

use super::replies::{GridEngineJob, Instance};
use super::resources::HostResources;
use super::settings::{Pool, Unit};
use crate::site::queued::{Blocked, QueuedJob, WaitingJobs, limit_of, name_of, shown, tasks};

/// All of `jobs` that wait for slots of the pools; whether nodes are kept free for one, `reserves`
/// says.
pub(super) fn of<'j>(
    pools: &[Pool],
    cluster: (&[Instance], &HostResources),
    jobs: impl Iterator<Item = &'j GridEngineJob>,
    reserves: impl Fn(&GridEngineJob) -> bool,
) -> WaitingJobs {
    let mut waiting: Vec<&GridEngineJob> = jobs.filter(|job| !job.is_placed()).collect();
    // Of equals, the lower number comes first.
    waiting.sort_by_cached_key(|job| job.id.split('.').next()?.parse::<u64>().ok());
    let queued = waiting.into_iter().filter_map(|job| {
        Some(QueuedJob { reserves: reserves(job), ..queued(job, pools, cluster)? })
    });
    WaitingJobs::by_priority(queued.map(|job| (0, job)).collect())
}

/// Units that the job will take; of what is not known of hosts, as if they had enough.
fn units(
    job: &GridEngineJob,
    pool: &Pool,
    (instances, hosts): (&[Instance], &HostResources),
) -> u32 {
    match pool.unit {
        Unit::Shared(unit) => unit.covering(job.slots, hosts.memory_of(job, job.slots)),
        Unit::Slots(_) | Unit::Host => job.slots.div_ceil(pool.slots(instances).unwrap_or(1)),
    }
}

fn queued(
    job: &GridEngineJob,
    all: &[Pool],
    cluster: (&[Instance], &HostResources),
) -> Option<QueuedJob> {
    let own = || all.iter().enumerate().filter(|(_, pool)| pool.is_asked_by(job));
    let pools: Vec<usize> = own().map(|(place, _)| place).collect();
    let units = own().map(|(_, pool)| units(job, pool, cluster));
    let nodes = units.max()?.max(1);
    let (limit, is_capped) = limit_of(job.limit);
    let tasks = tasks(&job.tasks);
    Some(QueuedJob {
        name: name_of(&job.id),
        pools,
        nodes,
        processors: job.slots,
        limit,
        is_capped,
        rank: 0,
        priority: job.priority,
        user: shown(&job.owner),
        account: None,
        submitted: job.submitted.unwrap_or(Time(0)),
        earliest: None,
        blocked: blocked(job),
        tasks: tasks.waiting,
        at_once: tasks.at_once,
        expected: None,
        reserves: false,
    })
}

fn blocked(job: &GridEngineJob) -> Blocked {
    match job.state.contains('h') {
        _ if job.state.contains(['E', 'd']) => Blocked::Other(name_of(&job.state)),
        true if !job.after.is_empty() => Blocked::Dependency(job.after.clone()),
        true => Blocked::Held,
        false => Blocked::Eligible,
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;

    #[test]
    fn waiting_jobs_are_listed_by_priority_in_units_of_the_pool() {
        let pool = Pool::named("q", Unit::Slots(2));
        let job = |id: &str, state: &str, slots, priority| GridEngineJob {
            id: id.to_owned(),
            state: state.to_owned(),
            slots,
            priority: Some(priority),
            owner: "eve".to_owned(),
            limit: Some(Span(60)),
            ..GridEngineJob::default()
        };
        let elsewhere = GridEngineJob { queues: vec!["x".to_owned()], ..job("4", "qw", 1, 9) };
        let after = GridEngineJob { after: vec!["1".to_owned()], ..job("3", "hqw", 1, 3) };
        let array =
            GridEngineJob { tasks: "5-9:1".to_owned(), limit: None, ..job("2.5-9:1", "qw", 3, 7) };
        let jobs = [job("1", "hqw", 5, 5), array, after, elsewhere, job("6", "Eqw", 1, 1)];
        let queue = of(&[pool], (&[], &HostResources::default()), jobs.iter(), |job| job.slots > 4);
        let told = queue.jobs.iter().map(|it| (it.name.as_str(), it.nodes, it.tasks, &it.blocked));
        let after = Blocked::Dependency(vec!["1".to_owned()]);
        let wanted = [
            ("2.5-9:1", 2, 5, &Blocked::Eligible),
            ("1", 3, 1, &Blocked::Held),
            ("3", 1, 1, &after),
            ("6", 1, 1, &Blocked::Other("Eqw".to_owned())),
        ];
        assert_eq!(told.collect::<Vec<_>>(), wanted);
        let first = &queue.jobs[0];
        assert_eq!(
            queue.jobs.iter().map(|it| it.reserves).collect::<Vec<_>>(),
            [false, true, false, false]
        );
        let unit = crate::site::size::UnitSize { cores: 2, memory: 100 };
        let pools = [Pool::named("q", Unit::Shared(unit))];
        let hosts = HostResources::counting(&[]);
        let large = of(&pools, (&[], &hosts), [&job("7", "qw", 4, 1)].into_iter(), |_| false);
        assert_eq!(large.jobs[0].nodes, 4, "its memory is that of four units");
        assert!(first.is_capped && first.pools == [0] && !queue.jobs[1].is_capped);
    }
}
