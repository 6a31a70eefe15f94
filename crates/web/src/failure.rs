//! Answers that are not good ones.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use tradewind_daemon::engine::EngineStopped;
use tradewind_daemon::live::{Refusal, RefusalKind, Usage};
use tradewind_io::diagnostics::{Diagnostic, Diagnostics, Severity};

use crate::documents::{self, Problem};

/// A bad answer on its way out.
#[derive(Debug, Clone)]
pub(crate) struct ErrorResponse {
    status: StatusCode,
    problem: Box<Problem>,
    /// Who is refused, if that is known.
    who: Option<String>,
}

/// What a standby says to who wants something changed.
pub(crate) const STANDBY: &str = "standby";

/// Result of a handler.
pub(crate) type Answer<T> = Result<T, ErrorResponse>;

impl ErrorResponse {
    pub(crate) fn new(
        status: StatusCode,
        kind: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ErrorResponse {
        let (kind, message, hint) = (kind.to_owned(), message.into(), hint.into());
        let problem = Problem { kind, message, hint, ..Problem::default() };
        ErrorResponse { status, problem: Box::new(problem), who: None }
    }

    /// What was sent cannot be read.
    pub(crate) fn malformed(message: impl Into<String>, hint: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::BAD_REQUEST, "malformed", message, hint)
    }

    /// It can be read, and makes no sense.
    pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message, hint)
    }

    /// There is no such thing, or not for the caller.
    pub(crate) fn unknown(message: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::NOT_FOUND, "unknown", message, "")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> ErrorResponse {
        ErrorResponse::new(StatusCode::FORBIDDEN, "forbidden", message, "use a token that may")
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> ErrorResponse {
        let hint = "send `Authorization: Bearer tw_…`; an administrator issues tokens";
        ErrorResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", message, hint)
    }

    pub(crate) fn is_unauthorized(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }

    pub(crate) fn is_unavailable(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// A limit is met: which, how much of it is used, and when to come again.
    pub(crate) fn short(message: &str, usage: Usage) -> ErrorResponse {
        let hint = format!("try again in {} s", usage.wait);
        let message = format!("{message}: {usage}");
        ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, "limit", message, hint).with(usage)
    }

    /// The same, with the limit that was met.
    pub(crate) fn with(mut self, usage: Usage) -> ErrorResponse {
        let Usage { limit, used, allowed, wait } = usage;
        let problem = &mut *self.problem;
        (problem.limit, problem.used, problem.allowed) = (Some(limit), Some(used), Some(allowed));
        // What no time mends has none.
        problem.retry_after = Some(wait).filter(|wait| *wait > 0);
        self
    }

    /// The same, worth another try after so many seconds.
    pub(crate) fn after(mut self, seconds: u64) -> ErrorResponse {
        self.problem.retry_after = Some(seconds);
        self
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> ErrorResponse {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        ErrorResponse::new(status, "unavailable", message, "try again; the daemon's log says more")
    }

    /// A mistake of ours, to be found in the log by its id.
    pub(crate) fn internal(id: u64) -> ErrorResponse {
        let message = format!("a mistake of this program; the log has it as {id:016x}");
        ErrorResponse::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            message,
            "please report it",
        )
    }

    /// The same, refused to this user.
    pub(crate) fn to(mut self, user: &str) -> ErrorResponse {
        self.who = Some(user.to_owned());
        self
    }

    /// Who is refused, if that is known.
    pub(crate) fn who(&self) -> Option<&str> {
        self.who.as_deref()
    }

    /// Status and problem, for pages that show it in another form.
    pub(crate) fn parts(&self) -> (StatusCode, &Problem) {
        (self.status, &self.problem)
    }

    /// The same, about a field of the request.
    pub(crate) fn in_field(mut self, field: impl Into<String>) -> ErrorResponse {
        self.problem.field = Some(field.into()).filter(|field| !field.is_empty());
        self
    }
}

/// As the API reports it; a page finds it beside the answer, and shows it in another form.
impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let beside = self.clone();
        let mut response = self.told();
        response.extensions_mut().insert(beside);
        response
    }
}

impl ErrorResponse {
    fn told(self) -> Response {
        let status = self.status;
        let after = self.problem.retry_after.unwrap_or(1).to_string();
        let body = Json(documents::Failure { error: *self.problem });
        match status {
            StatusCode::UNAUTHORIZED => {
                (status, [(header::WWW_AUTHENTICATE, "Bearer")], body).into_response()
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                (status, [(header::RETRY_AFTER, after)], body).into_response()
            }
            _ => (status, body).into_response(),
        }
    }
}

impl From<Refusal> for ErrorResponse {
    fn from(refusal: Refusal) -> ErrorResponse {
        let Refusal { kind, message, hint, usage } = refusal;
        let (status, kind) = match kind {
            RefusalKind::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            RefusalKind::Unknown => (StatusCode::NOT_FOUND, "unknown"),
            RefusalKind::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
            RefusalKind::Conflict => (StatusCode::CONFLICT, "conflict"),
            // As large as it is, it is always too much.
            RefusalKind::Limit if usage.as_ref().is_some_and(|it| it.wait == 0) => {
                (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
            }
            RefusalKind::Limit => (StatusCode::TOO_MANY_REQUESTS, "limit"),
            RefusalKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            RefusalKind::Standby => (StatusCode::SERVICE_UNAVAILABLE, STANDBY),
        };
        let failure = ErrorResponse::new(status, kind, message, hint);
        match usage {
            Some(usage) => failure.with(*usage),
            None => failure,
        }
    }
}

impl From<EngineStopped> for ErrorResponse {
    fn from(gone: EngineStopped) -> ErrorResponse {
        ErrorResponse::unavailable(gone.to_string())
    }
}

/// All mistakes of what was submitted: the first, and the others besides.
impl From<Diagnostics> for ErrorResponse {
    fn from(all: Diagnostics) -> ErrorResponse {
        let errors = all.iter().filter(|it| it.severity == Severity::Error);
        let mut problems = errors.take(Diagnostics::SHOWN).map(problem);
        let first = problems.next();
        let mut failure = ErrorResponse::invalid("this cannot be run", "");
        if let Some(first) = first {
            *failure.problem = Problem { also: problems.collect(), ..first };
        }
        failure
    }
}

fn problem(it: &Diagnostic) -> Problem {
    let message = match it.line {
        Some(line) => format!("line {line}: {}", it.message),
        None => it.message.clone(),
    };
    Problem {
        kind: "invalid".to_owned(),
        message,
        hint: it.hint.clone().unwrap_or_default(),
        field: it.field.clone(),
        ..Problem::default()
    }
}
