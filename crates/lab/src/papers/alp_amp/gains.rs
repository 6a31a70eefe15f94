//! What ours adds to the papers' AMP and to their combination, on the same cycles.

use super::cycles::OURS;
use crate::findings::Gain;
use crate::tally::Tally;

/// What each of [`OURS`] is.
fn name(ours: &str) -> &'static str {
    match ours {
        "amp-each-start" => "AMP with the budget tested once all slots of one start are in",
        "rho-0.8" => "AMP with 0.8 S (the papers' proposal)",
        "best-finish" => "windows of earliest finish within S, exact, instead of AMP",
        "best-runtime" => "windows of least runtime within S, exact, instead of AMP",
        _ => "windows of least cost within S, exact, instead of AMP",
    }
}

/// Each against AMP as printed, both with the best combination; then the exact combination
/// against the recursion over whole units and credits.
pub(super) fn all(tally: &Tally) -> Vec<Gain> {
    let mut gains = Vec::new();
    for ours in OURS {
        let gain =
            |measure, pair: &str| gain(tally, name(ours), measure, &format!("{ours}/{pair}"));
        gains.push(gain("least time: time per job", "least-time/time"));
        gains.push(gain("least cost: cost per job", "least-cost/cost"));
        gains.push(gain("alternatives in a cycle", "windows"));
    }
    let name = "the exact combination instead of the recursion over whole units and credits";
    gains.push(gain(tally, name, "least time: time per job", "combination/least-time/time"));
    gains.push(gain(tally, name, "least cost: cost per job", "combination/least-cost/cost"));
    gains
}

fn gain(tally: &Tally, name: &'static str, measure: &'static str, pair: &str) -> Gain {
    let pairs = tally.pairs(&format!("gain/{pair}"));
    let [ours, paper] = pairs.means();
    Gain { name, measure, paper, ours, ratio: pairs.ratio() }
}

/// What limits these comparisons, and the printed T*.
pub(super) fn notes(tally: &Tally) -> Vec<String> {
    let share = |name: &str| 100.0 * tally.mean(name).mean;
    let lost = |which: &str| 100.0 - share(&format!("{which}/printed-limit-kept"));
    vec![
        format!(
            "T* of equation (2) as printed, with the brackets round each term, cannot be kept in \
             {:.0} % of the counted experiments with ALP and {:.0} % with AMP; with the bracket \
             round each job's mean it always can.",
            lost("alp"),
            lost("amp")
        ),
        format!(
            "With 0.8 S, {:.0} % of the cycles that count have a job without a window; they are \
             left out of its rows.",
            share("gain/rho-0.8/lacks")
        ),
    ]
}
