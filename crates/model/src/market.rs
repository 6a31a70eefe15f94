//! What is waiting, what is running and what is free: the state that policies look at.
//!
//! One cluster of like processors so far. [`Market::apply`] is the only way to change it.

use std::collections::BTreeSet;

use crate::{Span, Time};

/// A job's place in the order of submission, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

impl JobId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a job asks of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Processors, at least 1.
    pub processors: u32,
    /// How long it is expected to run, at least 1 s.
    pub estimate: Span,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A job joined the queue. Jobs are submitted in the order of their ids, without gaps.
    Submitted {
        /// Which.
        job: JobId,
        /// What it asks for.
        demand: Demand,
    },
    /// A job took its processors.
    Started {
        /// Which.
        job: JobId,
    },
    /// A job gave its processors back.
    Ended {
        /// Which.
        job: JobId,
    },
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Start the job now.
    Start {
        /// Which.
        job: JobId,
    },
    /// Ask again at this moment, even if nothing happens. The latest wish replaces earlier ones.
    Wake {
        /// When.
        at: Time,
    },
}

/// Why an event cannot have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    /// Time runs forwards only.
    #[error("an event at {at} after one at {now}")]
    Past {
        /// Of the event.
        at: Time,
        /// Of the market.
        now: Time,
    },
    /// The event does not follow from the job's state.
    #[error("job {} cannot do this in its state", job.0)]
    State {
        /// Which.
        job: JobId,
    },
    /// Not enough free processors.
    #[error("job {} takes {wanted} processors, and {free} are free", job.0)]
    Full {
        /// Which.
        job: JobId,
        /// What it takes.
        wanted: u32,
        /// What there is.
        free: u32,
    },
    /// The books do not add up.
    #[error("the market's books do not add up: {0}")]
    Books(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Queued,
    Running,
    Ended,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    demand: Demand,
    phase: Phase,
    start: Time,
}

/// A job that holds processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Which.
    pub job: JobId,
    /// What it asked for.
    pub demand: Demand,
    /// Since when.
    pub start: Time,
}

/// The state of one cluster and its queue.
#[derive(Debug, Clone)]
pub struct Market {
    now: Time,
    processors: u32,
    free: u32,
    jobs: Vec<Entry>,
    queue: BTreeSet<JobId>,
    running: BTreeSet<JobId>,
}

impl Market {
    /// An empty cluster at `now`.
    pub fn new(processors: u32, now: Time) -> Market {
        Market {
            now,
            processors,
            free: processors,
            jobs: Vec::new(),
            queue: BTreeSet::new(),
            running: BTreeSet::new(),
        }
    }

    /// The moment of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Processors of the cluster.
    pub fn processors(&self) -> u32 {
        self.processors
    }

    /// Processors that no job holds.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Jobs that wait, in the order of submission.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = JobId> + '_ {
        self.queue.iter().copied()
    }

    /// The job that has waited longest.
    pub fn head(&self) -> Option<JobId> {
        self.queue.first().copied()
    }

    /// Jobs that run, in the order of submission.
    pub fn running(&self) -> impl Iterator<Item = Running> + '_ {
        self.running.iter().map(|&job| {
            let Entry { demand, start, .. } = self.jobs[job.index()];
            Running { job, demand, start }
        })
    }

    /// What the job asked for, once it was submitted.
    pub fn demand(&self, job: JobId) -> Option<Demand> {
        self.jobs.get(job.index()).map(|entry| entry.demand)
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// If `at` is in the past.
    pub fn pass_to(&mut self, at: Time) -> Result<(), MarketError> {
        if at < self.now {
            return Err(MarketError::Past { at, now: self.now });
        }
        self.now = at;
        Ok(())
    }

    /// Writes down what happened now. Logarithmic in the jobs that wait and run.
    ///
    /// # Errors
    /// If it cannot have happened; the market is unchanged.
    pub fn apply(&mut self, event: Event) -> Result<(), MarketError> {
        match event {
            Event::Submitted { job, demand } => self.submit(job, demand),
            Event::Started { job } => self.start(job),
            Event::Ended { job } => self.end(job),
        }
    }

    fn submit(&mut self, job: JobId, demand: Demand) -> Result<(), MarketError> {
        if job.index() != self.jobs.len() {
            return Err(MarketError::State { job });
        }
        if demand.processors > self.processors {
            let (wanted, free) = (demand.processors, self.processors);
            return Err(MarketError::Full { job, wanted, free });
        }
        self.jobs.push(Entry { demand, phase: Phase::Queued, start: self.now });
        self.queue.insert(job);
        Ok(())
    }

    fn start(&mut self, job: JobId) -> Result<(), MarketError> {
        let (now, free) = (self.now, self.free);
        let entry = self.entry(job, Phase::Queued)?;
        let wanted = entry.demand.processors;
        if wanted > free {
            return Err(MarketError::Full { job, wanted, free });
        }
        entry.phase = Phase::Running;
        entry.start = now;
        self.free -= wanted;
        self.queue.remove(&job);
        self.running.insert(job);
        Ok(())
    }

    fn end(&mut self, job: JobId) -> Result<(), MarketError> {
        let entry = self.entry(job, Phase::Running)?;
        entry.phase = Phase::Ended;
        self.free += entry.demand.processors;
        self.running.remove(&job);
        Ok(())
    }

    fn entry(&mut self, job: JobId, phase: Phase) -> Result<&mut Entry, MarketError> {
        let entry = self.jobs.get_mut(job.index()).filter(|entry| entry.phase == phase);
        entry.ok_or(MarketError::State { job })
    }

    /// Adds the books up anew: linear in all jobs, for tests and checked runs.
    ///
    /// # Errors
    /// What does not add up.
    pub fn check(&self) -> Result<(), MarketError> {
        let in_phase = |phase| self.jobs.iter().filter(move |entry| entry.phase == phase).count();
        let held: u64 = self.running().map(|job| u64::from(job.demand.processors)).sum();
        if held + u64::from(self.free) != u64::from(self.processors) {
            return Err(MarketError::Books("processors held and free"));
        }
        if in_phase(Phase::Queued) != self.queue.len() {
            return Err(MarketError::Books("jobs in the queue"));
        }
        if in_phase(Phase::Running) != self.running.len() {
            return Err(MarketError::Books("running jobs"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(processors: u32) -> Demand {
        Demand { processors, estimate: Span(10) }
    }

    #[test]
    fn refuses_what_cannot_have_happened_and_stays_as_it_was() {
        let mut market = Market::new(4, Time(0));
        let [a, b] = [JobId(0), JobId(1)];
        assert_eq!(
            market.apply(Event::Submitted { job: b, demand: demand(1) }),
            Err(MarketError::State { job: b })
        );
        market.apply(Event::Submitted { job: a, demand: demand(3) }).unwrap();
        market.apply(Event::Submitted { job: b, demand: demand(2) }).unwrap();
        assert_eq!(market.apply(Event::Ended { job: a }), Err(MarketError::State { job: a }));
        market.apply(Event::Started { job: a }).unwrap();
        assert_eq!(market.apply(Event::Started { job: a }), Err(MarketError::State { job: a }));
        let full = MarketError::Full { job: b, wanted: 2, free: 1 };
        assert_eq!(market.apply(Event::Started { job: b }), Err(full));
        market.check().unwrap();
        assert_eq!((market.free(), market.head()), (1, Some(b)));
        market.pass_to(Time(7)).unwrap();
        assert!(market.pass_to(Time(6)).is_err());
        market.apply(Event::Ended { job: a }).unwrap();
        market.check().unwrap();
        assert_eq!(market.free(), 4);
    }
}
