//! Numbers as people read them, each with its unit.

use askama::filters::Safe;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::documents::{Credits, Fate, LimitAdvice};
use crate::views::amounts;
pub(crate) use crate::views::amounts::{credits, grouped, performance, span, typeset};
use crate::views::sentence::{self, SentencePart, StatusSentence};

/// A moment, short, as an element that scripts may show on another clock: the time of day, with the
/// date if that is another day; all of it is in the title.
pub(crate) fn time(at: &i64) -> Safe<String> {
    element(*at, "", &short(*at))
}

/// The same to the second.
pub(crate) fn exact(at: &i64) -> Safe<String> {
    let Ok(moment) = Timestamp::from_second(*at) else { return Safe(at.to_string()) };
    let seconds = moment.strftime(":%S").to_string();
    element(*at, "exact", &(short(*at) + &seconds))
}

/// The whole moment, with its zone.
pub(crate) fn full(at: &i64) -> Safe<String> {
    element(*at, "full", &told(*at))
}

/// The day of a moment: once on each page, as the times have none.
pub(crate) fn day(at: &i64) -> Safe<String> {
    let moment = Timestamp::from_second(*at);
    let people = moment.map_or_else(|_| at.to_string(), |it| it.strftime("%-d %b %Y").to_string());
    element(*at, "day", &people)
}

/// A moment and how far away it is: `01:50 · in 22 min`.
pub(crate) fn coming(at: &i64, now: &i64) -> Safe<String> {
    Safe(format!("{} · {}", time(at).0, ago(at, now).0))
}

/// What is to be said of a job, with its times.
pub(crate) fn status(said: &StatusSentence, now: &i64) -> Safe<String> {
    Safe(said.pieces.iter().map(|piece| piece_of(piece, now)).collect())
}

/// A text in which moments may stand, as reasons have them.
pub(crate) fn sentence(text: &str) -> Safe<String> {
    let piece = |piece: &SentencePart| match piece {
        SentencePart::At(at) => time(at).0,
        other => piece_of(other, &0),
    };
    Safe(sentence::with_moments(text).iter().map(piece).collect())
}

/// A text of the command line, in which code is between back-ticks, and moments may stand.
pub(crate) fn with_code(text: &str) -> Safe<String> {
    let parts = text.split('`').enumerate();
    // An odd number of marks: the last one is none.
    let last = text.matches('`').count();
    let part = |(place, part): (usize, &str)| match place % 2 == 1 {
        true if place == last => format!("`{}", escaped(part)),
        true => format!("<code>{}</code>", escaped(part)),
        false => sentence(part).0,
    };
    Safe(parts.map(part).collect())
}

fn piece_of(piece: &SentencePart, now: &i64) -> String {
    match piece {
        SentencePart::Text(text) => escaped(text),
        SentencePart::At(at) => format!("{} ({})", time(at).0, ago(at, now).0),
        SentencePart::Start(it) => {
            let range = match it.ranges.is_some() {
                true => format!(" (80 %: {} to {})", time(&it.early).0, time(&it.late).0),
                false => String::new(),
            };
            format!("<strong class=\"expected\">{}</strong>{range}", coming(&it.at, now).0)
        }
    }
}

fn escaped(text: &str) -> String {
    askama::filters::escape(text, askama::filters::Html)
        .map_or_else(|_| String::new(), |it| it.to_string())
}

fn element(at: i64, form: &str, people: &str) -> Safe<String> {
    let form = if form.is_empty() { String::new() } else { format!(" data-form=\"{form}\"") };
    Safe(format!("<time datetime=\"{}\" title=\"{}\"{form}>{people}</time>", iso(at), told(at)))
}

/// `01:50`, `23 Nov 01:50` of another day, `23 Nov 2025 01:50` of another year.
fn short(at: i64) -> String {
    let Ok(moment) = Timestamp::from_second(at) else { return at.to_string() };
    let now = Timestamp::now();
    let same = |form: &str| moment.strftime(form).to_string() == now.strftime(form).to_string();
    let form = match (same("%F"), same("%Y")) {
        (true, _) => "%H:%M",
        (false, true) => "%-d %b %H:%M",
        (false, false) => "%-d %b %Y %H:%M",
    };
    moment.strftime(form).to_string()
}

/// Whole minutes, where seconds say nothing.
pub(crate) fn coarse(seconds: i64) -> i64 {
    if seconds >= 600 { seconds / 60 * 60 } else { seconds }
}

/// A moment for machines, in UTC: `2026-11-21T14:03:02Z`.
pub(crate) fn iso(at: i64) -> String {
    Timestamp::from_second(at)
        .map_or_else(|_| at.to_string(), |it| it.strftime("%FT%TZ").to_string())
}

/// A whole moment, as titles have it.
pub(crate) fn told(at: i64) -> String {
    let moment = Timestamp::from_second(at);
    moment.map_or_else(|_| at.to_string(), |it| it.strftime("%F %T UTC").to_string())
}

/// How long something lasts that goes on since then, as an element that scripts count on.
pub(crate) fn lasting(since: &i64, now: &i64) -> Safe<String> {
    let told = span(&(now - since).max(0));
    Safe(format!("<span data-since=\"{since}\" data-form=\"for\">{told}</span>"))
}

/// A moment, seen from another; as such an element, too.
pub(crate) fn ago(at: &i64, now: &i64) -> Safe<String> {
    let told = match now - at {
        0 => "now".to_owned(),
        past if past > 0 => format!("{} ago", span(&coarse(past))),
        ahead => format!("in {}", span(&coarse(-ahead))),
    };
    Safe(format!("<span data-since=\"{at}\" data-form=\"ago\">{told}</span>"))
}

/// A moment in charts, to the minute.
pub(crate) fn stamp(at: i64) -> String {
    let moment = Timestamp::from_second(at);
    moment.map_or_else(|_| at.to_string(), |it| it.strftime("%F %H:%M UTC").to_string())
}

/// The same, or a dash.
pub(crate) fn when(at: &Option<i64>) -> Safe<String> {
    at.as_ref().map_or_else(|| Safe("–".to_owned()), time)
}

/// Whose credits they are, to the reader: their own account, or a project's.
pub(crate) fn payer(account: &str) -> String {
    match account.strip_prefix("project:") {
        Some(name) => format!("Project {name} has"),
        None => "You have".to_owned(),
    }
}

/// Credits with two decimals at most, rounded down: for where room is scarce.
pub(crate) fn cents(amount: &Credits) -> String {
    credits(&Credits(amount.0.div_euclid(10_000) * 10_000))
}

/// A price by the hour: of a node and second it is in millionths.
pub(crate) fn hourly(price: &Credits) -> String {
    credits(&amounts::hourly(price))
}

/// Advice on a time limit.
pub(crate) fn advice(it: &LimitAdvice) -> String {
    it.sentence(|seconds| span(&seconds), |amount| credits(&amount))
}

/// Text within an address.
pub(crate) fn in_address(text: &str) -> String {
    const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(text, &ESCAPED).to_string()
}

/// The same for machines: without thousands apart.
pub(crate) fn plain(amount: &Credits) -> String {
    credits(amount).replace(',', "").replace('−', "-")
}

/// Node-seconds as node-hours with two decimals.
pub(crate) fn node_hours(node_seconds: &i64) -> String {
    format!("{:.2}", *node_seconds as f64 / 3_600.0)
}

/// A mean of seconds.
pub(crate) fn mean(seconds: &Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), |it| span(&(it.round() as i64)))
}

/// When a job would start, or why it would not.
pub(crate) fn fate(fate: &Fate) -> Safe<String> {
    match (&fate.start, &fate.refused) {
        (Some(at), _) => match &fate.ranges {
            Some(it) => {
                let most = it.within[1];
                Safe(format!("{} (80 %: {} to {})", time(at), time(&most.from), time(&most.to)))
            }
            None => time(at),
        },
        (None, Some(_)) => Safe("refused".to_owned()),
        (None, None) => Safe("not in sight".to_owned()),
    }
}

/// What a job would cost.
pub(crate) fn cost(fate: &Fate) -> String {
    fate.cost.as_ref().map_or_else(|| "–".to_owned(), credits)
}

/// A length of time more or less than before.
pub(crate) fn more(seconds: &i64) -> String {
    if *seconds > 0 { format!("+{}", span(seconds)) } else { span(seconds) }
}

/// Credits more or less than before, micro.
pub(crate) fn dearer(micro: &i128) -> String {
    let told = credits(&Credits(*micro));
    if *micro > 0 { format!("+{told}") } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_units() {
        let spans = [0, 59, 61, 3_600, 90_061, -5].map(|it| span(&it));
        assert_eq!(spans, ["0 s", "59 s", "1 min 1 s", "1 h", "1 d 1 h", "−5 s"]);
        let amounts = [0, 1_234_500_000, -2_000_000, 1].map(|it| credits(&Credits(it)));
        assert_eq!(amounts, ["0", "1,234.5", "−2", "0.000001"]);
        assert_eq!([cents(&Credits(1_239_999)), cents(&Credits(-1))], ["1.23", "−0.01"]);
        let ages = [ago(&50, &110), ago(&110, &50), ago(&5, &5), lasting(&5, &6)];
        let ages = ages.each_ref().map(|it| it.0.split(['>', '<']).nth(2).unwrap_or_default());
        assert_eq!(ages, ["1 min ago", "in 1 min", "now", "1 s"]);
        let first = "<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01 00:00:00 UTC\"";
        assert_eq!(time(&0).0, format!("{first}>1 Jan 1970 00:00</time>"));
        assert_eq!(exact(&5).0.split('>').nth(1), Some("1 Jan 1970 00:00:05</time"));
        assert_eq!(
            full(&0).0,
            format!("{first} data-form=\"full\">1970-01-01 00:00:00 UTC</time>")
        );
        let codes = ["set `a<b`, or `c`", "one ` alone", "none"].map(|it| with_code(it).0);
        let seen = ["set <code>a&#60;b</code>, or <code>c</code>", "one ` alone", "none"];
        assert_eq!(codes, seen);
        let now = Timestamp::now().as_second();
        assert_eq!(short(now).len(), 5, "{}", short(now));
        let told = sentence("a<b since 1970-01-01T00:00:00+00:00");
        assert_eq!(told.0, "a&#60;b since 1970-01-01T00:00:00+00:00", "before this program");
    }
}
