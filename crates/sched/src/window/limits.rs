//! Which of a request's limits a search applies.

use tradewind_model::{Money, Performance, Price, Request, Rho, TimeMode, Times};

use super::{Algorithm, Search};

/// The money limits that a search applies; `None` where none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MoneyLimits {
    /// The most for the whole window.
    pub(super) budget: Option<Money>,
    /// The most per node-second.
    pub(super) max_price: Option<Price>,
}

impl MoneyLimits {
    /// ALP looks at the price of each slot only, AMP (and so CSA) at the sum only, and the
    /// criteria at every limit given (papers 001/002, section 3).
    pub(super) fn of(request: &Request, search: &Search) -> MoneyLimits {
        match search.algorithm {
            Algorithm::Alp => MoneyLimits { budget: None, max_price: request.max_price },
            Algorithm::Amp | Algorithm::Csa(_) => {
                let budget = request.budget.or_else(|| derived_budget(request, search.rho));
                MoneyLimits { budget, max_price: None }
            }
            Algorithm::Best(_) => {
                MoneyLimits { budget: request.budget, max_price: request.max_price }
            }
        }
    }
}

/// S = ρ·C·(t/P_min)·N in micro-credits, rounded down (paper 001, section 3, with t/P_min as the
/// time that the user asked for). `None` without a price cap C. A request without a minimum
/// performance means the reference node; wall-clock time is as long on every node, so that P_min
/// does not shorten it. Where tasks differ, the sum over their groups. Saturates at the range of money.
pub fn derived_budget(request: &Request, rho: Rho) -> Option<Money> {
    if request.others.is_empty() {
        return of_group(request, rho);
    }
    let sums: Option<Vec<Money>> = request.groups().map(|group| of_group(&group, rho)).collect();
    Some(Money(sums?.iter().fold(0, |sum, it| it.0.saturating_add(sum))))
}

fn of_group(request: &Request, rho: Rho) -> Option<Money> {
    let cap = i128::from(request.max_price?.0);
    let min = match request.times {
        TimeMode::Fixed(Times::Work) => request.min_performance,
        TimeMode::Fixed(Times::Wall) | TimeMode::Owner => None,
    };
    let min = min.unwrap_or(Performance::REFERENCE);
    // ρ and P_min are both in thousandths, which cancel.
    let all = i128::from(rho.thousandths())
        .saturating_mul(cap)
        .saturating_mul(i128::from(request.work.0))
        .saturating_mul(i128::from(request.tasks))
        .div_euclid(i128::from(min.thousandths()));
    Some(Money(all.clamp(0, i128::from(i64::MAX)) as i64))
}
