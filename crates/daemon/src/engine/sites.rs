//! A thread for each site: it is told, answers, and is looked at again and again.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tradewind_model::SiteId;

use super::handle::Handle;
use crate::live::{Act, Input, Instruction};
use crate::site::{Site, SiteError};

/// A site and who owns it.
#[derive(Debug)]
pub struct SiteSetup {
    /// Unique.
    pub name: String,
    /// A user's name.
    pub owner: String,
    /// How to talk to it.
    pub site: Box<dyn Site>,
    /// How often it is looked at.
    pub survey_every: Duration,
}

/// A site's thread.
#[derive(Debug)]
pub(super) struct Worker {
    orders: Sender<Vec<Instruction>>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(super) fn start(id: SiteId, setup: SiteSetup, engine: Handle) -> std::io::Result<Worker> {
        let (orders, receive) = channel();
        let name = format!("site-{}", setup.name);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || Talk { id, setup, engine, orders: receive }.go_on())?;
        Ok(Worker { orders, thread })
    }

    /// Tells the site, in order.
    pub(super) fn tell(&self, orders: Vec<Instruction>) {
        drop(self.orders.send(orders)); // a dead thread: the site counts as away
    }

    /// Waits until what the site was told is told.
    pub(super) fn stop(self) {
        drop(self.orders);
        drop(self.thread.join());
    }
}

struct Talk {
    id: SiteId,
    setup: SiteSetup,
    engine: Handle,
    orders: Receiver<Vec<Instruction>>,
}

impl Talk {
    fn go_on(mut self) {
        let mut waiting: VecDeque<Instruction> = VecDeque::new();
        let mut next = Instant::now();
        loop {
            if Instant::now() >= next {
                if self.survey().is_err() {
                    return;
                }
                next = Instant::now() + self.setup.survey_every;
            }
            let Some(order) = waiting.pop_front() else {
                match self.orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(more) => waiting.extend(more),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                continue;
            };
            if self.carry_out(order).is_err() {
                return;
            }
            waiting.extend(self.orders.try_iter().flatten());
        }
    }

    fn survey(&mut self) -> Result<(), super::Gone> {
        let begin = Instant::now();
        let survey = self.setup.site.survey();
        if let Err(wrong) = &survey {
            tracing::warn!(site = self.setup.name, %wrong, "the site does not answer");
        }
        tracing::trace!(site = self.setup.name, took_ms = begin.elapsed().as_millis(), "surveyed");
        self.engine.tell(Input::Surveyed { site: self.id, survey })
    }

    fn carry_out(&mut self, instruction: Instruction) -> Result<(), super::Gone> {
        let Instruction { tag, act, order, .. } = instruction;
        let site = &mut self.setup.site;
        let answer = match (act, &order) {
            (Act::Submit, Some(order)) => site.submit(order),
            (Act::Submit, None) => Err(SiteError::Refused("nothing to run".to_owned())),
            (Act::Withdraw, _) => site.withdraw(&tag),
            (Act::Forget, _) => site.forget(&tag),
        };
        if let Err(wrong) = &answer {
            tracing::warn!(site = self.setup.name, %tag, ?act, %wrong, "the site says no");
        }
        self.engine.tell(Input::Answered { tag, act, answer })
    }
}
