//! Files that pages need: style sheets and scripts, in the program itself.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Changes with the files, so that browsers may keep them for ever.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Name, kind, content.
const FILES: [(&str, &str, &str); 29] = [
    ("base.css", CSS, include_str!("assets/base.css")),
    ("shell.js", SCRIPT, include_str!("assets/shell.js")),
    ("theme.js", SCRIPT, include_str!("assets/theme.js")),
    ("live.js", SCRIPT, include_str!("assets/live.js")),
    ("ages.js", SCRIPT, include_str!("assets/ages.js")),
    ("reach.js", SCRIPT, include_str!("assets/reach.js")),
    ("charts.js", SCRIPT, include_str!("assets/charts.js")),
    ("timeline.css", CSS, include_str!("assets/timeline.css")),
    ("quote.js", SCRIPT, include_str!("assets/quote.js")),
    ("submit.js", SCRIPT, include_str!("assets/submit.js")),
    ("output.js", SCRIPT, include_str!("assets/output.js")),
    ("help.js", SCRIPT, include_str!("assets/help.js")),
    ("styleguide.css", CSS, include_str!("assets/styleguide.css")),
    ("mark-alert.svg", SVG, include_str!("assets/mark-alert.svg")),
    ("palette.js", SCRIPT, include_str!("assets/palette.js")),
    ("timeline.js", SCRIPT, include_str!("assets/timeline.js")),
    ("timeline/kinds.js", SCRIPT, include_str!("assets/timeline/kinds.js")),
    ("timeline/camera.js", SCRIPT, include_str!("assets/timeline/camera.js")),
    ("timeline/data.js", SCRIPT, include_str!("assets/timeline/data.js")),
    ("timeline/draw.js", SCRIPT, include_str!("assets/timeline/draw.js")),
    ("timeline/minimap.js", SCRIPT, include_str!("assets/timeline/minimap.js")),
    ("timeline/lanes.js", SCRIPT, include_str!("assets/timeline/lanes.js")),
    ("timeline/mirror.js", SCRIPT, include_str!("assets/timeline/mirror.js")),
    ("timeline/tasks.js", SCRIPT, include_str!("assets/timeline/tasks.js")),
    ("timeline/tip.js", SCRIPT, include_str!("assets/timeline/tip.js")),
    ("timeline/windows.js", SCRIPT, include_str!("assets/timeline/windows.js")),
    ("timeline/words.js", SCRIPT, include_str!("assets/timeline/words.js")),
    ("timeline/pointer.js", SCRIPT, include_str!("assets/timeline/pointer.js")),
    ("mark.svg", SVG, include_str!("assets/mark.svg")),
];

/// One of them.
pub(crate) async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    ([(header::CONTENT_TYPE, *kind)], *text).into_response()
}

#[cfg(test)]
mod tests;
