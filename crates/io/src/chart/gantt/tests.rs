use proptest::prelude::*;
use tradewind_model::{Horizon, Time};

use super::cells::Grid;
use super::{GanttBar, Paint};

fn bar(paint: Paint, (first, last): (u32, u32), (start, end): (i64, i64)) -> GanttBar {
    let parts = vec![(first, last, Time(end))];
    GanttBar {
        paint,
        start: Time(start),
        parts,
        fate: None,
        name: String::new(),
        title: String::new(),
    }
}

/// Bars on 12 processors within 60 s that do not overlap: one or none per processor and 10 s.
fn bars() -> impl Strategy<Value = Vec<GanttBar>> {
    let paint = prop::sample::select(vec![
        None,
        Some(Paint::Closed),
        Some(Paint::Other),
        Some(Paint::Fill(0)),
        Some(Paint::Fill(7)),
    ]);
    prop::collection::vec((paint, 0_i64..5, 6_i64..=10), 72).prop_map(|places| {
        let place = |(index, (paint, from, until)): (usize, (Option<Paint>, i64, i64))| {
            let (processor, turn) = (index as u32 / 6, index as i64 % 6 * 10);
            Some(bar(paint?, (processor, processor), (turn + from, turn + until)))
        };
        places.into_iter().enumerate().filter_map(place).collect()
    })
}

fn area(bars: &[GanttBar], paint: Paint, processors: (u64, u64), seconds: (i64, i64)) -> i64 {
    let inside = |bar: &&GanttBar| {
        bar.paint == paint && (processors.0..processors.1).contains(&u64::from(bar.parts[0].0))
    };
    let seconds_of =
        |bar: &GanttBar| (bar.parts[0].2.0.min(seconds.1) - bar.start.0.max(seconds.0)).max(0);
    bars.iter().filter(inside).map(seconds_of).sum()
}

proptest! {
    #[test]
    fn cells_have_the_colour_of_what_held_most_of_them(
        bars in bars(), columns in 1_usize..=60, rows in 1_usize..=12,
    ) {
        let window = Horizon { start: Time(0), end: Time(60) };
        let grid = Grid { window, processors: 12, columns, rows };
        let cells = grid.cells(&bars);
        prop_assert_eq!(cells.len(), columns * rows);
        for (index, cell) in cells.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let edge = |column: usize| (60 * column / columns) as i64;
            let (seconds, processors) =
                ((edge(column), edge(column + 1)), (grid.edge(row), grid.edge(row + 1)));
            let whole = (seconds.1 - seconds.0) * (processors.1 - processors.0) as i64;
            let areas = [Paint::Closed, Paint::Other, Paint::Fill(0), Paint::Fill(7)]
                .map(|paint| (Some(paint), area(&bars, paint, processors, seconds)));
            let idle = whole - areas.iter().map(|area| area.1).sum::<i64>();
            let max = areas.iter().map(|area| area.1).max().unwrap_or(0).max(idle);
            let held = areas.iter().find(|area| area.0 == *cell).map_or(idle, |area| area.1);
            prop_assert_eq!(held, max, "row {}, column {}", row, column);
        }
    }

    #[test]
    fn tiles_cover_each_painted_cell_once(bars in bars(), columns in 1_usize..=60, rows in 1_usize..=12) {
        let window = Horizon { start: Time(0), end: Time(60) };
        let grid = Grid { window, processors: 12, columns, rows };
        let cells = grid.cells(&bars);
        let mut covered = vec![None; cells.len()];
        for tile in grid.tiles(&cells) {
            for row in tile.row..tile.row + tile.rows {
                for cell in &mut covered[row * columns..][tile.column..tile.column + tile.columns] {
                    prop_assert_eq!(cell.replace(tile.paint), None);
                }
            }
        }
        prop_assert_eq!(covered, cells);
    }
}
