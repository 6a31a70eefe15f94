//! A thread for each site: it passes orders on, returns answers, and surveys the site repeatedly.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tradewind_model::SiteId;

use super::busy::{self, Busy, SiteCall};
use super::handle::TermHandle;
use super::lease::Lease;
pub(super) use super::reads::Reader;
use crate::live::site_health::known_cause;
use crate::live::{Act, Input, Instruction};
use crate::site::{
    Aside, Demand, Excerpt, Reading, Seen, Site, SiteError, Survey, Tag, Turn, Wake,
};

/// What messages recommend to the administrator.
const DOCTOR: &str = "`tradewind doctor` says what to do";

/// So long all sites together may take to stop.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// So many orders are given to a site at once; meanwhile all others wait.
const AT_ONCE: usize = 32;
/// How long a site's thread waits at once for the market to take in its survey.
const UNHEARD: Duration = Duration::from_secs(1);
/// A look that showed news of our tasks is followed by the next one so many times sooner: where
/// one has ended, others will, and nodes stay idle until it is known.
const SOONER: u32 = 4;

/// A site and who owns it.
#[derive(Debug)]
pub struct SiteSetup {
    /// Unique name of the site.
    pub name: String,
    /// A user's name.
    pub owner: String,
    /// How to talk to it.
    pub site: Box<dyn Site>,
    /// How often it is looked at.
    pub survey_every: Duration,
    /// A survey that takes longer has failed: the site counts as away until one comes.
    pub survey_within: Duration,
}

/// What a site's thread is to do.
pub(super) enum SiteRequest {
    /// Orders for the site, in their order.
    Tell(Vec<Instruction>),
    /// To keep these nodes free for jobs of the market of this name.
    SetAside(String, Vec<Aside>),
    /// To say how a part of what a task has written is read.
    Read(Tag, Excerpt, SyncSender<Result<Reading, SiteError>>),
    /// To take a turn: the site has news.
    Wake,
    /// The market has taken in its last survey.
    Heard,
    /// Whether jobs wait for nodes, for the site.
    Expect(Demand),
    /// To stop, when all else is done.
    Stop,
}

impl std::fmt::Debug for SiteRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Errand")
    }
}

/// A site's thread.
#[derive(Debug)]
pub(super) struct Worker {
    site: String,
    errands: Sender<SiteRequest>,
    busy: Arc<Busy>,
    thread: JoinHandle<()>,
    _watch: Sender<()>,
}

impl Worker {
    pub(super) fn start(
        id: SiteId,
        setup: SiteSetup,
        engine: TermHandle,
        lease: Arc<Lease>,
    ) -> std::io::Result<Worker> {
        let (errands, receive) = channel();
        let (site, name) = (setup.name.clone(), format!("site-{}", setup.name));
        let busy = Busy::new(setup.survey_within);
        if let Some(requests) = setup.site.requests() {
            engine.gauges().counts(id, requests);
        }
        let bell = errands.clone();
        let mut setup = setup;
        // A thread that has ended needs no waking.
        setup.site.attend(Wake::by(move || bell.send(SiteRequest::Wake).unwrap_or_default()));
        let watch = busy::watch(id, site.clone(), Arc::clone(&busy), engine.clone());
        let inside = Arc::clone(&busy);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let (voice, tasks, busy) = (Voice::new(&setup), BTreeMap::new(), inside);
            let is_heard = true;
            Talk { id, setup, engine, errands: receive, voice, tasks, busy, is_heard, lease }
                .go_on();
        })?;
        Ok(Worker { site, errands, busy, thread, _watch: watch })
    }

    /// The market has taken in what the site said last: the next survey may come.
    pub(super) fn heard(&self) {
        drop(self.errands.send(SiteRequest::Heard));
    }

    /// Sends orders to the site, in their order.
    pub(super) fn tell(&self, orders: Vec<Instruction>) {
        drop(self.errands.send(SiteRequest::Tell(orders))); // a dead thread: the site counts as away
    }

    /// Sends the site its reservations.
    pub(super) fn set_aside(&self, market: &str, wanted: Vec<Aside>) {
        drop(self.errands.send(SiteRequest::SetAside(market.to_owned(), wanted)));
    }

    /// Tells the site whether jobs wait for nodes.
    pub(super) fn expect(&self, demand: Demand) {
        drop(self.errands.send(SiteRequest::Expect(demand)));
    }

    pub(super) fn reader(&self) -> Reader {
        Reader { errands: self.errands.clone(), busy: Arc::clone(&self.busy) }
    }
}

/// Waits until the sites have got their orders, but not for one that hangs: its thread
/// is left behind, as if the daemon had been killed.
pub(super) fn stop(workers: Vec<Worker>) {
    for worker in &workers {
        drop(worker.errands.send(SiteRequest::Stop));
    }
    let until = Instant::now() + LAST_WAIT;
    for worker in workers {
        while !worker.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        match worker.thread.is_finished() {
            true => drop(worker.thread.join()),
            false => tracing::warn!(site = worker.site, "the site hangs: not waited for any more"),
        }
    }
}

struct Talk {
    id: SiteId,
    setup: SiteSetup,
    engine: TermHandle,
    errands: Receiver<SiteRequest>,
    voice: Voice,
    /// As they were last seen.
    tasks: BTreeMap<Tag, Seen>,
    busy: Arc<Busy>,
    /// Whether the market has taken in the last survey. Until then there is no next one: surveys of a site whose
    /// queue takes long to look ahead at would keep all others waiting.
    is_heard: bool,
    /// Orders reach the site only while it holds.
    lease: Arc<Lease>,
}

/// Says in the log what is wrong with a site: when it begins and when it is over, not at every
/// survey.
struct Voice {
    site: String,
    pools: Vec<String>,
    /// Who says which nodes there are.
    lists: String,
    /// Why there was no answer: the cause where it is known, since commands differ from one try to the
    /// next.
    wrong: Option<String>,
    /// By pool, whether it had no node that works.
    is_empty: Vec<bool>,
}

impl Voice {
    fn new(setup: &SiteSetup) -> Voice {
        let pools: Vec<String> = setup.site.pools().iter().map(|it| it.name.clone()).collect();
        let is_empty = vec![false; pools.len()];
        let lists = match setup.site.lists_by() {
            Some(command) => format!("`{command}` lists"),
            None => "the site lists".to_owned(),
        };
        Voice { site: setup.name.clone(), pools, lists, wrong: None, is_empty }
    }

    fn hear(&mut self, survey: &Result<Survey, SiteError>) {
        let (site, lists) = (&self.site, &self.lists);
        match survey {
            Err(wrong) => {
                let said = wrong.to_string();
                let cause = known_cause(&said).map_or(said, str::to_owned);
                if self.wrong.as_ref() != Some(&cause) {
                    tracing::warn!(site, %wrong, "the site does not answer; {DOCTOR}");
                    self.wrong = Some(cause);
                }
            }
            Ok(survey) => {
                if self.wrong.take().is_some() {
                    tracing::warn!(site, "the site answers again");
                }
                let each = survey.pools.iter().zip(&self.pools).zip(&mut self.is_empty);
                for ((seen, pool), was_empty) in each {
                    let is_empty = seen.up == 0;
                    if is_empty && !*was_empty {
                        match &seen.problem {
                            Some(problem) => tracing::error!(site, pool, "{problem}; {DOCTOR}"),
                            None => tracing::warn!(
                                site,
                                pool,
                                "{lists} no node of the pool that is up; {DOCTOR}"
                            ),
                        }
                    }
                    *was_empty = is_empty;
                }
            }
        }
    }

    /// An order that failed is sent again and again: while the site does not answer, the log has said so.
    fn refused(&self, tag: &Tag, act: Act, wrong: &SiteError) {
        let site = &self.site;
        match &self.wrong {
            _ if *wrong == SiteError::Staging => {}
            Some(_) => tracing::debug!(site, %tag, ?act, %wrong, "the site says no"),
            None => tracing::warn!(site, %tag, ?act, %wrong, "the site says no; {DOCTOR}"),
        }
    }
}

impl Talk {
    fn go_on(mut self) {
        let mut waiting: VecDeque<Instruction> = VecDeque::new();
        let mut next = Instant::now();
        let (mut stopping, mut is_woken) = (false, false);
        loop {
            next = self.setup.site.due().unwrap_or(next);
            if (is_woken || Instant::now() >= next) && self.is_heard && !stopping {
                is_woken = false;
                match self.turn() {
                    Ok(pause) => next = Instant::now() + pause,
                    Err(super::EngineStopped) => return,
                }
                next = self.setup.site.due().unwrap_or(next);
            }
            let pause = match self.is_heard {
                true => next.saturating_duration_since(Instant::now()),
                false => UNHEARD,
            };
            let more = match waiting.is_empty() && !stopping {
                true => self.errands.recv_timeout(pause),
                false => self.errands.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            };
            match more {
                Ok(SiteRequest::Tell(orders)) => {
                    // Who waits for others to begin on the second is not to wait for us.
                    let (go, others) = orders.into_iter().partition(|it| it.act == Act::Go);
                    let go: Vec<Instruction> = go;
                    go.into_iter().rev().for_each(|order| waiting.push_front(order));
                    waiting.extend::<Vec<Instruction>>(others);
                }
                Ok(SiteRequest::SetAside(market, wanted)) => {
                    if self.set_aside(&market, &wanted).is_err() {
                        return;
                    }
                }
                Ok(SiteRequest::Read(tag, wanted, answer)) => {
                    drop(answer.send(self.setup.site.reading(&tag, &wanted)));
                }
                Ok(SiteRequest::Wake) => is_woken = true,
                Ok(SiteRequest::Heard) => self.is_heard = true,
                Ok(SiteRequest::Expect(demand)) => self.setup.site.expect(demand),
                Ok(SiteRequest::Stop) => stopping = true,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let orders = next_of(&mut waiting);
                    let done = match orders.is_empty() {
                        true => stopping,
                        false => self.carry_out(&orders).is_err(),
                    };
                    if done {
                        return;
                    }
                }
            }
        }
    }

    /// Lets the site have its turn; how long to wait until the next, if the site does not mind.
    fn turn(&mut self) -> Result<Duration, super::EngineStopped> {
        let begin = Instant::now();
        let site = &mut self.setup.site;
        let turn = self.busy.during(SiteCall::Survey, || site.turn());
        let took = begin.elapsed();
        let every = self.setup.survey_every;
        // What was asked in an earlier term says nothing to a later one.
        if self.lease.lost().is_some() {
            return Err(super::EngineStopped);
        }
        let survey = match turn {
            Turn::Nothing => return Ok(every),
            Turn::Heard(survey) => Ok(survey),
            Turn::Looked(survey) => {
                self.voice.hear(&survey);
                let wrong = survey.as_ref().err().map(ToString::to_string);
                self.engine.gauges().looked(self.id, took, wrong);
                tracing::trace!(site = self.setup.name, took_ms = took.as_millis(), "surveyed");
                survey
            }
        };
        let pause = match &survey {
            Ok(survey) if self.is_news(survey) => (every / SOONER).max(took).min(every),
            _ => every,
        };
        self.is_heard = false;
        self.engine.tell(Input::Surveyed { site: self.id, survey })?;
        Ok(pause)
    }

    /// Whether a task is not as it was.
    fn is_news(&mut self, survey: &Survey) -> bool {
        let is_new = |(tag, seen): (&Tag, &Seen)| self.tasks.get(tag) != Some(seen);
        let is_news = survey.tasks.iter().any(is_new);
        self.tasks.clone_from(&survey.tasks);
        is_news
    }

    fn set_aside(&mut self, market: &str, wanted: &[Aside]) -> Result<(), super::EngineStopped> {
        let Some(_underway) = self.lease.order() else { return Ok(()) };
        let site = &mut self.setup.site;
        let denied = match self.busy.during(SiteCall::Orders, || site.set_aside(market, wanted)) {
            Ok(denied) => denied,
            Err(SiteError::Refused(why)) => {
                wanted.iter().map(|aside| (aside.job, why.clone())).collect()
            }
            // The order will be repeated.
            Err(wrong) => {
                tracing::warn!(site = self.setup.name, %wrong, "nodes are not set aside");
                return Ok(());
            }
        };
        for (job, why) in &denied {
            tracing::warn!(site = self.setup.name, job, why, "nodes are not set aside");
        }
        match denied.is_empty() {
            true => Ok(()),
            false => self.engine.tell(Input::SetAside { site: self.id, denied }),
        }
    }

    fn carry_out(&mut self, orders: &[Instruction]) -> Result<(), super::EngineStopped> {
        // Without the lease nothing is said, and what was not answered is ordered again.
        let Some(underway) = self.lease.order() else { return Ok(()) };
        let site = &mut *self.setup.site;
        let answers =
            self.busy.during(SiteCall::Orders, || Instruction::carry_out_all(orders, site));
        drop(underway);
        for (order, answer) in orders.iter().zip(answers) {
            let (tag, act) = (order.tag.clone(), order.act);
            if let Err(wrong) = &answer {
                self.voice.refused(&tag, act, wrong);
            }
            self.engine.tell(Input::Answered { tag, act, answer })?;
        }
        Ok(())
    }
}

/// The first order, and those right behind it that a site may get together with it. One that
/// concerns the same task comes later.
fn next_of(waiting: &mut VecDeque<Instruction>) -> Vec<Instruction> {
    let mut all: Vec<Instruction> = waiting.pop_front().into_iter().collect();
    while all.len() < AT_ONCE {
        let fits = |next: &Instruction| {
            let is_of_many = |first: &Instruction| first.is_of_many() && first.act == next.act;
            all.first().is_some_and(is_of_many) && all.iter().all(|it| it.tag != next.tag)
        };
        if !waiting.front().is_some_and(fits) {
            break;
        }
        all.extend(waiting.pop_front());
    }
    all
}

#[cfg(test)]
mod tests {
    use tradewind_model::Time;

    use super::super::handle::{Handle, Message};
    use super::*;
    use crate::site::fake::FakeSite;
    use crate::site::{Order, PoolSetup};

    /// A site that answers an order when the term in which it was given is over.
    #[derive(Debug)]
    struct Slow(FakeSite, Arc<Lease>);

    impl Site for Slow {
        fn pools(&self) -> &[PoolSetup] {
            self.0.pools()
        }

        fn survey(&mut self) -> Result<Survey, SiteError> {
            self.0.survey()
        }

        fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
            self.0.submit(order)
        }

        fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
            self.1.lose("taken over");
            self.0.withdraw(tag)
        }

        fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
            self.0.recall(tag)
        }

        fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
            self.0.forget(tag)
        }

        fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
            self.0.output(tag, max)
        }

        fn doctor(&mut self) -> Vec<crate::site::Finding> {
            self.0.doctor()
        }
    }

    const LONG: Duration = Duration::from_secs(600);

    /// A site's thread, and what it tells the engine.
    fn worker(is_slow: bool, survey_every: Duration) -> (Worker, Receiver<Message>) {
        let lease = Lease::timed(crate::engine::Tick::now(), LONG);
        let (handle, messages) = Handle::pair();
        let fake = FakeSite::new(Vec::new(), Time(0));
        let site: Box<dyn Site> = match is_slow {
            true => Box::new(Slow(fake, Arc::clone(&lease))),
            false => Box::new(fake),
        };
        let (name, owner) = ("a".to_owned(), "o".to_owned());
        let setup = SiteSetup { name, owner, site, survey_every, survey_within: LONG };
        let engine = TermHandle::new(handle, Arc::clone(&lease));
        (Worker::start(SiteId(0), setup, engine, lease).unwrap(), messages)
    }

    /// How many answers to a withdrawal an engine gets.
    fn heard(is_slow: bool) -> usize {
        let (worker, messages) = worker(is_slow, LONG);
        let tag = Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 };
        let (site, act) = (SiteId(0), Act::Withdraw);
        worker.tell(vec![Instruction { site, tag, act, order: None, go: None, signal: None }]);
        stop(vec![worker]);
        let answers = messages.try_iter().filter(|it| match it {
            Message::Input(input) => matches!(**input, Input::Answered { .. }),
            _ => false,
        });
        answers.count()
    }

    #[test]
    fn an_answer_that_comes_when_the_term_is_over_is_not_heard_in_the_next_one() {
        assert_eq!((heard(false), heard(true)), (1, 0));
    }

    #[test]
    fn there_is_no_survey_before_the_last_one_was_taken_in() {
        let (worker, messages) = worker(false, Duration::from_millis(1));
        for _ in 0..3 {
            messages.recv_timeout(LONG).unwrap();
            assert!(messages.recv_timeout(Duration::from_millis(50)).is_err());
            worker.heard();
        }
        stop(vec![worker]);
    }
}
