//! A market whose journal is in a database: several daemons follow it, and one of them owns it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::{
    Engine, Followed, OpenPartners, OwnerLook, SharedSetup, SiteSetup, Term, Timing,
};
use tradewind_daemon::live::RuleChange;
use tradewind_daemon::store::{Store, StoreError};
use tradewind_io::settings::Settings;
use tradewind_postgres::{
    Address, Advertised, Claim, Claimant, OwnerWatch, PatientStore, Postgres, SiteNotes,
    site_folders, take_in_time,
};

use super::journal::{Contender, unopened};
use super::place::StateFolder;
use super::remains::Beginning;
use super::service::Happening;
use super::{FIRST_SURVEYS, allowed, peers, policies};
use crate::client;
use crate::exit::Failure;
use crate::journals::JournalNote;
use crate::report::Report;
use crate::sites::{self, Memory};

/// The file that identifies a daemon's folder, locked as long as the daemon lives.
const IDENTITY: &str = "daemon.id";

/// A running daemon of a shared market.
pub(super) struct SharedMarket {
    pub(super) engine: Engine,
    /// Where it says that it can be reached.
    pub(super) advertised: Advertised,
    /// Two daemons in one folder are refused.
    pub(super) _identity: File,
}

/// Starts a daemon: it owns the market if that is free, and is a standby otherwise.
///
/// # Errors
/// If the folder is in use, or the database cannot be used: for people.
pub(super) fn start(
    (folder, address): (&StateFolder, &Address),
    settings: &Settings,
    (how, claim): (Beginning, Claim),
    changed: Sender<Happening>,
    report: &Report,
) -> Result<SharedMarket, Failure> {
    let (identity, name) = identity(folder.folder())?;
    let note = match how {
        Beginning::AsFound => JournalNote::read(folder.folder())?,
        Beginning::New => None,
    };
    let length = Duration::from_secs(u64::try_from(settings.standby.lease.0).unwrap_or(10));
    let (process, knows) = (client::new_key(), RuleChange::KNOWN);
    let claimant = Claimant { folder: name, process, length, knows };
    let advertised = Advertised::default();
    let contender = Contender {
        folder: folder.clone(),
        address: address.clone(),
        claimant,
        advertised: advertised.clone(),
        market: note.as_ref().map(JournalNote::origin),
    };
    let first = match contender.own(claim) {
        Ok(term) => Some(term),
        Err(StoreError::Busy { .. }) => None,
        Err(wrong) => return Err(unopened(folder, &wrong)),
    };
    contender.note()?;
    if first.is_none() {
        report.note("another daemon owns the market: this one is a standby");
    }
    let owns = first.is_some();
    let watch = OwnerWatch::new(address.clone(), contender.claimant.clone());
    let followed = Box::new(FollowedJournal { contender, watch });
    let setup = setup(folder, address, settings, changed)?;
    let engine = Engine::share(setup, first, followed).map_err(|wrong| {
        let hint = "`tradewind journal verify` looks into the journal, `tradewind doctor` at sites";
        Failure::usage(wrong).hint(hint)
    })?;
    if owns {
        engine.handle.await_surveys(FIRST_SURVEYS);
    }
    Ok(SharedMarket { engine, advertised, _identity: identity })
}

fn setup(
    folder: &StateFolder,
    address: &Address,
    settings: &Settings,
    changed: Sender<Happening>,
) -> Result<SharedSetup<Json>, Failure> {
    let owner = |it: &tradewind_io::settings::Site| {
        it.owner.clone().unwrap_or_else(|| sites::ADMINISTRATOR.to_owned())
    };
    Ok(SharedSetup {
        codec: Json,
        pools: Arc::new(sites::pools(settings)?),
        owners: sites::configured(settings).iter().map(owner).collect(),
        maker: Arc::new(policies::Policies),
        policy: settings.market.policy.clone(),
        settings: allowed(settings),
        timing: Timing::default(),
        sites: partners(folder.clone(), address.clone(), settings.clone()),
        changed: Box::new(move |role| drop(changed.send(Happening::Role(role.clone())))),
    })
}

/// Opens sites and peers for a term.
fn partners(folder: StateFolder, address: Address, settings: Settings) -> OpenPartners {
    Box::new(move |epoch| {
        let opened = open_sites(&folder, &address, &settings, epoch);
        let opened = opened.and_then(|sites| Ok((sites, peers::couriers(&settings)?)));
        opened.map_err(|failure| {
            let said = failure.problems.iter().map(|it| it.message.clone());
            said.collect::<Vec<_>>().join("; ")
        })
    })
}

/// Sites whose tasks this daemon knows; the others count as away.
fn open_sites(
    folder: &StateFolder,
    address: &Address,
    settings: &Settings,
    epoch: u64,
) -> Result<Vec<SiteSetup>, Failure> {
    let ours = sites::folders(settings, folder.folder())?;
    let theirs = site_folders(address, epoch, &ours);
    let theirs = theirs.map_err(|wrong| Failure::usage(wrong.to_string()))?;
    let market = Postgres::market(address).map_err(|wrong| Failure::usage(wrong.to_string()))?;
    let market = market.map(|origin| origin.market).unwrap_or_default();
    let configured = sites::configured(settings);
    let memory = configured.iter().zip(&ours).zip(&theirs).map(|((site, ours), theirs)| {
        let notes = || Box::new(SiteNotes::new(address.clone(), &site.name, epoch)) as Box<_>;
        Memory::of(site, (&ours.1, theirs), notes)
    });
    sites::open_for(settings, folder.folder(), (&market, epoch), memory.collect())
}

/// The journal, as a standby follows it.
struct FollowedJournal {
    contender: Contender,
    watch: OwnerWatch,
}

impl Followed for FollowedJournal {
    fn look(&mut self) -> Result<OwnerLook, StoreError> {
        self.watch.look()
    }

    fn say(&mut self, seq: u64) {
        self.watch.say(seq, &self.contender.advertised);
    }

    fn read(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(PatientStore::look(&self.contender.address)?))
    }

    fn take(&mut self) -> Result<Option<Term>, StoreError> {
        let contender = self.contender.clone();
        let own = move || contender.own(Claim::IfFree);
        match take_in_time(&self.contender.address, own) {
            Ok(term) => Ok(Some(term)),
            Err(StoreError::Busy { .. }) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }
}

/// The folder's identity, made at its first start, and the lock on it.
fn identity(folder: &Path) -> Result<(File, String), Failure> {
    let path = folder.join(IDENTITY);
    let cannot = |wrong: std::io::Error| {
        Failure::usage(format!("`{}` cannot be used: {wrong}", path.display()))
    };
    let mut options = File::options();
    let opened = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = opened.open(&path).map_err(cannot)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let message = format!("a daemon runs in this folder already: `{}`", folder.display());
        return Err(Failure::usage(message).hint("name another folder: `--state DIR`"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cannot)?;
    if text.trim().is_empty() {
        text = client::new_key();
        file.write_all(format!("{text}\n").as_bytes()).map_err(cannot)?;
        file.sync_all().map_err(cannot)?;
    }
    Ok((file, text.trim().to_owned()))
}
