//! What whole-batch planning gains on the batches of 001: the paper's own future work.

use tradewind_io::chart::{Mark, Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};

use super::cycles::GOALS;
use super::whole::{CYCLES, SCARCELY, SCHEMES};
use crate::case::Case;
use crate::findings::{Claim, Figure, Findings, Gain};
use crate::study::Study;
use crate::tally::{Estimate, Tally};

pub(super) static WHOLE: Study = Study {
    id: "001-whole-batch",
    title: "Beyond the paper: windows that may overlap until the choice, beside CSS and batch-slicer",
    experiment: &CYCLES,
    findings,
};

fn findings(_: &Case, tally: &Tally) -> Findings {
    Findings {
        claims: claims(tally),
        gains: gains(tally),
        figure: Some(figure(tally)),
        notes: notes(tally),
        ..Findings::default()
    }
}

/// All that is planned.
const PLANNED: [&str; 3] = [GOALS[0].0, GOALS[1].0, SCARCELY];

/// The worst of all.
fn min(tally: &Tally, name: &str) -> Estimate {
    let all = PLANNED.map(|goal| tally.mean(&format!("{goal}/whole/{name}")));
    all.into_iter().min_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or_else(Estimate::none)
}

/// "12.3 % of 3000 cycles for least time, …".
fn shares(tally: &Tally, name: &str) -> String {
    let of_goal = |goal: &str| {
        let share = tally.mean(&format!("{goal}/whole/{name}"));
        format!("{} of {} cycles {}", percent(share.mean), share.count, words(goal))
    };
    PLANNED.map(of_goal).join(", ")
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let saved = |goal: &str, than: &str| {
        tally.pairs(&format!("{goal}/whole/over-{than}/sum")).ratio().map(|ratio| 1.0 - ratio)
    };
    let (time, cost) = (saved("least-time", "css"), saved("least-cost", "css"));
    let (time_best, cost_best) = (saved("least-time", "best"), saved("least-cost", "best"));
    let more = |than: &str| tally.pairs(&format!("scarce/whole/over-{than}/placed")).difference();
    let (more, more_best) = (more("css"), more("best"));
    let more_in = |than: &str| percent(tally.mean(&format!("scarce/whole/over-{than}/more")).mean);
    let better = "The limits differ: T* and B* of batch-slicer are those of its sub-batches.";
    vec![
        Claim::always(
            "Whole-batch places at least as many jobs as CSS in every cycle",
            min(tally, "over-css/no-fewer"),
            shares(tally, "over-css/no-fewer"),
        ),
        Claim::always(
            "Where both place as many, its criterion is never worse than that of CSS",
            min(tally, "over-css/no-worse"),
            shares(tally, "over-css/no-worse"),
        ),
        Claim::always(
            "Every choice is proven best among the windows found",
            min(tally, "proven"),
            shares(tally, "proven"),
        )
        .because("The choice may take only so many looks (`choice-limit`)."),
        Claim::positive(
            "Where slots are scarce it places more jobs than CSS",
            more,
            format!("{:.3} more in a cycle; more in {} of them", more.mean, more_in("css")),
        ),
        Claim::positive(
            "Where slots are scarce it places more jobs than the best of CSS and batch-slicer",
            more_best,
            format!("{:.3} more in a cycle; more in {} of them", more_best.mean, more_in("best")),
        ),
        saves("Its batches take less time than those of CSS, for least time", time),
        saves("They cost less than those of CSS, for least cost", cost),
        saves("They take less time than the best of CSS and batch-slicer", time_best)
            .because(better),
        saves("They cost less than the best of CSS and batch-slicer", cost_best).because(better),
    ]
}

fn saves(text: &'static str, saved: Estimate) -> Claim {
    let measured = format!(
        "{} less (from {} to {}), over {} cycles in which both place all jobs",
        percent(saved.mean),
        percent(saved.low),
        percent(saved.high),
        saved.count
    );
    Claim::positive(text, saved, measured).because("Both find windows as good.")
}

/// Each scheme in the place of CSS, then whole-batch in that of batch-slicer at its best.
fn gains(tally: &Tally) -> Vec<Gain> {
    let mut gains = Vec::new();
    for scheme in &SCHEMES[1..] {
        for (goal, _) in GOALS {
            let pair = format!("{goal}/{scheme}/over-css");
            gains.push(gain(tally, instead(scheme), per_job(goal), &format!("{pair}/sum")));
        }
        let placed = format!("scarce/{scheme}/over-css/placed");
        gains.push(gain(tally, instead(scheme), "scarce slots: jobs placed in a cycle", &placed));
        let windows = format!("least-time/{scheme}/over-css/windows");
        gains.push(gain(tally, instead(scheme), "windows found in a cycle", &windows));
    }
    for (goal, _) in GOALS {
        let name = "whole-batch instead of the best of CSS and batch-slicer";
        gains.push(gain(tally, name, per_job(goal), &format!("{goal}/whole/over-best/sum")));
    }
    gains
}

fn instead(scheme: &str) -> &'static str {
    match scheme {
        "slicer-2" => "batch-slicer in 2 parts instead of CSS",
        "slicer-3" => "batch-slicer in 3 parts instead of CSS",
        "slicer-n" => "batch-slicer job by job instead of CSS",
        "slicer-best" => "the best of CSS and batch-slicer instead of CSS",
        _ => "whole-batch instead of CSS",
    }
}

fn per_job(goal: &str) -> &'static str {
    match goal {
        "least-time" => "least time: time per job",
        _ => "least cost: cost per job",
    }
}

fn words(goal: &str) -> &'static str {
    match goal {
        "least-time" => "for least time",
        "least-cost" => "for least cost",
        _ => "with scarce slots",
    }
}

fn gain(tally: &Tally, name: &'static str, measure: &'static str, pair: &str) -> Gain {
    let pairs = tally.pairs(pair);
    let [ours, paper] = pairs.means();
    Gain { name, measure, paper, ours, ratio: pairs.ratio() }
}

fn figure(tally: &Tally) -> Figure {
    let panel = |up: &str, key: fn(&str) -> String| {
        let value = |(at, scheme): (usize, &&str)| {
            let mean = tally.mean(&key(scheme));
            PlotValue { x: at as f64, y: mean.mean, interval: Some((mean.low, mean.high)) }
        };
        let names = ["CSS", "2 parts", "3 parts", "by job", "best", "whole"];
        PlotPanel {
            up: up.to_owned(),
            across: PlotAcross::Cases(names.map(str::to_owned).to_vec()),
            series: vec![PlotSeries {
                name: "measured".to_owned(),
                mark: Mark::Bars,
                values: SCHEMES.iter().enumerate().map(value).collect(),
            }],
        }
    };
    let plot = Plot {
        title: WHOLE.title.to_owned(),
        subtitle: "sums over the cycles in which every scheme places all jobs".to_owned(),
        panels: vec![
            panel("least time: time per job, units", |it| format!("least-time/{it}/sum")),
            panel("least cost: cost per job, credits", |it| format!("least-cost/{it}/sum")),
            panel("scarce slots: jobs placed", |it| format!("scarce/{it}/placed")),
        ],
        notes: Vec::new(),
    };
    Figure::Picture(Box::new(Picture::Plot(plot)))
}

/// The gain in one sentence, or that there is none, and what it takes.
fn notes(tally: &Tally) -> Vec<String> {
    let saved = |goal: &str| {
        let ratio = tally.pairs(&format!("{goal}/whole/over-css/sum")).ratio();
        ratio.map(|ratio| 1.0 - ratio)
    };
    let gain = |goal: &str, what: &str| {
        let saved = saved(goal);
        match saved.low > 0.0 {
            true => format!("{} less {what}", percent(saved.mean)),
            false => format!("no gain in {what}"),
        }
    };
    let pairs = |what: &str| tally.pairs(&format!("least-time/whole/over-css/{what}"));
    let complete =
        |goal: &str, scheme: &str| percent(tally.mean(&format!("{goal}/{scheme}/complete")).mean);
    let looks = tally.mean("least-time/whole/looks").mean;
    let max = tally.series("least-time/whole/looks").max;
    vec![
        format!(
            "Against CSS under the same limits, letting windows overlap until the choice gives {} \
             (for least time) and {} (for least cost).",
            gain("least-time", "time"),
            gain("least-cost", "cost"),
        ),
        format!(
            "All jobs are placed in {} of the cycles by CSS and in {} by whole-batch: slots are \
             plenty there. Where only a part of them is left (`scarce-slots`), it is {} and {}.",
            complete("least-time", "css"),
            complete("least-time", "whole"),
            complete(SCARCELY, "css"),
            complete(SCARCELY, "whole"),
        ),
        format!(
            "It finds {:.1} times as many windows, and its choices look at a window {looks:.0} times \
             in a cycle in the mean, {max:.0} times at most (least time).",
            pairs("windows").ratio().mean
        ),
        "Limits of CSS and whole-batch are the same by definition; batch-slicer has T* and B* of \
         its sub-batches, which may be wider (`--set slicer-limits=css` gives it those of CSS)."
            .to_owned(),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
