//! Jobs are submitted from the pages, run again, and changed several at once.

use fantoccini::Locator;
use serde_json::json;

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::{text_of, until};

const SCRIPT: &str = "#!/bin/sh\n#SBATCH --job-name=from-script\n#SBATCH --nodes=2\n\
                      #SBATCH --time=5\n#TRADEWIND --budget=50\nsleep 300\n";

#[tokio::test]
async fn jobs_are_submitted_and_changed_on_the_pages() {
    let stage = Stage::new();
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    a_script_is_read_and_quoted_in_place(&browser, &stage).await;
    an_array_is_submitted_and_folded(&browser, &stage).await;
    several_jobs_are_changed_at_once(&browser, &stage).await;
    a_job_runs_again(&browser, &stage).await;
    a_waiting_job_is_changed(&browser, &stage).await;
    a_binding_offer_is_accepted(&browser, &stage).await;
    a_job_is_reached_by_letters(&browser, &stage).await;
    pages_are_light(&browser, &stage).await;
    browser.end().await;
}

/// The value of a field.
async fn value(browser: &Browser, id: &str) -> String {
    let script = format!("return document.getElementById('{id}').value");
    browser.run(&script).await.as_str().unwrap().to_owned()
}

/// From a file, by the same parser as the command's; what is typed changes the answer in place.
async fn a_script_is_read_and_quoted_in_place(browser: &Browser, stage: &Stage) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.sh");
    std::fs::write(&file, SCRIPT).unwrap();
    browser.go(&stage.url("/submit")).await;
    browser.run("window.sameDocument = true").await;
    let upload = browser.client.find(Locator::Css("#from-file")).await.unwrap();
    upload.send_keys(file.to_str().unwrap()).await.unwrap();
    until(browser, "return /from-script/.test(document.getElementById('answer').innerText)").await;
    assert_eq!(value(browser, "script").await, SCRIPT);
    let read = text_of(browser, "#answer").await;
    for part in ["Nodes2", "Budget50", "Time limit5 min", "What it could get now", "2 × "] {
        assert!(read.contains(part), "`{part}` is not in `{read}`");
    }
    look(browser, "submit").await;
    browser.fill("#nodes", "many").await;
    until(browser, "return document.querySelector('#answer [role=alert]')").await;
    let kept = "return [document.querySelector('#nodes').ariaInvalid, document.querySelector('#nodes').value, window.sameDocument]";
    assert_eq!(browser.run(kept).await, json!(["true", "many", true]));
    assert!(text_of(browser, "#answer [role=alert]").await.starts_with("Nodes:"));
    look(browser, "submit-wrong").await;
    browser.fill("#nodes", "1").await;
    until(browser, "return /Nodes\\s1/.test(document.getElementById('answer').innerText)").await;
}

async fn an_array_is_submitted_and_folded(browser: &Browser, stage: &Stage) {
    browser.fill("#array", "0-3").await;
    until(browser, "return /Array\\s0-3/.test(document.getElementById('answer').innerText)").await;
    browser.click("#submission button[value=submit]").await;
    browser.until("from-script[3]").await;
    let address = browser.client.current_url().await.unwrap();
    assert!(address.query().unwrap().contains("array=1"), "{address}");
    browser.go(&stage.url("/jobs?show=active")).await;
    browser.until("from-script[0-3]").await;
    browser.until("4 RUNNING").await;
    browser.until("1 row with 4 jobs").await;
    look(browser, "jobs-folded").await;
    browser.go(&stage.url("/jobs?show=all&project=none")).await;
    browser.until("No job matches the filter").await;
    browser.go(&stage.url("/jobs?show=all&since=hour&arrays=each")).await;
    browser.until("of 4 jobs").await;
}

/// Chosen by their boxes; a cancellation is asked for twice.
async fn several_jobs_are_changed_at_once(browser: &Browser, stage: &Stage) {
    for name in ["one", "two"] {
        stage.submit((name, "6", "5", "true"));
    }
    let choose = async |jobs: &[&str]| {
        browser.go(&stage.url("/jobs?show=active&sort=job")).await;
        for job in jobs {
            let script = format!(
                "const box = document.querySelector('.pick input[value=\"{job}\"]');
                 box.focus(); if (!box.checked) box.click(); return true"
            );
            until(browser, &script).await;
        }
    };
    choose(&["5", "6"]).await;
    browser.run("document.querySelector('#bulk button[value=hold]').click()").await;
    browser.until("2 jobs held.").await;
    look(browser, "jobs-bulk").await;
    choose(&["5", "6"]).await;
    browser.run("document.querySelector('#bulk button[value=release]').click()").await;
    browser.until("2 jobs released.").await;
    // All of them, and then all but none: the head of the column says so.
    choose(&[]).await;
    let none = "const button = document.querySelector('#bulk button[value=hold]');
        return button.disabled && !document.getElementById('choose-all').hidden";
    until(browser, none).await;
    browser
        .run("const all = document.getElementById('choose-all'); all.focus(); all.click()")
        .await;
    browser.until("3 of 3 rows chosen").await;
    browser.run("document.querySelector('#bulk button[value=cancel]').click()").await;
    browser.until("6 jobs cancelled.").await;
}

async fn a_job_runs_again(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs/1")).await;
    browser.until("Run again").await;
    browser.run("document.querySelector('a[href*=again]').click()").await;
    browser.arrive("/submit").await;
    browser.until("Filled in as job 1 was").await;
    assert_eq!(value(browser, "script").await, SCRIPT);
    let name = value(browser, "name").await;
    let time = value(browser, "time").await;
    assert_eq!((name.as_str(), time.as_str()), ("from-script", "0:05:00"));
    browser.fill("#array", "").await;
    browser.fill("#name", "again").await;
    browser.click("#submission button[value=submit]").await;
    browser.arrive("/jobs/").await;
    browser.until("again").await;
}

/// On its page; what is refused stays filled in, and its history has the change and no hold.
async fn a_waiting_job_is_changed(browser: &Browser, stage: &Stage) {
    stage.submit(("first", "6", "9", "sleep 500"));
    let told =
        stage.command(&["submit", "--parsable", "--nodes", "6", "--time", "9", "--", "true"]);
    let page = format!("/jobs/{}", told.lines().last().unwrap());
    browser.go(&stage.url(&page)).await;
    browser.click("#change summary").await;
    assert_eq!(value(browser, "change-time").await, "0:09:00");
    look(browser, "job-change").await;
    browser.fill("#change-nodes", "many").await;
    browser.click("#change button").await;
    browser.until("many").await;
    until(browser, "return document.querySelector('#change[open] [role=alert]')").await;
    assert_eq!(value(browser, "change-nodes").await, "many");
    browser.fill("#change-nodes", "3").await;
    browser.fill("#change-time", "7").await;
    browser.fill("#change-budget", "30").await;
    browser.click("#change button").await;
    browser.until("updated by admin").await;
    assert_eq!(browser.path().await, page);
    let history = text_of(browser, ".history").await;
    assert!(!history.contains("held"), "{history}");
    let changed = [
        value(browser, "change-nodes").await,
        value(browser, "change-time").await,
        value(browser, "change-budget").await,
    ];
    assert_eq!(changed, ["3", "0:07:00", "30"]);
    let last: u64 = page.trim_start_matches("/jobs/").parse().unwrap();
    stage.command(&["cancel", &last.to_string(), &(last - 1).to_string()]);
}

async fn a_binding_offer_is_accepted(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/submit")).await;
    browser.fill("#name", "accepted").await;
    browser.run("document.querySelector('#submission button[value=offers]').click()").await;
    browser.until("Binding offers").await;
    browser.run("document.querySelector('#submission button[value=take]').click()").await;
    browser.arrive("/jobs/").await;
    browser.until("Accepted offer").await;
}

/// Ctrl-K, some letters, and Enter.
async fn a_job_is_reached_by_letters(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/ledger")).await;
    let open = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
        return document.querySelector('.palette')?.open === true";
    until(browser, open).await;
    let field = browser.client.find(Locator::Css(".palette input")).await.unwrap();
    field.send_keys("again").await.unwrap();
    until(browser, "return /Job 7, again/.test(document.querySelector('.palette').innerText)")
        .await;
    look(browser, "palette").await;
    field.send_keys("\u{e007}").await.unwrap();
    browser.arrive("/jobs/7").await;
}

/// All that a page needs, in bytes as they are sent.
async fn pages_are_light(browser: &Browser, stage: &Stage) {
    let paths = [
        "/",
        "/jobs?show=all",
        "/jobs/1",
        "/jobs/1/output",
        "/submit",
        "/quote",
        "/market",
        "/ledger",
        "/spending",
        "/admin",
    ];
    for path in paths {
        browser.go(&stage.url(path)).await;
        browser.jumps().await; // until it rests
        let script = "const all = ['navigation', 'resource'].flatMap((it) => performance.getEntriesByType(it));
            return all.filter((it) => !/v1.events/.test(it.name)).reduce((sum, it) => sum + it.encodedBodySize, 0)";
        let weight = browser.run(script).await.as_u64().unwrap();
        assert!((5_000..=150_000).contains(&weight), "{path}: {weight} bytes");
    }
}
