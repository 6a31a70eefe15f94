//! One round as plain numbers: items with a value, weights and cells.

use std::ops::Range;

use tradewind_model::Objective;

use super::cells::Cells;
use super::{Choice, DisjointOffer, SumLimits};

/// What the sums of weights are limited in: time, cost, and jobs left out.
pub(super) const ROWS: usize = 3;

/// Sums of values stay below this, so that prices and their products fit `i128`.
pub(super) const MOST_VALUE: i128 = 1 << 66;

/// What a round looks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum SearchRound {
    /// The fewest jobs left out.
    MostJobs,
    /// The best sums with at most so many left out.
    Objective { objective: Objective, left_out: usize },
}

/// An offer, or that the job is left out.
#[derive(Debug)]
pub(super) struct OfferItem {
    offer: Option<usize>,
    /// Value to minimise.
    pub(super) value: i128,
    pub(super) weights: [i64; ROWS],
    cells: Range<usize>,
}

/// All items of all jobs. Every job has at least one; offers that break a limit by themselves
/// are left out.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) items: Vec<OfferItem>,
    /// Range of items, by job.
    pub(super) jobs: Vec<Range<usize>>,
    cells: Vec<u32>,
    pub(super) cell_count: usize,
    /// By job, the minimum value of its items.
    min: Vec<i128>,
    /// `i64::MAX` where there is none.
    pub(super) limits: [i64; ROWS],
    /// What one unit of the objective is worth in values, with the sign of its direction.
    unit: i128,
}

impl Core {
    pub(super) fn new(
        jobs: &[Vec<DisjointOffer>],
        cells: &Cells,
        bounds: SumLimits,
        round: SearchRound,
    ) -> Core {
        let none = match round {
            SearchRound::MostJobs => i64::MAX,
            SearchRound::Objective { left_out, .. } => left_out as i64,
        };
        let limits = [bounds.time.unwrap_or(i64::MAX), bounds.budget.unwrap_or(i64::MAX), none];
        let fits = |choice: &Choice| choice.time <= limits[0] && choice.cost <= limits[1];
        let fitting = |offers: &Vec<DisjointOffer>| offers.iter().any(|offer| fits(&offer.choice));
        let hopeless = jobs.iter().filter(|offers| !fitting(offers)).count() as i64;
        let worth = OfferValues::new(jobs, round);
        let mut core = Core {
            items: Vec::new(),
            jobs: Vec::new(),
            cells: Vec::new(),
            cell_count: cells.count,
            min: Vec::new(),
            limits,
            unit: worth.unit,
        };
        for (job, offers) in jobs.iter().enumerate() {
            let first = core.items.len();
            for (at, DisjointOffer { choice, .. }) in offers.iter().enumerate() {
                if fits(choice) {
                    let weights = [choice.time, choice.cost, 0];
                    core.push(Some(at), worth.of(choice), weights, cells.of(job, at));
                }
            }
            // Where no more jobs may be left out than have to be, the others may not.
            if core.items.len() == first || hopeless < none {
                core.push(None, worth.none, [0, 0, 1], &[]);
            }
            let values = core.items[first..].iter().map(|item| item.value);
            core.min.push(values.min().unwrap_or_default());
            core.jobs.push(first..core.items.len());
        }
        core
    }

    fn push(&mut self, offer: Option<usize>, value: i128, weights: [i64; ROWS], cells: &[u32]) {
        let from = self.cells.len();
        self.cells.extend_from_slice(cells);
        self.items.push(OfferItem { offer, value, weights, cells: from..self.cells.len() });
    }

    pub(super) fn cells_of(&self, item: usize) -> &[u32] {
        &self.cells[self.items[item].cells.clone()]
    }

    /// The minimum value of the job's items.
    pub(super) fn least_value(&self, job: usize) -> i128 {
        self.min[job]
    }

    /// Sum of the values.
    pub(super) fn value(&self, items: &[usize]) -> i128 {
        items.iter().map(|&item| self.items[item].value).sum()
    }

    /// The items for these offers; `None` if one of them is not there.
    pub(super) fn items_of(&self, chosen: &[Option<usize>]) -> Option<Vec<usize>> {
        let item = |(job, offer): (&Range<usize>, &Option<usize>)| {
            job.clone().find(|&item| self.items[item].offer == *offer)
        };
        self.jobs.iter().zip(chosen).map(item).collect()
    }

    pub(super) fn offers_of(&self, items: &[usize]) -> Vec<Option<usize>> {
        items.iter().map(|&item| self.items[item].offer).collect()
    }

    /// All jobs left out, which the first round always may; every job's last item.
    pub(super) fn nothing(&self) -> Vec<usize> {
        self.jobs.iter().map(|job| job.end - 1).collect()
    }

    /// The sum of the objective's quantity that a bound on the value leaves possible.
    pub(super) fn sum_of(&self, bound: i128) -> i64 {
        // The rest of a value, below one unit, is the other sum.
        let sum = bound.div_euclid(self.unit.abs()) * self.unit.signum();
        sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// Offers' values: the objective first, the other sum as what is left below one unit of it.
struct OfferValues {
    round: SearchRound,
    unit: i128,
    /// 0 where ties are not broken.
    other: i128,
    none: i128,
}

impl OfferValues {
    fn new(jobs: &[Vec<DisjointOffer>], round: SearchRound) -> OfferValues {
        let SearchRound::Objective { objective, .. } = round else {
            return OfferValues { round, unit: 1, other: 0, none: 1 };
        };
        let greatest = |of: fn(&Choice, Objective) -> i64| -> i128 {
            let max =
                |job: &Vec<DisjointOffer>| job.iter().map(|it| of(&it.choice, objective)).max();
            jobs.iter().filter_map(max).map(i128::from).sum()
        };
        let unit = greatest(other) + 1;
        let ties = (greatest(wanted) + 1).checked_mul(unit).is_some_and(|sum| sum < MOST_VALUE);
        let (unit, other) = if ties { (unit, 1) } else { (1, 0) };
        let sign = match objective {
            Objective::MinTime | Objective::MinCost => 1,
            Objective::MaxIncome | Objective::MinIdle => -1,
        };
        OfferValues { round, unit: sign * unit, other, none: 0 }
    }

    fn of(&self, choice: &Choice) -> i128 {
        match self.round {
            SearchRound::MostJobs => 0,
            SearchRound::Objective { objective, .. } => {
                self.unit * i128::from(wanted(choice, objective))
                    + self.other * i128::from(other(choice, objective))
            }
        }
    }
}

fn wanted(choice: &Choice, objective: Objective) -> i64 {
    match objective {
        Objective::MinTime | Objective::MinIdle => choice.time,
        Objective::MinCost | Objective::MaxIncome => choice.cost,
    }
}

fn other(choice: &Choice, objective: Objective) -> i64 {
    match objective {
        Objective::MinTime | Objective::MinIdle => choice.cost,
        Objective::MinCost | Objective::MaxIncome => choice.time,
    }
}
