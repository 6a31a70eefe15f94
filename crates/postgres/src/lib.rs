//! A journal in PostgreSQL: a store like `tradewind_daemon::store::sqlite`, on a server.
//!
//! It is a crate of its own because the client has an async runtime inside, which the daemon's
//! crate must not link. All tables are in the schema `tradewind` of one database, which has one
//! market.
//!
//! - [`address`]: the URL, the password, TLS.
//! - `owner`: which daemon may write. Each opening for writing raises the market's epoch; every
//!   statement that writes checks it in its own transaction.
//! - `lease`: until when it may, by the database's clock, and who may succeed it.
//! - `daemons`: who owns it, and which standbys follow it, for administrators.
//! - `notes`: what the adapters of sites must remember, for the daemon that owns the market next.
//! - `patience`: calls that end in time although the server hangs.
//! - `rows`: the journal's rows. A stale writer is refused three times over: by the epoch, by the
//!   number of the row (primary key), and by the digest of the row before.
//! - `archives`: old rows, compressed, in a table: they follow the database wherever it goes.
//! - `import`: a whole journal from another store.
//!
//! **Unknown outcomes.** If the connection is lost while rows are written, or the server says that
//! it gave up waiting for a standby, it is unknown whether they are kept. The store then writes
//! nothing more. Only the next opening shows what is there, and it raises the epoch first, so that
//! a statement that is still under way at the server is refused or was finished before.

pub mod address;
mod archives;
mod connect;
mod daemons;
mod error;
mod import;
mod lease;
mod notes;
mod owner;
mod patience;
mod pgpass;
mod rows;
mod schema;
mod scrub;
mod snapshots;
mod store;
#[cfg(test)]
#[cfg(feature = "clusters")]
mod tests;

pub use address::{Address, AddressError};
pub use archives::Keeper;
pub use connect::Facts;
pub use daemons::{Daemons, Follower};
pub use import::import;
pub use lease::{Advertised, Claimant, IN_DATABASE, OwnerWatch, Renewal, site_folders};
pub use notes::SiteNotes;
pub use owner::Claim;
pub use patience::{PatientStore, take_in_time};
pub use schema::FORMAT;
pub use scrub::Upkeep;
pub use store::Postgres;
