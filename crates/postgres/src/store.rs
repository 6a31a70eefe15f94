//! The journal as a [`Store`].

use std::cell::{RefCell, RefMut};
use std::fmt;

use postgres::{IsolationLevel, Statement};
use tradewind_daemon::store::archive::{Segment, SegmentReader};
use tradewind_daemon::store::chain::JournalEnd;
use tradewind_daemon::store::{
    Changes, Origin, Page, PageKey, Row, Snapshot, Store, StoreError, new_origin,
};

use crate::address::Address;
use crate::connect::{self, Access, Connection, Facts, clocks_agree, connect};
use crate::error::{UNSURE, explain, io, is_certain};
use crate::lease::Claimant;
use crate::owner::{self, Claim, Ended, Raised};
use crate::patience::ask;
use crate::rows::{self, Added, JournalSource};
use crate::schema::{self, Found};
use crate::{archives, snapshots};

/// An open journal.
pub struct Postgres {
    pub(crate) name: String,
    pub(crate) connection: RefCell<Connection>,
    origin: Origin,
    end: JournalEnd,
    mode: Mode,
    /// The archive that was read last.
    archive: Option<SegmentReader>,
}

enum Mode {
    Writing {
        raised: Raised,
        /// Adds rows.
        insert: Statement,
    },
    Looking,
    /// What the database has kept is known after the next opening only.
    Unsure,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("Postgres");
        it.field("name", &self.name).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the journal for writing; makes it if there is none, unless a market is expected.
    /// Raises the epoch: a daemon that had it can write nothing from now on.
    ///
    /// `market`: whose journal it must be. `now`: this machine's clock, seconds since 1970.
    ///
    /// # Errors
    /// If the server refuses, is read-only, or has a clock that is far from ours; if the tables are
    /// of a later release, of another market or of something else; if another daemon has it
    /// ([`StoreError::Busy`], [`StoreError::Superseded`]); if the journal's end is damaged. Nothing
    /// was written then.
    pub fn open(
        address: &Address,
        claim: Claim,
        market: Option<&Origin>,
        now: i64,
    ) -> Result<Postgres, StoreError> {
        Postgres::open_for(None, address, claim, market, now)
    }

    /// The same for a daemon that others may succeed: it gets a lease with the epoch, which a
    /// [`crate::Renewal`] renews.
    ///
    /// # Errors
    /// As [`Postgres::open`]; [`StoreError::Busy`] also while the lease of another runs.
    pub fn open_for(
        claimant: Option<&Claimant>,
        address: &Address,
        claim: Claim,
        market: Option<&Origin>,
        now: i64,
    ) -> Result<Postgres, StoreError> {
        let name = address.name();
        let mut connection = connect(address, Access::Write)?;
        clocks_agree(&mut connection, name, now)?;
        let client = &mut connection.client;
        let mut ended = if claim == Claim::IfFree { Ended::Spared } else { Ended::Whichever };
        if let Found::Journal(format) = schema::found(client, name)? {
            belongs_to(&schema::origin(client, name)?, market, name)?;
            if let Claim::Again(ours) = claim {
                owner::is_ours(client, name, ours)?;
            }
            if format >= schema::LEASES {
                ended = owner::admits(client, name, claim, claimant)?;
            }
        } else if market.is_some() || matches!(claim, Claim::Again(_)) {
            let what = "the journal of this market is not there: is it another database, or one \
                        that is empty?";
            return Err(StoreError::Lost { path: name.to_owned(), what: what.to_owned() });
        }
        owner::lock(client, name, &ended)?;
        let raised = take(client, name, claim, claimant)?;
        Postgres::writing(name, connection, raised)
    }

    fn writing(
        name: &str,
        mut connection: Connection,
        raised: Raised,
    ) -> Result<Postgres, StoreError> {
        let insert = connection.client.prepare(rows::INSERT);
        let insert = insert.map_err(|wrong| explain(name, 0, &wrong))?;
        Postgres::begin(name, connection, Mode::Writing { raised, insert })
    }

    /// Opens the journal for reading only, also while a daemon writes it: [`Store::read`] finds new
    /// rows, [`Store::last`] is of now. A standby is good enough.
    ///
    /// # Errors
    /// If it cannot be reached, or there is no journal of this release's format.
    pub fn look(address: &Address) -> Result<Postgres, StoreError> {
        let name = address.name();
        let mut connection = connect(address, Access::Read)?;
        match schema::found(&mut connection.client, name)? {
            Found::Nothing => Err(io(name, "there is no journal in this database")),
            Found::Journal(schema::FORMAT) => Postgres::begin(name, connection, Mode::Looking),
            Found::Journal(format) => Err(io(
                name,
                format!(
                    "its tables are of an earlier release (format {format}, this one has {}): \
                     start the market once with this release",
                    schema::FORMAT
                ),
            )),
        }
    }

    fn begin(name: &str, mut connection: Connection, mode: Mode) -> Result<Postgres, StoreError> {
        let mut view = view(&mut connection, name)?;
        let origin = schema::origin(&mut view, name)?;
        let end = schema::end(&mut view, name, &origin)?;
        drop(view);
        let (name, connection) = (name.to_owned(), RefCell::new(connection));
        Ok(Postgres { name, connection, origin, end, mode, archive: None })
    }

    /// Whose journal the database has; `None`: there is none. Changes nothing.
    ///
    /// # Errors
    /// As [`Postgres::look`].
    pub fn market(address: &Address) -> Result<Option<Origin>, StoreError> {
        ask(address, |address| {
            let mut connection = connect(address, Access::Read)?;
            match schema::found(&mut connection.client, address.name())? {
                Found::Nothing => Ok(None),
                Found::Journal(_) => {
                    schema::origin(&mut connection.client, address.name()).map(Some)
                }
            }
        })
    }

    /// What an administrator should know of the database. Changes nothing.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn facts(address: &Address) -> Result<Facts, StoreError> {
        ask(address, connect::facts)
    }

    /// The epoch with which this store writes; `None`: it does not.
    pub fn epoch(&self) -> Option<u64> {
        match self.mode {
            Mode::Writing { raised, .. } => Some(raised.epoch),
            Mode::Looking | Mode::Unsure => None,
        }
    }

    /// The epoch that orders to sites carry in this term of ownership; 0: it was opened for reading.
    pub fn term(&self) -> u64 {
        match self.mode {
            Mode::Writing { raised, .. } => raised.term,
            Mode::Looking | Mode::Unsure => 0,
        }
    }

    /// The latest rules of counting that the owner before this opening knew; `None`: it did not say,
    /// as owners of earlier releases, or there was none.
    pub fn known_before(&self) -> Option<u32> {
        match self.mode {
            Mode::Writing { raised, .. } => raised.before,
            Mode::Looking | Mode::Unsure => None,
        }
    }

    /// The segments of old rows, in the order of their rows.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn archives(&self) -> Result<Vec<Segment>, StoreError> {
        archives::all(&mut self.client().client, &self.name)
    }

    /// The snapshots that are not as they were kept, by the row after which they were taken.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn damaged_snapshots(&self) -> Result<Vec<u64>, StoreError> {
        let mut connection = self.client();
        let mut view = view(&mut connection, &self.name)?;
        snapshots::broken(&mut view, &self.name)
    }

    /// Adds rows by another statement: to leave a check out.
    #[cfg(test)]
    #[cfg(feature = "clusters")]
    pub(crate) fn prepare(&mut self, sql: &str) {
        let statement = self.client().client.prepare(sql).unwrap();
        if let Mode::Writing { insert, .. } = &mut self.mode {
            *insert = statement;
        }
    }

    pub(crate) fn client(&self) -> RefMut<'_, Connection> {
        self.connection.borrow_mut()
    }

    fn may_write(&self) -> Result<u64, StoreError> {
        match self.mode {
            Mode::Writing { raised, .. } => Ok(raised.epoch),
            Mode::Looking => Err(io(&self.name, "it was opened for reading only")),
            Mode::Unsure => Err(io(&self.name, UNSURE)),
        }
    }

    /// What a failed writing means, and for what comes after it.
    fn writing_failed(&mut self, seq: u64, error: &postgres::Error) -> StoreError {
        if is_certain(error) {
            return explain(&self.name, seq, error);
        }
        self.mode = Mode::Unsure;
        io(&self.name, format!("{UNSURE} ({})", explain("connection", seq, error)))
    }

    /// It was committed, but not as safely as the settings ask: it is no acknowledgement.
    fn look_for_warning(&mut self) -> Result<(), StoreError> {
        if !self.client().was_warned() {
            return Ok(());
        }
        self.mode = Mode::Unsure;
        Err(io(&self.name, format!("{UNSURE}: it gave up waiting for a standby")))
    }

    fn change(
        &mut self,
        snapshot: &Snapshot,
        put: impl FnOnce(&mut postgres::Transaction<'_>) -> Result<(), postgres::Error>,
    ) -> Result<(), StoreError> {
        let epoch = self.may_write()?;
        if snapshot.seq > self.end.seq {
            return Err(io(&self.name, format!("there is no row {}", snapshot.seq)));
        }
        let kept = {
            let mut connection = self.connection.borrow_mut();
            connection.client.transaction().and_then(|mut change| {
                let held = owner::hold(&mut change, &self.name, epoch);
                match held {
                    Ok(()) => put(&mut change).and_then(|()| change.commit()).map(Ok),
                    Err(refused) => Ok(Err(refused)),
                }
            })
        };
        match kept {
            Ok(kept) => kept,
            Err(error) => Err(self.writing_failed(0, &error)),
        }
    }

    /// At most `max` rows behind `after` of the segment that has the next one. A reader that reads
    /// on where the last call ended unpacks each segment once.
    fn read_archived(
        &mut self,
        segment: &Segment,
        after: u64,
        max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let goes_on = |it: &SegmentReader| it.segment() == segment && it.at() <= after;
        let mut reader = match self.archive.take().filter(goes_on) {
            Some(reader) => reader,
            None => {
                let client = &mut self.connection.get_mut().client;
                archives::reader(client, &self.name, &self.origin, segment)?
            }
        };
        let rows = reader.rows(after, max)?;
        self.archive = Some(reader);
        Ok(rows)
    }
}

/// Whether the journal is the one that is expected.
fn belongs_to(found: &Origin, market: Option<&Origin>, name: &str) -> Result<(), StoreError> {
    match market {
        Some(market) if market != found => Err(io(
            name,
            format!(
                "it has the journal of another market (`{}`, and this is `{}`): nothing was written",
                found.market, market.market
            ),
        )),
        _ => Ok(()),
    }
}

/// Makes the journal if there is none, brings it up to this release's format, and raises the
/// epoch: all or nothing.
fn take(
    client: &mut postgres::Client,
    name: &str,
    claim: Claim,
    claimant: Option<&Claimant>,
) -> Result<Raised, StoreError> {
    // Again: another daemon may have made it before we had the lock.
    let found = schema::found(client, name)?;
    let wrong = |wrong: postgres::Error| explain(name, 0, &wrong);
    let mut change = client.transaction().map_err(wrong)?;
    match found {
        Found::Nothing => schema::create(&mut change, name, &new_origin()?)?,
        Found::Journal(schema::FORMAT) => {}
        Found::Journal(format) => schema::migrate(&mut change, name, format)?,
    }
    let raised = owner::raise(&mut change, name, claim, claimant)?;
    change.commit().map_err(wrong)?;
    Ok(raised)
}

/// One view of all tables: a row that is missing below the last is missing indeed.
fn view<'a>(
    connection: &'a mut Connection,
    name: &str,
) -> Result<postgres::Transaction<'a>, StoreError> {
    let view = connection.client.build_transaction();
    let view = view.isolation_level(IsolationLevel::RepeatableRead).read_only(true).start();
    view.map_err(|wrong| explain(name, 0, &wrong))
}

impl Store for Postgres {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn last(&self) -> u64 {
        match self.mode {
            Mode::Looking => rows::last(&mut self.client().client).unwrap_or(self.end.seq),
            Mode::Writing { .. } | Mode::Unsure => self.end.seq,
        }
    }

    fn append(&mut self, rows: &[(i64, Vec<u8>)]) -> Result<(), StoreError> {
        self.may_write()?;
        if let Some(objection) = self.end.objection(rows) {
            return Err(io(&self.name, objection));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let Mode::Writing { raised, insert } = &self.mode else { return Ok(()) };
        let (epoch, end) = (raised.epoch, self.end);
        let connection = self.connection.get_mut();
        // Of an earlier statement, or of the connection itself.
        connection.was_warned();
        let client = &mut connection.client;
        match rows::add(client, insert, epoch, end, rows) {
            Ok(Added::All(end)) => {
                self.look_for_warning()?;
                self.end = end;
                Ok(())
            }
            Ok(Added::None) => rows::refusal(client, &self.name, epoch, end),
            Err(error) => Err(self.writing_failed(end.seq + 1, &error)),
        }
    }

    fn read(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection.get_mut();
        let mut view = view(connection, &self.name)?;
        let next = after.saturating_add(1);
        if let Some(segment) = archives::holding(&mut view, &self.name, next)? {
            drop(view);
            return self.read_archived(&segment, after, max);
        }
        let read = JournalSource { name: &self.name, origin: &self.origin, last: self.end.seq };
        read.rows(&mut view, after, max)
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, StoreError> {
        snapshots::latest(&mut self.connection.get_mut().client, &self.name)
    }

    fn keep(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.change(snapshot, |change| snapshots::keep(change, snapshot))
    }

    fn keep_pages(&mut self, snapshot: &Snapshot, changed: &Changes) -> Result<(), StoreError> {
        self.change(snapshot, |change| snapshots::keep_pages(change, snapshot, changed))
    }

    fn pages(&mut self, after: Option<PageKey>) -> Result<Vec<Page>, StoreError> {
        snapshots::pages(&mut self.connection.get_mut().client, &self.name, after)
    }
}
