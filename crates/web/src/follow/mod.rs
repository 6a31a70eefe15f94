//! One thread listens to the market, makes events of what was written down, and acts on what
//! concerns the server itself: tokens that are no longer valid.

mod projects;
mod tell;

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tradewind_daemon::engine::{CommittedRecord, EngineStopped, RecordStream};
use tradewind_daemon::live::peers::WINDING_UP;
use tradewind_daemon::live::record::{AccessRecord, PeerRecord};
use tradewind_daemon::live::{Ask, Record};

use crate::context::Context;
use crate::documents::Event;
use crate::feed::{Audience, Entry};
use crate::notes;
use tell::EventEncoder;

/// Starts the thread that listens; it ends with the market or the feed.
pub(crate) fn follow(context: &Context) -> Result<std::thread::JoinHandle<()>, String> {
    let gone = |gone: EngineStopped| gone.to_string();
    let watch = context.market.watch().map_err(gone)?;
    let (teller, last) = EventEncoder::new(context).map_err(gone)?;
    context.feed.begin(last);
    let context = context.clone();
    let thread = std::thread::Builder::new().name("events".to_owned());
    let spawned = thread.spawn(move || listen(&context, &watch, teller, last));
    spawned.map_err(|wrong| format!("no thread for events: {wrong}"))
}

fn listen(context: &Context, watch: &RecordStream, mut teller: EventEncoder, mut last: u64) {
    let feed = &context.feed;
    while !feed.is_stopped() {
        let news = match watch.within(Duration::from_millis(200)) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let seq = news.seq;
        if seq <= last {
            continue; // known from the start
        }
        if seq != last + 1 {
            last = missed(context, watch, &mut teller, &news);
            continue;
        }
        last = seq;
        on_doors(context, &news);
        into_audit_log(context, &news);
        feed.add(seq, teller.tell(context, &news));
    }
    feed.stop();
}

/// Rows were missed: all that was remembered may be wrong, and what else has arrived meanwhile is
/// dropped, so that there is room again. The row up to which all is known again: if it is
/// impossible to read the market, as while its journal cannot be written, one before `news`, and
/// the next row tries again.
fn missed(
    context: &Context,
    watch: &RecordStream,
    teller: &mut EventEncoder,
    news: &CommittedRecord,
) -> u64 {
    while watch.within(Duration::ZERO).is_ok() {}
    let found = EventEncoder::new(context);
    // After that look: an event that is no longer sent may have been a revocation.
    context.auth.forget_all();
    let Ok((fresh, seq)) = found else { return news.seq - 1 };
    *teller = fresh;
    let seq = seq.max(news.seq);
    tracing::warn!(from = news.seq, until = seq, "events were missed");
    let event = Event { seq, at: news.at.0, kind: "reset".to_owned(), ..Event::default() };
    context.feed.add(seq, vec![Entry::new(&event, Audience::Everyone)]);
    seq
}

fn on_doors(context: &Context, news: &CommittedRecord) {
    match news.record {
        Record::Access(AccessRecord::Expelled { token }) => {
            context.auth.expel(token);
            context.auth.sessions.end(|_, it| it.who.token == token);
        }
        Record::Access(AccessRecord::TokenExpires { token, .. })
        | Record::Access(AccessRecord::TokenRotated { token, .. }) => {
            context.auth.expel(token);
        }
        _ => {}
    }
}

/// What the market did itself that else an administrator would have asked for.
fn into_audit_log(context: &Context, news: &CommittedRecord) {
    if let Record::Peer(PeerRecord::SettledByHand { job, by, outcome }) = &news.record
        && by == WINDING_UP
    {
        let ask = Ask::SettleAway { job: *job, outcome: *outcome };
        if let Some((kind, subject)) = notes::of(&ask) {
            context.audit.note(by, kind, format!("{subject}: its peer was removed"), "done");
        }
    }
}
