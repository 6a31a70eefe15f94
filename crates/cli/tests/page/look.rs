//! How a page looks: at the width of a desk and of a phone, by day and by night.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::browser::Browser;

/// Of the window: a desk's and a phone's.
const SIZES: [(u32, u32); 2] = [(1_280, 900), (390, 844)];
const THEMES: [&str; 2] = ["light", "dark"];
/// Pages that are higher are cut in pictures.
const HIGHEST: u64 = 5_000;

/// Looks at the page as it stands: the accessibility checker must find nothing, and nothing may
/// stick out sideways, at the desk by day and on the phone by night. Pictures of all four go to
/// `TRADEWIND_SCREENSHOTS`, if that is set.
pub(crate) async fn look(browser: &Browser, name: &str) {
    look_at(browser, name, async || {}).await;
}

/// The same; `pose` is done before each look, for what ends when the window changes.
pub(crate) async fn look_at(browser: &Browser, name: &str, pose: impl AsyncFn()) {
    let mut wrong = Vec::new();
    for (place, (width, height)) in SIZES.into_iter().enumerate() {
        let width = width.max(browser.narrowest());
        browser.size(width, height).await;
        for theme in THEMES {
            let is_examined = theme == THEMES[place];
            if !is_examined && folder().is_none() {
                continue;
            }
            wear(browser, theme).await;
            pose().await;
            let name = format!("{name}-{theme}-{width}");
            keep(browser, &name, (width, height), &pose).await;
            if is_examined {
                wrong.extend(faults(browser, width).await.map(|fault| format!("{name}: {fault}")));
            }
        }
    }
    let (width, height) = SIZES[0];
    browser.size(width, height).await;
    wear(browser, "").await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page in that theme, without being loaded again; empty: as the reader's system has it.
async fn wear(browser: &Browser, theme: &str) {
    let script = format!(
        "if ('{theme}') document.documentElement.dataset.theme = '{theme}';
         else delete document.documentElement.dataset.theme;
         document.dispatchEvent(new CustomEvent('theme'));"
    );
    browser.run(&script).await;
}

/// Tables that have to be moved sideways on a phone, though they are to be read without.
const STACKED: &str = "return [...document.querySelectorAll('.scroll:has(> .stack)')]
    .filter((it) => innerWidth < 640 && it.scrollWidth > it.clientWidth).length";

/// Tables of which a part is out of sight at a desk.
const CUT: &str = "return [...document.querySelectorAll('.scroll:has(> table)')]
    .filter((it) => innerWidth >= 1280 && it.scrollWidth > it.clientWidth)
    .map((it) => it.textContent.trim().slice(0, 40)).join(', ')";

/// What is wrong with the page in a window of this width.
async fn faults(browser: &Browser, width: u32) -> impl Iterator<Item = String> {
    let over = too_wide(browser, width).await;
    let over = (over > 0).then(|| format!("{over} pixels too wide"));
    let scrolled = browser.run(STACKED).await;
    let scrolled = (scrolled != 0).then(|| "a table is not stacked".to_owned());
    let cut = browser.run(CUT).await;
    let cut = cut.as_str().filter(|it| !it.is_empty()).map(|it| format!("cut off: {it}"));
    let found = violations(browser).await;
    over.into_iter().chain(scrolled).chain(cut).chain((!found.is_empty()).then_some(found))
}

/// Pixels that stick out, once what is drawn by scripts has followed the window.
async fn too_wide(browser: &Browser, width: u32) -> u64 {
    let begun = Instant::now();
    loop {
        let script = "return [innerWidth, document.documentElement.scrollWidth]";
        let widths = browser.run(script).await;
        let over = widths[1].as_u64().unwrap().saturating_sub(u64::from(width));
        let is_late = begun.elapsed() > Duration::from_secs(30);
        if widths[0] == width && (over == 0 || is_late) {
            return over;
        }
        assert!(!is_late, "the window has another width: {widths}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The accessibility checker, as `make setup` has put it there.
fn axe() -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/axe/axe.min.js");
    std::fs::read_to_string(&root)
        .unwrap_or_else(|wrong| panic!("{}: {wrong}; `make setup` fetches it", root.display()))
}

/// What the checker finds wrong with the page, as text.
async fn violations(browser: &Browser) -> String {
    if browser.run("return typeof axe").await == "undefined" {
        browser.run(&axe()).await;
    }
    let script = "const done = arguments[arguments.length - 1];
        axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found.violations.map((it) =>
          `${it.id}: ${it.nodes.map((node) => node.target.join(' ')).join(', ')}`).join('; ')));";
    let found = browser.client.execute_async(script, Vec::new()).await.unwrap();
    found.as_str().unwrap_or("the checker said nothing").to_owned()
}

/// Keeps a picture of the whole page, if pictures are wanted.
async fn keep(browser: &Browser, name: &str, (width, height): (u32, u32), pose: &impl AsyncFn()) {
    let Some(folder) = folder() else { return };
    let script = "return document.documentElement.scrollHeight + outerHeight - innerHeight";
    let whole = browser.run(script).await.as_u64().unwrap().min(HIGHEST);
    browser.size(width, u32::try_from(whole).unwrap().max(height)).await;
    pose().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let bytes = browser.client.screenshot().await.unwrap();
    std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    browser.size(width, height).await;
    pose().await;
}

/// Keeps a picture of the whole page at the width of a desk.
pub(crate) async fn whole_page(browser: &Browser, name: &str) {
    keep(browser, name, SIZES[0], &async || {}).await;
}

/// Where pictures go.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TRADEWIND_SCREENSHOTS")?);
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}
