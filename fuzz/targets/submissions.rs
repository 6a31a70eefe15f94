//! What users and their browsers send: documents of the API, scripts with options, command lines,
//! variables, tables of users and projects, fields of pages; and what a provider of identities says
//! of them.
#![no_main]

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use tradewind_io::input::Input;
use tradewind_io::submission::script::{Around, command_line, environment, parse};
use tradewind_io::submission::{Work, document};
use tradewind_model::Time;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    match first % 5 {
        3 => return tradewind_web::fuzzing::requests(rest),
        4 => return tradewind_web::fuzzing::provider(rest),
        _ => {}
    }
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match first % 5 {
        0 => documented(text),
        1 => script(text),
        _ => words(text),
    }
});

fn documented(text: &str) {
    let Ok(submission) = document::parse(&Input::new("submission", text)) else { return };
    // What was read can be written and read again.
    let again = document::value(&submission).to_string();
    assert_eq!(document::parse(&Input::new("again", again)), Ok(submission));
}

fn read(work: Option<Work>, given: &[tradewind_io::submission::script::Given]) {
    let variables = BTreeMap::new();
    let around = Around { now: Time(1_800_000_000), zone: &TimeZone::UTC, variables: &variables };
    let _ = parse("job.sh", work, given, &around);
}

fn script(text: &str) {
    read(Some(Work::Script { text: text.to_owned(), arguments: Vec::new() }), &[]);
}

fn words(text: &str) {
    let words: Vec<String> = text.split('\0').map(str::to_owned).collect();
    if let Ok((given, _)) = command_line(&words) {
        read(None, &given);
    }
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let _ = environment(&pairs.collect());
}
