//! Files that pages need: style sheets and scripts, in the program itself.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// A digest of all files: it is part of their addresses, so that browsers may keep them for ever.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut all = Sha256::new();
        for (name, _, text) in FILES {
            all.update(name);
            all.update(text);
        }
        URL_SAFE_NO_PAD.encode(&all.finalize()[..9])
    });
    &VERSION
}

/// What is in a file of this address does not change.
const KEPT: &str = "public, max-age=31536000, immutable";

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Name, kind, content.
const FILES: [(&str, &str, &str); 30] = [
    ("base.css", CSS, include_str!("assets/base.css")),
    ("shell.js", SCRIPT, include_str!("assets/shell.js")),
    ("theme.js", SCRIPT, include_str!("assets/theme.js")),
    ("jobs.js", SCRIPT, include_str!("assets/jobs.js")),
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

/// One of them. A page of another program, which is still open, gets the present one, and asks again.
pub(crate) async fn file(Path((of, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kept = if of == version() { KEPT } else { "no-store" };
    ([(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, kept)], *text).into_response()
}

#[cfg(test)]
mod tests;
