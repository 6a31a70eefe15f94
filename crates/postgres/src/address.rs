//! Where the database is, as whom, and under what protection. Of several hosts the one that takes
//! changes is meant: the primary.
//!
//! A password never leaves this module but towards the server: [`Address`] shows itself without.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use postgres::Config;
use postgres::config::TargetSessionAttrs;

use crate::patience::Hanging;
use crate::pgpass;

/// A database that a URL names: `postgresql://[USER[:PASSWORD]@][HOST][:PORT][,…][/DATABASE][?…]`.
#[derive(Clone)]
pub struct Address {
    pub(crate) hosts: Vec<DatabaseHost>,
    pub(crate) protection: Protection,
    /// The URL without password and parameters.
    name: String,
}

/// One of the hosts of a database.
#[derive(Clone)]
pub(crate) struct DatabaseHost {
    pub(crate) config: Config,
    /// How long it may take until there is a session.
    pub(crate) patience: Duration,
    /// Another attempt has not ended.
    pub(crate) hanging: Hanging,
}

/// How the connection is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Not at all: a socket, this machine, or because the URL says so.
    Plain,
    /// TLS; the server's certificate must be valid for its name, by the authorities in this file
    /// (PEM), or by those of the web.
    Tls(Option<PathBuf>),
}

/// What is wrong with a URL. It never shows the URL, which may have a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

fn wrong(what: impl Into<String>) -> AddressError {
    AddressError(what.into())
}

/// The port if none is given.
const PORT: u16 = 5432;
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where there is another host to ask.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);
/// Hosts that a URL names at most.
const HOSTS: usize = 16;

/// The parts of a URL, decoded.
#[derive(Default)]
struct Parts {
    user: Option<String>,
    password: Option<String>,
    /// Names or addresses with their ports; one at least.
    hosts: Vec<(String, u16)>,
    database: Option<String>,
    sslmode: Option<String>,
    root: Option<PathBuf>,
}

impl Address {
    /// Reads a URL. A password that it does not have is looked for in `PGPASSWORD`, then in the file
    /// `PGPASSFILE` or `~/.pgpass`.
    ///
    /// # Errors
    /// What is wrong with it, without its text.
    pub fn parse(url: &str) -> Result<Address, AddressError> {
        let parts = parts(url)?;
        let protection = protection(&parts)?;
        let mut config = Config::new();
        let user = parts.user.clone().or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
        let user = user.ok_or_else(|| {
            wrong("the URL of the store names no user: write `postgresql://USER@HOST/DATABASE`")
        })?;
        let database = parts.database.clone().unwrap_or_else(|| user.clone());
        config.user(&user).dbname(&database).application_name("tradewind");
        let is_one = parts.hosts.len() == 1;
        let patience = if is_one { PATIENCE } else { SHORT_PATIENCE };
        config.connect_timeout(patience);
        if !is_one {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.keepalives_idle(Duration::from_secs(10));
        config.keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(20));
        if let Some(password) = password(&parts, &user, &database)? {
            config.password(password);
        }
        let tls = match protection {
            Protection::Plain => postgres::config::SslMode::Disable,
            Protection::Tls(_) => postgres::config::SslMode::Require,
        };
        config.ssl_mode(tls);
        let host = |(host, port): &(String, u16)| {
            let mut config = config.clone();
            config.host(host).port(*port);
            // Connecting is the smaller half of it.
            DatabaseHost { config, patience: patience * 2, hanging: Hanging::default() }
        };
        let hosts = parts.hosts.iter().map(host).collect();
        let name = shown(&user, &parts, &database);
        Ok(Address { hosts, protection, name })
    }

    /// The URL without password: for messages and files, and enough to connect where the password
    /// is in a file.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.name).finish()
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// There is one for all hosts: that of the first one that the file has.
fn password(parts: &Parts, user: &str, database: &str) -> Result<Option<String>, AddressError> {
    if let Some(password) = parts.password.clone().or_else(|| variable("PGPASSWORD")) {
        return Ok(Some(password));
    }
    let Some(file) = pgpass::file() else { return Ok(None) };
    for (host, port) in &parts.hosts {
        let wanted = pgpass::Wanted { host, port: *port, database, user };
        if let Some(found) = pgpass::find(&file, wanted).map_err(AddressError)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What may stand in a part of a URL as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// The same of a path.
const PATH: &AsciiSet = &PLAIN.remove(b'/');

/// Sockets have no place for a host: their folder is a parameter, as in the URL itself.
fn shown(user: &str, parts: &Parts, database: &str) -> String {
    let encode = |text: &str| utf8_percent_encode(text, PATH).to_string();
    let user = utf8_percent_encode(user, PLAIN);
    let database = utf8_percent_encode(database, PLAIN);
    let mut query = Vec::new();
    let places = parts.hosts.iter().map(|(host, port)| {
        let place = match host.starts_with('/') {
            true => {
                query.push(format!("host={}", encode(host)));
                String::new()
            }
            false if host.contains(':') => format!("[{host}]"),
            false => host.clone(),
        };
        if *port == PORT { place } else { format!("{place}:{port}") }
    });
    let places = places.collect::<Vec<_>>().join(",");
    query.extend(parts.sslmode.iter().map(|mode| format!("sslmode={mode}")));
    let root = parts.root.iter();
    query.extend(root.map(|root| format!("sslrootcert={}", encode(&root.to_string_lossy()))));
    let sign = if query.is_empty() { "" } else { "?" };
    format!("postgresql://{user}@{places}/{database}{sign}{}", query.join("&"))
}

/// Beyond this machine nothing is sent in the clear unless the URL says so.
fn protection(parts: &Parts) -> Result<Protection, AddressError> {
    let is_socket = |host: &str| host.starts_with('/');
    let is_here = |host: &str| {
        is_socket(host)
            || host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback())
    };
    let is_here = parts.hosts.iter().all(|(host, _)| is_here(host));
    match parts.sslmode.as_deref() {
        Some("disable") => Ok(Protection::Plain),
        None if is_here => Ok(Protection::Plain),
        Some("require" | "verify-full") if parts.hosts.iter().any(|(host, _)| is_socket(host)) => {
            Err(wrong("`sslmode` asks for TLS, and there is none on a socket: name a host"))
        }
        None | Some("require" | "verify-full") => Ok(Protection::Tls(parts.root.clone())),
        Some("allow" | "prefer" | "verify-ca") => Err(wrong(
            "`sslmode` in the URL of the store must be `require` or `verify-full` (TLS, and the \
             server's certificate is checked), or `disable`",
        )),
        Some(_) => {
            Err(wrong("`sslmode` in the URL of the store is not known: `require` or `disable`"))
        }
    }
}

fn parts(url: &str) -> Result<Parts, AddressError> {
    let rest = url.strip_prefix("postgresql://").or_else(|| url.strip_prefix("postgres://"));
    let rest = rest.ok_or_else(|| wrong("the URL of the store must begin with `postgresql://`"))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let mut parts = Parts::default();
    let place = match authority.rsplit_once('@') {
        None => authority,
        Some((login, place)) => {
            if login.contains('@') {
                return Err(wrong("in the URL of the store, write `%40` for `@` in a password"));
            }
            let (user, password) = match login.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (login, None),
            };
            parts.user = some(decode(user)?);
            parts.password = password.map(decode).transpose()?.and_then(some);
            place
        }
    };
    parts.hosts = place.split(',').map(host).collect::<Result<_, _>>()?;
    parts.database = some(decode(database)?);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        parameter(&mut parts, key, decode(value)?)?;
    }
    match parts.hosts.as_mut_slice() {
        [(host, _)] if host.is_empty() => *host = usual_socket(),
        [_] => {}
        several if several.len() > HOSTS => {
            Err(wrong(format!("the URL of the store names more than {HOSTS} hosts")))?;
        }
        several if several.iter().any(|(host, _)| host.is_empty() || host.starts_with('/')) => {
            Err(wrong("of several hosts in the URL of the store each must have a name"))?;
        }
        _ => {}
    }
    Ok(parts)
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn decode(text: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| wrong("the URL of the store is not UTF-8 when it is decoded"))?;
    match text.contains('\0') {
        true => Err(wrong("the URL of the store has a zero byte")),
        false => Ok(text.into_owned()),
    }
}

fn host(place: &str) -> Result<(String, u16), AddressError> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let port = match port {
        "" => PORT,
        port => port.parse().map_err(|_| {
            wrong(
                "the port in the URL of the store is no number from 1 to 65535; in a password, \
                 write `%3A` for `:`, `%2F` for `/` and `%40` for `@`",
            )
        })?,
    };
    Ok((decode(host)?, port))
}

fn parameter(parts: &mut Parts, key: &str, value: String) -> Result<(), AddressError> {
    match key {
        "sslmode" => parts.sslmode = Some(value),
        "sslrootcert" => parts.root = Some(PathBuf::from(value)),
        "host" => only(parts)?.0 = value,
        "user" => parts.user = some(value),
        "password" => parts.password = some(value),
        "dbname" => parts.database = some(value),
        "port" => only(parts)?.1 = host(&format!("x:{value}"))?.1,
        _ => {
            return Err(wrong(
                "the URL of the store has a parameter that is not known; there are: `host`, `port`, \
                 `user`, `password`, `dbname`, `sslmode`, `sslrootcert`",
            ));
        }
    }
    Ok(())
}

/// The one host that parameters are about.
fn only(parts: &mut Parts) -> Result<&mut (String, u16), AddressError> {
    match parts.hosts.as_mut_slice() {
        [one] => Ok(one),
        _ => Err(wrong(
            "`host` and `port` are parameters of one host: write several as \
             `HOST:PORT,HOST:PORT` in the URL of the store",
        )),
    }
}

/// Where Debian and others have the socket.
fn usual_socket() -> String {
    let usual = ["/run/postgresql", "/var/run/postgresql"];
    let found = usual.into_iter().find(|folder| Path::new(folder).is_dir());
    found.unwrap_or("/tmp").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        let url =
            "postgresql://tw:s%40cret@db.example:5433/market?sslmode=require&sslrootcert=/ca.pem";
        let address = Address::parse(url).unwrap();
        let name = "postgresql://tw@db.example:5433/market?sslmode=require&sslrootcert=/ca.pem";
        assert_eq!(address.name(), name);
        assert_eq!(address.hosts[0].config.get_password(), Some(b"s@cret".as_slice()));
        assert_eq!(address.protection, Protection::Tls(Some(PathBuf::from("/ca.pem"))));
        assert!(!format!("{address:?}").contains("cret"), "{address:?}");
        assert_eq!(Address::parse(name).unwrap().name(), name, "what is shown is a URL again");
        let six = Address::parse("postgres://tw@[::1]/m").unwrap();
        assert_eq!((six.name(), &six.protection), ("postgresql://tw@[::1]/m", &Protection::Plain));
        let socket = Address::parse("postgresql://tw@/m?host=/run/x&port=7").unwrap();
        assert_eq!(socket.name(), "postgresql://tw@:7/m?host=/run/x");
        assert_eq!(Address::parse(socket.name()).unwrap().name(), socket.name());
    }

    #[test]
    fn several_hosts_are_one_database_that_has_a_primary() {
        let name = "postgresql://tw@one:5433,two,[::1]:7/m?sslmode=disable";
        let several = Address::parse(name).unwrap();
        assert_eq!(several.name(), name);
        let ports: Vec<u16> =
            several.hosts.iter().flat_map(|it| it.config.get_ports().to_vec()).collect();
        assert_eq!(ports, [5433, PORT, 7]);
        let attributes = several.hosts[0].config.get_target_session_attrs();
        assert_eq!(attributes, TargetSessionAttrs::ReadWrite);
        let one = Address::parse("postgresql://tw@one/m").unwrap();
        assert_eq!(one.hosts[0].config.get_target_session_attrs(), TargetSessionAttrs::Any);
        let mixed = Address::parse("postgresql://tw@localhost,db.example/m").unwrap();
        assert_eq!(mixed.protection, Protection::Tls(None), "one of them is elsewhere");
    }

    #[test]
    fn beyond_this_machine_there_is_tls_unless_the_url_says_no() {
        let of = |url: &str| Address::parse(url).unwrap().protection;
        assert_eq!(of("postgresql://a@db.example/x"), Protection::Tls(None));
        assert_eq!(of("postgresql://a@db.example/x?sslmode=disable"), Protection::Plain);
        assert_eq!(of("postgresql://a@127.0.0.1/x"), Protection::Plain);
        assert_eq!(of("postgresql://a@127.0.0.1/x?sslmode=verify-full"), Protection::Tls(None));
    }

    #[test]
    fn a_wrong_url_is_not_repeated() {
        let wrong = [
            ("postgresql://a:secret@b@host/x", "%40"),
            ("postgresql://a:sec/ret@host/x", "%2F"),
            ("postgresql://a:secret@host:port/x", "port"),
            ("postgresql://a:secret@one,/x", "several hosts"),
            ("postgresql://a:secret@one,two/x?port=7", "HOST:PORT,HOST:PORT"),
            ("postgresql://a:secret@h,h,h,h,h,h,h,h,h,h,h,h,h,h,h,h,h/x", "16 hosts"),
            ("postgresql://a:secret@host/x?sslmode=prefer", "require"),
            ("postgresql://a:secret@host/x?sslmode=secret", "sslmode"),
            ("postgresql://a:secret@host/x?secret=1", "sslrootcert"),
            ("mysql://a:secret@host/x", "postgresql://"),
            ("postgresql://a:secret@/x?host=/run&sslmode=require", "socket"),
        ];
        for (url, word) in wrong {
            let said = said(url);
            assert!(said.contains(word) && !said.contains("sec"), "{url}: {said}");
        }
    }
}
