//! Old rows, compressed: the contents of an archive file in a row of the table `archives`.
//!
//! They are in the database and not in a folder of some machine, so that they are where the
//! journal is, whichever daemon owns it. A segment is written and its rows are deleted in one
//! transaction: a row is in one place at any time.

use std::path::PathBuf;

use postgres::{GenericClient, IsolationLevel, Row as Entry};
use tradewind_daemon::store::archive::{ArchiveCutoff, Cover, Segment, SegmentReader, pack};
use tradewind_daemon::store::chain::JournalEnd;
use tradewind_daemon::store::{Digest, Origin, Row, StoreError};

use crate::address::Address;
use crate::connect::{Access, Connection, connect};
use crate::error::{damaged, explain, io};
use crate::rows::{self, JournalSource};
use crate::schema::{self, Found, digest, digest_at};
use crate::snapshots;

/// Segments that a condition on the table selects, in the order of their rows.
fn select(
    client: &mut impl GenericClient,
    name: &str,
    condition: &str,
    seq: u64,
) -> Result<Vec<Segment>, StoreError> {
    let select = format!(
        "SELECT first, last, first_at, last_at, before, after FROM tradewind.archives \
         WHERE {condition} ORDER BY first"
    );
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let found = client.query(&select, &[&seq]);
    let found = found.map_err(|wrong| explain(name, seq as u64, &wrong))?;
    found.iter().map(|row| segment(row, name)).collect()
}

fn segment(row: &Entry, name: &str) -> Result<Segment, StoreError> {
    let numbers = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
    let numbers: Result<(i64, i64, i64, i64), postgres::Error> = numbers();
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let (first, last, first_at, last_at) = numbers.map_err(wrong)?;
    let number = |it: i64| u64::try_from(it).unwrap_or(0);
    let (first, last) = (number(first), number(last));
    if first == 0 || first > last {
        return Err(damaged(name, first, "its list of archives is damaged"));
    }
    Ok(Segment {
        first,
        last,
        times: (first_at, last_at),
        before: digest(row.try_get(4).map_err(wrong)?, name, first)?,
        after: digest(row.try_get(5).map_err(wrong)?, name, last)?,
    })
}

/// All of them.
pub(crate) fn all(client: &mut impl GenericClient, name: &str) -> Result<Vec<Segment>, StoreError> {
    select(client, name, "last >= $1", 0)
}

/// The one that has row `seq`.
pub(crate) fn holding(
    client: &mut impl GenericClient,
    name: &str,
    seq: u64,
) -> Result<Option<Segment>, StoreError> {
    Ok(select(client, name, "first <= $1 AND last >= $1", seq)?.pop())
}

/// The last one.
fn last(client: &mut impl GenericClient, name: &str) -> Result<Option<Segment>, StoreError> {
    let is_last = "last >= $1 AND last = (SELECT max(last) FROM tradewind.archives)";
    Ok(select(client, name, is_last, 0)?.pop())
}

/// Where the journal ends if the table of rows is empty.
pub(crate) fn end(
    client: &mut impl GenericClient,
    name: &str,
) -> Result<Option<JournalEnd>, StoreError> {
    let last = last(client, name)?;
    Ok(last.map(|it| JournalEnd { seq: it.last, at: it.times.1, digest: it.after }))
}

/// The chain after row `seq`, if that is the last row of a segment.
pub(crate) fn after(
    client: &mut impl GenericClient,
    name: &str,
    seq: u64,
) -> Result<Option<Digest>, StoreError> {
    Ok(select(client, name, "last = $1", seq)?.pop().map(|it| it.after))
}

/// A reader of a segment's rows.
pub(crate) fn reader(
    client: &mut impl GenericClient,
    name: &str,
    origin: &Origin,
    segment: &Segment,
) -> Result<SegmentReader, StoreError> {
    let select = "SELECT file FROM tradewind.archives WHERE first = $1";
    let found = client.query_one(select, &[&(segment.first as i64)]);
    let found = found.and_then(|row| row.try_get(0));
    let found = found.map_err(|wrong| explain(name, segment.first, &wrong))?;
    let path = PathBuf::from(format!("{name}: archive {}", segment.name()));
    SegmentReader::unpack(path, found, origin, segment)
}

/// The connection for archiving old rows.
pub struct Keeper {
    name: String,
    connection: Connection,
    origin: Origin,
}

impl Keeper {
    /// Beside the daemon that writes the journal.
    ///
    /// # Errors
    /// If the database cannot be written, or has no journal of this release's format.
    pub fn beside(address: &Address) -> Result<Keeper, StoreError> {
        let name = address.name().to_owned();
        let mut connection = connect(address, Access::Write)?;
        if schema::found(&mut connection.client, &name)? != Found::Journal(schema::FORMAT) {
            return Err(io(&name, "it has no journal of this release's format"));
        }
        let origin = schema::origin(&mut connection.client, &name)?;
        Ok(Keeper { name, connection, origin })
    }

    /// Moves the oldest rows that are due into one segment; `None`: there are none, or too few. A
    /// segment is at most about 10,000 rows or 4 MiB of them. The last row of the journal always
    /// stays, and with [`Cover::Snapshots`] all that the latest snapshot does not have.
    ///
    /// # Errors
    /// If rows are damaged, or the database does not take it. Nothing has changed then.
    pub fn archive(
        &mut self,
        due: ArchiveCutoff,
        cover: Cover,
    ) -> Result<Option<Segment>, StoreError> {
        let name = &self.name;
        let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
        let change = self.connection.client.build_transaction();
        let mut change =
            change.isolation_level(IsolationLevel::RepeatableRead).start().map_err(wrong)?;
        let Some((before, rows)) = next(&mut change, name, &self.origin, due, cover)? else {
            return Ok(None);
        };
        let (segment, file) = pack(&self.origin, before, &rows)
            .map_err(|wrong| io(name, format!("rows cannot be compressed: {wrong}")))?;
        let insert = "INSERT INTO tradewind.archives (first, last, first_at, last_at, before, \
                      after, file) VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (first, last) = (segment.first as i64, segment.last as i64);
        let (begin, end) = (segment.before.0.as_slice(), segment.after.0.as_slice());
        let times = segment.times;
        change
            .execute(insert, &[&first, &last, &times.0, &times.1, &begin, &end, &file])
            .map_err(wrong)?;
        let delete = "DELETE FROM tradewind.rows WHERE seq BETWEEN $1 AND $2";
        let gone = change.execute(delete, &[&first, &last]).map_err(wrong)?;
        if gone != rows.len() as u64 {
            return Err(damaged(name, segment.first, "its rows are not those of the archive"));
        }
        change.commit().map_err(wrong)?;
        Ok(Some(segment))
    }
}

/// The rows of the next segment, and the chain before them.
fn next(
    view: &mut impl GenericClient,
    name: &str,
    origin: &Origin,
    due: ArchiveCutoff,
    cover: Cover,
) -> Result<Option<(Digest, Vec<Row>)>, StoreError> {
    let after = last(view, name)?.map_or(0, |it| it.last);
    let last = rows::last(view).map_err(|wrong| explain(name, 0, &wrong))?;
    let reading = JournalSource { name, origin, last };
    if reading.rows(view, after, 1)?.first().is_none_or(|row| row.at >= due.before) {
        return Ok(None);
    }
    let upto = last.saturating_sub(1).min(match cover {
        Cover::Nothing => u64::MAX,
        Cover::Snapshots => snapshots::latest(view, name)?.map_or(0, |it| it.seq),
    });
    let rows = reading.rows(view, after, ArchiveCutoff::ROWS)?;
    let before = digest_at(view, name, origin, after)?;
    Ok(due.segment(rows, upto).map(|rows| (before, rows)))
}
