//! Reading what is submitted: a document with every field, or a script with options.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tradewind_daemon::live::{Usage, check_environment};
use tradewind_io::input::Input;
use tradewind_io::submission::change::SubmissionChange;
use tradewind_io::submission::script::{self, Around, Given};
use tradewind_io::submission::{Submission, Work, document};

use crate::clock::now;
use crate::context::Context;
use crate::documents::ScriptSubmission;
use crate::extract::{self, Large};
use crate::failure::{Answer, ErrorResponse};

/// The form with a script has options, and the other has none.
#[derive(Debug, Deserialize)]
struct Probe {
    #[serde(default)]
    options: Option<IgnoredAny>,
}

/// The most items of lists and tables in a document: what is made of it has a cost for each,
/// whatever its length.
const ITEMS: usize = 200_000;

/// The submission in a body and its warnings. A large one is read on a thread of lower priority,
/// where it is also refused if its environment is larger than any may be.
///
/// # Errors
/// What is wrong with it.
pub(crate) async fn read_large(
    context: &Context,
    body: &Large,
) -> Answer<(Submission, Vec<String>)> {
    if !body.is_large() {
        return body.parse(read).await;
    }
    let settings = context.look(|live| live.settings().clone()).await?;
    let read = move |bytes: &[u8]| {
        let (submission, warnings) = read(bytes)?;
        check_environment(&submission, &settings)?;
        Ok((submission, warnings))
    };
    body.parse(read).await
}

/// # Errors
/// If it has more items than any may have.
fn check_items(bytes: &[u8]) -> Answer<()> {
    let items = document::items(bytes);
    if items <= ITEMS {
        return Ok(());
    }
    let message = format!("the document has {items} items, and {ITEMS} are allowed");
    let (status, hint) = (StatusCode::PAYLOAD_TOO_LARGE, "keep data in files");
    let (limit, used, allowed) = ("document_items".to_owned(), items as u64, ITEMS as u64);
    let failure = ErrorResponse::new(status, "too_large", message, hint);
    Err(failure.with(Usage { limit, used, allowed, wait: 0 }))
}

/// Reads a body that may be a submission: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzzed(bytes: &[u8]) {
    let _ = read(bytes);
}

/// What was submitted, and what is probably not meant.
fn read(bytes: &[u8]) -> Answer<(Submission, Vec<String>)> {
    check_items(bytes)?;
    match serde_json::from_slice::<Probe>(bytes) {
        Ok(Probe { options: Some(_) }) => script(extract::read(bytes)?),
        Err(wrong) if wrong.is_syntax() || wrong.is_eof() => {
            Err(ErrorResponse::malformed(format!("not JSON: {wrong}"), "see the API's document"))
        }
        _ => {
            // TOML is for files: the same reader would take it.
            let input = Input::new("submission", bytes);
            Ok((document::parse(&input)?, Vec::new()))
        }
    }
}

fn script(it: ScriptSubmission) -> Answer<(Submission, Vec<String>)> {
    let ScriptSubmission { script, arguments, options, file, variables, time_zone } = it;
    let mut given = given(options, "a script's own arguments belong into `arguments`")?;
    let (more, mut warnings) = script::environment(&variables);
    given.extend(more);
    let zone = zone(time_zone)?;
    let around = Around { now: now(), zone: &zone, variables: &variables };
    let work = script.map(|text| Work::Script { text, arguments });
    let file = file.unwrap_or_else(|| "script".to_owned());
    let (submission, more) = script::parse(&file, work, &given, &around)?;
    warnings.extend(more.iter().cloned());
    Ok((submission, warnings.iter().map(ToString::to_string).collect()))
}

/// The options of a document.
fn given(options: Vec<Vec<String>>, hint: &str) -> Answer<Vec<Given>> {
    let words: Vec<String> = options.into_iter().flatten().collect();
    let (given, rest) =
        script::command_line(&words).map_err(|it| ErrorResponse::from(it).in_field("options"))?;
    match rest.first() {
        Some(stray) => {
            let message = format!("`{stray}` is no option");
            Err(ErrorResponse::invalid(message, hint).in_field("options"))
        }
        None => Ok(given),
    }
}

fn zone(name: Option<String>) -> Answer<TimeZone> {
    let zone = name.unwrap_or_else(|| "UTC".to_owned());
    TimeZone::get(&zone).map_err(|_| {
        let message = format!("there is no time zone `{zone}`");
        ErrorResponse::invalid(message, "write `Europe/Oslo`, for one").in_field("time_zone")
    })
}

/// What a user changes of a job that waits.
pub(crate) fn change(
    options: Vec<Vec<String>>,
    time_zone: Option<String>,
) -> Answer<SubmissionChange> {
    let given = given(options, "write each option with its value")?;
    let (zone, variables) = (zone(time_zone)?, BTreeMap::new());
    Ok(SubmissionChange::read(&given, &Around { now: now(), zone: &zone, variables: &variables })?)
}
