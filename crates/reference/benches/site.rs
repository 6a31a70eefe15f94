//! One site that schedules for itself, with a long queue that stays as long: one iteration is a
//! moment at which jobs end or a reservation is due, with one pass and as many new jobs as started
//! in the one before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{JobId, Span, Time};
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::local::{
    LocalScheduler, Origin, Plain, PlainSettings, QueueOrder, SiteJob,
};
use tradewind_sched::policy::multiqueue::{MultiQueue, MultiQueueSettings};

const WAITING: usize = 10_000;

/// How jobs end.
#[derive(Debug, Clone, Copy)]
enum Ends {
    /// When they are expected to.
    Expected,
    /// Somewhere in the second half of what they are expected to take.
    Early,
}

struct Steady {
    site: Box<dyn LocalScheduler>,
    processors: u32,
    ends: Ends,
    random: Pcg64Mcg,
    now: Time,
    /// Start and length of jobs, by id.
    jobs: Vec<(Time, Span)>,
    running: BinaryHeap<Reverse<(Time, JobId)>>,
    waiting: usize,
}

impl Steady {
    fn new(site: Box<dyn LocalScheduler>, processors: u32, ends: Ends) -> Steady {
        let mut steady = Steady {
            site,
            processors,
            ends,
            random: Pcg64Mcg::seed_from_u64(1),
            now: Time(0),
            jobs: Vec::new(),
            running: BinaryHeap::new(),
            waiting: 0,
        };
        // All at once: a site that was closed until now.
        (0..WAITING).for_each(|_| steady.join());
        steady.decide();
        (0..50).for_each(|_| steady.step());
        steady
    }

    /// Widths are uniform, as in the paper's study, lengths exponential with a mean of 100 min.
    fn join(&mut self) {
        let job = JobId(u32::try_from(self.jobs.len()).unwrap_or(u32::MAX));
        let draw = 1.0 - self.random.random::<f64>();
        let length = Span((-draw.ln() * 6_000.0) as i64 + 1);
        let ran = match self.ends {
            Ends::Expected => length,
            Ends::Early => Span(self.random.random_range(length.0 / 2..=length.0)),
        };
        self.jobs.push((Time(0), ran));
        let processors = self.random.random_range(1..=self.processors);
        let wanted = SiteJob { job, processors, length, submitted: self.now };
        self.site.join(wanted, Origin::Local, self.now);
        self.waiting += 1;
    }

    fn decide(&mut self) {
        let mut starts = Vec::new();
        self.site.decide(self.now, &mut starts, &mut Vec::new());
        for job in starts {
            let (start, ran) = &mut self.jobs[job.index()];
            *start = self.now;
            self.running.push(Reverse((self.now + *ran, job)));
            self.waiting -= 1;
        }
    }

    /// Whatever comes first: ends or a reservation that is due.
    fn step(&mut self) {
        let end = self.running.peek().map(|Reverse((end, _))| *end);
        let Some(now) = self.site.wake().into_iter().chain(end).min() else { return };
        self.now = now;
        while let Some(Reverse((end, job))) = self.running.peek().copied()
            && end <= now
        {
            self.running.pop();
            self.site.ended(job, self.jobs[job.index()].1, now);
        }
        while self.waiting < WAITING {
            self.join();
        }
        self.decide();
    }
}

fn hybrid(alpha: u32) -> impl Fn(u32) -> Box<dyn LocalScheduler> {
    let settings = MultiQueueSettings::new(alpha, 64).unwrap_or_default();
    move |processors| Box::new(MultiQueue::new(processors, settings))
}

fn plain(depth: Depth) -> impl Fn(u32) -> Box<dyn LocalScheduler> {
    let settings = PlainSettings { depth, turn: QueueOrder::Arrival };
    move |processors| Box::new(Plain::new(processors, settings))
}

type Build = Box<dyn Fn(u32) -> Box<dyn LocalScheduler>>;

fn one_site(bench: &mut Criterion) {
    let builds: [(&str, Build); 4] = [
        ("easy", Box::new(plain(Depth::First(1)))),
        ("multiqueue-100", Box::new(hybrid(100))),
        ("multiqueue-300", Box::new(hybrid(300))),
        ("conservative", Box::new(plain(Depth::All))),
    ];
    for processors in [64, 4_096] {
        for ends in [Ends::Expected, Ends::Early] {
            let name = format!("site/{processors}/{ends:?}").to_lowercase();
            let mut group = bench.benchmark_group(name);
            group.throughput(Throughput::Elements(1)).sample_size(10);
            group.measurement_time(std::time::Duration::from_secs(3));
            for (name, build) in &builds {
                group.bench_function(BenchmarkId::from_parameter(name), |b| {
                    let mut steady = Steady::new(build(processors), processors, ends);
                    b.iter(|| steady.step());
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, one_site);
criterion_main!(benches);
