//! A supervisor whose task waits on its slots for others.

use std::io;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::records::{Folder, Gathering, GoRecord, Sheet};
use super::supervise::Event;
use crate::site::clock::{now, now_ms};

/// So often it looks even without a wake.
const LOOK: Duration = Duration::from_millis(100);

/// What came of waiting.
pub(super) enum BarrierOutcome {
    /// The task may begin: then, and with these variables.
    Go(GoRecord),
    /// It was withdrawn, or has waited for as long as it may.
    InVain,
}

/// Waits until the task gets its moment to begin; one without other parts begins at its start.
pub(super) fn wait(
    folder: &Folder,
    sheet: &Sheet,
    events: &Receiver<Event>,
) -> io::Result<BarrierOutcome> {
    let Some(max) = sheet.gather else {
        return Ok(BarrierOutcome::Go(GoRecord {
            at: sheet.start_at(now()),
            variables: Default::default(),
        }));
    };
    // A supervisor before this one may have begun to wait.
    let since = match folder.read_note::<Gathering>(Folder::GATHERING)? {
        Some(gathering) => gathering.since,
        None => {
            let since = now_ms();
            folder.note(Folder::GATHERING, &Gathering { since })?;
            since
        }
    };
    loop {
        if folder.has(Folder::WITHDRAWN) {
            return Ok(BarrierOutcome::InVain);
        }
        if let Some(go) = folder.read::<GoRecord>(Folder::GO)? {
            return Ok(BarrierOutcome::Go(go));
        }
        let left = max.saturating_mul(1_000) - (now_ms() - since);
        let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else {
            return Ok(BarrierOutcome::InVain);
        };
        let _ = events.recv_timeout(LOOK.min(Duration::from_millis(left)));
    }
}
