//! The five pictures of the README and the tour: a market of three sites on which a lot goes on.

use std::time::Duration;

use fantoccini::Locator;

use crate::browser::Browser;
use crate::look::whole_page;
use crate::stage::Stage;

const MARKET: &str = r#"
time_zone = "UTC"

[[site]]
name = "lyra"
kind = "local"
pool = [{ name = "thrift", nodes = 6, performance = 0.8, price = 0.001 }]

[[site]]
name = "orion"
kind = "local"
pool = [{ name = "batch", nodes = 6, price = 0.002 }]

[[site]]
name = "vega"
kind = "local"
pool = [{ name = "fast", nodes = 4, performance = 2, price = 0.006 }]
"#;

/// Says how far it is.
const TRAINING: &str = "for i in $(seq 1 30); do echo \"epoch $i of 40: loss 0.$((95 - 2 * i)), \
                        accuracy 0.$((60 + i))\"; done; echo checkpoint written; sleep 110";

/// Who, what, nodes, time limit, and how it goes.
const JOBS: [(&str, &str, &str, &str, &str); 12] = [
    ("ada", "render-trailer", "4", "00:50", "sleep 9"),
    ("ben", "sweep", "2", "00:40", "sleep 13"),
    ("cleo", "thumbnails", "1", "00:30", "sleep 4"),
    ("ada", "fold-proteins", "3", "02:30", "sleep 140"),
    ("cleo", "broken-build", "1", "01:00", "sleep 6; exit 3"),
    ("ben", "align", "2", "03:00", "sleep 170"),
    ("ada", "train-model", "4", "02:00", TRAINING),
    ("cleo", "nightly-tests", "3", "01:40", "sleep 80"),
    ("ben", "wing-study", "8", "01:20", "true"),
    ("ada", "index-archive", "3", "02:00", "true"),
    ("cleo", "forecast", "5", "01:30", "true"),
    ("ben", "post-process", "2", "01:00", "true"),
];

async fn theme(browser: &Browser, name: &str) {
    browser.run(&format!("localStorage.setItem('theme', '{name}')")).await;
    browser.client.refresh().await.unwrap();
}

/// Only where pictures are wanted: it waits until enough has happened.
#[tokio::test]
async fn the_readme_has_its_pictures() {
    if crate::look::folder().is_none() {
        return;
    }
    let stage = Stage::with(MARKET);
    let tokens = ["ada", "ben", "cleo"].map(|user| (user, stage.token(user)));
    for (user, name, nodes, time, work) in JOBS {
        let (_, token) = tokens.iter().find(|(of, _)| *of == user).unwrap();
        stage.submit_as(token, (name, nodes, time, work));
    }
    let browser = Browser::start().await;
    browser.size(1_280, 900).await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    tokio::time::sleep(Duration::from_secs(25)).await;

    browser.go(&stage.url("/quote")).await;
    theme(&browser, "dark").await;
    browser.fill("#name", "wind-tunnel").await;
    browser.fill("#nodes", "3").await;
    browser.fill("#time", "2m").await;
    browser.click("form#ask button.main").await;
    browser.until("Expires").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    whole_page(&browser, "readme-quote").await;
    // The last offer begins later than now: it is booked.
    let offers = browser.client.find_all(Locator::Css("tr[data-window]")).await.unwrap();
    offers[offers.len() - 1].click().await.unwrap();
    browser.click("#take").await;
    browser.arrive("/jobs/").await;

    let now = browser.run("return Math.floor(Date.now() / 1000)").await.as_i64().unwrap();
    browser.go(&stage.url(&format!("/?t={}..{}", now - 50, now + 400))).await;
    theme(&browser, "light").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    whole_page(&browser, "readme-now").await;
    the_others(&browser, &stage).await;
    browser.end().await;
}

/// A job that waits, what one writes, and the market.
async fn the_others(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs/9")).await;
    browser.until("wing-study").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    whole_page(browser, "readme-job").await;
    browser.go(&stage.url("/jobs/7/output")).await;
    theme(browser, "dark").await;
    browser.until("checkpoint written").await;
    browser.fill("#log-find", "loss 0.4").await;
    browser.until(" of ").await;
    whole_page(browser, "readme-output").await;
    browser.go(&stage.url("/market")).await;
    theme(browser, "light").await;
    browser.until("Utilisation").await;
    whole_page(browser, "readme-market").await;
}
