//! The daemons of a market, as its database knows them: the owner by its lease, standbys by the
//! names of their sessions. These are seen by sessions of the same role, and end with the session.

use tradewind_daemon::store::StoreError;

use crate::Postgres;
use crate::address::Address;
use crate::connect::{Access, connect};
use crate::error::explain;
use crate::patience::ask;

/// Names of standbys' sessions begin so.
const PREFIX: &str = "tradewind@";

/// The owner of a market, and the daemons that follow its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Daemons {
    /// Where the owner can be reached; `None`: there is none, or it has not said.
    pub owner: Option<String>,
    /// Seconds until its lease ends, unless it is renewed; `None`: it has ended.
    pub lease: Option<u64>,
    /// Standbys that have said how far they are.
    pub standbys: Vec<Follower>,
}

/// A standby.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Follower {
    /// Where it can be reached. The server keeps some fifty characters.
    pub url: String,
    /// Rows of the journal that it had not taken in when it said so, a second ago at most.
    pub rows_behind: u64,
    /// Seconds since it asked the database for something.
    pub silent: u64,
}

/// What a standby whose last row is `seq` calls its session.
pub(crate) fn session_name(seq: u64, url: &str) -> String {
    format!("{PREFIX}{seq}@{url}")
}

/// Row and address out of such a name.
fn parts(name: &str) -> Option<(u64, &str)> {
    let (seq, url) = name.strip_prefix(PREFIX)?.split_once('@')?;
    Some((seq.parse().ok()?, url))
}

impl Postgres {
    /// Who owns the market, until when, and which standbys follow it. Changes nothing.
    ///
    /// # Errors
    /// If the database cannot be reached, or has no journal of this format.
    pub fn daemons(address: &Address) -> Result<Daemons, StoreError> {
        ask(address, found)
    }
}

fn found(address: &Address) -> Result<Daemons, StoreError> {
    let name = address.name();
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let mut connection = connect(address, Access::Read)?;
    let client = &mut connection.client;
    let ask = "SELECT url, CASE WHEN until > clock_timestamp() \
               THEN extract(epoch FROM until - clock_timestamp())::int8 END, \
               coalesce((SELECT max(seq) FROM tradewind.rows), \
                        (SELECT max(last) FROM tradewind.archives), 0) \
               FROM tradewind.owner WHERE id = 1";
    let row = client.query_one(ask, &[]).map_err(wrong)?;
    let (url, lease): (String, Option<i64>) =
        (row.try_get(0).map_err(wrong)?, row.try_get(1).map_err(wrong)?);
    let last: i64 = row.try_get(2).map_err(wrong)?;
    let ask = "SELECT application_name, \
               extract(epoch FROM clock_timestamp() - state_change)::int8 \
               FROM pg_stat_activity WHERE datname = current_database() \
               AND application_name LIKE 'tradewind@%' ORDER BY application_name";
    let mut standbys = Vec::new();
    for row in client.query(ask, &[]).map_err(wrong)? {
        let (session, silent): (String, Option<i64>) =
            (row.try_get(0).map_err(wrong)?, row.try_get(1).map_err(wrong)?);
        let Some((seq, url)) = parts(&session) else { continue };
        let rows_behind = u64::try_from(last).unwrap_or(0).saturating_sub(seq);
        let silent = silent.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
        standbys.push(Follower { url: url.to_owned(), rows_behind, silent });
    }
    let lease = lease.map(|it| u64::try_from(it).unwrap_or(0));
    Ok(Daemons { owner: Some(url).filter(|it| !it.is_empty()), lease, standbys })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sessions_are_read_again() {
        let name = session_name(42, "http://user@host:1");
        assert_eq!(parts(&name), Some((42, "http://user@host:1")));
        for other in ["tradewind", "tradewind@", "tradewind@x@http://h", "psql"] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
