//! A request prepared for one grid: what every search of whole nodes knows of it.

use std::sync::Arc;

use tradewind_model::{Grid, Money, Performance, Price, Rates, Request, Span, Time};

use super::limits::MoneyLimits;
use super::pieces::PriceList;
use super::ranking::NodeRanking;
use super::search::Search;
use super::sweep::StartBounds;

/// Which nodes suit a request, how long and how dear a task is on each, in which order they are
/// wanted, and the limits of a window.
#[derive(Debug, Clone)]
pub(super) struct PreparedRequest {
    pub(super) search: Search,
    pub(super) wanted: usize,
    earliest_start: Option<Time>,
    pub(super) deadline: Option<Time>,
    pub(super) min_performance: Option<Performance>,
    pub(super) max_price: Option<Price>,
    pub(super) grid_size: u32,
    pub(super) budget: Option<Money>,
    pub(super) ranking: Arc<NodeRanking>,
    /// Where prices change with time.
    pub(super) prices: Option<PriceList>,
}

impl PreparedRequest {
    /// `ranking` is that of the request's nodes on the grid, or of some of them.
    pub(super) fn new(
        grid: &Grid,
        request: &Request,
        search: &Search,
        ranking: Arc<NodeRanking>,
    ) -> PreparedRequest {
        let limits = MoneyLimits::of(request, search);
        PreparedRequest {
            search: search.clone(),
            wanted: request.tasks as usize,
            earliest_start: request.earliest_start,
            deadline: request.deadline,
            min_performance: request.min_performance,
            max_price: limits.max_price,
            grid_size: grid.len() as u32,
            budget: limits.budget,
            prices: PriceList::of(grid, &ranking, limits.max_price),
            ranking,
        }
    }

    /// The same at other prices by node, without a budget and a cap, and with no task longer than
    /// `longest`.
    pub(super) fn repriced(&self, rates: &Rates, longest: Option<Span>) -> PreparedRequest {
        let longest = longest.map_or(i64::MAX, |span| span.0);
        let prices = Some(PriceList::other(rates, &self.ranking, longest));
        PreparedRequest { budget: None, prices, ..self.clone() }
    }

    /// The same where no task is longer than `longest` seconds, with another budget.
    pub(super) fn capped(&self, longest: i64, budget: Option<Money>) -> PreparedRequest {
        let all = &self.ranking;
        let same = all.nodes.iter().all(|it| it.length <= longest);
        let prices = self.prices.as_ref().map(|prices| prices.capped(all, longest));
        let ranking = match same {
            true => Arc::clone(all),
            false => Arc::new(all.keeping(|it| it.length <= longest)),
        };
        PreparedRequest { budget, prices, ranking, ..self.clone() }
    }

    pub(super) fn bracket(&self, from: Time) -> StartBounds {
        StartBounds {
            from: self.earliest_start.unwrap_or(from).max(from).0,
            until: self.deadline.map_or(i64::MAX, |deadline| deadline.0),
        }
    }

    /// The budget as a number that every sum can be compared with.
    pub(super) fn ceiling(&self) -> i128 {
        self.budget.map_or(i128::MAX, |budget| i128::from(budget.0))
    }
}
