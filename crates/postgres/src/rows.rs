//! Rows in the table: added at its end, read with their chain.

use postgres::{Client, GenericClient, Statement};
use tradewind_daemon::store::chain::{JournalEnd, link};
use tradewind_daemon::store::{Digest, Origin, Row, StoreError};

use crate::error::{damaged, explain};
use crate::owner;
use crate::schema::{CHANGED, MISSING, digest_at, row_of};

/// Adds rows behind `$2`, if the owner's epoch is `$1` and the row before has the digest `$3`.
///
/// One statement is one transaction and one round trip. `held` locks the owner's row until the
/// commit, so a takeover waits for it. Where another session has changed the owner meanwhile, the
/// condition is looked at again, and nothing is added. The primary key refuses a number that is
/// there.
pub(crate) const INSERT: &str = "
WITH held AS MATERIALIZED (
    SELECT epoch FROM tradewind.owner WHERE id = 1 AND epoch = $1::int8 FOR SHARE
), before AS (
    SELECT chain FROM tradewind.rows WHERE seq = $2::int8
    UNION ALL SELECT after FROM tradewind.archives WHERE last = $2::int8
    UNION ALL SELECT $3::bytea WHERE $2::int8 = 0
)
INSERT INTO tradewind.rows (seq, at, body, chain)
SELECT * FROM unnest($4::int8[], $5::int8[], $6::bytea[], $7::bytea[])
WHERE EXISTS (SELECT FROM held) AND EXISTS (SELECT FROM before WHERE chain = $3::bytea)";

/// Rows as columns.
struct Columns<'a> {
    seqs: Vec<i64>,
    times: Vec<i64>,
    bodies: Vec<&'a [u8]>,
    chains: Vec<Vec<u8>>,
    end: JournalEnd,
}

impl<'a> Columns<'a> {
    fn of(mut end: JournalEnd, rows: impl Iterator<Item = (i64, &'a [u8])>) -> Columns<'a> {
        let (mut seqs, mut times) = (Vec::new(), Vec::new());
        let (mut bodies, mut chains) = (Vec::new(), Vec::new());
        for (at, body) in rows {
            end = end.then(at, body);
            seqs.push(end.seq as i64);
            times.push(at);
            bodies.push(body);
            chains.push(end.digest.0.to_vec());
        }
        Columns { seqs, times, bodies, chains, end }
    }
}

/// How adding rows ended.
pub(crate) enum Added {
    /// They are there: the new end.
    All(JournalEnd),
    /// None of them: the owner is another, or the row before is.
    None,
}

/// Adds rows behind `end`, if `epoch` is the owner's, in one transaction.
pub(crate) fn add(
    client: &mut Client,
    insert: &Statement,
    epoch: u64,
    end: JournalEnd,
    rows: &[(i64, Vec<u8>)],
) -> Result<Added, postgres::Error> {
    let new = Columns::of(end, rows.iter().map(|(at, body)| (*at, body.as_slice())));
    let before = end.digest.0.as_slice();
    let (epoch, seq) = (epoch as i64, end.seq as i64);
    let added = client.execute(
        insert,
        &[&epoch, &seq, &before, &new.seqs, &new.times, &new.bodies, &new.chains],
    )?;
    Ok(if added == rows.len() as u64 { Added::All(new.end) } else { Added::None })
}

/// Why no row was added although the statement went well.
pub(crate) fn refusal(
    client: &mut Client,
    name: &str,
    epoch: u64,
    end: JournalEnd,
) -> Result<(), StoreError> {
    owner::is_ours(client, name, epoch)?;
    Err(damaged(name, end.seq, "another program has written here: its digest is not ours"))
}

/// Adds rows behind `end` without looking at anything, as a part of a transaction that has made
/// the journal.
pub(crate) fn add_to_new(
    client: &mut impl GenericClient,
    end: JournalEnd,
    rows: &[Row],
) -> Result<JournalEnd, postgres::Error> {
    let new = Columns::of(end, rows.iter().map(|row| (row.at, row.body.as_slice())));
    let insert = "INSERT INTO tradewind.rows (seq, at, body, chain) \
                  SELECT * FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[])";
    client.execute(insert, &[&new.seqs, &new.times, &new.bodies, &new.chains])?;
    Ok(new.end)
}

/// The highest number that is there, 0 if there is none.
pub(crate) fn last(client: &mut impl GenericClient) -> Result<u64, postgres::Error> {
    let last = "SELECT coalesce((SELECT max(seq) FROM tradewind.rows), \
                (SELECT max(last) FROM tradewind.archives), 0)";
    let last: i64 = client.query_one(last, &[])?.try_get(0)?;
    Ok(u64::try_from(last).unwrap_or(0))
}

/// Rows are read until they have so many bytes: one may have megabytes.
const ENOUGH: i64 = 8 << 20;
/// Rows that are looked at for that, at most.
const MANY: u64 = 65_536;

/// What reading needs to know of the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalSource<'a> {
    /// Where it is.
    pub(crate) name: &'a str,
    /// What the first row hangs on.
    pub(crate) origin: &'a Origin,
    /// A row that must be there.
    pub(crate) last: u64,
}

impl JournalSource<'_> {
    /// At most `max` rows behind `after`, verified.
    pub(crate) fn rows(
        self,
        view: &mut impl GenericClient,
        after: u64,
        max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let name = self.name;
        let wrong = |wrong: postgres::Error| explain(name, after.saturating_add(1), &wrong);
        let last = last(view).map_err(wrong)?.max(self.last);
        let wanted = last.saturating_sub(after).min(max as u64).min(MANY);
        if wanted == 0 {
            return Ok(vec![]);
        }
        let mut before = digest_at(view, name, self.origin, after)?;
        let select = "SELECT seq, at, body, chain FROM ( \
                        SELECT *, sum(octet_length(body)) OVER (ORDER BY seq) AS upto FROM ( \
                          SELECT * FROM tradewind.rows WHERE seq > $1 ORDER BY seq LIMIT $2 \
                        ) AS page \
                      ) AS piece WHERE upto - octet_length(body) < $3 ORDER BY seq";
        let (from, limit) = (after as i64, wanted as i64);
        let found = view.query(select, &[&from, &limit, &ENOUGH]).map_err(wrong)?;
        let mut rows = Vec::with_capacity(found.len());
        for (row, seq) in found.iter().zip(after + 1..) {
            let (found, at, body, digest) = row_of(row, name)?;
            if found != seq {
                return Err(damaged(name, seq, MISSING));
            }
            before = follows(name, before, (seq, at, body), digest)?;
            rows.push(Row { seq, at, body: body.to_vec() });
        }
        match rows.is_empty() {
            true => Err(damaged(name, after + 1, MISSING)),
            false => Ok(rows),
        }
    }
}

/// The row's digest, if it is the row behind one with the digest `before`.
fn follows(
    name: &str,
    before: Digest,
    (seq, at, body): (u64, i64, &[u8]),
    digest: Digest,
) -> Result<Digest, StoreError> {
    match link(before, seq, at, body) == digest {
        true => Ok(digest),
        false => Err(damaged(name, seq, CHANGED)),
    }
}
