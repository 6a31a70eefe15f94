//! The vector criterion ⟨C, B*−C, T, T*−T⟩ of paper 001, section 3, and a lexicographic choice
//! over it. Its [`super::front()`] is the other way to read it.

use tradewind_model::Objective;

use super::best::{COST, Other, Quantity, TIME, max};
use super::{Choice, Combination, Infeasible, SumLimits, best};

/// One component of the vector; all are wanted small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// C: Σ cost, what the users pay.
    Cost,
    /// B* − C: what the owners do not earn. Least of it is most income, so it orders
    /// combinations without a budget limit too.
    LostIncome,
    /// T: Σ time.
    Time,
    /// T* − T: idleness. Least of it is most used time, with or without a time limit.
    Idleness,
}

/// The components of one combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Vector {
    /// Cost C in micro-credits.
    pub cost: i64,
    /// B* − C, micro-credits; `None` without a budget limit.
    pub lost_income: Option<i64>,
    /// Time T in seconds.
    pub time: i64,
    /// T* − T, seconds; `None` without a time limit.
    pub idleness: Option<i64>,
}

impl Vector {
    /// The vector of `combination` against the limits `bounds`.
    pub fn of(combination: &Combination, bounds: SumLimits) -> Vector {
        Vector {
            cost: combination.cost,
            lost_income: bounds.budget.map(|budget| budget - combination.cost),
            time: combination.time,
            idleness: bounds.time.map(|time| time - combination.time),
        }
    }
}

impl Component {
    fn objective(self) -> Objective {
        match self {
            Component::Cost => Objective::MinCost,
            Component::LostIncome => Objective::MaxIncome,
            Component::Time => Objective::MinTime,
            Component::Idleness => Objective::MinIdle,
        }
    }

    fn wants_most(self) -> bool {
        matches!(self, Component::LostIncome | Component::Idleness)
    }

    /// The sum that it is about, and that sum's limit.
    fn quantity(self, bounds: SumLimits) -> (Quantity, Option<i64>) {
        if self.is_money() { (COST, bounds.budget) } else { (TIME, bounds.time) }
    }

    fn is_money(self) -> bool {
        matches!(self, Component::Cost | Component::LostIncome)
    }
}

/// The combination within `bounds` that has the minimum of the first component in `order`, among
/// those the minimum of the second, and so on.
///
/// Cost and lost income mirror each other, as time and idleness do, so at most two components
/// decide: the first, and the first after it on the other side. Without a second the minimum of the
/// other sum breaks ties, as in [`best()`]; an empty order means `[Time]`. Exact, by at most four
/// searches, with one exception: lost income and idleness together, in either order, with both
/// limits given. Then the first is exact, and the second is settled only if it keeps its limit
/// by itself; otherwise the minimum of that sum breaks the tie.
///
/// # Errors
/// [`Infeasible`], as of [`best()`].
pub fn lexicographic(
    jobs: &[Vec<Choice>],
    order: &[Component],
    bounds: SumLimits,
) -> Result<Combination, Infeasible> {
    let first = order.first().copied().unwrap_or(Component::Time);
    let leader = best(jobs, first.objective(), bounds)?;
    let second = order.iter().find(|component| component.is_money() != first.is_money());
    // Cost and time, as second components, are the tie-break of `best` already.
    let Some(second) = second.filter(|second| second.wants_most()) else {
        return Ok(leader);
    };
    let (leading, lead_limit) = first.quantity(bounds);
    let (following, follow_limit) = second.quantity(bounds);
    let chosen = if first.wants_most() && lead_limit.is_some() {
        max(jobs, leading, lead_limit, Other { quantity: following.negative(), max: None })
    } else {
        let quantity = if first.wants_most() { leading.negative() } else { leading };
        let fixed = Other { quantity, max: Some(quantity.total(&leader)) };
        max(jobs, following, follow_limit, fixed)
    };
    let combination = chosen.map(|chosen| Combination::of(jobs, chosen));
    let keeps = |it: &Combination| bounds.admit(it) && leading.total(it) == leading.total(&leader);
    Ok(combination.filter(keeps).unwrap_or(leader))
}
