//! What is free in each pool: queue instances, other people's jobs and reservations, as units.
//!
//! A unit of a pool is so many slots of one queue instance, and so much of its host's memory if units have
//! any. A host gives as many units as fit beside what others use of it, so a partly used host still offers
//! the rest.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::replies::{AdvanceReservation, GridEngineJob, Instance};
use super::resources::HostResources;
use super::{Pool, Unit};
use crate::site::room::{self, HostHold, Room};
use crate::site::size::Size;
use crate::site::{LocalTask, PoolSurvey};

/// What a job without a limit is expected to run.
const FOR_EVER: Span = Span(365 * 24 * 3_600);

/// What others do at the cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Others<'a> {
    /// Their jobs.
    pub jobs: &'a [&'a GridEngineJob],
    /// Their reservations, with places.
    pub reservations: &'a [&'a AdvanceReservation],
    /// By number of a job, of the reservation that it runs in.
    pub inside: &'a BTreeMap<String, String>,
    /// What our clock says.
    pub now: Time,
}

/// The surveys of `pools`, in their order. What their hosts can give besides slots is left open.
pub(super) fn look(
    pools: &[Pool],
    (instances, hosts): (&[Instance], &HostResources),
    others: &Others<'_>,
) -> Vec<PoolSurvey> {
    pools.iter().map(|pool| look_at(pool, (instances, hosts), others)).collect()
}

/// How large the market's nodes are: by the smallest host, so that enough of them are asked for.
fn size(pool: &Pool, (instances, hosts): (&[Instance], &HostResources)) -> Option<Size> {
    let own = || instances.iter().filter(|instance| pool.has(instance));
    let slots = own().map(|instance| pool.slots_on(instance)).filter(|slots| *slots > 0).min()?;
    Some(match pool.unit {
        Unit::Host => Size::Node(slots),
        Unit::Slots(slots) => Size::Cores(slots.max(1)),
        Unit::Shared(unit) => {
            let units = own().map(|instance| pool.units_in(instance, hosts.room(instance)));
            Size::Shared { unit, most: units.max().unwrap_or(0) }
        }
    })
}

fn look_at(
    pool: &Pool,
    (instances, hosts): (&[Instance], &HostResources),
    others: &Others<'_>,
) -> PoolSurvey {
    let (size, problem) = (size(pool, (instances, hosts)), hosts.problem(pool));
    let mut survey = PoolSurvey { size, problem, ..PoolSurvey::default() };
    for instance in instances.iter().filter(|instance| pool.has(instance)) {
        let all = pool.units_in(instance, hosts.room(instance));
        let held = held(pool, (instance, hosts), others);
        let kept = held.iter().filter(|(hold, _)| hold.from <= others.now).map(|(_, it)| it).sum();
        let used = used(pool, instance, others, kept);
        survey.up += match (instance.is_well(), pool.unit) {
            // The memory of its host may not be known yet.
            (true, Unit::Shared(_)) => all.max(used),
            (true, _) => all,
            // What runs there goes on; nothing new begins.
            (false, _) => used,
        };
        for (hold, units) in held {
            let task = LocalTask { nodes: 0, from: hold.from, until: hold.until };
            let task = survey.local.entry(hold.of).or_insert(task);
            task.nodes += units;
        }
    }
    survey
}

/// Units of a host in which jobs run, of which others keep so many: ours have whole ones.
fn used(pool: &Pool, instance: &Instance, others: &Others<'_>, kept: u32) -> u32 {
    let slots = pool.slots_on(instance);
    match pool.unit {
        Unit::Slots(_) | Unit::Host => instance.used.div_ceil(slots),
        Unit::Shared(_) => {
            let theirs = others.jobs.iter().filter_map(|job| job.places.get(&instance.name));
            kept + instance.used.saturating_sub(theirs.sum()) / slots
        }
    }
}

/// Others' holds on a queue instance, and how many units each takes from us.
fn held(
    pool: &Pool,
    (instance, hosts): (&Instance, &HostResources),
    others: &Others<'_>,
) -> Vec<(HostHold<String>, u32)> {
    let holds = holds((instance, hosts), others);
    let units = |room| pool.units_in(instance, room);
    let mut all = room::taken(holds, hosts.room(instance), others.now, units);
    all.retain(|(_, taken)| *taken > 0);
    all
}

/// What a job has of a queue instance: its slots there, and its memory on the whole host.
fn room_of(job: &GridEngineJob, (instance, hosts): (&Instance, &HostResources)) -> Room {
    let here = |name: &str| name.split_once('@').is_some_and(|(_, host)| host == instance.host());
    let on_host: u32 = job.places.iter().filter(|(name, _)| here(name)).map(|(_, it)| *it).sum();
    Room {
        cores: job.places.get(&instance.name).copied().unwrap_or(0),
        memory: if on_host > 0 { hosts.memory_of(job, on_host) } else { 0 },
    }
}

fn holds(
    (instance, hosts): (&Instance, &HostResources),
    others: &Others<'_>,
) -> Vec<HostHold<String>> {
    let mut all = Vec::new();
    let mut inside: BTreeMap<&str, u32> = BTreeMap::new();
    for job in others.jobs {
        let room = room_of(job, (instance, hosts));
        if let Some(reservation) = others.inside.get(&job.id) {
            *inside.entry(reservation).or_default() += room.cores;
        }
        let from = job.since.unwrap_or(others.now).min(others.now);
        let until = from + job.limit.unwrap_or(FOR_EVER);
        all.push(HostHold { of: format!("job {}", job.id), room, from, until });
    }
    for reservation in others.reservations {
        let Some(slots) = reservation.places.get(&instance.name) else { continue };
        // Its own jobs are counted already.
        let used = inside.get(reservation.id.as_str()).copied().unwrap_or_default();
        let (from, until) = (reservation.from, reservation.until);
        if until > others.now {
            let of = format!("reservation {}", reservation.id);
            let room = Room { cores: slots.saturating_sub(used), memory: 0 };
            all.push(HostHold { of, room, from, until });
        }
    }
    all.retain(|hold| hold.room != Room::default());
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    use super::*;
    use crate::site::gridengine::replies::Status;
    use crate::site::size::UnitSize;

    fn pool(slots: u32) -> Pool {
        Pool::named("q", Unit::Slots(slots))
    }

    fn instance(host: u32, slots: u32, used: u32, state: &str) -> Instance {
        Instance { name: format!("q@h{host}"), slots, used, state: state.to_owned() }
    }

    fn job(id: &str, places: &[(&str, u32)], limit: Option<i64>) -> GridEngineJob {
        GridEngineJob {
            id: id.to_owned(),
            name: "theirs".to_owned(),
            owner: "eve".to_owned(),
            state: if places.is_empty() { "qw" } else { "r" }.to_owned(),
            since: (!places.is_empty()).then_some(Time(90)),
            places: places.iter().map(|(name, slots)| ((*name).to_owned(), *slots)).collect(),
            limit: limit.map(Span),
            ..GridEngineJob::default()
        }
    }

    fn survey(
        pool: &Pool,
        status: &Status,
        ars: &[AdvanceReservation],
        inside: &[(&str, &str)],
    ) -> PoolSurvey {
        let others = Others {
            jobs: &status.jobs.iter().collect::<Vec<_>>(),
            reservations: &ars.iter().collect::<Vec<_>>(),
            inside: &inside.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            now: Time(100),
        };
        let hosts = HostResources::default();
        look(std::slice::from_ref(pool), (&status.instances, &hosts), &others).remove(0)
    }

    #[test]
    fn a_partly_used_host_offers_the_rest() {
        let status = Status {
            instances: vec![
                instance(1, 8, 3, ""),
                instance(2, 8, 4, "d"),
                Instance { name: "other@h1".to_owned(), ..instance(1, 8, 0, "") },
            ],
            jobs: vec![job("1", &[("q@h1", 3)], Some(60)), job("2", &[("q@h2", 4)], None)],
        };
        let seen = survey(&pool(1), &status, &[], &[]);
        assert_eq!(seen.up, 12);
        let one = LocalTask { nodes: 3, from: Time(90), until: Time(150) };
        let two = LocalTask { nodes: 4, from: Time(90), until: Time(90) + FOR_EVER };
        assert_eq!(
            seen.local,
            BTreeMap::from([("job 1".to_owned(), one), ("job 2".to_owned(), two)])
        );
        // Of four slots each: the first host has one left of two, the second is as it is.
        let seen = survey(&pool(4), &status, &[], &[]);
        assert_eq!((seen.up, seen.local["job 1"].nodes, seen.local["job 2"].nodes), (3, 1, 1));
    }

    #[test]
    fn a_job_inside_a_reservation_is_counted_once() {
        let status = Status {
            instances: vec![instance(1, 8, 2, "")],
            jobs: vec![job("1", &[("q@h1", 2)], Some(5)), job("2", &[], None)],
        };
        let ar = |id: &str, from, until, slots| AdvanceReservation {
            id: id.to_owned(),
            name: "x".to_owned(),
            owner: "o".to_owned(),
            state: "r".to_owned(),
            from: Time(from),
            until: Time(until),
            places: BTreeMap::from([("q@h1".to_owned(), slots)]),
        };
        let all = [ar("7", 80, 200, 3), ar("8", 500, 600, 8), ar("9", 1, 99, 8)];
        let seen = survey(&pool(1), &status, &all, &[("1", "7")]);
        let shown: Vec<_> =
            seen.local.iter().map(|(name, task)| (name.as_str(), task.nodes, task.until)).collect();
        assert_eq!(
            shown,
            [
                // It should be over, and is not: its limit is what is known.
                ("job 1", 2, Time(95)),
                ("reservation 7", 1, Time(200)),
                ("reservation 8", 8, Time(600)),
            ]
        );
    }

    /// Memory of a job in another queue of the host counts, too.
    #[test]
    fn units_with_memory_are_what_slots_and_memory_leave() {
        let pool = Pool::named("q", Unit::Shared(UnitSize { cores: 2, memory: 1_000 }));
        let hosts = HostResources::counting(&[("h1", 6_500), ("h2", 4_000)]);
        let mut large = job("1", &[("other@h1", 1)], Some(60));
        large.requests = [("h_vmem".to_owned(), "3100M".to_owned())].into();
        // Two slots of 100 MB each by default.
        let small = job("2", &[("q@h1", 2)], Some(90));
        let instances = [instance(1, 8, 2, ""), instance(2, 16, 6, "d"), instance(3, 8, 0, "")];
        let others = Others {
            jobs: &[&large, &small],
            reservations: &[],
            inside: &BTreeMap::new(),
            now: Time(100),
        };
        let seen = look(std::slice::from_ref(&pool), (&instances, &hosts), &others).remove(0);
        // Four of h1 by slots; none of h3, which was not asked yet; of h2 what our tasks have still.
        let unit = UnitSize { cores: 2, memory: 1_000 };
        assert_eq!((seen.up, seen.size), (4 + 3, Some(Size::Shared { unit, most: 4 })));
        // 200 MB leave 6.3 units and 3 by slots; with 3,100 MB more it is 3.2.
        assert_eq!(seen.local["job 2"].nodes, 1);
        assert!(!seen.local.contains_key("job 1"));
        let wide = Pool::named("q", Unit::Shared(UnitSize { cores: 1, memory: 1_000 }));
        let seen = look(&[wide], (&instances[..1], &hosts), &others).remove(0);
        assert_eq!((seen.up, seen.local["job 1"].nodes), (6, 3));
        let uncounted = look(&[pool], (&instances, &HostResources::default()), &others).remove(0);
        assert_eq!((uncounted.up, uncounted.problem), (3, None), "what runs is there");
    }

    proptest! {
        /// The same where units have memory: at each moment the rest is what slots and memory allow.
        #[test]
        fn free_units_are_what_slots_and_memory_allow(
            (slots, memory) in (0_u32..30, 0_u64..300),
            (cores, each) in (1_u32..5, 1_u64..60),
            used in prop::collection::vec((1_u32..6, 0_u64..50, 1_i64..6), 0..6),
        ) {
            let jobs = used.iter().enumerate().map(|(id, (slots, memory, end))| GridEngineJob {
                requests: [("h_vmem".to_owned(), format!("{memory}M"))].into(),
                ..job(&id.to_string(), &[("q@h1", *slots)], Some(60 + end))
            });
            let jobs: Vec<GridEngineJob> = jobs.collect();
            let listed: Vec<&GridEngineJob> = jobs.iter().collect();
            let (reservations, inside, now) = ([], BTreeMap::new(), Time(100));
            let others = Others { jobs: &listed, reservations: &reservations, inside: &inside, now };
            let hosts = HostResources::counting(&[("h1", memory)]);
            let unit = UnitSize { cores, memory: each };
            let pool = Pool::named("q", Unit::Shared(unit));
            let seen = look(&[pool], (&[instance(1, slots, 0, "")], &hosts), &others).remove(0);
            for at in 150..157 {
                let runs = |end: i64| 90 + 60 + end > at;
                let left = used.iter().filter(|(_, _, end)| runs(*end));
                let (taken, mb) = left.fold((0, 0), |(slots, mb), (more, each, _)| {
                    (slots + more, mb + each * u64::from(*more))
                });
                let free = unit.within(slots.saturating_sub(taken), memory.saturating_sub(mb));
                let local = seen.local.values().filter(|task| task.until > Time(at));
                prop_assert_eq!(seen.up - local.map(|task| task.nodes).sum::<u32>(), free);
            }
        }

        /// Whatever others use of a host, what is left for us are its free slots in whole units.
        #[test]
        fn free_units_are_what_fits(total in 0_u32..40, unit in 1_u32..9, used in prop::collection::vec(1_u32..9, 0..6)) {
            let jobs = used.iter().enumerate();
            let jobs = jobs.map(|(id, slots)| job(&id.to_string(), &[("q@h1", *slots)], Some(60 + i64::from(*slots))));
            let status = Status { instances: vec![instance(1, total, 0, "")], jobs: jobs.collect() };
            let seen = survey(&pool(unit), &status, &[], &[]);
            let taken: u32 = seen.local.values().map(|task| task.nodes).sum();
            let free = total.saturating_sub(used.iter().sum());
            prop_assert_eq!(seen.up - taken, free / unit);
        }
    }
}
