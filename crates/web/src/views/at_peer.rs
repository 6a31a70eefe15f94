//! Jobs at peers: what is known of them, and what is not.

use tradewind_daemon::codec::peers::statement;
use tradewind_daemon::live::peers::{PeerSilence, RemoteStatus, StatusReport, WINDING_UP};
use tradewind_daemon::live::state::jobs::BrokenOffer;
use tradewind_daemon::live::state::{Finish, Happening, Job, Phase, State};
use tradewind_model::{Money, Price, Span, Time};

use super::words::moment;
use crate::clock::present;
use crate::documents::PeerReceipt;

/// The state of a job of which it is not known whether it waits, runs or is over.
pub(crate) const UNKNOWN: &str = "UNKNOWN";
/// The reason of jobs whose peer does not answer.
pub(crate) const SILENT: &str = "PeerNotAvailable";
/// The reason of jobs whose peer is not believed.
pub(crate) const DOUBTFUL: &str = "PeerDoubtful";

/// The word and the sentence for a job that is at a peer, is on its way there, or was lost there;
/// `None`: there is nothing to say.
pub(crate) fn reason(state: &State, job: &Job) -> Option<(&'static str, String)> {
    let away = job.away()?;
    let peer = &away.name;
    match job.phase() {
        Phase::Over(Finish::NodeFail) => Some(match away.doubtful {
            Some(BrokenOffer::Lost) => ("NodeDown", format!("{peer} lost it")),
            Some(why) => {
                let what = why.words();
                (DOUBTFUL, format!("{peer} {what}: it is not believed, and is not paid"))
            }
            None => ("NodeDown", lost(job, peer)),
        }),
        Phase::Handing | Phase::Away => match silence(state, job) {
            Some(told) => Some((SILENT, told)),
            None => answering(job),
        },
        _ => None,
    }
}

/// Why a job is lost that its peer did not give up.
fn lost(job: &Job, peer: &str) -> String {
    let settled = job.history.iter().rev().find_map(|(_, it)| match it {
        Happening::SettledByHand(_, by) => Some(by),
        _ => None,
    });
    match settled {
        Some(by) if by == WINDING_UP => format!("{peer} was taken out of the configuration"),
        Some(by) => format!("{by} has settled it as lost at {peer}"),
        None => format!("{peer} lost it, or how it ended there is unknown"),
    }
}

/// What the peer has signed of the job.
pub(crate) fn receipt(state: &State, job: &Job) -> Option<PeerReceipt> {
    let away = job.away()?;
    let news = away.news.clone()?;
    let signature = news.receipt.as_ref()?.signature.clone();
    let fate = RemoteStatus::There(news);
    let report = StatusReport { job: job.number, transfer: away.transfer, fate };
    let statement = statement(&state.name, &report)?;
    Some(PeerReceipt { statement, signature })
}

/// What a job at a peer has cost until `now`, as far as is known: by the price that was offered.
pub(crate) fn cost_until(job: &Job, now: Time) -> Money {
    let Some(away) = job.away() else { return Money::ZERO };
    let quote = away.offer.quote;
    let ran = job.started().map_or(Span::ZERO, |since| (now - since).max(Span::ZERO));
    let nodes = i64::from(job.submission.tasks);
    (Price(quote.price.0.saturating_mul(nodes)) * ran).min(quote.cost)
}

/// What the peer says of the job, if it answers.
fn answering(job: &Job) -> Option<(&'static str, String)> {
    let away = job.away()?;
    let peer = &away.name;
    let then = match &job.cancelled_by {
        Some(_) => "; it is cancelled as soon as that is known",
        None => "",
    };
    match (job.phase(), away.doubtful) {
        (Phase::Handing, _) => {
            Some(("PassedOn", format!("it goes to {peer}, which has not confirmed it{then}")))
        }
        (_, Some(why)) => Some((DOUBTFUL, format!("{peer} {}: it is to come back", why.words()))),
        _ if job.started().is_some() => None,
        _ => Some(("PassedOn", format!("it waits at {peer}"))),
    }
}

/// What is said of a job whose peer does not answer, and since when; `None` if it does.
fn silence(state: &State, job: &Job) -> Option<String> {
    let peer = &job.away()?.name;
    let silence = state.silence_of(job)?;
    let since = match silence {
        PeerSilence::Silent(since) => format!("{peer} does not answer since {}", moment(since)),
        PeerSilence::Removed(since) => {
            format!("{peer} is not in the configuration since {}", moment(since))
        }
    };
    let last = match job.phase() {
        Phase::Handing => "it is not known whether the job has arrived there",
        _ if job.started().is_some() => "it ran there when the peer last answered",
        _ => "it waited there when the peer last answered",
    };
    let mut said = format!("{since}: {last}");
    if job.cancelled_by.is_some() && matches!(silence, PeerSilence::Silent(_)) {
        said += "; it is cancelled as soon as the peer answers";
    }
    if state.is_unknown_at_peer(job, present(state)) {
        if let Some(due) = state.due_from_peer(job).filter(|due| *due < present(state)) {
            said += &format!("; it should have ended by {}", moment(due));
        }
        said += "; an administrator can end the doubt (`tradewind peers settle`)";
    }
    Some(said)
}
