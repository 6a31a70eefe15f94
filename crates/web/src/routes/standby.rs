//! What is different about the answers of a standby.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::context::Context;
use crate::documents::Standby;
use crate::failure::{ErrorResponse, STANDBY};

/// Rows of the journal that are not in the answer yet.
const ROWS: HeaderName = HeaderName::from_static("tradewind-standby-rows-behind");
/// Seconds since the answer was last complete.
const SECONDS: HeaderName = HeaderName::from_static("tradewind-standby-seconds-behind");

/// How this daemon stands as a standby; `None`: it owns its market.
pub(crate) fn standing(context: &Context) -> Option<Standby> {
    let standing = context.market.gauges().standing()?;
    Some(Standby {
        owner: standing.owner,
        rows_behind: standing.rows_behind,
        seconds_behind: standing.as_of.map(|it| it.elapsed().as_secs()),
    })
}

/// Says in every answer of a standby how far it is behind, and sends those who want something
/// changed to the owner, with method and body, if it is known.
pub(crate) fn mark(
    context: &Context,
    response: &mut Response,
    failure: Option<&ErrorResponse>,
    wanted: Option<&str>,
) {
    let Some(Standby { owner, rows_behind, seconds_behind }) = standing(context) else { return };
    let headers = response.headers_mut();
    headers.insert(ROWS, HeaderValue::from(rows_behind));
    if let Some(seconds) = seconds_behind {
        headers.insert(SECONDS, HeaderValue::from(seconds));
    }
    if failure.is_none_or(|failure| failure.parts().1.kind != STANDBY) {
        return;
    }
    let place = owner.zip(wanted).map(|(url, wanted)| format!("{url}{wanted}"));
    if let Some(Ok(place)) = place.map(HeaderValue::try_from) {
        headers.insert(header::LOCATION, place);
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    }
}
