//! The best of several searches: windows that lie at one site, or have one of several shapes.

use std::collections::BTreeSet;

use tradewind_model::{Grid, Money, NodeId, Reason, SiteId, Span, Task, Window};

use super::csa::Score;
use super::prepared::PreparedRequest;
use super::ranking::NodeRanking;
use super::search::{Found, Proof};

/// The ranking of each site's nodes, by site; empty if all lie at one.
pub(super) fn rankings(grid: &Grid, ranking: &NodeRanking) -> Vec<NodeRanking> {
    let site = |node: NodeId| grid.node(node).site;
    let sites: BTreeSet<SiteId> = ranking.nodes.iter().map(|it| site(it.node)).collect();
    match sites.len() {
        0 | 1 => Vec::new(),
        _ => sites.iter().map(|of| ranking.keeping(|it| site(it.node) == *of)).collect(),
    }
}

/// The best of the windows of several searches, each with what was searched for; equals are
/// ordered by their nodes, as within one search.
pub(super) fn best<'s>(
    windows: impl Iterator<Item = (&'s PreparedRequest, Found)>,
) -> Option<Found> {
    best_by_key(windows.map(|(site, found)| (key(site, &found.window), found)))
}

/// The same for windows that are already ordered.
pub(super) fn best_by_key(windows: impl Iterator<Item = (WindowKey, Found)>) -> Option<Found> {
    let mut best: Option<(WindowKey, Found)> = None;
    let mut bound = i128::MAX;
    let mut is_heuristic = false;
    for (key, found) in windows {
        match found.proof {
            Proof::Exact => bound = bound.min(key.0.value()),
            Proof::Gap { bound: proven } => bound = bound.min(i128::from(proven)),
            Proof::Heuristic => is_heuristic = true,
        }
        if best.as_ref().is_none_or(|(min, _)| key < *min) {
            best = Some((key, found));
        }
    }
    let (key, found) = best?;
    let proof = match (is_heuristic, bound < key.0.value()) {
        (true, _) => Proof::Heuristic,
        (false, true) => Proof::Gap { bound: i64::try_from(bound).unwrap_or(i64::MIN) },
        (false, false) => Proof::Exact,
    };
    Some(Found { proof, ..found })
}

/// What windows of different sites are ordered by: the score, then cost, length and number of each
/// node.
pub(super) type WindowKey = (Score, Vec<(Money, Span, NodeId)>);

fn key(site: &PreparedRequest, window: &Window) -> WindowKey {
    let criterion = site.search.algorithm.criterion();
    let score = Score::of_window(criterion, window, &site.ranking);
    let of = |task: &Task| (task.cost, task.length, task.node);
    let mut nodes: Vec<_> = window.tasks().iter().map(of).collect();
    nodes.sort_unstable();
    (score, nodes)
}

/// Of the sites' reasons the one of the site that is nearest to having a window: short of money,
/// then of licences, of nodes that are free together, of suitable nodes; each time the one that lacks fewest.
pub(super) fn nearest(reasons: impl Iterator<Item = Reason>) -> Option<Reason> {
    reasons.min_by_key(|reason| match reason {
        Reason::BudgetShort { cheapest, .. } => (0, cheapest.0),
        Reason::LicenceShort { max, .. } => (1, -i64::from(*max)),
        Reason::NoCommonTime { max, .. } => (2, -i64::from(*max)),
        Reason::TooFewNodes { suitable, .. } => (3, -i64::from(*suitable)),
        _ => (4, 0),
    })
}
