//! Pages of large submissions, made on a thread of low priority as soon as the submission is
//! written: the next snapshot finds them made.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tradewind_io::submission::Submission;

use crate::codec::pages::MadePage;
use crate::live::Record;
use crate::live::record::JobRecord;
use crate::priority;

/// As many submissions wait at most; a page that was not ordered is made when it is needed.
const WAITING: usize = 64;

/// The thread, as the engine sees it.
#[derive(Debug, Default)]
pub(super) struct PageThread(Option<(SyncSender<Arc<Submission>>, Receiver<MadePage>)>);

impl PageThread {
    /// Starts the thread. Without one, pages are made when they are needed.
    pub(super) fn start() -> PageThread {
        let (order, orders) = sync_channel::<Arc<Submission>>(WAITING);
        // As many as are ordered between two snapshots, which the bytes of these rows bound.
        let (give, made) = std::sync::mpsc::channel();
        let work = move || {
            priority::lower();
            for submission in orders {
                if give.send(MadePage::of(submission)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("pages".to_owned()).spawn(work);
        PageThread(thread.is_ok().then_some((order, made)))
    }

    /// Has pages made of the large submissions in these records.
    pub(super) fn order<'a>(&self, records: impl Iterator<Item = &'a Record>) {
        let Some((order, _)) = &self.0 else { return };
        for record in records {
            if let Record::Job(JobRecord::Submitted { submission, .. }) = record
                && MadePage::is_for(submission)
            {
                // If it is full, that page is made later.
                drop(order.try_send(Arc::clone(submission)));
            }
        }
    }

    /// What is made by now.
    pub(super) fn take(&self) -> impl Iterator<Item = MadePage> + '_ {
        self.0.iter().flat_map(|(_, made)| made.try_iter())
    }
}
