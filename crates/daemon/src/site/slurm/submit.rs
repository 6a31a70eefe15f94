//! How a task is handed in.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tradewind_io::settings::cluster::{Members, Mode};

use super::hand_in::{self, Begin, Terms};
use super::listing::Job;
use super::{Slurm, caps, is_unanswered, pools, unwritten};
use crate::site::limits::Cap;
use crate::site::local::records::now;
use crate::site::local::sheet::refusal;
use crate::site::managed::bundle::{TaskScript, Paths, Words, ahead, near};
use crate::site::managed::news::bells;
use crate::site::managed::stage::Stage;
use crate::site::managed::tickets::{Ticket, stamp};
use crate::site::managed::tool::{Call, Who};
use crate::site::{Order, SiteError, Tag};

/// The largest script that Slurm takes, bytes, unless it is told otherwise.
const LARGEST: usize = 4_000_000;

/// How Slurm calls things on a node.
const WORDS: Words = Words {
    id: "echo \"$SLURM_JOB_ID\"",
    nodes: "case $SLURM_JOB_NODELIST in *[[,]*) \
            scontrol show hostnames \"$SLURM_JOB_NODELIST\" 2>/dev/null && return ;; esac; \
            echo \"$SLURM_JOB_NODELIST\"",
    // To steps alone: without `--batch` or `--full` the script is left out.
    signal: "scancel --signal=\"$1\" \"$SLURM_JOB_ID\"",
};

/// So many submissions are under way at once.
const HANDS: usize = 4;

/// What was said to a submission, and the limit that it met, if that is why.
type Answered = (Result<(), SiteError>, Option<Cap>);

/// A task that is about to be handed in.
struct Ready<'o> {
    /// Its place among those that were asked for.
    place: usize,
    order: &'o Order,
    pool: usize,
    ticket: Ticket,
    script: String,
}

impl Slurm {
    /// Hands tasks in, several at once, unless they were; the answers in their order.
    pub(super) fn take_in(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        let mut answers: Vec<Result<(), SiteError>> = vec![Ok(()); orders.len()];
        let mut answer = |place: usize, with: Result<(), SiteError>| {
            if let Some(answer) = answers.get_mut(place) {
                *answer = with;
            }
        };
        let (mut ready, mut jobs) = (Vec::new(), None);
        for (place, order) in orders.iter().enumerate() {
            match self.prepare(place, order, &mut jobs) {
                Ok(one) => ready.extend(one),
                Err(wrong) => answer(place, Err(wrong)),
            }
        }
        let tickets = ready.iter().map(|one| (one.order.tag.clone(), one.ticket.clone()));
        if let Err(error) = self.tickets.put(tickets.collect()) {
            ready.iter().for_each(|one| answer(one.place, Err(unwritten(&error))));
            return answers;
        }
        self.listen();
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for (one, (said, cap)) in ready.iter().zip(self.hand_in_all(&ready)) {
            if let Some(cap) = cap {
                self.caps.catch(&one.order.tag, cap);
            }
            match &said {
                Ok(()) => taken.push(one.order.tag.clone()),
                Err(SiteError::Refused(_)) => refused.push(one.order.tag.clone()),
                Err(_) => {}
            }
            answer(one.place, said);
        }
        if !refused.is_empty() {
            self.rhythm.distrust();
        }
        let taken = self.tickets.change_each(&taken, |_, ticket| ticket.is_taken = true);
        if let Err(error) = taken.and_then(|()| self.tickets.remove(&refused)) {
            let own = ready.iter().map(|one| one.place);
            own.for_each(|place| answer(place, Err(unwritten(&error))));
        }
        answers
    }

    /// What is needed to hand a task in; `None`: it was handed in before. `jobs` are Slurm's, once
    /// somebody has asked.
    fn prepare<'o>(
        &mut self,
        place: usize,
        order: &'o Order,
        jobs: &mut Option<Vec<Job>>,
    ) -> Result<Option<Ready<'o>>, SiteError> {
        let tag = &order.tag;
        if self.tickets.is_gone(tag) {
            return Ok(None);
        }
        if let Some(ticket) = self.tickets.get(tag) {
            let is_over = ticket.is_taken || ticket.is_withdrawn || ticket.ended.is_some();
            if !is_over && jobs.is_none() {
                *jobs = Some(self.jobs_in_brief()?);
            }
            let known = jobs.as_deref().unwrap_or_default();
            if is_over || Slurm::find(known, ticket).is_some() {
                return self.change(tag, |ticket| ticket.is_taken = true).map(|()| None);
            }
            // It was never heard of: it is handed in again, and its folder keeps it from running
            // twice should the first submission turn up after all.
        }
        let pool = self.check(order)?;
        let account = self.account(&order.user)?;
        let home = self.cluster.directory.replace("{user}", &account);
        let paths = Paths::of(order, &home);
        let ticket = self.ticket(order, account, &paths);
        let script = self.script(order, &paths, &ticket)?;
        Ok(Some(Ready { place, order, pool, ticket, script }))
    }

    fn script(&self, order: &Order, paths: &Paths, ticket: &Ticket) -> Result<String, SiteError> {
        // Slurm sets what is called after it; the array is the market's.
        let is_ours = |name: &str| !name.starts_with("SLURM_") || name.starts_with("SLURM_ARRAY_");
        let variables = order.variables.clone().into_iter();
        let variables = variables.filter(|(name, _)| is_ours(name)).collect();
        let bells = bells(&order.tag.market, &self.name);
        let bundle = TaskScript {
            bells: &bells,
            order,
            variables: &variables,
            paths,
            spool: &ticket.spool,
            start: near(order, now()),
            grace: Duration::from_secs(u64::try_from(self.cluster.grace.0).unwrap_or(0)),
            words: &WORDS,
        };
        let script = bundle.script();
        if script.len() > LARGEST {
            let why = format!("the script is too long: packed, {} bytes", script.len());
            return Err(SiteError::Refused(format!("{why}; Slurm takes {LARGEST}")));
        }
        Ok(script)
    }

    /// Some at a time; the answers in their order.
    fn hand_in_all(&self, ready: &[Ready<'_>]) -> Vec<Answered> {
        let next = AtomicUsize::new(0);
        let hand = || {
            let mut answers = Vec::new();
            while let Some(one) = ready.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((one.place, self.hand_in(one)));
            }
            answers
        };
        if ready.len() < 2 {
            return hand().into_iter().map(|(_, answer)| answer).collect();
        }
        let mut answers = thread::scope(|scope| {
            let hands: Vec<_> = (0..HANDS.min(ready.len())).map(|_| scope.spawn(hand)).collect();
            let joined =
                hands.into_iter().map(|hand| hand.join().unwrap_or_else(|it| resume_unwind(it)));
            joined.flatten().collect::<Vec<_>>()
        });
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// What can be said against an order without asking Slurm.
    fn check(&self, order: &Order) -> Result<usize, SiteError> {
        let refuse = |why: String| Err(SiteError::Refused(why));
        let Some(pool) = self.pool(&order.pool) else {
            return refuse(format!("there is no pool {:?}", order.pool));
        };
        let max = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > max {
            return refuse(format!("{} nodes: pool {:?} has {max}", order.nodes, order.pool));
        }
        match refusal(order) {
            Some(why) => refuse(why),
            None => Ok(pool),
        }
    }

    fn ticket(&self, order: &Order, account: String, paths: &Paths) -> Ticket {
        let spool = self.cluster.spool.replace("{user}", &account);
        let is_ahead = ahead(order, now()).is_some();
        Ticket {
            tag: order.tag.to_string(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            handed_in: stamp(),
            start: order.start.0,
            limit: order.limit.0,
            gather: order.gather.map(|span| span.0),
            directory: paths.directory.clone(),
            output: paths.output.clone(),
            spool,
            account,
            // Before Slurm hears of it: whoever finds the job knows that it is to be released.
            is_held: self.cluster.mode == Mode::HoldRelease && is_ahead,
            is_preemptible: order.is_preemptible,
            was_held: self.cluster.mode == Mode::HoldRelease && is_ahead,
            is_taken: false,
            is_withdrawn: false,
            is_recalled: false,
            ended: None,
            is_forgotten: false,
        }
    }

    /// Hands a task in whose ticket is written; the limit that it met, if that is why it was not
    /// taken.
    fn hand_in(&self, one: &Ready<'_>) -> Answered {
        let mut complaint = String::new();
        let said = self.hand_in_with(one, &mut complaint);
        let cap = said.as_ref().err().and_then(|_| caps::of_refusal(&complaint));
        match (said, cap) {
            // The first line says nothing but this word, and the second is the same for all.
            (Err(SiteError::Refused(why)), Some(cap)) if !why.contains(&cap.word) => {
                (Err(SiteError::Refused(format!("{}: {why}", cap.word))), Some(cap))
            }
            other => other,
        }
    }

    fn hand_in_with(&self, one: &Ready<'_>, complaint: &mut String) -> Result<(), SiteError> {
        let Ready { order, pool, ticket, script, .. } = one;
        let stage = Stage {
            tool: &self.tool,
            account: &ticket.account,
            tag: &order.tag,
            directory: &ticket.directory,
        };
        stage.run(&self.cluster.stage_in)?;
        let begin = self.begin(one)?;
        let none = Members::default();
        let members = self.members.get(*pool).unwrap_or(&none);
        let excluded = self.excluded(members);
        let terms = Terms {
            members,
            excluded: &excluded,
            unit: self.cluster.unit,
            options: &self.cluster.options,
            begin: &begin,
            now: now(),
        };
        let words = hand_in::words(order, &ticket.mark(), &terms);
        let call = Call { who: Who::User(&ticket.account), words, input: script.as_bytes() };
        let answer = self.tool.run(&call).inspect_err(|trouble| {
            // `sbatch` may have been trying again until it was killed.
            let said = trouble.to_string();
            complaint.push_str(said.rsplit_once("; it said: ").map_or("", |(_, said)| said));
        });
        let answer = answer.map_err(SiteError::from)?;
        if answer.is_good() {
            return Ok(());
        }
        complaint.push_str(&answer.err);
        let why = self.tool.failure(&call, &answer);
        if is_unanswered(&answer.err) || answer.code == Some(255) {
            return Err(SiteError::Unknown(why));
        }
        if let Begin::Within(name) = &begin
            && !order.aside
        {
            self.give_back(name);
        }
        Err(SiteError::Refused(why))
    }

    /// Brings a task's files, or takes them away.
    pub(super) fn stage(&self, tag: &Tag, commands: &[Vec<String>]) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let (account, directory) = (ticket.account.as_str(), ticket.directory.as_str());
        Stage { tool: &self.tool, account, tag, directory }.run(commands)
    }

    /// Nodes of the pool's partition that are not its own: only where hosts are named.
    fn excluded(&self, members: &Members) -> Vec<String> {
        if members.hosts.is_none() {
            return Vec::new();
        }
        let whole = Members { hosts: None, ..members.clone() };
        let own: Vec<&str> =
            pools::belonging(&self.nodes, members).iter().map(|node| node.name.as_str()).collect();
        let all = pools::belonging(&self.nodes, &whole).into_iter();
        all.map(|node| node.name.clone()).filter(|name| !own.contains(&name.as_str())).collect()
    }

    /// How the order's start is kept.
    fn begin(&self, one: &Ready<'_>) -> Result<Begin, SiteError> {
        let Ready { order, pool, ticket, .. } = one;
        match (self.cluster.mode, ahead(order, now())) {
            (Mode::Reservation, _) => {
                self.reserve_for(order, *pool, &ticket.account).map(Begin::Within)
            }
            _ if ticket.is_held => Ok(Begin::Held),
            (Mode::Begin, Some(start)) => Ok(Begin::After((start - now()).0)),
            _ => Ok(Begin::Now),
        }
    }
}
