//! How long the pages take with 4,000 nodes and 10,000 jobs: the real engine, server and page, in
//! a real Chromium, over sites that only pretend to run what they are given.
//!
//! `make bench-pages` runs it; what it measures is on the benchmarks' page.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark that cannot run its programs has failed"
)]

#[path = "../../tests/page/browser.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod browser;
mod load;
#[path = "../../../daemon/tests/ports/mod.rs"]
mod ports;
mod pretence;

use std::time::{Duration, Instant};

use browser::Browser;
use pretence::{JOBS, NODES, Stage};
use serde_json::Value;

/// Of that many requests, the median and the longest are printed.
const TIMES: usize = 11;

#[tokio::main]
async fn main() {
    let stage = tokio::task::spawn_blocking(Stage::new).await.unwrap();
    println!("{NODES} nodes, {JOBS} jobs\n");
    let asked = stage.clone();
    tokio::task::spawn_blocking(move || server(&asked)).await.unwrap();
    let asked = stage.clone();
    tokio::task::spawn_blocking(move || load::pages(&asked)).await.unwrap();
    let browser = Browser::start().await;
    page(&browser, &stage).await;
    load::visits(&browser, &stage).await;
    browser.end().await;
    tokio::task::spawn_blocking(move || {
        load::crowd(&stage);
        long_list(&stage);
    })
    .await
    .unwrap();
    std::process::exit(0); // the engine's threads have nothing to save
}

fn told(name: &str, mut taken: Vec<f64>, more: &str) {
    taken.sort_by(f64::total_cmp);
    let (median, worst) = (taken[taken.len() / 2], taken[taken.len() - 1]);
    println!("{name:<44} median {median:>8.1} ms   worst {worst:>8.1} ms   {more}");
}

fn timed(mut ask: impl FnMut() -> usize) -> (Vec<f64>, usize) {
    let mut bytes = 0;
    let once = |_| {
        let begun = Instant::now();
        bytes = ask();
        begun.elapsed().as_secs_f64() * 1e3
    };
    let taken = (0..TIMES).map(once).collect();
    (taken, bytes)
}

/// The server's part: over HTTP, without compression.
fn server(stage: &Stage) {
    let frame: Value = serde_json::from_slice(&stage.get("/page/board")).unwrap();
    let (from, until) = (frame["from"].as_i64().unwrap(), frame["until"].as_i64().unwrap());
    let (rows, now) = (frame["rows"].as_u64().unwrap(), frame["now"].as_i64().unwrap());
    println!("{} tasks on the board, {} days", frame["all"][1], (until - from) / 86_400);
    let (taken, bytes) = timed(|| {
        stage.submit();
        stage.get("/page/board").len()
    });
    told("scene and rows after an event", taken, &format!("{bytes} bytes"));
    let part = |from: i64, until: i64, first: u64, rows: u64| {
        format!(
            "/page/board/picture?from={from}&until={until}&first={first}&rows={rows}\
             &columns=3300&lines=640"
        )
    };
    let views = [
        ("all nodes, all time", part(from, until, 0, rows)),
        ("all nodes, three days", part(now - 86_400, now + 2 * 86_400, 0, rows)),
        ("200 nodes, three hours", part(now - 3_600, now + 7_200, 1_000, 200)),
    ];
    for (name, path) in views {
        let text = stage.get(&path);
        let line = text.iter().position(|it| *it == b'\n').unwrap();
        let kind = if text.len() > line + 1 { "cells" } else { "rectangles" };
        let (taken, bytes) = timed(|| stage.get(&path).len());
        told(name, taken, &format!("{bytes} bytes, {kind}"));
    }
    let many = stage.many(&frame);
    println!("most rectangles of 200 nodes that are drawn one by one: {}", many.1);
    let path = format!("/page/board/digest?from={from}&until={until}&first=0&rows={rows}&most=200");
    let (taken, bytes) = timed(|| stage.get(&path).len());
    told("digest of all, 200 tasks", taken, &format!("{bytes} bytes"));
    let (taken, bytes) = timed(|| stage.get("/jobs?show=all&sort=name&page=50").len());
    told("page 50 of all jobs, sorted by name", taken, &format!("{bytes} bytes"));
}

/// The list with three times as many jobs.
fn long_list(stage: &Stage) {
    (0..2 * JOBS).for_each(|_| stage.submit());
    for sort in ["-job", "name", "credits"] {
        let path = format!("/jobs?show=all&sort={sort}&page=200");
        let (taken, bytes) = timed(|| stage.get(&path).len());
        let name = format!("page 200 of {} jobs by {sort}", 3 * JOBS);
        told(&name, taken, &format!("{bytes} bytes"));
    }
}

/// The browser's part.
async fn page(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/signin")).await;
    browser.fill("#token", &stage.token).await;
    browser.click("button.main").await;
    browser.arrive("/").await;
    let frame = stage.get("/page/board");
    let many = stage.many(&serde_json::from_slice(&frame).unwrap()).0;
    let views =
        [("all", stage.all()), ("an hour of 200 nodes", stage.near()), ("most rectangles", many)];
    for (name, path) in views {
        let (mut paints, mut drawn) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            browser.go(&stage.url(&path)).await;
            ready(browser).await;
            let script =
                "return [performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0,
                performance.getEntriesByName('board')[0].startTime]";
            let found = browser.run(script).await;
            paints.push(found[0].as_f64().unwrap());
            drawn.push(found[1].as_f64().unwrap());
        }
        told(&format!("first contentful paint, {name}"), paints, "");
        told(&format!("first picture of the board, {name}"), drawn, "");
        for (what, event) in [("pan", PAN), ("zoom", ZOOM)] {
            let frames = frames(browser, event).await;
            let late = frames.iter().filter(|it| **it > 34.0).count();
            let more = format!("{late} of {} frames beyond 34 ms", frames.len());
            told(&format!("frames while one {what}s, {name}"), frames, &more);
        }
    }
    browser.go(&stage.url(&stage.all())).await;
    ready(browser).await;
    let mut updates = Vec::new();
    for _ in 0..7 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (before, begun) = (marks(browser).await, Instant::now());
        let asked = stage.clone();
        tokio::task::spawn_blocking(move || asked.submit()).await.unwrap();
        while marks(browser).await == before {
            assert!(begun.elapsed() < Duration::from_secs(20), "the board is not drawn again");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        updates.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    told("from a submission to the new picture", updates, "60 to 120 ms of it are waited for more");
}

/// How often the board was drawn again.
async fn marks(browser: &Browser) -> u64 {
    let script = "return Number(document.getElementById('stage').dataset.pictures || 0)";
    browser.run(script).await.as_u64().unwrap()
}

async fn ready(browser: &Browser) {
    let begun = Instant::now();
    while browser.run("return document.body.dataset.timeline || ''").await != "ready" {
        assert!(begun.elapsed() < Duration::from_secs(60), "the timeline does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
}

/// One step of a drag, there and back again.
const PAN: &str = "const x = 600 + 300 * Math.sin(step / 20);
    if (step === 0) stage.dispatchEvent(new PointerEvent('pointerdown', { pointerId: 1, clientX: x, clientY: box.top + 200 }));
    stage.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, clientX: x, clientY: box.top + 200 }));
    if (step === 149) stage.dispatchEvent(new PointerEvent('pointercancel', { pointerId: 1 }));";
/// One turn of the wheel, in and out again.
const ZOOM: &str = "stage.dispatchEvent(new WheelEvent('wheel', { ctrlKey: true, cancelable: true,
    deltaY: 20 * Math.cos(step / 24), clientX: 640, clientY: box.top + 200 }));";

/// Milliseconds between frames, while something is done at each.
async fn frames(browser: &Browser, event: &str) -> Vec<f64> {
    let script = format!(
        "const done = arguments[arguments.length - 1];
        const stage = document.getElementById('stage');
        stage.scrollIntoView();
        stage.setPointerCapture = () => {{}};
        const box = stage.getBoundingClientRect();
        const stamps = [];
        let step = 0;
        const turn = (at) => {{
            stamps.push(at);
            if (step === 150) {{ done(stamps.slice(1).map((it, place) => it - stamps[place])); return; }}
            {event}
            step += 1;
            requestAnimationFrame(turn);
        }};
        requestAnimationFrame(turn);"
    );
    let found = browser.client.execute_async(&script, Vec::new()).await.unwrap();
    found.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
}
