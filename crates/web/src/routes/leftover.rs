//! What is left of a request's body when its answer is ready.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use futures_core::Stream;

use crate::auth::bodies::Bodies;
use crate::context::Context;

/// So much is read at once, and then others have their turn.
const PIECE: usize = 256 << 10;
const PAUSE: Duration = Duration::from_millis(10);
/// How long the rest may take.
const PATIENCE: Duration = Duration::from_secs(2);

type Item = Result<Bytes, axum::Error>;

/// A body that two may read, one after the other.
#[derive(Debug, Clone)]
struct SharedBody(Arc<Mutex<BodyDataStream>>);

impl Stream for SharedBody {
    type Item = Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<Item>> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *stream).poll_next(context)
    }
}

/// Reads bodies to their end that were refused before, and throws them away: a client that still
/// writes when the connection closes sees that, and not the answer. No more is read than
/// a body may have, and for no longer than [`PATIENCE`]; of large ones few at the same time.
pub(super) async fn read_on(
    State(context): State<Context>,
    request: Request,
    next: Next,
) -> Response {
    // A client that waits for `100 Continue` has sent nothing yet.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let shared = SharedBody(Arc::new(Mutex::new(body.into_data_stream())));
    let body = Body::from_stream(shared.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    let rest = rest_of(shared, context.limits.body_bytes, &context.auth.bodies);
    // Whether it came in time or not: the answer is the same.
    drop(tokio::time::timeout(PATIENCE.min(context.limits.request_time), rest).await);
    response
}

async fn rest_of(mut shared: SharedBody, max: usize, bodies: &Bodies) {
    let (mut read, mut paused) = (0_usize, 0_usize);
    let mut permit = None;
    while read <= max {
        match poll_fn(|context| Pin::new(&mut shared).poll_next(context)).await {
            Some(Ok(bytes)) => read = read.saturating_add(bytes.len()),
            Some(Err(_)) | None => return,
        }
        if read - paused >= PIECE {
            paused = read;
            if permit.is_none() {
                permit = bodies.leftover().await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
