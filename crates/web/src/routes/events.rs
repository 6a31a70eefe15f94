//! The stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::auth::places::Busy;
use crate::auth::seats::Seat;
use crate::context::Context;
use crate::documents::Event;
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::feed::{Entry, Position};
use crate::guard::is_still_valid;
use crate::notes;

/// How often it is asked whether the reader may still be here.
const STILL_IN: Duration = Duration::from_secs(5);
/// A comment is sent when there was nothing else for so long, so that connections stay open.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Events that are read at once, and that may wait for a slow client.
const AT_ONCE: usize = 256;

/// Parameters of the URL that select events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// After this row of the journal; from now on if left out. `Last-Event-ID` says the same.
    after: Option<u64>,
    /// About this job alone.
    job: Option<u64>,
}

/// Server-sent events: what is written down, as far as it concerns the caller. Ids are rows of the
/// journal; a client that comes back with the last one goes on there. `reset` says that events
/// were missed.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", operation_id = "stream_events",
    params(From, ("Last-Event-ID" = Option<u64>, Header, description = "as `after`")),
    responses(
        (status = 200, description = "a stream without end; `data` is an event each", body = Event,
            content_type = "text/event-stream"),
        Refusals,
    ),
)]
pub(crate) async fn stream(
    State(context): State<Context>,
    caller: Caller,
    Selection(from): Selection<From>,
    busy: Option<Extension<Arc<Busy>>>,
    headers: HeaderMap,
) -> Answer<Response> {
    let seat = context.auth.seats.take(&caller.actor);
    let seat = seat.map_err(|usage| ErrorResponse::short("there are too many streams", usage))?;
    note(&context, &caller, from.job).await?;
    // A browser that comes back asks the same address again: what it saw last is newer.
    let seq = last_id(&headers)?.or(from.after).unwrap_or_else(|| context.feed.last());
    let (send, receive) = mpsc::channel(AT_ONCE);
    let reader = Reader { context, caller, job: from.job, position: Position { seq }, send };
    tokio::spawn(reader.go_on());
    let busy = busy.map(|Extension(busy)| busy);
    let events = EventStream { receive, _seat: seat, _busy: busy };
    let alive = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok(Sse::new(events).keep_alive(alive).into_response())
}

/// Writes down that an administrator follows what happens to others.
async fn note(context: &Context, caller: &Caller, job: Option<u64>) -> Answer<()> {
    let Some(job) = job else {
        notes::read(&context.audit, caller, "", "events of all users");
        return Ok(());
    };
    let owner = context.look(move |live| live.state().jobs.get(&job).map(|it| it.user.clone()));
    if let Some(owner) = owner.await? {
        notes::read(&context.audit, caller, &owner, &format!("events of job {job} of {owner}"));
    }
    Ok(())
}

fn last_id(headers: &HeaderMap) -> Answer<Option<u64>> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let number = id.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let hint = "send the last id that you saw";
        ErrorResponse::malformed("this is no row of the journal", hint).in_field("Last-Event-ID")
    })
}

/// Reads the feed for one client.
struct Reader {
    context: Context,
    caller: Caller,
    job: Option<u64>,
    position: Position,
    send: mpsc::Sender<sse::Event>,
}

impl Reader {
    async fn go_on(mut self) {
        let mut changes = self.context.feed.changes();
        while !self.context.feed.is_stopped() && is_still_valid(&self.context, &self.caller).await {
            let (entries, next, lost) = self.context.feed.after(self.position, AT_ONCE);
            if lost && self.send.send(reset(&entries, next)).await.is_err() {
                return;
            }
            let mine = |it: &&Arc<Entry>| {
                it.is_for(&self.caller.actor) && (self.job.is_none() || it.job == self.job)
            };
            let mine: Vec<&Arc<Entry>> = entries.iter().filter(mine).collect();
            for (place, entry) in mine.iter().enumerate() {
                // Only a row's last event has its id: a client that reconnects misses none of a
                // row.
                let last = mine.get(place + 1).is_none_or(|next| next.seq != entry.seq);
                let event = sse::Event::default().event(&entry.kind).data(&entry.text);
                let event = if last { event.id(entry.seq.to_string()) } else { event };
                if self.send.send(event).await.is_err() {
                    return;
                }
            }
            let behind = next != self.position;
            self.position = next;
            if behind {
                continue;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = self.send.closed() => return,
                // A token that expires, and a session that ends, change nothing in the feed.
                () = tokio::time::sleep(STILL_IN) => {}
            }
        }
    }
}

/// Events were missed before those that follow.
fn reset(entries: &[Arc<Entry>], next: Position) -> sse::Event {
    let seq = entries.first().map_or(next.seq, |first| first.seq.saturating_sub(1));
    let event = Event { seq, kind: "reset".to_owned(), ..Event::default() };
    let text = serde_json::to_string(&event).unwrap_or_default();
    sse::Event::default().event("reset").data(text).id(seq.to_string())
}

/// What a client is sent.
struct EventStream {
    receive: mpsc::Receiver<sse::Event>,
    _seat: Seat,
    /// Its connection is not idle.
    _busy: Option<Arc<Busy>>,
}

impl Stream for EventStream {
    type Item = Result<sse::Event, Infallible>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.receive.poll_recv(context).map(|event| event.map(Ok))
    }
}
