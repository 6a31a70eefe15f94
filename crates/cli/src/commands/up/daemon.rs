//! A daemon from its start to its end: what it does in any role, and what only an owner does.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use tradewind_daemon::audit::Audit;
use tradewind_daemon::engine::{Engine, MarketRole};
use tradewind_daemon::upkeep::Upkeep;
use tradewind_io::settings::Settings;
use tradewind_postgres::Advertised;
use tradewind_web::{Events, ReceiptKey, Server};

use super::operations::DaemonOperations;
use super::place::StateFolder;
use super::service::{self, Happening};
use super::{
    Args, admit, audit, demo, listen, notify, observe, place, planner, schedules, shared,
    tell_policy, tell_url, upkeep, url, windows,
};
use crate::background::Background;
use crate::exit::{Exit, Failure, Outcome};
use crate::feeds::FeedReader;
use crate::journals::JournalPlace;
use crate::output;
use crate::report::Report;

/// An engine, and what it needs to be reached by other daemons.
pub(super) struct Running {
    engine: Engine,
    advertised: Option<Advertised>,
    _identity: Option<std::fs::File>,
}

impl Running {
    pub(super) fn alone(engine: Engine) -> Running {
        Running { engine, advertised: None, _identity: None }
    }
}

impl From<shared::SharedMarket> for Running {
    fn from(it: shared::SharedMarket) -> Running {
        let shared::SharedMarket { engine, advertised, _identity } = it;
        Running { engine, advertised: Some(advertised), _identity: Some(_identity) }
    }
}

/// A daemon that was started as its arguments and its configuration say.
pub(super) struct Daemon<'a> {
    pub(super) args: &'a Args,
    pub(super) settings: Settings,
    pub(super) place: StateFolder,
    pub(super) kept: JournalPlace,
    pub(super) report: &'a Report,
}

impl Daemon<'_> {
    /// Runs until a signal ends it.
    ///
    /// # Errors
    /// If it cannot listen, or something else is missing that it needs.
    pub(super) fn run(
        &self,
        market: Running,
        told: Sender<Happening>,
        happenings: &Receiver<Happening>,
    ) -> Outcome {
        let Daemon { args, settings, place, report, .. } = self;
        let engine = &market.engine;
        let owns = engine.handle.gauges().standing().is_none();
        let audit = audit(place)?;
        let token = if owns { Some(admit(engine, place, &audit)?) } else { None };
        let plans = Arc::new(planner::Plans::default());
        let (observations, watch) = observe(place, settings, report)?;
        let deliveries = notify::Deliveries::default();
        let answering = (&plans, observations, self.operations(&deliveries)?);
        let server = listen(args, settings, engine, &audit, answering)?;
        let mut duties = None;
        if owns {
            duties = Some(Duties::start(self, engine, server.events(), (&deliveries, &plans))?);
        }
        let url = url(&server, settings);
        if let Some(advertised) = &market.advertised {
            advertised.set(args.advertise.as_deref().unwrap_or(&url));
        }
        // Who knows the URL may end it.
        let no_signals = |wrong| Failure::usage(format!("cannot wait for signals: {wrong}"));
        let end = service::End::listen().map_err(no_signals)?;
        tell_url(engine, place, &url, report)?;
        tell_policy(engine, settings, report);
        output::print(&format!("{url}\n"))?;
        if let Some(token) = token {
            report.note(&format!("the administrator's token is in {}", token.display()));
        }
        let no_thread = |wrong: std::io::Error| Failure::usage(format!("no thread: {wrong}"));
        let planner =
            planner::start(engine.handle.clone(), Arc::clone(&plans)).map_err(no_thread)?;
        end.tell(told, (*report).clone()).map_err(no_thread)?;
        service::notify("READY=1");
        if args.demo {
            demo::play(&engine.handle, report)?;
        }
        self.wait(engine, &server, (&audit, &deliveries, &plans), &mut duties, happenings);
        service::notify("STOPPING=1");
        match args.is_only_a_demo() {
            true => demo::clear(&engine.handle, report),
            false => report.note("stopping; running jobs go on"),
        }
        let notifying = duties.map(Duties::stop_watching);
        watch.stop();
        planner.stop();
        server.stop();
        notifying.into_iter().for_each(Notifying::stop);
        audit.stop();
        market.engine.handle.stop();
        market.engine.wait();
        match args.is_only_a_demo() {
            true => place.remove()?,
            false => drop(std::fs::remove_file(place.url())),
        }
        Ok(Exit::Ok)
    }

    /// What administrators may ask of it.
    ///
    /// # Errors
    /// If the key of receipts is damaged.
    fn operations(&self, deliveries: &notify::Deliveries) -> Result<DaemonOperations, Failure> {
        Ok(DaemonOperations {
            settings: self.settings.clone(),
            folder: self.place.folder().to_owned(),
            journal: self.kept.clone(),
            deliveries: deliveries.clone(),
            receipts: match self.settings.peers.is_empty() {
                true => None,
                false => receipt_key(&self.place.receipt_key())?,
            },
        })
    }

    /// Waits until the daemon is to end; takes up the duties of an owner and lays them down.
    fn wait(
        &self,
        engine: &Engine,
        server: &Server,
        (audit, deliveries, plans): (&Audit, &notify::Deliveries, &Arc<planner::Plans>),
        duties: &mut Option<Duties>,
        happenings: &Receiver<Happening>,
    ) {
        for happening in happenings {
            match happening {
                Happening::Stop => return,
                Happening::Role(MarketRole::Standby(_)) => {
                    self.report.note("this daemon is a standby now");
                    if let Some(duties) = duties.take() {
                        duties.stop_watching().stop();
                    }
                }
                Happening::Role(MarketRole::Owner { .. }) => {
                    self.report.note("this daemon owns the market now");
                    let begun = admit(engine, &self.place, audit).and_then(|_| {
                        let events = server.events_from_now();
                        Duties::start(self, engine, events, (deliveries, plans))
                    });
                    match begun {
                        Ok(begun) => *duties = Some(begun),
                        Err(failure) => self.report.failure(&failure),
                    }
                }
            }
        }
    }
}

/// What only the owner of a market does, beside what its engine does.
struct Duties {
    watcher: Background,
    windows: Background,
    feeds: FeedReader,
    notifying: Notifying,
}

/// Those that go on until the server has stopped.
struct Notifying {
    notifier: notify::Notifier,
    upkeep: Upkeep,
}

impl Notifying {
    fn stop(self) {
        self.notifier.stop();
        self.upkeep.stop();
    }
}

impl Duties {
    fn start(
        daemon: &Daemon<'_>,
        engine: &Engine,
        events: Events,
        (deliveries, plans): (&notify::Deliveries, &Arc<planner::Plans>),
    ) -> Result<Duties, Failure> {
        let Daemon { settings, place, kept, .. } = daemon;
        let notifier =
            notify::Notifier::start(engine.handle.clone(), events, settings, deliveries)?;
        let upkeep = upkeep(place, kept, settings, engine)?;
        let state = place.folder();
        let watcher = schedules::start(engine.handle.clone(), settings, state);
        let no_thread = |wrong: std::io::Error| Failure::usage(format!("no thread: {wrong}"));
        let watcher = watcher.map_err(no_thread)?;
        let windows = windows::start(engine.handle.clone(), Arc::clone(plans));
        let windows = windows.map_err(no_thread)?;
        let feeds = FeedReader::start(settings, state).map_err(no_thread)?;
        Ok(Duties { watcher, windows, feeds, notifying: Notifying { notifier, upkeep } })
    }

    fn stop_watching(self) -> Notifying {
        self.windows.stop();
        self.feeds.stop();
        self.watcher.stop();
        self.notifying
    }
}

/// The key of receipts in this file, made if there is none; `None`: there is no room for it.
fn receipt_key(path: &Path) -> Result<Option<ReceiptKey>, Failure> {
    let file = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(wrong) if wrong.kind() == std::io::ErrorKind::NotFound => {
            let made = ReceiptKey::generate().map_err(Failure::usage)?;
            if let Err(wrong) = place::try_write_private(path, &format!("{made}\n")) {
                tracing::warn!(%wrong, %file, "receipts are not signed: their key cannot be written");
                return Ok(None);
            }
            made
        }
        Err(wrong) => return Err(Failure::usage(format!("failed to read `{file}`: {wrong}"))),
    };
    let key = ReceiptKey::read(&text).map_err(|why| {
        let hint = "bring the file back, or remove it: a new key is made then, and peers need it";
        Failure::usage(format!("`{file}`: {why}")).hint(hint)
    });
    key.map(Some)
}
