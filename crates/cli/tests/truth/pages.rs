//! The pages, and the documents of the API.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stage::{Stage, USERS};
use crate::{Status, micro, ranges};

type All = BTreeMap<u64, (Value, Status)>;

/// What is between two texts.
fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(behind)?.0)
}

/// The first moment in a piece of a page.
fn moment(text: &str) -> Option<i64> {
    let at: jiff::Timestamp = between(text, "<time datetime=\"", "\"")?.parse().unwrap();
    Some(at.as_second())
}

/// The ranges behind an expected start.
fn ranges_in(text: &str) -> Option<[i64; 7]> {
    let all: Vec<i64> =
        text.match_indices("<time").filter_map(|(at, _)| moment(&text[at..])).collect();
    let [median, a, b, c, d, e, f] = all[..] else { return None };
    Some([median, a, b, c, d, e, f])
}

fn title(job: &Value) -> String {
    let name = job["name"].as_str().unwrap();
    match job.get("array") {
        Some(array) => format!("{name}[{}]", array["index"]),
        None => name.to_owned(),
    }
}

pub(crate) fn compare(stage: &Stage, all: &All) {
    for (number, (job, status)) in all {
        documents(stage, *number, status);
        of_job(stage, *number, job, status);
    }
    lists(stage, all);
    first_page(stage, all);
    counts(stage, all);
}

/// One job, its end, and why it waits.
fn documents(stage: &Stage, number: u64, status: &Status) {
    for path in [format!("/v1/jobs/{number}"), format!("/v1/jobs/{number}/wait?seconds=0")] {
        assert_eq!(Status::of(&stage.get(&path)), *status, "{path}");
    }
    let told = stage.get(&format!("/v1/jobs/{number}/explain"));
    let expected = told.get("expected_start").and_then(Value::as_i64);
    assert_eq!(expected, status.expected, "explanation of {number}: {told}");
    let told_ranges = told.get("expectation").and_then(ranges);
    assert_eq!(told_ranges, status.ranges, "explanation of {number}: {told}");
    let message = told["message"].as_str().unwrap();
    assert!(!message.contains("1970"), "{told}");
}

/// The job's own page.
fn of_job(stage: &Stage, number: u64, job: &Value, status: &Status) {
    let text = stage.text("root", &format!("/jobs/{number}"));
    let fact = |name: &str| between(&text, &format!("<dt>{name}</dt><dd>"), "</dd>");
    let credits = |name: &str| fact(name).map(|it| micro(it.split(' ').next().unwrap()));
    let head = between(&text, "<h1>", "</h1>").unwrap();
    assert_eq!(head, format!("Job {number}, {}", title(job)));
    let lead = between(&text, "<p class=\"lead\">", "</p>").unwrap();
    let state = between(lead, "data-state=\"", "\"").unwrap().to_owned();
    let (so_far, at_most) = match credits("Cost") {
        Some(cost) => (cost, Some(cost)),
        // A cost of zero is not shown.
        None => (credits("Cost so far").unwrap_or(0), credits("Cost at most")),
    };
    let said = between(&text, "<p class=\"status", "</p>").unwrap();
    let whole = stage.get(&format!("/v1/jobs/{number}"));
    let (_, words) = said.split_once('>').unwrap();
    // Up to its first moment; the page goes on with what the look-ahead says.
    let words = words.trim_start_matches("▲ ").split('<').next().unwrap();
    let words = words.split_inclusive(". ").next().unwrap();
    let sentence = whole["sentence"].as_str().unwrap();
    assert!(sentence.starts_with(words) && sentence.ends_with('.'), "{sentence}: {words}");
    let expected = between(said, "class=\"expected\">", "</time>").and_then(moment);
    let ranges = fact("Range of its start").and_then(ranges_in);
    let found = Status { state, so_far, at_most, expected, ranges };
    assert_eq!(found, *status, "page of job {number}");
    let started = fact("Started").and_then(moment);
    assert_eq!(started, job.get("started").and_then(Value::as_i64), "page of job {number}");
    assert_eq!(text.matches("class=\"expected\"").count(), usize::from(expected.is_some()));
}

/// The row of a job in a list.
fn row(text: &str, number: u64) -> &str {
    let begin = format!("<td><a href=\"/jobs/{number}\">{number}</a></td>");
    between(text, &begin, "</tr>").unwrap_or_else(|| panic!("job {number} is not in {text}"))
}

/// State and start of a row; the start is expected, or has been.
fn row_says(row: &str, job: &Value, status: &Status) {
    assert!(row.contains(&format!(">{}<", title(job))), "{row}");
    assert_eq!(between(row, "data-state=\"", "\""), Some(status.state.as_str()), "{row}");
    let cell = between(row, "data-label=\"Start\"", "</td>").unwrap();
    let started = job.get("started").and_then(Value::as_i64);
    let expected = if cell.contains("expected") { moment(cell) } else { None };
    let begun = if cell.contains("expected") { None } else { moment(cell) };
    assert_eq!((begun, expected), (started, status.expected), "{row}");
}

fn pages_of(stage: &Stage, path: &str) -> String {
    let mut all = String::new();
    for page in 1.. {
        let text = stage.text("root", &format!("{path}&page={page}"));
        let is_last = !text.contains(">Next 100<");
        all.push_str(&text);
        if is_last {
            break;
        }
    }
    all
}

/// Cost so far and at most, as a row has them.
fn credits(cell: &str) -> (i64, Option<i64>) {
    let Some((so_far, note)) = cell.split_once("<span") else {
        assert_eq!(cell, "–");
        return (0, None);
    };
    let at_most = match note.contains("in all") {
        true => Some(micro(so_far)),
        false => between(note, "so far, ", " at most").map(micro),
    };
    (micro(so_far), at_most)
}

/// The list of all jobs, by different orders.
fn lists(stage: &Stage, all: &All) {
    let text = pages_of(stage, "/jobs?show=all&sort=start&arrays=each");
    for (number, (job, status)) in all {
        let row = row(&text, *number);
        row_says(row, job, status);
        let cell = between(row, "data-label=\"Credits\">", "</td>").unwrap();
        assert_eq!(credits(cell), (status.so_far, status.at_most), "{row}");
    }
    // In the order of what the rows show.
    let numbers = text
        .match_indices("<td><a href=\"/jobs/")
        .filter_map(|(at, begin)| text[at + begin.len()..].split_once('"')?.0.parse::<u64>().ok());
    let mut numbers: Vec<u64> = numbers.collect();
    // The name of a job is a link, too.
    numbers.dedup();
    let starts: Vec<i64> = numbers
        .iter()
        .map(|number| {
            let (job, status) = &all[number];
            let started = job.get("started").and_then(Value::as_i64);
            started.or(status.expected).unwrap_or(i64::MAX)
        })
        .collect();
    assert!(starts.len() == all.len() && starts.is_sorted(), "{starts:?}");
}

/// Own jobs on the first page; its cards count what the lists behind them show.
fn first_page(stage: &Stage, all: &All) {
    for user in USERS {
        let text = stage.text(user, "/");
        let own = between(&text, "<h2>Your jobs</h2>", "</section>").unwrap();
        let active = |job: &Value| job["user"] == user && job.get("ended").is_none();
        for (number, (job, status)) in all.iter().filter(|(_, (job, _))| active(job)) {
            if let Some(line) = between(own, &format!("<li data-row=\"{number}\">"), "</li>") {
                line_says(line, job, status);
            }
        }
        let shown = own.matches("<li data-row=").count();
        let active = all.values().filter(|(job, _)| active(job)).count();
        assert_eq!(shown, active.min(5), "{own}");
        cards(stage, user, &text);
    }
}

/// Title, state and start of an own job on the first page.
fn line_says(line: &str, job: &Value, status: &Status) {
    assert!(line.contains(&format!(" {}</a>", title(job))), "{line}");
    assert_eq!(between(line, "data-state=\"", "\""), Some(status.state.as_str()), "{line}");
    let started = job.get("started").and_then(Value::as_i64);
    let start = between(line, "<span class=\"start\">", "</span>").unwrap();
    match started.or(status.expected) {
        Some(_) => {
            let said = (start.contains("expected"), moment(start));
            assert_eq!(said, (started.is_none(), started.or(status.expected)), "{line}");
        }
        None => assert!(!start.contains("expected"), "{line}"),
    }
}

/// A card for each list that is not empty, with as many jobs as the list has.
fn cards(stage: &Stage, user: &str, text: &str) {
    let mut links = std::collections::BTreeSet::new();
    for card in text.split("<a class=\"card").skip(1) {
        let link = between(card, "href=\"", "\"").unwrap().replace("&#38;", "&");
        if link.starts_with("/jobs?") {
            let value = between(card, "<span class=\"value", "</span>").unwrap();
            let value: u64 = value.split_once('>').unwrap().1.replace(',', "").parse().unwrap();
            assert!(value > 0, "{card}");
            assert_eq!(listed(&stage.text(user, &link)), value, "{user}: {link}");
            links.insert(link);
        }
    }
    for show in ["running", "waiting", "held", "booked", "failed&ended=day"] {
        let link = format!("/jobs?show={show}");
        let is_empty = listed(&stage.text(user, &link)) == 0;
        assert_eq!(links.contains(&link), !is_empty, "{user}: {link}");
    }
}

/// How many jobs a list has.
fn listed(text: &str) -> u64 {
    let caption = between(text, "<caption>Showing ", "</caption>");
    let all = caption.map(|it| it.rsplit(' ').nth(1).unwrap().replace(',', ""));
    all.map_or(0, |all| all.parse().unwrap())
}

/// Counts of the market and of the metrics.
fn counts(stage: &Stage, all: &All) {
    let count = |states: &[&str]| {
        all.values().filter(|(_, it)| states.contains(&it.state.as_str())).count() as u64
    };
    let running = count(&["CONFIGURING", "RUNNING", "COMPLETING"]);
    let pending = count(&["PENDING"]);
    let jobs = &stage.get("/v1/market")["jobs"];
    let number = |name: &str| jobs[name].as_u64().unwrap();
    assert_eq!(number("running"), running, "{jobs}");
    assert_eq!(number("held") + number("waiting"), pending, "{jobs}");
    assert_eq!(number("over"), all.len() as u64 - running - pending, "{jobs}");
    let metrics = stage.text("root", "/metrics");
    for phase in ["held", "waiting", "running", "over"] {
        let line = format!("tradewind_jobs{{phase=\"{phase}\"}} ");
        let value = between(&metrics, &line, "\n").unwrap();
        assert_eq!(value.parse::<u64>().unwrap(), number(phase), "{phase}");
    }
}
