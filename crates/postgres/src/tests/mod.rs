//! On a real server.

mod bad;
mod conformance;
mod copies;
mod faults;
mod lease;
mod notes;
mod owners;
mod patience;
mod proxy;
mod server;
mod speed;
mod versions;

use std::sync::Arc;

use postgres::Client;
use tradewind_daemon::store::{Changes, Page, Snapshot, Store as _, StoreError, verify};

use crate::address::Address;
use crate::connect::now;
use crate::owner::Claim;
use crate::store::Postgres;
use server::Server;

/// An empty database.
struct Place {
    server: Arc<Server>,
    database: String,
    address: Address,
}

impl Place {
    fn new() -> Place {
        Place::at(Server::shared())
    }

    fn at(server: Arc<Server>) -> Place {
        let database = server.database();
        let address = Address::parse(&server.url(&database)).unwrap();
        Place { server, database, address }
    }

    fn open(&self, claim: Claim) -> Result<Postgres, StoreError> {
        Postgres::open(&self.address, claim, None, now())
    }

    fn admin(&self) -> Client {
        self.server.admin(&self.database)
    }

    /// Does to the tables what no journal does to itself.
    fn meddle(&self, sql: &str) {
        let mut admin = self.admin();
        admin.batch_execute("SET session_replication_role = replica").unwrap();
        admin.batch_execute(sql).unwrap();
    }

    /// How many rows there are.
    fn rows(&self) -> i64 {
        let ask = "SELECT count(*) FROM tradewind.rows";
        self.admin().query_one(ask, &[]).unwrap().get(0)
    }
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<(i64, Vec<u8>)> {
    numbers.into_iter().map(|n| (n, format!(r#"{{"n":{n}}}"#).into_bytes())).collect()
}

fn snapshot(seq: u64) -> Snapshot {
    Snapshot { seq, at: 9, version: 2, body: vec![seq as u8; 100] }
}
