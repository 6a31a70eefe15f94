//! Asking what a job could get, and taking it.
//!
//! Offers that may be taken are created by a form, for they are written down. The question stands
//! in the address, too: a reader who opens that sees what is available now, and nothing changes.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::json;
use tradewind_daemon::live::{Ask, Reply};

use super::alternatives::{self, Alternative};
use super::board;
use super::clock::{clock, instant};
use super::curve;
use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Credits, Expectation, LimitAdvice, Offer, Problem, Quotes, SiteList};
use crate::extract::{Large, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::routes::advice::{self, Standing};
use crate::routes::submission;
use crate::views::sites;

/// What is filled in: text as it was typed, so that it comes back with what is wrong about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct QuoteForm {
    #[serde(default)]
    name: String,
    #[serde(default)]
    script: String,
    #[serde(default)]
    nodes: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    budget: String,
    #[serde(default)]
    deadline: String,
    /// The clock of the deadline, as in `Europe/Berlin`; empty: UTC.
    #[serde(default)]
    zone: String,
    #[serde(default)]
    site: String,
    /// The quote that is chosen.
    #[serde(default)]
    quote: String,
    /// It is taken.
    #[serde(default)]
    take: String,
}

#[derive(Template)]
#[template(path = "page/quote.html")]
struct QuotePage {
    shell: Shell,
    filled: QuoteForm,
    sites: SiteList,
    wrong: Option<FieldError>,
    /// That an answer is there, whatever it is, and whether its offers may be taken.
    answered: Option<Standing>,
    windows: Vec<Alternative>,
    /// Who would pay, and what there is to spend.
    purse: Option<(String, Credits)>,
    /// When a job is expected to start without an offer, if that is earlier than its window.
    sooner: Option<i64>,
    /// When it is expected to start without an offer, if its ranges are known.
    without_offer: Option<Expectation>,
    /// What the user's own runs say of the time limit.
    advice: Option<LimitAdvice>,
    /// What is not known of the owners' waiting jobs at the sites of the windows.
    unknown: Vec<String>,
    /// Criteria without a window, and why.
    none: Vec<Offer>,
    curve: Option<String>,
    /// Of the windows; and the height of their timeline.
    board_pools: String,
    board_height: u32,
}

#[derive(Debug, Clone)]
struct FieldError {
    field: String,
    message: String,
    hint: String,
}

impl QuotePage {
    /// Whether there is something to take.
    fn stands(&self) -> bool {
        self.answered == Some(Standing::Kept)
    }

    /// The first that can be taken.
    fn first(&self) -> Option<&str> {
        self.windows.iter().find(|it| !it.is_too_dear).map(|it| it.key.as_str())
    }

    /// Why there is no window by any criterion: as the first has it.
    fn why_none(&self) -> Option<&str> {
        self.none.iter().find_map(|offer| offer.reason.as_deref())
    }

    fn is_wrong(&self, field: &str) -> bool {
        self.wrong.as_ref().is_some_and(|it| it.field.split(['.', '[']).next() == Some(field))
    }
}

async fn blank(context: &Context, caller: &Caller, filled: QuoteForm) -> Answer<QuotePage> {
    let shell = Shell::new(context, caller, "Quote").await?;
    let sites = context.look(|live| sites::list(live.state())).await?;
    let (windows, none, board_pools) = (Vec::new(), Vec::new(), String::new());
    Ok(QuotePage {
        shell,
        filled,
        sites,
        wrong: None,
        answered: None,
        windows,
        purse: None,
        sooner: None,
        without_offer: None,
        advice: None,
        unknown: Vec::new(),
        none,
        curve: None,
        board_pools,
        board_height: 0,
    })
}

/// Which live updates send along: they take no offers, so that none are looked for.
const PART: &str = "x-part";

/// The form, filled in as the address says; if that is a question, with what is available now.
pub(crate) async fn form(
    State(context): State<Context>,
    caller: Caller,
    headers: HeaderMap,
    Selection(mut filled): Selection<QuoteForm>,
) -> PageResult {
    let is_question = !filled.nodes.is_empty() && !filled.time.is_empty();
    if filled.name.is_empty() {
        "job".clone_into(&mut filled.name);
    }
    if is_question && !headers.contains_key(PART) {
        return answer(&context, &caller, filled, QuoteAction::See(Standing::Told)).await;
    }
    let usual = [
        (&mut filled.script, "#!/bin/sh\nhostname\n"),
        (&mut filled.nodes, "1"),
        (&mut filled.time, "10m"),
    ];
    for (field, text) in usual {
        if field.is_empty() {
            text.clone_into(field);
        }
    }
    page(&blank(&context, &caller, filled).await?)
}

/// Asks, or takes what was offered.
pub(crate) async fn asked(
    State(context): State<Context>,
    caller: Caller,
    Form(filled): Form<QuoteForm>,
) -> PageResult {
    let chosen = filled.quote.parse().ok().filter(|_| !filled.take.is_empty());
    let wish = chosen.map_or(QuoteAction::See(Standing::Kept), QuoteAction::Take);
    answer(&context, &caller, filled, wish).await
}

/// What is wanted with what is filled in.
enum QuoteAction {
    See(Standing),
    Take(u64),
}

async fn answer(
    context: &Context,
    caller: &Caller,
    filled: QuoteForm,
    wish: QuoteAction,
) -> PageResult {
    let document = match document(&filled) {
        Ok(document) => Large::of(context, &caller.actor.user, document.into())?,
        Err(wrong) => {
            let empty = blank(context, caller, filled).await?;
            return page(&QuotePage { wrong: Some(wrong), ..empty });
        }
    };
    let done = match wish {
        QuoteAction::Take(quote) => take(context, caller, &document, quote).await.map(Taken::Job),
        QuoteAction::See(standing) => {
            let offers = advice::offers(context, caller, &document, standing).await;
            offers.map(|quotes| Taken::Offers(Box::new(quotes), standing))
        }
    };
    let empty = blank(context, caller, filled).await?;
    match done {
        Ok(Taken::Job(job)) => Ok(go(&format!("/jobs/{job}"))),
        Ok(Taken::Offers(quotes, standing)) => {
            let answered = Some(standing);
            let purse = quotes.payer.clone().zip(quotes.funds);
            let (windows, none) = alternatives::quoted(&quotes);
            // One point is no curve.
            let points = alternatives::points(&windows);
            let curve = if points.len() > 1 { curve::front(points) } else { None };
            let board_pools = alternatives::pools(&windows);
            let sizes = empty.sites.sites.iter().flat_map(|site| &site.pools);
            let sizes = sizes.map(|pool| (pool.name.as_str(), pool.nodes));
            let board_height = board::height(&board_pools, sizes);
            let without_offer = quotes.without_offer.filter(|it| it.ranges.is_some());
            let sooner = quotes.sooner().filter(|_| without_offer.is_none());
            let made = QuotePage { answered, windows, purse, sooner, without_offer, ..empty };
            let (advice, unknown) = (quotes.advice, quotes.unknown);
            let made = QuotePage { board_pools, board_height, ..made };
            page(&QuotePage { none, curve, advice, unknown, ..made })
        }
        Err(failure) => {
            let (status, problem) = failure.parts();
            let field = field(problem);
            // The options are made here: the user does not know them.
            let message = problem.message.trim_start_matches("command line: ").to_owned();
            let hint = problem.hint.clone();
            let wrong = Some(FieldError { field, message, hint });
            Ok(page(&QuotePage { wrong, ..empty })?.at(status))
        }
    }
}

enum Taken {
    Job(u64),
    Offers(Box<Quotes>, Standing),
}

async fn take(context: &Context, caller: &Caller, document: &Large, quote: u64) -> Answer<u64> {
    let (submission, _) = submission::read_large(context, document).await?;
    let submission = std::sync::Arc::new(submission);
    let ask = Ask::Submit { submission, key: None, quote: Some(quote) };
    match context.ask(caller.actor.clone(), ask).await? {
        Reply::Jobs(jobs) => Ok(jobs.first().copied().unwrap_or_default()),
        _ => Err(ErrorResponse::unavailable("the market said nothing")),
    }
}

/// The document of a submission with what was filled in: options, which win over the script's lines.
fn document(filled: &QuoteForm) -> Result<Vec<u8>, FieldError> {
    let wrong = |field: &str, message: &str, hint: &str| FieldError {
        field: field.to_owned(),
        message: message.to_owned(),
        hint: hint.to_owned(),
    };
    let nodes: u64 =
        filled.nodes.trim().parse().map_err(|_| {
            wrong("nodes", "the number of nodes is not a whole number", "from 1 on")
        })?;
    let mut options = Vec::new();
    let mut put = |name: &str, value: &str| options.push([format!("--{name}={value}")]);
    put("job-name", filled.name.trim());
    put("nodes", &nodes.to_string());
    put("time", filled.time.trim());
    if !filled.budget.trim().is_empty() {
        let is_number = filled.budget.trim().parse::<serde_json::Number>().is_ok();
        let refused = || wrong("budget", "the budget is not a number of credits", "as in 120.5");
        is_number.then_some(()).ok_or_else(refused)?;
        put("budget", filled.budget.trim());
    }
    if !filled.deadline.is_empty() {
        // The browser's own field for times has no zone.
        let clock = clock(&filled.zone).map_err(|it| wrong("deadline", &it, "as in UTC"))?;
        let moment = instant(&filled.deadline, &clock).ok_or_else(|| {
            wrong("deadline", "the deadline is not a time", "as in 2030-01-31T18:00")
        })?;
        put("deadline", &format!("uts{moment}"));
    }
    if !filled.site.is_empty() {
        put("clusters", &filled.site);
    }
    let script = filled.script.replace("\r\n", "\n");
    let script = match script.starts_with("#!") {
        true => script,
        false => format!("#!/bin/sh\n{script}"),
    };
    let mut all = json!({"script": script, "options": options});
    if let Some(fields) = all.as_object_mut().filter(|_| !filled.zone.trim().is_empty()) {
        fields.insert("time_zone".to_owned(), json!(filled.zone.trim()));
    }
    Ok(all.to_string().into_bytes())
}

/// The field of the page that a refusal is about, as far as it says.
fn field(problem: &Problem) -> String {
    let named = problem.field.as_deref().unwrap_or_default();
    let said = format!("{named} {}", problem.message);
    let fields = [
        ("name", "job-name"),
        ("nodes", "nodes"),
        ("time", "time"),
        ("budget", "budget"),
        ("deadline", "deadline"),
        ("site", "clusters"),
    ];
    let is_named = |option: &str| said.contains(&format!("--{option}"));
    let found = fields.into_iter().find(|(_, option)| is_named(option));
    found.map_or(named, |(field, _)| field).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_on_the_clock_of_the_page() {
        let filled = |deadline: &str, zone: &str| QuoteForm {
            nodes: "1".to_owned(),
            deadline: deadline.to_owned(),
            zone: zone.to_owned(),
            ..QuoteForm::default()
        };
        let deadline = |filled: QuoteForm| {
            let document = document(&filled).map_err(|wrong| wrong.field)?;
            let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
            let options = document["options"].as_array().unwrap();
            let deadline = |it: &serde_json::Value| {
                it[0].as_str().unwrap().strip_prefix("--deadline=").map(str::to_owned)
            };
            Ok::<_, String>(options.iter().find_map(deadline))
        };
        assert_eq!(deadline(filled("1970-01-02T00:00", "")), Ok(Some("uts86400".to_owned())));
        let there = deadline(filled("1970-01-02T09:00", "Asia/Tokyo"));
        assert_eq!(there, Ok(Some("uts86400".to_owned())));
        assert_eq!(deadline(filled("", "Asia/Tokyo")), Ok(None));
        for (time, zone) in [("soon", ""), ("1970-01-02T09:00", "Mars/Olympus")] {
            assert_eq!(deadline(filled(time, zone)), Err("deadline".to_owned()));
        }
    }
}
