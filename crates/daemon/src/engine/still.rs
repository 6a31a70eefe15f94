//! A market that stands still, for tests of what shows it.

use super::handle::{CommittedRecord, Handle, Message};
use crate::live::{Live, Refusal, RefusalKind};

/// Answers looks at `live` until it is stopped. Nothing is written, no site is asked,
/// and every request is refused: all looks see the same state. Watchers get these `rows`, as far as
/// they fit into what may wait for one.
///
/// # Errors
/// If there is no thread for it.
pub fn still(live: Live, rows: Vec<CommittedRecord>) -> std::io::Result<Handle> {
    let (handle, messages) = Handle::pair();
    std::thread::Builder::new().name("still market".to_owned()).spawn(move || {
        let mut watchers = Vec::new();
        for message in messages {
            match message {
                Message::Look(look) => look(&live),
                Message::Watch(news) => {
                    rows.iter().for_each(|row| drop(news.try_send(row.clone())));
                    watchers.push(news);
                }
                Message::Input(_) => {}
                Message::Stop => break,
                message @ (Message::Ask(..) | Message::HandOver(_)) => {
                    let why = "this market stands still";
                    message.refuse(Refusal::new(RefusalKind::Unavailable, why, ""));
                }
            }
        }
    })?;
    Ok(handle)
}
