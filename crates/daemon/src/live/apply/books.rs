//! Changes of what is not a job: tasks at sites, tokens, quotes.

use tradewind_model::{Event, Time};

use super::ApplyError;
use crate::live::record::Record;
use crate::live::state::{Happening, Phase, State, TaskGoal, TaskReport, Why};
use crate::site::{Seen, Tag};

impl State {
    pub(super) fn apply_to_task(&mut self, record: &Record) -> Result<(), ApplyError> {
        let missing = |tag: &Tag| ApplyError::Task(tag.to_string());
        match record {
            Record::Acknowledged { tag } => {
                let task = self.tasks.get_mut(tag).ok_or_else(|| missing(tag))?;
                if task.known == TaskReport::Nothing {
                    task.known = TaskReport::Acknowledged;
                }
                Ok(())
            }
            Record::Declined { tag, why } => {
                let task = self.tasks.get_mut(tag).ok_or_else(|| missing(tag))?;
                task.known = TaskReport::Declined(why.clone());
                task.wanted = TaskGoal::Stop;
                Ok(())
            }
            Record::Withdrawn { tag } => {
                let task = self.tasks.get_mut(tag).ok_or_else(|| missing(tag))?;
                let why = match &task.known {
                    TaskReport::Declined(why) => Some(why.clone()),
                    _ => None,
                };
                task.known = TaskReport::Withdrawn(why);
                Ok(())
            }
            Record::Saw { tag, seen } => {
                let task = self.tasks.get_mut(tag).ok_or_else(|| missing(tag))?;
                task.known = TaskReport::Seen(seen.clone());
                self.saw(tag, seen)
            }
            Record::Resumed { tag } => self.resume(tag),
            Record::Unbegun { tag } => {
                let job = self.job(tag.job)?;
                let part = job.parts.get_mut(tag.part as usize).ok_or_else(|| missing(tag))?;
                part.since = None;
                Ok(())
            }
            Record::HeldThere { tag, why } => {
                let now = self.now();
                let task = self.tasks.get_mut(tag).ok_or_else(|| missing(tag))?;
                let since = task.held.as_ref().map_or(now, |(since, _)| *since);
                task.held = why.clone().map(|why| (since, why));
                Ok(())
            }
            Record::Forgot { tag } => {
                self.tasks.remove(tag).map(|_| ()).ok_or_else(|| missing(tag))
            }
            _ => Err(ApplyError::Other("a record of another kind")),
        }
    }

    /// The task runs on, unless its job was cancelled meanwhile.
    fn resume(&mut self, tag: &Tag) -> Result<(), ApplyError> {
        let at = self.now();
        let job = self.jobs.get(&tag.job).filter(|job| job.attempt == tag.attempt);
        let may = job.is_some_and(|it| it.cancelled_by.is_none() && it.phase == Phase::Running);
        let task = self.tasks.get_mut(tag).ok_or_else(|| ApplyError::Task(tag.to_string()))?;
        task.wanted = if may { TaskGoal::Run } else { TaskGoal::Stop };
        task.begun = Some(at);
        if matches!(task.known, TaskReport::Nothing | TaskReport::Declined(_)) {
            task.known = TaskReport::Acknowledged;
        }
        Ok(())
    }

    /// What a site sees of a task is written down with the job, if it is of its present attempt.
    fn saw(&mut self, tag: &Tag, seen: &Seen) -> Result<(), ApplyError> {
        let Some(job) = self.jobs.get_mut(&tag.job) else { return Ok(()) };
        if job.attempt != tag.attempt || job.phase != Phase::Running {
            return Ok(());
        }
        let gathers = job.rendezvous.is_some();
        let first = !gathers && job.parts.iter().all(|part| part.since.is_none());
        let Some(part) = job.parts.get_mut(tag.part as usize) else { return Ok(()) };
        match seen {
            Seen::Waiting => {}
            Seen::Running { since, nodes } => {
                part.since = Some(*since);
                part.names.clone_from(nodes);
            }
            Seen::Ended { since, at, exit } => {
                // One that waited for others has begun only if the site says so now.
                part.since = since.or(part.since.filter(|_| !gathers));
                part.exit = Some((*at, exit.clone()));
            }
        }
        let begins = first && part.since.is_some();
        match begins {
            true => self.note(tag.job, Happening::Began),
            false => Ok(()),
        }
    }

    /// The closure is over; if it had begun, people may look back at it.
    pub(super) fn reopen(&mut self, at: Time, why: &Why) -> Result<(), ApplyError> {
        let known = self.closures.get(why).and_then(|id| self.market.closure_state(*id));
        self.closure(why, |closure| Event::Reopened { closure })?;
        self.closures.remove(why);
        // Owners' jobs that have started are known by themselves.
        if let Some((what, true)) = known
            && !matches!(why, Why::Queued(..))
        {
            self.past.reopened(at, why, &what);
        }
        Ok(())
    }

    pub(super) fn apply_to_quote(&mut self, record: &Record) -> Result<(), ApplyError> {
        match record {
            Record::Quoted { quote } => {
                if quote.number != self.last_quote + 1 {
                    return Err(ApplyError::Other("a quote's number is not the next one"));
                }
                self.last_quote = quote.number;
                self.quotes.insert(quote.number, quote.clone());
                Ok(())
            }
            Record::Taken { quote, job } => {
                let gone = self.quotes.remove(quote);
                let gone = gone.ok_or(ApplyError::Other("a quote that is not there"))?;
                match job {
                    Some(job) => {
                        let job = self.job(*job)?;
                        job.is_as_wide_as(gone.tasks, None);
                        job.booking = Some(gone.booking);
                    }
                    None => return Ok(()),
                }
                Ok(())
            }
            _ => Err(ApplyError::Other("a record of another kind")),
        }
    }
}
