//! What goes back to the browser.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::assets::version;
use crate::failure::ErrorResponse;
use crate::views::sentence;

/// A page that was made.
#[derive(Debug)]
pub(crate) struct Html(Response);

/// Result of the handler of a page.
pub(crate) type PageResult = Result<Html, Trouble>;

/// Makes the page of a template.
pub(crate) fn show(template: &impl Template) -> PageResult {
    match template.render() {
        Ok(text) => Ok(Html(html(StatusCode::OK, text))),
        Err(wrong) => {
            Err(ErrorResponse::unavailable(format!("the page cannot be made: {wrong}")).into())
        }
    }
}

/// Goes elsewhere after something was done.
pub(crate) fn go(to: &str) -> Html {
    let to = HeaderValue::from_str(to).unwrap_or_else(|_| HeaderValue::from_static("/"));
    Html((StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response())
}

fn html(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Html {
    /// With a header more.
    pub(crate) fn with(mut self, name: header::HeaderName, value: &str) -> Html {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().insert(name, value);
        }
        self
    }

    /// With one more header of this name.
    pub(crate) fn and(mut self, name: header::HeaderName, value: &str) -> Html {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().append(name, value);
        }
        self
    }

    /// With another status.
    pub(crate) fn at(mut self, status: StatusCode) -> Html {
        *self.0.status_mut() = status;
        self
    }
}

/// Why there is no page: a page that says so.
#[derive(Debug)]
pub(crate) struct Trouble(ErrorResponse);

impl From<ErrorResponse> for Trouble {
    fn from(failure: ErrorResponse) -> Trouble {
        Trouble(failure)
    }
}

#[derive(Template)]
#[template(path = "page/trouble.html")]
struct TroublePage<'a> {
    version: &'static str,
    status: StatusCode,
    title: &'static str,
    message: &'a str,
    hint: &'a str,
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let (status, problem) = self.0.parts();
        let message = sentence::capital(problem.message.trim_end_matches('.'));
        let hint = problem.hint.as_str();
        let title = match status.as_u16() {
            404 => "Not found",
            401 | 403 => "Not allowed",
            429 => "Too many requests",
            400..500 => "Not accepted",
            _ => "Not available",
        };
        let page = TroublePage { version: version(), status, title, message: &message, hint };
        let mut response = html(status, page.render().unwrap_or_else(|_| message.clone()));
        response.extensions_mut().insert(self.0);
        response
    }
}
