//! A market with more nodes than there are pixels for, and more jobs than a page lists.

use serde_json::Value;

use crate::browser::Browser;
use crate::look::{look, look_at};
use crate::stage::Stage;
use crate::timeline::{keys, ready, until};

const MARKET: &str = "[[site]]\nname = \"wide\"\nkind = \"local\"\n\
                      pool = [{ name = \"main\", nodes = 900, price = 0.001 }]\n";

/// Holds the mouse where cells are until one says what is in it: a market that forecasts
/// thousands of jobs may take its time to answer.
async fn hover(browser: &Browser) -> String {
    let script = "const done = arguments[arguments.length - 1];
        const stage = document.getElementById('stage');
        const box = stage.getBoundingClientRect();
        const tip = document.getElementById('tip');
        const ask = (step) => {
          if (!tip.hidden && tip.textContent.includes('in this cell')) { done(tip.innerText); return; }
          if (step === 270) { done(''); return; }
          const [x, y] = [box.left + box.width * (0.4 + step / 900), box.top + 60 + step / 3];
          if (step % 30 === 0)
            stage.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, clientX: x, clientY: y }));
          setTimeout(() => ask(step + 1), 100);
        };
        ask(0);";
    let said = browser.client.execute_async(script, Vec::new()).await.unwrap();
    said.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_much_is_told_in_parts() {
    let stage = Stage::with(MARKET);
    stage.submit(("half", "450", "10", "sleep 500"));
    stage.submit(("broken", "30", "5", "exit 3"));
    let array = |jobs: &str, nodes: &str| {
        let words = ["submit", "--array", jobs, "--nodes", nodes, "--time", "1", "--", "true"];
        stage.command(&words);
    };
    array("1-40", "1");
    // None of these can start beside the first, and each has a window of its own.
    array("1-2400", "600");
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    many_nodes_are_cells_until_one_comes_near(&browser).await;
    long_lists_have_pages(&browser, &stage).await;
    browser.end().await;
}

/// A hundred at a time, and how many there are.
async fn long_lists_have_pages(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs?show=all&sort=job&arrays=each&page=2")).await;
    browser.until("Showing 101–200 of 2,442 jobs").await;
    browser.until("Next 100").await;
    look(browser, "jobs-many").await;
    browser.go(&stage.url("/ledger?account=")).await;
    // Each of the forty was held for, settled and paid back.
    let many = "return /100 of 1\\d\\d matching postings/.test(document.body.innerText)";
    until(browser, many).await;
    look(browser, "ledger-many").await;
    browser.run("[...document.querySelectorAll('a')].find((it) => it.innerText === 'Older postings').click()").await;
    until(
        browser,
        "return document.querySelectorAll('[data-live=postings] tbody tr').length < 100",
    )
    .await;
    browser.until("grant").await;
}

/// What is too small for a rectangle is drawn as cells, which say so, and what is in them; zoomed
/// in, as rectangles.
async fn many_nodes_are_cells_until_one_comes_near(browser: &Browser) {
    ready(browser).await;
    browser.run("document.querySelector('[data-act*=fit]').click()").await;
    let said = "return document.getElementById('said').textContent";
    until(browser, &format!("{said}.includes('as cells of')")).await;
    until(browser, &format!("{said}.includes('of 900 nodes')")).await;
    let pose = async || assert!(hover(browser).await.contains("in this cell"));
    look_at(browser, "cells", pose).await;
    keys(browser, "eeeeeeeeee").await;
    until(browser, &format!("return !/as cells/.test({})", &said[7..])).await;
    let rows = browser.run("return new URL(location.href).searchParams.get('rows')").await;
    assert!(matches!(rows, Value::String(_)), "the rows in view are in the address: {rows}");
}
