//! Notifications of events: URLs that are called, users who get mail.
//!
//! One thread takes events from where the API's streams take them, and puts them into queues that
//! never wait; each URL has a thread of its own behind its queue, and so has the mail command.
//! Their success or failure does not affect the market.

mod budgets;
mod letters;
mod mail;
mod queue;
mod sign;
mod sites;
#[cfg(test)]
mod tests;
mod webhook;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tradewind_daemon::engine::Handle;
use tradewind_io::settings::Settings;
use tradewind_web::{Events, Notice, Receiver};

use crate::exit::Failure;
use letters::Letters;
use mail::{Mail, Mailer};
use queue::{Lane, Queue};
use webhook::Webhook;

/// How often events are looked for.
const EVERY: Duration = Duration::from_millis(100);
/// Events or mails that wait for one receiver.
const WAITING: usize = 10_000;
/// How long is waited for receivers at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Threads that send notifications.
#[derive(Debug)]
pub(super) struct Notifier {
    reader: Option<JoinHandle<()>>,
    tellers: Vec<JoinHandle<()>>,
    queues: Queues,
}

#[derive(Debug, Clone, Default)]
struct Queues {
    calls: Vec<Arc<Queue<Arc<Notice>>>>,
    mails: Option<Arc<Queue<Mail>>>,
}

/// How receivers were reached so far, for administrators.
#[derive(Debug, Clone, Default)]
pub(super) struct Deliveries(Arc<Mutex<Vec<Arc<dyn Lane>>>>);

impl Deliveries {
    /// Of each receiver; none before notifications have begun.
    pub(super) fn records(&self) -> Vec<Receiver> {
        let lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.iter().map(|lane| lane.record()).collect()
    }

    fn set(&self, queues: &Queues) {
        let calls = queues.calls.iter().map(|it| Arc::clone(it) as Arc<dyn Lane>);
        let mails = queues.mails.iter().map(|it| Arc::clone(it) as Arc<dyn Lane>);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = calls.chain(mails).collect();
    }
}

impl Notifier {
    /// Starts notifications; without receivers, there is no thread.
    ///
    /// # Errors
    /// If the secret cannot be read, or there is no thread.
    pub(super) fn start(
        market: Handle,
        events: Events,
        settings: &Settings,
        deliveries: &Deliveries,
    ) -> Result<Notifier, Failure> {
        let zone = settings.zone.clone().unwrap_or_else(TimeZone::system);
        let told = &settings.notify;
        let secret = told.webhook_secret_file.as_deref().map(secret).transpose()?;
        let mut notifier =
            Notifier { reader: None, tellers: Vec::new(), queues: Queues::default() };
        for url in &told.webhooks {
            let queue = Arc::new(Queue::new(webhook::host(url), WAITING));
            let webhook = Webhook::new(url.clone(), secret.clone(), webhook::EFFORT);
            notifier.queues.calls.push(Arc::clone(&queue));
            notifier.tellers.push(thread("webhook", move || webhook.run(&queue))?);
        }
        if !told.mail_command.is_empty() {
            let command = told.mail_command.clone();
            let program = command.first().map_or("", String::as_str);
            let queue = Arc::new(Queue::new(&format!("mail by {program}"), WAITING));
            let mailer = Mailer { command, patience: mail::PATIENCE, zone: zone.clone() };
            notifier.queues.mails = Some(Arc::clone(&queue));
            notifier.tellers.push(thread("mail", move || mailer.run(&queue))?);
        }
        deliveries.set(&notifier.queues);
        if !notifier.tellers.is_empty() {
            let (queues, letters) = (notifier.queues.clone(), Letters::new(zone));
            let read = move || read(&market, events, &queues, letters);
            notifier.reader = Some(thread("notify", read)?);
        }
        Ok(notifier)
    }

    /// Waits a little until all is sent; to be called once the server has stopped, and before the
    /// market does. What is not sent then, is lost.
    pub(super) fn stop(self) {
        let until = Instant::now() + FAREWELL;
        let mut threads: Vec<JoinHandle<()>> =
            self.reader.into_iter().chain(self.tellers).collect();
        while !threads.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            threads.retain(|thread| !thread.is_finished());
        }
        let calls: usize = self.queues.calls.iter().map(|queue| queue.len()).sum();
        let mails = self.queues.mails.map_or(0, |queue| queue.len());
        if !threads.is_empty() {
            tracing::warn!(calls, mails, "stopped before all were notified");
        }
    }
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Failure> {
    let spawned = Builder::new().name(name.to_owned()).spawn(run);
    spawned.map_err(|wrong| Failure::usage(format!("no thread: {wrong}")))
}

/// The secret in a file, without the ends of lines behind it.
fn secret(path: &str) -> Result<Vec<u8>, Failure> {
    let hint = "`notify.webhook_secret_file` names a file with a secret of some length in it";
    let read = std::fs::read(path);
    let mut secret = read.map_err(|it| Failure::usage(format!("{path}: {it}")).hint(hint))?;
    while secret.last().is_some_and(|it| b"\r\n".contains(it)) {
        secret.pop();
    }
    match secret.is_empty() {
        true => Err(Failure::usage(format!("{path}: there is no secret in it")).hint(hint)),
        false => Ok(secret),
    }
}

/// Passes events on until there are no more; the receivers' queues end with it.
fn read(market: &Handle, mut events: Events, queues: &Queues, mut letters: Letters) {
    let mut failures = sites::Failures::default();
    loop {
        // Asked first: what came before the end is still there after it.
        let over = events.is_over();
        let fresh: Vec<Arc<Notice>> = events.fresh().into_iter().map(Arc::new).collect();
        for queue in &queues.calls {
            fresh.iter().for_each(|notice| queue.push(Arc::clone(notice)));
        }
        if let Some(queue) = &queues.mails {
            let notices: Vec<&Notice> = fresh.iter().map(Arc::as_ref).collect();
            let mails = letters.write(market, &notices);
            // A market that has stopped has no more events.
            let budgets = budgets::write(market, &notices);
            let failures = failures.write(market, &notices, Instant::now());
            let mails = [mails, budgets, failures].into_iter().flat_map(Result::unwrap_or_default);
            mails.for_each(|mail| queue.push(mail));
        }
        match fresh.is_empty() {
            true if over => break,
            true => std::thread::sleep(EVERY),
            false => {}
        }
    }
    queues.calls.iter().for_each(|queue| queue.close());
    if let Some(queue) = &queues.mails {
        queue.close();
    }
}
