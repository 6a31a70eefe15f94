//! The rules of the mechanism once more, with flat arrays and without any short cut.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Outage, OutageId, Span, Time};
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::local::{Load, LocalScheduler, Origin, SiteJob};
use tradewind_sched::policy::multiqueue::{
    Age, Borders, Guard, MultiQueueSettings, Overflow, OverflowMoves, RemoteClasses, Reserve,
    ShortFirst,
};

const AHEAD: i64 = 3_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    JobQueue,
    Backfill1,
    Backfill2,
}

#[derive(Debug, Clone, Copy)]
struct Waits {
    job: u32,
    procs: i64,
    length: i64,
    remote: bool,
    place: In,
    long: bool,
    large: bool,
    joined: usize,
    started_before: u64,
    holds: bool,
    reserved: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Runs {
    job: u32,
    procs: i64,
    length: i64,
    start: i64,
    believed_end: i64,
}

#[derive(Debug)]
pub(crate) struct Naive {
    procs: i64,
    /// The moment of the last pass.
    now: i64,
    settings: MultiQueueSettings,
    alpha: f64,
    waiting: Vec<Waits>,
    running: Vec<Runs>,
    closures: BTreeMap<OutageId, Outage>,
    ran: Vec<i64>,
    joins: usize,
    starts: u64,
    freed: bool,
    upset: bool,
    joined: bool,
}

impl Naive {
    pub(crate) fn new(processors: u32, settings: MultiQueueSettings) -> Naive {
        Naive {
            procs: i64::from(processors),
            now: 0,
            settings,
            alpha: f64::from(settings.alpha.thousandths()) / 1_000.0,
            waiting: vec![],
            running: vec![],
            closures: BTreeMap::new(),
            ran: vec![],
            joins: 0,
            starts: 0,
            freed: false,
            upset: false,
            joined: false,
        }
    }

    fn age(&self, waits: &Waits) -> (usize, u32) {
        match self.settings.age {
            Age::Arrival => (0, waits.job),
            Age::Joined => (waits.joined, waits.job),
        }
    }

    /// Place in the order of all that waits: lower comes first.
    fn place(&self, waits: &Waits) -> (u8, [bool; 2], (usize, u32)) {
        let long = waits.long && self.settings.short_first == ShortFirst::On;
        let small = !waits.large;
        let (tier, class) = match (waits.place, waits.remote) {
            (In::JobQueue, false) => (0, [long, false]),
            (In::JobQueue, true) => (1, [long, false]),
            (In::Backfill1, false) => (2, [long, false]),
            (In::Backfill2, false) => (3, [long, false]),
            (_, true) if self.settings.remote_classes == RemoteClasses::WidthFirst => {
                (4, [small, long])
            }
            (_, true) => (4, [long, small]),
        };
        (tier, class, self.age(waits))
    }

    fn in_order(&self, which: impl Fn(&Waits) -> bool) -> Vec<u32> {
        let mut found: Vec<&Waits> = self.waiting.iter().filter(|it| which(it)).collect();
        found.sort_by_key(|it| self.place(it));
        found.into_iter().map(|it| it.job).collect()
    }

    fn at(&self, job: u32) -> usize {
        self.waiting.iter().position(|it| it.job == job).unwrap()
    }

    fn free(&self, now: i64, but: u32) -> Vec<i64> {
        let mut free = vec![self.procs; AHEAD as usize];
        let running = self.running.iter().map(|it| (it.procs, now, it.believed_end));
        let reserved = self.waiting.iter().filter(|it| it.job != but);
        let reserved =
            reserved.filter_map(|it| it.reserved.map(|start| (it.procs, start, start + it.length)));
        let missing = self.closures.values();
        let missing = missing.map(|it| (i64::from(it.nodes), it.from.0, it.until.0));
        for (procs, start, end) in running.chain(reserved).chain(missing) {
            for at in start.max(now)..end.min(now + AHEAD) {
                free[(at - now) as usize] -= procs;
            }
        }
        free
    }

    fn earliest(&self, now: i64, job: u32) -> Option<i64> {
        let Waits { procs, length, .. } = self.waiting[self.at(job)];
        let free = self.free(now, job);
        let fits = |from: i64| {
            free[from as usize..(from + length) as usize].iter().all(|free| *free >= procs)
        };
        (0..AHEAD - length).find(|from| fits(*from)).map(|from| now + from)
    }

    fn start(&mut self, now: i64, job: u32, starts: &mut Vec<JobId>) {
        let Waits { procs, length, .. } = self.waiting.remove(self.at(job));
        self.running.push(Runs { job, procs, length, start: now, believed_end: now + length });
        self.starts += 1;
        starts.push(JobId(job));
    }

    fn start_or_reserve(&mut self, now: i64, job: u32, starts: &mut Vec<JobId>) {
        let earliest = self.earliest(now, job);
        if earliest == Some(now) {
            self.start(now, job, starts);
        } else {
            let at = self.at(job);
            self.waiting[at].reserved = earliest;
            self.waiting[at].holds = true;
        }
    }

    fn queue(&self, place: In) -> Vec<&Waits> {
        self.waiting.iter().filter(|it| it.place == place).collect()
    }

    fn make_reservations(&mut self, now: i64, starts: &mut Vec<JobId>) {
        loop {
            let queue = self.queue(In::JobQueue);
            let kept = queue.iter().filter(|it| it.holds).count();
            if kept as f64 >= (self.alpha * queue.len() as f64 - 1e-9).ceil() {
                return;
            }
            let oldest = queue.iter().min_by_key(|it| self.age(it)).unwrap();
            let next = match self.settings.guard {
                Guard::Oldest if !oldest.holds => Some(oldest.job),
                _ => self.in_order(|it| it.place == In::JobQueue && !it.holds).first().copied(),
            };
            let Some(job) = next else { return };
            self.start_or_reserve(now, job, starts);
        }
    }

    fn move_up(&mut self, job: u32, surplus: &mut Vec<JobId>) {
        let at = self.at(job);
        self.waiting[at].place = In::JobQueue;
        if self.settings.overflow == Overflow::Migrate && !self.waiting[at].remote {
            surplus.push(JobId(job));
        }
    }

    fn overflow(&mut self, surplus: &mut Vec<JobId>) {
        let mut tired: Vec<Waits> = self.waiting.clone();
        tired.retain(|it| {
            let passed = self.starts - it.started_before;
            it.place != In::JobQueue
                && self.settings.patience.is_some_and(|max| passed >= u64::from(max.get()))
        });
        tired.sort_by_key(|it| (it.started_before, it.job));
        tired.iter().for_each(|it| self.move_up(it.job, surplus));
        for place in [In::Backfill1, In::Backfill2] {
            loop {
                let queue = self.queue(place);
                if queue.len() < self.settings.beta.get() as usize {
                    break;
                }
                let leaves = match self.settings.moves {
                    OverflowMoves::Oldest => queue.iter().min_by_key(|it| self.age(it)),
                    OverflowMoves::Newest => queue.iter().max_by_key(|it| self.age(it)),
                    OverflowMoves::Lowest => queue.iter().max_by_key(|it| self.place(it)),
                };
                let job = leaves.unwrap().job;
                self.move_up(job, surplus);
            }
        }
    }

    fn believe(&mut self, now: i64) {
        if self.running.iter().any(|it| it.believed_end <= now) {
            self.upset = true;
        }
        if std::mem::take(&mut self.upset) {
            for it in &mut self.running {
                it.believed_end = it.start + expected_span(Span(it.length), Span(now - it.start)).0;
            }
            self.waiting.iter_mut().for_each(|it| it.reserved = None);
            self.freed = true;
        }
    }
}

impl LocalScheduler for Naive {
    fn join(&mut self, wanted: SiteJob, origin: Origin, _now: Time) {
        let (procs, length) = (i64::from(wanted.processors), wanted.length.0);
        let remote = origin == Origin::Remote;
        let large = match self.settings.borders {
            Borders::Paper => procs >= self.procs * 2 / 3,
            Borders::Pseudo => procs as f64 > self.procs as f64 * 2.0 / 3.0,
        };
        let small = match self.settings.borders {
            Borders::Paper => procs < self.procs / 3,
            Borders::Pseudo => procs as f64 <= self.procs as f64 / 3.0,
        };
        let place = match (remote, large, small) {
            (true, ..) => In::Backfill1,
            (_, true, _) => In::JobQueue,
            (_, _, true) => In::Backfill2,
            _ => In::Backfill1,
        };
        let mean = match self.ran.len() {
            0 => length as f64,
            count => self.ran.iter().sum::<i64>() as f64 / count as f64,
        };
        self.waiting.push(Waits {
            job: wanted.job.0,
            procs,
            length,
            remote,
            place,
            long: length as f64 >= mean,
            large: procs >= self.procs / 2,
            joined: self.joins,
            started_before: self.starts,
            holds: false,
            reserved: None,
        });
        self.joins += 1;
        self.joined = true;
    }

    fn leave(&mut self, job: JobId, _now: Time) {
        let gone = self.waiting.remove(self.at(job.0));
        self.freed |= gone.holds;
    }

    fn adopt(&mut self, _wanted: SiteJob, _start: Time, _now: Time) {
        unreachable!("no other policy starts jobs here");
    }

    fn closed(&mut self, _closure: OutageId, _now: Time) {}

    fn ended(&mut self, job: JobId, ran: Span, _now: Time) {
        self.running.retain(|it| it.job != job.0);
        self.ran.push(ran.0);
        self.freed = true;
    }

    fn interrupted(&mut self, job: JobId, _now: Time) {
        self.running.retain(|it| it.job != job.0);
        self.upset = true;
    }

    fn announced(&mut self, closure: OutageId, what: Outage, _now: Time) {
        self.closures.insert(closure, what);
        self.upset = true;
    }

    fn reopened(&mut self, closure: OutageId, _now: Time) {
        self.closures.remove(&closure);
        self.freed = true;
    }

    fn decide(&mut self, now: Time, starts: &mut Vec<JobId>, surplus: &mut Vec<JobId>) {
        let now = now.0;
        self.now = now;
        self.believe(now);
        let due = self.waiting.iter().any(|it| it.reserved.is_some_and(|at| at <= now));
        let freed = std::mem::take(&mut self.freed) || due;
        let joined = std::mem::take(&mut self.joined);
        if self.settings.reserve == Reserve::Replanned {
            if freed || joined {
                self.waiting.iter_mut().for_each(|it| (it.holds, it.reserved) = (false, None));
            }
        } else if freed {
            for job in self.in_order(|it| it.holds) {
                self.start_or_reserve(now, job, starts);
            }
        }
        self.make_reservations(now, starts);
        for job in self.in_order(|it| !it.holds) {
            if self.earliest(now, job) == Some(now) {
                self.start(now, job, starts);
            }
        }
        self.overflow(surplus);
        self.make_reservations(now, starts);
    }

    fn wake(&self) -> Option<Time> {
        self.waiting.iter().filter_map(|it| it.reserved).min().map(Time)
    }

    fn next_end(&self) -> Option<Time> {
        self.running.iter().map(|it| Time(it.believed_end)).min()
    }

    fn promise(&self, wanted: &SiteJob, origin: Origin, now: Time, from: Time) -> Option<Time> {
        let mut free = self.free(now.0, u32::MAX);
        assert_eq!(origin, Origin::Remote);
        let (procs, length) = (i64::from(wanted.processors), wanted.length.0 as usize);
        free.drain(..(from - now).0 as usize);
        let at = free.windows(length).position(|part| part.iter().all(|free| *free >= procs));
        at.map(|at| from + Span(at as i64))
    }

    fn load(&self) -> Load {
        let count = |place| u32::try_from(self.queue(place).len()).unwrap();
        let work = self.waiting.iter().map(|it| i128::from(it.procs * it.length)).sum();
        let free = self.free(self.now, u32::MAX)[0].max(0);
        Load {
            queued: count(In::JobQueue),
            backfill: [count(In::Backfill1), count(In::Backfill2)],
            work,
            free: u32::try_from(free).unwrap(),
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.waiting.iter().find(|it| it.job == job.0)?.reserved.map(Time)
    }
}
