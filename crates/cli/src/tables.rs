//! Aligned tables for people, and names of nodes in short.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use tradewind_io::links::size_text as size;
use tradewind_model::{Grid, JobData, LicenceShare, Request, Task, Window};

use crate::output;

/// To which side a column's cells lean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Aligned to the left, for words.
    Left,
    /// Aligned to the right, for numbers.
    Right,
}

/// A column's head, with the unit, and its side.
pub(crate) type Column = (&'static str, Side);

/// `rows` under `columns`, two blanks apart, wrapped to the terminal if there is one.
pub(crate) fn table(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    within(output::width(), columns, rows)
}

fn within(width: Option<usize>, columns: &[Column], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        None => drop(table.set_content_arrangement(ContentArrangement::Disabled)),
    }
    table.set_header(columns.iter().map(|(head, _)| *head));
    let places = 0..columns.len();
    let min: Vec<u16> =
        places.clone().map(|place| least_width(cells(columns, &rows, place))).collect();
    let whole: usize = places.map(|place| whole_width(cells(columns, &rows, place)) + 2).sum();
    table.add_rows(rows);
    for ((column, (_, side)), min) in table.column_iter_mut().zip(columns).zip(min) {
        column.set_padding((0, 2));
        if width.is_some_and(|width| whole > width) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(min + 2)));
        }
        column.set_cell_alignment(match side {
            Side::Left => CellAlignment::Left,
            Side::Right => CellAlignment::Right,
        });
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The longest word that is not broken, in columns: a moment is one.
const WORD: usize = 19;
/// What columns with longer words have at least.
const NARROW: usize = 8;

/// A column's head and cells.
fn cells<'a>(
    columns: &'a [Column],
    rows: &'a [Vec<String>],
    place: usize,
) -> impl Iterator<Item = &'a str> {
    let head = columns.get(place).map_or("", |(head, _)| *head);
    rows.iter().filter_map(move |row| row.get(place)).map(String::as_str).chain([head])
}

/// How wide a column must be so that no word of it is broken, unless it has very long ones.
fn least_width<'a>(cells: impl Iterator<Item = &'a str>) -> u16 {
    let words = cells.flat_map(str::split_whitespace);
    let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
    let min = if longest > WORD { NARROW } else { longest };
    u16::try_from(min).unwrap_or(u16::MAX)
}

/// How wide a column is of which no line is broken.
fn whole_width<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0)
}

/// The name of each task's node, separated by blanks.
pub(crate) fn node_names(grid: &Grid, window: &Window) -> String {
    let names: Vec<&str> = window.tasks().iter().map(|t| grid.node(t.node).name.as_str()).collect();
    names.join(" ")
}

/// The nodes of a job's window in short, and of a moldable job the shape that it has.
pub(crate) fn nodes_of(grid: &Grid, window: &Window, request: &Request) -> String {
    let nodes = nodes_in_short(grid, window);
    let width = u32::try_from(window.tasks().len()).unwrap_or(u32::MAX);
    match request.shapes.as_ref().and_then(|shapes| shapes.of_width(width)) {
        Some(shape) => format!("shape {} x {} s: {nodes}", shape.nodes, shape.time),
        None => nodes,
    }
}

/// What a job takes along, in words: `4 abaqus, 1 matlab`.
pub(crate) fn licences_in_words(grid: &Grid, shares: &[LicenceShare]) -> String {
    let words = |share: &LicenceShare| {
        let licence = grid.licences().get(share.licence.index());
        format!("{} {}", share.count, licence.map_or("", |licence| &licence.name))
    };
    shares.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// A job's data, in words: `input 2 TB from alpha, output 100 GB to alpha`.
pub(crate) fn data_in_words(data: &JobData) -> String {
    let input = (data.input > 0).then(|| format!("input {} from {}", size(data.input), data.from));
    let output = (data.output > 0).then(|| format!("output {} to {}", size(data.output), data.to));
    input.into_iter().chain(output).collect::<Vec<_>>().join(", ")
}

/// The names of a window's nodes; before that of a shared node, how many tasks it has: `8×lyra1`.
fn names(grid: &Grid, window: &Window) -> Vec<String> {
    let of_node = |tasks: &[Task]| {
        let name = grid.node(tasks[0].node).name.clone();
        match window.each() {
            Some(_) => format!("{}×{name}", tasks.len()),
            None => name,
        }
    };
    window.tasks().chunk_by(|one, other| one.node == other.node).map(of_node).collect()
}

/// The nodes of a window in short: `lyra[1-3], orion2`, or `8×lyra[1-3]` with tasks that share nodes, at most [`RUNS_MOST`] runs of names.
fn nodes_in_short(grid: &Grid, window: &Window) -> String {
    let names = names(grid, window);
    let runs = runs(&names.iter().map(String::as_str).collect::<Vec<_>>());
    if runs.len() <= RUNS_MOST {
        let all: Vec<String> = runs.iter().map(NameRange::text).collect();
        return all.join(", ");
    }
    let shown: Vec<String> = runs[..RUNS_MOST - 1].iter().map(NameRange::text).collect();
    let rest: u64 = runs[RUNS_MOST - 1..].iter().map(|run| run.last - run.first + 1).sum();
    format!("{}, {rest} more", shown.join(", "))
}

const RUNS_MOST: usize = 3;

/// Names that differ by a number that counts up: `p007` to `p019`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NameRange {
    stem: String,
    /// Digits of the number; 0 if the name has none.
    digits: usize,
    first: u64,
    last: u64,
}

impl NameRange {
    fn of(name: &str) -> NameRange {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        match name[stem.len()..].parse() {
            Ok(number) => {
                let digits = name.len() - stem.len();
                NameRange { stem: stem.to_owned(), digits, first: number, last: number }
            }
            Err(_) => NameRange { stem: name.to_owned(), digits: 0, first: 0, last: 0 },
        }
    }

    fn takes(&self, next: &NameRange) -> bool {
        let widths = self.digits == next.digits || !self.padded() && !next.padded();
        next.digits > 0 && self.stem == next.stem && widths && self.last + 1 == next.first
    }

    fn padded(&self) -> bool {
        self.digits > self.first.to_string().len()
    }

    fn text(&self) -> String {
        let NameRange { stem, digits, first, last } = self;
        match (digits, first == last) {
            (0, _) => stem.clone(),
            (_, true) => format!("{stem}{first:0digits$}"),
            (_, false) => format!("{stem}[{first:0digits$}-{last:0digits$}]"),
        }
    }
}

fn runs(names: &[&str]) -> Vec<NameRange> {
    let mut runs: Vec<NameRange> = Vec::new();
    for name in names {
        let next = NameRange::of(name);
        match runs.last_mut() {
            Some(run) if run.takes(&next) => run.last = next.last,
            _ => runs.push(next),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(names: &[&str]) -> Vec<String> {
        runs(names).iter().map(NameRange::text).collect()
    }

    #[test]
    fn names_that_count_up_become_one_run() {
        assert_eq!(short(&["p01", "p02", "p03", "q1"]), ["p[01-03]", "q1"]);
        assert_eq!(short(&["p9", "p10", "p12"]), ["p[9-10]", "p12"]);
        assert_eq!(short(&["p09", "p010"]), ["p09", "p010"]);
        assert_eq!(short(&["big", "bigger", "7", "8"]), ["big", "bigger", "[7-8]"]);
    }

    #[test]
    fn moments_are_not_broken_and_long_lists_are() {
        let columns = [("SINCE", Side::Left), ("ENDED", Side::Left), ("NODELIST", Side::Left)];
        let moment = "2026-11-22T01:10:57".to_owned();
        let nodes = (1..=20).map(|node| format!("alpha{node}")).collect::<Vec<_>>().join(",");
        let row = vec![vec![moment.clone(), moment.clone(), nodes.clone()]];
        let text = within(Some(100), &columns, row.clone());
        assert_eq!(text.matches(&moment).count(), 2, "{text}");
        assert!(text.lines().count() > 2, "{text}");
        let text = within(None, &columns, row);
        assert!(text.lines().count() == 2 && text.contains(&nodes), "{text}");
    }

    #[test]
    fn absurd_numbers_are_names() {
        let long = "n99999999999999999999999999";
        assert_eq!(short(&[long]), [long]);
    }
}
