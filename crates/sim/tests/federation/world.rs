//! Sites, jobs, a network and time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use tradewind_model::{Demand, JobId, Price, Span, Time, random};
use tradewind_sched::negotiation::{
    Durable, Entry, Input, Member, NegotiationSettings, Negotiator, Output, Parcel, Peer,
    Preference, Ticket,
};
use tradewind_sim::network::{Faults, Links, Network, Traffic};

use crate::checkers::Checker;
use crate::mutant::Mutant;
use crate::yard::{Manners, Whose, Yard};

/// What watchers get.
#[derive(Debug, Clone, Copy)]
pub(crate) enum News {
    Started(Peer, Ticket),
    Ended(Ticket),
}

/// What a world is made of.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<u32>,
    /// Home, submission, processors, length.
    pub(crate) jobs: Vec<(u32, i64, u32, i64)>,
    pub(crate) settings: NegotiationSettings,
    pub(crate) links: Links,
    pub(crate) faults: Faults,
    /// In thousandths: that a site crashes in a step, after writing and before speaking.
    pub(crate) crash: u32,
    /// In thousandths: that a job stays where it waits, unless it is too wide.
    pub(crate) stay: u32,
    pub(crate) mutant: Option<Mutant>,
}

#[derive(Debug)]
enum Mind {
    Up(Box<Negotiator>),
    Down(Durable),
}

#[derive(Debug)]
struct Place {
    mind: Mind,
    yard: Yard,
    entries: Vec<Entry>,
    /// Jobs that are too wide for the site.
    homeless: BTreeSet<Ticket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Ends(Peer, Ticket),
    Submitted(usize),
    Stops(Peer),
    Comes(Peer),
}

pub(crate) struct World {
    plan: Plan,
    peers: Arc<[Peer]>,
    now: Time,
    places: Vec<Place>,
    network: Network,
    parcels: BTreeMap<Ticket, Arc<Parcel>>,
    alive: BTreeSet<Ticket>,
    agenda: BTreeSet<(Time, Happening)>,
    crash: Pcg64Mcg,
    news: Vec<News>,
    work: VecDeque<(Peer, Input)>,
}

fn member(plan: &Plan, peers: &Arc<[Peer]>, me: Peer) -> Member {
    let Plan { settings, seed, .. } = *plan;
    Member { me, peers: Arc::clone(peers), settings, seed }
}

/// No world takes longer.
const LONGEST: Time = Time(1_000_000);

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let peers: Arc<[Peer]> = (0..plan.nodes.len() as u32).map(Peer).collect();
        let manners = match plan.mutant {
            Some(Mutant::Pushes) => Manners::Pushing,
            _ => Manners::Kept,
        };
        let place = |(&me, &nodes)| {
            let mind = Negotiator::new(member(&plan, &peers, me));
            let price = Price(i64::from(me.0 * 7 % 3 + 1));
            let yard = Yard::new(nodes, price, plan.links, manners);
            let mind = Mind::Up(Box::new(mind));
            Place { mind, yard, entries: vec![], homeless: BTreeSet::new() }
        };
        let places = peers.iter().zip(&plan.nodes).map(place).collect();
        let submits = plan.jobs.iter().enumerate();
        let submits = submits.map(|(index, job)| (Time(job.1), Happening::Submitted(index)));
        let stops = plan.faults.stops.iter().flat_map(|stop| {
            [(stop.from, Happening::Stops(stop.peer)), (stop.until, Happening::Comes(stop.peer))]
        });
        World {
            agenda: submits.chain(stops).collect(),
            network: Network::new(plan.links, plan.faults.clone(), plan.seed),
            crash: random::stream(plan.seed, "crash", 0),
            now: Time(0),
            places,
            parcels: BTreeMap::new(),
            alive: BTreeSet::new(),
            news: vec![],
            work: VecDeque::new(),
            peers,
            plan,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn durable(&self, peer: Peer) -> &Durable {
        match &self.places[peer.index()].mind {
            Mind::Up(negotiator) => negotiator.durable(),
            Mind::Down(durable) => durable,
        }
    }

    pub(crate) fn durables(&self) -> impl Iterator<Item = (Peer, &Durable)> {
        self.peers.iter().map(|peer| (*peer, self.durable(*peer)))
    }

    pub(crate) fn entries(&self, peer: Peer) -> &[Entry] {
        &self.places[peer.index()].entries
    }

    pub(crate) fn reservations(&self) -> impl Iterator<Item = ((Peer, Ticket), Time)> {
        self.peers.iter().flat_map(|peer| {
            let all = self.places[peer.index()].yard.reservations();
            all.into_iter().map(|(ticket, at)| ((*peer, ticket), at))
        })
    }

    pub(crate) fn is_mutated(&self) -> bool {
        self.plan.mutant.is_some()
    }

    /// Submitted and not over.
    pub(crate) fn alive(&self) -> impl Iterator<Item = Ticket> {
        self.alive.iter().copied()
    }

    pub(crate) fn is_alive(&self, ticket: Ticket) -> bool {
        self.alive.contains(&ticket)
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = Ticket> {
        (0..self.plan.jobs.len()).map(|index| self.ticket(index))
    }

    fn ticket(&self, index: usize) -> Ticket {
        Ticket { home: Peer(self.plan.jobs[index].0), job: JobId(index as u32) }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.network.traffic()
    }

    /// How often a job was accepted.
    pub(crate) fn moved(&self) -> u64 {
        let took = |entry: &&Entry| matches!(entry, Entry::Took { .. });
        self.places.iter().map(|place| place.entries.iter().filter(took).count() as u64).sum()
    }

    /// Runs until nothing moves; the name of the watcher that objects, and what it says.
    pub(crate) fn run(
        &mut self,
        checkers: &mut [Box<dyn Checker>],
    ) -> Result<(), (&'static str, String)> {
        while let Some(next) = self.next() {
            if next > LONGEST {
                let places = &self.places;
                return Err(("rest", format!("it never ends: {places:?}")));
            }
            self.now = next;
            self.places.iter().for_each(|place| place.yard.now.set(next));
            self.happen();
            self.look(checkers)?;
            while let Some(input) = self.take_work() {
                let (peer, input) = input;
                self.step(peer, input);
                self.look(checkers)?;
            }
        }
        checkers.iter_mut().try_for_each(|c| c.finish(self).map_err(|what| (c.name(), what)))
    }

    fn look(&mut self, checkers: &mut [Box<dyn Checker>]) -> Result<(), (&'static str, String)> {
        let news = std::mem::take(&mut self.news);
        checkers.iter_mut().try_for_each(|c| c.step(self, &news).map_err(|what| (c.name(), what)))
    }

    fn next(&self) -> Option<Time> {
        let due = self.places.iter().filter_map(|place| match &place.mind {
            Mind::Up(negotiator) => negotiator.due(),
            Mind::Down(_) => None,
        });
        let agenda = self.agenda.first().map(|(at, _)| *at);
        due.chain(agenda).chain(self.network.next()).min()
    }

    /// The next input: what follows from the last one, then messages, then alarms.
    fn take_work(&mut self) -> Option<(Peer, Input)> {
        if let Some(work) = self.work.pop_front() {
            return Some(work);
        }
        while let Some(envelope) = self.network.arrival(self.now) {
            let to = envelope.to;
            match self.places[to.index()].mind {
                Mind::Up(_) => return Some((to, Input::Heard(envelope))),
                Mind::Down(_) => self.network.missed(),
            }
        }
        let due = self.peers.iter().find(|peer| match &self.places[peer.index()].mind {
            Mind::Up(negotiator) => negotiator.due().is_some_and(|at| at <= self.now),
            Mind::Down(_) => false,
        });
        due.map(|peer| (*peer, Input::Tick))
    }

    /// Everything on the agenda for this second.
    fn happen(&mut self) {
        while let Some((at, what)) = self.agenda.first().copied()
            && at <= self.now
        {
            self.agenda.remove(&(at, what));
            match what {
                Happening::Ends(peer, ticket) => {
                    self.places[peer.index()].yard.ended(ticket);
                    self.news.push(News::Ended(ticket));
                    self.alive.remove(&ticket);
                    self.write(peer, Input::Over(ticket));
                    self.schedule(peer);
                }
                Happening::Submitted(index) => self.submit(index),
                Happening::Stops(peer) => {
                    let durable = self.durable(peer).clone();
                    self.places[peer.index()].mind = Mind::Down(durable);
                }
                Happening::Comes(peer) => self.restart(peer),
            }
        }
    }

    fn submit(&mut self, index: usize) {
        let (home, submit, processors, length) = self.plan.jobs[index];
        let (ticket, peer) = (self.ticket(index), Peer(home));
        let demand = Demand::new(processors, Span(length));
        let data_mb = self.plan.links.data_mb(processors);
        let parcel = Parcel { ticket, demand, submitted: Time(submit), data_mb, hops: 0 };
        self.parcels.insert(ticket, Arc::new(parcel));
        self.alive.insert(ticket);
        self.write(peer, Input::Joined(ticket));
        self.wait_at_home(peer, ticket);
        self.schedule(peer);
    }

    /// The job waits at the site, or for another site.
    fn wait_at_home(&mut self, peer: Peer, ticket: Ticket) {
        let (parcel, place) = (&self.parcels[&ticket], &mut self.places[peer.index()]);
        if parcel.demand.processors > place.yard.nodes {
            place.homeless.insert(ticket);
        } else {
            let whose = if ticket.home == peer { Whose::Own } else { Whose::Foreign };
            place.yard.join(parcel, whose);
        }
    }

    /// A change of the site's own making; it is written down even while the site is silent.
    fn write(&mut self, peer: Peer, input: Input) {
        let place = &mut self.places[peer.index()];
        match (&mut place.mind, input) {
            (Mind::Up(_), input) => self.step(peer, input),
            (Mind::Down(durable), input) => {
                let entry = match input {
                    Input::Joined(ticket) => Entry::Joined(ticket),
                    Input::Over(ticket) => Entry::Over(ticket),
                    _ => return,
                };
                durable.apply(&entry);
                place.entries.push(entry);
            }
        }
    }

    /// Starts what can start, and asks to pass everything else on.
    fn schedule(&mut self, peer: Peer) {
        let place = &mut self.places[peer.index()];
        let started = place.yard.start();
        let waiting = place.yard.waiting();
        let homeless = place.homeless.clone();
        for (ticket, until) in started {
            self.agenda.insert((until, Happening::Ends(peer, ticket)));
            self.news.push(News::Started(peer, ticket));
            self.work.push_back((peer, Input::Started(ticket)));
        }
        let stays = |ticket: &Ticket| {
            let mut rng = random::stream(self.plan.seed, "stays", u64::from(ticket.job.0));
            random::within(&mut rng, 1, 1_000) <= i64::from(self.plan.stay)
        };
        let better = waiting
            .into_iter()
            .filter(|ticket| !stays(ticket))
            .map(|ticket| (ticket, Preference::Better));
        for (ticket, wish) in
            better.chain(homeless.into_iter().map(|ticket| (ticket, Preference::Must)))
        {
            let parcel = Arc::clone(&self.parcels[&ticket]);
            self.work.push_back((peer, Input::PassOn(parcel, wish)));
        }
    }

    fn step(&mut self, peer: Peer, input: Input) {
        let place = &mut self.places[peer.index()];
        let Mind::Up(negotiator) = &mut place.mind else { return };
        let mut out = vec![];
        negotiator.step(self.now, input, &place.yard, &mut out);
        self.carry_out(peer, out);
    }

    fn carry_out(&mut self, peer: Peer, out: Vec<Output>) {
        let stormy = self.now < self.plan.faults.until;
        let crashes =
            stormy && random::within(&mut self.crash, 1, 1_000) <= i64::from(self.plan.crash);
        let hasty = self.plan.mutant == Some(Mutant::WritesLate);
        let mut moved = false;
        for output in out {
            let place = &mut self.places[peer.index()];
            match output {
                Output::Record(entry) => place.entries.push(entry),
                Output::Send(envelope) if !crashes || hasty => {
                    self.network.send(self.now, envelope);
                }
                Output::Send(_) => {}
                Output::TakeIn { parcel, .. } => {
                    self.parcels.insert(parcel.ticket, Arc::clone(&parcel));
                    self.wait_at_home(peer, parcel.ticket);
                    moved = true;
                }
                Output::Hold(ticket) => {
                    let left = place.yard.leave(ticket) || place.homeless.remove(&ticket);
                    assert!(left, "{ticket:?} was sent by {peer:?}, and did not wait there");
                    moved = true;
                }
                Output::Release(ticket) => {
                    self.wait_at_home(peer, ticket);
                    moved = true;
                }
                Output::HandedOver { .. } => {}
            }
        }
        self.mutate(peer);
        if crashes {
            self.restart(peer);
        } else if moved {
            self.schedule(peer);
        }
    }

    fn restart(&mut self, peer: Peer) {
        let mut durable = self.durable(peer).clone();
        match self.plan.mutant {
            Some(Mutant::Forgets) => durable.tombstones.clear(),
            Some(Mutant::WritesLate) => durable = self.without_the_last_entry(peer),
            _ => {}
        }
        self.revive(peer, durable);
    }

    fn revive(&mut self, peer: Peer, durable: Durable) {
        self.work.retain(|(whose, _)| *whose != peer);
        let member = member(&self.plan, &self.peers, peer);
        let place = &mut self.places[peer.index()];
        let mut out = vec![];
        let negotiator = Negotiator::restart(durable, member, self.now, &place.yard, &mut out);
        place.mind = Mind::Up(Box::new(negotiator));
        for output in out {
            match output {
                Output::Record(entry) => self.places[peer.index()].entries.push(entry),
                Output::Send(envelope) => self.network.send(self.now, envelope),
                other => unreachable!("{other:?} after a restart"),
            }
        }
        self.schedule(peer);
    }

    /// What a journal says whose last entry was not flushed, if that was a job that came in.
    fn without_the_last_entry(&mut self, peer: Peer) -> Durable {
        let Place { entries, yard, .. } = &mut self.places[peer.index()];
        if let Some(Entry::Took { parcel, .. }) = entries.last()
            && yard.leave(parcel.ticket)
        {
            entries.pop();
        }
        let mut durable = Durable::default();
        entries.iter().for_each(|entry| durable.apply(entry));
        durable
    }

    /// Planted faults of origins.
    fn mutate(&mut self, peer: Peer) {
        let Mind::Up(negotiator) = &self.places[peer.index()].mind else { return };
        let mut durable = negotiator.durable().clone();
        let Some((&transfer, _)) = durable.handing.first_key_value() else { return };
        match self.plan.mutant {
            Some(Mutant::LetsGo) => {
                durable.handing.remove(&transfer);
            }
            Some(Mutant::TakesBack) if self.tired(peer) => {
                durable.apply(&Entry::Kept(transfer));
                let ticket = durable.here.iter().find(|t| !negotiator.durable().here.contains(t));
                let ticket = *ticket.unwrap();
                self.wait_at_home(peer, ticket);
            }
            _ => return,
        }
        self.revive(peer, durable);
    }

    /// Whether a site has something in doubt for longer than it can bear.
    fn tired(&self, peer: Peer) -> bool {
        let entries = &self.places[peer.index()].entries;
        !matches!(entries.last(), Some(Entry::Handing { .. }))
    }
}
