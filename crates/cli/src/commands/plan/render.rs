//! A plan as a table with a chart, and as CSV.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use tradewind_io::chart::{self, Chart, Glyphs, TextOptions};
use tradewind_io::scenario::component_name;
use tradewind_io::wire;
use tradewind_model::{
    Gap, JobPlan, Money, Objective, Outcome, Plan, Quantity, Snapshot, Span, Sum, Window,
};

use crate::output;
use crate::tables::{self, Column, Side};

const COLUMNS: [Column; 7] = [
    ("job", Side::Left),
    ("start s", Side::Right),
    ("finish s", Side::Right),
    ("runtime s", Side::Right),
    ("cost credits", Side::Right),
    ("chosen", Side::Right),
    ("nodes", Side::Left),
];

/// Where columns stand that only some plans have: licences, and how long data takes.
const OTHERS_AT: usize = 6;

/// Placed jobs, postponed jobs with their reasons, sums, and the chart.
pub(super) fn table(snapshot: &Snapshot, plan: &Plan, title: &str, chart: &Chart) -> String {
    let mut rows = Vec::new();
    let mut postponed = Vec::new();
    let has_licences = snapshot.jobs.iter().any(|job| job.request.licences.is_some());
    let has_data = snapshot.jobs.iter().any(|job| job.request.data.is_some());
    let mut columns = COLUMNS.to_vec();
    if has_licences {
        columns.insert(OTHERS_AT, ("licences", Side::Left));
    }
    if has_data {
        columns.insert(OTHERS_AT, ("for data s", Side::Right));
    }
    for (job, planned) in snapshot.jobs.iter().zip(&plan.jobs) {
        match (&planned.outcome, planned.window()) {
            (Outcome::Placed(index), Some(window)) => {
                let mut row = vec![
                    job.name.clone(),
                    window.start().to_string(),
                    window.finish().to_string(),
                    window.runtime().to_string(),
                    window.cost().to_string(),
                    format!("{} of {}", index + 1, alternatives(planned)),
                    tables::nodes_of(&snapshot.grid, window, &job.request),
                ];
                if has_licences {
                    let shares = window.licences().map_or(&[][..], |shares| shares);
                    row.insert(OTHERS_AT, tables::licences_in_words(&snapshot.grid, shares));
                }
                if has_data {
                    let staged = wire::staged(window, &job.request, &snapshot.grid);
                    let longest = staged.values().map(|it| it.stage_in + it.stage_out).max();
                    row.insert(OTHERS_AT, longest.unwrap_or(0).to_string());
                }
                rows.push(row);
            }
            (Outcome::Postponed(reason), _) => postponed.push((&job.name, reason.to_string())),
            (Outcome::Placed(_), None) => {}
        }
    }
    let mut text = format!("{}\n\n", title.bold());
    if !rows.is_empty() {
        text.push_str(&tables::table(&columns, rows));
        text.push('\n');
    }
    for (name, reason) in &postponed {
        let _ = writeln!(text, "{} {name}: {reason}", "postponed".yellow());
    }
    if !postponed.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{}\n", sums(snapshot, plan));
    let width = output::width().unwrap_or(output::DRAWING);
    text.push_str(&chart::text(chart, TextOptions { width, glyphs: glyphs() }));
    text
}

/// `50+` when the search stopped at the allowed number.
fn alternatives(planned: &JobPlan) -> String {
    let more = if planned.cut { "+" } else { "" };
    format!("{}{more}", planned.alternatives.len())
}

/// "6 of 8 jobs placed; time 420 s (limit 500 s); …".
fn sums(snapshot: &Snapshot, plan: &Plan) -> String {
    let totals = plan.totals(snapshot.policy.measure);
    let time = |limit: Span| format!(" (limit {limit} s)");
    let money = |limit: Money| format!(" (limit {limit})");
    let unproven = if plan.gap.is_some() { "; not proven best" } else { "" };
    let more = more_sums(snapshot, plan);
    format!(
        "{} of {} jobs placed; time {} s{}; cost {} credits{}{}; processor time {} s{more}{unproven}",
        totals.placed,
        plan.jobs.len(),
        totals.time,
        plan.limits.time.map(time).unwrap_or_default(),
        totals.cost,
        plan.limits.budget.map(money).unwrap_or_default(),
        of_licences(plan),
        totals.processor_time,
    )
}

/// ", 30 of them for licences", where they cost something.
fn of_licences(plan: &Plan) -> String {
    let windows = plan.jobs.iter().filter_map(JobPlan::window);
    match windows.map(Window::licences_cost).sum() {
        Money(0) => String::new(),
        cost => format!(", {cost} of them for licences"),
    }
}

/// "; energy 2.5 kWh (limit 3 kWh)" for each quantity that is summed beside time and cost.
fn more_sums(snapshot: &Snapshot, plan: &Plan) -> String {
    let mut text = String::new();
    let limits = &snapshot.policy.criteria.limits;
    for quantity in wire::summed(snapshot) {
        let limit = limits.iter().find(|(it, _)| *it == quantity).map(|(_, limit)| *limit);
        // Time, cost and processor time stand there already.
        let known = matches!(quantity, Quantity::Cost | Quantity::Time | Quantity::ProcessorTime);
        if known && limit.is_none() {
            continue;
        }
        let sum = quantity.show(wire::sum_of(&quantity, snapshot, plan));
        let limit = limit.map(|limit| format!(" (limit {})", quantity.show(limit)));
        let _ = write!(text, "; {} {sum}{}", quantity.name(), limit.unwrap_or_default());
    }
    text
}

/// What better choices could reach: "any places at most 8 jobs, and …".
pub(super) fn gap(gap: &Gap, objective: Objective) -> String {
    let sum = match &gap.sum {
        Sum::Time(time) => format!("{time} s"),
        Sum::Cost(cost) => format!("{cost} credits"),
        Sum::Of(component, bound) => {
            let name = component_name(component);
            let bound = component.quantity.show(*bound);
            return format!("no choice of {} jobs has `{name}` better than {bound}", gap.placed);
        }
    };
    let (bound, quantity) = match objective {
        Objective::MinTime => ("least", "takes"),
        Objective::MinCost => ("least", "costs"),
        Objective::MaxIncome => ("most", "earns"),
        Objective::MinIdle => ("most", "uses"),
    };
    format!(
        "none places more than {} jobs, and one of as many as here {quantity} {sum} at {bound}",
        gap.placed
    )
}

/// Unicode unless the locale says plainly that the terminal cannot show it.
fn glyphs() -> Glyphs {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    match locale.as_deref() {
        Some("C" | "POSIX") => Glyphs::Ascii,
        _ => Glyphs::Unicode,
    }
}

/// One line per job in the order of the file.
pub(super) fn csv(snapshot: &Snapshot, plan: &Plan) -> Vec<Vec<String>> {
    let head = "job,status,start_s,finish_s,runtime_s,cost,processor_time_s,alternatives,cut,reason,\
                nodes";
    let mut rows = vec![head.split(',').map(str::to_owned).collect()];
    for (job, planned) in snapshot.jobs.iter().zip(&plan.jobs) {
        let mut row = vec![job.name.clone()];
        match planned.window() {
            Some(window) => row.extend([
                "placed".to_owned(),
                window.start().to_string(),
                window.finish().to_string(),
                window.runtime().to_string(),
                window.cost().to_string(),
                window.processor_time().to_string(),
            ]),
            None => {
                row.push("postponed".to_owned());
                row.extend(std::iter::repeat_n(String::new(), 5));
            }
        }
        row.push(planned.alternatives.len().to_string());
        row.push(planned.cut.to_string());
        row.push(match &planned.outcome {
            Outcome::Postponed(reason) => reason.code().to_owned(),
            Outcome::Placed(_) => String::new(),
        });
        row.push(
            planned
                .window()
                .map_or_else(String::new, |window| tables::node_names(&snapshot.grid, window)),
        );
        rows.push(row);
    }
    rows
}
