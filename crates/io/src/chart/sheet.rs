//! What all pictures of replays share: paper, title, legend and the notes below.

use super::ink::Style;
use super::ink::{Ink, Lettering, Rect, fit, text_width};
use super::theme::{self, BODY, GREY, PAPER, SMALL, TITLE};

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const MARGIN: f64 = 28.0;
/// Where the body begins, below title and subtitle.
pub(super) const HEAD: f64 = 76.0;
const NOTE_LINE: f64 = 17.0;
const LEGEND_LINE: f64 = 20.0;

/// Where a picture goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pen {
    /// A file of its own.
    File,
    /// Into a page which has the style sheet already. Names inside the drawing begin with this.
    Inline(String),
    /// Pixels: letters are strokes.
    Pixels,
}

impl Pen {
    fn lettering(&self) -> Lettering {
        match self {
            Pen::Pixels => Lettering::Strokes,
            Pen::File | Pen::Inline(_) => Lettering::Text,
        }
    }

    /// The name of the hatch, of no other picture on the page.
    pub(super) fn hatch(&self) -> String {
        match self {
            Pen::Inline(prefix) => format!("{prefix}-hatch"),
            Pen::File | Pen::Pixels => "hatch".to_owned(),
        }
    }

    /// The `fill` attribute of hatched ground.
    pub(super) fn hatched(&self) -> String {
        format!("fill=\"url(#{})\"", self.hatch())
    }
}

/// A sheet with its title and subtitle.
pub(super) fn open(pen: &Pen, title: &str, subtitle: &str) -> Ink {
    let mut ink = Ink::loose(pen.lettering());
    let room = WIDTH - 2.0 * MARGIN;
    ink.text_cut((MARGIN, 36.0), TITLE, title, room);
    ink.text_cut((MARGIN, 58.0), Style { fill: GREY, ..BODY }, subtitle, room);
    ink
}

/// The notes from `y` on, and the finished picture.
pub(super) fn close(mut ink: Ink, pen: &Pen, title: &str, notes: &[String], y: f64) -> String {
    let mut y = y + 10.0;
    for line in notes.iter().flat_map(|note| wrap(note)) {
        y += NOTE_LINE;
        ink.text(MARGIN, y, SMALL, &line);
    }
    let mut head = String::new();
    if *pen == Pen::File {
        head.push_str(&format!("<style>{}</style>\n", theme::dark_style()));
    }
    head.push_str(&theme::hatch(&pen.hatch()));
    head.push_str(&format!("<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>\n"));
    ink.finish_page((WIDTH, y + 18.0), title, &head)
}

/// A picture that says why there is none.
pub(super) fn empty(pen: &Pen, title: &str, why: &str) -> String {
    let mut ink = open(pen, title, "");
    let frame = Rect { x: MARGIN, y: HEAD, width: WIDTH - 2.0 * MARGIN, height: 120.0 };
    ink.rect(frame, "rx=\"4\" fill=\"#f6f8fa\" stroke=\"#d8dee4\"");
    ink.text(WIDTH / 2.0, HEAD + 64.0, theme::middle(BODY), why);
    close(ink, pen, title, &[], HEAD + 120.0)
}

/// `note` in lines as wide as the sheet; a word longer than that is cut.
fn wrap(note: &str) -> Vec<String> {
    let room = WIDTH - 2.0 * MARGIN;
    let mut lines = vec![String::new()];
    for word in note.split_whitespace() {
        let last = lines.len() - 1;
        let longer = format!("{} {word}", lines[last]);
        if lines[last].is_empty() {
            lines[last] = fit(word, SMALL.size, room);
        } else if text_width(&longer, SMALL.size) * 1.05 <= room {
            lines[last] = longer;
        } else {
            lines.push(fit(word, SMALL.size, room));
        }
    }
    lines
}

/// What stands before the words of a legend's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A box with these attributes.
    Box(String),
    /// A line with these attributes.
    Line(String),
}

/// One entry of a legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) swatch: Swatch,
    pub(super) text: String,
}

/// Draws the entries in rows from `y` on; returns where the rows end.
pub(super) fn legend(ink: &mut Ink, keys: &[Key], y: f64) -> f64 {
    const SWATCH: f64 = 26.0;
    const GAP: f64 = 22.0;
    const WIDEST: f64 = 520.0;
    let (mut x, mut y) = (MARGIN, y);
    for key in keys {
        let text = fit(&key.text, SMALL.size, WIDEST);
        // Fonts differ: leave a tenth more than the strokes take.
        let width = SWATCH + text_width(&text, SMALL.size) * 1.1;
        if x + width > WIDTH - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        match &key.swatch {
            Swatch::Box(look) => {
                ink.rect(Rect { x, y: y + 2.0, width: 20.0, height: 11.0 }, look);
            }
            Swatch::Line(look) => ink.line((x, y + 7.5), (x + 20.0, y + 7.5), look),
        }
        ink.text_cut((x + SWATCH, y + 11.5), SMALL, &key.text, WIDEST);
        x += width + GAP;
    }
    if keys.is_empty() { y } else { y + LEGEND_LINE }
}
