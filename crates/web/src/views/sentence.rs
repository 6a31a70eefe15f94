//! One sentence that says where a job stands: what it waits for and since when, when it is expected
//! to start, and what would help; what happened, and what it cost. All of it comes from the job's
//! document, so that nothing can differ from the rest of the page.

use tradewind_io::present::whole_span;
use tradewind_model::Time;

use super::words::moment;
use super::{amounts, at_peer, price_limit, words};
use crate::documents::{Credits, Expectation, Explanation, Job, Part};

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SentencePart {
    Text(String),
    /// A moment that was or will be, Unix seconds.
    At(i64),
    /// When the job is expected to start, with its range.
    Start(Expectation),
}

/// What is to be said of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatusSentence {
    pub(crate) pieces: Vec<SentencePart>,
    /// Something is wrong: a failure, a site that fails, a hold.
    pub(crate) is_alarm: bool,
}

impl StatusSentence {
    fn say(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(SentencePart::Text(before)) => before.push_str(text),
            _ => self.pieces.push(SentencePart::Text(text.to_owned())),
        }
    }

    fn at(&mut self, at: i64) {
        self.pieces.push(SentencePart::At(at));
    }

    /// As plain text, with moments in the zone of this machine.
    pub(crate) fn text(&self) -> String {
        let at = |at: i64| moment(Time(at));
        let piece = |piece: &SentencePart| match piece {
            SentencePart::Text(text) => text.clone(),
            SentencePart::At(when) => at(*when),
            SentencePart::Start(it) if it.ranges.is_some() => {
                format!("{} (80 %: {} to {})", at(it.at), at(it.early), at(it.late))
            }
            SentencePart::Start(it) => at(it.at),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// A whole sentence more.
    fn then(&mut self, text: &str) {
        let text = text.trim_end_matches('.');
        self.say(&format!(" {}.", capital(text)));
    }
}

/// The first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + letters.as_str()
}

/// A text with its moments, as in `2026-11-23T01:24:00+00:00`, as pieces of their own.
pub(crate) fn with_moments(text: &str) -> Vec<SentencePart> {
    const LENGTH: usize = 25;
    let (mut pieces, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(found) = rest.get(from..).and_then(|it| it.find("20")).map(|at| at + from) {
        let moment = rest.get(found..found + LENGTH).and_then(|it| it.parse().ok());
        let Some(moment): Option<jiff::Timestamp> = moment else {
            from = found + 2;
            continue;
        };
        let before = rest.get(..found).unwrap_or_default();
        if !before.is_empty() {
            pieces.push(SentencePart::Text(before.to_owned()));
        }
        pieces.push(SentencePart::At(moment.as_second()));
        (rest, from) = (rest.get(found + LENGTH..).unwrap_or_default(), 0);
    }
    if !rest.is_empty() {
        pieces.push(SentencePart::Text(rest.to_owned()));
    }
    pieces
}

/// What is to be said of the job; `waits`: why it waits, if that is known.
pub(crate) fn status_sentence(job: &Job, waits: Option<&Explanation>) -> StatusSentence {
    let mut said = StatusSentence::default();
    match job.state.as_str() {
        "PENDING" => pending(&mut said, job, waits),
        "CONFIGURING" => starting(&mut said, job),
        "RUNNING" => running(&mut said, job),
        "COMPLETING" => stopping(&mut said, job),
        at_peer::UNKNOWN => unknown(&mut said, job),
        _ => over(&mut said, job),
    }
    for failing in job.failing_sites.iter().filter(|_| job.state != "PENDING") {
        said.is_alarm = true;
        said.then(&failing.message);
    }
    // Messages name moments in their own form.
    let pieces = said.pieces.into_iter().flat_map(|piece| match piece {
        SentencePart::Text(text) => with_moments(&text),
        other => vec![other],
    });
    StatusSentence { pieces: pieces.collect(), is_alarm: said.is_alarm }
}

/// When the last entry of one of these kinds was made; when it was submitted, if there is none.
fn since(job: &Job, kinds: &[&str]) -> i64 {
    let last = job.history.iter().rfind(|it| kinds.contains(&it.what.as_str()));
    last.map_or(job.submitted, |it| it.at)
}

fn pending(said: &mut StatusSentence, job: &Job, waits: Option<&Explanation>) {
    let message = job.message.as_deref().unwrap_or("it waits");
    let reason = job.reason.as_deref().unwrap_or_default();
    match reason {
        "Reservation" => {
            let pools = job.booking.iter().flat_map(|it| it.pools.clone()).collect::<Vec<_>>();
            said.say(&format!("Reserved: {} of {}.", nodes(job), pools.join(", ")));
            if !message.starts_with("reserved") {
                said.then(message);
            }
        }
        "Priority" | "Resources" | "BeginTime" | "OwnersFirst" | price_limit::REASON => {
            said.say("Waits in the queue since ");
            said.at(since(job, &["queued", "came_back", "set_back"]));
            said.say(&match waits.and_then(|it| it.ahead) {
                Some(0) => ": no job is ahead of it, and it waits for nodes.".to_owned(),
                Some(1) => ": 1 job is ahead of it.".to_owned(),
                Some(ahead) => format!(": {} jobs are ahead of it.", amounts::grouped(ahead)),
                None => format!(": {message}."),
            });
            let is_said = waits.and_then(|it| it.ahead).is_none();
            if matches!(reason, "BeginTime" | "OwnersFirst" | price_limit::REASON) && !is_said {
                said.then(message);
            }
            came_back(said, job);
        }
        words::LICENCES => {
            said.say("Waits in the queue since ");
            said.at(since(job, &["queued", "came_back", "set_back"]));
            said.say(&format!(": {message}."));
            came_back(said, job);
        }
        "SiteQueue" => {
            said.say("Waits at its site since ");
            said.at(since(job, &["in_line", "planned", "submitted"]));
            said.say(&format!(": {message}."));
        }
        "PassedOn" | at_peer::SILENT | at_peer::DOUBTFUL => {
            said.is_alarm = reason != "PassedOn";
            said.say("Passed on since ");
            said.at(since(job, &["passed_on", "arrived"]));
            said.say(&format!(": {message}."));
        }
        _ if !job.failing_sites.is_empty() => {
            said.is_alarm = true;
            let all: Vec<&str> = job.failing_sites.iter().map(|it| it.message.as_str()).collect();
            said.say(&format!("{}.", capital(&all.join("; "))));
        }
        _ => {
            // A hold of its own user is no trouble.
            said.is_alarm = !matches!(reason, "Dependency" | "JobArrayTaskLimit" | "JobHeldUser");
            said.say("Held since ");
            said.at(since(job, &["held"]));
            said.say(&format!(": {message}."));
        }
    }
    expected(said, job);
    // What is in the way of any start, unless that is what it was said to wait for.
    let news =
        |it: &&Explanation| it.reason.is_some() && it.message.trim_end_matches('.') != message;
    if let Some(why) = waits.filter(news) {
        said.is_alarm = true;
        said.then(&why.message);
    }
    help(said, job, waits);
}

/// Why a job waits again that had its nodes.
fn came_back(said: &mut StatusSentence, job: &Job) {
    let last = job.history.iter().rfind(|it| ["queued", "set_back"].contains(&it.what.as_str()));
    let last = last.filter(|it| it.what == "set_back").and_then(|it| it.detail.as_deref());
    if let Some(why) = last {
        said.then(&format!("it waits again: {why}"));
    }
}

/// The expected start, and its range: the only place where a page says it of a waiting job.
fn expected(said: &mut StatusSentence, job: &Job) {
    match job.expected_start {
        Some(start) => {
            said.say(" Expected start: ");
            said.pieces.push(SentencePart::Start(start));
            said.say(".");
        }
        None => said.say(" When it starts is not known."),
    }
}

/// What would let a waiting job start sooner.
fn help(said: &mut StatusSentence, job: &Job, waits: Option<&Explanation>) {
    let changes = waits.map_or(&[][..], |it| &it.relaxations);
    if let Some(it) = changes.iter().min_by_key(|it| (it.start, it.cost)) {
        said.say(&format!(" What would help: {} changed by {}: it would start ", it.limit, it.by));
        said.at(it.start);
        said.say(&format!(", for {} credits at most.", amounts::credits(&it.cost)));
        return;
    }
    let help = match job.reason.as_deref().unwrap_or_default() {
        "AssocGrpBillingMinutes" => {
            "more credits, or the same job with a lower budget or a shorter time limit"
        }
        "Priority" | "Resources" | "OwnersFirst" => {
            "a quote, which shows what a reserved start, other sites or fewer nodes would change"
        }
        words::LICENCES => "the end of a job that has some of them, or fewer of them",
        price_limit::REASON => "a higher budget or price cap, or the lower prices of other hours",
        "JobArrayTaskLimit" => "another job of its array has to end",
        _ => return,
    };
    said.say(&format!(" What would help: {help}."));
}

fn nodes(job: &Job) -> String {
    let many = if job.nodes == 1 { "node" } else { "nodes" };
    format!("{} {many}", amounts::grouped(job.nodes))
}

/// `2 nodes at alpha, beta`.
fn place(job: &Job) -> String {
    let at = match (&job.peer, job.sites.is_empty()) {
        (Some(peer), true) => format!(" at {peer}"),
        (None, true) => String::new(),
        _ => format!(" at {}", job.sites.join(", ")),
    };
    format!("{}{at}", nodes(job))
}

fn starting(said: &mut StatusSentence, job: &Job) {
    said.say("Is being started since ");
    said.at(since(job, &["planned"]));
    said.say(&format!(" on {}: its work has not begun.", place(job)));
    let coming = job.parts.iter().filter(|part| part.since.is_none());
    if let Some(seconds) = coming.filter_map(|part| part.stage_in).max().filter(|it| *it > 0) {
        said.say(&format!(
            " Its data is brought first, which should take {}.",
            whole_span(seconds)
        ));
    }
    if let Some(message) = job.message.as_deref().filter(|_| job.failing_sites.is_empty()) {
        said.then(message);
    }
    cost(said, job);
}

fn running(said: &mut StatusSentence, job: &Job) {
    said.say("Runs since ");
    said.at(job.started.unwrap_or(job.submitted));
    said.say(&format!(" on {}", place(job)));
    let open = job.parts.iter().filter(|part| part.ended.is_none());
    // A site without commands for data leaves that time to the task.
    let staging = |part: &Part| part.stage_in.unwrap_or(0) + part.stage_out.unwrap_or(0);
    let end = open.filter_map(|part| Some(part.since? + part.limit + staging(part))).max();
    if let Some(end) = end {
        said.say(", until ");
        said.at(end);
        said.say(" at most");
    }
    match job.message.as_deref().filter(|_| job.peer.is_some()) {
        Some(message) => {
            said.is_alarm = true;
            said.say(&format!(", as far as is known: {message}."));
        }
        None => said.say("."),
    }
    if let Some(until) = job.notice_until {
        said.say(" Notice until ");
        said.at(until);
        said.say(": its nodes go back to the owner.");
    }
    cost(said, job);
}

/// Nothing is known of a job at a peer.
fn unknown(said: &mut StatusSentence, job: &Job) {
    said.is_alarm = true;
    let message = job.message.as_deref().unwrap_or("nothing is known of it");
    said.say(&format!("Its state is not known: {message}."));
    cost(said, job);
}

fn stopping(said: &mut StatusSentence, job: &Job) {
    let last = job.history.iter().rfind(|it| matches!(&*it.what, "cancelling" | "requeueing"));
    let (is_requeued, by) = match last {
        Some(entry) => (entry.what == "requeueing", entry.detail.as_deref().unwrap_or_default()),
        None => (false, ""),
    };
    let what = if is_requeued { "requeued" } else { "cancelled" };
    let why = if by.is_empty() { String::new() } else { format!(", {what} {by},") };
    let place = match (&job.peer, job.started) {
        // It may not even be there.
        (Some(_), None) => String::new(),
        _ => format!(" on {}", place(job)),
    };
    said.say(&format!("Is being stopped{place}{why} since "));
    said.at(since(job, &["cancelling", "requeueing"]));
    match job.message.as_deref().filter(|_| job.peer.is_some()) {
        _ if is_requeued => said.say("; then it waits in the queue again."),
        Some(message) => said.say(&format!(": {message}.")),
        None => said.say("."),
    }
    cost(said, job);
}

/// What it has cost so far, and can cost.
fn cost(said: &mut StatusSentence, job: &Job) {
    let so_far = amounts::credits(&job.cost_so_far);
    said.say(&match job.cost_at_most {
        Some(most) => {
            format!(" Cost so far {so_far} credits, {} at most.", amounts::credits(&most))
        }
        None => format!(" Cost so far {so_far} credits."),
    });
}

fn over(said: &mut StatusSentence, job: &Job) {
    let word = match job.state.as_str() {
        "COMPLETED" => "Completed",
        "FAILED" => "Failed",
        "TIMEOUT" => "Stopped at its time limit",
        "OUT_OF_MEMORY" => "Out of memory",
        "NODE_FAIL" if job.peer.is_some() => "Lost",
        "NODE_FAIL" => "Lost its nodes",
        "DEADLINE" => "Refused: too late for its deadline",
        "CANCELLED" if job.cancelled_by.is_none() && job.message.is_some() => "Refused",
        _ => "Cancelled",
    };
    said.is_alarm = !matches!(word, "Completed" | "Cancelled");
    said.say(word);
    let asked = job.history.iter().rfind(|it| it.what == "cancelling");
    let asked = asked.and_then(|it| it.detail.as_deref()?.strip_prefix("by "));
    if let Some(who) = job.cancelled_by.as_deref().or(asked).filter(|_| word == "Cancelled") {
        said.say(&format!(" by {who}"));
    }
    said.say(" at ");
    said.at(job.ended.unwrap_or(job.submitted));
    match job.started.zip(job.ended) {
        Some((start, end)) => {
            let ran = amounts::span(&(end - start));
            said.say(&format!(", after {ran} on {}", place(job)));
        }
        None => said.say(", before it started"),
    }
    // Of its time limit the first words have told.
    match job.message.as_ref().filter(|_| job.state != "TIMEOUT") {
        Some(message) => said.say(&format!(": {message}.")),
        None => said.say("."),
    }
    said.say(&match job.cost_so_far {
        Credits(0) => " It cost nothing.".to_owned(),
        cost => format!(" It cost {} credits.", amounts::credits(&cost)),
    });
    said.say(match job.state.as_str() {
        "TIMEOUT" => " What would help: a longer time limit.",
        "OUT_OF_MEMORY" => " What would help: more memory (--mem).",
        "NODE_FAIL" => {
            " What would help: submit it again, with --requeue to start again by itself."
        }
        _ => "",
    });
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::documents::Relaxation;

    pub(in crate::views) fn said(more: &Value, waits: Option<&Explanation>) -> (String, bool) {
        let mut job = json!({
            "id": 7, "name": "t", "user": "ana", "state": "PENDING", "nodes": 2, "submitted": 100,
            "paid": 0, "held": 0, "restarts": 0
        });
        let (all, more) = (job.as_object_mut().unwrap(), more.as_object().unwrap());
        all.extend(more.clone());
        let job: Job = serde_json::from_value(job).unwrap();
        let sentence = status_sentence(&job, waits);
        let text = sentence.pieces.iter().map(|piece| match piece {
            SentencePart::Text(text) => text.clone(),
            SentencePart::At(at) => format!("@{at}"),
            SentencePart::Start(it) => format!("@{} ({} to {})", it.at, it.early, it.late),
        });
        (text.collect(), sentence.is_alarm)
    }

    #[test]
    fn a_waiting_job_says_what_for_since_when_until_when_and_what_would_help() {
        let waits = Explanation {
            job: 7,
            reason: None,
            message: "it waits".to_owned(),
            expected_start: Some(900),
            ahead: Some(33),
            relaxations: vec![Relaxation {
                limit: "budget".to_owned(),
                by: "20".to_owned(),
                start: 500,
                cost: Credits(3_000_000),
            }],
            fall_backs: Vec::new(),
            fair_share: None,
            queue: None,
            expectation: None,
            advice: None,
        };
        let more = json!({
            "reason": "Priority", "message": "other jobs are ahead of it in the queue",
            "expected_start": {"at": 900, "early": 800, "late": 1_200, "samples": 9},
            "history": [{"at": 100, "what": "submitted"}, {"at": 120, "what": "queued"}]
        });
        let text = "Waits in the queue since @120: 33 jobs are ahead of it. Expected start: \
                    @900 (800 to 1200). What would help: budget changed by 20: it would start \
                    @500, for 3 credits at most.";
        assert_eq!(said(&more, Some(&waits)), (text.to_owned(), false));
    }

    #[test]
    fn why_a_job_waits_is_said_once() {
        let why = "it waits for nodes that the owners' jobs leave";
        for reason in ["BeginTime", "OwnersFirst", price_limit::REASON] {
            let (text, _) = said(&json!({"reason": reason, "message": why}), None);
            assert_eq!(text.to_lowercase().matches(why).count(), 1, "{text}");
        }
    }

    #[test]
    fn a_job_that_gives_its_nodes_back_says_until_when_it_has_them() {
        let told = json!({
            "state": "RUNNING", "started": 200, "sites": ["alpha"], "cost_so_far": 1.5,
            "notice_until": 500
        });
        let (text, _) = said(&told, None);
        assert!(text.contains(" Notice until @500: its nodes go back to the owner."), "{text}");
    }

    #[test]
    fn a_job_that_cannot_go_on_says_why() {
        let held = json!({
            "reason": "JobHeldUser", "message": "its user holds it; release it to let it run",
            "history": [{"at": 130, "what": "held"}]
        });
        let text = "Held since @130: its user holds it; release it to let it run. When it starts \
                    is not known.";
        assert_eq!(
            said(&held, None),
            (text.to_owned(), false),
            "its user's own hold is no trouble"
        );
        let lost = "it waits for gamma, lost since 2027-01-15T08:00:00+00:00: timed out";
        let failing = json!({
            "reason": "SiteNotAvailable", "message": lost, "failing_sites": [{
                "site": "gamma", "state": "lost", "since": 1_800_000_000, "message": lost
            }]
        });
        let text = "It waits for gamma, lost since @1800000000: timed out. When it starts is not \
                    known.";
        assert_eq!(said(&failing, None), (text.to_owned(), true));
    }

    #[test]
    fn a_job_that_ran_says_how_long_where_and_what_it_cost() {
        let runs = json!({
            "state": "RUNNING", "started": 200, "sites": ["alpha"], "cost_so_far": 1.5,
            "cost_at_most": 6, "parts": [{
                "site": "alpha", "pool": "alpha/x", "nodes": 2, "price": 0.1, "limit": 600,
                "since": 200
            }]
        });
        let text = "Runs since @200 on 2 nodes at alpha, until @800 at most. Cost so far 1.5 \
                    credits, 6 at most.";
        assert_eq!(said(&runs, None), (text.to_owned(), false));
        let failed = json!({
            "state": "FAILED", "started": 200, "ended": 260, "sites": ["alpha"],
            "message": "it ended with exit code 3", "cost_so_far": 2
        });
        let text = "Failed at @260, after 1 min on 2 nodes at alpha: it ended with exit code 3. \
                    It cost 2 credits.";
        assert_eq!(said(&failed, None), (text.to_owned(), true));
        let cancelled = json!({"state": "CANCELLED", "ended": 150, "cancelled_by": "ana"});
        let text = "Cancelled by ana at @150, before it started. It cost nothing.";
        assert_eq!(said(&cancelled, None), (text.to_owned(), false));
    }

    #[test]
    fn a_waiting_job_that_its_peer_did_not_start_is_passed_on_and_not_held() {
        let job = json!({
            "state": "PENDING", "peer": "vega", "reason": "PeerDoubtful",
            "message": "vega did not start the job as it had offered: it is to come back"
        });
        let (text, is_alarm) = said(&job, None);
        assert!(text.starts_with("Passed on since @"), "{text}");
        assert!(text.contains("it is to come back") && is_alarm, "{text}");
    }

    #[test]
    fn a_job_at_a_silent_peer_says_so_and_is_unknown_in_the_end() {
        let message = "vega does not answer since 2027-01-15T08:00:00+00:00: it ran there";
        let at_peer = json!({
            "state": "RUNNING", "started": 200, "peer": "vega", "message": message,
            "reason": "PeerNotAvailable", "cost_at_most": 6
        });
        let text = "Runs since @200 on 2 nodes at vega, as far as is known: vega does not answer since \
                    @1800000000: it ran there. Cost so far 0 credits, 6 at most.";
        assert_eq!(said(&at_peer, None), (text.to_owned(), true));
        let unknown = json!({"state": "UNKNOWN", "peer": "vega", "message": message});
        let text = "Its state is not known: vega does not answer since @1800000000: it ran \
                    there. Cost so far 0 credits.";
        assert_eq!(said(&unknown, None), (text.to_owned(), true));
    }

    #[test]
    fn moments_are_found_in_messages() {
        let text = "from 2027-01-15T08:00:00+00:00 to 2027-01-15T09:00:00+01:00, 2027 – 20×";
        let found = with_moments(text);
        let at = 1_800_000_000;
        assert_eq!(
            found,
            [
                SentencePart::Text("from ".to_owned()),
                SentencePart::At(at),
                SentencePart::Text(" to ".to_owned()),
                SentencePart::At(at),
                SentencePart::Text(", 2027 – 20×".to_owned())
            ]
        );
    }
}
