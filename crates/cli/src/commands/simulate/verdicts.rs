//! Which policy is the best by which measure, as far as the runs can tell.
//!
//! Policies are compared among those that ran all jobs, and in pairs of the same seed. "Best" is
//! who differs from every other for sure, by a paired t-test that Holm's method corrects for all
//! pairs of policies of the measure. See `docs/reference/simulate.md`.

use std::collections::BTreeMap;

use tradewind_campaign::summary::{SEED, Summary};
use tradewind_io::chart::{Better, Unit};
use tradewind_sim::paired::{self, Compared, Corrected, Sample, Scale};

use super::measures::{Measure, measures};
use super::overview::{Overview, estimate};

/// What the runs say of all measures.
pub(super) struct Verdicts {
    /// Cells that differ in the policy only.
    pub(super) groups: Vec<ComparedCells>,
}

/// Cells that are compared.
pub(super) struct ComparedCells {
    /// Indices of all of its cells.
    pub(super) members: Vec<usize>,
    /// Those whose policy refused no job: they ran the same jobs.
    pub(super) whole: Vec<usize>,
    /// One per measure of which less or more is better.
    pub(super) measures: Vec<Judged>,
}

/// A measure of a group.
pub(super) struct Judged {
    pub(super) measure: Measure,
    /// Indices of the cells that are the best for sure: several if they are equal in every run.
    pub(super) best: Vec<usize>,
    /// All pairs of [`ComparedCells::whole`].
    pub(super) pairs: Vec<Pair>,
}

/// Two cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) one: usize,
    pub(super) other: usize,
    /// The seeds that both have a value for.
    pub(super) seeds: usize,
    pub(super) outcome: PairOutcome,
}

/// What is known of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) enum PairOutcome {
    /// Nothing: there are too few seeds, or they change nothing.
    Unknown,
    /// The same in every run.
    Same,
    /// The difference, and how certain it is.
    Tested(Sample, Corrected),
}

impl Verdicts {
    pub(super) fn of(overview: &Overview) -> Verdicts {
        let cells = overview.cells();
        let measures: Vec<Measure> =
            measures(overview).filter(|it| it.3 != Better::Neither).collect();
        let group = |members: Vec<usize>| {
            let whole = members.iter().copied().filter(|at| !is_partial(&cells[*at]));
            let whole: Vec<usize> = whole.collect();
            let judged = |measure: &Measure| Judged::of(*measure, &whole, &cells);
            let measures = measures.iter().map(judged).collect();
            ComparedCells { members, whole, measures }
        };
        let axes = overview.axes();
        Verdicts { groups: groups(&cells, &axes).into_iter().map(group).collect() }
    }

    /// Whether the cell is the best by the measure.
    pub(super) fn is_best(&self, cell: usize, key: &str) -> bool {
        let judged = self.groups.iter().flat_map(|group| &group.measures);
        judged.filter(|it| it.measure.0 == key).any(|it| it.best.contains(&cell))
    }

    /// Whether there is anything to compare.
    pub(super) fn has_rivals(&self) -> bool {
        self.groups.iter().any(|group| group.members.len() > 1)
    }

    /// Whether some policy refused jobs that others ran.
    pub(super) fn has_partial(&self) -> bool {
        self.groups.iter().any(|group| group.whole.len() < group.members.len())
    }

    fn outcomes(&self) -> impl Iterator<Item = &PairOutcome> {
        let judged = self.groups.iter().flat_map(|group| &group.measures);
        judged.flat_map(|it| &it.pairs).map(|pair| &pair.outcome)
    }

    /// Whether differences could be tested at all.
    pub(super) fn is_tested(&self) -> bool {
        self.outcomes().any(|outcome| matches!(outcome, PairOutcome::Tested(..)))
    }

    /// What is marked, or why nothing is: a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        if !self.has_rivals() {
            return Vec::new();
        }
        let mut all = Vec::new();
        if self.has_partial() {
            all.push(
                "Policies that refused jobs ran other jobs than the rest, and their means cannot \
                 be compared: they are never the best."
                    .to_owned(),
            );
        }
        let rivals = self.groups.iter().any(|group| group.whole.len() > 1);
        all.extend(match (rivals, self.is_tested()) {
            (false, _) => None,
            (true, true) => Some(
                "Marked: the best policy, where it differs from every other for sure: paired \
                 t-test over the seeds, corrected for all pairs of policies (Holm), at 5 %."
                    .to_owned(),
            ),
            (true, false) => Some(nothing_to_say()),
        });
        all
    }
}

/// For too few seeds.
pub(super) fn nothing_to_say() -> String {
    let least = paired::PAIRS_LEAST;
    format!(
        "Which policy is best cannot be said: that takes at least {least} seeds that change the \
         jobs or the policies."
    )
}

/// Whether a policy refused jobs in any of these runs.
pub(super) fn is_partial(cell: &[&Summary]) -> bool {
    cell.iter().any(|run| run.number("refused").is_some_and(|refused| refused > 0.0))
}

/// Indices of cells that differ in the policy only, in the order of their first.
pub(super) fn groups(cells: &[Vec<&Summary>], axes: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let others = axes.iter().filter(|axis| **axis != "policy");
        let place: Vec<String> = others.map(|axis| cell[0].cell(axis)).collect();
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, members)) => members.push(at),
            None => groups.push((place, vec![at])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

impl Judged {
    fn of(measure: Measure, whole: &[usize], cells: &[Vec<&Summary>]) -> Judged {
        let (key, _, unit, better) = measure;
        let mut pairs: Vec<(usize, usize, usize, Compared)> = Vec::new();
        for (place, &one) in whole.iter().enumerate() {
            for &other in &whole[place + 1..] {
                let values = by_seed(&cells[one], &cells[other], key);
                pairs.push((one, other, values.len(), paired::compare(&values, scale(unit))));
            }
        }
        let samples: Vec<Sample> = pairs.iter().filter_map(|pair| sample(&pair.3)).collect();
        let mut corrected = paired::holm(&samples).into_iter();
        let pairs = pairs.into_iter().map(|(one, other, seeds, compared)| {
            let outcome = match (compared, sample(&compared)) {
                (Compared::Same, _) => PairOutcome::Same,
                (_, Some(sample)) => match corrected.next() {
                    Some(corrected) => PairOutcome::Tested(sample, corrected),
                    None => PairOutcome::Unknown,
                },
                _ => PairOutcome::Unknown,
            };
            Pair { one, other, seeds, outcome }
        });
        let mut judged = Judged { measure, best: Vec::new(), pairs: pairs.collect() };
        let best = |cell: &&usize| judged.beats_all(**cell, better);
        judged.best = whole.iter().filter(best).copied().collect();
        judged
    }

    /// Better than each other, or the same; better than one at least.
    fn beats_all(&self, cell: usize, better: Better) -> bool {
        let mine = || self.pairs.iter().filter(|pair| pair.has(cell));
        let beats = |pair: &Pair| pair.leader(better) == Some(cell);
        let same = |pair: &Pair| matches!(pair.outcome, PairOutcome::Same);
        mine().any(beats) && mine().all(|pair| beats(pair) || same(pair))
    }

    /// The cell of the best mean, and its pair with the rival that is hardest to tell from it.
    pub(super) fn closest(
        &self,
        cells: &[Vec<&Summary>],
        whole: &[usize],
    ) -> Option<(usize, Pair)> {
        let mean = |cell: &usize| Some((*cell, estimate(&cells[*cell], self.measure.0)?.mean));
        let means = whole.iter().filter_map(mean);
        let (leader, _) = match self.measure.3 {
            Better::Higher => means.rev().max_by(|a, b| a.1.total_cmp(&b.1))?,
            _ => means.min_by(|a, b| a.1.total_cmp(&b.1))?,
        };
        let tested = self.pairs.iter().filter(|pair| pair.has(leader));
        let p = |pair: &&Pair| match pair.outcome {
            PairOutcome::Tested(_, corrected) => corrected.p,
            _ => f64::NEG_INFINITY,
        };
        let pair = tested.max_by(|a, b| p(a).total_cmp(&p(b)))?;
        Some((leader, *pair))
    }
}

impl Pair {
    fn has(&self, cell: usize) -> bool {
        self.one == cell || self.other == cell
    }

    /// The one that is the better for sure.
    pub(super) fn leader(&self, better: Better) -> Option<usize> {
        let PairOutcome::Tested(sample, corrected) = self.outcome else { return None };
        let leads_low = if sample.is_below() { self.one } else { self.other };
        let leads_high = if sample.is_below() { self.other } else { self.one };
        match better {
            _ if !corrected.is_certain() => None,
            Better::Lower => Some(leads_low),
            Better::Higher => Some(leads_high),
            Better::Neither => None,
        }
    }
}

fn sample(compared: &Compared) -> Option<Sample> {
    match compared {
        Compared::Tested(sample) => Some(*sample),
        _ => None,
    }
}

/// Waits and slowdowns differ by a factor, shares and amounts by so much.
fn scale(unit: Unit) -> Scale {
    match unit {
        Unit::Seconds | Unit::Ratio => Scale::LogRatio,
        _ => Scale::Difference,
    }
}

/// The values of both cells under each seed that both have.
fn by_seed(one: &[&Summary], other: &[&Summary], key: &str) -> Vec<(f64, f64)> {
    let theirs: BTreeMap<String, f64> =
        other.iter().filter_map(|run| Some((run.cell(SEED), run.number(key)?))).collect();
    let pair = |run: &&Summary| Some((run.number(key)?, *theirs.get(&run.cell(SEED))?));
    one.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Runs of policies: waits by seed, and how many jobs were refused.
    fn overview(policies: &[(&str, &[f64], u64)]) -> Overview {
        let mut runs = Vec::new();
        for (policy, waits, refused) in policies {
            for (seed, wait) in waits.iter().enumerate() {
                let fields = json!({
                    "log": "x", "policy": policy, "semantics": "textbook", "overrun": "kill",
                    "estimate": "requested", "load": null, "seed": seed, "processors": 4,
                    "mean_wait_s": wait, "utilisation": 0.5 + wait / 1e4, "refused": refused,
                });
                runs.push(Summary::read(fields.to_string().as_bytes()).unwrap());
            }
        }
        Overview { runs, missing: Vec::new() }
    }

    fn best(policies: &[(&str, &[f64], u64)], key: &str) -> Vec<usize> {
        let verdicts = Verdicts::of(&overview(policies));
        (0..policies.len()).filter(|cell| verdicts.is_best(*cell, key)).collect()
    }

    const COMMON: [f64; 6] = [100.0, 900.0, 50.0, 400.0, 700.0, 20.0];

    fn times(factors: [f64; 6]) -> Vec<f64> {
        COMMON.iter().zip(factors).map(|(common, factor)| common * factor).collect()
    }

    #[test]
    fn the_best_needs_a_certain_difference_in_pairs() {
        let half = times([0.5, 0.52, 0.48, 0.5, 0.51, 0.49]);
        let unsure = times([0.5, 1.52, 0.48, 1.5, 0.71, 0.99]);
        assert_eq!(best(&[("a", &COMMON, 0), ("b", &half, 0)], "mean_wait_s"), [1]);
        let none: [usize; 0] = [];
        assert_eq!(best(&[("a", &COMMON, 0), ("b", &unsure, 0)], "mean_wait_s"), none);
        // One that is as good in the mean: neither is the best.
        let near = times([0.49, 0.51, 0.5, 0.5, 0.49, 0.51]);
        let three = [("a", &COMMON[..], 0), ("b", &half[..], 0), ("c", &near[..], 0)];
        assert_eq!(best(&three, "mean_wait_s"), none);
        // One that is the same in every run: both are.
        let three = [("a", &COMMON[..], 0), ("b", &half[..], 0), ("c", &half[..], 0)];
        assert_eq!(best(&three, "mean_wait_s"), [1, 2]);
    }

    #[test]
    fn who_refuses_jobs_is_never_the_best() {
        let half = times([0.5, 0.52, 0.48, 0.5, 0.51, 0.49]);
        let tenth = times([0.1, 0.12, 0.11, 0.1, 0.11, 0.1]);
        let runs = [("a", &COMMON[..], 0), ("b", &half[..], 0), ("c", &tenth[..], 3)];
        assert_eq!(best(&runs, "mean_wait_s"), [1]);
        let verdicts = Verdicts::of(&overview(&runs));
        assert!(verdicts.sentences()[0].contains("never the best"));
    }

    #[test]
    fn few_seeds_and_seeds_that_change_nothing_say_nothing() {
        let none: [usize; 0] = [];
        assert_eq!(best(&[("a", &[9.0], 0), ("b", &[1.0], 0)], "mean_wait_s"), none);
        let few = [("a", &COMMON[..4], 0), ("b", &[1.0, 2.0, 1.0, 2.0][..], 0)];
        assert_eq!(best(&few, "mean_wait_s"), none);
        let same = [("a", &[9.0; 6][..], 0), ("b", &[1.0; 6][..], 0)];
        assert_eq!(best(&same, "mean_wait_s"), none);
        let verdicts = Verdicts::of(&overview(&same));
        assert_eq!(verdicts.sentences(), [nothing_to_say()]);
        let lone = Verdicts::of(&overview(&[("a", &COMMON[..], 0)]));
        assert!(lone.sentences().is_empty());
    }
}
