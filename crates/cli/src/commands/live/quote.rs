//! `tradewind quote SCRIPT`: what a job could get on the live market, to be accepted.

use std::fmt::Write as _;

use tradewind_io::submission::document;
use tradewind_web::documents::{
    Basis, CONSUMED_COLUMNS, Consumed, Offer, OfferedNodes, Quotes, Times,
};

use super::options::JobOptions;
use super::{Sheet, starts, submit, work};
use crate::client::words::{length, moment};
use crate::client::{Market, MarketArgs, Sent};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::report::Report;
use crate::tables::{Column, Side};

pub(crate) fn run(
    words: &[String],
    (options, place): (&JobOptions, &MarketArgs),
    format: Format,
    report: &Report,
) -> Outcome {
    let mut submission = work::read(words, options, report)?;
    let market = Market::open(place)?;
    submit::at_home(&mut submission, &market);
    let sent = market.post("/v1/quotes", &document::value(&submission))?;
    let quotes: Quotes = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => csv(&quotes.quotes).print_csv()?,
        Format::Table => output::print_styled(&table(&quotes))?,
    }
    Ok(if has_window(&sent)? { Exit::Ok } else { Exit::Infeasible })
}

/// Whether there is a window by any criterion.
pub(super) fn has_window(sent: &Sent) -> Result<bool, Failure> {
    let quotes: Quotes = sent.read()?;
    Ok(quotes.quotes.iter().any(|offer| offer.start.is_some()))
}

/// An offer with the windows that are the same: `start, finish`.
struct OfferRow<'a> {
    criteria: String,
    offer: &'a Offer,
}

impl OfferRow<'_> {
    fn min(&self, quotes: &[Offer]) -> &str {
        match self.criteria.split(", ").count() == quotes.len() {
            true => "every criterion",
            false => &self.criteria,
        }
    }
}

/// One line for each window.
fn lines(quotes: &[Offer]) -> Vec<OfferRow<'_>> {
    let mut lines: Vec<OfferRow<'_>> = Vec::new();
    for offer in quotes.iter().filter(|offer| offer.start.is_some()) {
        let is_same =
            |it: &Offer| (it.id, it.start, &it.nodes) == (offer.id, offer.start, &offer.nodes);
        match lines.iter_mut().find(|line| is_same(line.offer)) {
            Some(line) => {
                let _ = write!(line.criteria, ", {}", offer.criterion);
            }
            None => lines.push(OfferRow { criteria: offer.criterion.clone(), offer }),
        }
    }
    lines
}

/// Columns of the table.
const COLUMNS: [Column; 6] = [
    ("QUOTE", Side::Right),
    ("BEST BY", Side::Left),
    ("START", Side::Left),
    ("FINISH", Side::Left),
    ("COST", Side::Right),
    ("EXPIRES", Side::Left),
];

fn table(all: &Quotes) -> String {
    let quotes = &all.quotes;
    let lines = lines(quotes);
    let row = |line: &OfferRow<'_>| {
        let Offer { id, start, finish, cost, expires, exact, basis, .. } = line.offer;
        let show = |at: &Option<i64>| at.map(moment).unwrap_or_default();
        let proof = if *exact { "" } else { " (heuristic)" };
        vec![
            id.map(|id| id.to_string()).unwrap_or_default(),
            format!("{}{proof}", line.min(quotes)),
            show(start),
            show(finish),
            cost.map(|cost| cost.to_string()).unwrap_or_default(),
            match basis {
                Some(Basis::SiteQueue) => "expected in the site's queue".to_owned(),
                Some(Basis::Licences) => "not to be booked: licences".to_owned(),
                _ => show(expires),
            },
        ]
    };
    let mut text = String::new();
    if !lines.is_empty() {
        let rows = lines.iter().map(row).collect();
        let sheet = Sheet { columns: COLUMNS.to_vec(), rows };
        let consumed = lines.iter().map(|line| line.offer.consumed);
        text.push_str(&sheet.with_consumed(consumed).table());
        text.push_str(&limits(&lines));
    }
    for offer in quotes.iter().filter(|offer| offer.start.is_none()) {
        let why = offer.reason.as_deref().unwrap_or("no reason given");
        let _ = writeln!(text, "no window by {}: {why}", offer.criterion);
    }
    let mut payable = lines.iter().filter(|line| !all.is_too_dear(line.offer));
    if let Some((offer, id)) = payable.next().and_then(|line| Some((line.offer, line.offer.id?))) {
        let _ = writeln!(text, "\nto accept one: `tradewind submit --quote {id} …`");
        if let Some(slack) = offer.slack {
            let _ = writeln!(text, "it then begins at most {} after START", length(slack));
        }
    }
    text.push_str(&without_offer(all));
    if let Some(advice) = &all.advice {
        let _ = writeln!(text, "\nadvice: {}", starts::advice(advice));
    }
    for note in &all.unknown {
        let _ = writeln!(text, "\nnot known at {note}; starts may be otherwise");
    }
    text.push_str(&purse(all, &lines));
    text
}

/// When a job is expected to start without a quote: with ranges, or where that is earlier than its
/// window.
fn without_offer(all: &Quotes) -> String {
    let said = all.without_offer.as_ref();
    if let Some((said, most)) = said.and_then(|said| Some((said, said.ranges?))) {
        let (median, ranges) = (moment(most.median), starts::ranges(said).unwrap_or_default());
        return format!(
            "\nsubmitted without a quote it starts at about {median} ({ranges}); this is not \
             promised\n"
        );
    }
    match all.sooner() {
        Some(expected) => format!(
            "\nsubmitted without a quote it is expected to start at {}: jobs of others usually end \
             before their limits there; this is not promised\n",
            moment(expected)
        ),
        None => String::new(),
    }
}

/// What there is to spend, if it is too little for some of them.
fn purse(all: &Quotes, lines: &[OfferRow<'_>]) -> String {
    let Some((payer, funds)) = all.payer.as_ref().zip(all.funds) else { return String::new() };
    let dear = lines.iter().filter(|line| all.is_too_dear(line.offer));
    let dear: Vec<String> =
        dear.filter_map(|line| line.offer.id).map(|id| id.to_string()).collect();
    match dear.len() {
        0 => String::new(),
        count if count == lines.len() => {
            format!("\n{payer} has {funds} credits to spend: too little for any of these\n")
        }
        _ => format!("{payer} has {funds} credits to spend: too little for {}\n", dear.join(", ")),
    }
}

/// The limit and the price on the nodes of each quote; with what the limit is in work, if it is
/// another number of seconds anywhere.
fn limits(lines: &[OfferRow<'_>]) -> String {
    const COLUMNS: [Column; 8] = [
        ("QUOTE", Side::Right),
        ("GROUP", Side::Right),
        ("POOL", Side::Left),
        ("NODES", Side::Right),
        ("LIMIT", Side::Right),
        ("WORK", Side::Right),
        ("TRANSFER", Side::Right),
        ("PRICE", Side::Right),
    ];
    const GROUP: usize = 1;
    const WORK: usize = 5;
    const TRANSFER: usize = 6;
    let mut rows = Vec::new();
    for OfferRow { offer, .. } in lines {
        for part in &offer.nodes {
            let limit = limit(offer, part);
            rows.push(vec![
                offer.id.map(|id| id.to_string()).unwrap_or_default(),
                part.group.map(|group| group.to_string()).unwrap_or_default(),
                part.pool.clone(),
                part.nodes.to_string(),
                length(limit),
                length(part.work.unwrap_or(limit)),
                part.transfer().map_or(String::new(), |(seconds, cost)| {
                    format!("{} for {cost}", length(seconds))
                }),
                part.price.to_string(),
            ]);
        }
    }
    let mut columns = COLUMNS.to_vec();
    let parts = || lines.iter().flat_map(|line| &line.offer.nodes);
    let differs = parts().any(|it| it.work.is_some());
    let is_grouped = parts().any(|it| it.group.is_some());
    let moves = parts().any(|it| it.transfer().is_some());
    let columns_told = [(TRANSFER, moves), (WORK, differs), (GROUP, is_grouped)];
    for (at, _) in columns_told.into_iter().filter(|(_, is_told)| !is_told) {
        columns.remove(at);
        rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
    let work = match differs {
        true => "; WORK is the same as work on a node of performance 1",
        false => "",
    };
    let transfer = match moves {
        true => "; TRANSFER is how long the job's data takes, and the credits of the cost for that",
        false => "",
    };
    let table = Sheet { columns, rows }.table();
    let head = "the limit of wall-clock time on each node, and its price per second";
    format!("\n{head}{work}{transfer}\n\n{table}")
}

fn limit(offer: &Offer, part: &OfferedNodes) -> i64 {
    part.limit.unwrap_or(part.end - offer.start.unwrap_or(part.end))
}

fn times(times: Times) -> &'static str {
    match times {
        Times::Wall => "wall",
        Times::Work => "work",
    }
}

/// Columns of the CSV.
const HEADS: [&str; 15] = [
    "criterion",
    "exact",
    "quote",
    "start",
    "finish",
    "cost",
    "expires",
    "pool",
    "nodes",
    "limit",
    "price",
    "reason",
    "times",
    "work",
    "expected_start",
];

/// One row for each criterion and pool.
fn csv(quotes: &[Offer]) -> Sheet {
    let text = |at: Option<i64>| at.map(|at| at.to_string()).unwrap_or_default();
    let mut rows = Vec::new();
    for offer in quotes {
        let first = vec![
            offer.criterion.clone(),
            offer.exact.to_string(),
            offer.id.map(|id| id.to_string()).unwrap_or_default(),
            text(offer.start),
            text(offer.finish),
            offer.cost.map(|cost| cost.to_string()).unwrap_or_default(),
            text(offer.expires),
        ];
        for part in &offer.nodes {
            let limit = limit(offer, part);
            let (nodes, price) = (part.nodes.to_string(), part.price.to_string());
            let mut more = vec![part.pool.clone(), nodes, limit.to_string(), price, String::new()];
            more.push(part.times.map(times).unwrap_or_default().to_owned());
            more.push(part.work.unwrap_or(limit).to_string());
            more.push(text(offer.expected_start));
            more.extend(Consumed::cells(offer.consumed));
            rows.push([first.clone(), more].concat());
        }
        if offer.nodes.is_empty() {
            let mut more = vec![String::new(); 4];
            more.push(offer.reason.clone().unwrap_or_default());
            more.extend(vec![String::new(); 6]);
            rows.push([first, more].concat());
        }
    }
    let heads = HEADS.into_iter().chain(CONSUMED_COLUMNS);
    Sheet { columns: heads.map(|head| (head, Side::Left)).collect(), rows }
}
