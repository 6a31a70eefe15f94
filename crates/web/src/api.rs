//! What others must give to the API.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tradewind_daemon::audit::Audit;
use tradewind_daemon::engine::Handle;
use tradewind_daemon::engine::reads::Permit;
use tradewind_daemon::live::peers::StatusQuery;
use tradewind_daemon::live::state::Booking;
use tradewind_daemon::live::{Live, Refusal};
use tradewind_daemon::shadow::Records;
use tradewind_daemon::site::{Excerpt, SiteError, Tag, Written};
use tradewind_model::{
    Demand, JobId, Market, Money, Place, PoolId, Price, Reason, SiteId, Span, Time,
};

use crate::clock::present;
use crate::documents::{Explanation, QueuePlan, WhatIf, WhatIfQuestion};
use crate::oidc::Provider;
use crate::operations::Operations;
use crate::price_rules::PriceRules;
use crate::watch::Watch;
use crate::week::{ReplayResult, Week};

/// All that the API needs.
#[derive(Debug, Clone)]
pub struct Api {
    /// Handle of the market's engine.
    pub market: Handle,
    /// What tasks have written.
    pub outputs: Arc<dyn Outputs>,
    /// Computes forecasts.
    pub advisor: Arc<dyn Advisor>,
    /// Who can read owners' tables of prices.
    pub tariffs: Arc<dyn Tariffs>,
    /// Limits on requests.
    pub limits: Limits,
    /// Who was refused, and who changed or read what.
    pub audit: Audit,
    /// How people sign in, and for how long.
    pub sign_in: SignIn,
    /// What was seen of clusters that are only observed.
    pub observations: Records,
    /// What administrators ask of the daemon itself.
    pub operations: Arc<dyn Operations>,
}

/// How people sign in, and for how long.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// The origin at which browsers reach us, as in `https://market.example.org`, if a proxy is
    /// before the server.
    pub url: Option<String>,
    /// A session on the pages ends after so long without a request.
    pub session_idle: Duration,
    /// It ends after so long in any case.
    pub session_longest: Duration,
    /// How long a token is valid by default; `None`: until it is revoked. Tokens of peers are valid
    /// until they are revoked.
    pub token_lifetime: Option<Span>,
    /// Who answers for people's identities, besides tokens; needs `url`.
    pub provider: Option<Provider>,
}

impl Default for SignIn {
    fn default() -> SignIn {
        SignIn {
            url: None,
            session_idle: Duration::from_secs(4 * 3_600),
            session_longest: Duration::from_secs(12 * 3_600),
            token_lifetime: Some(Span(365 * 86_400)),
            provider: None,
        }
    }
}

/// What tasks have written. Sites are behind threads of their own, so this may take its time.
pub trait Outputs: Debug + Send + Sync {
    /// A part of what the task has written so far. The permit is held for as long as the read really
    /// takes, also when the caller no longer waits for it.
    ///
    /// # Errors
    /// What the site says.
    fn read(
        &self,
        site: SiteId,
        tag: &Tag,
        wanted: Excerpt,
        permit: Permit,
    ) -> Result<Written, SiteError>;

    /// A part of what a job of `market` that went to a peer has written there.
    ///
    /// # Errors
    /// What the peer says.
    fn abroad(
        &self,
        _market: &str,
        peer: &str,
        _wanted: &StatusQuery,
        _part: Excerpt,
        _permit: Permit,
    ) -> Result<Written, SiteError> {
        Err(SiteError::Away(format!("there is no way to {peer}")))
    }
}

/// Reads owners' tables of prices.
pub trait Tariffs: Debug + Send + Sync {
    /// Whether the table in TOML is sound for this pool.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn check(&self, pool: PoolId, text: &str) -> Result<(), String>;

    /// What a node of the pool costs from when on, within `[from, until)`, by this table or by the
    /// configuration, if `load` thousandths of its nodes stay in use: every change of it.
    fn ahead(
        &self,
        _pool: PoolId,
        _table: Option<&str>,
        _load: u32,
        _from: Time,
        _until: Time,
    ) -> Vec<(Time, Price)> {
        Vec::new()
    }

    /// What the pool asks by this table, or by the configuration.
    fn rules(&self, _pool: PoolId, _table: Option<&str>) -> PriceRules {
        PriceRules::default()
    }

    /// The zone of the tables' hours, as in `Europe/Berlin`, if it has a name.
    fn zone(&self) -> Option<String> {
        None
    }
}

/// The market at one moment, for forecasts that must not delay it.
#[derive(Debug, Clone)]
pub struct MarketView {
    /// Copy of the market.
    pub market: Market,
    /// The scheduling policy, as the command line writes it.
    pub policy: String,
    /// The numbers of its jobs that wait or run.
    pub numbers: std::collections::BTreeMap<JobId, u64>,
    /// Users, by the place that policies know them by.
    pub users: Vec<String>,
    /// Processor-seconds that users have used recently, by place, as the policy counts them: where
    /// the order is by fair share. Others have used nothing.
    pub used: std::collections::BTreeMap<i64, u64>,
    /// By how much its time is ahead of the system's clock.
    pub lead: Span,
}

impl MarketView {
    /// The live market as it will be in so long, if nothing happens.
    pub fn of(live: &Live, ahead: Span) -> MarketView {
        let state = live.state();
        let at = present(state) + ahead;
        let used = live.policy().standing(state.now()).into_iter();
        let mut market = state.market.clone();
        // Its own moment is that of the last record; a clock that was set back changes nothing.
        let _ = market.pass_to(at);
        MarketView {
            market,
            policy: state.policy.clone(),
            numbers: state.jobs.numbers.clone(),
            users: state.users().to_vec(),
            lead: state.lead(),
            used: used.map(|it| (it.user, it.used)).collect(),
        }
    }
}

/// The best window by one criterion, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What is least in it, as submissions write it.
    pub criterion: String,
    /// Whether it was proved that none is better.
    pub exact: bool,
    /// Where and when, and what it costs at most.
    pub answer: Result<(Booking, Money), Reason>,
}

/// Where a job that waits is expected to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Id of the job in the market.
    pub job: JobId,
    /// First second.
    pub start: Time,
    /// Until when its last task holds its node.
    pub end: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
}

/// A plan of the jobs that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Which queue, and how far it was looked at.
    pub queue: QueuePlan,
    /// Jobs that are expected to run, in the order of submission.
    pub jobs: Vec<Planned>,
}

/// What a job could get, and by which plan of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted {
    /// One for each criterion.
    pub proposals: Vec<Proposal>,
    /// The jobs that come before.
    pub queue: QueuePlan,
}

/// Looks ahead. Simulation is not below this crate, so the command supplies it. Calls may take
/// seconds; few are made at once. They stop soon after their `watch` is over.
pub trait Advisor: Debug + Send + Sync {
    /// What a job that asks for this could get, if it were submitted now.
    ///
    /// # Errors
    /// If nothing can be said.
    fn quote(&self, view: &MarketView, demand: &Demand, watch: &Watch) -> Result<Quoted, Refusal>;

    /// What a waiting job could get if it asked for this instead, one answer for each criterion.
    ///
    /// # Errors
    /// If nothing can be said.
    fn quote_instead(
        &self,
        view: &MarketView,
        job: JobId,
        demand: &Demand,
        watch: &Watch,
    ) -> Result<Vec<Proposal>, Refusal>;

    /// What would be different. `changes` of all jobs: the API leaves out what is not for the
    /// caller.
    ///
    /// # Errors
    /// If there is no such policy or job, or it takes too long.
    fn whatif(
        &self,
        view: &MarketView,
        question: &WhatIfQuestion,
        watch: &Watch,
    ) -> Result<WhatIf, Refusal>;

    /// The plan of the jobs that wait, if there is one: what the policy would do with them, if
    /// nothing came between. It is kept and brought up to date; to ask for it costs little.
    fn plan(&self) -> Option<Arc<Plan>>;

    /// What the week's jobs would have had, if these prices had been asked from these moments on
    /// and the present policy had decided. The market is empty at first.
    ///
    /// # Errors
    /// If nothing can be said.
    fn replay_with_prices(
        &self,
        view: &MarketView,
        week: &Week,
        asked: &[(Time, PoolId, Price)],
        watch: &Watch,
    ) -> Result<ReplayResult, Refusal>;

    /// Why a job that waits does so; the caller may see it. The API adds the expected start: it is
    /// that of the [plan](Advisor::plan).
    ///
    /// # Errors
    /// If nothing can be said.
    fn explain(&self, view: &MarketView, job: JobId, watch: &Watch)
    -> Result<Explanation, Refusal>;

    /// Why a job that asks for this and waits for a window, beside the queue, has none. The caller sets
    /// the job's number.
    ///
    /// # Errors
    /// If nothing can be said.
    fn explain_window(
        &self,
        view: &MarketView,
        demand: &Demand,
        watch: &Watch,
    ) -> Result<Explanation, Refusal>;
}

/// Limits on requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Rate limit of each token.
    pub per_token: Rate,
    /// Of each user, with all tokens and sessions.
    pub per_user: Rate,
    /// Of each address: for requests with a valid token, and apart from them for those that
    /// failed, each of which counts as [`Limits::WRONG_TOKEN`] requests.
    pub per_address: Rate,
    /// Sign-ins with a provider that are begun from each address. Behind a proxy all people have
    /// its address.
    pub sign_ins: Rate,
    /// Questions that the provider is asked for each address: codes of browsers and of commands.
    pub sign_in_questions: Rate,
    /// Largest body of a request, in bytes.
    pub body_bytes: usize,
    /// Of all large bodies that are held at once.
    pub bodies_bytes: usize,
    /// Of these, of one user.
    pub bodies_bytes_per_user: usize,
    /// Submissions of each user.
    pub submissions: Rate,
    /// Bytes of the submissions of each user.
    pub submitted_bytes: Rate,
    /// Of a request's line and headers.
    pub header_bytes: usize,
    /// Until the headers, or all of the body, are there.
    pub request_time: Duration,
    /// Largest number of open connections.
    pub connections: usize,
    /// Of these, only for connections that have shown a valid token.
    pub connections_reserved: usize,
    /// From one address, of those that have not shown a valid token.
    pub connections_per_address: usize,
    /// Of those that have shown a valid token of one user.
    pub connections_per_user: usize,
    /// How long a connection that has not shown a valid token may be idle.
    pub stranger_time: Duration,
    /// Streams of events at the same time.
    pub streams: usize,
    /// Of these, of one user.
    pub streams_per_user: usize,
    /// Of these, for administrators alone.
    pub streams_reserved: usize,
    /// Quotes, what-ifs and explanations at the same time; one more is for administrators.
    pub advice: usize,
    /// Of these, of one user.
    pub advice_per_user: usize,
    /// Questions of one user that wait for their turn.
    pub advice_waiting: usize,
    /// How long a quote, a what-if or an explanation may take, with the time that it waits.
    pub advice_time: Duration,
    /// Reads of output at the same time, of all users.
    pub reads: usize,
    /// The same of one user.
    pub reads_per_user: usize,
    /// How long a quote stands.
    pub quote_valid: Span,
    /// How long requests may go on when the server stops.
    pub patience: Duration,
}

/// So many requests per second in the long run, and so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests per second in the long run.
    pub per_second: u32,
    /// Requests accepted at once after a pause.
    pub burst: u32,
}

impl Limits {
    /// Requests that a wrong token costs its address.
    pub const WRONG_TOKEN: u32 = 100;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            per_token: Rate { per_second: 500, burst: 1_000 },
            per_user: Rate { per_second: 1_000, burst: 2_000 },
            per_address: Rate { per_second: 10_000, burst: 20_000 },
            sign_ins: Rate { per_second: 2, burst: 60 },
            sign_in_questions: Rate { per_second: 10, burst: 120 },
            body_bytes: 8 << 20,
            bodies_bytes: 128 << 20,
            bodies_bytes_per_user: 32 << 20,
            submissions: Rate { per_second: 200, burst: 1_000 },
            submitted_bytes: Rate { per_second: 1 << 20, burst: 16 << 20 },
            header_bytes: 32 << 10,
            request_time: Duration::from_secs(20),
            connections: 1_024,
            connections_reserved: 256,
            connections_per_address: 128,
            connections_per_user: 256,
            stranger_time: Duration::from_secs(10),
            streams: 256,
            streams_per_user: 32,
            streams_reserved: 16,
            advice: 2,
            advice_per_user: 1,
            advice_waiting: 32,
            advice_time: Duration::from_secs(10),
            reads: 32,
            reads_per_user: 4,
            quote_valid: Span(300),
            patience: Duration::from_secs(5),
        }
    }
}
