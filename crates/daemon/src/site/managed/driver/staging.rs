//! Files that are brought and taken away while the site goes on: each task's by a thread of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tradewind_model::Span;

use super::manager::Manager;
use super::{Driver, USER};
use crate::site::managed::bundle::Paths;
use crate::site::managed::stage::{StagedFiles, data_words};
use crate::site::{Order, OrderData, SiteError, Tag};

/// Of so many tasks files are brought at once; others wait.
const AT_ONCE: usize = 16;
/// Commands are waited for so long before the site goes on.
const QUICK: Duration = Duration::from_secs(1);
/// So many threads take files away.
const HANDS: usize = 4;
/// Of so many more tasks files wait to be taken away.
const WAITING: usize = 1_000;

type Errand = Box<dyn FnOnce() + Send>;

/// What is under way.
#[derive(Default)]
pub(super) struct Stager {
    coming: BTreeMap<Tag, ComingFiles>,
    going: Option<SyncSender<Errand>>,
}

/// Files that are being brought.
struct ComingFiles {
    since: Instant,
    /// What will be said of them.
    answer: Receiver<Result<(), SiteError>>,
}

impl std::fmt::Debug for Stager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stager").field("coming", &self.coming.keys()).finish_non_exhaustive()
    }
}

impl Stager {
    /// Has files brought, if they are not on their way.
    fn bring(&mut self, files: StagedFiles, commands: Vec<Vec<String>>) {
        if self.coming.len() >= AT_ONCE || self.coming.contains_key(&files.tag) {
            return;
        }
        let (tell, hear) = sync_channel(1);
        let tag = files.tag.clone();
        let work = move || drop(tell.send(files.run(&commands)));
        // Without a thread the order is repeated.
        if thread::Builder::new().name("stage-in".to_owned()).spawn(work).is_ok() {
            self.coming.insert(tag, ComingFiles { since: Instant::now(), answer: hear });
        }
    }

    /// Whether the task's files are there. What has just begun may be over at once.
    fn brought(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(coming) = self.coming.get(tag) else { return Err(SiteError::Staging) };
        let wait = (coming.since + QUICK).saturating_duration_since(Instant::now());
        let Ok(answer) = coming.answer.recv_timeout(wait) else { return Err(SiteError::Staging) };
        self.coming.remove(tag);
        answer
    }

    /// The task will not be submitted. What brings its files ends by itself, within its time.
    pub(super) fn forget(&mut self, tag: &Tag) {
        self.coming.remove(tag);
    }

    /// Has files taken away.
    fn take_away(&mut self, files: StagedFiles, commands: Vec<Vec<String>>) {
        let tag = files.tag.clone();
        let lost = move |wrong: &str| tracing::warn!(%tag, wrong, "its files were not taken away");
        let say = lost.clone();
        let errand: Errand = Box::new(move || {
            if let Err(wrong) = files.run(&commands) {
                say(&wrong.to_string());
            }
        });
        match self.going.get_or_insert_with(hands).try_send(errand) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                lost("too many others wait for it");
            }
        }
    }
}

/// Threads that run errands until there will be no more.
fn hands() -> SyncSender<Errand> {
    let (tell, hear) = sync_channel::<Errand>(WAITING);
    let hear = Arc::new(Mutex::new(hear));
    for _ in 0..HANDS {
        let hear = Arc::clone(&hear);
        let next = move || hear.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let work = move || {
            while let Ok(errand) = next() {
                errand();
            }
        };
        // With fewer threads it takes longer.
        drop(thread::Builder::new().name("stage-out".to_owned()).spawn(work));
    }
    tell
}

impl<M: Manager> Driver<M> {
    /// The order as the manager is to have it: where commands bring the job's data, the task's limit is
    /// without that time.
    pub(super) fn without_staging<'o>(&self, order: &'o Order) -> Cow<'o, Order> {
        let Some(OrderData { times, .. }) = order.data.as_deref() else {
            return Cow::Borrowed(order);
        };
        let cluster = &self.base.cluster;
        let by_commands = |commands: &[Vec<String>], span: Span| match commands.is_empty() {
            true => Span::ZERO,
            false => span,
        };
        let before = by_commands(&cluster.stage_in, times.stage_in);
        let after = by_commands(&cluster.stage_out, times.stage_out);
        let mut own = order.clone();
        own.limit = Span((order.limit.0 - before.0 - after.0).max(1));
        own.variables.insert("TRADEWIND_LIMIT".to_owned(), own.limit.0.to_string());
        Cow::Owned(own)
    }

    /// Has the files of tasks brought that were never submitted.
    pub(super) fn bring_files(&mut self, orders: &[&Order]) {
        let commands = self.base.cluster.stage_in.clone();
        let is_new =
            |tag: &Tag| self.base.tickets.get(tag).is_none() && !self.base.tickets.is_gone(tag);
        for order in orders.iter().filter(|order| !commands.is_empty() && is_new(&order.tag)) {
            // What is wrong with an account is said when the order is prepared.
            let Ok(account) = self.base.account(&order.user) else { continue };
            let home = self.base.cluster.directory.replace(USER, &account);
            let directory = Paths::of(order, &home).directory;
            let data = order.data.as_deref();
            let words = data.map(|it| data_words(&it.data, &self.base.name)).unwrap_or_default();
            let expected = data.map_or(Span::ZERO, |it| it.times.stage_in);
            let files = self.base.files(&order.tag, (account, directory), words);
            self.staging.bring(self.base.patiently(files, expected), commands.clone());
        }
    }

    /// Whether the files of a task that is about to be submitted are there.
    ///
    /// # Errors
    /// [`SiteError::Staging`] if they are on their way; what a command says that failed.
    pub(super) fn has_files(&mut self, tag: &Tag) -> Result<(), SiteError> {
        // Its ticket was written when they were there.
        let are_there = self.base.tickets.get(tag).is_some();
        match are_there || self.base.cluster.stage_in.is_empty() {
            true => Ok(()),
            false => self.staging.brought(tag),
        }
    }

    /// Takes a task's files away. If that fails, the task has ended all the same.
    pub(super) fn take_files_away(&mut self, tag: &Tag) {
        let commands = &self.base.cluster.stage_out;
        let Some(ticket) = self.base.tickets.get(tag).filter(|_| !commands.is_empty()) else {
            return;
        };
        let place = (ticket.account.clone(), ticket.directory.clone());
        let files = self.base.files(tag, place, ticket.data.clone());
        let files = self.base.patiently(files, Span(ticket.staging));
        self.staging.take_away(files, commands.clone());
    }
}
