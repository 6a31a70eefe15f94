//! What pages say when the market, the session or a site is gone, and when it is there again.

use std::time::Duration;

use serde_json::Value;

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::{keys, query, ready, text_of, until};
use crate::wire::Wire;

/// Where the reader is: the view in the address, and where the timeline stands on the screen.
async fn place(browser: &Browser) -> Value {
    let script = "return [location.search, scrollY > 0, Math.round(document.getElementById('stage').getBoundingClientRect().top)]";
    browser.run(script).await
}

/// How the page is with the market: `live`, `paused`, `stale` or `out`.
async fn until_it_is(browser: &Browser, state: &str) {
    until(browser, &format!("return document.body.dataset.live === '{state}'")).await;
}

#[tokio::test]
async fn the_last_that_was_known_stays_with_its_age() {
    let mut stage = Stage::new();
    let wire = Wire::to(&stage.url(""));
    let browser = Browser::start().await;
    crate::sign_in(&browser, &wire.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    a_job_lies_in_two_sites(&browser, &stage, &wire).await;
    the_connection_breaks(&browser, &stage, &wire).await;
    updates_are_paused(&browser, &stage).await;
    a_site_is_gone(&browser, &stage).await;
    the_market_is_restarted(&browser, &mut stage).await;
    browser.end().await;
}

async fn a_job_lies_in_two_sites(browser: &Browser, stage: &Stage, wire: &Wire) {
    stage.submit(("across", "6", "20", "sleep 900"));
    browser.go(&wire.url("/jobs/1")).await;
    browser.until("RUNNING").await;
    browser.until("alpha/main").await;
    browser.until("beta/spare").await;
    ready(browser).await;
    look(browser, "job-together").await;
}

/// The network fails and comes back; no action is needed.
async fn the_connection_breaks(browser: &Browser, stage: &Stage, wire: &Wire) {
    browser.go(&wire.url("/")).await;
    ready(browser).await;
    until_it_is(browser, "live").await;
    keys(browser, "wwd").await;
    // Something is above the view, and something below.
    browser.size(1_280, 450).await;
    browser
        .run("window.sameDocument = true; document.getElementById('stage').scrollIntoView()")
        .await;
    query(browser).await;
    let before = place(browser).await;
    assert_eq!(before[1], true, "something is above the view");
    let below = "return document.documentElement.scrollHeight - scrollY - innerHeight > 50";
    assert_eq!(browser.run(below).await, true, "something is below it");

    wire.cut();
    until_it_is(browser, "stale").await;
    let said = text_of(browser, "#reach").await;
    for part in ["The market is not reached", "What is shown is from 20", " UTC", " ago"] {
        assert!(said.contains(part), "`{part}` is not in `{said}`");
    }
    assert!(browser.text().await.contains("across"), "what was known stays");
    let age = text_of(browser, "#reach [aria-hidden]").await;
    let goes_on =
        format!("return document.querySelector('#reach [aria-hidden]').textContent !== {age:?}");
    until(browser, &goes_on).await;
    until(browser, "return document.querySelector('.frame.old')").await;
    until_it_stands(browser, &before).await;
    look(browser, "unreached").await;
    browser.size(1_280, 450).await;
    browser.run("document.getElementById('stage').scrollIntoView()").await;
    let before = place(browser).await;

    stage.submit(("meanwhile", "1", "5", "true"));
    wire.mend();
    browser.until("The market is reached again, after").await;
    browser.until("meanwhile").await;
    until(browser, "return !document.querySelector('.frame.old')").await;
    until_it_stands(browser, &before).await;
    assert_eq!(browser.run("return window.sameDocument").await, true, "in place");
    until(browser, "return document.getElementById('reach').textContent === ''").await;
    browser.size(1_280, 900).await;
}

/// That nothing has moved, once the browser has drawn what is new.
async fn until_it_stands(browser: &Browser, before: &Value) {
    let begun = std::time::Instant::now();
    // A browser may put half a pixel to another side.
    let same = |now: &Value| {
        let tops = [now, before].map(|it| it[2].as_i64().unwrap());
        now[0] == before[0] && now[1] == before[1] && tops[0].abs_diff(tops[1]) <= 1
    };
    loop {
        let now = place(browser).await;
        if same(&now) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "moved from {before} to {now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn updates_are_paused(browser: &Browser, stage: &Stage) {
    browser.run("document.getElementById('live').click()").await;
    until_it_is(browser, "paused").await;
    stage.submit(("unseen", "1", "5", "true"));
    // Longer than an update takes.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!browser.text().await.contains("unseen"));
    browser.run("document.getElementById('live').click()").await;
    until_it_is(browser, "live").await;
    browser.until("unseen").await;
}

/// The market is there, one of its sites is not: that is something else.
async fn a_site_is_gone(browser: &Browser, stage: &Stage) {
    stage.lose("beta");
    browser.until("beta: lost since").await;
    until(
        browser,
        "return /▲ beta\\/spare failing since /.test(document.getElementById('said').textContent)",
    )
    .await;
    assert_eq!(browser.run("return document.body.dataset.live").await, "live");
    // Nodes that nothing uses are not shown as free.
    let beta = "const row = [...document.querySelectorAll('[data-live=pools-now] tbody tr')].find((it) => it.innerText.includes('beta'));
        return !/now$|at the latest/.test(row.innerText) && row.innerText.includes('0 of 2')";
    until(browser, beta).await;
    look(browser, "site-away").await;
    browser.go(&stage.url("/market")).await;
    browser.until("beta: lost since").await;
    look(browser, "market-site-away").await;
    browser.go(&stage.url("/jobs/1")).await;
    browser.until("as far as is known, at beta, lost since").await;
    look(browser, "job-site-away").await;
    a_waiting_job_counts_on_no_site_that_fails(browser, stage).await;
    stage.find("beta");
    until(browser, "return !document.body.innerText.includes('lost since')").await;
}

/// No nodes there are promised to it; the timeline of its pools ends where its jobs do.
async fn a_waiting_job_counts_on_no_site_that_fails(browser: &Browser, stage: &Stage) {
    let told = stage.command(&["submit", "--parsable", "--hold", "--time", "5", "--", "true"]);
    browser.go(&stage.url(&format!("/jobs/{}", told.lines().last().unwrap()))).await;
    browser.until("its site fails: nothing is planned there").await;
    until(browser, "return document.body.dataset.timeline === 'ready'").await;
    let view = "const [from, until] = new URL(location.href).searchParams.get('t').split('..');
        return until - from";
    let seconds = browser.run(view).await.as_f64().unwrap();
    assert!(seconds < 30.0 * 86_400.0, "a view of {seconds} seconds");
}

/// A session ends with the daemon: after the next sign-in the same page is shown.
async fn the_market_is_restarted(browser: &Browser, stage: &mut Stage) {
    browser.go(&stage.url("/?order=name")).await;
    ready(browser).await;
    keys(browser, "ww").await;
    let view = query(browser).await;
    assert!(view.contains("t="), "{view}");
    stage.stop();
    until_it_is(browser, "stale").await;
    stage.start_again();
    browser.until("You are not signed in any more").await;
    assert!(text_of(browser, "#reach").await.contains("What is shown is from 20"));
    look(browser, "shut-out").await;
    browser.click("#reach a").await;
    browser.arrive("/signin").await;
    browser.fill("#token", &stage.admin()).await;
    browser.click("button.main").await;
    browser.arrive("/").await;
    ready(browser).await;
    assert_eq!(query(browser).await, view);
}
