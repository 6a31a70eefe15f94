//! The sheet around the bars: axes, pools, legend, notes.

use tradewind_model::Horizon;

use super::cells::{self, Grid, Tile};
use super::{GanttOfRun, Paint, USERS, exact, grouped};
use crate::chart::clock::{self, Clock};
use crate::chart::ink::{Ink, Rect, text_width};
use crate::chart::replay::RunFate;
use crate::chart::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use crate::chart::theme::{self, ALARM, ALARM_LIGHT, BOLD, DARK, EDGE, FILLS, GRID, OTHERS, SMALL};
use crate::present;

/// The height of the rows of all processors.
const HEIGHT_LEAST: f64 = 120.0;
const HEIGHT_MOST: f64 = 640.0;
const ROW_MOST: f64 = 14.0;
/// Below this height of a processor, and above this number of parts, cells take the place of jobs.
const ROW_LEAST: f64 = 0.35;
const PARTS_MOST: usize = 8_000;
/// Pixels to a cell, doubled until tiles are few enough.
const CELL: f64 = 1.0;
const CELL_LARGEST: f64 = 32.0;
const TILES_MOST: usize = 50_000;
/// Room for numbers of processors, and for names of pools.
const LEFT: f64 = 72.0;
const POOL_NAMES: f64 = 120.0;

/// Where processors and moments are on the sheet.
pub(super) struct Place<'a> {
    pub(super) clock: Clock,
    pub(super) frame: Rect,
    pub(super) processors: u64,
    pen: &'a Pen,
    /// Whether bars are high enough for an edge.
    edged: bool,
}

impl Place<'_> {
    /// The upper edge of a processor's row.
    pub(super) fn y(&self, processor: u32) -> f64 {
        let share = f64::from(processor) / (self.processors.max(1) as f64);
        self.frame.y + share.min(1.0) * self.frame.height
    }

    /// How bars are painted.
    pub(super) fn look(&self, paint: Paint) -> String {
        let thick = if self.edged { "0.7" } else { "0.25" };
        match paint {
            Paint::Closed => self.pen.hatched(),
            Paint::Failed => format!("fill=\"{ALARM_LIGHT}\""),
            Paint::Other => format!(
                "fill=\"{OTHERS}\" stroke=\"{DARK}\" stroke-width=\"{}\"",
                if self.edged { "0.4" } else { "0.15" }
            ),
            Paint::Fill(colour) => {
                let (fill, edge) = FILLS[colour % USERS];
                format!("fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"{thick}\"")
            }
            Paint::Reserved => {
                format!(
                    "fill=\"none\" stroke=\"{DARK}\" stroke-width=\"1\" stroke-dasharray=\"3 2\""
                )
            }
        }
    }
}

/// How the end of a job that did not complete is marked.
pub(super) fn end_look(fate: RunFate) -> String {
    let dash = if fate == RunFate::Interrupted { " stroke-dasharray=\"2 1.5\"" } else { "" };
    format!("stroke=\"{ALARM}\" stroke-width=\"1.6\"{dash}")
}

impl GanttOfRun {
    pub(in crate::chart) fn draw(&self, pen: &Pen) -> String {
        let Some(window) = self.window else {
            return sheet::empty(pen, &self.title, "nothing ran");
        };
        let processors: u64 = self.pools.iter().map(|pool| u64::from(pool.processors)).sum();
        let height = (processors as f64 * ROW_MOST).clamp(HEIGHT_LEAST, HEIGHT_MOST);
        let row = height / processors.max(1) as f64;
        let parts: usize = self.bars.iter().map(|bar| bar.parts.len()).sum();
        let is_exact = row >= ROW_LEAST && parts <= PARTS_MOST;
        let mut ink = sheet::open(pen, &self.title, &self.subtitle(window, processors));
        let top = sheet::legend(&mut ink, &self.keys(pen, is_exact), HEAD) + 30.0;
        let left = LEFT + if self.pools.len() > 1 { POOL_NAMES } else { 0.0 };
        let width = WIDTH - MARGIN - left;
        let place = Place {
            clock: Clock { horizon: window, left, width },
            frame: Rect { x: left, y: top, width, height },
            processors,
            pen,
            edged: row >= 4.0,
        };
        let mut notes = Vec::new();
        place.grid(&mut ink);
        match is_exact {
            true => exact::draw(&mut ink, &place, &self.bars),
            false => notes.push(self.draw_cells(&mut ink, &place)),
        }
        notes.extend(self.axes(&mut ink, &place));
        notes.extend(self.notes(is_exact));
        sheet::close(ink, pen, &self.title, &notes, top + height + 22.0)
    }

    fn subtitle(&self, window: Horizon, processors: u64) -> String {
        let all = self.facts.jobs;
        let here = self.facts.jobs_in_window;
        let jobs = match self.is_whole {
            true => format!("{} jobs", grouped(all)),
            false => format!(
                "{} of {} jobs: those that ran from {} to {}",
                grouped(here),
                grouped(all),
                clock::moment(window.start),
                clock::moment(window.end)
            ),
        };
        format!("{jobs}; {} processors", grouped(processors as usize))
    }

    fn keys(&self, pen: &Pen, is_exact: bool) -> Vec<Key> {
        let boxed = |look: String, text: String| Key { swatch: Swatch::Box(look), text };
        let fill = |colour: &str| format!("fill=\"{colour}\"");
        let has = |paint: Paint| self.bars.iter().any(|bar| bar.paint == paint);
        let mut keys = Vec::new();
        for (colour, (user, percent)) in self.users.iter().enumerate() {
            let (inside, edge) = FILLS[colour];
            let look = format!("fill=\"{inside}\" stroke=\"{edge}\"");
            keys.push(boxed(look, format!("user {user} ({percent} %)")));
        }
        if has(Paint::Other) {
            keys.push(boxed(fill(OTHERS), "other users".to_owned()));
        }
        if has(Paint::Closed) {
            keys.push(boxed(pen.hatched(), "owners' load, maintenance".to_owned()));
        }
        if has(Paint::Failed) {
            keys.push(boxed(fill(ALARM_LIGHT), "failed".to_owned()));
        }
        if has(Paint::Reserved) && is_exact {
            let look = format!("fill=\"none\" stroke=\"{DARK}\" stroke-dasharray=\"3 2\"");
            keys.push(boxed(look, "reserved".to_owned()));
        }
        for fate in [RunFate::Killed, RunFate::Interrupted] {
            if is_exact && self.bars.iter().any(|bar| bar.fate == Some(fate)) {
                let text = format!("job {}", super::fate_word(fate));
                keys.push(Key { swatch: Swatch::Line(end_look(fate)), text });
            }
        }
        keys
    }

    /// Draws the cells; returns what they are.
    fn draw_cells(&self, ink: &mut Ink, place: &Place<'_>) -> String {
        let mut cell = CELL;
        let (grid, tiles) = loop {
            let grid = place.cells_of(cell);
            let tiles = grid.tiles(&grid.cells(&self.bars));
            if tiles.len() <= TILES_MOST || cell >= CELL_LARGEST {
                break (grid, tiles);
            }
            cell *= 2.0;
        };
        let Rect { x, y, width, height } = place.frame;
        let size = (width / grid.columns as f64, height / grid.rows as f64);
        ink.raw(&format!(
            "<g transform=\"translate({x} {y}) scale({:.5} {:.5})\" shape-rendering=\"crispEdges\">",
            size.0, size.1
        ));
        let (closed, others): (Vec<Tile>, Vec<Tile>) =
            tiles.into_iter().partition(|tile| tile.paint == Paint::Closed);
        for (paint, path) in cells::paths(&others) {
            let colour = match paint {
                Paint::Failed => ALARM_LIGHT,
                Paint::Fill(colour) => FILLS[colour % USERS].0,
                Paint::Other | Paint::Closed | Paint::Reserved => OTHERS,
            };
            ink.path(&path, &format!("fill=\"{colour}\""));
        }
        ink.raw("</g>");
        // Scaled, its hatch would be stretched.
        if !closed.is_empty() {
            ink.path(&cells::outline(&closed, place.frame, size), &place.pen.hatched());
        }
        let seconds = place.clock.horizon.span().0 as f64 / grid.columns as f64;
        format!(
            "Too many jobs or processors to draw each: every cell of {} by {} has the colour of \
             what held most of it; what is blank was idle. Ends of killed jobs and reservations \
             are left out.",
            present::span(seconds.max(1.0)),
            match (grid.processors as f64 / grid.rows as f64).max(1.0) {
                1.0 => "1 processor".to_owned(),
                many => format!("{} processors", present::Unit::Count.say(many)),
            },
        )
    }

    /// Numbers of processors, times and names of pools; returns what is not named.
    fn axes(&self, ink: &mut Ink, place: &Place<'_>) -> Option<String> {
        place.labels(ink);
        if self.pools.len() < 2 {
            return None;
        }
        let (mut first, mut hidden, mut free_from) = (0u32, 0, f64::MIN);
        let right = place.frame.x + place.frame.width;
        for pool in &self.pools {
            let (top, bottom) = (place.y(first), place.y(first.saturating_add(pool.processors)));
            first = first.saturating_add(pool.processors);
            // Not through the numbers of processors.
            for ends in [(MARGIN, MARGIN + POOL_NAMES), (place.frame.x, right)] {
                ink.line((ends.0, top), (ends.1, top), &format!("stroke=\"{EDGE}\""));
            }
            let y = (top + bottom) / 2.0 + 4.0;
            if y - 12.0 < free_from {
                hidden += 1;
                continue;
            }
            free_from = y;
            ink.text_cut((MARGIN, y), SMALL, &pool.name, POOL_NAMES - 8.0);
        }
        (hidden > 0).then(|| format!("{hidden} pools are too small here for their names."))
    }

    fn notes(&self, is_exact: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.is_whole {
            let what = if self.is_busiest { "The busiest week" } else { "A part of the replay" };
            notes.push(format!("{what}; the rest is left out."));
        }
        if self.users.is_empty() {
            notes.push("Colours only tell neighbouring jobs apart.".to_owned());
        } else {
            notes.push(
                "Percentages: shares of the processor time that jobs took in this picture."
                    .to_owned(),
            );
        }
        if is_exact && self.facts.unplaced > 0 {
            let jobs = grouped(self.facts.unplaced);
            notes.push(format!("{jobs} jobs whose processors are not known are not drawn."));
        }
        notes.push("Days and times of day are those of the log's clock, from its 0 on.".to_owned());
        notes
    }
}

impl Place<'_> {
    fn cells_of(&self, cell: f64) -> Grid {
        let count = |pixels: f64| ((pixels / cell) as usize).max(1);
        let rows =
            count(self.frame.height).min(usize::try_from(self.processors).unwrap_or(1)).max(1);
        let seconds = usize::try_from(self.clock.horizon.span().0).unwrap_or(1).max(1);
        let columns = count(self.frame.width).min(seconds);
        Grid { window: self.clock.horizon, processors: self.processors, columns, rows }
    }

    /// Lines at round moments, below the bars.
    fn grid(&self, ink: &mut Ink) {
        let Rect { x, y, width, height } = self.frame;
        for (at, _) in self.clock.ticks(12) {
            let x = self.clock.x(at);
            ink.line((x, y), (x, y + height), &format!("stroke=\"{GRID}\""));
        }
        let frame = Rect { x, y, width, height };
        ink.rect(frame, &format!("fill=\"none\" stroke=\"{EDGE}\""));
    }

    fn labels(&self, ink: &mut Ink) {
        let Rect { x, y, width, height } = self.frame;
        ink.text(x, y - 9.0, BOLD, "Processors");
        for (at, label) in self.clock.ticks(12) {
            let half = text_width(&label, SMALL.size) / 2.0;
            let at = self.clock.x(at).min(x + width - half);
            ink.text(at, y + height + 16.0, theme::middle(SMALL), &label);
        }
        for tick in present::ticks(0.0, self.processors as f64, 8) {
            if tick > self.processors as f64 || tick.fract() != 0.0 {
                continue;
            }
            let at = self.y(tick as u32);
            ink.line((x - 4.0, at), (x, at), &format!("stroke=\"{EDGE}\""));
            ink.text(x - 8.0, at + 4.0, theme::end(SMALL), &present::Unit::Count.say(tick));
        }
    }
}
