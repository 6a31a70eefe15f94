//! Faults that readers of the pages found, each with the way to see that it is gone.

use fantoccini::Locator;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::{keys, query, ready, text_of, until};

const SURGE: &str = "price = 0.25\n[[site.price]]\nload = \">=0.75\"\nprice = 0.5\n";

#[tokio::test]
async fn faults_that_were_found_are_gone() {
    let stage = Stage::new();
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    stage.submit(("across", "6", "20", "sleep 900"));
    stage.command(&["submit", "--array", "0-2", "--time", "1", "--", "true"]);
    each_part_of_a_job_is_reached_by_keys(&browser, &stage).await;
    the_first_node_of_a_pool_has_its_name(&browser).await;
    the_timeline_follows_the_systems_theme(&browser).await;
    arrays_say_their_index(&browser, &stage).await;
    a_job_is_cancelled_by_two_steps(&browser, &stage).await;
    what_a_job_cost_is_on_its_payers_statement(&browser, &stage).await;
    a_wrong_filter_is_kept(&browser, &stage).await;
    a_surge_price_is_kept_and_a_change_undone(&browser, &stage).await;
    browser.end().await;
}

/// From the first part of a job to its second, and on to other jobs.
async fn each_part_of_a_job_is_reached_by_keys(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/")).await;
    ready(browser).await;
    let drawn = "return /running.*expected|expected.*running/.test(document.getElementById('said').textContent)";
    until(browser, drawn).await;
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..12 {
        keys(browser, ".").await;
        let address = query(browser).await;
        let at = address.split('&').find_map(|it| it.strip_prefix("at=")).unwrap_or_default();
        reached.insert(at.to_owned());
    }
    let parts = reached.iter().filter(|it| it.starts_with("j1.")).count();
    assert_eq!(parts, 2, "both parts of job 1: {reached:?}");
    assert!(reached.iter().any(|it| it.starts_with("j2.")), "other jobs: {reached:?}");
    keys(browser, "\u{e00c}").await;
}

async fn the_first_node_of_a_pool_has_its_name(browser: &Browser) {
    let named = "return [...document.querySelectorAll('#lanes span')].map((it) => it.textContent)";
    let names = browser.run(named).await;
    let names: Vec<&str> = names.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(names.len(), 6, "each node has its name: {names:?}");
    assert!(names.contains(&"main/0") && names.contains(&"spare/0"), "{names:?}");
    // Beside each other, not over each other.
    let apart = "const boxes = [...document.querySelectorAll('#lanes span')].map((it) => it.getBoundingClientRect());
        return boxes.every((it, at) => at === 0 || it.top >= boxes[at - 1].bottom - 1)";
    assert_eq!(browser.run(apart).await, true);
}

async fn the_timeline_follows_the_systems_theme(browser: &Browser) {
    if !browser.has_system_themes() {
        return;
    }
    let paper = "const canvas = document.getElementById('tasks');
        const [r, g, b] = canvas.getContext('2d').getImageData(2, 2, 1, 1).data;
        return r + g + b";
    let light = browser.run(paper).await.as_u64().unwrap();
    assert!(light > 600, "light at first: {light}");
    browser.system_theme("dark").await;
    until(browser, &format!("{paper} < 200")).await;
    browser.system_theme("light").await;
    until(browser, &format!("{paper} > 600")).await;
}

async fn arrays_say_their_index(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs?show=all&arrays=each")).await;
    let text = browser.text().await;
    for index in ["[0]", "[1]", "[2]"] {
        assert!(text.contains(index), "{index} is not in {text}");
    }
}

/// The first step says what is lost; only the second one cancels.
async fn a_job_is_cancelled_by_two_steps(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs/4")).await;
    browser.click("#cancel summary").await;
    browser.until("A cancelled job does not start again").await;
    look(browser, "job-cancel").await;
    browser.until("PENDING").await;
    browser.run("document.querySelector('button[value=cancel]').click()").await;
    browser.until("CANCELLED").await;
}

/// As a user sees it who may see no owner's account.
async fn what_a_job_cost_is_on_its_payers_statement(browser: &Browser, stage: &Stage) {
    stage.command(&["cancel", "1"]);
    let token = stage.token("ana");
    stage.command(&["grant", "user:ana", "100"]);
    stage.submit_as(&token, ("paid", "1", "1", "true"));
    stage.command(&["wait", "5"]);
    browser.client.delete_all_cookies().await.unwrap();
    crate::sign_in(browser, &stage.url(""), &token).await;
    browser.arrive("/").await;
    browser.go(&stage.url("/ledger?kind=settle")).await;
    browser.until("paid out of held credits").await;
    browser.until("credits paid for jobs").await;
    look(browser, "ledger-settled").await;
    let script = "const done = arguments[arguments.length - 1];
        fetch(document.querySelector('a[download]').href).then((it) => it.text()).then(done)";
    let file = browser.client.execute_async(script, Vec::new()).await.unwrap();
    let lines: Vec<&str> = file.as_str().unwrap().lines().collect();
    assert_eq!(lines[0], "number,time,kind,job,from,to,amount,note");
    let cells: Vec<&str> = lines[1].split(',').collect();
    assert!(cells[1].starts_with("20") && cells[1].ends_with('Z'), "{lines:?}");
    assert_eq!(cells[2..5], ["settle", "5", "held:5"], "{lines:?}");
    browser.client.delete_all_cookies().await.unwrap();
    crate::sign_in(browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
}

/// An error says the field, and what was typed stays.
async fn a_wrong_filter_is_kept(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/ledger?job=x&from=2026-11-21")).await;
    browser.until("is no job’s number").await;
    let kept =
        "return [document.querySelector('#job').value, document.querySelector('#job').ariaInvalid,
        document.querySelector('#from').value, document.querySelector('#from').ariaInvalid]";
    assert_eq!(browser.run(kept).await, json!(["x", "true", "2026-11-21", null]));
}

/// What the form for the prices of a pool has: the price without a rule, and each rule.
async fn filled(browser: &Browser) -> Value {
    let script = "const form = document.getElementById('price-alpha/main').form;
        const all = (name) => [...form.querySelectorAll(`input[name=${name}]`)].map((it) => it.value);
        return [all('base')[0], all('load').filter((it) => it), all('price').filter((it) => it)]";
    browser.run(script).await
}

/// The rules in force are filled in; a change of one leaves the others, is previewed, and can be
/// undone. What is wrong is said, and the form is kept.
async fn a_surge_price_is_kept_and_a_change_undone(browser: &Browser, stage: &Stage) {
    stage.price_file("alpha/main", SURGE);
    browser.go(&stage.url("/market")).await;
    browser.click("#your-prices details summary").await;
    assert_eq!(filled(browser).await, json!(["900", [">=0.75"], ["1800"]]));
    browser.fill("#price-alpha\\/main", "cheap").await;
    browser.click("#your-prices details[open] button[value=preview]").await;
    browser.until("`cheap` is not a price").await;
    assert_eq!(filled(browser).await, json!(["cheap", [">=0.75"], ["1800"]]));
    let wrong = "return document.getElementById('price-alpha/main').ariaInvalid";
    assert_eq!(browser.run(wrong).await, "true");
    browser.fill("#price-alpha\\/main", "720").await;
    browser.click("#your-prices details[open] button[value=preview]").await;
    browser.until("This would change").await;
    browser.until("With all nodes in use").await;
    let preview = text_of(browser, "#preview").await;
    assert!(preview.contains("load >=0.75") && !preview.contains("rule removed"), "{preview}");
    look(browser, "prices-preview").await;
    browser.click("button[value=confirm]").await;
    browser.until("The prices of alpha/main were changed").await;
    assert_eq!(filled(browser).await, json!(["720", [">=0.75"], ["1800"]]));
    look(browser, "prices-undo").await;
    browser.click("button[value=undo]").await;
    browser.until("Prices of alpha/main").await;
    let gone = "return !document.body.innerText.includes('were changed')";
    until(browser, gone).await;
    assert_eq!(filled(browser).await, json!(["900", [">=0.75"], ["1800"]]));
    let wide = "const it = document.querySelector('[data-live=pools] .scroll');
        return it.scrollWidth <= it.clientWidth";
    assert_eq!(browser.run(wide).await, true, "no column of the pools is cut off");
    let heads = browser.client.find_all(Locator::Css("[data-live=pools] thead th")).await.unwrap();
    assert_eq!(heads.len(), 11);
}
