//! The lease: until when the owner of a market is its owner, by the database's clock.
//!
//! An opening for writing that names a [`Claimant`] gets it together with the epoch. A thread with a
//! connection of its own renews it ([`Renewal`]), whatever else the owner does; standbys look at it
//! ([`OwnerWatch`]) and take over when it has run out. The epoch alone decides who may write rows;
//! the lease decides when another may raise it, and until when the owner may give orders to sites.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use postgres::{Client, GenericClient};
use tradewind_daemon::engine::{Lease, LeaseHold, OwnerLook, Tick};
use tradewind_daemon::store::StoreError;

use crate::address::Address;
use crate::connect::{Access, Connection, connect};
use crate::daemons;
use crate::error::explain;
use crate::owner;
use crate::patience::{Hanging, LOOK, READ, ask, within};

/// A daemon that wants to own a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// Its folder: of two claimants with the same one, the earlier is dead.
    pub folder: String,
    /// Its process.
    pub process: String,
    /// For how long a lease is.
    pub length: Duration,
    /// The latest rules of counting that it knows.
    pub knows: u32,
}

impl Claimant {
    /// As the table has it.
    pub(crate) fn holder(&self) -> String {
        format!("{}/{}/{}", self.folder, self.process, self.knows)
    }

    pub(crate) fn milliseconds(&self) -> i64 {
        i64::try_from(self.length.as_millis()).unwrap_or(i64::MAX)
    }
}

/// What the table says of the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    /// Whether it runs.
    pub(crate) runs: bool,
    /// Whether it ran out, and was not given up.
    pub(crate) ran_out: bool,
    pub(crate) holder: String,
}

impl LeaseRow {
    pub(crate) fn read(client: &mut impl GenericClient) -> Result<LeaseRow, postgres::Error> {
        let ask = "SELECT until > clock_timestamp(), until > '-infinity', holder \
                   FROM tradewind.owner WHERE id = 1";
        let row = client.query_one(ask, &[])?;
        let (runs, was_set): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
        Ok(LeaseRow { runs, ran_out: was_set && !runs, holder: row.try_get(2)? })
    }

    /// The latest rules that the holder knows; `None`: earlier releases did not say so.
    pub(crate) fn knows(&self) -> Option<u32> {
        self.holder.split('/').nth(2)?.parse().ok()
    }

    /// Whether it is of an earlier process of the same folder.
    pub(crate) fn is_of(&self, claimant: Option<&Claimant>) -> bool {
        let folder = self.holder.split_once('/').map(|(folder, _)| folder);
        claimant.is_some_and(|it| !it.folder.is_empty() && folder == Some(it.folder.as_str()))
    }
}

/// Where an owner can be reached, as soon as it knows.
#[derive(Debug, Clone, Default)]
pub struct Advertised(Arc<Mutex<String>>);

impl Advertised {
    /// From now on there.
    pub fn set(&self, url: &str) {
        url.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Renews the lease until it is dropped, lost or released.
#[derive(Debug)]
pub struct Renewal {
    stop: Sender<Stop>,
    thread: Option<JoinHandle<()>>,
}

enum Stop {
    Release,
}

/// How often a standby says how far it is, at most.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// A lease is renewed at least so often.
const AT_LEAST: Duration = Duration::from_millis(500);

impl Renewal {
    /// Of the lease that `claimant` has got with an opening.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(
        address: &Address,
        claimant: Claimant,
        lease: Arc<Lease>,
        advertised: Advertised,
    ) -> std::io::Result<Renewal> {
        let (stop, stopped) = channel();
        let every = (claimant.length / 4).min(AT_LEAST);
        let mut it =
            Renewing { address: address.clone(), claimant, lease, advertised, client: None };
        let thread = std::thread::Builder::new().name("lease".to_owned());
        let thread = thread.spawn(move || it.go_on(&stopped, every))?;
        Ok(Renewal { stop, thread: Some(thread) })
    }
}

impl LeaseHold for Renewal {
    fn release(mut self: Box<Self>) {
        drop(self.stop.send(Stop::Release));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

struct Renewing {
    address: Address,
    claimant: Claimant,
    lease: Arc<Lease>,
    advertised: Advertised,
    client: Option<Connection>,
}

/// What a renewal came to.
enum Renewed {
    Yes,
    /// Another daemon has the market.
    No,
}

impl Renewing {
    fn go_on(&mut self, stop: &Receiver<Stop>, every: Duration) {
        let mut is_away = false;
        loop {
            let asked = Tick::now();
            match self.renew() {
                Ok(Renewed::Yes) => {
                    self.lease.renew(asked, self.claimant.length);
                    is_away = false;
                }
                Ok(Renewed::No) => {
                    self.lease.lose("another daemon has taken over this market");
                    return;
                }
                Err(wrong) => {
                    if !is_away {
                        tracing::warn!(%wrong, "the lease cannot be renewed: no orders leave when it ends");
                    }
                    is_away = true;
                }
            }
            match stop.recv_timeout(every) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Stop::Release) => {
                    if let Err(wrong) = self.release() {
                        tracing::warn!(%wrong, "the lease was not given up: it runs out by itself");
                    }
                    return;
                }
            }
        }
    }

    /// Asks something over the connection. A renewal that takes as long as a lease renews nothing.
    fn over<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let max = self.claimant.length.clamp(LOOK, READ);
        over((&self.address, Access::Write, max), &mut self.client, act)
    }

    fn renew(&mut self) -> Result<Renewed, StoreError> {
        let (holder, length) = (self.claimant.holder(), self.claimant.milliseconds());
        let url = self.advertised.get();
        let renew = "UPDATE tradewind.owner SET url = $3, \
                     until = clock_timestamp() + $2::int8 * interval '1 millisecond' \
                     WHERE id = 1 AND holder = $1";
        match self.over(move |client| client.execute(renew, &[&holder, &length, &url]))? {
            0 => Ok(Renewed::No),
            _ => Ok(Renewed::Yes),
        }
    }

    fn release(&mut self) -> Result<(), StoreError> {
        let holder = self.claimant.holder();
        let release = "UPDATE tradewind.owner SET until = '-infinity', url = '' \
                       WHERE id = 1 AND holder = $1";
        self.over(move |client| client.execute(release, &[&holder])).map(|_| ())
    }
}

/// Asks something over a connection, which is opened if there is none. After an error, or if it takes
/// longer than `max`, there is none.
fn over<T: Send + 'static>(
    (address, access, max): (&Address, Access, Duration),
    connection: &mut Option<Connection>,
    act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
) -> Result<T, StoreError> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => connect(address, access)?,
    };
    let name = address.name().to_owned();
    let call = move || {
        let done = act(&mut open.client).map_err(|wrong| explain(&name, 0, &wrong))?;
        Ok((open, done))
    };
    let (open, done) = within((max, address.name()), &Hanging::default(), call)?;
    *connection = Some(open);
    Ok(done)
}

/// Looks who owns a market, again and again, over one connection.
pub struct OwnerWatch {
    address: Address,
    claimant: Claimant,
    connection: Option<Connection>,
    /// What the session says of this daemon, and since when.
    said: Option<(String, Instant)>,
}

impl std::fmt::Debug for OwnerWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnerWatch").field("claimant", &self.claimant).finish_non_exhaustive()
    }
}

impl OwnerWatch {
    /// For this claimant, who may own it when its lease has run out.
    pub fn new(address: Address, claimant: Claimant) -> OwnerWatch {
        OwnerWatch { address, claimant, connection: None, said: None }
    }

    /// Lets the owner see how far this standby is, by the name of its session
    /// ([`Postgres::daemons`](crate::Postgres::daemons)): row `seq` is its last. Not more often than
    /// once a second, and nothing depends on it.
    pub fn say(&mut self, seq: u64, at: &Advertised) {
        let text = daemons::session_name(seq, &at.get());
        let fresh = |said: &(String, Instant)| said.0 == text || said.1.elapsed() < SAID_EVERY;
        if self.connection.is_none() || self.said.as_ref().is_some_and(fresh) {
            return;
        }
        let name = text.clone();
        let said = self.over(move |client| {
            client.execute("SELECT set_config('application_name', $1, false)", &[&name])
        });
        if let Err(wrong) = said {
            tracing::debug!(%wrong, "the owner is not told of this standby");
        }
        self.said = Some((text, Instant::now()));
    }

    /// Who owns it now, and how far the journal is.
    ///
    /// # Errors
    /// If the database cannot be reached, or does not answer; it is connected to again the next time.
    pub fn look(&mut self) -> Result<OwnerLook, StoreError> {
        let claimant = self.claimant.clone();
        self.over(move |client| look(client, &claimant))
    }

    fn over<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.connection.is_none() {
            self.said = None;
        }
        over((&self.address, Access::Read, LOOK), &mut self.connection, act)
    }
}

fn look(client: &mut Client, claimant: &Claimant) -> Result<OwnerLook, postgres::Error> {
    let ask = "SELECT until > clock_timestamp(), holder, url, \
               coalesce((SELECT max(seq) FROM tradewind.rows), \
                        (SELECT max(last) FROM tradewind.archives), 0) \
               FROM tradewind.owner WHERE id = 1";
    let row = client.query_one(ask, &[])?;
    let (runs, holder, url): (bool, String, String) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let last: i64 = row.try_get(3)?;
    let lease = LeaseRow { runs, ran_out: false, holder };
    let is_free = !runs || lease.is_of(Some(claimant));
    let url = Some(url).filter(|url| !url.is_empty());
    Ok(OwnerLook { last: u64::try_from(last).unwrap_or(0), is_free, url })
}

/// Stands for a folder where what must be remembered of a site is in the database.
pub const IN_DATABASE: &str = "database";

/// Notes in which folder the adapters of sites remember what they must, of sites that had none;
/// returns for each site the folder that has it, in their order; [`IN_DATABASE`]: none any more.
///
/// What changes is one statement, so a daemon that is cut off holds no takeover up.
/// `sites`: name of the site, and what identifies the folder. `term`: the epoch that the owner's
/// orders carry.
///
/// # Errors
/// If the database cannot be reached, or the epoch is another's.
pub fn site_folders(
    address: &Address,
    term: u64,
    sites: &[(String, String)],
) -> Result<Vec<String>, StoreError> {
    let sites = sites.to_vec();
    ask(address, move |address| note_folders(address, term, &sites))
}

fn note_folders(
    address: &Address,
    term: u64,
    sites: &[(String, String)],
) -> Result<Vec<String>, StoreError> {
    let name = address.name();
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let client = &mut connect(address, Access::Write)?.client;
    let (names, folders): (Vec<&str>, Vec<&str>) =
        sites.iter().map(|(site, folder)| (site.as_str(), folder.as_str())).unzip();
    let put = "WITH held AS (SELECT 1 FROM tradewind.owner WHERE id = 1 AND term = $1 FOR SHARE) \
               INSERT INTO tradewind.site_folders SELECT it.site, it.folder \
               FROM held, unnest($2::text[], $3::text[]) AS it (site, folder) \
               ON CONFLICT DO NOTHING";
    let number = i64::try_from(term).unwrap_or(i64::MAX);
    client.execute(put, &[&number, &names, &folders]).map_err(wrong)?;
    owner::is_term(client, name, term)?;
    let get = "SELECT folder FROM unnest($1::text[]) WITH ORDINALITY AS it (site, place) \
               JOIN tradewind.site_folders USING (site) ORDER BY place";
    let rows = client.query(get, &[&names]).map_err(wrong)?;
    rows.iter().map(|row| row.try_get(0).map_err(wrong)).collect()
}
