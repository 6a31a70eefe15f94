//! The mechanism against the plain version, and what it promises.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tradewind_model::{JobId, Outage, OutageId, Span, Time};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::local::{
    Load, LocalScheduler, Origin, Plain, PlainSettings, QueueOrder, SiteJob,
};
use tradewind_sched::policy::multiqueue::{
    Age, Borders, Guard, MultiQueue, MultiQueueSettings, Overflow, OverflowMoves, RemoteClasses,
    Reserve, ShortFirst,
};

use super::drive::{PROCESSORS, Pass, any_world, drive, local_world};
use super::naive::Naive;

pub(crate) fn any_settings() -> impl Strategy<Value = MultiQueueSettings> {
    let alpha = prop_oneof![Just(0u32), Just(1), Just(100), Just(300), Just(500), Just(1_000)];
    let numbers = (alpha, 1u32..6, prop::option::weighted(0.8, 1u32..12));
    (numbers, any::<[bool; 6]>(), 0..3usize).prop_map(|((alpha, beta, patience), on, moves)| {
        let base = MultiQueueSettings::new(alpha, beta).unwrap().with_patience(patience).unwrap();
        MultiQueueSettings {
            borders: if on[0] { Borders::Paper } else { Borders::Pseudo },
            remote_classes: [RemoteClasses::WidthFirst, RemoteClasses::LengthFirst]
                [usize::from(on[1])],
            short_first: if on[2] { ShortFirst::On } else { ShortFirst::Off },
            age: if on[3] { Age::Arrival } else { Age::Joined },
            moves: [OverflowMoves::Oldest, OverflowMoves::Lowest, OverflowMoves::Newest][moves],
            overflow: if on[4] { Overflow::Queue } else { Overflow::Migrate },
            guard: if on[5] { Guard::Oldest } else { Guard::Nobody },
            ..base
        }
    })
}

/// Whether a reservation was given up, or a job started after it, though nothing had gone wrong.
fn broken(passes: &[Pass]) -> Option<String> {
    let mut promised: BTreeMap<u32, i64> = BTreeMap::new();
    for pass in passes {
        if pass.upset {
            promised.clear();
        }
        for job in &pass.starts {
            if promised.remove(job).is_some_and(|at| at < pass.now) {
                return Some(format!("job {job} starts later than promised, at {}", pass.now));
            }
        }
        for (job, reserved) in &pass.waiting {
            let before = promised.get(job).copied();
            promised.extend(reserved.map(|at| (*job, at)));
            if before.is_some_and(|before| reserved.is_none_or(|at| at > before)) {
                return Some(format!("job {job} was promised {before:?} and now {reserved:?}"));
            }
        }
    }
    None
}

/// After every pass one more remote job comes, and starts if and only if that was promised.
#[derive(Debug)]
struct Visited {
    site: MultiQueue,
    visits: u32,
}

impl LocalScheduler for Visited {
    fn join(&mut self, wanted: SiteJob, origin: Origin, now: Time) {
        self.site.join(wanted, origin, now);
    }

    fn leave(&mut self, job: JobId, now: Time) {
        self.site.leave(job, now);
    }

    fn adopt(&mut self, wanted: SiteJob, start: Time, now: Time) {
        self.site.adopt(wanted, start, now);
    }

    fn closed(&mut self, closure: OutageId, now: Time) {
        self.site.closed(closure, now);
    }

    fn ended(&mut self, job: JobId, ran: Span, now: Time) {
        self.site.ended(job, ran, now);
    }

    fn interrupted(&mut self, job: JobId, now: Time) {
        self.site.interrupted(job, now);
    }

    fn announced(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.site.announced(closure, what, now);
    }

    fn reopened(&mut self, closure: OutageId, now: Time) {
        self.site.reopened(closure, now);
    }

    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>) {
        self.site.decide(now, starts, surplus);
        self.visits += 1;
        let job = JobId(1_000_000 + self.visits);
        let (processors, length) = (1 + self.visits % PROCESSORS, Span(1 + now.0 % 9));
        let visitor = SiteJob { job, processors, length, submitted: now };
        let promise = self.site.promise(&visitor, Origin::Remote, now, now);
        let before = starts.len();
        self.site.join(visitor, Origin::Remote, now);
        self.site.decide(now, starts, surplus);
        let started = starts[before..].contains(&job);
        assert_eq!(started, promise == Some(now), "promised {promise:?} at {now}");
        match started {
            true => self.site.ended(job, Span(0), now),
            false => self.site.leave(job, now),
        }
        starts.retain(|start| *start != job);
        surplus.retain(|other| *other != job);
        self.site.decide(now, starts, surplus);
    }

    fn wake(&self) -> Option<Time> {
        self.site.wake()
    }

    fn next_end(&self) -> Option<Time> {
        self.site.next_end()
    }

    fn promise(&self, wanted: &SiteJob, origin: Origin, now: Time, from: Time) -> Option<Time> {
        self.site.promise(wanted, origin, now, from)
    }

    fn load(&self) -> Load {
        self.site.load()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.site.reservation(job)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_pass_is_that_of_the_plain_version(
        world in any_world(24), settings in any_settings(),
    ) {
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, settings));
        let plain = drive(&world, &mut Naive::new(PROCESSORS, settings));
        prop_assert_eq!(passes, plain);
    }

    #[test]
    fn every_pass_that_plans_again_is_that_of_the_plain_version(
        world in any_world(24), settings in any_settings(),
    ) {
        let settings = MultiQueueSettings { reserve: Reserve::Replanned, ..settings };
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, settings));
        let plain = drive(&world, &mut Naive::new(PROCESSORS, settings));
        prop_assert_eq!(passes, plain);
    }

    #[test]
    fn without_reservations_there_is_nothing_to_withdraw(
        world in any_world(24), settings in any_settings(),
    ) {
        let kept = MultiQueueSettings { alpha: MultiQueueSettings::new(0, 1).unwrap().alpha, ..settings };
        let replanned = MultiQueueSettings { reserve: Reserve::Replanned, ..kept };
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, kept));
        let again = drive(&world, &mut MultiQueue::new(PROCESSORS, replanned));
        prop_assert_eq!(passes, again);
    }

    #[test]
    fn reservations_are_kept_whatever_arrives(
        world in any_world(40), settings in any_settings(),
    ) {
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, settings));
        prop_assert_eq!(broken(&passes), None);
    }

    #[test]
    fn a_promise_of_now_is_kept(world in any_world(24), settings in any_settings()) {
        let site = MultiQueue::new(PROCESSORS, settings);
        drive(&world, &mut Visited { site, visits: 0 });
    }

    #[test]
    fn only_local_jobs_are_surplus_and_each_once(
        world in any_world(40), settings in any_settings(),
    ) {
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, settings));
        let mut surplus: Vec<u32> = passes.iter().flat_map(|it| it.surplus.clone()).collect();
        if settings.overflow == Overflow::Queue {
            prop_assert!(surplus.is_empty());
        }
        prop_assert!(surplus.iter().all(|job| world.jobs[*job as usize].origin == Origin::Local));
        if world.gaps.is_empty() {
            let all = surplus.len();
            surplus.sort_unstable();
            surplus.dedup();
            prop_assert_eq!(surplus.len(), all);
        }
    }

    /// With β = 1 every job that cannot start at once is in the job queue. By age, with one job
    /// at a time and no remote ones, only the number of reservations is left to differ.
    #[test]
    fn the_extremes_are_easy_and_conservative(mut world in local_world(30), all in any::<bool>()) {
        (0i64..).zip(&mut world.jobs).for_each(|(at, job)| job.joins = job.joins.max(at));
        world.jobs.dedup_by_key(|job| job.joins);
        let (alpha, depth) = if all { (1_000, Depth::All) } else { (1, Depth::First(1)) };
        let base = MultiQueueSettings::new(alpha, 1).unwrap().with_patience(None).unwrap();
        let settings = MultiQueueSettings { short_first: ShortFirst::Off, ..base };
        let passes = drive(&world, &mut MultiQueue::new(PROCESSORS, settings));
        let knobs = PlainSettings { depth, turn: QueueOrder::Arrival };
        let plain = drive(&world, &mut Plain::new(PROCESSORS, knobs));
        let of = |passes: &[Pass]| -> Vec<_> {
            passes.iter().map(|it| (it.now, it.starts.clone(), it.waiting.clone())).collect()
        };
        prop_assert_eq!(of(&passes), of(&plain));
    }
}

/// Two short jobs run; a long wide one has the only reservation until a short wide one comes.
#[test]
fn a_reservation_that_is_not_kept_goes_to_the_job_that_comes_first() {
    let starts = |reserve| {
        let base = MultiQueueSettings::new(1, 64).unwrap();
        let settings = MultiQueueSettings { guard: Guard::Nobody, reserve, ..base };
        let mut site = MultiQueue::new(PROCESSORS, settings);
        let (mut starts, mut surplus) = (Vec::new(), Vec::new());
        // The mean run time is 10, so the first job is long, and the second short.
        site.ended(JobId(9), Span(10), Time(0));
        for (id, processors, length, at) in
            [(0, 1, 9, 0), (1, PROCESSORS, 30, 1), (2, PROCESSORS, 5, 2)]
        {
            let job = JobId(id);
            let wanted = SiteJob { job, processors, length: Span(length), submitted: Time(at) };
            site.join(wanted, Origin::Local, Time(at));
            site.decide(Time(at), &mut starts, &mut surplus);
        }
        (site.reservation(JobId(1)), site.reservation(JobId(2)), site.guarantee())
    };
    use tradewind_sched::policy::Promise;
    assert_eq!(starts(Reserve::Kept), (Some(Time(9)), None, Promise::Reservations));
    assert_eq!(starts(Reserve::Replanned), (None, Some(Time(9)), Promise::Nothing));
}

#[test]
fn the_watcher_of_reservations_sees_what_moves_back() {
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    // Of several reservations that are made again all the time, the later ones move back.
    let knobs = PlainSettings { depth: Depth::First(3), turn: QueueOrder::Shortest };
    let found = runner.run(&any_world(40), |world| {
        let passes = drive(&world, &mut Plain::new(PROCESSORS, knobs));
        prop_assert_eq!(broken(&passes), None);
        Ok(())
    });
    assert!(found.is_err());
}
