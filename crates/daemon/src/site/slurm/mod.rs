//! Slurm, as a manager for `Driver`: its commands, its lists, and what is special about it.
//!
//! Every job's comment is its task's mark; Slurm's own numbers are used again after a crash of its
//! controller and identify nothing.

mod asked;
mod brief;
mod caps;
mod conf;
mod doctor;
#[cfg(test)]
mod driven;
mod ends;
mod forgotten;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod held;
mod hidden;
pub(in crate::site) mod hostlist;
mod limits;
mod listing;
mod moment;
pub(in crate::site) mod munge;
mod nodes;
mod pools;
mod queue;
mod reserve;
mod sbatch;
mod submit;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;

use tradewind_io::settings::cluster::{Accounts, NodeUnit};
use tradewind_io::submission::signal::{Receiver, Warning};
use tradewind_model::Time;

#[cfg(test)]
pub(in crate::site) use self::listing::SlurmJob;
#[cfg(not(test))]
use self::listing::SlurmJob;
use self::nodes::Node;
use super::limits::{Cap, Limits};
use super::managed::bundle::Words;
use super::managed::driver::judge::TaskVerdict;
use super::managed::driver::manager::{
    self, PoolsView, Reservation, ReservationsOf, SubmitAnswer, TaskSubmission,
};
use super::managed::driver::{Base, Driver, Manager, SurveyPart};
pub use super::managed::driver::{ManagedSettings, Ownership};
use super::managed::spool::Trace;
use super::managed::tickets::{Ticket, tag_in};
use super::managed::tool::{Call, CommandOutput, Who};
use super::observed::Observed;
use super::queued::{EndedJob, ForgottenJobs, WaitingJobs};
use super::{Aside, Finding, PoolSurvey, Seen, Site, SiteError, Tag};

/// What `sbatch` and its like say if the controller did not answer.
const NO_ANSWER: [&str; 9] = [
    "Unable to contact",
    "timed out",
    "Connection refused",
    "connect failure",
    "Communication connection failure",
    "Zero Bytes were transmitted",
    "Unexpected message received",
    "in standby mode",
    "temporarily un",
];

/// Lists all jobs, ended ones among them: newer versions leave those out unless they are asked for.
const WHOLE_LIST: [&str; 3] = ["squeue", "--json", "--states=all"];
/// Lists all nodes, also of hidden partitions.
const NODE_LIST: [&str; 5] = ["scontrol", "--all", "--oneliner", "show", "nodes"];

/// Opens a site under Slurm. The cluster itself is not asked.
///
/// # Errors
/// If the site's folder cannot be used, another adapter uses it, or a file in it is damaged.
pub fn open(settings: ManagedSettings) -> io::Result<Box<dyn Site>> {
    Ok(Box::new(Driver::open(settings, Controller::default(), None)?))
}

/// The same for a term of ownership: the site refuses orders of earlier ones.
///
/// # Errors
/// As [`open`].
pub fn open_for(settings: ManagedSettings, owned: Ownership) -> io::Result<Box<dyn Site>> {
    Ok(Box::new(Driver::open(settings, Controller::default(), Some(owned))?))
}

/// Opens a cluster that is only looked at. No command runs under a user's account.
///
/// # Errors
/// As [`open`], and if the folder has tasks of a market: a survey would settle them.
pub fn observe(settings: ManagedSettings) -> io::Result<Observed> {
    let mut settings = settings;
    let cluster = &mut settings.cluster;
    cluster.user_command.clear();
    cluster.accounts = Accounts::Of(BTreeMap::new());
    let folder = settings.folder.clone();
    let driver = Driver::open(settings, Controller::default(), None)?;
    if driver.has_tickets() {
        let why = format!("`{}` has tasks of a market", folder.display());
        return Err(io::Error::other(why));
    }
    Ok(Observed::of(Box::new(driver)))
}

/// Slurm's controller, and what it has listed last.
#[derive(Debug, Default)]
pub(in crate::site) struct Controller {
    nodes: Vec<Node>,
    reservations: Vec<listing::ListedReservation>,
    hidden: hidden::HiddenUse,
    /// Words in Slurm's answers that are not known, each said once in the log.
    unknown: BTreeSet<String>,
    limits: limits::KnownLimits,
}

/// Runs a command of ours that must end with 0.
fn ours(base: &Base, words: &[&str]) -> Result<CommandOutput, SiteError> {
    base.tool.must(&Call::ours(words)).map_err(|wrong| match wrong {
        SiteError::Unknown(why) => SiteError::Unknown(conf::told(why)),
        other => other,
    })
}

/// All jobs, with all that Slurm knows of them.
fn all_jobs(base: &Base) -> Result<Vec<SlurmJob>, SiteError> {
    let answer = ours(base, &WHOLE_LIST)?;
    listing::jobs(&answer.out).map_err(|wrong| base.misread("squeue --json", &wrong))
}

/// All nodes that the cluster has.
fn all_nodes(base: &Base) -> Result<Vec<Node>, SiteError> {
    let answer = ours(base, &NODE_LIST)?;
    nodes::nodes(&answer.text()).map_err(|wrong| base.misread("scontrol show nodes", &wrong))
}

fn all_reservations(base: &Base) -> Result<Vec<listing::ListedReservation>, SiteError> {
    let answer = ours(base, &["scontrol", "-o", "show", "reservation"])?;
    let all = listing::reservations(&answer.text());
    all.map_err(|wrong| base.misread("scontrol show reservation", &wrong))
}

/// Whether a complaint says that the controller did not answer: it may have done as asked.
fn is_unanswered(complaint: &str) -> bool {
    NO_ANSWER.iter().any(|sign| complaint.contains(sign))
}

/// The tag of a task of our markets of which nothing is known here: the journal was lost, say.
fn stray(base: &Base, job: &SlurmJob) -> Option<Tag> {
    let tickets = &base.tickets;
    let is_known = |tag: &Tag| tickets.get(tag).is_some() || tickets.is_gone(tag);
    tag_in(&job.comment).filter(|tag| base.markets.contains(&tag.market) && !is_known(tag))
}

impl Controller {
    /// Says in the log, once for each, which states in Slurm's answers are not known.
    fn tell_unknown(&mut self, base: &Base, jobs: &[SlurmJob]) {
        const MAX: usize = 100;
        let of_jobs = jobs.iter().filter(|job| job.is_unknown());
        let of_jobs = of_jobs.map(|job| format!("state {} of job {}", job.state, job.id));
        let of_nodes = self.nodes.iter().flat_map(|node| {
            node.unknown.iter().map(|word| format!("state {word} of node {}", node.name))
        });
        let all: BTreeMap<String, String> = of_jobs
            .chain(of_nodes)
            .map(|text| (text.split(" of ").next().unwrap_or_default().to_owned(), text))
            .collect();
        for (word, text) in all {
            if self.unknown.len() < MAX && self.unknown.insert(word) {
                let site = &base.name;
                tracing::warn!(
                    site,
                    "Slurm says {text}, which this version of Tradewind does not know"
                );
            }
        }
    }
}

impl manager::ManagerJob for SlurmJob {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn mark(&self) -> &str {
        &self.comment
    }

    fn account(&self) -> &str {
        &self.user
    }

    fn waits(&self) -> bool {
        self.is_waiting()
    }

    fn holds_nodes(&self) -> bool {
        self.has_nodes()
    }

    fn is_leaving(&self) -> bool {
        self.state == "COMPLETING"
    }

    fn is_running(&self) -> bool {
        self.state == "RUNNING"
    }

    fn submitted(&self) -> i64 {
        self.submitted
    }

    fn start(&self) -> i64 {
        self.start
    }

    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn restarts(&self) -> u32 {
        self.restarts
    }

    fn reason(&self) -> &str {
        &self.reason
    }

    fn shown(&self) -> String {
        format!("{} ({})", self.state, self.reason)
    }

    fn is_held(&self) -> bool {
        self.is_held
    }

    fn is_held_by_user(&self) -> bool {
        self.reason == "JobHeldUser"
    }

    fn is_held_by_administrator(&self) -> bool {
        self.reason == "JobHeldAdmin"
    }

    fn cap(&self) -> Option<Cap> {
        caps::of_reason(&self.reason)
    }
}

impl Manager for Controller {
    type Job = SlurmJob;

    const NAME: &'static str = "Slurm";
    const LISTS_BY: &'static str = "scontrol show nodes";
    const PARTS: &'static [SurveyPart] =
        &[SurveyPart::Reservations, SurveyPart::Nodes, SurveyPart::Jobs];
    const KEEPS_ENDED: bool = true;
    const CANCEL_KILLS: bool = false;

    fn words(&self) -> &'static Words {
        &submit::WORDS
    }

    fn mark(ticket: &Ticket) -> String {
        ticket.mark()
    }

    fn jobs(&mut self, base: &Base) -> Result<Vec<SlurmJob>, SiteError> {
        let jobs = all_jobs(base)?;
        self.tell_unknown(base, &jobs);
        Ok(jobs)
    }

    /// The same without what [`brief::jobs`] leaves out.
    fn jobs_in_brief(&mut self, base: &Base) -> Result<Vec<SlurmJob>, SiteError> {
        let mark = format!("<{:016x}>", RandomState::new().build_hasher().finish());
        let format = brief::format(&mark);
        let words = ["squeue", "--noheader", "--states=all", "--format", &format];
        let answer = ours(base, &words)?;
        let jobs = brief::jobs(&answer.text(), &mark);
        let jobs = jobs.map_err(|wrong| base.misread("squeue --format", &wrong))?;
        self.tell_unknown(base, &jobs);
        Ok(jobs)
    }

    /// Of memory and accelerators a brief list says nothing.
    fn has_brief_list(&self, base: &Base) -> bool {
        base.cluster.unit == NodeUnit::Node
    }

    fn list_nodes(&mut self, base: &Base) -> Result<(), SiteError> {
        self.nodes = all_nodes(base)?;
        Ok(())
    }

    fn list_reservations(&mut self, base: &Base, _: ReservationsOf<'_>) -> Result<(), SiteError> {
        self.reservations = all_reservations(base)?;
        Ok(())
    }

    fn reservations(&self) -> Vec<Reservation> {
        self.reservations.iter().map(reserve::of_list).collect()
    }

    fn pools(
        &mut self,
        base: &Base,
        view: &PoolsView<'_, SlurmJob>,
    ) -> Result<Vec<PoolSurvey>, SiteError> {
        // Whether jobs are hidden is read with the limits, rarely.
        self.limits_now(base);
        match self.hides_others(base, view) {
            true => self.hidden.note(&self.nodes, view.jobs, view.now),
            false => self.hidden.clear(),
        }
        let ours = view.jobs.iter().zip(view.ours).filter(|(_, is_ours)| **is_ours);
        let ours: BTreeSet<u64> = ours.map(|(job, _)| job.id).collect();
        let strays = view.jobs.iter().filter_map(|job| Some((job.id, stray(base, job)?))).collect();
        let standing = base.cluster.options.iter().find(|(name, _)| name == "reservation");
        let is_foreign = |it: &&listing::ListedReservation| {
            standing.is_none_or(|(_, name)| *name != it.name) && !reserve::is_own(base, &it.name)
        };
        let foreign: Vec<_> = self.reservations.iter().filter(is_foreign).cloned().collect();
        let listed = pools::Listed {
            jobs: view.jobs,
            nodes: &self.nodes,
            reservations: &foreign,
            ours: &ours,
            strays: &strays,
            hidden: self.hidden.nodes(),
            now: view.now,
        };
        let pools = base.pools.iter().zip(&base.members);
        let survey = |(pool, members): (&super::PoolSetup, _)| {
            pools::survey(&listed, members, base.cluster.unit, pool.nodes)
        };
        Ok(pools.map(survey).collect())
    }

    fn queue(&mut self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> WaitingJobs {
        // How partitions are ordered is read with the limits, rarely.
        self.limits_now(base);
        self.queue_of(base, view)
    }

    fn ended(&self, base: &Base, view: &PoolsView<'_, SlurmJob>) -> Vec<EndedJob> {
        self.ended_of(base, view)
    }

    fn forgotten(&mut self, base: &Base, since: Time, now: Time) -> ForgottenJobs {
        self.forgotten_of(base, since, now)
    }

    fn strays(&self, base: &Base, jobs: &[SlurmJob]) -> Vec<(Tag, Seen)> {
        let here = |job: &&SlurmJob| {
            let is_ours = |name| base.members.iter().any(|it| it.partition.as_ref() == Some(name));
            job.partitions.iter().any(is_ours)
        };
        let seen = |job: &SlurmJob| {
            let nodes = job.nodes.clone();
            Some((stray(base, job)?, Seen::Running { since: Time(job.start), nodes }))
        };
        jobs.iter().filter(|job| job.has_nodes()).filter(here).filter_map(seen).collect()
    }

    fn limits(&mut self, base: &Base) -> Option<Arc<Limits>> {
        Some(self.limits_now(base))
    }

    fn over(
        ticket: &Ticket,
        job: &SlurmJob,
        trace: Option<Option<&Trace>>,
        now: Time,
    ) -> TaskVerdict {
        ends::over(ticket, job, trace, now)
    }

    /// Slurm sets what is called after it; the array is the market's.
    fn sets_variable(name: &str) -> bool {
        // For Slurm each attempt is another job, which was never requeued.
        name.starts_with("SLURM_")
            && !name.starts_with("SLURM_ARRAY_")
            && name != "SLURM_RESTART_COUNT"
    }

    fn script(&self, script: String) -> Result<String, SiteError> {
        submit::script(script)
    }

    fn submit(&self, base: &Base, one: &TaskSubmission<'_>) -> SubmitAnswer {
        self.sbatch(base, one)
    }

    fn cancel(
        &self,
        base: &Base,
        ticket: &Ticket,
        job: Option<&SlurmJob>,
    ) -> Result<(), SiteError> {
        let Some(job) = job else { return Ok(()) };
        let id = job.id.to_string();
        let call = Call::by(Who::User(&ticket.account), &["scancel", &id]).order();
        base.tool.must(&call).map(|_| ())
    }

    /// To the script or to its steps, as the job says; else to both: `--full` would tell the script twice.
    fn notify(
        &self,
        base: &Base,
        ticket: &Ticket,
        job: &SlurmJob,
        signal: Option<Warning>,
    ) -> Result<(), SiteError> {
        const SIGTERM: i32 = 15;
        let id = job.id.to_string();
        let number = format!("--signal={}", signal.map_or(SIGTERM, |it| it.number));
        let to_script = ["scancel", &number, "--batch", &id];
        let to_steps = ["scancel", &number, &id];
        let send = |words: &[&str]| {
            base.tool.must(&Call::by(Who::User(&ticket.account), words).order()).map(|_| ())
        };
        match signal.map(|it| it.to) {
            Some(Receiver::Script) => send(&to_script),
            Some(Receiver::Steps) => send(&to_steps),
            None => {
                send(&to_script)?;
                // It may have no steps.
                let _ = send(&to_steps);
                Ok(())
            }
        }
    }

    fn release(&self, base: &Base, ticket: &Ticket, job: &SlurmJob) -> Result<(), SiteError> {
        let id = job.id.to_string();
        let call = Call::by(Who::User(&ticket.account), &["scontrol", "release", &id]).order();
        base.tool.must(&call).map(|_| ())
    }

    fn reservation_name(_: &Base, market: &str, job: u64, pool: &str) -> String {
        reserve::name(market, job, pool)
    }

    fn is_reservation_of(base: &Base, name: &str, market: &str) -> bool {
        reserve::is_name(name, Some(market), &base.pools)
    }

    fn fits(&mut self, _: &Base, known: &Reservation, wanted: &Aside) -> Result<bool, SiteError> {
        Ok(!reserve::is_moved(known.from, wanted.from, super::clock::now()))
    }

    fn reserve(&mut self, base: &Base, name: &str, wanted: &Aside) -> Result<(), SiteError> {
        self.put_aside(base, name, wanted)
    }

    fn unreserve(&mut self, base: &Base, known: &Reservation) -> Result<(), SiteError> {
        reserve::give_back(base, &known.name);
        self.reservations.retain(|it| it.name != known.name);
        Ok(())
    }

    fn doctor(&mut self, base: &Base) -> Vec<Finding> {
        self.look_around(base)
    }
}
