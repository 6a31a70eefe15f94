//! What administrators ask of this daemon on the pages.

use std::path::PathBuf;

use tradewind_daemon::site::Finding;
use tradewind_io::settings::Settings;
use tradewind_postgres::Postgres;
use tradewind_web::{Daemons, Operations, ReceiptKey, Receiver, StandbyDaemon};

use super::notify::Deliveries;
use crate::commands::live::doctor;
use crate::journals::JournalPlace;
use crate::report::{Report, Volume};

/// This daemon: its configuration, its folder and its journal.
#[derive(Debug)]
pub(super) struct DaemonOperations {
    pub(super) settings: Settings,
    pub(super) folder: PathBuf,
    pub(super) journal: JournalPlace,
    pub(super) deliveries: Deliveries,
    /// The key of receipts for peers, if there are any.
    pub(super) receipts: Option<ReceiptKey>,
}

impl Operations for DaemonOperations {
    fn examine(&self) -> Result<Vec<(String, Finding)>, String> {
        let report = Report { volume: Volume::Quiet };
        doctor::examine(&self.settings, &self.folder, None, &report).map_err(|failure| {
            let said = failure.problems.iter().map(|it| it.message.clone());
            said.collect::<Vec<_>>().join("; ")
        })
    }

    fn receivers(&self) -> Vec<Receiver> {
        self.deliveries.records()
    }

    fn receipt_key(&self) -> Option<&ReceiptKey> {
        self.receipts.as_ref()
    }

    fn daemons(&self) -> Option<Result<Daemons, String>> {
        let JournalPlace::Database(address) = &self.journal else { return None };
        let found = Postgres::daemons(address).map_err(|wrong| wrong.to_string());
        Some(found.map(|it| {
            let standby = |it: tradewind_postgres::Follower| StandbyDaemon {
                url: it.url,
                rows_behind: it.rows_behind,
                silent: it.silent,
            };
            let standbys = it.standbys.into_iter().map(standby).collect();
            Daemons { owner: it.owner, lease: it.lease, standbys }
        }))
    }
}
