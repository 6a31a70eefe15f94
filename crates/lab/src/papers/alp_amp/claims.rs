//! What papers 001 and 002 say of their study in words.

use super::cycles::SHOWN;
use crate::findings::Claim;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

/// Of the single experiments in the figure.
pub(super) fn of_single_experiments(tally: &Tally) -> Vec<Claim> {
    let times = |name: &str| {
        let points = tally.points(&format!("least-time/{name}/time"));
        points.iter().take(SHOWN).map(|point| point.1).collect::<Vec<f64>>()
    };
    let (alp, amp) = (times("alp"), times("amp"));
    let faster = alp.iter().zip(&amp).filter(|(alp, amp)| amp < alp).count();
    let share = Estimate::exact(faster as f64 / alp.len() as f64);
    let measured = format!("AMP is faster in {faster} of {}", alp.len());
    let all = tally.mean("least-time/amp-faster");
    let of_all = format!("{} of {} counted experiments", percent(all.mean), all.count);
    vec![
        Claim::always("AMP is faster in every single one of the first 300", share, measured)
            .because("Where the only node fast enough is cheap, both find the same windows."),
        Claim::always("AMP is faster in every experiment", all, of_all)
            .because("Where the only node fast enough is cheap, both find the same windows."),
    ]
}

/// Of the text of sections 5 and 6.
pub(super) fn of_the_text(tally: &Tally) -> Vec<Claim> {
    let mut claims = about_cost(tally);
    claims.extend(about_alternatives(tally));
    claims.extend(about_counts(tally));
    claims
}

fn about_cost(tally: &Tally) -> Vec<Claim> {
    let more = |goal: &str| {
        let ratio = tally.pairs(&format!("{goal}/cost")).ratio();
        ratio.map(|alp_over_amp| 1.0 / alp_over_amp - 1.0)
    };
    let (time, cost) = (more("least-time"), more("least-cost"));
    let dearer = tally.mean("least-cost/amp-dearer");
    let rho = tally.pairs("gain/rho-0.8/least-cost/cost").ratio();
    vec![
        Claim::positive(
            "AMP's batches cost more on average, whatever is minimised",
            if time.low < cost.low { time } else { cost },
            format!("{} more for least time, {} for least cost", percent(time.mean), percent(cost.mean)),
        ),
        Claim::always(
            "AMP is always dearer, also for least cost",
            dearer,
            format!("in {} of {} experiments", percent(dearer.mean), dearer.count),
        )
        .because("On average it is; in single cycles AMP finds the cheaper windows, because it may take a dear node beside cheap ones."),
        Claim::positive(
            "A budget of 0.8 S lowers what AMP costs",
            rho.map(|ratio| 1.0 - ratio),
            format!("{} less for least cost, where every job still has a window", percent(1.0 - rho.mean)),
        ),
        Claim::positive(
            "AMP uses up more of the budget than ALP",
            gap(tally, "amp/budget-used", "alp/budget-used"),
            format!(
                "a window takes {} of S with AMP, {} with ALP",
                percent(tally.mean("amp/budget-used").mean),
                percent(tally.mean("alp/budget-used").mean)
            ),
        ),
    ]
}

fn about_alternatives(tally: &Tally) -> Vec<Claim> {
    let within = tally.mean("alp-window/within-budget");
    let no_later = tally.mean("alp-window/amp-no-later");
    let contained = if no_later.mean < within.mean { no_later } else { within };
    let mean = |name: &str| tally.mean(name).mean;
    let several = mean("amp/alternatives") / mean("alp/alternatives");
    let spread = |what: &str| gap(tally, &format!("amp/{what}"), &format!("alp/{what}"));
    let (in_time, in_cost) = (spread("spread-time"), spread("spread-cost"));
    let moved = |name: &str| {
        mean(&format!("least-cost/{name}/time")) / mean(&format!("least-time/{name}/time")) - 1.0
    };
    vec![
        Claim::always(
            "Any window that ALP finds AMP can find too",
            contained,
            format!(
                "of {} first windows of ALP {} cost more than S, and AMP's start later for {}",
                within.count,
                exceptions(within),
                exceptions(no_later)
            ),
        )
        .because(
            "Lengths of tasks are rounded up to whole units and the time that S pays for is not, \
             so that a window at the very cap may cost a little more than S.",
        ),
        Claim::new(
            "On the same slots AMP finds several times as many alternatives",
            if several >= 2.0 { Verdict::Reproduced } else { Verdict::NotReproduced },
            format!("{several:.1} times as many per job"),
        )
        .because("The price cap decides how many nodes ALP may use."),
        Claim::positive(
            "ALP's alternatives are alike in time and cost",
            if in_time.low < in_cost.low { in_time } else { in_cost },
            format!(
                "standard deviation over mean: time {:.3} (AMP {:.3}), cost {:.3} (AMP {:.3})",
                mean("alp/spread-time"),
                mean("amp/spread-time"),
                mean("alp/spread-cost"),
                mean("amp/spread-cost")
            ),
        ),
        Claim::new(
            "With ALP the criterion makes little difference to the batch",
            if moved("alp") < 0.05 && moved("alp") < moved("amp") {
                Verdict::Reproduced
            } else {
                Verdict::NotReproduced
            },
            format!(
                "from least time to least cost, time grows by {} with ALP, by {} with AMP",
                percent(moved("alp")),
                percent(moved("amp"))
            ),
        )
        .because("The price cap decides how much ALP's windows differ."),
    ]
}

fn about_counts(tally: &Tally) -> Vec<Claim> {
    let (slots, all_slots) = (tally.mean("slots"), tally.mean("all/slots"));
    let (jobs, all_jobs) = (tally.mean("jobs"), tally.mean("all/jobs"));
    let apart = (slots.mean / all_slots.mean - 1.0).abs();
    let fails = |name: &str| tally.mean(&format!("all/{name}/lacks"));
    vec![
        Claim::new(
            "The number of slots does not decide whether an experiment counts",
            if apart < 0.01 { Verdict::Reproduced } else { Verdict::NotReproduced },
            format!("{:.2} slots in those that count, {:.2} in all", slots.mean, all_slots.mean),
        )
        .because("More slots make it a little likelier that ALP finds a window for every job."),
        Claim::positive(
            "Experiments that count have fewer jobs than others",
            gap(tally, "all/jobs", "jobs"),
            format!("{:.2} jobs in those that count, {:.2} in all", jobs.mean, all_jobs.mean),
        ),
        Claim::positive(
            "It is ALP that finds nothing for some job where an experiment does not count",
            gap(tally, "all/alp/lacks", "all/amp/lacks"),
            format!(
                "ALP fails in {}, AMP in {} of the cycles",
                percent(fails("alp").mean),
                percent(fails("amp").mean)
            ),
        ),
    ]
}

/// The difference of two means, as if they were independent.
fn gap(tally: &Tally, more: &str, less: &str) -> Estimate {
    let (more, less) = (tally.mean(more), tally.mean(less));
    let half = more.half_width().hypot(less.half_width());
    let mean = more.mean - less.mean;
    Estimate { mean, low: mean - half, high: mean + half, count: more.count.min(less.count) }
}

/// How many of the cases behind a share it does not hold for.
fn exceptions(share: Estimate) -> u64 {
    ((1.0 - share.mean) * share.count as f64).round() as u64
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
