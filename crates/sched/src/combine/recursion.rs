//! The papers' own algorithm: backward recursion over a table as wide as the limit.
//!
//! f_i(Z) = extr over the alternatives s of job i of g(s) + f_{i+1}(Z − z(s)), with f_{n+1} ≡ 0
//! (paper 000, eq. (1)–(9); paper 001, eq. (1)). States that no choice can reach are infeasible;
//! the papers' remarks on zero limits are not used, since the second would make them free.
//! For studies, and as an oracle in tests: [`super::best()`] gives the same sums without a table.

use tradewind_model::Objective;

use super::{Choice, Combination};

/// The most entries of a table: about 400 MB.
pub const MOST_ENTRIES: usize = 1 << 24;

/// Why the recursion gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTable {
    /// No combination keeps to the limit.
    #[error("no combination keeps to the limit")]
    Infeasible,
    /// The table would have too many entries.
    #[error("a table of (jobs + 1) x (limit + 1) entries is larger than {MOST_ENTRIES}")]
    TooLarge,
}

/// The best of some combinations of the jobs from one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BestEntry {
    /// The objective, negative where most of it is wanted; then the other sum.
    sums: (i64, i64),
    chosen: u32,
}

/// The best combination under the one limit that binds `objective`: cost for `MinTime`, time for
/// the others. Ties as in [`super::best()`], then by the lower index.
///
/// Exact. O(limit × alternatives) time and O(limit × jobs) memory.
///
/// # Errors
/// [`NoTable`].
pub fn best(
    jobs: &[Vec<Choice>],
    objective: Objective,
    limit: i64,
) -> Result<Combination, NoTable> {
    let width = usize::try_from(limit).map_err(|_| NoTable::Infeasible)?.saturating_add(1);
    if width.saturating_mul(jobs.len() + 1) > MOST_ENTRIES {
        return Err(NoTable::TooLarge);
    }
    let mut rows = vec![vec![Some(BestEntry { sums: (0, 0), chosen: 0 }); width]];
    for job in jobs.iter().rev() {
        let next = &rows[rows.len() - 1];
        let row = (0..width).map(|left| extremum(job, objective, next, left)).collect();
        rows.push(row);
    }
    let mut left = width - 1;
    let mut chosen = Vec::with_capacity(jobs.len());
    for (job, row) in jobs.iter().zip(rows.iter().rev()) {
        let index = row[left].ok_or(NoTable::Infeasible)?.chosen as usize;
        left -= limited(&job[index], objective) as usize;
        chosen.push(index);
    }
    Ok(Combination::of(jobs, chosen))
}

/// f_i(Z) for Z = `left`, from the row of f_{i+1}.
fn extremum(
    job: &[Choice],
    objective: Objective,
    next: &[Option<BestEntry>],
    left: usize,
) -> Option<BestEntry> {
    let entry = |(chosen, choice): (u32, &Choice)| {
        let left = left.checked_sub(usize::try_from(limited(choice, objective)).ok()?)?;
        let (wanted, other) = next[left]?.sums;
        let (more_wanted, more_other) = sums(choice, objective);
        Some(BestEntry { sums: (wanted + more_wanted, other + more_other), chosen })
    };
    (0..).zip(job).filter_map(entry).min()
}

fn limited(choice: &Choice, objective: Objective) -> i64 {
    if objective.bound_by_time() { choice.time } else { choice.cost }
}

fn sums(choice: &Choice, objective: Objective) -> (i64, i64) {
    match objective {
        Objective::MaxIncome => (-choice.cost, choice.time),
        Objective::MinTime => (choice.time, choice.cost),
        Objective::MinCost => (choice.cost, choice.time),
        Objective::MinIdle => (-choice.time, choice.cost),
    }
}
