//! What handlers are given: read with care, and refused in one shape.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use tradewind_daemon::live::Usage;

use crate::auth::Caller;
use crate::auth::bodies::{Room, SMALL};
use crate::context::Context;
use crate::failure::{Answer, ErrorResponse};

/// A whole body that says it is JSON.
#[derive(Debug)]
pub(crate) struct Json(pub(crate) Bytes);

/// A whole body that says it is JSON and describes a job, which may be large. Its bytes count
/// against its user's budget.
#[derive(Debug)]
pub(crate) struct Large {
    bytes: Bytes,
    /// If it is large.
    room: Option<Room>,
}

impl Large {
    /// The same of a job that was described otherwise: it has been counted and read.
    ///
    /// # Errors
    /// If its user has too many large ones already.
    pub(crate) fn of(context: &Context, user: &str, bytes: Bytes) -> Answer<Large> {
        let room = room(context, user, bytes.len())?;
        Ok(Large { bytes, room })
    }

    pub(crate) fn is_large(&self) -> bool {
        self.room.is_some()
    }

    /// Makes something of it, without holding others up.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        parse: impl FnOnce(&[u8]) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let Some(room) = &self.room else { return parse(&self.bytes) };
        let bytes = self.bytes.clone();
        room.parse(move || parse(&bytes)).await?
    }
}

fn room(context: &Context, user: &str, bytes: usize) -> Answer<Option<Room>> {
    if bytes <= SMALL {
        return Ok(None);
    }
    let room = context.auth.bodies.room(user, bytes);
    let full = |usage| ErrorResponse::short("too many bytes of requests are being read", usage);
    room.map(Some).map_err(full)
}

/// A submission of the caller's is counted, before its body is read.
#[derive(Debug)]
pub(crate) struct Submitting;

impl FromRequestParts<Context> for Submitting {
    type Rejection = ErrorResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        context: &Context,
    ) -> Result<Submitting, ErrorResponse> {
        let Caller { actor, .. } = Caller::from_request_parts(parts, context).await?;
        count_submission(context, &actor.user).map(|()| Submitting)
    }
}

/// A submission of the user's is counted.
///
/// # Errors
/// If there were too many recently.
pub(crate) fn count_submission(context: &Context, user: &str) -> Answer<()> {
    let taken = context.auth.submissions.take(user.to_owned(), 1, Instant::now());
    taken.map_err(|usage| ErrorResponse::short("too many submissions of this user", usage))
}

fn spend(context: &Context, user: &str, bytes: usize) -> Answer<()> {
    let taken = context.auth.submitted_bytes.take(user.to_owned(), bytes as u64, Instant::now());
    taken.map_err(|usage| ErrorResponse::short("too many bytes of submissions of this user", usage))
}

impl FromRequest<Context> for Large {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, context: &Context) -> Result<Large, ErrorResponse> {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let told = length.and_then(|it| it.to_str().ok()).and_then(|it| it.parse().ok());
        let max = context.limits.body_bytes;
        // Who does not say may send all that is allowed.
        let length: usize = told.unwrap_or(max).min(max);
        let user = request.extensions().get::<Caller>().map(|it| it.actor.user.clone());
        if let Some(user) = &user {
            spend(context, user, told.map_or(0, |_| length))?;
        }
        let room = match &user {
            None => None,
            Some(user) => room(context, user, length)?,
        };
        let Json(bytes) = Json::from_request(request, context).await?;
        if let Some(user) = user.filter(|_| told.is_none()) {
            spend(context, &user, bytes.len())?;
        }
        Ok(Large { bytes, room })
    }
}

/// A document, read strictly.
#[derive(Debug)]
pub(crate) struct Document<T>(pub(crate) T);

/// What stands behind the question mark.
#[derive(Debug)]
pub(crate) struct Selection<T>(pub(crate) T);

/// What stands in the path.
#[derive(Debug)]
pub(crate) struct At<T>(pub(crate) T);

impl FromRequest<Context> for Json {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, context: &Context) -> Result<Json, ErrorResponse> {
        let limits = &context.limits;
        body_of(request, limits.body_bytes, limits.request_time).await.map(Json)
    }
}

/// The most bytes of a [`Document`].
const DOCUMENT: usize = 1 << 20;

async fn body_of(request: Request, max: usize, time: Duration) -> Result<Bytes, ErrorResponse> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.map_or(Some("application/json"), |kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        let (status, hint) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send `application/json`");
        return Err(ErrorResponse::new(status, "media_type", "the body is not JSON", hint));
    }
    whole(request.into_body(), max, time).await
}

async fn whole(body: Body, max: usize, time: Duration) -> Result<Bytes, ErrorResponse> {
    match tokio::time::timeout(time, axum::body::to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(wrong)) if is_too_long(&wrong) => {
            let message = format!("the body has more than {max} bytes");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            let failure = ErrorResponse::new(status, "too_large", message, "keep data in files");
            let (limit, allowed) = ("body".to_owned(), max as u64);
            Err(failure.with(Usage { limit, used: allowed, allowed, wait: 0 }))
        }
        Ok(Err(_)) => Err(ErrorResponse::malformed("the body is broken off", "send all of it")),
        Err(_) => {
            let (status, hint) = (StatusCode::REQUEST_TIMEOUT, "send it faster");
            Err(ErrorResponse::new(status, "timeout", "the body did not arrive in time", hint))
        }
    }
}

fn is_too_long(wrong: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(wrong);
    while let Some(it) = cause {
        // The type is of a crate that axum does not hand on.
        if it.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = it.source();
    }
    false
}

impl<T: DeserializeOwned> FromRequest<Context> for Document<T> {
    type Rejection = ErrorResponse;

    async fn from_request(
        request: Request,
        context: &Context,
    ) -> Result<Document<T>, ErrorResponse> {
        // Nothing that is a document of the API, but for submissions, is large.
        let max = context.limits.body_bytes.min(DOCUMENT);
        read(&body_of(request, max, context.limits.request_time).await?).map(Document)
    }
}

/// Reads a document; what is wrong is said with its field.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ErrorResponse> {
    // A list of its fields' values would do, too, for a document.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first == b'[') {
        return Err(ErrorResponse::invalid("a list, not an object", "see the API's document"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut deserializer);
    let value = read.map_err(|wrong: serde_path_to_error::Error<serde_json::Error>| {
        let path = wrong.path().to_string();
        let inner = wrong.into_inner();
        let message = inner.to_string();
        if !inner.is_data() {
            return ErrorResponse::malformed(
                format!("not JSON: {message}"),
                "see the API's document",
            );
        }
        let path = Some(path).filter(|path| path != ".").unwrap_or_default();
        let field = match message.contains("field `") {
            true => join(&path, named(&message).unwrap_or_default()),
            false => path,
        };
        ErrorResponse::invalid(message, "see the API's document").in_field(field)
    })?;
    let end = deserializer.end();
    end.map_err(|_| {
        ErrorResponse::malformed("something stands behind the document", "leave it out")
    })?;
    Ok(value)
}

fn join(path: &str, name: &str) -> String {
    // An unknown field is in the path already.
    match path.rsplit('.').next() {
        Some(last) if last == name => path.to_owned(),
        _ if path.is_empty() => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// The first name in back-ticks.
fn named(message: &str) -> Option<&str> {
    message.split('`').nth(1)
}

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Selection<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Selection<T>, ErrorResponse> {
        Query::try_from_uri(&parts.uri).map(|Query(value)| Selection(value)).map_err(|wrong| {
            let text = wrong.body_text();
            let message = text.trim_start_matches("Failed to deserialize query string: ");
            let field = match named(message) {
                Some(name) => name,
                None => message.split(": ").next().filter(|it| !it.contains(' ')).unwrap_or(""),
            };
            let hint = "see the API's document";
            ErrorResponse::malformed(format!("the query is wrong: {message}"), hint).in_field(field)
        })
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<At<T>, ErrorResponse> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(value)| At(value)).map_err(|_| {
            let hint = "numbers are whole and at least 0; names are written as lists have them";
            ErrorResponse::malformed("the path names nothing", hint).in_field("path")
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, ErrorResponse> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| ErrorResponse::unauthorized("there is no token"))
    }
}
