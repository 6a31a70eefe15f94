//! The page of observed clusters.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::look::look;
use crate::sign_in;
use crate::stage::Stage;

const HOUR: i64 = 3_600;

/// Whether jobs wait long that are submitted in this hour.
fn is_busy(hour: i64) -> bool {
    (9..18).contains(&hour.rem_euclid(24))
}

fn hours(first: i64, nodes: i64, price: i64) -> Value {
    let hour = |hour: i64| {
        let up = nodes * HOUR;
        let used = if is_busy(hour) { up * 95 / 100 } else { up * (30 + hour % 5 * 8) / 100 };
        let price = if is_busy(hour) { 2 * price } else { price };
        let it = json!({
            "used": used, "up": up, "value": used * price, "idle_value": (up - used) * price
        });
        (((first + hour) * HOUR).to_string(), it)
    };
    // Some hours are not known.
    (0..5 * 24).filter(|it| !(40..44).contains(it)).map(hour).collect()
}

fn jobs(site: &str, first: i64) -> Vec<Value> {
    let job = |number: i64| {
        let hour = number / 4;
        let wait = if is_busy(hour) { 5_400 + number % 7 * 300 } else { number % 5 * 60 };
        let user = ["ada", "emmy", "grace", "sophie"][(number % 4) as usize];
        json!({
            "site": site, "user": user, "account": if number % 2 == 0 { "physics" } else { "biology" },
            "wait": wait, "submitted": (first + hour) * HOUR + number % 4 * 600,
            "size": { "nodes": 2 + number % 2, "limit": 7_200 },
            "ours": number % 9 * 20, "manager": [number % 9 * 45, number % 9 * 20],
            "saved": if is_busy(hour) { json!(wait / 2) } else { Value::Null }
        })
    };
    (0..5 * 24 * 4).map(job).collect()
}

/// Five days of two clusters.
fn seen() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let first = now / HOUR - 5 * 24;
    let site = |nodes: i64, price: i64| {
        json!({
            "since": first * HOUR, "at": now, "waiting": {}, "running": [],
            "rate": { "used": nodes, "up": nodes, "value": 0, "idle_value": 0 },
            "hours": hours(first, nodes, price),
            "counts": { "unpredicted": 31, "gone": 4, "arrays": 2 }
        })
    };
    let scored = [jobs("north", first), jobs("south", first)].concat();
    let sites = json!({ "north": site(64, 150), "south": site(240, 90) });
    json!({ "format": 1, "shadow": { "sites": sites, "scored": scored } }).to_string()
}

#[tokio::test]
async fn what_was_observed_is_on_a_page() {
    let mut stage = Stage::new();
    let browser = Browser::start().await;
    sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    browser.go(&stage.url("/shadow")).await;
    browser.until("No cluster is observed").await;
    look(&browser, "shadow-none").await;
    stage.has_observed(&seen());
    sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    browser.click("nav a[href='/shadow']").await;
    browser.until("960 jobs have started since these clusters are observed").await;
    let lines = "return document.querySelectorAll('#use svg path.line').length";
    assert!(browser.run(lines).await.as_u64().is_some_and(|count| count >= 2), "both are drawn");
    look(&browser, "shadow").await;
    // Both clusters are alike here: half of the saved time is of each.
    let waited = "const row = [...document.querySelectorAll('th[scope=row]')]
        .find((it) => it.textContent === 'ada');
        return [...row.parentElement.querySelectorAll('td')].map((it) => it.textContent)";
    let all = browser.run(waited).await;
    assert_eq!(all[0], "240", "{all}");
    browser.click("nav.tabs a[href='/shadow?of=south']").await;
    browser.arrive("/shadow").await;
    let one = browser.run(waited).await;
    assert_eq!(one[0], "120", "{one}");
    assert!(one[3] != "–" && one[4] != "0", "another hour would have been quieter: {one}");
    browser.end().await;
}
