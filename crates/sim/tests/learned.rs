//! The policy `learned`: against a plain version of it, without a look ahead, and what its bound
//! promises.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Event, JobId, Market, Pools, Rates, Series, Span, Terms, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::learned::{Basis, LearnedFill, LearnedSettings};
use tradewind_sched::predict::{JobTraits, Learned, Learner, RunForecast, Submission};
use tradewind_sim::check::{self, Checker, Violation};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{Run, Semantics, run};

const NODES: u32 = 7;

/// Bounds that jobs of some seconds reach.
fn settings(plans: Basis, long: i64) -> LearnedSettings {
    let (latest, wide) = (Span(60), Span(20));
    LearnedSettings { plans, patience: 3, latest, long: Span(long), wide }
}

fn log_job() -> impl Strategy<Value = LogJob> {
    (0i64..90, 1i64..25, 1u32..8, 1i64..25, 0i64..3).prop_map(
        |(submit, run, processors, asked, user)| LogJob {
            number: 0,
            submit: Some(Time(submit)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(asked)),
            user,
            terms: Some(Arc::new(Terms { user, ..Terms::NONE })),
        },
    )
}

fn log() -> impl Strategy<Value = Vec<LogJob>> {
    prop::collection::vec(log_job(), 1..40).prop_map(|mut jobs| {
        jobs.sort_by_key(|job| job.submit);
        (0..).zip(&mut jobs).for_each(|(number, job)| job.number = number);
        jobs
    })
}

fn bound() -> impl Strategy<Value = LearnedSettings> {
    let plans = prop_oneof![Just(Basis::Predictions), Just(Basis::Requests)];
    (plans, prop_oneof![Just(25), Just(60), Just(10_000)])
        .prop_map(|(plans, long)| settings(plans, long))
}

fn workload(log: &[LogJob]) -> Workload {
    prepare(log, Arc::new(Pools::cluster(NODES)), Semantics::Textbook, Overrun::Kill)
}

fn replay(workload: &Workload, settings: LearnedSettings) -> Run {
    let mut policy = LearnedFill::new(settings);
    let mut checkers = check::all(policy.promise());
    checkers.push(Box::new(Bound { settings, known: BTreeMap::new(), before: None }));
    run(workload, Default::default(), &mut policy, &mut checkers).unwrap()
}

fn starts(run: &Run) -> Vec<i64> {
    run.jobs.iter().map(|ran| ran.start.0).collect()
}

/// When a job is protected: after so long, earlier by its share of the machine.
fn protected(settings: &LearnedSettings, submit: Time, processors: u32) -> i64 {
    submit.0 + settings.long.0 - settings.wide.0 * i64::from(processors * 1_000 / NODES) / 1_000
}

/// The reservation of a protected job never becomes later, and it starts no later.
struct Bound {
    settings: LearnedSettings,
    known: BTreeMap<JobId, i64>,
    /// The protected job with the reservation, and when that begins.
    before: Option<(JobId, Time)>,
}

impl Checker for Bound {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if let Event::Submitted { job, demand } = event {
            let at = protected(&self.settings, market.now(), demand.processors);
            self.known.insert(*job, at);
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), Violation> {
        let now = market.now();
        let holds = market.queue().find_map(|job| Some((job, policy.reservation(job)?)));
        let holds = holds.filter(|(job, _)| self.known[job] <= now.0);
        if let Some((job, at)) = self.before.filter(|(job, _)| market.waits(*job)) {
            let later = holds.is_none_or(|(other, now)| other == job && now > at);
            if later || now >= at {
                let what = format!("job {} was to start at {at}, and now {holds:?}", job.0);
                return Err(Violation { checker: "bound", what });
            }
        }
        self.before = holds;
        Ok(())
    }
}

/// The same policy with lists that are looked through, and free processors second by second.
struct Naive<'a> {
    workload: &'a Workload,
    settings: LearnedSettings,
    learner: Learned,
    forecasts: Vec<Option<RunForecast>>,
    /// In the order of the queue, by the last pass.
    queue: Vec<usize>,
    running: Vec<(usize, i64)>,
    starts: Vec<Option<i64>>,
    basis: Basis,
    reserved: Option<i64>,
    /// Jobs that were protected at the last pass over the whole queue.
    protected: Vec<usize>,
}

impl Naive<'_> {
    /// Who comes first: protected jobs, then by due time.
    fn key(&self, job: usize, now: i64) -> (bool, i64, usize) {
        let LearnedSettings { patience, latest, .. } = self.settings;
        let it = &self.workload.jobs[job];
        let from = protected(&self.settings, it.submit, it.processors);
        let share = i64::from(it.processors * 1_000 / NODES);
        let mean = self.forecasts[job].unwrap().mean.0;
        let grace = (mean * patience * (1_000 - share * 7 / 10) / 1_000).min(latest.0);
        let due = it.submit.0 + grace;
        match from <= now {
            true => (false, from, job),
            false => (true, due, job),
        }
    }

    fn length(&self, job: usize, elapsed: i64) -> i64 {
        let requested = self.workload.jobs[job].requested;
        let RunForecast { median, late, .. } = self.forecasts[job].unwrap();
        let predicted = [median, late].into_iter().filter(|_| self.basis == Basis::Predictions);
        let holds = predicted.into_iter().find(|span| span.0 > elapsed && *span < requested);
        holds.unwrap_or_else(|| expected_span(requested, Span(elapsed))).0
    }

    /// Free processors from `now` on, beside running jobs and one that starts at some time.
    fn free(&self, now: i64, head: Option<(usize, i64)>) -> Vec<i64> {
        let mut free = vec![i64::from(NODES); 3_000];
        let runs = self
            .running
            .iter()
            .map(|&(job, start)| (job, now, start + self.length(job, now - start)));
        let head = head.map(|(job, start)| (job, start, start + self.length(job, 0)));
        for (job, from, until) in runs.chain(head) {
            for at in from..until {
                free[(at - now) as usize] -= i64::from(self.workload.jobs[job].processors);
            }
        }
        free
    }

    fn earliest(&self, now: i64, job: usize, head: Option<(usize, i64)>) -> i64 {
        let free = self.free(now, head);
        let length = self.length(job, 0) as usize;
        let wide = i64::from(self.workload.jobs[job].processors);
        let fits = |from: &usize| free[*from..from + length].iter().all(|free| *free >= wide);
        now + (0..2_900).find(fits).unwrap() as i64
    }

    fn start(&mut self, now: i64, job: usize) {
        self.queue.retain(|other| *other != job);
        self.running.push((job, now));
        self.starts[job] = Some(now);
    }

    /// Whether all that happened is that this job came, and it comes after others or is alone: then
    /// plans stay as they are made.
    fn is_one_behind(&self, now: i64, job: usize) -> bool {
        let others = || self.queue.iter().filter(|other| **other != job);
        let is_new = |other: &&usize| !self.key(**other, now).0 && !self.protected.contains(*other);
        let first = others().map(|other| self.key(*other, now)).min();
        first.is_none_or(|first| first < self.key(job, now)) && !others().any(|it| is_new(&it))
    }

    fn pass(&mut self, now: i64, alone: Option<usize>) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.sort_by_key(|job| self.key(*job, now));
        self.queue = queue;
        if !alone.is_some_and(|job| self.is_one_behind(now, job)) {
            let urgent = self.queue.first().is_some_and(|job| !self.key(*job, now).0);
            self.basis = if urgent { Basis::Requests } else { self.settings.plans };
            self.protected =
                self.queue.iter().copied().filter(|job| !self.key(*job, now).0).collect();
        }
        self.reserved = None;
        let head = loop {
            let Some(&head) = self.queue.first() else { return };
            match self.earliest(now, head, None) {
                at if at == now => self.start(now, head),
                at => break (head, at),
            }
        };
        self.reserved = Some(head.1);
        let mut candidates: Vec<usize> = self.queue[1..].to_vec();
        candidates.sort_by_key(|job| match self.key(*job, now) {
            (false, from, job) => (false, from, job),
            (true, _, job) => (true, self.forecasts[job].unwrap().turn.0, job),
        });
        for job in candidates {
            if self.earliest(now, job, Some(head)) == now {
                self.start(now, job);
            }
        }
    }

    /// Whether something happened.
    fn round(&mut self, now: i64, next: &mut usize) -> bool {
        let over = |&(job, start): &(usize, i64)| start + self.workload.jobs[job].run.0 <= now;
        let ended: Vec<(usize, i64)> = self.running.iter().copied().filter(over).collect();
        for (job, start) in &ended {
            self.learner.ended(JobId(*job as u32), Span(now - start), Time(now));
            self.running.retain(|(other, _)| other != job);
        }
        let first = *next;
        while let Some(job) = self.workload.jobs.get(*next).filter(|job| job.submit.0 <= now) {
            let (user, processors, requested) = (job.user, job.processors, job.requested);
            let (at, traits) = (Time(now), JobTraits::default());
            let what = Submission { user, processors, requested, at, traits };
            self.forecasts[*next] = Some(self.learner.predict(&what).forecast);
            self.learner.submitted(JobId(*next as u32), what);
            self.queue.push(*next);
            *next += 1;
        }
        let came = *next > first;
        let due = self.reserved.is_some_and(|at| at <= now);
        if !ended.is_empty() || came || due {
            let alone = Some(first).filter(|_| ended.is_empty() && *next == first + 1 && !due);
            self.pass(now, alone);
        }
        !ended.is_empty() || came || due
    }
}

fn naive(workload: &Workload, settings: LearnedSettings) -> Vec<i64> {
    let jobs = workload.jobs.len();
    let mut naive = Naive {
        workload,
        settings,
        learner: Learned::default(),
        forecasts: vec![None; jobs],
        queue: vec![],
        running: vec![],
        starts: vec![None; jobs],
        basis: settings.plans,
        reserved: None,
        protected: vec![],
    };
    let (mut now, mut next) = (0, 0);
    while naive.starts.iter().any(Option::is_none) {
        while naive.round(now, &mut next) {}
        now += 1;
    }
    naive.starts.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn jobs_start_when_the_plain_version_starts_them(log in log(), bound in bound()) {
        let workload = workload(&log);
        prop_assert_eq!(starts(&replay(&workload, bound)), naive(&workload, bound));
    }

    /// Other submissions from some moment on, and other run times of jobs that have not ended by
    /// then, change nothing before it.
    #[test]
    fn what_comes_later_changes_nothing(
        log in log(), other in log(), bound in bound(), at in 1i64..120, longer in 0i64..9,
    ) {
        let first = workload(&log);
        let run = replay(&first, bound);
        let mut altered: Vec<LogJob> = log.clone();
        for (job, ran) in first.jobs.iter().zip(&run.jobs) {
            if ran.end.0 > at {
                let least = (at + 1 - ran.start.0).clamp(1, job.requested.0);
                let span = (least + longer).min(job.requested.0);
                altered[job.source].run = Some(Span(span));
            }
        }
        altered.retain(|job| job.submit.is_some_and(|submit| submit.0 < at));
        let later = other.into_iter().filter(|job| job.submit.is_some_and(|submit| submit.0 >= at));
        let known = altered.len();
        altered.extend(later.zip(1_000..).map(|(job, number)| LogJob { number, ..job }));
        let again = replay(&workload(&altered), bound);
        for (before, after) in run.jobs.iter().zip(&again.jobs).take(known) {
            prop_assert_eq!(before.start.0.min(at), after.start.0.min(at));
        }
    }

    /// No job that it knows can pay more or less: prices that change move no start, and each job pays for
    /// its own seconds.
    #[test]
    fn prices_that_change_are_paid_and_change_no_start(
        log in log(), bound in bound(),
        steps in prop::collection::btree_map(0i64..60, 0i64..9, 1..6),
        period in prop::option::of(60i64..90),
    ) {
        let free = workload(&log);
        let steps: Vec<_> = steps.into_iter().map(|(at, price)| (Time(at), price)).collect();
        let rate = Series::new(&steps).unwrap();
        let rate = period.map_or(rate.clone(), |period| rate.repeated(Span(period)).unwrap());
        let rates = Rates::new(vec![Some(Arc::new(rate.clone()))]);
        let pools = Arc::new(free.pools.as_ref().clone().with_rates(rates));
        let priced = Workload { pools, ..workload(&log) };
        let run = replay(&priced, bound);
        prop_assert_eq!(starts(&run), starts(&replay(&free, bound)));
        for (job, ran) in priced.jobs.iter().zip(&run.jobs) {
            let paid: i64 = (ran.start.0..ran.end.0).map(|at| rate.at(Time(at))).sum();
            prop_assert_eq!(ran.cost.0, paid * i64::from(job.processors));
        }
    }

    #[test]
    fn the_same_log_gives_the_same_schedule_in_either_semantics(log in log()) {
        let workload = workload(&log);
        for semantics in [Semantics::Textbook, Semantics::Pyss] {
            let settings = tradewind_sim::ReplaySettings { semantics, ..Default::default() };
            let once = || {
                let mut policy = LearnedFill::default();
                let mut checkers = check::all(policy.promise());
                starts(&run(&workload, settings, &mut policy, &mut checkers).unwrap())
            };
            prop_assert_eq!(once(), once());
        }
    }
}

/// A wide job behind a stream of narrow ones that are all shorter than it: without its bound it waits
/// as long as the stream lasts.
#[test]
fn a_wide_job_does_not_wait_for_a_stream_of_short_ones() {
    let job = |number, submit, run, processors, requested| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(requested)),
        user: 1,
        terms: None,
    };
    let stream = (1..2_000).map(|number| job(number, number, 9, 1, 10));
    let log: Vec<LogJob> = stream.chain([job(5_000, 20, 500, NODES, 600)]).collect();
    let workload = workload(&log);
    let wait = |long| {
        let settings = LearnedSettings {
            patience: 100,
            latest: Span(100_000),
            ..settings(Basis::Predictions, long)
        };
        let run = replay(&workload, settings);
        let wide = workload.jobs.iter().position(|job| job.processors == NODES).unwrap();
        run.jobs[wide].start.0 - 20
    };
    assert!(wait(100_000) > 1_500, "{}", wait(100_000));
    assert!((80..=120).contains(&wait(100)), "{}", wait(100));
}
