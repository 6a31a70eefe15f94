//! What stands around every page.

use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::site_health::Health;
use tradewind_daemon::live::state::State;
use tradewind_model::SiteId;

use super::assets::version;
use crate::auth::Caller;
use crate::clock::present;
use crate::context::Context;
use crate::documents::SiteState;
use crate::failure::Answer;
use crate::views::failures::{self, Manages};

/// What stands around every page.
#[derive(Debug, Clone)]
pub(crate) struct Shell {
    /// Of the page.
    pub(crate) title: &'static str,
    /// Of the files that it needs.
    pub(crate) version: &'static str,
    /// Whose page it is.
    pub(crate) actor: Actor,
    /// The market's name.
    pub(crate) market: String,
    /// The scheduling policy, with its parameters.
    pub(crate) policy: String,
    /// The market's moment.
    pub(crate) now: i64,
    /// The journal's row that the page shows; live updates go on behind it.
    pub(crate) seq: u64,
    /// The market can only be read: its disk is full.
    pub(crate) read_only: bool,
    /// Sites that fail.
    pub(crate) failing: Vec<FailingSite>,
    /// The reader belongs to a project, or there is one to administer.
    pub(crate) has_projects: bool,
    /// Jobs are exchanged with other markets.
    pub(crate) has_peers: bool,
    /// A cluster is observed, and the reader may see what was seen.
    pub(crate) has_shadow: bool,
    /// The zone of the market's hours, if it has a name.
    pub(crate) zone: String,
}

/// A site that fails, for the top of every page.
#[derive(Debug, Clone)]
pub(crate) struct FailingSite {
    /// Name of the site.
    pub(crate) name: String,
    /// Its state.
    pub(crate) state: SiteState,
    /// Seconds since 1970.
    pub(crate) since: i64,
    /// Why: in the site's own words for those who manage it.
    pub(crate) reason: Option<String>,
    /// Numbers of the reader's jobs that it touches, and how many more there are.
    pub(crate) jobs: (Vec<u64>, usize),
}

impl FailingSite {
    /// What that means for plans.
    pub(crate) fn consequence(&self) -> &'static str {
        match self.state {
            SiteState::PartlyDrained => "Its other nodes are used.",
            _ => "Nothing is planned there.",
        }
    }
}

/// Jobs that are named on top of a page.
const NAMED: usize = 5;

fn failing(state: &State, actor: &Actor) -> Vec<FailingSite> {
    let of = |(site, health, manages): (SiteId, Health, Manages)| {
        let name = failures::name(state, site).to_owned();
        let mut jobs = failures::jobs_touched(state, site, &actor.user);
        let more = jobs.split_off(jobs.len().min(NAMED)).len();
        FailingSite {
            state: health.state.into(),
            since: health.since.0,
            reason: match manages {
                Manages::Yes => failures::own_words(&name, &health.reason),
                Manages::No => failures::reason_for_all(&health),
            },
            jobs: (jobs, more),
            name,
        }
    };
    failures::of_reader(state, actor).map(of).collect()
}

impl Shell {
    /// Around a page of this title.
    pub(crate) async fn new(
        context: &Context,
        caller: &Caller,
        title: &'static str,
    ) -> Answer<Shell> {
        let gauges = std::sync::Arc::clone(context.market.gauges());
        let actor = caller.actor.clone();
        let has_shadow = actor.role == Role::Administrator && context.observations.has_sites();
        let zone = context.tariffs.zone().unwrap_or_default();
        context
            .look(move |live| {
                let state = live.state();
                let has_projects = match actor.role {
                    Role::Administrator => !state.projects().0.is_empty(),
                    _ => state.projects().of(&actor.user).next().is_some(),
                };
                let failing = failing(state, &actor);
                let has_peers = !state.peers.directory.is_empty();
                Shell {
                    title,
                    version: version(),
                    actor,
                    market: state.name.clone(),
                    policy: state.policy.clone(),
                    now: present(state).0,
                    seq: gauges.last_row(),
                    read_only: gauges.is_read_only(),
                    failing,
                    has_projects,
                    has_peers,
                    has_shadow,
                    zone,
                }
            })
            .await
    }

    /// The pages that the reader may use: address and title.
    pub(crate) fn pages(&self) -> Vec<(&'static str, &'static str)> {
        let mut pages = vec![
            ("/", "Now"),
            ("/jobs", "Jobs"),
            ("/submit", "Submit"),
            ("/quote", "Quote"),
            ("/market", "Market"),
            ("/ledger", "Ledger"),
        ];
        if self.has_projects || self.title == "Projects" {
            pages.push(("/projects", "Projects"));
        }
        if self.has_peers || self.title == "Peers" {
            pages.push(("/peers", "Peers"));
        }
        if self.is_administrator() {
            pages.push(("/admin", "Admin"));
        }
        if self.has_shadow || self.title == "Shadow" {
            pages.push(("/shadow", "Shadow"));
        }
        pages
    }

    /// Pages that are reached from others, and by letters (Ctrl-K) from everywhere.
    pub(crate) fn more_pages(&self) -> Vec<(&'static str, &'static str)> {
        let mut pages = vec![("/spending", "Spending"), ("/access", "Tokens and browsers")];
        if self.is_administrator() {
            pages.push(("/policy", "Policy"));
        }
        pages
    }

    /// Whether the page belongs to this entry of the navigation.
    pub(crate) fn is_current(&self, title: &str) -> bool {
        let group = match self.title {
            "Policy" => "Admin",
            "Spending" => "Ledger",
            "Job" | "Output" => "Jobs",
            own => own,
        };
        group == title
    }

    /// Whether the page's icon says that something is wrong.
    pub(crate) fn is_alarmed(&self) -> bool {
        self.read_only || !self.failing.is_empty()
    }

    /// Whether the reader may do anything.
    pub(crate) fn is_administrator(&self) -> bool {
        self.actor.role == Role::Administrator
    }

    /// The reader's role in a word.
    pub(crate) fn role(&self) -> &'static str {
        match self.actor.role {
            Role::User => "user",
            Role::Owner => "owner",
            Role::Administrator => "administrator",
            Role::Peer => "peer",
        }
    }
}
