//! What is agreed with peers, as the journal keeps it, and what goes to and fro between markets.

use std::sync::Arc;

use serde_json::Value;
use tradewind_io::input::Input;
use tradewind_io::submission::document;
use tradewind_model::{Money, Span, Time};
use tradewind_sched::negotiation::{
    Durable, Entry, Handing, Offer, Parcel, Peer, Serial, SiteMemory, SiteStatus, StartQuote,
    Ticket, Tombstones, TransferVerdict,
};

use super::wire::{Decode, DecodeFault, Encode, Fields, Object, choice, object};
use super::{CodecError, wire};
use crate::live::peers::{
    MessageBody, PeerMessage, Receipts, RemoteStatus, StatusQuery, StatusReport, Traveller,
};
use crate::live::state::Finish;
use crate::live::state::jobs::{
    Away, BrokenOffer, Receipt, RemoteOrigin, RemoteProgress, Settlement,
};
use crate::live::state::peers::{PeerChecks, PeerEntry, PeerVerdict, Peers, Standing};
use crate::site::Stream;

impl Encode for Peer {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
}

impl Decode for Peer {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(Peer)
    }
}

/// Written as `[epoch,number]`.
impl Encode for Serial {
    fn put(&self, out: &mut Vec<u8>) {
        (self.epoch, self.number).put(out);
    }
}

impl Decode for Serial {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Decode::get(value).map(|(epoch, number)| Serial { epoch, number })
    }
}

object!(Ticket { home, job });
object!(Parcel { ticket, demand, submitted, data_mb, hops });
object!(StartQuote { start, price, cost, load, status });
object!(SiteStatus { free, network_mb, slowdown, memory });
object!(SiteMemory { free_kib, total_kib });
object!(Offer { quote, expires });
object!(Handing { to, inquiry, parcel, offer });
choice!(TransferVerdict { "taken" => Taken, "returned" => Returned });
object!(Tombstones { settled, closed });
object!(Durable { epoch, here, handing, tombstones });
choice!(Entry {
    "restarted" => Restarted, "joined" => Joined(ticket), "over" => Over(ticket),
    "handing" => Handing { transfer, handing }, "gave" => Gave(transfer), "kept" => Kept(transfer),
    "took" => Took { from, transfer, parcel, offer }, "returned" => Returned { from, transfer },
    "settled" => Settled { from, settled },
});
object!(Peers { directory, durable, taken });
object!(PeerEntry { name, market, silent, removed, standing, checks });
object!(PeerChecks { job, at, right, wrong });
object!(Standing { kept, broken, deficit, at });
choice!(BrokenOffer {
    "no-start" => NoStart, "too-early" => TooEarly, "too-short" => TooShort,
    "overcharged" => Overcharged, "no-output" => NoOutput, "no-receipt" => NoReceipt, "not-started" => NotStarted,
    "not-ended" => NotEnded, "forgotten" => Forgotten, "lost" => Lost,
    "wrong-answer" => WrongAnswer,
});
choice!(PeerVerdict { "kept" => Kept, "broken" => Broken(why) });
choice!(Settlement { "lost" => Lost, "ran" => Ran });
object!(RemoteOrigin { peer, name, job, transfer, array, offer, submitted });
object!(Away { peer, name, transfer, offer, news, recalled, doubtful });
object!(RemoteProgress { since, nodes, finish, charged, receipt });
object!(Receipt { until, signature });
choice!(Receipts { "unasked" => Unasked, "required" => Required }, absent: Unasked);

object!(StatusQuery { job, transfer, cancel, receipt });
object!(StatusReport { job, transfer, fate });
choice!(RemoteStatus { "unknown" => Unknown, "there" => There(news), "back" => Back(why) });
object!(PeerMessage { settled, word });
choice!(MessageBody {
    "discover" => Discover { inquiry, job, lead }, "volunteer" => Volunteer { inquiry, offer },
    "commit" => Commit { inquiry, job, offer, lead }, "accepted" => Accepted { inquiry, offer },
    "refused" => Refused { inquiry, offer }, "cancel" => Cancel { inquiry },
    "migrate" => Migrate { transfer, inquiry, job, offer }, "done" => Done { transfer },
    "returned" => Returned { transfer },
});

/// The submission is the API's document: its reader checks all of it.
impl Encode for Traveller {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("job", &self.job);
        object.field("user", &self.user);
        object.field("submitted", &self.submitted);
        object.field("array", &self.array);
        object.field("submission", &Document(document::value(&self.submission)));
        object.end();
    }
}

impl Decode for Traveller {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let user: String = fields.take("user")?;
        named(&user).map_err(|fault| fault.within("user"))?;
        let Document(submission) = fields.take("submission")?;
        let text = Input::new("submission", submission.to_string().into_bytes());
        let read = document::parse(&text);
        let submission =
            read.map_err(|wrong| DecodeFault::new(wrong.to_string()).within("submission"))?;
        let it = Traveller {
            job: fields.take("job")?,
            user,
            submitted: fields.take("submitted")?,
            array: fields.take("array")?,
            submission: Arc::new(submission),
        };
        fields.end()?;
        Ok(it)
    }
}

/// The longest name of a user.
const MAX_NAME: usize = 64;

fn named(user: &str) -> Result<(), DecodeFault> {
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    match !user.is_empty() && user.len() <= MAX_NAME && user.chars().all(good) {
        true => Ok(()),
        false => Err(DecodeFault::new("expected a name of letters, digits and `_-.@`")),
    }
}

/// A JSON document of any form.
struct Document(Value);

impl Encode for Document {
    fn put(&self, out: &mut Vec<u8>) {
        // Neither a document nor a vector makes trouble.
        let _ = serde_json::to_writer(out, &self.0);
    }
}

impl Decode for Document {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Ok(Document(value))
    }
}

/// Whether the numbers of a letter are those of this world: nothing overflows by them.
fn sound(letter: &PeerMessage) -> Result<(), DecodeFault> {
    let moment = |at: Time| (Time(0)..=Time::MAX).contains(&at);
    let offer = match &letter.word {
        MessageBody::Volunteer { offer, .. }
        | MessageBody::Commit { offer, .. }
        | MessageBody::Accepted { offer, .. }
        | MessageBody::Refused { offer, .. }
        | MessageBody::Migrate { offer, .. } => Some(*offer),
        _ => None,
    };
    let lead = match &letter.word {
        MessageBody::Discover { lead, .. } | MessageBody::Commit { lead, .. } => *lead,
        _ => Span::ZERO,
    };
    let submitted = letter.word.job().map_or(Time(0), |job| job.submitted);
    let good = |Offer { quote, expires }: Offer| {
        moment(quote.start)
            && moment(expires)
            && (0..=Money::MAX.0).contains(&quote.cost.0)
            && (0..=Money::MAX.0).contains(&quote.price.0)
    };
    let day = Span(86_400);
    let fine = offer.is_none_or(good) && (Span::ZERO..=day).contains(&lead) && moment(submitted);
    match fine {
        true => Ok(()),
        false => Err(DecodeFault::new("a time, a price or a lead is out of range")),
    }
}

/// The protocol that this release speaks.
pub const PROTOCOL: u32 = 1;

/// Letters, as they go over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Version of the protocol, [`PROTOCOL`].
    pub protocol: u32,
    /// The sender's name.
    pub market: String,
    /// When, on the sender's clock.
    pub sent: Time,
    /// The messages.
    pub letters: Vec<PeerMessage>,
}

/// Questions about jobs that went, as they go over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    /// Version of the protocol, [`PROTOCOL`].
    pub protocol: u32,
    /// The sender's name.
    pub market: String,
    /// The jobs whose state is asked for.
    pub jobs: Vec<StatusQuery>,
}

/// The answer to [`Questions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// In the order of the questions.
    pub jobs: Vec<StatusReport>,
}

object!(Post { protocol, market, sent, letters });
object!(Questions { protocol, market, jobs });
/// A request for the output of a job that was transferred, as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Version of the protocol, [`PROTOCOL`].
    pub protocol: u32,
    /// The sender's name.
    pub market: String,
    /// Id of the job at its home.
    pub job: u64,
    /// By which hand-over it went.
    pub transfer: Serial,
    /// At most so many bytes.
    pub bytes: u32,
    /// From this byte of the file on, counted from 0; `None`: the last bytes.
    pub from: Option<u64>,
    /// Of which file.
    pub stream: Stream,
}

object!(Answers { jobs });

/// What a receipt is about.
struct Statement {
    home: String,
    job: u64,
    transfer: Serial,
    since: Option<Time>,
    until: Option<Time>,
    finish: Option<Finish>,
    charged: Money,
}

impl Encode for Statement {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("home", &self.home);
        object.field("job", &self.job);
        object.field("transfer", &self.transfer);
        object.field("since", &self.since);
        object.field("until", &self.until);
        object.field("finish", &self.finish);
        object.field("charged", &self.charged);
        object.end();
    }
}

/// What a peer signs of a job of the market `home`: one line of JSON with the job, the hand-over,
/// when it began and ended (Unix seconds), how it ended, and what it paid (micro-credits). `None`: the
/// report is of no start and no end, or no receipt of it is wanted.
pub fn statement(home: &str, report: &StatusReport) -> Option<String> {
    let RemoteStatus::There(news) = &report.fate else { return None };
    let receipt = news.receipt.as_ref()?;
    let statement = Statement {
        home: home.to_owned(),
        job: report.job,
        transfer: report.transfer,
        since: news.since,
        until: receipt.until,
        finish: news.finish.clone(),
        charged: news.charged,
    };
    String::from_utf8(bytes(&statement)).ok()
}
choice!(Stream { "output" => Output, "error" => Error }, absent: Output);
object!(Glance { protocol, market, job, transfer, bytes, from, stream });

/// The most letters or questions of one message.
const MAX: usize = 1_000;
/// The longest signature, as text.
const MAX_SIGNATURE: usize = 256;
/// The longest name of a market.
const MAX_MARKET: usize = 64;

fn head(protocol: u32, market: &str, count: usize) -> Result<(), DecodeFault> {
    if protocol != PROTOCOL {
        let what = format!("expected {PROTOCOL}: the peer is of another release");
        return Err(DecodeFault::new(what).within("protocol"));
    }
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if market.is_empty() || market.len() > MAX_MARKET || !market.chars().all(good) {
        return Err(DecodeFault::new("expected a market's name").within("market"));
    }
    match count <= MAX {
        true => Ok(()),
        false => Err(DecodeFault::new(format!("expected {MAX} entries at most"))),
    }
}

fn bytes(it: &impl Encode) -> Vec<u8> {
    let mut out = Vec::with_capacity(1_024);
    it.put(&mut out);
    out
}

impl Post {
    /// The message as JSON.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(self)
    }

    /// The letters that were written like this; of another market, so every number is looked at.
    ///
    /// # Errors
    /// What is wrong with them, and where.
    pub fn read(value: Value) -> Result<Post, CodecError> {
        let post: Post = Decode::get(value)?;
        head(post.protocol, &post.market, post.letters.len())?;
        if !(Time(0)..=Time::MAX).contains(&post.sent) {
            return Err(DecodeFault::new("expected a moment").within("sent").into());
        }
        for (place, letter) in post.letters.iter().enumerate() {
            let within = |fault: DecodeFault| fault.within(place.to_string()).within("letters");
            sound(letter).map_err(within)?;
        }
        Ok(post)
    }
}

impl Questions {
    /// The message as JSON.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(self)
    }

    /// The questions that were written like this.
    ///
    /// # Errors
    /// What is wrong with them, and where.
    pub fn read(value: Value) -> Result<Questions, CodecError> {
        let questions: Questions = Decode::get(value)?;
        head(questions.protocol, &questions.market, questions.jobs.len())?;
        Ok(questions)
    }
}

impl Glance {
    /// The message as JSON.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(self)
    }

    /// The request that was written like this.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(value: Value) -> Result<Glance, CodecError> {
        let glance: Glance = Decode::get(value)?;
        head(glance.protocol, &glance.market, 1)?;
        Ok(glance)
    }
}

impl Answers {
    /// The message as JSON.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(self)
    }

    /// The answers that were written like this; of another market, so every number is looked at.
    ///
    /// # Errors
    /// What is wrong with them, and where.
    pub fn read(body: &[u8]) -> Result<Answers, CodecError> {
        let answers: Answers = Decode::get(wire::parse(body)?)?;
        for (place, report) in answers.jobs.iter().enumerate() {
            let fine = match &report.fate {
                RemoteStatus::There(RemoteProgress { since, charged, nodes, receipt, .. }) => {
                    let signed = receipt.as_ref().map_or(0, |receipt| receipt.signature.len());
                    signed <= MAX_SIGNATURE
                        && since.is_none_or(|since| (Time(0)..=Time::MAX).contains(&since))
                        && (0..=Money::MAX.0).contains(&charged.0)
                        && nodes.len() <= MAX
                }
                RemoteStatus::Unknown | RemoteStatus::Back(_) => true,
            };
            if !fine {
                let fault = DecodeFault::new("a time or an amount is out of range");
                return Err(fault.within(place.to_string()).into());
            }
        }
        Ok(answers)
    }
}
