//! Connections, and what must hold of the server before anything is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use postgres::error::Severity;
use postgres::{Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradewind_daemon::store::StoreError;

use crate::address::{Address, Protection};
use crate::error::{READ_ONLY, explain, io, unconnected};
use crate::patience::within;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

/// A session at the server.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Whether the server has warned of something since it was looked at last.
    warned: Arc<AtomicBool>,
}

impl Connection {
    /// Whether the server has warned since this was asked last. In a statement that writes there is
    /// one warning only: it was committed, and the wait for a standby was given up.
    pub(crate) fn was_warned(&self) -> bool {
        self.warned.swap(false, Ordering::Relaxed)
    }
}

/// The session's own settings, whatever the role's or the server's are. Without a time limit for
/// statements: one that ends the wait for a standby would have rows acknowledged too early.
const SETTINGS: &str = "
SET search_path = pg_catalog;
SET statement_timeout = 0;
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET default_transaction_isolation = 'read committed';
SET default_transaction_deferrable = off;
SET client_min_messages = warning;
";

/// Opens a session, of several hosts at the first one that will do. One that hangs is left out until it
/// answers.
///
/// # Errors
/// If there is none, or, for writing, if the server takes no changes or does not keep them.
pub(crate) fn connect(address: &Address, access: Access) -> Result<Connection, StoreError> {
    let mut refused = io(address.name(), "it has no host");
    for host in &address.hosts {
        if host.hanging.is_so() {
            refused = io(address.name(), "the database still does not answer");
            continue;
        }
        let (one, whole) = (host.config.clone(), address.clone());
        let limit = (host.patience, address.name());
        match within(limit, &host.hanging, move || session(one, &whole, access)) {
            Ok(open) => return Ok(open),
            Err(wrong) => refused = wrong,
        }
    }
    Err(refused)
}

/// A session at one host.
fn session(
    mut config: Config,
    address: &Address,
    access: Access,
) -> Result<Connection, StoreError> {
    let name = address.name();
    let warned = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&warned);
    config.notice_callback(move |notice| {
        if notice.parsed_severity() == Some(Severity::Warning) {
            tracing::warn!("the database warns: {}", notice.message());
            flag.store(true, Ordering::Relaxed);
        }
    });
    let client = match &address.protection {
        Protection::Plain => config.connect(NoTls),
        Protection::Tls(root) => {
            config.connect(MakeRustlsConnect::new(tls(name, root.as_deref())?))
        }
    };
    let client = client.map_err(|wrong| unconnected(name, &wrong))?;
    let mut connection = Connection { client, warned };
    connection.client.batch_execute(SETTINGS).map_err(|wrong| explain(name, 0, &wrong))?;
    match access {
        Access::Write => keeps_what_is_written(&mut connection, name)?,
        Access::Read => {
            let read = "SET default_transaction_read_only = on";
            connection.client.batch_execute(read).map_err(|wrong| explain(name, 0, &wrong))?;
        }
    }
    Ok(connection)
}

fn tls(name: &str, root: Option<&std::path::Path>) -> Result<ClientConfig, StoreError> {
    let mut roots = RootCertStore::empty();
    match root {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(file) => {
            let bad = |what: String| {
                io(name, format!("the authorities in `{}` cannot be used: {what}", file.display()))
            };
            let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
            let all: Vec<_> =
                all.map_err(|wrong: rustls::pki_types::pem::Error| bad(wrong.to_string()))?;
            if all.is_empty() {
                return Err(bad("there is no certificate in it".to_owned()));
            }
            for certificate in all {
                roots.add(certificate).map_err(|wrong| bad(wrong.to_string()))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|wrong| io(name, format!("TLS cannot be set up: {wrong}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// What the server must be like.
fn keeps_what_is_written(connection: &mut Connection, name: &str) -> Result<(), StoreError> {
    let ask = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), \
               current_setting('fsync'), current_setting('synchronous_commit')";
    let client = &mut connection.client;
    let said = client.query_one(ask, &[]).map_err(|wrong| explain(name, 0, &wrong))?;
    let read = || Ok((said.try_get(0)?, said.try_get(1)?, said.try_get(2)?, said.try_get(3)?));
    let read: Result<(bool, String, String, String), postgres::Error> = read();
    let (is_standby, read_only, fsync, commit) = read.map_err(|wrong| explain(name, 0, &wrong))?;
    if is_standby || read_only == "on" {
        return Err(io(name, READ_ONLY));
    }
    if fsync != "on" {
        return Err(io(
            name,
            "the server runs with `fsync = off` and may lose what it has acknowledged: set it to \
             `on`, nothing was written",
        ));
    }
    if commit == "off" {
        // Every other value keeps what is acknowledged across a crash of the server.
        let on = "SET synchronous_commit = on";
        client.batch_execute(on).map_err(|wrong| explain(name, 0, &wrong))?;
    }
    Ok(())
}

/// So far the clocks of this machine and of the database may be apart, in seconds.
const APART: i64 = 300;

/// How many seconds this machine's clock is ahead of the database's.
fn ahead(connection: &mut Connection, name: &str, now: i64) -> Result<i64, StoreError> {
    let ask = "SELECT floor(extract(epoch FROM clock_timestamp()))::int8";
    let said = connection.client.query_one(ask, &[]).and_then(|row| row.try_get::<_, i64>(0));
    Ok(now - said.map_err(|wrong| explain(name, 0, &wrong))?)
}

/// Refuses to go on with clocks that are far apart: times of rows would jump when another daemon
/// takes over.
pub(crate) fn clocks_agree(
    connection: &mut Connection,
    name: &str,
    now: i64,
) -> Result<(), StoreError> {
    let ahead = ahead(connection, name, now)?;
    if ahead.abs() <= APART {
        return Ok(());
    }
    let (seconds, side) = (ahead.abs(), if ahead > 0 { "ahead of" } else { "behind" });
    Err(io(
        name,
        format!(
            "this machine's clock is {seconds} s {side} the database's: set both by NTP, nothing \
             was written"
        ),
    ))
}

/// Seconds since 1970, by this machine.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What an administrator should know of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Version of the server, as it says.
    pub version: String,
    /// What a commit waits for at this server, as its setting `synchronous_commit` says.
    pub synchronous_commit: String,
    /// Standbys that a commit waits for; empty: none.
    pub synchronous_standbys: String,
    /// How far this machine's clock is ahead of the database's, in seconds.
    pub clock_ahead: i64,
    /// Whether a daemon is connected that writes.
    pub has_owner: bool,
}

/// Looks at a database and changes nothing.
///
/// # Errors
/// If it cannot be reached.
pub(crate) fn facts(address: &Address) -> Result<Facts, StoreError> {
    let name = address.name();
    let mut connection = connect(address, Access::Read)?;
    let ask = "SELECT current_setting('server_version'), current_setting('synchronous_commit'), \
               current_setting('synchronous_standby_names')";
    let said = connection.client.query_one(ask, &[]).map_err(|wrong| explain(name, 0, &wrong))?;
    let clock_ahead = ahead(&mut connection, name, now())?;
    let has_owner = crate::owner::holder(&mut connection.client);
    let has_owner = has_owner.map_err(|wrong| explain(name, 0, &wrong))?.is_some();
    let facts = || {
        let (version, synchronous_commit) = (said.try_get(0)?, said.try_get(1)?);
        let synchronous_standbys = said.try_get(2)?;
        Ok(Facts { version, synchronous_commit, synchronous_standbys, clock_ahead, has_owner })
    };
    facts().map_err(|wrong: postgres::Error| explain(name, 0, &wrong))
}
