//! What a manager must provide so that [`Driver`](super::Driver) can run a cluster under it: its
//! lists, its words, and what is special about it.

use std::fmt::Debug;
use std::sync::Arc;

use tradewind_io::submission::signal::Warning;
use tradewind_model::Time;

use super::base::Base;
use super::doctor;
use super::judge::{self, TaskVerdict};
use super::rhythm::SurveyPart;
use crate::site::limits::{Cap, Limits};
use crate::site::managed::bundle::Words;
use crate::site::managed::spool::{Here, Trace};
use crate::site::managed::tickets::Ticket;
use crate::site::queued::{EndedJob, ForgottenJobs, WaitingJobs};
use crate::site::{Aside, Finding, Order, PoolSurvey, Seen, SiteError, Tag};

/// A job as the manager lists it, of any user.
pub(in crate::site) trait ManagerJob: Debug + Clone + Send + Sync {
    /// The manager's number of it. It may be used again: it identifies nothing.
    fn id(&self) -> String;
    /// Where a job of ours carries [`Manager::mark`].
    fn mark(&self) -> &str;
    /// The account that it runs as.
    fn account(&self) -> &str;
    /// Whether it waits for nodes.
    fn waits(&self) -> bool;
    /// Whether it has its nodes. A job that neither waits nor holds nodes is over.
    fn holds_nodes(&self) -> bool;
    /// Whether it holds its nodes, and its work is over.
    fn is_leaving(&self) -> bool {
        false
    }
    /// Whether its nodes are working for it right now.
    fn is_running(&self) -> bool;
    /// Whether it is over, and stays in the list until it is cancelled.
    fn stays(&self) -> bool {
        false
    }
    /// When it was submitted, seconds since 1970; 0: not known.
    fn submitted(&self) -> i64 {
        0
    }
    /// When it got its nodes, seconds since 1970; 0: not known.
    fn start(&self) -> i64 {
        0
    }
    /// The names of its nodes, if the list has them.
    fn nodes(&self) -> &[String] {
        &[]
    }
    /// How often it was started before.
    fn restarts(&self) -> u32 {
        0
    }
    /// Why it is as it is, in the manager's word.
    fn reason(&self) -> &str;
    /// State and reason, for people.
    fn shown(&self) -> String;
    /// Whether somebody holds it: it does not start although it could.
    fn is_held(&self) -> bool;
    /// Whether it is held as a user holds a job, and as we do.
    fn is_held_by_user(&self) -> bool {
        false
    }
    /// Whether an administrator holds it.
    fn is_held_by_administrator(&self) -> bool {
        false
    }
    /// The limit that it waits for.
    fn cap(&self) -> Option<Cap> {
        None
    }
}

/// Nodes that are reserved at the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::site) struct Reservation {
    /// By which the manager knows it.
    pub id: String,
    /// As we have called it.
    pub name: String,
    /// The account that made it.
    pub owner: String,
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Nodes or slots, as the manager counts; 0: not asked for.
    pub size: u32,
}

/// Which reservations must be listed with all that is known of them: those of others, and…
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site) enum ReservationsOf<'a> {
    /// None of ours.
    Others,
    /// Those of this market.
    Market(&'a str),
}

/// A task that is about to be submitted; its ticket is written.
#[derive(Debug)]
pub(in crate::site) struct TaskSubmission<'o> {
    /// Its place among those that were asked for.
    pub place: usize,
    /// What is to run.
    pub order: &'o Order,
    /// The place of its pool.
    pub pool: usize,
    /// What is written down of it.
    pub ticket: Ticket,
    /// What runs on its first node.
    pub script: String,
}

/// What was said to a submission, and the limit that it met, if that is why.
pub(in crate::site) type SubmitAnswer = (Result<(), SiteError>, Option<Cap>);

/// A task of ours, and all that is known of it.
#[derive(Debug, Clone, Copy)]
pub(in crate::site) struct ManagedTask<'a, J> {
    /// Its name.
    pub tag: &'a Tag,
    /// What is written down of it.
    pub ticket: &'a Ticket,
    /// Its job, if the manager lists one.
    pub job: Option<&'a J>,
    /// What it has written, if anything.
    pub trace: Option<&'a Trace>,
}

/// What pools are counted from.
#[derive(Debug)]
pub(in crate::site) struct PoolsView<'a, J> {
    /// All jobs, as they were last listed.
    pub jobs: &'a [J],
    /// Those of them that are tasks of ours and count as such: the same length as `jobs`.
    pub ours: &'a [bool],
    /// When.
    pub now: Time,
}

impl<'a, J> PoolsView<'a, J> {
    /// Jobs of others.
    pub(in crate::site) fn theirs(&self) -> impl Iterator<Item = &'a J> + use<'a, J> {
        let all = self.jobs.iter().zip(self.ours);
        all.filter(|(_, is_ours)| !**is_ours).map(|(job, _)| job)
    }
}

/// A manager: lists, words and peculiarities. All that must not go wrong (tags run at most once,
/// recalls, tickets) is the driver's.
///
/// What has a default may be left out: `minimal` has a manager that leaves out all of it.
pub(in crate::site) trait Manager: Debug + Send + Sync + Sized {
    /// A job as it lists them.
    type Job: ManagerJob;

    /// As people call it.
    const NAME: &'static str;
    /// The command by which it lists nodes, for people.
    const LISTS_BY: &'static str;
    /// What a look asks for, a request each; those that come with another one are not named.
    const PARTS: &'static [SurveyPart] = &[SurveyPart::Jobs];
    /// Whether its lists say when jobs began and, for a while, how they ended, so that this counts
    /// more than the task's own word: it knows who has stopped a job. If not, a job that is over is
    /// simply not listed.
    const KEEPS_ENDED: bool;
    /// Whether cancelling a job kills its script at once. Then running tasks are told to stop by
    /// their folder, and jobs are cancelled by their mark, without a list.
    const CANCEL_KILLS: bool;
    /// Whether giving a reservation up ends the jobs in it.
    const UNRESERVE_KILLS: bool = false;

    /// How it calls things on a node.
    fn words(&self) -> &'static Words;

    /// What its job for this ticket carries: the same for no other submission, if it can hold that
    /// much, or else for no other tag.
    fn mark(ticket: &Ticket) -> String;

    // Lists.

    /// All jobs, with all that it says of them.
    ///
    /// # Errors
    /// If it does not answer, or only in part: never a list that lacks some.
    fn jobs(&mut self, base: &Base) -> Result<Vec<Self::Job>, SiteError>;

    /// All jobs, as cheaply as it can.
    ///
    /// # Errors
    /// As [`Manager::jobs`].
    fn jobs_in_brief(&mut self, base: &Base) -> Result<Vec<Self::Job>, SiteError> {
        self.jobs(base)
    }

    /// Whether a brief list is another, cheaper one, and says enough for most surveys.
    fn has_brief_list(&self, base: &Base) -> bool {
        let _ = base;
        false
    }

    /// Asks for nodes, and keeps them; nothing to do if they come with the jobs.
    ///
    /// # Errors
    /// If it does not answer.
    fn list_nodes(&mut self, base: &Base) -> Result<(), SiteError> {
        let _ = base;
        Ok(())
    }

    /// Asks for reservations, and keeps them.
    ///
    /// # Errors
    /// If it does not answer.
    fn list_reservations(
        &mut self,
        base: &Base,
        whose: ReservationsOf<'_>,
    ) -> Result<(), SiteError> {
        let _ = (base, whose);
        Ok(())
    }

    /// Those that were last listed.
    fn reservations(&self) -> Vec<Reservation> {
        Vec::new()
    }

    /// The pools, from nodes, reservations and jobs, in their order.
    ///
    /// # Errors
    /// If it had to be asked for more, and does not answer.
    fn pools(
        &mut self,
        base: &Base,
        view: &PoolsView<'_, Self::Job>,
    ) -> Result<Vec<PoolSurvey>, SiteError>;

    /// The jobs of others that wait, from the jobs that were last listed and without a request; empty
    /// if it does not list them.
    fn queue(&mut self, base: &Base, view: &PoolsView<'_, Self::Job>) -> WaitingJobs {
        let _ = (base, view);
        WaitingJobs::default()
    }

    /// The jobs of others that were listed as over, after they had nodes of ours; without a request.
    fn ended(&self, base: &Base, view: &PoolsView<'_, Self::Job>) -> Vec<EndedJob> {
        let _ = (base, view);
        Vec::new()
    }

    /// Jobs of others that ended from `since` on and may not be listed any more at `now`, as far as an
    /// accounting knows them.
    fn forgotten(&mut self, base: &Base, since: Time, now: Time) -> ForgottenJobs {
        let _ = (base, since, now);
        ForgottenJobs::default()
    }

    /// Running jobs with the tags of tasks of this market that have no ticket here and are not gone, by
    /// `base`: what is returned is listed as running.
    fn strays(&self, base: &Base, jobs: &[Self::Job]) -> Vec<(Tag, Seen)> {
        let _ = (base, jobs);
        Vec::new()
    }

    /// Its limits, read rarely; `None`: not known.
    fn limits(&mut self, base: &Base) -> Option<Arc<Limits>> {
        let _ = base;
        None
    }

    // What is special about its answers.

    /// What to say of a task whose job is listed and is over. `trace`: see [`judge::judge`].
    fn over(
        ticket: &Ticket,
        job: &Self::Job,
        trace: Option<Option<&Trace>>,
        now: Time,
    ) -> TaskVerdict {
        let _ = job;
        Self::absent(ticket, trace, now)
    }

    /// What to say of a task whose job is not listed.
    fn absent(ticket: &Ticket, trace: Option<Option<&Trace>>, now: Time) -> TaskVerdict {
        judge::absent::<Self>(ticket, trace, now)
    }

    /// What its records say of a task, for [`TaskVerdict::AskRecords`]; `None`: nothing yet. Never
    /// [`TaskVerdict::AskRecords`].
    ///
    /// # Errors
    /// If it does not answer.
    fn records(
        &mut self,
        base: &Base,
        task: &ManagedTask<'_, Self::Job>,
    ) -> Result<Option<TaskVerdict>, SiteError> {
        let _ = (base, task);
        Ok(None)
    }

    /// Names of a task's nodes, made of those that its script found.
    fn nodes(&self, base: &Base, pool: &str, here: &Here) -> Vec<String> {
        let _ = (base, pool);
        here.nodes.clone()
    }

    // Words.

    /// What can be said against an order before it is submitted.
    ///
    /// # Errors
    /// [`SiteError::Capped`] if the job asks for what it cannot have there, [`SiteError::Refused`] for
    /// other reasons; others if it had to be asked.
    fn check(&mut self, base: &Base, order: &Order, pool: usize) -> Result<(), SiteError> {
        let _ = (base, order, pool);
        Ok(())
    }

    /// Whether the manager itself sets the variable for each job.
    fn sets_variable(name: &str) -> bool {
        let _ = name;
        false
    }

    /// The script as it is submitted.
    ///
    /// # Errors
    /// [`SiteError::Refused`] if it cannot be.
    fn script(&self, script: String) -> Result<String, SiteError> {
        Ok(script)
    }

    /// Submits a job; several at the same time.
    fn submit(&self, base: &Base, one: &TaskSubmission<'_>) -> SubmitAnswer;

    /// Cancels the ticket's job as its account; `None`: by its mark ([`Manager::CANCEL_KILLS`]). An
    /// unknown one is no error then.
    ///
    /// # Errors
    /// If it does not answer.
    fn cancel(
        &self,
        base: &Base,
        ticket: &Ticket,
        job: Option<&Self::Job>,
    ) -> Result<(), SiteError>;

    /// Tells the ticket's job, which has its nodes, that they are taken back: by this signal, or by
    /// `SIGTERM` if its job named none.
    ///
    /// # Errors
    /// If it does not answer, or cannot tell jobs anything.
    fn notify(
        &self,
        base: &Base,
        ticket: &Ticket,
        job: &Self::Job,
        signal: Option<Warning>,
    ) -> Result<(), SiteError> {
        let _ = (base, job, signal);
        Err(SiteError::Refused(format!("{} cannot be told anything by its manager", ticket.tag)))
    }

    /// Releases a job that was submitted on hold; only for managers with `is_held` tickets.
    ///
    /// # Errors
    /// If it does not answer.
    fn release(&self, base: &Base, ticket: &Ticket, job: &Self::Job) -> Result<(), SiteError> {
        let _ = (base, ticket, job);
        Ok(())
    }

    // Reservations. A manager that has them gives all of these.

    /// The name of the reservation that keeps nodes of a pool for a job.
    fn reservation_name(base: &Base, market: &str, job: u64, pool: &str) -> String {
        let _ = (base, market, job, pool);
        String::new()
    }

    /// Whether [`Manager::reservation_name`] has made this name for some job of the market.
    fn is_reservation_of(base: &Base, name: &str, market: &str) -> bool {
        let _ = (base, name, market);
        false
    }

    /// Whether a reservation of the right name is what is wanted.
    ///
    /// # Errors
    /// If it had to be asked for more, and does not answer.
    fn fits(
        &mut self,
        base: &Base,
        known: &Reservation,
        wanted: &Aside,
    ) -> Result<bool, SiteError> {
        let _ = (base, known, wanted);
        Ok(false)
    }

    /// Reserves nodes.
    ///
    /// # Errors
    /// [`SiteError::Refused`] if the manager says no; others if it does not answer.
    fn reserve(&mut self, base: &Base, name: &str, wanted: &Aside) -> Result<(), SiteError> {
        let _ = (base, name, wanted);
        Err(SiteError::Refused(format!("{} cannot reserve nodes", Self::NAME)))
    }

    /// Gives a reservation up, which is listed no more then. An unknown one is no error.
    ///
    /// # Errors
    /// If it does not answer.
    fn unreserve(&mut self, base: &Base, known: &Reservation) -> Result<(), SiteError> {
        let _ = (base, known);
        Ok(())
    }

    // People.

    /// Whether all is there that is needed. Changes nothing.
    fn doctor(&mut self, base: &Base) -> Vec<Finding> {
        let mut all = vec![doctor::clock(base)];
        all.extend(doctor::accounts(base));
        all
    }
}
