//! What a job has written: a part of it at a time, with the place of the part in the file.

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tradewind_daemon::live::peers::{Receipts, StatusQuery};
use tradewind_daemon::live::state::{Job, Phase, State as Market};
use tradewind_daemon::site::{Excerpt, SiteError, Stream, Tag, Written};
use tradewind_model::SiteId;
use utoipa::IntoParams;

use super::openapi::Refusals;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::extract::{At, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::views::jobs;

/// The most of an output that is sent, and the default: bytes.
pub(crate) const OUTPUT: (usize, usize) = (1 << 20, 64 << 10);
/// Headers: where the bytes begin in the file, and how long the file was.
const FROM: HeaderName = HeaderName::from_static("tradewind-output-from");
const SIZE: HeaderName = HeaderName::from_static("tradewind-output-size");

/// Which part of the output.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HowMuch {
    /// At most so many bytes: 1 to 1048576, 65536 if left out.
    #[param(minimum = 1, maximum = 1_048_576)]
    bytes: Option<usize>,
    /// From this byte of the file on, counted from 0; the last bytes if left out.
    #[param(minimum = 0)]
    from: Option<u64>,
    /// `output` or `error`; `output` if left out. Without a file of its own, standard error is in
    /// the output.
    stream: Option<String>,
}

impl HowMuch {
    fn excerpt(&self) -> Answer<Excerpt> {
        let (max, usual) = OUTPUT;
        let most = self.bytes.unwrap_or(usual);
        if !(1..=max).contains(&most) {
            let message = format!("an answer has 1 to {max} bytes");
            let hint = "ask for the rest with `from`";
            return Err(ErrorResponse::malformed(message, hint).in_field("bytes"));
        }
        let stream = stream(self.stream.as_deref().unwrap_or_default())?;
        Ok(Excerpt { stream, from: self.from, most })
    }
}

/// A stream by its name; none is the output.
pub(crate) fn stream(name: &str) -> Answer<Stream> {
    match name {
        "" | "output" => Ok(Stream::Output),
        "error" => Ok(Stream::Error),
        other => {
            let message = format!("there is no stream `{other}`");
            Err(ErrorResponse::malformed(message, "there are: output, error").in_field("stream"))
        }
    }
}

/// A part of what the job has written to standard output or standard error, as its first part's site
/// or its peer has it: the end, or what is behind a place. So a client that follows an output asks for
/// what is behind the bytes it has.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/output", tag = "jobs", operation_id = "show_output",
    params(("id" = u64, Path, description = "the job"), HowMuch),
    responses(
        (status = 200, description = "the bytes as they are", body = String, content_type = "text/plain",
            headers(
                ("tradewind-output-from" = u64, description = "where the bytes begin in the file"),
                ("tradewind-output-size" = u64, description = "how long the file was, bytes"),
            )),
        Refusals,
    ),
)]
pub(crate) async fn output(
    State(context): State<Context>,
    caller: Caller,
    At(number): At<u64>,
    Selection(how_much): Selection<HowMuch>,
) -> Answer<Response> {
    let wanted = how_much.excerpt()?;
    let source = source(&context, &caller, number).await?;
    let found = source.read(&context, &caller, wanted).await??;
    told(Ok(found))
}

/// Where a job writes, and what of it a page says.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The job's number.
    pub(crate) job: u64,
    place: OutputPlace,
    /// Standard error has a file of its own.
    pub(crate) is_apart: bool,
}

#[derive(Debug, Clone)]
enum OutputPlace {
    Here(SiteId, Tag),
    There { market: String, peer: String, wanted: StatusQuery },
}

/// Where a job writes that the caller may see. That an administrator reads it is written down.
///
/// # Errors
/// There is no such job for the caller, or it has not begun.
pub(crate) async fn source(context: &Context, caller: &Caller, number: u64) -> Answer<Source> {
    let actor = caller.actor.clone();
    let found = context.look(move |live| {
        let state = live.state();
        let job = jobs::find(state, &actor, number)?;
        Some((job.user.clone(), source_of(state, job)))
    });
    let (owner, source) =
        found.await?.ok_or_else(|| ErrorResponse::unknown(format!("you have no job {number}")))?;
    notes::read(&context.audit, caller, &owner, &format!("output of job {number} of {owner}"));
    source.ok_or_else(|| {
        let message = format!("job {number} has not begun");
        ErrorResponse::new(StatusCode::CONFLICT, "conflict", message, "wait for it")
    })
}

/// Nothing if it has not begun.
pub(crate) fn source_of(state: &Market, job: &Job) -> Option<Source> {
    let around = &job.submission.surroundings;
    let is_apart = around.error.is_some() && around.error != around.output;
    let source = |place, is_apart| Source { job: job.number, place, is_apart };
    let away = job.away().filter(|_| !matches!(job.phase(), Phase::Handing));
    if let Some(away) = away {
        let wanted = StatusQuery {
            job: job.number,
            transfer: away.transfer,
            cancel: false,
            receipt: Receipts::Unasked,
        };
        let (market, peer) = (state.name.clone(), away.name.clone());
        return Some(source(OutputPlace::There { market, peer, wanted }, is_apart));
    }
    let part = job.parts().first()?;
    Some(source(OutputPlace::Here(state.site_of(part.pool), job.tag(&state.name, 0)), is_apart))
}

impl Source {
    /// Reads a part of it, within the caller's bounds.
    ///
    /// # Errors
    /// Too many reads are under way; or what the site says.
    pub(crate) async fn read(
        &self,
        context: &Context,
        caller: &Caller,
        wanted: Excerpt,
    ) -> Answer<Answer<Written>> {
        let permit = context.may_read(&caller.actor.user)?;
        let outputs = std::sync::Arc::clone(&context.outputs);
        let place = self.place.clone();
        let found = blocking(move || match place {
            OutputPlace::Here(site, tag) => outputs.read(site, &tag, wanted, permit),
            OutputPlace::There { market, peer, wanted: of } => {
                outputs.abroad(&market, &peer, &of, wanted, permit)
            }
        });
        Ok(found.await?.map_err(refused))
    }
}

/// What a site says of an output.
pub(crate) fn told(found: Result<Written, SiteError>) -> Answer<Response> {
    let Written { from, size, bytes } = found.map_err(refused)?;
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (FROM, HeaderValue::from(from)),
        (SIZE, HeaderValue::from(size)),
    ];
    Ok((head, bytes).into_response())
}

fn refused(wrong: SiteError) -> ErrorResponse {
    match wrong {
        SiteError::Refused(why) => {
            let hint = "is the file where the submission says?";
            ErrorResponse::new(StatusCode::CONFLICT, "conflict", why, hint)
        }
        wrong => ErrorResponse::unavailable(format!("the site does not answer: {wrong}")),
    }
}
