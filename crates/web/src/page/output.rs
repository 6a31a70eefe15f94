//! What a job has written: live, searched, copied, or as a file.
//!
//! The page has the end of the output, complete without scripts; a script follows the file through the
//! API, by place. A download reads the file piece by piece: a slow reader holds one piece and no
//! permit.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream as Flow;
use serde::Deserialize;
use tokio::sync::mpsc;
use tradewind_daemon::site::{Excerpt, Stream, Written};

use super::reply::{PageResult, Trouble, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::Job;
use crate::extract::{At, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::guard::is_still_valid;
use crate::routes::output::{OUTPUT, Source, source, stream};
use crate::views::jobs;

/// Which stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StreamQuery {
    /// `output` or `error`; empty: the output.
    #[serde(default)]
    stream: String,
}

#[derive(Template)]
#[template(path = "page/output.html")]
struct OutputPage {
    shell: Shell,
    job: Job,
    /// Which stream.
    stream: Stream,
    /// Standard error has a file of its own.
    is_apart: bool,
    /// The end of it; the error, if it is not available.
    found: Result<Written, String>,
}

impl OutputPage {
    fn is_error(&self) -> bool {
        self.stream == Stream::Error
    }

    fn name(&self) -> &'static str {
        name(self.stream)
    }

    fn text(&self, found: &Written) -> String {
        String::from_utf8_lossy(&found.bytes).into_owned()
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Output => "output",
        Stream::Error => "error",
    }
}

/// The end of what the job has written.
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
    Selection(which): Selection<StreamQuery>,
) -> PageResult {
    let shell = Shell::new(&context, &caller, "Output").await?;
    let actor = caller.actor.clone();
    let found = context.see(move |_, moment| {
        jobs::find(moment.state, &actor, number).map(|job| jobs::whole(moment, job))
    });
    let job =
        found.await?.ok_or_else(|| ErrorResponse::unknown(format!("you have no job {number}")))?;
    let source = source(&context, &caller, number).await?;
    let stream = stream(&which.stream)?;
    let stream = if source.is_apart { stream } else { Stream::Output };
    let wanted = Excerpt { stream, from: None, most: OUTPUT.1 };
    let read = source.read(&context, &caller, wanted).await;
    let found = read.and_then(|it| it).map_err(|it| it.parts().1.message.clone());
    page(&OutputPage { shell, job, stream, is_apart: source.is_apart, found })
}

/// All of it, as a file: as long as it is at the beginning of the download.
pub(crate) async fn file(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
    Selection(which): Selection<StreamQuery>,
) -> Result<Response, Trouble> {
    let source = source(&context, &caller, number).await?;
    let stream = stream(&which.stream)?;
    let first = piece(&source, &context, &caller, (stream, 0)).await?;
    let name = format!("attachment; filename=\"job-{}-{}.txt\"", source.job, name(stream));
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(copy(source, context, (caller, stream), (first, send)));
    let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned());
    let body = Body::from_stream(Pieces(receive));
    Ok(([kind, (header::CONTENT_DISPOSITION, name)], body).into_response())
}

async fn piece(
    source: &Source,
    context: &Context,
    caller: &Caller,
    (stream, from): (Stream, u64),
) -> Answer<Written> {
    let wanted = Excerpt { stream, from: Some(from), most: OUTPUT.0 };
    source.read(context, caller, wanted).await?
}

/// How often a piece is asked for that was refused, and after which time: others' reads end soon.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// Sends piece after piece, until the length of the first one is reached or the reader is gone.
async fn copy(
    source: Source,
    context: Context,
    (caller, stream): (Caller, Stream),
    (first, send): (Written, mpsc::Sender<std::io::Result<Vec<u8>>>),
) {
    let end = first.size;
    let mut next = first;
    let mut tries = 0;
    loop {
        let from = next.from + next.bytes.len() as u64;
        let is_last = next.bytes.is_empty() || from >= end;
        if send.send(Ok(std::mem::take(&mut next.bytes))).await.is_err() || is_last {
            return;
        }
        next = loop {
            if send.is_closed() || !is_still_valid(&context, &caller).await {
                return;
            }
            match piece(&source, &context, &caller, (stream, from)).await {
                Ok(found) => break found,
                Err(failure) if tries >= TRIES => {
                    let why = failure.parts().1.message.clone();
                    drop(send.send(Err(std::io::Error::other(why))).await);
                    return;
                }
                Err(_) => tries += 1,
            }
            tokio::time::sleep(PAUSE).await;
        };
    }
}

/// The body of a download.
struct Pieces(mpsc::Receiver<std::io::Result<Vec<u8>>>);

impl Flow for Pieces {
    type Item = std::io::Result<Vec<u8>>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
