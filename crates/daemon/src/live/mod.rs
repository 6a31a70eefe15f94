//! The market in real time, as a state machine without clock, threads or files.
//!
//! What happened goes in as [`Input`], one at a time; [`Record`]s come out, to be written down
//! before anything else is done. [`Live::plan`] asks the policy when there is news for it, and
//! [`Live::orders`] says what sites are to be told, from the state alone: after a crash they are
//! told again, and know by the tag.
//!
//! [`state`] is what is remembered and what records change in it; it knows nothing of the rest. The
//! folders beside it, with names like those of its aggregates, have what is done with them: they read the
//! state and make records. [`input`] says what can happen, and `answer` what is replied to requests.
//!
//! Nothing here decides where or when a job runs. Policies do, and users who accept a quote.

mod answer;
mod asks;
mod caps;
pub mod input;
pub mod jobs;
pub mod ledger;
pub(crate) mod lengths;
mod market_event;
mod names;
mod near;
pub mod notices;
pub mod offers;
pub mod outages;
pub mod peers;
mod prices;
mod site_states;
mod starts;
pub mod state;
mod surveys;
pub mod tasks;
#[cfg(test)]
mod tests;
mod tick;
pub mod times;
mod tokens;
mod turn;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use tradewind_io::settings::Estimates;
use tradewind_model::{
    Event, Money, OwnersFirst, PoolId, Pools, Preemption, SiteId, Span, Time, Times,
};
use tradewind_sched::negotiation::{self, Envelope, Negotiator, Peer, Serial};
use tradewind_sched::policy::outlook::Outlook;
use tradewind_sched::policy::{Exchange, Policy};

pub use answer::{Refusal, RefusalKind, Reply, Usage};
pub use bodies::check_environment;
use demand::Most;
pub use demand::RESOURCES;
pub use input::{Act, Ask, Input, ProjectChange, Unknown, Withheld};
pub use jobs::alike;
use jobs::index::JobIndex;
use jobs::{bodies, demand, width};
use peers::{CheckSettings, PeerLimits, PeerMessage, PeerOutput};
pub use state::access::rights;
pub use state::jobs::choice;
pub use state::ledger::rules::RuleChange;
pub use state::ledger::{budgets, income, money, projects, used};
pub use state::outages::recent_history;
use state::record::MarketRecord;
pub use state::record::Record;
pub use state::{ApplyError, State, record, site_health, sites, waits};
use state::{JobHold, Phase};
pub(crate) use surveys::is_sane;
pub use tasks::orders::Instruction;
pub use turn::Step;

/// Makes policies of their names, as the command line writes them.
pub trait Make: Debug + Send + Sync {
    /// The policy for these pools.
    ///
    /// # Errors
    /// What is wrong with the name, for people.
    fn make(&self, policy: &str, pools: &Pools) -> Result<Box<dyn Policy + Send>, String>;
}

/// How jobs wait in the queue of a site, beside the jobs of its owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineSettings {
    /// The priority that a new job has there; `None`: the one that is observed.
    pub priority: Option<u64>,
    /// The site keeps nodes free for booked windows, whatever waits in its queue.
    pub reserves: bool,
}

/// What the live market allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Jobs that are not over, of all users.
    pub max_jobs: usize,
    /// The same of one user.
    pub max_jobs_per_user: usize,
    /// Bytes of the submissions of jobs that are not over, of all users.
    pub max_bytes: u64,
    /// The same of one user.
    pub max_bytes_per_user: u64,
    /// Variables of one submission's environment.
    pub max_variables: usize,
    /// Bytes of one submission's environment, names and values.
    pub max_environment: usize,
    /// What a user gets at the first submission.
    pub new_user_grant: Money,
    /// How long a job is kept after its end.
    pub keep: Span,
    /// How long its script and its environment are kept after its end; of an array, after the end of
    /// all of it. `None`: as long as the job.
    pub keep_scripts: Option<Span>,
    /// How often sites may refuse a job before it is held.
    pub max_refusals: u32,
    /// Other markets that jobs are exchanged with: as the configuration calls them.
    pub peers: Vec<String>,
    /// By peer, what may be there at once, if not as usual.
    pub peer_limits: BTreeMap<String, PeerLimits>,
    /// By peer that gets check jobs, how.
    pub peer_checks: BTreeMap<String, CheckSettings>,
    /// How that is negotiated.
    pub negotiation: negotiation::NegotiationSettings,
    /// How long the first parts of a job wait for its last, if its user does not say.
    pub gather: Span,
    /// How much later than promised the job of an accepted offer may begin, beside a round of the
    /// site's scheduler.
    pub slack: Span,
    /// By project, how times are counted of jobs that leave it open.
    pub times: BTreeMap<String, Times>,
    /// Sites that run all jobs as the daemon's own account, though the configuration does not say that this is meant:
    /// beside them only administrators have tokens.
    pub one_account: Vec<String>,
    /// By site in whose own queue jobs wait, how.
    pub in_line: BTreeMap<String, LineSettings>,
    /// By site, what its owners may rely on: others, that their waiting jobs get what they get if all jobs
    /// run to their limits.
    pub owners_first: BTreeMap<String, OwnersFirst>,
    /// By site whose owners get nodes of preemptible jobs back, how.
    pub preemption: BTreeMap<String, Preemption>,
    /// Users get advice on time limits, each from the own runs.
    pub advice: bool,
    /// By what the policy plans.
    pub estimates: Estimates,
    /// When rules of counting are taken up that the journal does not have yet.
    pub rules: RuleChange,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            max_jobs: 100_000,
            max_jobs_per_user: 50_000,
            max_bytes: 1 << 30,
            max_bytes_per_user: 256 << 20,
            max_variables: 8_192,
            max_environment: 1 << 20,
            new_user_grant: Money(1_000_000_000_000),
            keep: Span(7 * 24 * 3_600),
            keep_scripts: Some(Span(3 * 24 * 3_600)),
            max_refusals: 8,
            peers: Vec::new(),
            peer_limits: BTreeMap::new(),
            peer_checks: BTreeMap::new(),
            negotiation: Settings::NEGOTIATION,
            gather: Span(120),
            slack: Settings::SLACK,
            times: BTreeMap::new(),
            one_account: Vec::new(),
            in_line: BTreeMap::new(),
            owners_first: BTreeMap::new(),
            preemption: BTreeMap::new(),
            advice: true,
            estimates: Estimates::default(),
            rules: RuleChange::default(),
        }
    }
}

impl Settings {
    /// Surveys of a site may be some seconds apart, an order waits for one, and a manager prepares
    /// nodes before a job's work begins: together that is less than a minute.
    pub const SLACK: Span = Span(60);
    /// Real networks answer within a second, and people wait. The volunteer that can start a job
    /// first gets it.
    pub const NEGOTIATION: negotiation::NegotiationSettings = negotiation::NegotiationSettings {
        choose: negotiation::Choose::Start,
        discover: negotiation::Discover::All,
        rounds: 1,
        window: Span(2),
        offer_life: Span(30),
        tries: 3,
        retry_max: Span(60),
        pause: Span(5),
        horizon: Span(5),
        hops: 1,
    };
}

/// A state, and what follows from it.
pub struct Live {
    state: State,
    settings: Settings,
    maker: Arc<dyn Make>,
    policy: Box<dyn Policy + Send>,
    /// The policy has not seen the market yet.
    fresh: bool,
    /// Events that the policy has not seen.
    unseen: Vec<Event>,
    /// When the policy wants to be asked.
    wake: Option<Time>,
    /// What of jobs is looked for often.
    index: JobIndex,
    /// No quote expires before it; `None`: there is no quote.
    expiry: Option<Time>,
    /// What the present step has written.
    out: Vec<Record>,
    /// Talks to peers, if there ever were any.
    negotiator: Option<Negotiator>,
    /// What the queue will come to, if it was asked for since it changed.
    outlook: OnceCell<Outlook>,
    /// Whether peers answer, and since when: as far as was noticed since the start.
    contacts: BTreeMap<Peer, (bool, Time)>,
    /// By pool, the most that a node can give a job, where the site knows: as far as was noticed since
    /// the start.
    max: Most,
    /// By pool, why it has no nodes at all, if so: as far as was noticed since the start.
    problems: BTreeMap<PoolId, String>,
    /// By site, the owners' queue: as far as was noticed since the start.
    queues: BTreeMap<SiteId, outages::owners::OwnersQueue>,
    /// By site, what was noticed of the jobs of others since the start.
    habits: BTreeMap<SiteId, outages::usual::SiteHabits>,
    /// Jobs in the queues of sites.
    lines: jobs::line::Lines,
    /// By pool and name of an owner's task, when its limit is over: as far as was noticed since the
    /// start.
    limits_of_tasks: BTreeMap<(PoolId, String), Time>,
    /// Limits of sites.
    caps: caps::Caps,
    /// What runs of the past teach of the lengths of jobs.
    lengths: lengths::LengthLearner,
    /// By site that has refused tasks: as far as was noticed since the start.
    refusals: BTreeMap<SiteId, site_states::Refusals>,
    /// What the present step wants said to peers.
    letters: Vec<(Peer, PeerMessage)>,
    /// Jobs that the policy wants offered to peers, in its order: as far as there was no room for more
    /// searches.
    wishes: Vec<u64>,
    /// Jobs whose data are under way to a peer, and when they are there: the job follows then.
    travelling: BTreeMap<(Time, Serial), Envelope>,
    /// What the last report of a peer shows of the output of jobs that have ended there.
    outputs: BTreeMap<u64, PeerOutput>,
    /// By job at a peer, when news of it were last written down: since the start.
    heard: BTreeMap<u64, Time>,
    /// The month of the last look at limits of months, months since January 1970.
    month: i64,
}

impl Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (now, policy) = (self.state.now(), &self.state.policy);
        f.debug_struct("Live").field("now", &now).field("policy", policy).finish_non_exhaustive()
    }
}

impl Live {
    /// Goes on from a state at `at`, under the state's policy; what it writes says so.
    ///
    /// # Errors
    /// If there is no such policy.
    pub fn begin(
        state: State,
        settings: Settings,
        maker: Arc<dyn Make>,
        policy: &str,
        at: Time,
    ) -> Result<(Live, Step), String> {
        let mut live = Live::made(state, settings, maker, policy).map_err(|(_, why)| why)?;
        live.remember();
        let at = at.max(live.state.now());
        let begun =
            live.go_on(at, policy).and_then(|()| live.renew(at)).and_then(|()| live.meet(at));
        let begun = begun.and_then(|()| live.stage_waiting(at));
        begun.map_err(|wrong| wrong.to_string())?;
        let step = live.done(None);
        Ok((live, step))
    }

    fn made(
        state: State,
        settings: Settings,
        maker: Arc<dyn Make>,
        policy: &str,
    ) -> Result<Live, (Box<State>, String)> {
        let mut state = state;
        state.share_bodies();
        let made = match maker.make(policy, state.market.pools()) {
            Ok(made) => made,
            Err(why) => return Err((Box::new(state), why)),
        };
        Ok(Live {
            state,
            settings,
            maker,
            policy: made,
            fresh: true,
            unseen: Vec::new(),
            wake: None,
            index: JobIndex::default(),
            expiry: None,
            out: Vec::new(),
            negotiator: None,
            outlook: OnceCell::new(),
            contacts: BTreeMap::new(),
            max: Most::new(),
            problems: BTreeMap::new(),
            queues: BTreeMap::new(),
            habits: BTreeMap::new(),
            lines: jobs::line::Lines::default(),
            limits_of_tasks: BTreeMap::new(),
            caps: caps::Caps::default(),
            lengths: lengths::LengthLearner::default(),
            refusals: BTreeMap::new(),
            letters: Vec::new(),
            wishes: Vec::new(),
            travelling: BTreeMap::new(),
            outputs: BTreeMap::new(),
            heard: BTreeMap::new(),
            month: 0,
        })
    }

    /// A state that is only looked at: another daemon decides. [`Live::learn`] brings it on.
    ///
    /// # Errors
    /// The state, and what is wrong with the policy.
    pub fn watch(
        state: State,
        settings: Settings,
        maker: Arc<dyn Make>,
        policy: &str,
    ) -> Result<Live, (Box<State>, String)> {
        let mut live = Live::made(state, settings, maker, policy)?;
        let usage = live.state.usage(live.state.now());
        live.policy.resume(&usage);
        Ok(live)
    }

    /// Takes in what another daemon has written.
    ///
    /// # Errors
    /// If it does not follow from what was there: the state must be made again.
    pub fn learn(&mut self, at: Time, record: &Record) -> Result<(), ApplyError> {
        self.state.apply(at, record)?;
        self.outlook = OnceCell::new();
        Ok(())
    }

    /// Only what survives.
    pub fn into_state(self) -> State {
        self.state
    }

    /// What survives.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Which pages of jobs have changed since this was asked last.
    pub fn take_touched(&mut self) -> BTreeSet<u64> {
        self.state.jobs.take_touched()
    }

    /// Why the pool has no nodes at all, by its site's last words: its configuration is wrong.
    pub fn problem(&self, pool: PoolId) -> Option<&str> {
        self.problems.get(&pool).map(String::as_str)
    }

    /// Whether no job waits, runs, or has a window booked.
    pub fn is_idle(&self) -> bool {
        self.index.active.is_empty()
    }

    /// What it allows.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The policy that decides, for its promises.
    pub fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// Whether the peer answers, and since when; `None` if that is not known yet.
    pub fn contact(&self, peer: Peer) -> Option<(bool, Time)> {
        self.contacts.get(&peer).copied()
    }

    /// How jobs are passed on to peers: as the policy says, if it says so.
    pub fn negotiation(&self) -> negotiation::NegotiationSettings {
        let exchange = self.policy.exchange();
        exchange.map_or(self.settings.negotiation, Exchange::negotiation)
    }

    /// The policy that was just made begins.
    fn go_on(&mut self, at: Time, policy: &str) -> Result<(), ApplyError> {
        (self.fresh, self.wake) = (true, None);
        let usage = self.state.usage(at);
        self.policy.resume(&usage);
        let (release, policy) = (env!("CARGO_PKG_VERSION").to_owned(), policy.to_owned());
        self.put(at, MarketRecord::Began { release, policy, usage: usage.into_iter().collect() })
    }

    /// What can be told from the state alone.
    fn remember(&mut self) {
        let mut waiting = Vec::new();
        self.expiry = self.state.offers.first_expiry();
        for job in self.state.jobs.values() {
            self.index.add(job);
            match job.phase() {
                Phase::Held(JobHold::Capped(_) | JobHold::OverBudget(_)) => {
                    self.caps.hold(job.number);
                }
                Phase::Held(JobHold::Dependency) => waiting.push(job.number),
                _ => {}
            }
        }
        waiting.into_iter().for_each(|number| self.remember_dependencies(number));
    }
}
