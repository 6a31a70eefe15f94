//! What is free in each pool: queue instances, other people's jobs and reservations, as units.
//!
//! A unit of a pool is so many slots of one queue instance. A host gives as many units as fit
//! beside what others use of it, so a partly used host still offers the rest.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::replies::{AdvanceReservation, GridEngineJob, Instance};
use super::{Pool, Unit};
use crate::site::size::Size;
use crate::site::{LocalTask, PoolSurvey};

/// What a job without a limit is expected to run.
const FOR_EVER: Span = Span(365 * 24 * 3_600);

/// Somebody else's hold on slots of one queue instance.
struct SlotHold {
    name: String,
    slots: u32,
    from: Time,
    until: Time,
}

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
pub(super) fn look(pools: &[Pool], instances: &[Instance], others: &Others<'_>) -> Vec<PoolSurvey> {
    pools.iter().map(|pool| look_at(pool, instances, others)).collect()
}

/// How large the market's nodes are: by the smallest host, so that enough of them are asked for.
fn size(pool: &Pool, instances: &[Instance]) -> Option<Size> {
    let own = instances.iter().filter(|instance| pool.has(instance));
    let slots = own.map(|instance| pool.slots_on(instance)).filter(|slots| *slots > 0).min()?;
    Some(match pool.unit {
        Unit::Host => Size::Node(slots),
        Unit::Slots(slots) => Size::Cores(slots.max(1)),
    })
}

fn look_at(pool: &Pool, instances: &[Instance], others: &Others<'_>) -> PoolSurvey {
    let mut survey = PoolSurvey { size: size(pool, instances), ..PoolSurvey::default() };
    for instance in instances.iter().filter(|instance| pool.has(instance)) {
        survey.up += match instance.is_well() {
            true => instance.slots / pool.slots_on(instance),
            // What runs there goes on; nothing new begins.
            false => instance.used.div_ceil(pool.slots_on(instance)),
        };
        for (hold, units) in held(pool, instance, others) {
            let task = LocalTask { nodes: 0, from: hold.from, until: hold.until };
            let task = survey.local.entry(hold.name).or_insert(task);
            task.nodes += units;
        }
    }
    survey
}

/// Others' holds on a queue instance, and how many units each takes from us. Two that share a
/// unit are counted once, for the one that leaves it last.
fn held(pool: &Pool, instance: &Instance, others: &Others<'_>) -> Vec<(SlotHold, u32)> {
    let (mut current, later): (Vec<SlotHold>, Vec<SlotHold>) =
        holds(instance, others).into_iter().partition(|hold| hold.from <= others.now);
    current.sort_by(|a, b| (b.until, &a.name).cmp(&(a.until, &b.name)));
    let units = |used: u32| {
        let rest = instance.slots.saturating_sub(used) / pool.slots_on(instance);
        (instance.slots / pool.slots_on(instance)).saturating_sub(rest)
    };
    let mut used = 0_u32;
    let mut all = Vec::new();
    for hold in current {
        let before = units(used);
        used = used.saturating_add(hold.slots);
        let taken = units(used) - before;
        all.push((hold, taken));
    }
    all.extend(later.into_iter().map(|hold| {
        let taken = units(hold.slots);
        (hold, taken)
    }));
    all.retain(|(_, taken)| *taken > 0);
    all
}

fn holds(instance: &Instance, others: &Others<'_>) -> Vec<SlotHold> {
    let mut all = Vec::new();
    let mut inside: BTreeMap<&str, u32> = BTreeMap::new();
    for job in others.jobs {
        let Some(slots) = job.places.get(&instance.name) else { continue };
        if let Some(reservation) = others.inside.get(&job.id) {
            *inside.entry(reservation).or_default() += slots;
        }
        let from = job.since.unwrap_or(others.now).min(others.now);
        let until = from + job.limit.unwrap_or(FOR_EVER);
        all.push(SlotHold { name: format!("job {}", job.id), slots: *slots, from, until });
    }
    for reservation in others.reservations {
        let Some(slots) = reservation.places.get(&instance.name) else { continue };
        // Its own jobs are counted already.
        let used = inside.get(reservation.id.as_str()).copied().unwrap_or_default();
        let (from, until) = (reservation.from, reservation.until);
        if until > others.now {
            let name = format!("reservation {}", reservation.id);
            all.push(SlotHold { name, slots: slots.saturating_sub(used), from, until });
        }
    }
    all.retain(|hold| hold.slots > 0);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    use super::*;
    use crate::site::gridengine::replies::Status;

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
        look(std::slice::from_ref(pool), &status.instances, &others).remove(0)
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

    proptest! {
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
