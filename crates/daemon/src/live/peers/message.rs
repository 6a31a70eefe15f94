//! Messages of the negotiation as they travel: names instead of local numbers, and of a job all
//! that it takes to run it.

use std::sync::Arc;

use tradewind_io::submission::{Conditions, OnLost, Submission, Surroundings, Work};
use tradewind_model::{JobId, Span, Time};
use tradewind_sched::negotiation::{
    Body, Envelope, Offer, Parcel, Peer, Serial, StartQuote, Ticket,
};

use crate::live::demand::{Most, demand, loosely};
use crate::live::state::{Job, State};

/// One message to or from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerMessage {
    /// As [`Envelope::settled`].
    pub settled: Serial,
    /// What is said.
    pub word: MessageBody,
}

/// As [`Body`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the fields of `Body`")]
pub enum MessageBody {
    /// Who would take this job?
    Discover { inquiry: Serial, job: Traveller, lead: Span },
    /// I would.
    Volunteer { inquiry: Serial, offer: Offer },
    /// Then agree.
    Commit { inquiry: Serial, job: Traveller, offer: Offer, lead: Span },
    /// Agreed.
    Accepted { inquiry: Serial, offer: Offer },
    /// Not any more.
    Refused { inquiry: Serial, offer: Offer },
    /// Never mind.
    Cancel { inquiry: Serial },
    /// Here it is.
    Migrate { transfer: Serial, inquiry: Serial, job: Traveller, offer: Offer },
    /// It is mine now.
    Done { transfer: Serial },
    /// It is yours still.
    Returned { transfer: Serial },
}

/// A job on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traveller {
    /// Its number at home.
    pub job: u32,
    /// Whose, at home.
    pub user: String,
    /// When it was submitted there.
    pub submitted: Time,
    /// Of an array: its first job's number, and this one's index.
    pub array: Option<(u64, u32)>,
    /// What is to run, without what concerns its home alone. Before it goes, no market learns what
    /// it would run.
    pub submission: Arc<Submission>,
}

/// Stands for what is not told.
fn untold() -> Work {
    Work::Command(vec!["untold".to_owned()])
}

impl MessageBody {
    /// The job that it is about, if it names one.
    pub fn job(&self) -> Option<&Traveller> {
        match self {
            MessageBody::Discover { job, .. }
            | MessageBody::Commit { job, .. }
            | MessageBody::Migrate { job, .. } => Some(job),
            _ => None,
        }
    }
}

/// What another market need not know, and could not use: numbers of jobs and projects, addresses.
/// What is lost there ends there.
pub(super) fn abroad(submission: &Submission) -> Submission {
    let on_lost = match submission.on_lost {
        OnLost::Hold => OnLost::Fail,
        other => other,
    };
    let terms = Conditions { peers: None, ..submission.terms.clone() };
    Submission {
        project: None,
        terms,
        after: Vec::new(),
        array: None,
        held: false,
        mail: None,
        quote: None,
        on_lost,
        ..submission.clone()
    }
}

/// How much of a job travels: what it runs, and its environment, in bytes.
pub(super) fn weight(submission: &Submission) -> usize {
    let words = |words: &[String]| words.iter().map(String::len).sum::<usize>();
    let work = match &submission.work {
        Work::Script { text, arguments } => text.len() + words(arguments),
        Work::Command(command) => words(command),
    };
    let environment = submission.surroundings.environment.iter();
    work + environment.map(|(name, value)| name.len() + value.len()).sum::<usize>()
}

/// The same for the peer that takes it in: it costs no more than was agreed, in all and by the
/// second.
pub(super) fn taken_in(submission: &Submission, agreed: &StartQuote) -> Submission {
    let mut taken = abroad(submission);
    let (max, price) = (agreed.cost, agreed.price);
    // No market passes on jobs whose tasks differ: another program has made this one.
    taken.terms.groups = None;
    taken.terms.max_price = Some(taken.terms.max_price.map_or(price, |it| it.min(price)));
    taken.terms.budget = Some(taken.terms.budget.map_or(max, |budget| budget.min(max)));
    taken
}

impl State {
    /// The message as a letter; `None` if its job is gone.
    pub(super) fn letter(&self, envelope: Envelope) -> Option<(Peer, PeerMessage)> {
        let Envelope { to, settled, body, .. } = envelope;
        let asked = |parcel: &Parcel| {
            let mut job = self.traveller(parcel)?;
            let surroundings = Surroundings::default();
            let submission =
                Submission { work: untold(), surroundings, ..(*job.submission).clone() };
            job.submission = Arc::new(submission);
            Some(job)
        };
        let word = match body {
            Body::Discover { inquiry, parcel, lead } => {
                MessageBody::Discover { inquiry, job: asked(&parcel)?, lead }
            }
            Body::Volunteer { inquiry, offer } => MessageBody::Volunteer { inquiry, offer },
            Body::Commit { inquiry, parcel, offer, lead } => {
                MessageBody::Commit { inquiry, job: asked(&parcel)?, offer, lead }
            }
            Body::Accepted { inquiry, offer } => MessageBody::Accepted { inquiry, offer },
            Body::Refused { inquiry, offer } => MessageBody::Refused { inquiry, offer },
            Body::Cancel { inquiry } => MessageBody::Cancel { inquiry },
            Body::Migrate { transfer, inquiry, parcel, offer } => {
                MessageBody::Migrate { transfer, inquiry, job: self.traveller(&parcel)?, offer }
            }
            Body::Done { transfer } => MessageBody::Done { transfer },
            Body::Returned { transfer } => MessageBody::Returned { transfer },
        };
        Some((to, PeerMessage { settled, word }))
    }

    fn traveller(&self, parcel: &Parcel) -> Option<Traveller> {
        let job = self.jobs.get(&u64::from(parcel.ticket.job.0))?;
        Some(Traveller {
            job: parcel.ticket.job.0,
            user: job.user.clone(),
            submitted: job.submitted,
            array: job.array,
            submission: Arc::new(abroad(&job.submission)),
        })
    }

    /// The letter as a message; `None` if it is about a job that could not run here at all.
    pub(super) fn envelope(
        &self,
        from: Peer,
        letter: &PeerMessage,
        max: &Most,
    ) -> Option<Envelope> {
        let parcel = |job: &Traveller| Some(Arc::new(self.parcel_of(from, job, max)?));
        let body = match letter.word.clone() {
            MessageBody::Discover { inquiry, job, lead } => {
                Body::Discover { inquiry, parcel: parcel(&job)?, lead }
            }
            MessageBody::Volunteer { inquiry, offer } => Body::Volunteer { inquiry, offer },
            MessageBody::Commit { inquiry, job, offer, lead } => {
                Body::Commit { inquiry, parcel: parcel(&job)?, offer, lead }
            }
            MessageBody::Accepted { inquiry, offer } => Body::Accepted { inquiry, offer },
            MessageBody::Refused { inquiry, offer } => Body::Refused { inquiry, offer },
            MessageBody::Cancel { inquiry } => Body::Cancel { inquiry },
            // It must be answered, whatever it asks for.
            MessageBody::Migrate { transfer, inquiry, job, offer } => {
                let parcel = Arc::new(self.any_parcel_of(from, &job, max));
                Body::Migrate { transfer, inquiry, parcel, offer }
            }
            MessageBody::Done { transfer } => Body::Done { transfer },
            MessageBody::Returned { transfer } => Body::Returned { transfer },
        };
        Some(Envelope { from, to: Peer(0), settled: letter.settled, body })
    }

    fn parcel_of(&self, from: Peer, job: &Traveller, max: &Most) -> Option<Parcel> {
        let demand = demand(&job.submission, self.jobs.users.len(), self, max).ok()?;
        Some(Parcel { demand, ..self.any_parcel_of(from, job, max) })
    }

    fn any_parcel_of(&self, from: Peer, job: &Traveller, max: &Most) -> Parcel {
        let place = self.jobs.users.len();
        let suits = demand(&job.submission, place, self, max);
        Parcel {
            ticket: Ticket { home: from, job: JobId(job.job) },
            demand: suits.unwrap_or_else(|_| loosely(&job.submission, place)),
            submitted: job.submitted,
            data_mb: 0,
            hops: 1,
        }
    }

    /// A job of this market as others get it; `None` if its number is beyond what
    /// tickets hold.
    pub(super) fn parcel(&self, job: &Job) -> Option<Parcel> {
        let ticket = ticket(job)?;
        let known = job.id().and_then(|id| self.market.demand(id)).cloned();
        let demand = known.unwrap_or_else(|| loosely(&job.submission, 0));
        let hops = u32::from(job.origin.is_some());
        Some(Parcel { ticket, demand, submitted: job.submitted, data_mb: 0, hops })
    }
}

/// The job's name among all markets, as this one knows them.
pub(super) fn ticket(job: &Job) -> Option<Ticket> {
    let (home, number) = match &job.origin {
        Some(origin) => (origin.peer, origin.job),
        None => (Peer(0), job.number),
    };
    Some(Ticket { home, job: JobId(u32::try_from(number).ok()?) })
}
