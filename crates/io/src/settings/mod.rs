//! `tradewind.toml`: how a daemon is set up. Without a file, [`Settings::default`] holds.

pub mod cluster;
mod hours;
mod journal;
pub mod machine;
mod peers;
mod read;
pub mod schedule;
mod sign_in;
mod sites;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use jiff::tz::TimeZone;
use tradewind_model::{
    Attributes, Licence, Links, Money, Performance, Preemption, Price, SitePower, Span, Times,
};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};
use crate::power::Electricity;
use cluster::{Cluster, Members};
pub use hours::Hours;
pub use journal::Journal;
use machine::LocalAccounts;
pub use peers::{Peer, PeerCheck};
use schedule::Schedule;
pub use sign_in::{Provider, RoleName, SignIn};
pub use store::{JournalStore, Standby, StoreUrl};

/// All that the file says, checked. Names of policies are not: who knows policies checks them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The zone of hours in schedules and of civil times; `None`: that of the machine.
    pub zone: Option<TimeZone>,
    /// The scheduling policy and its settings.
    pub market: Market,
    /// Where it is reached.
    pub listen: Listen,
    /// How people sign in, and for how long.
    pub sign_in: SignIn,
    /// How much of it users may have.
    pub limits: UserLimits,
    /// Where the journal is kept.
    pub store: JournalStore,
    /// How several daemons share it.
    pub standby: Standby,
    /// How long what is old is kept.
    pub journal: Journal,
    /// What users begin with.
    pub money: Credits,
    /// Webhooks and mail.
    pub notify: Notify,
    /// The file itself, where a site's electricity is in files beside it: these may be written again
    /// while the daemon runs.
    pub electricity_from: Option<String>,
    /// In the order of the file; empty: the daemon's two default ones.
    pub sites: Vec<Site>,
    /// Clusters that are only observed (`mode = "observe"`), in the order of the file: they are no
    /// part of the market.
    pub observed: Vec<Site>,
    /// Users may have tokens although a local site runs all jobs as the daemon's own account.
    pub shared_account: bool,
    /// In the order of the file.
    pub projects: Vec<Project>,
    /// Daemons that it exchanges jobs with.
    pub peers: Vec<Peer>,
    /// What jobs may take along wherever they run, and by the index of its site who earns what they
    /// pay for it.
    pub licences: Vec<(Licence, usize)>,
    /// Networks between sites and other places.
    pub links: Links,
}

/// Policies by hours and load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Market {
    /// Where no rule holds.
    pub policy: String,
    /// Other policies by hours and load; the first that holds.
    pub rules: Schedule<String>,
    /// How long the parts of a job at several sites wait for each other, to begin together.
    pub gather: Span,
    /// How much later than promised a job of an accepted offer may begin, beside a round of the
    /// site's scheduler.
    pub slack: Span,
    /// Users get advice on time limits, each from the own runs.
    pub advice: bool,
    /// Which peer gets a job, under policies that do not say it themselves.
    pub choose: Volunteer,
    /// By what the policy plans.
    pub estimates: Estimates,
}

/// Which of the peers that offer to take a job gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Volunteer {
    /// That with the fewest jobs that wait to be backfilled (paper 004, section 4.2).
    Load,
    /// That which can start the job first.
    #[default]
    Start,
    /// The cheapest one.
    Cost,
}

/// How long jobs are expected to run where a policy plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimates {
    /// As long as they may.
    #[default]
    Requested,
    /// As long as jobs like them ran.
    Learned,
}

impl Default for Market {
    fn default() -> Market {
        let (policy, rules) = ("easy".to_owned(), Schedule::default());
        let (gather, slack, choose) = (Span(120), Span(60), Volunteer::default());
        let estimates = Estimates::default();
        Market { policy, rules, gather, slack, advice: true, choose, estimates }
    }
}

/// Where the daemon is reached: beyond this machine only with TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// Certificate and key.
    pub tls: Option<Tls>,
    /// Further names by which it may be addressed on loopback.
    pub hosts: Vec<String>,
}

impl Listen {
    /// The port if none is given.
    pub const PORT: u16 = 8460;
}

impl Default for Listen {
    fn default() -> Listen {
        Listen { address: (Ipv4Addr::LOCALHOST, Self::PORT).into(), tls: None, hosts: vec![] }
    }
}

/// Files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and those between it and its authority.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// How much users may have of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserLimits {
    /// Requests per second of each token.
    pub requests_per_second: u32,
    /// Bytes of one request.
    pub body: u32,
    /// Jobs of one user that have not ended.
    pub jobs_per_user: u32,
    /// Jobs of all users that have not ended.
    pub jobs: u32,
    /// Mebibytes of the submissions of one user's jobs that have not ended.
    pub job_megabytes_per_user: u32,
    /// The same of all users.
    pub job_megabytes: u32,
    /// Bytes of one submission's environment.
    pub environment_bytes: u32,
    /// Variables of one submission's environment.
    pub environment_variables: u32,
    /// Of one user, in the long run; five times as many at once.
    pub submissions_per_second: u32,
    /// Bytes of one user's submissions, in the long run; four times as many at once.
    pub submission_bytes_per_second: u32,
    /// At the same time.
    pub connections: u32,
    /// From one address, of those that have not shown a valid token.
    pub connections_per_address: u32,
    /// Of one user.
    pub connections_per_user: u32,
    /// Streams of events at the same time.
    pub streams: u32,
    /// Of one user.
    pub streams_per_user: u32,
    /// Quotes, what-ifs and explanations at the same time.
    pub advice: u32,
    /// Of these, of one user.
    pub advice_per_user: u32,
    /// Questions of one user that wait for their turn.
    pub advice_waiting: u32,
    /// Seconds that one may take.
    pub advice_seconds: u32,
}

impl Default for UserLimits {
    fn default() -> UserLimits {
        UserLimits {
            requests_per_second: 500,
            body: 8 << 20,
            jobs_per_user: 20_000,
            jobs: 200_000,
            job_megabytes_per_user: 256,
            job_megabytes: 1_024,
            environment_bytes: 1 << 20,
            environment_variables: 8_192,
            submissions_per_second: 200,
            submission_bytes_per_second: 1 << 20,
            connections: 1_024,
            connections_per_address: 128,
            connections_per_user: 256,
            streams: 256,
            streams_per_user: 32,
            advice: 2,
            advice_per_user: 1,
            advice_waiting: 32,
            advice_seconds: 10,
        }
    }
}

/// What users begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credits {
    /// Granted to each new user.
    pub new_user_grant: Money,
}

impl Default for Credits {
    fn default() -> Credits {
        Credits { new_user_grant: Money::credits(1_000_000) }
    }
}

/// Which receivers are notified of which events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notify {
    /// Called for every event.
    pub webhooks: Vec<String>,
    /// The file of the secret that signs calls.
    pub webhook_secret_file: Option<String>,
    /// A program and its arguments that take a mail on standard input.
    pub mail_command: Vec<String>,
}

/// A site: a cluster or a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Unique name of the site.
    pub name: String,
    /// How it is reached.
    pub kind: SiteKind,
    /// The user whom its income belongs to; `None`: the administrator.
    pub owner: Option<String>,
    /// How times are counted of jobs that leave it open, as do their projects.
    pub times: Times,
    /// A survey that takes longer has failed; `None`: what is usual for its kind.
    pub survey_timeout: Option<Span>,
    /// Of an observed one: a class in Python, `module:Class`, that says what it would start.
    pub policy: Option<String>,
    /// Its electricity over time, on the clock of Unix seconds; what nodes consume is among the
    /// attributes of their pools.
    pub power: SitePower,
    /// Where series of its electricity are read again and again, over HTTP: what is not among `power`.
    pub feeds: BTreeMap<Electricity, String>,
    /// How the market takes nodes of preemptible jobs back for its owners; `None`: it takes none.
    pub preemption: Option<Preemption>,
    /// At least one.
    pub pools: Vec<Pool>,
}

/// How a site is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteKind {
    /// Processes on this machine.
    Local(Box<LocalAccounts>),
    /// A cluster under Slurm.
    Slurm(Box<Cluster>),
    /// A cluster under Grid Engine.
    GridEngine(Box<Cluster>),
}

/// Like nodes of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Unique among all sites.
    pub name: String,
    /// How many; for a local site: tasks that may run at once.
    pub nodes: u32,
    /// Of each node.
    pub performance: Performance,
    /// What each node offers; with `class`, if it has one.
    pub attributes: Attributes,
    /// Which of a cluster's nodes it has.
    pub members: Members,
    /// Credits per node-second where no rule holds.
    pub price: Price,
    /// Other prices by hours and load; the first that holds.
    pub prices: Schedule<Price>,
    /// The part that is offered, in thousandths, by hours; the first that holds. Without any
    /// rule, all is offered; with some, nothing outside their hours.
    pub offers: Schedule<u32>,
}

/// What holds for the jobs of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Unique; as in `--account`.
    pub name: String,
    /// How times are counted of jobs that leave it open.
    pub times: Option<Times>,
}

/// Reads the settings in the file `path` and the warnings about them.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<(Settings, Diagnostics), Diagnostics> {
    parse(&input::read(path)?)
}

/// Reads settings.
///
/// # Errors
/// All that is wrong with them, by line; unknown keys are among it.
pub fn parse(input: &Input) -> Result<(Settings, Diagnostics), Diagnostics> {
    kind::expect(FileKind::Configuration, input, read::parse(input))
}
