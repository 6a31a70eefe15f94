//! One sentence on top of each job says where it stands, and times are short.

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::{text_of, until};

#[tokio::test]
async fn a_job_says_in_a_sentence_where_it_stands() {
    let stage = Stage::new();
    stage.submit(("runs", "6", "20", "sleep 900"));
    stage.submit(("waits", "2", "5", "true"));
    stage.submit(("waits-too", "2", "5", "true"));
    stage.command(&["submit", "--hold", "--time", "5", "--", "true"]);
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    each_state_has_its_sentence(&browser, &stage).await;
    a_job_has_one_expected_start(&browser, &stage).await;
    what_is_over_says_what_it_cost(&browser, &stage).await;
    times_are_short(&browser, &stage).await;
    browser.end().await;
}

/// Waits until the sentence of that job has all of these parts.
async fn says(browser: &Browser, stage: &Stage, job: u32, parts: &[&str]) {
    browser.go(&stage.url(&format!("/jobs/{job}"))).await;
    let begun = std::time::Instant::now();
    loop {
        let said = text_of(browser, "p.status").await;
        if parts.iter().all(|part| said.contains(part)) {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "job {job}: {parts:?} in `{said}`");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

async fn each_state_has_its_sentence(browser: &Browser, stage: &Stage) {
    let runs = ["Runs since ", "6 nodes at alpha, beta, until ", " at most. Cost so far "];
    says(browser, stage, 1, &runs).await;
    look(browser, "status-running").await;
    let first =
        ["Waits in the queue since ", "no job is ahead of it", "Expected start: ", " · in "];
    says(browser, stage, 2, &first).await;
    let second = ["1 job is ahead of it", "Expected start: ", "What would help: a quote"];
    says(browser, stage, 3, &second).await;
    look(browser, "status-waiting").await;
    says(browser, stage, 4, &["Held since ", "release it", "When it starts is not known"]).await;
    let said = text_of(browser, "p.status").await;
    assert_eq!(said.to_lowercase().matches("its user holds it").count(), 1, "{said}");
    assert!(!said.contains('▲'), "its user's own hold is no trouble: {said}");
    look(browser, "status-held").await;
}

/// In the list, on the first page, and on top of its own page.
async fn a_job_has_one_expected_start(browser: &Browser, stage: &Stage) {
    let places = [
        ("/jobs?show=all&sort=job", "tr:has(input[value=\"3\"]) td[data-label=Start] time"),
        ("/", "li[data-row=\"3\"] .start time"),
        ("/jobs/3", "p.status .expected time"),
    ];
    let begun = std::time::Instant::now();
    loop {
        let mut starts = Vec::new();
        for (path, css) in places {
            browser.go(&stage.url(path)).await;
            let start = format!("return document.querySelector('{css}')?.dateTime || 'none'");
            starts.push(browser.run(&start).await.as_str().unwrap().to_owned());
        }
        // A plan may be made between two pages, and none before the first.
        if starts.iter().all(|it| *it == starts[0] && it != "none") {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "job 3 is expected at {starts:?}");
    }
}

async fn what_is_over_says_what_it_cost(browser: &Browser, stage: &Stage) {
    stage.command(&["cancel", "3"]);
    let cancelled = ["Cancelled at ", "before it started", "It cost nothing"];
    says(browser, stage, 3, &cancelled).await;
    stage.command(&["cancel", "1"]);
    let stopped = ["Cancelled by admin at ", ", after ", "6 nodes at alpha, beta. It cost "];
    says(browser, stage, 1, &stopped).await;
    stage.command(&["wait", "2"]);
    let done = ["Completed at ", ", after ", "2 nodes at ", "It cost ", " credits."];
    says(browser, stage, 2, &done).await;
}

/// The date and the zone stand once on each page; the rest is in titles.
async fn times_are_short(browser: &Browser, stage: &Stage) {
    for path in ["/", "/jobs?show=all", "/jobs/1", "/jobs/2", "/market", "/ledger?account="] {
        browser.go(&stage.url(path)).await;
        until(browser, "return document.querySelector('main time')").await;
        let long = "return document.querySelector('main').innerText.match(/\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d/)?.[0] || ''";
        let found = browser.run(long).await;
        assert_eq!(found, "", "{path}: a long time");
        let once = "return [document.querySelector('.head').innerText.includes('times in UTC'),
            [...document.querySelectorAll('main time')].every((it) => /^\\d{4}-.* UTC$/.test(it.title))]";
        assert_eq!(browser.run(once).await, serde_json::json!([true, true]), "{path}");
    }
}
