//! The vector criterion ⟨C, B*−C, T, T*−T⟩: its Pareto front and a lexicographic choice.

use std::fmt::Write as _;

use tradewind_io::wire::combine::{Front, FrontPoint, Job, Left, Ordered};
use tradewind_model::{Limit, Money, Objective};
use tradewind_sched::combine::vector::{self, Component};
use tradewind_sched::combine::{self, Choice, Combination, Infeasible, SumLimits};

use super::Args;
use crate::exit::{Exit, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::{self, Column, Side};

/// The component of this name: `cost`, `lost-income`, `time` or `idleness`.
fn component(name: &str) -> Option<Component> {
    Some(match name {
        "cost" => Component::Cost,
        "lost-income" => Component::LostIncome,
        "time" => Component::Time,
        "idleness" => Component::Idleness,
        _ => return None,
    })
}

pub(super) fn front(jobs: &[Job], choices: &[Vec<Choice>], max: usize, format: Format) -> Outcome {
    if let Some(job) = choices.iter().position(Vec::is_empty) {
        return super::refuse(jobs, "front", &Infeasible::NoAlternative { job }, format);
    }
    let front = combine::front(choices, max);
    let point =
        |best: &Combination| FrontPoint { chosen: best.chosen.clone(), totals: super::sums(best) };
    let document =
        Front { pareto: front.points.iter().map(point).collect(), complete: front.complete };
    match format {
        Format::Json => output::json(&document)?,
        Format::Csv => output::print(&output::csv(&front_csv(&document))?)?,
        Format::Table => output::print(&front_table(&document))?,
    }
    Ok(Exit::Ok)
}

fn front_table(front: &Front) -> String {
    const COLUMNS: [Column; 2] = [("cost credits", Side::Right), ("time s", Side::Right)];
    let row =
        |point: &FrontPoint| vec![point.totals.cost.to_string(), point.totals.time.to_string()];
    let mut text = tables::table(&COLUMNS, front.pareto.iter().map(row).collect());
    let all = if front.complete { "all there are" } else { "of a larger front" };
    let points = front.pareto.len();
    let _ = writeln!(text, "\n{points} points, {all}: nothing is both cheaper and shorter");
    text
}

fn front_csv(front: &Front) -> Vec<Vec<String>> {
    let row = |point: &FrontPoint| {
        let chosen: Vec<String> = point.chosen.iter().map(usize::to_string).collect();
        vec![point.totals.cost.to_string(), point.totals.time.to_string(), chosen.join(" ")]
    };
    let head = ["cost", "time_s", "chosen"].map(str::to_owned).to_vec();
    std::iter::once(head).chain(front.pareto.iter().map(row)).collect()
}

pub(super) fn ordered(jobs: &[Job], args: &Args, format: Format) -> Outcome {
    let choices = super::choices(jobs);
    // Other names are answered by `additive`.
    let order: Vec<Component> = args.order.iter().filter_map(|name| component(name)).collect();
    let names = args.order.clone();
    let bounds = given(args);
    let found = vector::lexicographic(&choices, &order, bounds)
        .and_then(|best| Ok((left(&choices, args, &best)?, best)));
    let (vector, best) = match found {
        Ok(found) => found,
        Err(why) => return super::refuse(jobs, &names.join(","), &why, format),
    };
    match format {
        Format::Json => output::json(&Ordered {
            order: names,
            chosen: best.chosen.clone(),
            totals: super::sums(&best),
            limits: super::limits_of(bounds),
            vector,
        })?,
        Format::Csv => output::print(&output::csv(&super::csv(jobs, &best))?)?,
        Format::Table => {
            let mut text = super::table(jobs, &names.join(", then "), bounds, &best);
            let Left { lost_income, idleness } = vector;
            let _ = writeln!(text, "lost income {lost_income} credits; idleness {idleness} s");
            output::print(&text)?;
        }
    }
    Ok(Exit::Ok)
}

/// The limits as given; none where none is.
fn given(args: &Args) -> SumLimits {
    let number = |limit: Limit<i64>| match limit {
        Limit::Auto => None,
        Limit::At(limit) => Some(limit),
    };
    let (time, budget) = args.limits();
    SumLimits { time: number(time), budget: number(budget) }
}

/// B* − C and T* − T of `best`, against the limits given or else T* and B*.
fn left(choices: &[Vec<Choice>], args: &Args, best: &Combination) -> Result<Left, Infeasible> {
    let (time, budget) = args.limits();
    let t_star = match time {
        Limit::At(limit) => limit,
        Limit::Auto => combine::mean_time(choices),
    };
    let b_star = match budget {
        Limit::At(limit) => limit,
        Limit::Auto => {
            let within = SumLimits { time: Some(t_star), budget: None };
            combine::best(choices, Objective::MaxIncome, within)?.cost
        }
    };
    Ok(Left { lost_income: Money(b_star - best.cost), idleness: t_star - best.time })
}
