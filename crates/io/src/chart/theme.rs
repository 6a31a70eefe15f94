//! The colours of the pictures of replays, on white and on dark paper.
//!
//! A drawing names the colours for white paper; a style sheet inside the file puts others in their
//! place where the reader prefers dark. So a viewer without style sheets still shows it all.

use super::ink::{Anchor, Style, Weight};

pub(super) const PAPER: &str = "#ffffff";
pub(super) const DARK: &str = "#1f2328";
pub(super) const GREY: &str = "#656d76";
pub(super) const GRID: &str = "#d8dee4";
pub(super) const EDGE: &str = "#afb8c1";
pub(super) const STRIPE: &str = "#f6f8fa";
/// Letters on light fills, which stay as they are on dark paper.
pub(super) const ON_FILL: &str = "#1f2329";
/// What is used.
pub(super) const USED: &str = "#8ebfe0";
/// What is lost or wrong.
pub(super) const ALARM: &str = "#cf222e";
pub(super) const ALARM_LIGHT: &str = "#f3b5b0";
/// Users beyond those that have a colour of their own.
pub(super) const OTHERS: &str = "#b6bec8";
const HATCH_GROUND: &str = "#eaecef";
const HATCH_STRIPE: &str = "#aeb5be";

/// Fills with their edges, distinguished by colour-blind readers (Paul Tol's "light" scheme): dark
/// letters are read on all of them.
pub(super) const FILLS: [(&str, &str); 8] = [
    ("#77aadd", "#3d74ab"),
    ("#ee8866", "#b8502c"),
    ("#eedd88", "#a8922a"),
    ("#44bb99", "#1f7f64"),
    ("#ffaabb", "#c25a70"),
    ("#bbcc33", "#7c8a12"),
    ("#99ddff", "#3f93bd"),
    ("#c9b6e4", "#7a5fa8"),
];

/// Lines, on white and on dark paper. Neighbours differ in lightness as well as in hue; dashes
/// distinguish them without any colour.
pub(super) const LINES: [(&str, &str); 8] = [
    ("#0066a5", "#58b0ee"),
    ("#d55e00", "#ff9d57"),
    ("#007a5a", "#34d0a2"),
    ("#b0307f", "#f08cc4"),
    ("#8a6d00", "#ecc94b"),
    ("#3b3f46", "#d4d8dd"),
    ("#0f8fa3", "#7fe3f2"),
    ("#5b3fa8", "#b9a5ff"),
];

/// Dashes of lines; the first is none.
pub(super) const DASHES: [&str; 4] = ["", "7 3", "2 2.5", "9 3 2 3"];

/// Colour on white paper, colour on dark paper.
const ON_DARK: [(&str, &str); 12] = [
    (PAPER, "#0d1117"),
    (DARK, "#e6edf3"),
    (GREY, "#9aa4af"),
    (GRID, "#2a313c"),
    (EDGE, "#57606a"),
    (STRIPE, "#161c24"),
    (USED, "#2c6a99"),
    (ALARM, "#ff7b72"),
    (ALARM_LIGHT, "#7a2c2a"),
    (OTHERS, "#5d6772"),
    (HATCH_GROUND, "#20262e"),
    (HATCH_STRIPE, "#4b545f"),
];

/// The style sheet for readers who prefer dark.
pub(crate) fn dark_style() -> String {
    let mut style = String::from("@media screen and (prefers-color-scheme:dark){");
    for (light, dark) in ON_DARK.into_iter().chain(LINES) {
        for attribute in ["fill", "stroke"] {
            style.push_str(&format!(
                "svg[role=img] [{attribute}=\"{light}\"]{{{attribute}:{dark}}}"
            ));
        }
    }
    style.push('}');
    style
}

/// A hatch of slanted lines under the name `id`.
pub(super) fn hatch(id: &str) -> String {
    format!(
        "<defs><pattern id=\"{id}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"{HATCH_GROUND}\"/>\
         <rect width=\"1.6\" height=\"6\" fill=\"{HATCH_STRIPE}\"/></pattern></defs>\n"
    )
}

pub(super) const TITLE: Style =
    Style { size: 20.0, anchor: Anchor::Start, weight: Weight::Bold, fill: DARK };
pub(super) const BODY: Style =
    Style { size: 12.0, anchor: Anchor::Start, weight: Weight::Regular, fill: DARK };
pub(super) const SMALL: Style = Style { size: 11.0, fill: GREY, ..BODY };
pub(super) const BOLD: Style = Style { weight: Weight::Bold, ..BODY };

/// `style` around its point instead of after it.
pub(super) const fn middle(style: Style) -> Style {
    Style { anchor: Anchor::Middle, ..style }
}

/// `style` before its point instead of after it.
pub(super) const fn end(style: Style) -> Style {
    Style { anchor: Anchor::End, ..style }
}
