//! The pages in a real browser, against a real daemon with its own two sites.
#![cfg(feature = "browser")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot run its programs has failed"
)]

mod browser;
mod faults;
mod look;
mod lost;
mod market;
mod now;
mod output;
mod peers;
#[path = "../../../daemon/tests/ports/mod.rs"]
mod ports;
mod projects;
mod readme;
mod shadow;
mod stage;
mod status;
mod submit;
mod tasks;
mod timeline;
mod wide;
mod wire;

use browser::Browser;
use fantoccini::Locator;
use look::look;
use stage::Stage;

/// Signs in at that address with a token.
async fn sign_in(browser: &Browser, at: &str, token: &str) {
    browser.go(&format!("{at}/signin")).await;
    browser.fill("#token", token).await;
    browser.click("button.main").await;
}

/// One browser for all that is looked at, one after another: it takes a second to start.
#[tokio::test]
async fn the_pages_work_in_a_browser() {
    let stage = Stage::new();
    let browser = Browser::start().await;
    a_forged_token_is_refused(&browser, &stage).await;
    sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    a_new_market_says_what_to_do(&browser, &stage).await;
    a_quote_is_accepted_and_its_job_runs(&browser, &stage).await;
    timeline::tells_who_what_why_and_at_what_price(&browser, &stage).await;
    timeline::obeys_keys_and_stands_in_the_address(&browser, &stage).await;
    timeline::a_picture_serves_while_the_view_moves(&browser).await;
    timeline::jobs_are_found_sorted_and_counted(&browser, &stage).await;
    market::a_price_is_changed(&browser, &stage).await;
    market::other_prices_are_tried(&browser, &stage).await;
    market::the_ledger_is_searched(&browser, &stage).await;
    market::clocks_are_changed(&browser, &stage).await;
    market::policies_are_compared(&browser, &stage).await;
    market::time_goes_on_without_the_market(&browser, &stage).await;
    no_other_browser_may_use_the_session(&browser, &stage).await;
    users_see_their_own(&browser, &stage).await;
    the_pages_are_accessible(&browser, &stage).await;
    browser.end().await;
}

async fn a_forged_token_is_refused(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/ledger")).await;
    assert_eq!(browser.path().await, "/signin", "access without a sign-in");
    look(browser, "signin").await;
    let forged = format!("tw_{}", "a".repeat(40));
    sign_in(browser, &stage.url(""), &forged).await;
    browser.until("Token not recognised").await;
    look(browser, "signin-refused").await;
    browser.go(&stage.url("/")).await;
    assert_eq!(browser.path().await, "/signin");
}

/// Where nothing has happened, the pages say so, and what to do.
async fn a_new_market_says_what_to_do(browser: &Browser, stage: &Stage) {
    let pages = [
        ("first-now", "/", "No job was submitted yet"),
        ("first-jobs", "/jobs", "There are no jobs here"),
        ("first-market", "/market", "The market is new"),
        ("first-ledger", "/ledger", "You have no account yet"),
        ("access", "/access", "Browsers that are signed in"),
    ];
    for (name, path, said) in pages {
        browser.go(&stage.url(path)).await;
        browser.until(said).await;
        look(browser, name).await;
    }
    // A token is not revoked by one click.
    browser.click("details.confirm summary").await;
    browser.until("What uses it stops working at once").await;
}

async fn a_quote_is_accepted_and_its_job_runs(browser: &Browser, stage: &Stage) {
    stage.busy();
    browser.go(&stage.url("/quote")).await;
    browser.fill("#nodes", "many").await;
    browser.click("form#ask button.main").await;
    browser.until("not a whole number").await;
    look(browser, "quote-refused").await;
    browser.fill("#name", "looked-at").await;
    browser.fill("#nodes", "2").await;
    browser.fill("#time", "2m").await;
    browser.fill("#script", "#!/bin/sh\necho seen on the page\nsleep 4\n").await;
    browser.click("form#ask button.main").await;
    browser.until("Expires").await;
    let charts = browser.client.find_all(Locator::Css("svg.chart circle.best")).await.unwrap();
    assert!(!charts.is_empty(), "the front is drawn");
    timeline::offers_are_one_choice_in_three_places(browser).await;
    points_of_the_curve_follow_the_clock(browser).await;
    timeline::a_link_shows_what_is_available(browser, stage).await;
    browser.click("#take").await;
    browser.arrive("/jobs/").await;
    stage.command(&["cancel", "1"]);
    browser.run("window.sameDocument = true").await;
    browser.until("seen on the page").await;
    browser.until("COMPLETED").await;
    assert!(browser.text().await.contains("seen on the page"), "the output stays");
    let same = browser.run("return window.sameDocument === true").await;
    assert_eq!(same, true, "live updates change the page in place");
}

/// What is read aloud of each offer has its finish by the clock that the reader has chosen.
async fn points_of_the_curve_follow_the_clock(browser: &Browser) {
    for (clock, ending) in [("Asia/Tokyo", "GMT+9"), ("UTC", "UTC")] {
        let clock = format!(
            "const clock = document.getElementById('clock');
             while (!clock.textContent.includes('{clock}')) clock.click();
             return document.querySelector('a[data-pick]').ariaLabel"
        );
        let label = browser.run(&clock).await;
        assert!(label.as_str().unwrap().ends_with(ending), "{label}");
    }
}

async fn no_other_browser_may_use_the_session(browser: &Browser, stage: &Stage) {
    let cookie = browser.client.get_named_cookie("tradewind").await.unwrap();
    assert_eq!(cookie.http_only(), Some(true));
    let session = format!("tradewind={}", cookie.value());
    let post = |origin: &str| stage.post("/policy", "policy=fcfs", &session, origin);
    assert_eq!(post("https://elsewhere.example"), 403);
    assert_eq!(post("http://127.0.0.1:1"), 403);
    assert_eq!(post(&stage.url("")), 303, "our own page may");
    // A cookie does for the API what the token does, under the same conditions.
    assert_eq!(stage.get("/v1/me", &session), 200);
    assert_eq!(stage.get("/v1/me", "tradewind=tw_nothing"), 401);
}

async fn users_see_their_own(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/")).await;
    browser.client.delete_all_cookies().await.unwrap();
    let token = stage.token("bob");
    sign_in(browser, &stage.url(""), &token).await;
    browser.arrive("/").await;
    browser.go(&stage.url("/jobs?show=all")).await;
    browser.until("There are no jobs here").await;
    browser.go(&stage.url("/jobs/1")).await;
    browser.until("You have no job 1").await;
    look(browser, "trouble").await;
    browser.go(&stage.url("/policy")).await;
    browser.until("Only an administrator").await;
    browser.go(&stage.url("/")).await;
    browser.run("document.querySelector('#mirror').closest('details').open = true").await;
    browser.until("of another user").await;
    assert!(!browser.text().await.contains("looked-at"), "other users' names stay theirs");
    stage.submit_as(&token, ("of-bob", "1", "1", "true"));
    stage.command(&["grant", "bank", "999990", "--from", "user:bob"]);
    what_is_too_dear_cannot_be_taken(browser, stage).await;
}

/// Bob has less than ten credits: for what only beta has, that is enough.
async fn what_is_too_dear_cannot_be_taken(browser: &Browser, stage: &Stage) {
    let ask = async |nodes: &str| {
        browser.go(&stage.url("/quote")).await;
        browser.fill("#nodes", nodes).await;
        browser.fill("#time", "1h").await;
        browser.click("form#ask button.main").await;
        browser.until("credits to spend").await;
    };
    ask("3").await;
    browser.until("too little for any of these").await;
    let there = "return [document.getElementById('take') !== null,
        document.querySelector('input[name=quote]:checked') !== null]";
    assert_eq!(browser.run(there).await, serde_json::json!([false, false]));
    look(browser, "quote-too-dear").await;
    ask("1").await;
    let taken = "const row = document.querySelector('input[name=quote]:checked').closest('tr');
        return ['dear' in row.dataset, row.classList.contains('picked')]";
    assert_eq!(browser.run(taken).await, serde_json::json!([false, true]));
    browser.until("Accept offer").await;
}

/// All pages of a market on which something goes on.
async fn the_pages_are_accessible(browser: &Browser, stage: &Stage) {
    browser.client.delete_all_cookies().await.unwrap();
    sign_in(browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    let pages = [
        ("now", "/"),
        ("jobs", "/jobs?show=all"),
        ("jobs-filtered", "/jobs?show=failed&find=broken&sort=name"),
        ("job-over", "/jobs/2"),
        ("job-running", "/jobs/4"),
        ("job-waiting", "/jobs/5"),
        ("submit-new", "/submit"),
        ("quote", "/quote"),
        ("market", "/market?try=alpha%2Fmain"),
        ("ledger", "/ledger?account="),
        ("projects", "/projects"),
        ("spending", "/spending?by=job"),
        ("admin", "/admin"),
        ("help", "/help"),
        ("styleguide", "/styleguide"),
        ("policy", "/policy?compare=sjf%2C%20conservative"),
    ];
    let mut jumps = Vec::new();
    for (name, path) in pages {
        // Nothing moves either where a page arrives piece by piece and scripts run late.
        browser.slow(40_000).await;
        browser.go(&stage.url(path)).await;
        jumps.push((name, browser.jumps().await));
        browser.slow(-1).await;
        look(browser, name).await;
    }
    let far: Vec<_> = jumps.iter().filter(|(_, (far, _))| *far > FAR).collect();
    assert!(far.is_empty(), "pages jump while they load: {far:#?}");
    a_theme_is_remembered(browser, stage).await;
}

/// How far a page may jump while it loads: browsers call 0.1 good.
const FAR: f64 = 0.03;

async fn a_theme_is_remembered(browser: &Browser, stage: &Stage) {
    let theme = "return document.documentElement.dataset.theme || 'auto'";
    for wanted in ["light", "dark", "auto"] {
        browser.click("#theme").await;
        assert_eq!(browser.run(theme).await, wanted);
        browser.go(&stage.url("/jobs")).await;
        assert_eq!(browser.run(theme).await, wanted, "on the next page, too");
    }
}
