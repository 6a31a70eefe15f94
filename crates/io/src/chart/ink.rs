//! A small SVG writer.

use super::letters;
use crate::present::svg::{Svg, escape, num};

/// How letters get into the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lettering {
    /// As text, in the viewer's sans-serif font: can be searched and read aloud.
    Text,
    /// As strokes of our own: the same picture on a machine without fonts.
    Strokes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) weight: Weight,
    pub(super) fill: &'static str,
}

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The picture so far.
pub(super) struct Ink {
    svg: Svg,
    lettering: Lettering,
}

impl Ink {
    pub(super) fn new(width: f64, height: f64, title: &str, lettering: Lettering) -> Ink {
        let mut ink = Ink::loose(lettering);
        ink.svg.raw(&opening(width, height, title));
        ink
    }

    /// A picture whose height is known at its end only; [`Ink::finish_page`] closes it.
    pub(super) fn loose(lettering: Lettering) -> Ink {
        Ink { svg: Svg::in_lines(), lettering }
    }

    /// The whole picture: its opening, `head` as it is, and what was drawn.
    pub(super) fn finish_page(self, size: (f64, f64), title: &str, head: &str) -> String {
        let page = opening(size.0, size.1, title);
        page + head + &self.finish()
    }

    /// Markup as it is.
    pub(super) fn raw(&mut self, markup: &str) {
        self.svg.raw(markup);
        self.svg.raw("\n");
    }

    /// A rectangle; `look` holds its other attributes.
    pub(super) fn rect(&mut self, rect: Rect, look: &str) {
        self.svg.shape("rect", place(rect) + look);
    }

    /// A rectangle that names itself when pointed at.
    pub(super) fn rect_titled(&mut self, rect: Rect, look: &str, title: &str) {
        self.svg.titled("rect", place(rect) + look, title);
    }

    /// A path; `d` is its data, `look` holds its other attributes.
    pub(super) fn path(&mut self, d: &str, look: &str) {
        self.svg.path(d, look);
    }

    /// A path that names itself when pointed at.
    pub(super) fn path_titled(&mut self, d: &str, look: &str, title: &str) {
        self.svg.titled("path", format_args!("d=\"{d}\" {look}"), title);
    }

    /// Text cut to `width`; the whole of it shows when pointed at.
    pub(super) fn text_cut(&mut self, (x, y): (f64, f64), style: Style, text: &str, width: f64) {
        let cut = fit(text, style.size, width);
        if cut == text || self.lettering == Lettering::Strokes {
            self.text(x, y, style, &cut);
            return;
        }
        self.svg.raw("<g>");
        self.text(x, y, style, &cut);
        self.svg.raw(&format!("<title>{}</title>", escape(text)));
        self.svg.close("g");
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), look: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(num);
        let ends = format_args!("x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {look}");
        self.svg.shape("line", ends);
    }

    /// Text with its baseline at `y`.
    pub(super) fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        match self.lettering {
            Lettering::Text => self.letters(x, y, style, text),
            Lettering::Strokes => self.strokes(x, y, style, text),
        }
    }

    fn letters(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.weight == Weight::Bold { " font-weight=\"600\"" } else { "" };
        let (x, y, size) = (num(x), num(y), num(style.size));
        let fill = style.fill;
        let look =
            format!("x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\"{anchor}{weight}");
        self.svg.words("text", look, text);
    }

    fn strokes(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let width = text_width(text, style.size);
        let left = match style.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let scale = style.size / letters::EM;
        let thickness = if style.weight == Weight::Bold { 1.25 } else { 0.85 };
        let look = format_args!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"{thickness}\" stroke-linecap=\"round\" \
             stroke-linejoin=\"round\"",
            style.fill
        );
        self.svg.open("g", look);
        self.svg.raw("\n");
        let mut at = left;
        for letter in text.chars() {
            let glyph = letters::glyph(letter);
            if !glyph.path.is_empty() {
                let path = glyph.path;
                let place = format_args!("translate({at:.2} {y:.2}) scale({scale:.3})");
                self.svg.shape("path", format_args!("transform=\"{place}\" d=\"{path}\""));
            }
            at += glyph.advance() * scale;
        }
        self.svg.close("g");
    }

    pub(super) fn finish(mut self) -> String {
        self.svg.close("svg");
        self.svg.finish()
    }
}

/// The first lines of a document.
fn opening(width: f64, height: f64, title: &str) -> String {
    let (w, h, title) = (num(width), num(height), escape(title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" font-family=\"Inter, 'Segoe UI', 'Helvetica \
         Neue', Arial, 'DejaVu Sans', sans-serif\">\n<title>{title}</title>\n"
    )
}

/// About how wide `text` is at `size`, in pixels.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|letter| letters::glyph(letter).advance()).sum::<f64>() * size / letters::EM
}

/// `text`, cut with an ellipsis to fit `width` at `size`.
pub(super) fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        if text_width(&cut, size) + text_width("…", size) > width {
            cut.pop();
            break;
        }
    }
    cut.push('…');
    cut
}

fn place(rect: Rect) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" ",
        num(rect.x),
        num(rect.y),
        num(rect.width),
        num(rect.height)
    )
}
