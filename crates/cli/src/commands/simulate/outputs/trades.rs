//! `trades.csv` and `refused.csv`: what jobs agreed on with queues, and why others did not run.

use tradewind_campaign::replay::Finished;
use tradewind_io::decimal;
use tradewind_model::{Money, Price, SkipReason, Time};
use tradewind_sim::{Run, Struck, metrics};

use crate::exit::Failure;
use crate::output;

const TRADES: [&str; 17] = [
    "job_id",
    "submission_time",
    "struck_at",
    "queue",
    "site",
    "expected_start",
    "starting_time",
    "price",
    "list_price",
    "reserve",
    "limit",
    "bid",
    "ask",
    "rank",
    "paid",
    "passed",
    "passed_in_all",
];

const REFUSED: [&str; 6] =
    ["job_id", "submission_time", "processors", "refused_at", "code", "reason"];

/// `trades.csv`: a row per trade, in the order of time. `None` without trades.
pub(super) fn trades(finished: &Finished<'_>) -> Result<Option<String>, Failure> {
    let Finished { prepared, run, .. } = finished;
    if run.trades.is_empty() {
        return Ok(None);
    }
    let (ids, terms) = (Ids::of(finished), terms(run));
    let pools = &prepared.workload.pools;
    let row = |(struck, term): (&Struck, &Term)| {
        let Struck { job, at, trade, .. } = struck;
        let (of, pool) = (&prepared.workload.jobs[*job], pools.pool(trade.pool));
        let passed = trade.passed.iter().map(|(queue, why)| {
            let why = SkipReason::ALL.iter().find(|(pass, _)| pass == why);
            format!("{}:{}", pools.pool(*queue).name, why.map_or("", |(_, name)| name))
        });
        let ran = Some(&run.jobs[*job]).filter(|ran| term.is_last && ran.refused.is_none());
        vec![
            ids.of_job(of.source),
            of.submit.to_string(),
            at.to_string(),
            pool.name.clone(),
            pools.sites()[pool.site.0 as usize].name.clone(),
            trade.expected.to_string(),
            time(term.start),
            price(trade.price),
            price(metrics::list_price(&prepared.workload, struck)),
            price(trade.reserve),
            trade.limit.map_or_else(String::new, price),
            amount(trade.bid),
            amount(trade.ask),
            trade.rank.to_string(),
            amount(ran.map(|ran| ran.cost)),
            passed.collect::<Vec<_>>().join(" "),
            trade.passed_in_all.to_string(),
        ]
    };
    table(&TRADES, run.trades.iter().zip(&terms).map(row)).map(Some)
}

/// How long a trade held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    /// The job's first start under it.
    start: Option<Time>,
    /// Whether the job never traded again.
    is_last: bool,
}

/// The terms, by trade.
fn terms(run: &Run) -> Vec<Term> {
    let lost = run.lost.iter().map(|lost| (lost.job, lost.start));
    let ran = run.jobs.iter().enumerate().filter(|(_, ran)| ran.refused.is_none());
    let mut starts: Vec<(usize, Time)> =
        lost.chain(ran.map(|(job, ran)| (job, ran.start))).collect();
    starts.sort_unstable();
    // From the last trade back: when the job traded next.
    let mut next: Vec<Option<Time>> = vec![None; run.jobs.len()];
    let mut terms: Vec<Term> = Vec::with_capacity(run.trades.len());
    for Struck { job, at, .. } in run.trades.iter().rev() {
        let first = starts.partition_point(|start| *start < (*job, *at));
        let start = starts.get(first).filter(|(whose, _)| whose == job).map(|(_, start)| *start);
        let until = next[*job].replace(*at);
        let start = start.filter(|start| until.is_none_or(|until| *start < until));
        terms.push(Term { start, is_last: until.is_none() });
    }
    terms.reverse();
    terms
}

/// `refused.csv`: a row per job that did not run, in the order of the logs. `None` if all ran.
pub(super) fn refused(finished: &Finished<'_>) -> Result<Option<String>, Failure> {
    let Finished { prepared, run, .. } = finished;
    let workload = &prepared.workload;
    let mut why: Vec<(usize, Option<Time>, &str, String)> = Vec::new();
    for job in &workload.rejected {
        why.push((job.source, None, job.why.code(), job.why.text().to_owned()));
    }
    for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
        if let Some(reason) = &ran.refused {
            why.push((job.source, Some(ran.end), reason.code(), reason.to_string()));
        }
    }
    if why.is_empty() {
        return Ok(None);
    }
    why.sort_unstable();
    let ids = Ids::of(finished);
    let row = |(source, at, code, reason): (usize, Option<Time>, &str, String)| {
        let job = &prepared.jobs[source];
        let processors = job.processors.map_or_else(String::new, |count| count.to_string());
        vec![ids.of_job(source), time(job.submit), processors, time(at), code.to_owned(), reason]
    };
    table(&REFUSED, why.into_iter().map(row)).map(Some)
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<String, Failure> {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    output::csv(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

fn price(price: Price) -> String {
    decimal::format(price.0, 6)
}

fn time(time: Option<Time>) -> String {
    time.map_or_else(String::new, |time| time.to_string())
}

/// Credits; empty where there are none.
fn amount(amount: Option<Money>) -> String {
    amount.map_or_else(String::new, |amount| decimal::format(amount.0, 6))
}

/// The names of jobs, as in `jobs.csv`.
pub(super) struct Ids<'a> {
    finished: &'a Finished<'a>,
    /// By job of the logs; empty for a single log.
    logs: Vec<usize>,
}

impl<'a> Ids<'a> {
    pub(super) fn of(finished: &'a Finished<'a>) -> Ids<'a> {
        let logs = match finished.prepared.logs.len() {
            1 => Vec::new(),
            _ => finished.prepared.log_of().collect(),
        };
        Ids { finished, logs }
    }

    pub(super) fn of_job(&self, source: usize) -> String {
        let prepared = &self.finished.prepared;
        let number = prepared.jobs[source].number;
        match self.logs.get(source) {
            Some(&log) => format!("{}!{number}", prepared.logs[log].name),
            None => number.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use tradewind_model::{Place, PoolId, Reason, RunCut, Span, Trade};
    use tradewind_sim::{LossCause, Lost, Ran};

    use super::*;

    fn struck(job: usize, at: i64) -> Struck {
        let trade = Trade::at(PoolId(0), Price(0), Time(at));
        Struck { job, at: Time(at), trade: Arc::new(trade), by_load: None }
    }

    fn ran(start: i64, refused: Option<Reason>) -> Ran {
        Ran {
            start: Time(start),
            end: Time(start + 5),
            place: Place::Pool(PoolId(0)),
            cost: Money::ZERO,
            backfilled: false,
            refused: refused.map(Box::new),
        }
    }

    #[test]
    fn each_trade_has_the_first_start_under_it() {
        // Job 0 trades twice, starts, is interrupted, trades again; job 1 is refused in the end;
        // job 2 starts when it trades, and starts again without another trade.
        let lost = |job, start| Lost {
            job,
            start: Time(start),
            end: Time(start + 1),
            place: Place::Pool(PoolId(0)),
            cause: LossCause::Outage,
            before: Span::ZERO,
            cut: RunCut::default(),
        };
        let run = Run {
            jobs: vec![ran(40, None), ran(50, Some(Reason::NoValue)), ran(60, None)],
            submitted: vec![],
            trades: vec![struck(0, 1), struck(0, 3), struck(1, 4), struck(2, 7), struck(0, 30)],
            lost: vec![lost(0, 10), lost(2, 7)],
            kept: BTreeMap::new(),
            income: vec![],
            passes: 0,
            owners: vec![],
            counts: vec![],
        };
        let expected =
            [(None, false), (Some(10), false), (None, true), (Some(7), true), (Some(40), true)];
        let expected = expected.map(|(start, is_last)| Term { start: start.map(Time), is_last });
        assert_eq!(terms(&run), expected);
    }
}
