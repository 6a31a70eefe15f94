//! Snapshots beside the rows: the last few, each with a digest of its own.

use postgres::{GenericClient, Row, Transaction};
use tradewind_daemon::store::chain::{of_page, of_snapshot};
use tradewind_daemon::store::sqlite::KEPT;
use tradewind_daemon::store::{Changes, Page, PageKey, Snapshot, StoreError};

use crate::error::{damaged, explain};

/// Snapshots from this version on have pages.
const PAGED: u32 = 2;

/// Puts one there and lets the oldest go, as a part of a transaction.
pub(crate) fn keep(
    change: &mut Transaction<'_>,
    snapshot: &Snapshot,
) -> Result<(), postgres::Error> {
    put(change, snapshot)?;
    let old = "DELETE FROM tradewind.snapshots WHERE seq NOT IN \
               (SELECT seq FROM tradewind.snapshots ORDER BY seq DESC LIMIT $1)";
    change.execute(old, &[&i64::from(KEPT)])?;
    Ok(())
}

/// Puts one with pages there, and lets all others go, as a part of a transaction.
pub(crate) fn keep_pages(
    change: &mut Transaction<'_>,
    snapshot: &Snapshot,
    changed: &Changes,
) -> Result<(), postgres::Error> {
    if let Changes::All(_) = changed {
        change.execute("DELETE FROM tradewind.pages", &[])?;
    }
    for pages in changed.pages().chunks(AT_ONCE) {
        write_pages(change, pages)?;
    }
    change.execute("DELETE FROM tradewind.snapshots", &[])?;
    put(change, snapshot)
}

/// Pages that are written with one statement.
const AT_ONCE: usize = 256;

fn write_pages(change: &mut Transaction<'_>, pages: &[Page]) -> Result<(), postgres::Error> {
    let (kinds, numbers): (Vec<i16>, Vec<i64>) =
        pages.iter().map(|page| (i16::from(page.key.0), page.key.1 as i64)).unzip();
    let gone = "DELETE FROM tradewind.pages WHERE (kind, number) IN \
                (SELECT * FROM unnest($1::int2[], $2::int8[]))";
    change.execute(gone, &[&kinds, &numbers])?;
    let there: Vec<&Page> = pages.iter().filter(|page| !page.body.is_empty()).collect();
    let (kinds, numbers): (Vec<i16>, Vec<i64>) =
        there.iter().map(|page| (i16::from(page.key.0), page.key.1 as i64)).unzip();
    let (bodies, digests): (Vec<&[u8]>, Vec<Vec<u8>>) = there
        .iter()
        .map(|page| (page.body.as_slice(), of_page(page.key, &page.body).0.to_vec()))
        .unzip();
    let insert = "INSERT INTO tradewind.pages (kind, number, body, digest) \
                  SELECT * FROM unnest($1::int2[], $2::int8[], $3::bytea[], $4::bytea[])";
    change.execute(insert, &[&kinds, &numbers, &bodies, &digests])?;
    Ok(())
}

fn put(change: &mut Transaction<'_>, snapshot: &Snapshot) -> Result<(), postgres::Error> {
    let insert = "INSERT INTO tradewind.snapshots (seq, at, version, body, digest) \
                  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (seq) DO UPDATE SET \
                  at = excluded.at, version = excluded.version, body = excluded.body, \
                  digest = excluded.digest";
    let digest = of_snapshot(snapshot).0.to_vec();
    let (seq, version) = (snapshot.seq as i64, i64::from(snapshot.version));
    change.execute(insert, &[&seq, &snapshot.at, &version, &snapshot.body, &digest])?;
    Ok(())
}

/// Pages are read until they have so many bytes.
const ENOUGH: i64 = 4 << 20;

/// Pages behind one, in order.
pub(crate) fn pages(
    client: &mut impl GenericClient,
    name: &str,
    after: Option<PageKey>,
) -> Result<Vec<Page>, StoreError> {
    let select = "SELECT kind, number, body, digest FROM ( \
                    SELECT *, sum(octet_length(body)) OVER (ORDER BY kind, number) AS upto FROM ( \
                      SELECT * FROM tradewind.pages WHERE (kind, number) > ($1, $2) \
                      ORDER BY kind, number LIMIT 4096 \
                    ) AS page \
                  ) AS piece WHERE upto - octet_length(body) < $3 ORDER BY kind, number";
    let (kind, number): (i16, i64) =
        after.map_or((-1, 0), |(kind, number)| (i16::from(kind), number as i64));
    let found = client.query(select, &[&kind, &number, &ENOUGH]);
    let found = found.map_err(|wrong| explain(name, 0, &wrong))?;
    found.iter().map(|row| page(row, name)).collect()
}

fn page(row: &Row, name: &str) -> Result<Page, StoreError> {
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let (kind, number): (i16, i64) =
        (row.try_get(0).map_err(wrong)?, row.try_get(1).map_err(wrong)?);
    let body: Vec<u8> = row.try_get(2).map_err(wrong)?;
    let digest: &[u8] = row.try_get(3).map_err(wrong)?;
    let key = (u8::try_from(kind).unwrap_or(u8::MAX), number as u64);
    match of_page(key, &body).0.as_slice() == digest {
        true => Ok(Page { key, body }),
        false => {
            let what = format!("page {kind}/{number} of the snapshot is damaged");
            Err(damaged(name, 0, what))
        }
    }
}

/// The latest that is as it was kept.
pub(crate) fn latest(
    client: &mut impl GenericClient,
    name: &str,
) -> Result<Option<Snapshot>, StoreError> {
    for (snapshot, is_whole) in all(client, name)? {
        match is_whole {
            true => return Ok(Some(snapshot)),
            false => {
                let seq = snapshot.seq;
                tracing::warn!("{name}: the snapshot after row {seq} is damaged and not used");
            }
        }
    }
    Ok(None)
}

/// Those that are not as they were kept.
pub(crate) fn broken(client: &mut impl GenericClient, name: &str) -> Result<Vec<u64>, StoreError> {
    let mut broken = Vec::new();
    for (snapshot, is_whole) in all(client, name)? {
        let has_pages = snapshot.version >= PAGED;
        if !is_whole || (has_pages && !pages_are_whole(client, name)?) {
            broken.push(snapshot.seq);
        }
    }
    Ok(broken)
}

fn pages_are_whole(client: &mut impl GenericClient, name: &str) -> Result<bool, StoreError> {
    let mut after = None;
    loop {
        match pages(client, name, after) {
            Ok(pages) => match pages.last() {
                None => return Ok(true),
                Some(last) => after = Some(last.key),
            },
            Err(StoreError::Damaged { .. }) => return Ok(false),
            Err(wrong) => return Err(wrong),
        }
    }
}

/// All of them, the latest first, and whether each is as it was kept.
fn all(client: &mut impl GenericClient, name: &str) -> Result<Vec<(Snapshot, bool)>, StoreError> {
    let select = "SELECT seq, at, version, body, digest FROM tradewind.snapshots ORDER BY seq DESC";
    let found = client.query(select, &[]).map_err(|wrong| explain(name, 0, &wrong))?;
    let read = |row: &Row| {
        let seq = u64::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        let version = u32::try_from(row.try_get::<_, i64>(2)?).unwrap_or(0);
        let snapshot = Snapshot { seq, at: row.try_get(1)?, version, body: row.try_get(3)? };
        let is_whole = of_snapshot(&snapshot).0.as_slice() == row.try_get::<_, &[u8]>(4)?;
        Ok((snapshot, is_whole))
    };
    let all: Result<_, postgres::Error> = found.iter().map(read).collect();
    all.map_err(|wrong| explain(name, 0, &wrong))
}
