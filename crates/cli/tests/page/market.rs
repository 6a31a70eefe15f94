//! Prices, policies, the ledger and clocks, as people use them.

use std::time::{Duration, Instant};

use fantoccini::Locator;
use serde_json::Value;

use crate::browser::Browser;
use crate::stage::Stage;

/// Waits until the script says true.
async fn until_true(browser: &Browser, script: &str) {
    let begun = Instant::now();
    while browser.run(script).await != Value::Bool(true) {
        assert!(begun.elapsed() < Duration::from_secs(30), "never: {script}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A number that a script counts.
async fn count(browser: &Browser, css: &str) -> u64 {
    let script = format!("return document.querySelectorAll('{css}').length");
    browser.run(&script).await.as_u64().unwrap()
}

/// An owner sets a price, sees it in the picture and reads it by keys.
pub(crate) async fn a_price_is_changed(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/market")).await;
    browser.click("#your-prices details summary").await;
    browser.fill("#price-alpha\\/main", "900").await;
    browser.click("button[value=preview]").await;
    browser.click("button[value=confirm]").await;
    browser.until("alpha/main\tadmin\t900").await;
    // A chart below the mouse is not put in again: all of the page with the new price.
    browser.go(&stage.url("/market")).await;
    // What has the focus is not put in again.
    browser.run("document.querySelector('#prices svg.chart').focus()").await;
    let chart = browser.client.find(Locator::Css("#prices svg.chart")).await.unwrap();
    chart.send_keys("\u{e010}").await.unwrap(); // End
    let tip = "return document.querySelector('.tip').innerText";
    let told = browser.run(tip).await;
    assert!(told.as_str().unwrap().contains("alpha/main: 900"), "{told}");
    chart.send_keys("\u{e012}").await.unwrap(); // to the left
    until_true(browser, "return document.querySelectorAll('rect.col.on').length === 1").await;
    // The picture has a table that says the same.
    browser.run("document.querySelector('#prices details').open = true").await;
    browser.until("alpha/main\t900\tasked").await;
    browser.go(&stage.url("/market?back=hour&of=beta")).await;
    assert_eq!(count(browser, "#prices .plot path.line.s1").await, 0, "of one site");
    assert_eq!(count(browser, "#prices .plot path.line.s0:not(.ahead)").await, 1);
}

/// What the production policy makes of last week's jobs at other prices.
pub(crate) async fn other_prices_are_tried(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/market?try=alpha%2Fmain")).await;
    browser.until("Income of the pool").await;
    until_true(browser, "return document.querySelectorAll('.response circle').length === 18").await;
    assert_eq!(count(browser, ".response circle.present").await, 2, "the present price");
    browser.until("Compute again with the present jobs").await;
    // The actual window was an accepted offer, which the simulation does not know: where that makes a
    // difference, the page says so, and beside it is what was.
    browser.until("Actual: ").await;
    // The page warns if the highest income is at an edge of what was tried, and only then.
    let edge = "const incomes = [...document.querySelectorAll('#trial tbody tr')].slice(1)
          .map((it) => Number(it.cells[2].innerText.replace(/[^0-9.]/g, '')));
        const best = incomes.map((it, at) => (it === Math.max(...incomes) ? at : -1)).filter((it) => it >= 0);
        const isEdge = Math.max(...incomes) > 0 && best.every((at) => at === 0 || at === incomes.length - 1);
        return [incomes.length, isEdge, document.getElementById('edge') !== null]";
    let found = browser.run(edge).await;
    assert!(found[0] == 9 && found[1] == found[2], "{found}");
}

/// Candidates side by side; the page says when it is out of date, and asks before it switches.
pub(crate) async fn policies_are_compared(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/policy")).await;
    browser.fill("#compare", "sjf, css, no-such-policy").await;
    browser.click("form.fields button.main").await;
    browser.until("Computed for the queue as of").await;
    browser.until("Switch to css").await;
    browser.until("no-such-policy").await;
    stage.some_jobs();
    stage.contended();
    browser.until("The market has changed since").await;
    // What is updated in place may be replaced between being found and being clicked.
    browser.run("document.querySelector('form.stale button').click()").await;
    browser.until("would change. Each is listed once").await;
    browser.until("By user, largest loss first").await;
    browser.until("Switch to css").await;
    browser.run("document.querySelector('button[value=css]').click()").await;
    browser.until("css is the present policy").await;
}

/// How long something lasts is counted on, though nothing is received.
pub(crate) async fn time_goes_on_without_the_market(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/")).await;
    browser.until("longest for").await;
    browser.run("window.fetch = () => new Promise(() => {})").await;
    let age = "document.querySelector('.card [data-form=for]').textContent";
    let told = browser.run(&format!("return {age}")).await;
    until_true(browser, &format!("return {age} !== {told}")).await;
}

/// Postings are found by job and kind, and what is shown goes into a file.
pub(crate) async fn the_ledger_is_searched(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/ledger")).await;
    browser.fill("#account", "").await;
    browser.fill("#job", "1").await;
    let kind = browser.client.find(Locator::Css("#kind")).await.unwrap();
    kind.select_by_value("settle").await.unwrap();
    browser.click("#filter button.main").await;
    browser.until("1 of 1 matching postings").await;
    let script = "const done = arguments[arguments.length - 1];
        fetch(document.querySelector('a[download]').href).then((it) => it.text()).then(done)";
    let file = browser.client.execute_async(script, Vec::new()).await.unwrap();
    let lines: Vec<&str> = file.as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "number,time,kind,job,from,to,amount,note");
    assert!(lines[1].contains(",settle,1,held:1,owner:"), "{lines:?}");
    let owner = lines[1].split(',').nth(5).unwrap();
    let shown = stage.command(&["ledger", owner, "--format", "csv"]);
    let but_time = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(at, _)| *at != 1);
        cells.map(|(_, cell)| cell.to_owned()).collect::<Vec<_>>()
    };
    let same = shown.lines().any(|line| but_time(line) == but_time(lines[1]));
    assert!(same, "the command says the same: {shown}");
}

/// Times are UTC until the user chooses another clock; then all of them, and what is filled in,
/// too.
pub(crate) async fn clocks_are_changed(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/market?back=day")).await;
    assert!(browser.text().await.contains("Times: UTC"));
    let zone = "return document.querySelector('#prices text.zone').textContent";
    assert_eq!(browser.run(zone).await, "UTC");
    browser.run("while (!document.querySelector('#clock').textContent.includes('Asia/Tokyo')) document.querySelector('#clock').click()").await;
    assert_eq!(browser.run(zone).await, "Asia/Tokyo");
    let footer = browser.run("return document.querySelector('footer time').textContent").await;
    assert!(footer.as_str().unwrap().ends_with("GMT+9"), "{footer}");
    let address = browser.client.current_url().await.unwrap();
    assert!(address.query().unwrap().contains("clock=local"), "{address}");
    browser.go(&stage.url("/ledger")).await;
    let zone = browser.run("return document.querySelector('[name=zone]').value").await;
    assert_eq!(zone, "Asia/Tokyo", "it is remembered, and the server knows it");
    browser.go(&stage.url("/quote")).await;
    let clock = "return [document.querySelector('[for=deadline] [data-zone]').textContent, document.querySelector('#ask [name=zone]').value]";
    assert_eq!(browser.run(clock).await, serde_json::json!(["Asia/Tokyo", "Asia/Tokyo"]));
    browser.go(&stage.url("/quote?nodes=1&time=10m")).await;
    let start = browser.run("return document.querySelector('tr[data-window] time').title").await;
    assert!(start.as_str().unwrap().ends_with("GMT+9"), "{start}");
    browser.run("localStorage.removeItem('clock')").await;
}
