//! The negotiators of all sites, and the network between them.

use std::sync::Arc;

use tradewind_model::{PoolId, Time};

use super::host::{SiteHost, SiteView};
use super::job::{JobPhase, peer};
use super::{AutonomousSites, Moment, Signal, Transport};
use crate::negotiation::{
    Durable, Entry, Host, Input, Member, NegotiationSettings, Negotiator, Output, Peer, Preference,
};
use crate::policy::local::Timers;

/// How sites pass jobs on.
#[derive(Debug)]
pub struct Migration<N> {
    /// How they negotiate.
    pub negotiation: NegotiationSettings,
    /// Seed of what negotiators draw: whom to ask.
    pub seed: u64,
    /// What carries their messages.
    pub network: N,
}

#[derive(Debug)]
enum MigrationState {
    Up(Box<Negotiator>),
    /// What it has written down.
    Down(Durable),
}

#[derive(Debug)]
pub(super) struct Negotiators<N> {
    all: Vec<MigrationState>,
    peers: Arc<[Peer]>,
    settings: NegotiationSettings,
    seed: u64,
    pub(super) network: N,
    /// When each negotiator is due.
    timers: Timers,
}

impl<N: Transport> Negotiators<N> {
    pub(super) fn new(sites: usize, migration: Migration<N>) -> Negotiators<N> {
        let Migration { negotiation: settings, seed, network } = migration;
        let peers: Arc<[Peer]> = (0..sites as u32).map(Peer).collect();
        let member = |me: &Peer| Member { me: *me, peers: Arc::clone(&peers), settings, seed };
        let up = |me| MigrationState::Up(Box::new(Negotiator::new(member(me))));
        Negotiators {
            all: peers.iter().map(up).collect(),
            settings,
            seed,
            network,
            timers: Timers::new(sites),
            peers,
        }
    }

    pub(super) fn durables(&self) -> impl Iterator<Item = (Peer, &Durable)> {
        self.peers.iter().zip(&self.all).map(|(peer, state)| match state {
            MigrationState::Up(negotiator) => (*peer, negotiator.durable()),
            MigrationState::Down(durable) => (*peer, durable),
        })
    }

    /// When the next signal arrives or a negotiator is due.
    pub(super) fn next(&self) -> Option<Time> {
        [self.network.next(), self.timers.next()].into_iter().flatten().min()
    }

    /// A negotiator that is due.
    fn due(&self, now: Time) -> Option<PoolId> {
        self.timers.until(now).next().map(|site| PoolId(site as u32))
    }
}

impl MigrationState {
    /// One input for one negotiator; while it is down, it only writes down what its own jobs do.
    fn step(&mut self, input: Input, now: Time, host: &dyn Host, out: &mut Vec<Output>) {
        match (self, input) {
            (MigrationState::Up(negotiator), input) => negotiator.step(now, input, host, out),
            (MigrationState::Down(durable), Input::Joined(ticket)) => {
                durable.apply(&Entry::Joined(ticket));
            }
            (MigrationState::Down(durable), Input::Over(ticket)) => {
                durable.apply(&Entry::Over(ticket));
            }
            (MigrationState::Down(_), _) => {}
        }
    }

    fn stop(&mut self) {
        if let MigrationState::Up(negotiator) = self {
            *self = MigrationState::Down(negotiator.durable().clone());
        }
    }

    fn restart(&mut self, member: Member, now: Time, host: &dyn Host, out: &mut Vec<Output>) {
        let MigrationState::Down(durable) = self else { return };
        let negotiator = Negotiator::restart(std::mem::take(durable), member, now, host, out);
        *self = MigrationState::Up(Box::new(negotiator));
    }

    fn due(&self) -> Option<Time> {
        match self {
            MigrationState::Up(negotiator) => negotiator.due(),
            MigrationState::Down(_) => None,
        }
    }
}

/// What happens to a negotiator.
enum NegotiatorEvent {
    Input(Input),
    Stop,
    Restart,
}

impl<N: Transport> AutonomousSites<N> {
    /// Gives negotiators all inputs and signals, until nothing more happens at this moment.
    pub(super) fn negotiate(&mut self, moment: &mut Moment<'_>) {
        loop {
            for (site, input) in std::mem::take(&mut moment.inputs) {
                self.step(moment, site, NegotiatorEvent::Input(input));
            }
            if !moment.inputs.is_empty() {
                continue;
            }
            let Some(negotiators) = &mut self.negotiators else { return };
            let (to, step) = match negotiators.network.receive(moment.now) {
                Some(Signal::Message(envelope)) => {
                    (envelope.to, NegotiatorEvent::Input(Input::Heard(envelope)))
                }
                Some(Signal::Stopped(peer)) => (peer, NegotiatorEvent::Stop),
                Some(Signal::Restarted(peer)) => (peer, NegotiatorEvent::Restart),
                None => match negotiators.due(moment.now) {
                    Some(site) => (peer(site), NegotiatorEvent::Input(Input::Tick)),
                    None => return,
                },
            };
            self.step(moment, PoolId(to.0), step);
        }
    }

    fn step(&mut self, moment: &mut Moment<'_>, site: PoolId, step: NegotiatorEvent) {
        let Some(negotiators) = &mut self.negotiators else { return };
        let (me, now) = (peer(site), moment.now);
        let (local, pools) = (&*self.sites[site.index()], moment.market.pools());
        let by_status = negotiators.settings.choose.goes_by_status();
        let recent = by_status.then(|| &self.slowdowns[site.index()]);
        let site_view = SiteView { now, local, pools, id: site, recent };
        let host = SiteHost { me, site: site_view, network: &negotiators.network };
        let state = &mut negotiators.all[site.index()];
        let restarts = matches!(step, NegotiatorEvent::Restart);
        let mut out = Vec::new();
        match step {
            NegotiatorEvent::Input(input) => state.step(input, now, &host, &mut out),
            NegotiatorEvent::Stop => state.stop(),
            NegotiatorEvent::Restart => {
                let (settings, seed) = (negotiators.settings, negotiators.seed);
                let peers = Arc::clone(&negotiators.peers);
                state.restart(Member { me, peers, settings, seed }, now, &host, &mut out);
            }
        }
        negotiators.timers.set(site.index(), state.due());
        self.carry_out(moment, site, out);
        if restarts {
            self.ask_again(moment, site);
        }
    }

    /// A negotiator that was down has forgotten its searches. Jobs that cannot run at this site
    /// are searched for again.
    fn ask_again(&mut self, moment: &mut Moment<'_>, site: PoolId) {
        let here = self.jobs.iter().filter(|(_, job)| job.site == site);
        let unplaced = here.filter(|(_, job)| job.phase == JobPhase::Unplaced);
        let wish = |parcel| (site, Input::PassOn(parcel, Preference::Must));
        moment.inputs.extend(unplaced.map(|(_, job)| wish(Arc::clone(&job.parcel))));
    }

    fn carry_out(&mut self, moment: &mut Moment<'_>, site: PoolId, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Record(_) | Output::HandedOver { .. } => {}
                Output::Send(envelope) => {
                    if let Some(negotiators) = &mut self.negotiators {
                        negotiators.network.send(moment.now, envelope);
                    }
                }
                Output::TakeIn { parcel, offer, .. } => {
                    self.take_in(moment, site, parcel, &offer);
                }
                Output::Hold(ticket) => self.send_away(moment, ticket.job),
                Output::Release(ticket) => self.take_back(moment, ticket.job),
            }
        }
        // What a site answers is valid after it has decided.
        self.decide_all(moment);
    }
}
