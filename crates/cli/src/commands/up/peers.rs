//! Peers of the configuration, reached over their API.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tradewind_daemon::codec::peers::{Answers, Glance, PROTOCOL, Post, Questions};
use tradewind_daemon::engine::{PeerSetup, PeerTransport, TAIL};
use tradewind_daemon::live;
use tradewind_daemon::live::peers::{
    CheckSettings, PeerLimits, PeerMessage, PeerOutput, Receipts, StatusQuery, StatusReport,
};
use tradewind_daemon::site::{Excerpt, SiteError, Stream, Written};
use tradewind_io::settings::{Peer, PeerCheck, Settings, Volunteer};
use tradewind_model::Time;
use tradewind_sched::negotiation::{self, Choose};
use tradewind_web::{PeerKey, documents};

use crate::client::{ApiResponse, MarketClient};
use crate::exit::Failure;

/// By peer, what may be there at once.
pub(super) fn limits(settings: &Settings) -> BTreeMap<String, PeerLimits> {
    let usual = PeerLimits::default();
    let count = |given: Option<u64>, usual: usize| {
        given.map_or(usual, |count| usize::try_from(count).unwrap_or(usize::MAX))
    };
    let of = |peer: &Peer| PeerLimits {
        max_jobs: count(peer.max_jobs, usual.max_jobs),
        max_doubt: count(peer.max_doubt, usual.max_doubt),
        max_held: peer.max_credits.unwrap_or(usual.max_held),
        min_standing: peer.min_standing.unwrap_or(usual.min_standing),
        receipts: match peer.receipt_key {
            Some(_) => Receipts::Required,
            None => Receipts::Unasked,
        },
    };
    settings.peers.iter().map(|peer| (peer.name.clone(), of(peer))).collect()
}

/// By peer that gets check jobs, how.
pub(super) fn checks(settings: &Settings) -> BTreeMap<String, CheckSettings> {
    let of = |check: &PeerCheck| CheckSettings {
        every: check.every,
        most: check.credits.unwrap_or(CheckSettings::MOST),
        user: check.user.clone().unwrap_or_else(|| CheckSettings::USER.to_owned()),
    };
    let checked = settings.peers.iter();
    let checked = checked.filter_map(|it| Some((it.name.clone(), of(it.check.as_ref()?))));
    checked.collect()
}

/// How jobs are passed on under policies that do not say it themselves.
pub(super) fn negotiation(settings: &Settings) -> negotiation::NegotiationSettings {
    let choose = match settings.market.choose {
        Volunteer::Load => Choose::Load,
        Volunteer::Start => Choose::Start,
        Volunteer::Cost => Choose::Cost,
    };
    negotiation::NegotiationSettings { choose, ..live::Settings::NEGOTIATION }
}

/// A courier for every peer.
///
/// # Errors
/// If one has a token or a certificate that cannot be read, or no address that may be called.
pub(super) fn couriers(settings: &Settings) -> Result<Vec<PeerSetup>, Failure> {
    settings.peers.iter().map(courier).collect()
}

fn courier(peer: &Peer) -> Result<PeerSetup, Failure> {
    Ok(PeerSetup { name: peer.name.clone(), courier: Box::new(way(peer)?) })
}

fn way(peer: &Peer) -> Result<Http, Failure> {
    let unreadable = |file: &str, wrong: &std::io::Error| {
        let message = format!("peer `{}`: failed to read `{file}`: {wrong}", peer.name);
        Failure::usage(message)
            .hint("`tradewind token new NAME --role peer` at the peer makes a token")
    };
    let ca = peer.ca_file.as_ref().map(|file| {
        let read = std::fs::read(file).map_err(|wrong| unreadable(file, &wrong));
        read.map(|bytes| (PathBuf::from(file), bytes))
    });
    let line = MarketClient::to(&peer.url, ca.transpose()?)?;
    let key = peer.receipt_key.as_deref().map(|text| {
        let wrong = format!("peer `{}`: `receipt_key` is no key of receipts", peer.name);
        let hint = "`tradewind peers` at the peer shows its key: `ed25519:` and base64";
        PeerKey::read(text).ok_or_else(|| Failure::usage(wrong).hint(hint))
    });
    let (token_file, key) = (PathBuf::from(&peer.token_file), key.transpose()?);
    let mut http = Http { line, token_file, admitted: false, key };
    match http.read_token() {
        // The peer makes it when it runs: until then nothing goes there.
        Err(wrong) if wrong.kind() == std::io::ErrorKind::NotFound => {
            tracing::warn!(peer = peer.name, file = peer.token_file, "no token yet");
        }
        read => read.map_err(|wrong| unreadable(&peer.token_file, &wrong))?,
    }
    Ok(http)
}

/// A peer behind HTTP.
#[derive(Debug)]
struct Http {
    line: MarketClient,
    token_file: PathBuf,
    /// Whether there is a token.
    admitted: bool,
    /// With which it signs receipts.
    key: Option<PeerKey>,
}

impl Http {
    fn read_token(&mut self) -> std::io::Result<()> {
        let token = std::fs::read_to_string(&self.token_file)?;
        self.line.admit(&token);
        self.admitted = true;
        Ok(())
    }

    /// The body of a good answer.
    fn post(&mut self, path: &str, body: &[u8]) -> Result<Vec<u8>, Unheard> {
        self.send(path, body).map(|answer| answer.body)
    }

    /// A good answer. If the token is not valid, the file may have another by now.
    fn send(&mut self, path: &str, body: &[u8]) -> Result<ApiResponse, Unheard> {
        let unreadable = |wrong| Unheard::Silent(format!("its token cannot be read: {wrong}"));
        if !self.admitted {
            self.read_token().map_err(unreadable)?;
        }
        let mut answer = self.line.send(path, body.to_vec()).map_err(Unheard::Silent)?;
        if answer.status == 401 {
            self.read_token().map_err(unreadable)?;
            answer = self.line.send(path, body.to_vec()).map_err(Unheard::Silent)?;
        }
        match answer.status {
            200..=299 => Ok(answer),
            status => {
                let failure: Result<documents::Failure, _> = serde_json::from_slice(&answer.body);
                let words = failure.map(|it| format!(": {}", it.error.message));
                Err(Unheard::Refused(status, words.unwrap_or_default()))
            }
        }
    }
}

/// Why there is no good answer.
#[derive(Debug)]
enum Unheard {
    /// There is none.
    Silent(String),
    /// Another status than 2xx, and what it says.
    Refused(u16, String),
}

impl Display for Unheard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Unheard::Silent(why) => f.write_str(why),
            Unheard::Refused(status, words) => write!(f, "it answers {status}{words}"),
        }
    }
}

/// Whether a peer answers, and admits this market: asked now.
///
/// # Errors
/// Why not, for people.
pub(crate) fn greet(peer: &Peer, market: &str) -> Result<(), String> {
    let mut http = way(peer).map_err(|wrong| {
        wrong.problems.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("; ")
    })?;
    http.ask(market, &[]).map(drop)
}

/// Ways to peers, for what jobs have written there.
#[derive(Debug)]
pub(super) struct Reading(BTreeMap<String, Mutex<Http>>);

impl Reading {
    /// Of all peers.
    ///
    /// # Errors
    /// As [`couriers`].
    pub(super) fn of(settings: &Settings) -> Result<Reading, Failure> {
        let way = |peer: &Peer| Ok((peer.name.clone(), Mutex::new(way(peer)?)));
        settings.peers.iter().map(way).collect::<Result<_, Failure>>().map(Reading)
    }

    /// A part of what the job has written there.
    ///
    /// # Errors
    /// What the peer says; or what it says is another part.
    pub(super) fn part(
        &self,
        market: &str,
        peer: &str,
        wanted: &StatusQuery,
        part: &Excerpt,
    ) -> Result<Written, SiteError> {
        let away = |why: String| SiteError::Away(format!("{peer}: {why}"));
        let http = self.0.get(peer).ok_or_else(|| away("it is no peer any more".to_owned()))?;
        let glance = Glance {
            protocol: PROTOCOL,
            market: market.to_owned(),
            job: wanted.job,
            transfer: wanted.transfer,
            bytes: u32::try_from(part.most).unwrap_or(u32::MAX),
            from: part.from,
            stream: part.stream,
        };
        let mut http = http.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = http.send("/v1/peers/output", &glance.bytes());
        let answer = answer.map_err(|wrong| away(wrong.to_string()))?;
        written(answer, part).ok_or_else(|| away("it gave another part of the output".to_owned()))
    }
}

/// What the answer has, if it is the part that was asked for. A peer of an earlier release says no
/// places, and gives the end alone.
fn written(answer: ApiResponse, part: &Excerpt) -> Option<Written> {
    let ApiResponse { body: bytes, place, .. } = answer;
    match place {
        Some((from, size)) => {
            let is_asked_for = from == part.first_of(size) && bytes.len() <= part.most;
            is_asked_for.then_some(Written { from, size, bytes })
        }
        None => part.from.is_none().then(|| part.of(&bytes)),
    }
}

impl PeerTransport for Http {
    fn deliver(&mut self, market: &str, sent: Time, letters: &[PeerMessage]) -> Result<(), String> {
        let (market, letters) = (market.to_owned(), letters.to_vec());
        let post = Post { protocol: PROTOCOL, market, sent, letters };
        self.post("/v1/peers/letters", &post.bytes()).map(drop).map_err(|it| it.to_string())
    }

    fn ask(&mut self, market: &str, wanted: &[StatusQuery]) -> Result<Vec<StatusReport>, String> {
        let (name, jobs) = (market.to_owned(), wanted.to_vec());
        let questions = Questions { protocol: PROTOCOL, market: name, jobs };
        let body = self.post("/v1/peers/jobs", &questions.bytes()).map_err(|it| it.to_string())?;
        let answers = Answers::read(&body).map_err(|wrong| format!("its answer: {wrong}"))?;
        let mut reports = answers.jobs;
        if let Some(key) = &self.key {
            reports.iter_mut().for_each(|report| key.check(market, report));
        }
        Ok(reports)
    }

    fn output(&mut self, market: &str, wanted: &StatusQuery) -> Result<PeerOutput, String> {
        let glance = Glance {
            protocol: PROTOCOL,
            market: market.to_owned(),
            job: wanted.job,
            transfer: wanted.transfer,
            bytes: TAIL,
            from: None,
            stream: Stream::Output,
        };
        match self.post("/v1/peers/output", &glance.bytes()) {
            Ok(bytes) => {
                let tail = &bytes[bytes.len().saturating_sub(TAIL as usize)..];
                Ok(PeerOutput::Tail(String::from_utf8_lossy(tail).into_owned()))
            }
            // It knows of no such job.
            Err(Unheard::Refused(404, _)) => Ok(PeerOutput::Unknown),
            // Its site does not answer it, it may not read the file, or it is busy.
            Err(Unheard::Refused(..)) => Ok(PeerOutput::Unreadable),
            Err(silent) => Err(silent.to_string()),
        }
    }
}
