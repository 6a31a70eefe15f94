//! `tradewind explain ID`: why a job of the live market waits.

use std::fmt::Write as _;

use tradewind_web::documents::{Explanation, Offer, Relaxation};

use super::{Sheet, starts};
use crate::client::words::moment;
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

pub(crate) fn run(job: u64, place: &MarketArgs, format: Format) -> Outcome {
    let sent = Market::open(place)?.get(&format!("/v1/jobs/{job}/explain"))?;
    let explanation: Explanation = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => csv(&explanation).print_csv()?,
        Format::Table => output::print_styled(&sentences(&explanation))?,
    }
    Ok(Exit::Ok)
}

/// Reason, outlook, remedies and fall-backs.
pub(super) fn sentences(it: &Explanation) -> String {
    let job = it.job;
    let expected = it.expectation.as_ref().map(starts::expected);
    let expected = expected.or_else(|| it.expected_start.map(moment));
    let mut text = match (&it.reason, &expected) {
        (Some(reason), _) => format!("job {job} ({reason}): {}.\n", it.message),
        (None, Some(at)) => format!("job {job} is expected to start at {at}.\n"),
        (None, None) => format!("job {job}: {}.\n", it.message),
    };
    if let (Some(_), Some(at)) = (&it.reason, &expected) {
        let _ = writeln!(text, "It is expected to start at {at}.");
    }
    if let Some(ahead) = it.ahead {
        let _ = writeln!(text, "Before it in the queue: {ahead}.");
    }
    if let Some(share) = &it.fair_share {
        let _ = writeln!(text, "Fair share: {share}.");
    }
    if let Some(advice) = &it.advice {
        let _ = writeln!(text, "Advice: {}.", starts::advice(advice));
    }
    if !it.relaxations.is_empty() {
        text.push_str("Any one of these alone, and no less, would place it:\n");
    }
    for Relaxation { limit, by, start, cost } in &it.relaxations {
        let start = moment(*start);
        let _ = writeln!(text, "  {limit} by {by}: from {start}, for {cost} credits");
    }
    if !it.fall_backs.is_empty() {
        text.push_str("Its fall-backs, if its window is lost:\n");
    }
    for offer in &it.fall_backs {
        let _ = writeln!(text, "  {}", fall_back(offer));
    }
    text
}

fn fall_back(offer: &Offer) -> String {
    let pools = offer.nodes.iter().map(|it| format!("{} × {}", it.nodes, it.pool));
    let pools = pools.collect::<Vec<_>>().join(", ");
    let cost = offer.cost.map(|cost| cost.to_string()).unwrap_or_default();
    match (offer.start, offer.finish) {
        (Some(start), Some(finish)) => {
            format!("{} to {} for {cost} credits on {pools}", moment(start), moment(finish))
        }
        _ => offer.reason.clone().unwrap_or_default(),
    }
}

/// A row for each remedy; one without, if there is none.
fn csv(it: &Explanation) -> Sheet {
    let heads = ["jobid", "reason", "expected_start", "ahead", "limit", "by", "start", "cost"];
    let heads: Vec<&str> = heads.into_iter().chain(starts::HEADS).collect();
    let ranges = starts::cells(it.expectation.as_ref());
    let first = vec![
        it.job.to_string(),
        it.reason.clone().unwrap_or_default(),
        it.expected_start.map(|at| at.to_string()).unwrap_or_default(),
        it.ahead.map(|ahead| ahead.to_string()).unwrap_or_default(),
    ];
    let row = |remedy: &Relaxation| {
        let Relaxation { limit, by, start, cost } = remedy;
        let more = [limit.clone(), by.clone(), start.to_string(), cost.to_string()];
        [first.clone(), more.to_vec(), ranges.clone()].concat()
    };
    let mut rows: Vec<Vec<String>> = it.relaxations.iter().map(row).collect();
    if rows.is_empty() {
        rows.push([first.clone(), vec![String::new(); 4], ranges.clone()].concat());
    }
    Sheet { columns: heads.into_iter().map(|head| (head, Side::Left)).collect(), rows }
}
