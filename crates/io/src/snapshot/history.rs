//! Who ran where: the log replayed from its start to a moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use tradewind_model::Time;

use super::processors::FreeProcessors;
use crate::swf::{Log, Record};

/// A job that runs at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    /// Index in the log.
    pub(super) job: usize,
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) processors: Vec<Range<u32>>,
}

/// The state of the machine and its queue at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// In order of start.
    pub(super) running: Vec<Running>,
    /// Indices of the jobs that wait, in order of submission.
    pub(super) waiting: Vec<usize>,
    /// Starts that found too few free processors and got those that there were.
    squeezed: usize,
    /// Jobs wider than the machine, which could not start.
    too_wide: usize,
}

/// The state at `at` on a machine of `count` processors. Each job gets the lowest free ones; at
/// equal times jobs end before others start.
///
/// With wait times, jobs start when the log says; where more run than the machine holds, the
/// last to start gets only what is free. Without, a job starts when it is submitted if it fits,
/// else at the first moment when it does; of those that wait, the first submitted is tried first.
/// Jobs without run time or processors are left out.
pub(super) fn replay(log: &Log, at: Time, count: u32) -> Moment {
    let free = FreeProcessors::new(count);
    let mut replay = LogReplay {
        log,
        free,
        count,
        running: Vec::new(),
        ends: BinaryHeap::new(),
        moment: Moment::default(),
    };
    if log.has_waits() {
        replay.recorded(at);
    } else {
        replay.assumed(at);
    }
    replay.finish()
}

struct LogReplay<'l> {
    log: &'l Log,
    free: FreeProcessors,
    count: u32,
    /// By order of start; ended ones are `None`.
    running: Vec<Option<Running>>,
    ends: BinaryHeap<Reverse<(Time, usize)>>,
    moment: Moment,
}

impl LogReplay<'_> {
    fn recorded(&mut self, at: Time) {
        let start = |job: &Record| job.start().unwrap_or(job.submit);
        let ran = |(_, job): &(usize, &Record)| job.ran();
        let jobs = self.log.jobs.iter().enumerate().filter(ran);
        let mut started: Vec<(Time, usize)> = Vec::new();
        for (i, job) in jobs.take_while(|(_, job)| job.submit <= at) {
            if start(job) <= at {
                started.push((start(job), i));
            } else {
                self.moment.waiting.push(i);
            }
        }
        started.sort_unstable();
        for (time, job) in started {
            self.end_until(time);
            self.start(job, time);
        }
        self.end_until(at);
    }

    fn assumed(&mut self, at: Time) {
        let log = self.log;
        let mut queue: Vec<usize> = Vec::new();
        for (i, job) in log.jobs.iter().enumerate().take_while(|(_, job)| job.submit <= at) {
            if !job.ran() {
                continue;
            }
            self.serve(&mut queue, job.submit);
            let width = self.width(i);
            if width > self.count {
                self.moment.too_wide += 1;
            } else if width <= self.free.free() {
                self.start(i, job.submit);
            } else {
                queue.push(i);
            }
        }
        self.serve(&mut queue, at);
        self.moment.waiting = queue;
    }

    /// Lets jobs end up to `until`, and after each moment of ends those waiting start that fit.
    fn serve(&mut self, queue: &mut Vec<usize>, until: Time) {
        while let Some(&Reverse((time, _))) = self.ends.peek()
            && time <= until
        {
            self.end_until(time);
            let narrowest = queue.iter().map(|&job| self.width(job)).min();
            if narrowest.is_some_and(|width| width <= self.free.free()) {
                queue.retain(|&job| {
                    let fits = self.width(job) <= self.free.free();
                    if fits {
                        self.start(job, time);
                    }
                    !fits
                });
            }
        }
    }

    fn width(&self, job: usize) -> u32 {
        self.log.jobs[job].held().unwrap_or(0)
    }

    fn start(&mut self, job: usize, start: Time) {
        let width = self.width(job);
        self.moment.squeezed += usize::from(width > self.free.free());
        let processors = self.free.take(width);
        let end = start + self.log.jobs[job].run.unwrap_or_default();
        self.ends.push(Reverse((end, self.running.len())));
        self.running.push(Some(Running { job, start, end, processors }));
    }

    fn end_until(&mut self, time: Time) {
        while let Some(&Reverse((end, index))) = self.ends.peek()
            && end <= time
        {
            self.ends.pop();
            if let Some(ended) = self.running[index].take() {
                self.free.give(&ended.processors);
            }
        }
    }

    fn finish(mut self) -> Moment {
        self.moment.running = self.running.into_iter().flatten().collect();
        self.moment
    }
}

impl Moment {
    /// Adds what the replay assumed, as sentences.
    pub(super) fn assume(&self, log: &Log, assumptions: &mut Vec<String>) {
        let summary = &log.summary;
        let mut add = |count: usize, text: &str| {
            if count > 0 {
                assumptions.push(format!("{text}: {count}"));
            }
        };
        add(summary.without_submit, "jobs without submit time, left out");
        let unusable = log.jobs.len() - summary.usable;
        add(unusable, "jobs without run time or processors, left out");
        add(summary.out_of_order, "jobs out of order in the log, sorted by submit time");
        add(summary.rounded, "times with a fraction of a second, rounded up");
        add(self.squeezed, "jobs that started on more processors than were free, given those");
        add(self.too_wide, "jobs wider than the machine, never started");
        if log.has_waits() {
            add(summary.without_wait, "jobs without wait time, counted as started when submitted");
        } else {
            assumptions.push(
                "the log has no wait times: a job counts as started when submitted if it fits, \
                 else at the first moment when it does"
                    .to_owned(),
            );
        }
        let running = self.running.len();
        assumptions.push(format!(
            "running at the moment: {running}, each on the lowest processors that were free when \
             it started; waiting: {}",
            self.waiting.len()
        ));
    }
}
