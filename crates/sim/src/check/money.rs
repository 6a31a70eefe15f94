//! Money is neither made nor lost: users pay what owners earn, for the time that nodes were held,
//! and while a job runs, what it is expected to cost is held back.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, LicenceShare, Market, Price, Share, Span, Time};

use super::cuts::Cuts;
use super::steps::by_step;
use super::{Checker, Violation};

/// A running job's dues.
#[derive(Debug)]
struct Dues {
    since: Time,
    /// The shares that it holds still, and what each cost per node and second at its start.
    shares: Vec<(Share, Price)>,
    /// What its licences cost per second, and whose income that is.
    licences: Vec<(usize, i128)>,
    held: i128,
}

/// Works out every payment again.
#[derive(Debug, Default)]
pub(super) struct Conserved {
    running: BTreeMap<JobId, Dues>,
    held: i128,
    cuts: Cuts,
    /// Income in micro-credits, by site.
    earned: Vec<i128>,
}

/// What a share costs for so long: as agreed, or as at its start, or what each second costs, step by
/// step of a price that changes with time.
fn price(
    market: &Market,
    job: JobId,
    (share, at_start): (Share, Price),
    (since, span): (Time, Span),
) -> i128 {
    let agreed = market.trade(job).map(|trade| trade.price);
    let nodes = i128::from(share.nodes);
    let site = market.pools().pool(share.pool).site;
    let discount = match market.demand(job).is_some_and(tradewind_model::Demand::is_preemptible) {
        true if agreed.is_none() => i128::from(market.pools().preemption(site).discount),
        _ => 0,
    };
    let reduced = |amount: i128| amount * (1_000 - discount) / 1_000;
    let Some(rate) = market.pools().rate(share.pool).filter(|_| agreed.is_none()) else {
        let price = agreed.unwrap_or(at_start).0;
        return reduced(i128::from(price)) * nodes * i128::from(span.0);
    };
    let cost = |(price, seconds): (i64, i64)| i128::from(price) * i128::from(seconds);
    let sum: i128 = by_step(rate, since, since + span).map(cost).sum();
    reduced(sum * nodes)
}

/// What the job's licences cost per second, and whose income that is.
fn licences(market: &Market, job: JobId) -> Vec<(usize, i128)> {
    let pools = market.pools();
    let along = market.demand(job).and_then(|demand| demand.terms().licences.as_deref());
    let each = |share: &LicenceShare| {
        let price = pools.licences()[share.licence.index()].price.0;
        (pools.licence_owner(share.licence).0 as usize, i128::from(price) * i128::from(share.count))
    };
    along.unwrap_or_default().iter().map(each).collect()
}

impl Conserved {
    /// All that the job has still, for so long.
    fn settle_all(&mut self, market: &Market, job: JobId, dues: Dues, span: Span) {
        let Dues { since, shares, licences, .. } = dues;
        shares.into_iter().for_each(|share| self.settle(market, job, share, (since, span)));
        licences.iter().for_each(|(site, each)| self.earned[*site] += each * i128::from(span.0));
    }

    fn settle(&mut self, market: &Market, job: JobId, share: (Share, Price), time: (Time, Span)) {
        let site = market.pools().pool(share.0.pool).site.0 as usize;
        self.earned[site] += price(market, job, share, time);
    }

    fn note(&mut self, market: &Market, event: &Event) {
        self.earned.resize(market.pools().sites().len(), 0);
        let kept = self.cuts.follow(market, event);
        match event {
            Event::Started { job, place } => {
                let Some(demand) = market.demand(*job) else { return };
                let now = |share: Share| (share, market.pools().pool(share.pool).price);
                let shares: Vec<_> = place.shares(demand.processors).map(now).collect();
                let expected = |share: &(Share, Price)| {
                    let length = market.pools().pool(share.0.pool).length_of(demand);
                    price(market, *job, *share, (market.now(), length))
                };
                let lengths =
                    shares.iter().map(|it| market.pools().pool(it.0.pool).length_of(demand));
                let longest = i128::from(lengths.max().unwrap_or_default().0);
                let licences = licences(market, *job);
                let along: i128 = licences.iter().map(|(_, each)| each * longest).sum();
                let held = shares.iter().map(expected).sum::<i128>() + along;
                self.held += held;
                self.running.insert(*job, Dues { since: market.now(), shares, licences, held });
            }
            Event::Released { job, pool } => {
                if let Some(dues) = self.running.get_mut(job)
                    && let Some(at) = dues.shares.iter().position(|(share, _)| share.pool == *pool)
                {
                    let (since, share) = (dues.since, dues.shares.remove(at));
                    self.settle(market, *job, share, (since, market.now() - since));
                }
            }
            Event::Ended { job } => {
                if let Some(dues) = self.running.remove(job) {
                    self.held -= dues.held;
                    let span = market.now() - dues.since;
                    self.settle_all(market, *job, dues, span);
                }
            }
            // It pays for what it keeps, and nothing for what was lost; what it gave back before
            // stays paid.
            Event::Interrupted { job } => {
                if let Some(dues) = self.running.remove(job) {
                    self.held -= dues.held;
                    let span = Span(kept.map_or(0, |kept| kept.paid));
                    self.settle_all(market, *job, dues, span);
                }
            }
            _ => {}
        }
    }
}

impl Checker for Conserved {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        self.note(market, event);
        let (ledger, due) = (market.ledger(), self.earned.iter().sum::<i128>());
        let what = match () {
            () if ledger.paid() != due => format!("users paid {}, due {due}", ledger.paid()),
            () if ledger.income() != self.earned => {
                format!("owners earned {:?}, due {:?}", ledger.income(), self.earned)
            }
            () if ledger.held() != self.held => {
                format!("{} is held, and {} should be", ledger.held(), self.held)
            }
            () => return Ok(()),
        };
        Err(Violation { checker: "money", what })
    }
}
