//! A whole journal from another store, in one transaction: all of it is there, or nothing.

use tradewind_daemon::store::chain::JournalEnd;
use tradewind_daemon::store::{ImportError, RowSource, Verified, compared};

use crate::address::Address;
use crate::connect::{Access, connect};
use crate::error::{explain, io};
use crate::owner::{self, Ended};
use crate::rows;
use crate::schema::{self, Found};
use crate::store::Postgres;

/// Copies all rows of `from` into a database that has no journal, and compares the digests. The
/// market keeps its name, so only one of the two journals may be used afterwards. Snapshots are not
/// copied: the next start reads all rows.
///
/// # Errors
/// If there is a journal, if `from` cannot be read or is damaged, or if the database does not take
/// it. Nothing is there then.
pub fn import(address: &Address, from: &mut dyn RowSource) -> Result<Verified, ImportError> {
    let name = address.name();
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let mut connection = connect(address, Access::Write)?;
    let client = &mut connection.client;
    owner::lock(client, name, &Ended::Spared)?;
    if schema::found(client, name)? != Found::Nothing {
        let what = "there is a journal in this database: name another one, nothing was written";
        return Err(io(name, what).into());
    }
    let origin = from.origin().clone();
    let mut change = client.transaction().map_err(wrong)?;
    schema::create(&mut change, name, &origin)?;
    let mut end = JournalEnd::of(&origin);
    loop {
        let rows = from.next()?;
        if rows.is_empty() {
            break;
        }
        end = rows::add_to_new(&mut change, end, &rows)
            .map_err(|wrong| explain(name, end.seq + 1, &wrong))?;
    }
    change.commit().map_err(wrong)?;
    drop(connection);
    compared(&mut Postgres::look(address)?, end)
}
