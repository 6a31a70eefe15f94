//! How people sign in, from the configuration.

use std::time::Duration;

use tradewind_io::settings::Settings;
use tradewind_web::SignIn;

use crate::exit::Failure;

/// What the server is told.
///
/// # Errors
/// If a file that the configuration names cannot be read.
pub(super) fn of(settings: &Settings) -> Result<SignIn, Failure> {
    let said = &settings.sign_in;
    let seconds = |it: tradewind_model::Span| Duration::from_secs(it.0.unsigned_abs());
    Ok(SignIn {
        url: said.url.clone(),
        session_idle: seconds(said.session_idle),
        session_longest: seconds(said.session_longest),
        token_lifetime: said.token_lifetime,
    })
}
