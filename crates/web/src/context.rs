//! What every handler of a request has.

use std::ops::Deref;
use std::sync::Arc;

use tradewind_daemon::audit::{Audit, AuditKind};
use tradewind_daemon::engine::Handle;
use tradewind_daemon::engine::reads::{Full, Permit, Reads};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Live, Reply, Usage};
use tradewind_daemon::shadow::Records;
use tradewind_io::submission::Submission;
use tradewind_model::{Demand, Span};

use crate::api::{Advisor, Api, Limits, MarketView, Outputs, SignIn, Tariffs};
use crate::auth::Doors;
use crate::auth::hosts::Hosts;
use crate::auth::ours::Scheme;
use crate::blocking::blocking;
use crate::failure::{Answer, ErrorResponse};
use crate::feed::Feed;
use crate::metrics::Metrics;
use crate::notes;
use crate::oidc::Oidc;
use crate::operations::{Examinations, Operations};
use crate::turns::{Bounds, Turns};
use crate::views::status::Moment;

/// What every handler has.
#[derive(Debug, Clone)]
pub(crate) struct Context(Arc<ContextInner>);

impl Deref for Context {
    type Target = ContextInner;
    fn deref(&self) -> &ContextInner {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) struct ContextInner {
    pub(crate) market: Handle,
    pub(crate) outputs: Arc<dyn Outputs>,
    pub(crate) advisor: Arc<dyn Advisor>,
    pub(crate) tariffs: Arc<dyn Tariffs>,
    pub(crate) limits: Limits,
    pub(crate) audit: Audit,
    pub(crate) observations: Records,
    pub(crate) operations: Arc<dyn Operations>,
    /// Of the sites.
    pub(crate) examinations: Examinations,
    pub(crate) auth: Doors,
    pub(crate) feed: Arc<Feed>,
    pub(crate) metrics: Metrics,
    pub(crate) turns: Arc<Turns>,
    reads: Arc<Reads>,
    pub(crate) sign_in: SignIn,
    pub(crate) oidc: Option<Oidc>,
}

impl Context {
    /// # Errors
    /// What is wrong with the provider of identities.
    pub(crate) fn new(api: Api, reached: (Scheme, Hosts)) -> Result<Context, String> {
        let Api { market, outputs, advisor, tariffs, limits, .. } = api;
        let Api { audit, sign_in, observations, operations, .. } = api;
        let provider = sign_in.provider.clone().zip(sign_in.url.as_ref());
        let oidc = provider.map(|(provider, url)| Oidc::new(provider, url)).transpose()?;
        let auth = Doors::new(&limits, reached, &sign_in);
        let turns = Arc::new(Turns::new(Bounds {
            all: limits.advice,
            per_user: limits.advice_per_user,
            waiting: limits.advice_waiting,
        }));
        let (feed, metrics) = (Arc::new(Feed::new()), Metrics::new());
        let reads = Reads::new(limits.reads, limits.reads_per_user);
        let inside = ContextInner {
            market,
            outputs,
            advisor,
            tariffs,
            limits,
            audit,
            observations,
            operations,
            examinations: Examinations::default(),
            auth,
            feed,
            metrics,
            turns,
            reads,
            sign_in,
            oidc,
        };
        Ok(Context(Arc::new(inside)))
    }

    /// Permission for this user to read what a task has written.
    pub(crate) fn may_read(&self, user: &str) -> Answer<Permit> {
        self.reads.permit(user).map_err(|full| {
            let (limit, all) = match full {
                Full::OfOne(all) => ("reads_per_user", all),
                Full::OfAll(all) => ("reads", all),
            };
            let (limit, all) = (limit.to_owned(), all as u64);
            let usage = Usage { limit, used: all, allowed: all, wait: 1 };
            ErrorResponse::short("too many reads of output", usage)
        })
    }

    /// Has something done; waits on a thread that may wait.
    pub(crate) async fn ask(&self, actor: Actor, ask: Ask) -> Answer<Reply> {
        let market = self.market.clone();
        let user = actor.user.clone();
        let change = match self.note_of(&ask).await? {
            Some(change) => Some(change),
            None => self.change_of_job(&actor, &ask).await?,
        };
        let credits = notes::credits_of(&ask);
        let asked = blocking(move || market.ask(actor, ask)).await?;
        if let Some(subject) = credits {
            self.audit.note(&user, AuditKind::Money, subject, notes::outcome(&asked));
        }
        if let Some((kind, subject)) = change {
            self.audit.note(&user, kind, subject, notes::outcome(&asked));
        }
        Ok(asked?)
    }

    /// The record of a request, with the names of what it is about.
    async fn note_of(&self, ask: &Ask) -> Answer<Option<(AuditKind, String)>> {
        let Some((kind, text)) = notes::of(ask) else { return Ok(None) };
        let Ask::Tariff { pool, .. } = ask else { return Ok(Some((kind, text))) };
        let pool = *pool;
        let name = self.look(move |live| {
            let pools = live.state().market.pools().as_slice();
            pools.get(pool.index()).map(|it| it.name.clone())
        });
        let name = name.await?.unwrap_or_else(|| format!("pool {}", pool.index()));
        Ok(Some((kind, format!("{text} for {name}"))))
    }

    /// The record of a request that changes another user's job.
    async fn change_of_job(&self, actor: &Actor, ask: &Ask) -> Answer<Option<(AuditKind, String)>> {
        let Some((job, how)) = notes::job_of(ask) else { return Ok(None) };
        if actor.role == Role::User {
            return Ok(None);
        }
        let owner = self.look(move |live| live.state().jobs.get(&job).map(|it| it.user.clone()));
        let owner = owner.await?.filter(|owner| *owner != actor.user && actor.may_act_for(owner));
        Ok(owner.map(|owner| (AuditKind::Job, format!("job {job} of {owner} {how}"))))
    }

    /// Looks at the market.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Live) -> T + Send + 'static,
    ) -> Answer<T> {
        let market = self.market.clone();
        let seen = blocking(move || market.look(look)).await?;
        Ok(seen?)
    }

    /// Looks at the market with the last plan of its queue.
    pub(crate) async fn see<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Live, &Moment<'_>) -> T + Send + 'static,
    ) -> Answer<T> {
        let advisor = Arc::clone(&self.advisor);
        let plan = blocking(move || advisor.plan()).await?;
        self.look(move |live| look(live, &Moment::new(live.state(), plan.as_deref()))).await
    }

    /// A copy of the market, for forecasts.
    pub(crate) async fn view(&self) -> Answer<MarketView> {
        self.view_in(Span(0)).await
    }

    /// The market as it will be in so long, if nothing happens.
    pub(crate) async fn view_in(&self, ahead: Span) -> Answer<MarketView> {
        self.look(move |live| MarketView::of(live, ahead)).await
    }

    /// What a submission would ask for.
    pub(crate) async fn demand(&self, user: String, submission: Submission) -> Answer<Demand> {
        let submission = Arc::new(submission);
        let demand = self.look(move |live| {
            let submission = live.settings().counted(&submission);
            live.may_spend(&user, submission.project.as_deref())?;
            live.demand_of(&user, &submission)
        });
        let demand = demand.await?;
        Ok(demand?)
    }
}
