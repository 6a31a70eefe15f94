//! A thread for each peer: it carries letters, and asks what happened to jobs that went there.
//!
//! Nothing waits for it. Letters that it cannot deliver are lost, as the negotiation allows; a
//! peer that does not answer is left alone for a moment.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tradewind_model::Time;
use tradewind_sched::negotiation::Peer;

use super::handle::TermHandle;
use crate::live::Input;
use crate::live::peers::{
    MessageBody, PeerMessage, PeerOutput, Receipts, RemoteStatus, StatusQuery, StatusReport,
};
use crate::live::state::Finish;

/// So much of the end of an output is asked for: bytes. Check jobs write less.
pub const TAIL: u32 = 256;

/// How one peer is reached. Calls may take some seconds, and then fail.
pub trait PeerTransport: Debug + Send {
    /// Brings letters of `market` to the peer, all or none.
    ///
    /// # Errors
    /// Why it is not known that the peer has them; for people.
    fn deliver(&mut self, market: &str, sent: Time, letters: &[PeerMessage]) -> Result<(), String>;

    /// Asks the peer about jobs of `market`.
    ///
    /// # Errors
    /// Why there is no answer; for people.
    fn ask(&mut self, market: &str, wanted: &[StatusQuery]) -> Result<Vec<StatusReport>, String>;

    /// What the peer shows of the output of a job of `market`: the last [`TAIL`] bytes.
    ///
    /// # Errors
    /// Why there is no answer; for people.
    fn output(&mut self, market: &str, wanted: &StatusQuery) -> Result<PeerOutput, String>;
}

/// A peer of the configuration.
#[derive(Debug)]
pub struct PeerSetup {
    /// As the configuration calls it.
    pub name: String,
    /// The transport to the peer.
    pub courier: Box<dyn PeerTransport>,
}

/// A peer that did not answer is left alone for so long.
const REST: Duration = Duration::from_secs(1);
/// As many letters, or questions, go at once.
const AT_ONCE: usize = 64;

enum PeerRequest {
    Letters(Time, Vec<PeerMessage>),
    Ask(Vec<StatusQuery>),
}

/// A peer's thread. It ends with the engine, or a moment after it.
#[derive(Debug)]
pub(super) struct PeerSender(Sender<PeerRequest>);

impl Debug for PeerRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Errand")
    }
}

impl PeerSender {
    pub(super) fn start(
        peer: Peer,
        market: String,
        setup: PeerSetup,
        engine: TermHandle,
    ) -> std::io::Result<PeerSender> {
        let (errands, receive) = channel();
        let name = format!("peer-{}", setup.name);
        let round = Round { peer, market, setup, engine, there: None, rest: None };
        std::thread::Builder::new().name(name).spawn(move || round.go_on(&receive))?;
        Ok(PeerSender(errands))
    }

    pub(super) fn letters(&self, sent: Time, letters: Vec<PeerMessage>) {
        drop(self.0.send(PeerRequest::Letters(sent, letters)));
    }

    pub(super) fn ask(&self, wanted: Vec<StatusQuery>) {
        drop(self.0.send(PeerRequest::Ask(wanted)));
    }
}

struct Round {
    peer: Peer,
    market: String,
    setup: PeerSetup,
    engine: TermHandle,
    /// Whether it answered the last time.
    there: Option<bool>,
    /// It is left alone until then.
    rest: Option<Instant>,
}

impl Round {
    fn go_on(mut self, errands: &Receiver<PeerRequest>) {
        while let Ok(first) = errands.recv() {
            let (mut letters, mut wanted, mut when) = (Vec::new(), None, None);
            // Everything that has come meanwhile goes together; of questions, the last.
            for errand in std::iter::once(first).chain(errands.try_iter()) {
                match errand {
                    PeerRequest::Letters(sent, more) => {
                        when = Some(sent);
                        letters.extend(more);
                    }
                    PeerRequest::Ask(all) => wanted = Some(all),
                }
            }
            if self.rest.is_some_and(|rest| Instant::now() < rest) {
                continue;
            }
            self.rest = None;
            // A job with all that it runs goes alone: it may be large.
            let alone = |one: &PeerMessage| matches!(one.word, MessageBody::Migrate { .. });
            let (jobs, words): (Vec<_>, Vec<_>) = letters.into_iter().partition(alone);
            for some in words.chunks(AT_ONCE).chain(jobs.chunks(1)) {
                let sent = when.unwrap_or(Time(0));
                let delivered = self.setup.courier.deliver(&self.market, sent, some);
                if self.heard(delivered).is_none() {
                    break;
                }
            }
            // No question at all shows that it answers.
            let wanted = wanted.map(|wanted| match wanted.is_empty() {
                true => vec![Vec::new()],
                false => wanted.chunks(AT_ONCE).map(<[StatusQuery]>::to_vec).collect(),
            });
            for some in wanted.unwrap_or_default() {
                if self.rest.is_some() {
                    break;
                }
                let answer = self.setup.courier.ask(&self.market, &some);
                if let Some(reports) = self.heard(answer) {
                    let (reports, outputs) = self.with_evidence(reports);
                    let peer = self.peer;
                    let input = Input::Reported { peer, reports, outputs };
                    let told = self.engine.tell(input);
                    if told.is_err() {
                        return; // the engine is gone
                    }
                }
            }
        }
    }

    /// The reports, and what the peer shows of the output of jobs of which it says that they have ended.
    /// A report of an end whose output cannot be asked for now waits until it can.
    fn with_evidence(
        &mut self,
        reports: Vec<StatusReport>,
    ) -> (Vec<StatusReport>, BTreeMap<u64, PeerOutput>) {
        let (mut told, mut outputs) = (Vec::new(), BTreeMap::new());
        for report in reports {
            if is_end(&report) {
                let (job, transfer) = (report.job, report.transfer);
                let wanted =
                    StatusQuery { job, transfer, cancel: false, receipt: Receipts::Unasked };
                match self.setup.courier.output(&self.market, &wanted) {
                    Ok(output) => drop(outputs.insert(job, output)),
                    Err(why) => {
                        self.heard::<()>(Err(why));
                        break;
                    }
                }
            }
            told.push(report);
        }
        (told, outputs)
    }

    /// Takes note of whether the peer has answered.
    fn heard<T>(&mut self, answer: Result<T, String>) -> Option<T> {
        let there = answer.is_ok();
        if self.there != Some(there) {
            self.there = Some(there);
            self.engine.tell(Input::Contact { peer: self.peer, there }).ok();
            match &answer {
                Ok(_) => tracing::info!(peer = self.setup.name, "the peer answers"),
                Err(why) => tracing::warn!(peer = self.setup.name, %why, "no peer"),
            }
        }
        if !there {
            self.rest = Some(Instant::now() + REST);
        }
        answer.ok()
    }
}

/// Whether the report is of a job that has run to an end.
fn is_end(report: &StatusReport) -> bool {
    let RemoteStatus::There(news) = &report.fate else { return false };
    let has_run = |finish: &Finish| {
        !matches!(finish, Finish::Cancelled | Finish::NodeFail | Finish::Refused(_))
    };
    news.finish.as_ref().is_some_and(has_run)
}

/// Peers that have no jobs from here are asked nothing in one of so many rounds: do they answer?
const GREET_EVERY: u64 = 60;

/// Asks each peer about the jobs that went there; in the first round, and now and then, also peers
/// without any.
pub(super) fn ask_all(
    senders: &BTreeMap<Peer, PeerSender>,
    mut wanted: BTreeMap<Peer, Vec<StatusQuery>>,
    round: u64,
) {
    for (peer, sender) in senders {
        match wanted.remove(peer) {
            Some(wanted) => sender.ask(wanted),
            None if round % GREET_EVERY == 1 => sender.ask(Vec::new()),
            None => {}
        }
    }
}
