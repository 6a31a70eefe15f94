//! `tradewind up`: the live market, with everything that it needs, in one process.

mod accounts;
pub(crate) mod advice;
mod daemon;
mod demo;
mod journal;
mod notify;
mod operations;
pub(crate) mod peers;
pub(crate) mod place;
pub(crate) mod planner;
pub(crate) mod policies;
mod remains;
mod schedules;
mod service;
mod shared;
mod sign_in;
mod tables;
pub(crate) mod tariff;
mod trials;
mod windows;

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tradewind_daemon::audit::{Audit, AuditKind};
use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::reads::Permit;
use tradewind_daemon::engine::{Engine, OpenStore, Readers, Setup, Timing};
use tradewind_daemon::live::peers::StatusQuery;
use tradewind_daemon::live::rights::{Actor, Role, TokenTerms};
use tradewind_daemon::live::{Ask, Reply};
use tradewind_daemon::shadow::{Records, Watch};
use tradewind_daemon::site::{Excerpt, SiteError, Tag, Written};
use tradewind_daemon::store::sqlite::{Cover, Sqlite};
use tradewind_daemon::store::{Store, StoreError};
use tradewind_daemon::upkeep::{MaintainedDatabase, Maintenance, Pace, SqliteMaintenance, Upkeep};
use tradewind_io::settings::{Pool, Settings};
use tradewind_model::{SiteId, Times};
use tradewind_postgres::Claim;
use tradewind_web::{Api, Limits, Listen, Outputs, Rate, Server, Tls};

use crate::default_sites::DefaultSlots;
use crate::exit::{Failure, Outcome};
use crate::journals::JournalPlace;
use crate::report::Report;
use crate::{client, feeds, input, sites};
use daemon::{Daemon, Running};
use operations::DaemonOperations;
use place::StateFolder;
use remains::{Beginning, explain};

/// Arguments of `tradewind up`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind up
  tradewind up --demo
  tradewind up --config tradewind.toml --state /var/lib/tradewind

Without a configuration there are two sites on this machine, `alpha` and `beta`, whose nodes are
slots for real processes: one for each processor. The URL and the file of the administrator's
token are printed; `tradewind submit`, `jobs`, `ledger` and the other commands find both by
themselves.

Ctrl-C or SIGTERM stops it. Running jobs go on, and the next `up` takes them over.")]
pub(crate) struct Args {
    /// The folder for everything that must last; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The address of the API [default: 127.0.0.1:8460].
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<SocketAddr>,
    /// The configuration; see docs/reference/tradewind-toml.md.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Also submit a small batch of real commands, and tell what happens to it. Without `--state`
    /// and `--config` the demo has a market of its own, which is removed at its end.
    #[arg(long)]
    demo: bool,
    /// Begin a new market although something of an earlier one is in the folder, and its journal
    /// is not. What is left of that journal is kept under another name.
    #[arg(long)]
    new: bool,
    /// Take the market from another daemon that is connected to its database: that one can write
    /// nothing from then on. Only for a journal in PostgreSQL.
    #[arg(long, conflicts_with = "new")]
    take_over: bool,
    /// Where other daemons and clients reach this one, if it is not the address on which it
    /// listens. Only for a journal in PostgreSQL.
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// Users may have tokens although local sites run all jobs as the daemon's own account: every
    /// user is as good as an administrator then. As `shared_account` in the configuration.
    #[arg(long)]
    shared_account: bool,
    /// How much the log tells: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    log: tracing::Level,
    /// Write the log as lines of JSON.
    #[arg(long)]
    log_json: bool,
}

impl Args {
    fn claim(&self) -> Claim {
        if self.take_over { Claim::TakeOver } else { Claim::IfFree }
    }

    /// Whether the market ends with the demo.
    fn is_only_a_demo(&self) -> bool {
        self.demo && self.state.is_none() && self.config.is_none()
    }

    fn place(&self) -> Result<StateFolder, Failure> {
        match self.is_only_a_demo() {
            true => StateFolder::of_demo(),
            false => StateFolder::new(self.state.as_deref()),
        }
    }

    fn beginning(&self) -> Beginning {
        if self.new { Beginning::New } else { Beginning::AsFound }
    }
}

pub(crate) fn run(args: &Args, report: &Report) -> Outcome {
    log(args);
    let mut settings = read(args, report)?;
    accounts::tell(&settings, args, report);
    let place = args.place()?;
    place.make()?;
    let kept = journal::located(&place, &settings)?;
    journal::check(&place, &kept, args.beginning(), report)?;
    default_slots(args, &place, &kept, &settings)?.complete(&mut settings);
    feeds::fill(&mut settings, place.folder());
    let (told, happenings) = std::sync::mpsc::channel();
    // Opened first: the process that has the journal has the sites.
    let market = match &kept {
        JournalPlace::File(_) => {
            let open = journal::open(&kept, args.claim())?;
            Running::alone(start(&place, &settings, open, report)?)
        }
        JournalPlace::Database(address) => {
            let how = (args.beginning(), args.claim());
            shared::start((&place, address), &settings, how, told.clone(), report)?.into()
        }
    };
    let daemon = Daemon { args, settings, place, kept, report };
    daemon.run(market, told, &happenings)
}

/// So long the first surveys may take before requests are answered: nothing is planned at a site
/// before its first survey.
const FIRST_SURVEYS: Duration = Duration::from_secs(3);

/// What is said at a start on a full disk.
const READ_ONLY: &str = "the disk is full: the market can be read, and jobs can be cancelled, no \
                         more; it goes on by itself when there is room";

/// Writes down where the market listens. On a full disk that is only said: a market that can be
/// read is better than none.
fn tell_url(
    engine: &Engine,
    place: &StateFolder,
    url: &str,
    report: &Report,
) -> Result<(), Failure> {
    if engine.handle.gauges().is_read_only() {
        report.note(READ_ONLY);
    }
    match place::try_write_private(&place.url(), &format!("{url}\n")) {
        Err(wrong) if place::is_full(&wrong) => {
            report.note(&format!("there is no room for the file `url`: say `--url {url}`"));
            Ok(())
        }
        Err(_) => place::write_private(&place.url(), &format!("{url}\n")),
        Ok(()) => Ok(()),
    }
}

/// The configuration's policy is that of a new market: says so if another one decides, and no rules
/// choose it.
fn tell_policy(engine: &Engine, settings: &Settings, report: &Report) {
    let wanted = &settings.market.policy;
    let decides = engine.handle.look(|live| live.state().policy.clone());
    let Some(decides) = decides.ok().filter(|it| it != wanted) else { return };
    if settings.market.rules.rules.is_empty() {
        report.note(&format!(
            "the policy `{decides}` decides, and not `{wanted}` of the configuration, which is for \
             a new market: `tradewind policy '{wanted}'` changes it"
        ));
    }
}

/// How large the default sites are, before the journal is opened.
///
/// # Errors
/// If the note of that cannot be read or written.
fn default_slots(
    args: &Args,
    place: &StateFolder,
    kept: &JournalPlace,
    settings: &Settings,
) -> Result<DefaultSlots, Failure> {
    let is_new = match kept {
        JournalPlace::File(journal) => !journal.exists() && !args.demo,
        JournalPlace::Database(_) => false,
    };
    match is_new {
        true => DefaultSlots::begin(place.folder(), &settings.observed, place::write_private),
        false => Ok(DefaultSlots::noted(place.folder())?.unwrap_or(DefaultSlots::FIXED)),
    }
}

fn log(args: &Args) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_max_level(args.log).with_writer(std::io::stderr);
    let log = log.with_ansi(colours);
    match args.log_json {
        true => log.json().init(),
        false => log.with_target(false).init(),
    }
}

fn read(args: &Args, report: &Report) -> Result<Settings, Failure> {
    let mut settings = match &args.config {
        Some(path) => input::configuration(&path.to_string_lossy(), report)?,
        None => Settings::default(),
    };
    settings.shared_account |= args.shared_account || args.demo;
    Ok(settings)
}

/// How the projects that say so count times.
fn times_by_project(settings: &Settings) -> BTreeMap<String, Times> {
    let said = settings.projects.iter().filter_map(|it| Some((it.name.clone(), it.times?)));
    said.collect()
}

/// What the configuration allows.
fn allowed(settings: &Settings) -> tradewind_daemon::live::Settings {
    tradewind_daemon::live::Settings {
        max_jobs: settings.limits.jobs as usize,
        max_jobs_per_user: settings.limits.jobs_per_user as usize,
        max_bytes: u64::from(settings.limits.job_megabytes) << 20,
        max_bytes_per_user: u64::from(settings.limits.job_megabytes_per_user) << 20,
        max_variables: settings.limits.environment_variables as usize,
        max_environment: settings.limits.environment_bytes as usize,
        new_user_grant: settings.money.new_user_grant,
        peers: settings.peers.iter().map(|peer| peer.name.clone()).collect(),
        peer_limits: peers::limits(settings),
        peer_checks: peers::checks(settings),
        negotiation: peers::negotiation(settings),
        gather: settings.market.gather,
        slack: settings.market.slack,
        advice: settings.market.advice,
        estimates: settings.market.estimates,
        times: times_by_project(settings),
        keep_scripts: settings.journal.scripts,
        one_account: accounts::alone(settings),
        in_line: sites::in_line(settings),
        owners_first: sites::owners_first(settings),
        preemption: sites::preemption(settings),
        ..tradewind_daemon::live::Settings::default()
    }
}

/// The market of the folder, running.
fn start(
    place: &StateFolder,
    settings: &Settings,
    mut open: OpenStore,
    report: &Report,
) -> Result<Engine, Failure> {
    let pools = Arc::new(sites::pools(settings)?);
    let mut first = Some(open().map_err(|wrong| remains::explain(&wrong))?);
    let market = first.as_ref().map(|it| it.origin().market.clone()).unwrap_or_default();
    let open: OpenStore = Box::new(move || first.take().map_or_else(&mut open, Ok));
    let sites = sites::open(settings, place.folder(), &market)?;
    sites::remarks(&sites).iter().for_each(|remark| report.note(remark));
    let setup = Setup {
        open,
        codec: Json,
        pools,
        sites,
        peers: peers::couriers(settings)?,
        maker: Arc::new(policies::Policies),
        policy: settings.market.policy.clone(),
        settings: allowed(settings),
        timing: Timing::default(),
    };
    let started = Engine::start(setup).inspect(|engine| engine.handle.await_surveys(FIRST_SURVEYS));
    started.map_err(|wrong| {
        let hint = "`tradewind journal verify` looks into the journal, `tradewind doctor` at sites";
        Failure::usage(wrong).hint(hint)
    })
}

fn open(journal: &std::path::Path) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(Sqlite::open(journal)?))
}

pub(crate) fn administrator() -> Actor {
    Actor { user: sites::ADMINISTRATOR.to_owned(), role: Role::Administrator }
}

/// Makes a token for the administrator, if there is none in the folder; returns its file.
fn admit(engine: &Engine, place: &StateFolder, audit: &Audit) -> Result<PathBuf, Failure> {
    let file = place.token();
    let known = std::fs::read_to_string(&file).ok().map(|text| tradewind_web::hash_of(text.trim()));
    let stands = engine
        .handle
        .look(move |live| live.state().tokens().values().any(|token| Some(token.hash) == known));
    if stands.unwrap_or(false) {
        return Ok(file);
    }
    let secret = tradewind_web::new_secret();
    let (secret, hash) =
        secret.map_err(|wrong| Failure::usage(format!("no randomness: {wrong}")))?;
    let ask = Ask::Admit {
        user: sites::ADMINISTRATOR.to_owned(),
        role: Role::Administrator,
        hash,
        note: "made by `tradewind up`".to_owned(),
        // One that expired unnoticed would leave a market without an administrator.
        terms: TokenTerms::default(),
    };
    let asked = engine.handle.ask(administrator(), ask);
    let reply = asked.map_err(|refusal| Failure::usage(refusal.to_string()))?;
    let what = format!("a token for {} as administrator", sites::ADMINISTRATOR);
    let outcome = match reply {
        Reply::Number(number) => format!("done, number {number}"),
        _ => "done".to_owned(),
    };
    // It was not asked for over the API.
    audit.note("up", AuditKind::Rights, what, outcome);
    place::write_private(&file, &format!("{secret}\n"))?;
    Ok(file)
}

/// Archives, and the slow look for damage.
fn upkeep(
    place: &StateFolder,
    journal: &JournalPlace,
    settings: &Settings,
    engine: &Engine,
) -> Result<Upkeep, Failure> {
    let retention = settings.journal.retention;
    let audit = SqliteMaintenance::new(client::place::audit(place.folder()), Cover::Nothing);
    let all: [Box<dyn Maintenance>; 2] = [journal::maintenance(journal), Box::new(audit)];
    let all = all.into_iter().map(|database| MaintainedDatabase { database, retention }).collect();
    let started = Upkeep::start(all, Pace::default(), Arc::clone(engine.handle.gauges()));
    started.map_err(|wrong| Failure::usage(format!("no thread: {wrong}")))
}

/// The audit log beside the journal.
fn audit(place: &StateFolder) -> Result<Audit, Failure> {
    let path = client::place::audit(place.folder());
    let store = open(&path).map_err(|wrong| explain(&wrong))?;
    let started = Audit::start(store, move || Ok(Box::new(Sqlite::look(&path)?)));
    started.map_err(|wrong| Failure::usage(format!("no thread: {wrong}")))
}

/// The clusters that are only observed, and what was seen of them.
fn observe(
    place: &StateFolder,
    settings: &Settings,
    report: &Report,
) -> Result<(Records, Watch), Failure> {
    let path = place.folder().join("shadow.json");
    let records = Records::load(&path)
        .map_err(|wrong| Failure::usage(format!("cannot read `{}`: {wrong}", path.display())))?;
    let sites = sites::open_observed(settings, place.folder())?;
    if !sites.is_empty() {
        let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
        report.note(&format!("only observed, nothing is submitted there: {}", names.join(", ")));
    }
    let watch = Watch::start(sites, &records, path);
    let watch = watch.map_err(|wrong| Failure::usage(format!("no thread: {wrong}")))?;
    Ok((records, watch))
}

fn listen(
    args: &Args,
    settings: &Settings,
    engine: &Engine,
    audit: &Audit,
    (plans, observations, operations): (&Arc<planner::Plans>, Records, DaemonOperations),
) -> Result<Server, Failure> {
    let limits = limits(&settings.limits);
    let api = Api {
        market: engine.handle.clone(),
        outputs: Arc::new(TaskOutputs(engine.readers.clone(), peers::Reading::of(settings)?)),
        advisor: Arc::new(advice::SimulationAdvisor { plans: Arc::clone(plans) }),
        tariffs: Arc::new(tables::Tables::of(settings)),
        limits,
        sign_in: sign_in::of(settings)?,
        audit: audit.clone(),
        observations,
        operations: Arc::new(operations),
    };
    let address = args.listen.unwrap_or(settings.listen.address);
    let tls = settings.listen.tls.as_ref();
    let tls = tls.map(|tls| Tls {
        certificate: PathBuf::from(&tls.certificate),
        key: PathBuf::from(&tls.key),
    });
    let hosts = settings.listen.hosts.iter().chain(&args.advertise).cloned().collect();
    let served = tradewind_web::serve(api, Listen { address, tls, hosts });
    served.map_err(|wrong| {
        Failure::usage(wrong.to_string()).hint("another address: `--listen HOST:PORT`; port 0: any")
    })
}

/// What the configuration allows at the API's door; the rest is as usual.
fn limits(told: &tradewind_io::settings::UserLimits) -> Limits {
    let rate =
        |per_second: u32, times: u32| Rate { per_second, burst: per_second.saturating_mul(times) };
    let connections = told.connections as usize;
    Limits {
        per_token: rate(told.requests_per_second, 2),
        per_user: rate(told.requests_per_second.saturating_mul(2), 2),
        body_bytes: told.body as usize,
        submissions: rate(told.submissions_per_second, 5),
        submitted_bytes: rate(told.submission_bytes_per_second, 16),
        connections,
        connections_reserved: connections / 4,
        connections_per_address: told.connections_per_address as usize,
        connections_per_user: told.connections_per_user as usize,
        streams: told.streams as usize,
        streams_per_user: told.streams_per_user as usize,
        streams_reserved: (told.streams / 16) as usize,
        advice: told.advice as usize,
        advice_per_user: told.advice_per_user as usize,
        advice_waiting: told.advice_waiting as usize,
        advice_time: Duration::from_secs(u64::from(told.advice_seconds)),
        ..Limits::default()
    }
}

fn url(server: &Server, settings: &Settings) -> String {
    let address = server.address;
    match (settings.listen.tls.is_some(), address.ip().is_unspecified()) {
        (false, _) => format!("http://{address}"),
        (true, false) => format!("https://{address}"),
        // No client can connect to "all addresses", and certificates are for names.
        (true, true) => format!("https://{}:{}", host_name(), address.port()),
    }
}

/// This machine's name, as certificates most likely have it.
fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let good = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    match text.trim() {
        name if !name.is_empty() && name.chars().all(good) => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}

/// All pools of a configuration, in the market's order.
pub(super) fn all_pools(settings: &Settings) -> Vec<Pool> {
    sites::configured(settings).iter().flat_map(|site| site.pools.clone()).collect()
}

/// What tasks have written, asked of the sites' threads and of peers.
#[derive(Debug)]
struct TaskOutputs(Readers, peers::Reading);

impl Outputs for TaskOutputs {
    fn read(
        &self,
        site: SiteId,
        tag: &Tag,
        wanted: Excerpt,
        permit: Permit,
    ) -> Result<Written, SiteError> {
        let gone = "the site is gone, or this daemon is a standby: ask the owner of the market";
        let reader = self.0.get(site).ok_or_else(|| SiteError::Away(gone.to_owned()))?;
        reader.read(tag, wanted, permit)
    }

    fn abroad(
        &self,
        market: &str,
        peer: &str,
        wanted: &StatusQuery,
        part: Excerpt,
        _permit: Permit,
    ) -> Result<Written, SiteError> {
        self.1.part(market, peer, wanted, &part)
    }
}
