//! The first page answers without scrolling: are my jobs well, what is wrong, when is mine, what
//! does an hour cost where, and which node is used by whom.

use serde_json::Value;

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::{ready, until};

#[tokio::test]
async fn the_first_page_answers_above_the_fold() {
    let stage = Stage::new();
    let token = stage.token("ana");
    stage.command(&["grant", "user:ana", "100"]);
    stage.submit_as(&token, ("broken", "1", "1", "exit 3"));
    stage.submit(("broken-too", "1", "1", "exit 3"));
    // Its nodes are free tomorrow at the latest: a date has to fit on a phone.
    let theirs = ["submit", "--job-name", "theirs", "--clusters", "alpha", "--nodes", "4"];
    stage.command(&[&theirs[..], &["--time", "1500", "--", "sh", "-c", "sleep 900"]].concat());
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    browser.until("of 6").await;
    browser.until("RUNNING").await;
    stage.submit_as(&token, ("mine", "2", "20", "sleep 900"));
    stage.submit_as(&token, ("next", "1", "2", "true"));
    browser.client.delete_all_cookies().await.unwrap();
    crate::sign_in(&browser, &stage.url(""), &token).await;
    browser.arrive("/").await;
    for part in ["RUNNING", "expected", "next start of yours", "nodes free"] {
        browser.until(part).await;
    }
    // The failure is said first, as a sentence.
    browser.until("Job 1, broken: Failed at ").await;
    assert!(!browser.text().await.contains("are held"), "no card counts nothing");
    ready(&browser).await;
    for (width, height) in [(1_280, 800), (390, 844)] {
        above_the_fold(&browser, width, height).await;
    }
    look(&browser, "now-glance").await;
    a_card_counts_what_its_list_has(&browser).await;
    own_jobs_are_coloured(&browser).await;
    browser.end().await;
}

/// The jobs that failed are another user's, too; the card and its list have the reader's own.
async fn a_card_counts_what_its_list_has(browser: &Browser) {
    let failed = "const card = [...document.querySelectorAll('a.card')].find((it) => /failed/.test(it.innerText));
        const count = card.querySelector('.value').innerText;
        card.click();
        return count";
    let home = browser.client.current_url().await.unwrap();
    assert_eq!(browser.run(failed).await, "1");
    browser.until("of 1 job").await;
    browser.go(home.as_str()).await;
    ready(browser).await;
}

/// What the page answers with is seen without scrolling, and so is the timeline with some rows.
async fn above_the_fold(browser: &Browser, width: u32, height: u32) {
    let width = width.max(browser.narrowest());
    let frame = browser.run("return outerHeight - innerHeight").await.as_u64().unwrap();
    browser.size(width, height + u32::try_from(frame).unwrap()).await;
    until(browser, &format!("return innerWidth === {width} && innerHeight === {height}")).await;
    let seen = format!(
        "const bottom = (css) => document.querySelector(css)?.getBoundingClientRect().bottom ?? 1e9;
         const top = document.getElementById('stage').getBoundingClientRect().top;
         return [scrollY, bottom('.failing'), bottom('.cards'), bottom('.own'), bottom('.pools'), top + 110]
           .every((it) => it <= {height})"
    );
    until(browser, &seen).await;
}

/// Rows of the canvas with pixels in the full colour of running jobs: those of one's own.
async fn own_jobs_are_coloured(browser: &Browser) {
    let script = "const canvas = document.getElementById('tasks');
        const css = getComputedStyle(document.documentElement).getPropertyValue('--running').trim();
        const colour = [1, 3, 5].map((at) => parseInt(css.slice(at, at + 2), 16));
        const ratio = devicePixelRatio;
        const tall = (canvas.height / ratio - 36) / 6;
        const rows = [...Array(6).keys()].map((row) => {
          const { data } = canvas.getContext('2d').getImageData(0, Math.round((36 + (row + 0.5) * tall) * ratio), canvas.width, 1);
          let count = 0;
          for (let at = 0; at < data.length; at += 4)
            if (colour.every((it, channel) => Math.abs(data[at + channel] - it) < 3)) count += 1;
          return count;
        });
        return rows.map((it) => it > 10)";
    let wanted = serde_json::json!([false, false, false, false, true, true]);
    let begun = std::time::Instant::now();
    loop {
        let found: Value = browser.run(script).await;
        if found == wanted {
            return;
        }
        assert!(begun.elapsed().as_secs() < 30, "coloured rows: {found}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
