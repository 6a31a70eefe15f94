//! Projects, for people and spreadsheets.

use std::fmt::Write as _;

use tradewind_web::documents::{Credits, Project, ProjectMember, SpendingLimits};

use crate::client::Sent;
use crate::commands::live::Sheet;
use crate::exit::Failure;
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// One project: the document, a table of its members, or the same as CSV.
pub(super) fn one(sent: &Sent, format: Format) -> Result<(), Failure> {
    let project: Project = sent.read()?;
    match format {
        Format::Json => sent.print(),
        Format::Csv => members(&project).print_csv(),
        Format::Table => output::print_styled(&text(&project)),
    }
}

fn text(project: &Project) -> String {
    let Project { project: name, note, balance, held, spent, spent_this_month, .. } = project;
    let mut text = match note.is_empty() {
        true => format!("project {name}\n"),
        false => format!("project {name}: {note}\n"),
    };
    let _ = writeln!(text, "{balance} credits, {held} held for jobs");
    let _ = writeln!(text, "{spent} spent, {spent_this_month} of it this month");
    let _ = writeln!(text, "limit: {}", limits(&project.limits));
    for it in &project.budgets {
        let whose = it.user.as_ref().map_or(String::new(), |user| format!("{user}: "));
        let span = if it.limit == "month" { " this month" } else { "" };
        let _ = writeln!(text, "{whose}{} % used: {} of {}{span}", it.percent, it.spent, it.of);
    }
    let _ = writeln!(text, "forecast: {}", project.forecast.message);
    match project.members.is_empty() {
        true => {
            let _ = writeln!(text, "no members: `tradewind project add {name} USER` adds one");
        }
        false => {
            let _ = write!(text, "\n{}", members(project).table());
        }
    }
    text
}

fn limits(it: &SpendingLimits) -> String {
    let of = |limit: Option<Credits>, span: &str| limit.map(|it| format!("{it} credits {span}"));
    let all: Vec<String> =
        [of(it.total, "in all"), of(it.month, "a month")].into_iter().flatten().collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn members(project: &Project) -> Sheet {
    let columns = vec![
        ("MEMBER", Side::Left),
        ("ROLE", Side::Left),
        ("SPENT", Side::Right),
        ("THIS MONTH", Side::Right),
        ("LIMIT", Side::Right),
        ("LIMIT A MONTH", Side::Right),
    ];
    let cell = |amount: Option<Credits>| amount.map(|it| it.to_string()).unwrap_or_default();
    let row = |it: &ProjectMember| {
        let limits = it.limits.unwrap_or_default();
        let amounts = [it.spent, it.spent_this_month, limits.total, limits.month];
        let mut row = vec![it.user.clone(), it.role.name().to_owned()];
        row.extend(amounts.map(cell));
        row
    };
    Sheet { columns, rows: project.members.iter().map(row).collect() }
}

/// A list of projects.
pub(super) fn all(projects: &[Project]) -> Sheet {
    let columns = vec![
        ("PROJECT", Side::Left),
        ("ROLE", Side::Left),
        ("MEMBERS", Side::Right),
        ("BALANCE", Side::Right),
        ("HELD", Side::Right),
        ("SPENT", Side::Right),
        ("THIS MONTH", Side::Right),
        ("ENDS", Side::Left),
        ("NOTE", Side::Left),
    ];
    let row = |it: &Project| {
        let amounts = [it.balance, it.held, it.spent, it.spent_this_month];
        let mut row = vec![it.project.clone()];
        row.push(it.role.map(|role| role.name().to_owned()).unwrap_or_default());
        row.push(it.members.len().to_string());
        row.extend(amounts.map(|it| it.to_string()));
        row.push(it.forecast.ends.clone().unwrap_or_default());
        row.push(it.note.clone());
        row
    };
    Sheet { columns, rows: projects.iter().map(row).collect() }
}
