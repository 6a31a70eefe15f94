//! A small SVG writer: elements with their attributes, and text that is escaped here and nowhere
//! else.

use std::fmt::{Display, Write as _};

use super::trimmed;

/// A piece of SVG, as far as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Svg {
    text: String,
    /// Behind each element.
    gap: &'static str,
}

impl Svg {
    /// Nothing yet; for a page, in one line.
    pub fn new() -> Svg {
        Svg::default()
    }

    /// Nothing yet; for a file, with a line for each element.
    pub fn in_lines() -> Svg {
        Svg { text: String::new(), gap: "\n" }
    }

    /// `<name look>`; `look` holds the attributes, whose values are escaped where they are texts.
    pub fn open(&mut self, name: &str, look: impl Display) {
        let _ = write!(self.text, "<{name} {look}>");
    }

    /// Writes `</name>`.
    pub fn close(&mut self, name: &str) {
        let _ = write!(self.text, "</{name}>{}", self.gap);
    }

    /// An element with nothing in it.
    pub fn shape(&mut self, name: &str, look: impl Display) {
        let _ = write!(self.text, "<{name} {look}/>{}", self.gap);
    }

    /// An element with a title, which it shows when it is pointed at.
    pub fn titled(&mut self, name: &str, look: impl Display, title: &str) {
        let _ = write!(self.text, "<{name} {look}><title>{}</title>", escape(title));
        self.close(name);
    }

    /// An element with text in it.
    pub fn words(&mut self, name: &str, look: impl Display, text: &str) {
        self.open(name, look);
        self.text.push_str(&escape(text));
        self.close(name);
    }

    /// A path; `d` is its data, `look` holds its other attributes.
    pub fn path(&mut self, d: impl Display, look: &str) {
        self.shape("path", format_args!("d=\"{d}\" {look}"));
    }

    /// Another piece behind this one.
    pub fn append(&mut self, other: &Svg) {
        self.text.push_str(&other.text);
    }

    /// Markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A number of pixels with at most two decimals.
pub fn num(value: f64) -> String {
    trimmed(&format!("{value:.2}")).to_owned()
}

/// A part of something as SVG has it: `12.50%`.
pub fn percent(part: f64) -> String {
    format!("{:.2}%", part * 100.0)
}

/// `text` as character data; control characters, which XML forbids, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            control if control.is_control() => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
    out
}
