//! A site that is driven by hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tradewind_daemon::site::queued::{QueuedJob, WaitingJobs};
use tradewind_daemon::site::{
    Exit, Finding, Go, Order, PoolSetup, PoolSurvey, Seen, Site, SiteError, Survey, Tag,
};

use crate::stage::now;

/// The tasks of a site that is driven by hand, and what it says instead of an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hand(
    Arc<Mutex<BTreeMap<Tag, Seen>>>,
    Arc<Mutex<Option<SiteError>>>,
    Arc<Mutex<Vec<QueuedJob>>>,
    Arc<Mutex<HandMood>>,
);

/// What is wrong at a site that answers.
#[derive(Debug, Clone, Default)]
struct HandMood {
    /// Of its two nodes.
    drained: u32,
    refuses: bool,
}

impl Hand {
    pub(crate) fn tasks(&self) -> MutexGuard<'_, BTreeMap<Tag, Seen>> {
        self.0.lock().unwrap()
    }

    /// The site answers like this from now on; `None`: as it should.
    pub(crate) fn fail(&self, error: Option<SiteError>) {
        *self.1.lock().unwrap() = error;
    }

    /// These jobs of others wait there from now on.
    pub(crate) fn queue(&self, jobs: Vec<QueuedJob>) {
        *self.2.lock().unwrap() = jobs;
    }

    /// So many of its two nodes are drained.
    pub(crate) fn drain(&self, nodes: u32) {
        self.3.lock().unwrap().drained = nodes;
    }

    /// It takes no jobs any more.
    pub(crate) fn refuse(&self) {
        self.3.lock().unwrap().refuses = true;
    }

    fn answers(&self) -> Result<(), SiteError> {
        self.1.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    /// The job's task ends like this.
    pub(crate) fn end(&self, job: u64, exit: Exit) {
        for (tag, seen) in self.tasks().iter_mut().filter(|(tag, _)| tag.job == job) {
            let Seen::Running { since, .. } = seen else { panic!("{tag}: {seen:?}") };
            *seen = Seen::Ended { since: Some(*since), at: now(), exit: exit.clone() };
        }
    }
}

#[derive(Debug)]
pub(crate) struct ByHand {
    pub(crate) pools: Vec<PoolSetup>,
    pub(crate) tasks: Hand,
}

impl Site for ByHand {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }
    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.tasks.answers()?;
        let up = 2 - self.tasks.3.lock().unwrap().drained;
        let pools = vec![PoolSurvey { up, ..PoolSurvey::default() }];
        let waiting = self.tasks.2.lock().unwrap().iter().map(|job| (0, job.clone())).collect();
        let WaitingJobs { jobs: queue, notes: queue_notes, .. } = WaitingJobs::of(waiting);
        let tasks = self.tasks.tasks().clone();
        Ok(Survey { pools, tasks, queue, queue_notes, ..Survey::default() })
    }
    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.tasks.answers()?;
        if self.tasks.3.lock().unwrap().refuses {
            return Err(SiteError::Refused("sbatch: the partition is closed".to_owned()));
        }
        let running = Seen::Running { since: now(), nodes: vec!["n1".to_owned()] };
        self.tasks.tasks().entry(order.tag.clone()).or_insert(running);
        Ok(())
    }
    fn go(&mut self, _: &Tag, _: &Go) -> Result<(), SiteError> {
        Ok(())
    }
    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let ended = Seen::Ended { since: None, at: now(), exit: Exit::Withdrawn };
        self.tasks.tasks().insert(tag.clone(), ended);
        Ok(())
    }
    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.tasks.tasks().contains_key(tag) {
            true => Err(SiteError::Begun),
            false => Ok(()),
        }
    }
    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.tasks.tasks().remove(tag);
        Ok(())
    }
    fn output(&mut self, _: &Tag, _: usize) -> Result<Vec<u8>, SiteError> {
        Ok(vec![])
    }
    fn doctor(&mut self) -> Vec<Finding> {
        vec![]
    }
}
