//! The timeline, the quote's choice and the list of jobs, as hands and keys use them.

use fantoccini::Locator;
use serde_json::Value;

use crate::browser::Browser;
use crate::look::{look, look_at};
use crate::stage::Stage;

/// Of an element; empty if it is not there.
pub(crate) async fn text_of(browser: &Browser, css: &str) -> String {
    let script = format!("return document.querySelector('{css}')?.textContent || ''");
    browser.run(&script).await.as_str().unwrap().to_owned()
}

pub(crate) async fn until(browser: &Browser, script: &str) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let found = browser.run(script).await;
        if !found.is_null() && found != false && found != "" {
            return found;
        }
        assert!(begun.elapsed().as_secs() < 60, "never: {script}\n{}", browser.text().await);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// The address, which follows once the view has come to rest.
pub(crate) async fn query(browser: &Browser) -> String {
    until(browser, "return document.getElementById('stage')?.dataset.view !== 'moves'").await;
    browser.client.current_url().await.unwrap().query().unwrap_or_default().to_owned()
}

pub(crate) async fn ready(browser: &Browser) {
    until(browser, "return document.body.dataset.timeline === 'ready'").await;
}

pub(crate) async fn keys(browser: &Browser, keys: &str) {
    let stage = browser.client.find(Locator::Css("#stage")).await.unwrap();
    stage.send_keys(keys).await.unwrap();
}

/// Moves the mouse over the canvas until something is under it; what the page says then.
async fn hover(browser: &Browser) -> String {
    let script = "const stage = document.getElementById('stage');
        const box = stage.getBoundingClientRect();
        for (let y = 40; y < box.height; y += 8) for (let x = 4; x < box.width; x += 8) {
          stage.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, clientX: box.left + x, clientY: box.top + y }));
          const tip = document.getElementById('tip');
          if (!tip.hidden && tip.textContent.includes('job ')) return tip.innerText;
        }
        return '';";
    // What is drawn follows the window and the market a little later.
    let begun = std::time::Instant::now();
    loop {
        let told = browser.run(script).await.as_str().unwrap().to_owned();
        if !told.is_empty() || begun.elapsed().as_secs() > 30 {
            return told;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

pub(crate) async fn tells_who_what_why_and_at_what_price(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/?job=2")).await;
    ready(browser).await;
    let said = text_of(browser, "#chosen").await;
    for part in [
        "job 2 looked-at",
        "of admin",
        "exit code 0",
        " · ",
        "in all",
        "credits per node-hour",
        "Open job 2",
    ] {
        assert!(said.contains(part), "`{part}` is not in `{said}`");
    }
    keys(browser, "f").await;
    let hovered = hover(browser).await;
    assert!(hovered.contains("completed: job 2 looked-at of admin"), "{hovered}");
    assert!(
        hovered.contains("credits per node-hour") && hovered.contains("credits in all"),
        "{hovered}"
    );
    look_at(browser, "hover", async || assert_ne!(hover(browser).await, "")).await;
    let said = "document.getElementById('said').textContent";
    until(browser, &format!("return /of 6 nodes.*completed/.test({said})")).await;
}

pub(crate) async fn obeys_keys_and_stands_in_the_address(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/")).await;
    ready(browser).await;
    browser.run("document.querySelector('#mirror').closest('details').open = true").await;
    browser.until("looked-at").await;
    keys(browser, "?").await;
    assert_eq!(browser.run("return document.getElementById('keys').open").await, true);
    look(browser, "keys").await;
    browser.run("document.getElementById('keys').close()").await;
    keys(browser, "f").await;
    // Until the tasks of the new view have come there is none to go to.
    let begun = std::time::Instant::now();
    while !query(browser).await.contains("at=j") {
        assert!(begun.elapsed().as_secs() < 60, "what is chosen is not in the address");
        keys(browser, ".").await;
    }
    let lit = browser.run("return document.querySelectorAll('#mirror tr.on').length").await;
    assert!(lit.as_u64().unwrap() > 0, "the job's rows are marked in the table");
    let before = query(browser).await;
    keys(browser, "wwdd").await;
    let after = query(browser).await;
    assert!(before != after && after.contains("t="), "{before} and {after}");
    // The same address shows the same.
    browser.client.refresh().await.unwrap();
    ready(browser).await;
    assert_eq!(query(browser).await, after);
    assert!(text_of(browser, "#chosen").await.contains("job "));
    keys(browser, "\u{e00c}").await;
    assert_eq!(text_of(browser, "#chosen").await, "", "Esc: nothing is chosen");
    browser.fill("#rows-find", "spare").await;
    until(browser, "return document.getElementById('said').textContent.includes('2 of 6 nodes')")
        .await;
    assert!(query(browser).await.contains("find=spare"));
    browser.fill("#rows-find", "nowhere").await;
    browser.until("No pool and no node is called “nowhere”").await;
}

/// While one zooms, the picture is stretched: another is needed beyond its edge, or far closer.
pub(crate) async fn a_picture_serves_while_the_view_moves(browser: &Browser) {
    let script = "const done = arguments[arguments.length - 1];
        const own = document.querySelector('script[src$=\"/timeline.js\"]').src;
        import(own.replace('/timeline.js', '/timeline/data.js')).then(({ covers, isSharp }) => {
          const shown = { part: { from: -100, until: 200, first: 0, rows: 100, span: 100, scale: 50 } };
          const camera = (from, until) => ({ from, until, span: until - from, top: 25, rows: 50, total: 100 });
          const views = [[0, 100], [40, 70], [-100, 200], [150, 250], [45, 55]].map((it) => camera(...it));
          done(views.map((it) => `${covers(shown, it)} ${isSharp(shown, it)}`));
        });";
    let found = browser.client.execute_async(script, Vec::new()).await.unwrap();
    let all = ["true true", "true false", "true false", "false true", "false false"];
    assert_eq!(found, serde_json::json!(all));
}

/// On the page with an answer to a quote: one choice in all three places.
pub(crate) async fn offers_are_one_choice_in_three_places(browser: &Browser) {
    ready(browser).await;
    look(browser, "offers").await;
    let rows = browser.client.find_all(Locator::Css("tr[data-window]")).await.unwrap();
    assert!(rows.len() >= 2, "two windows at least: {}", browser.text().await);
    let picked = "return [document.querySelector('tr.picked').dataset.window,
        document.querySelector('a[data-pick].picked').dataset.pick.split(' ').includes(document.querySelector('tr.picked').dataset.window),
        location.hash.slice(1), document.querySelector('input[name=quote]:checked').closest('tr').dataset.window]";
    let one = browser.run(picked).await;
    let check = |found: &Value| {
        assert_eq!((&found[0], &found[1]), (&found[2], &Value::Bool(true)), "{found}");
        assert_eq!(found[0], found[3], "{found}");
    };
    check(&one);
    // By key on the timeline, by key on the curve, by a click into the table.
    keys(browser, "]").await;
    let two = browser.run(picked).await;
    check(&two);
    assert_ne!(one, two);
    browser.run("document.querySelector('a[data-pick]').focus()").await;
    let point = browser.client.active_element().await.unwrap();
    point.send_keys("\u{e014}").await.unwrap();
    check(&browser.run(picked).await);
    // A cell: drivers of some browsers click on no row.
    rows[0].find(Locator::Css("td.best")).await.unwrap().click().await.unwrap();
    assert_eq!(browser.run(picked).await, one);
    let counted = text_of(browser, ".left").await;
    assert!(counted.contains("min") || counted.contains(" s"), "{counted}");
    assert!(text_of(browser, "#take").await.contains("credits at most"));
    assert!(query(browser).await.contains("nodes="), "what was asked is in the address");
}

/// The address of an answer: the same question and choice, but nothing to take until one asks.
pub(crate) async fn a_link_shows_what_is_available(browser: &Browser, stage: &Stage) {
    keys(browser, "]").await;
    let link = browser.client.current_url().await.unwrap();
    let choice = link.fragment().unwrap().to_owned();
    browser.go(&stage.url("/jobs")).await;
    browser.go(link.as_str()).await;
    ready(browser).await;
    browser.until("Nothing is reserved").await;
    let shown = "return [document.querySelector('#name').value, document.querySelector('#script').value,
        document.querySelectorAll('svg.chart circle.best').length > 0, document.querySelector('#take') === null]";
    let script = "#!/bin/sh\necho seen on the page\nsleep 4\n";
    assert_eq!(browser.run(shown).await, serde_json::json!(["looked-at", script, true, true]));
    let picked = browser.run("return document.querySelector('tr.picked').dataset.window").await;
    let best = |key: &str| key.replace("by-", "").split('+').map(str::to_owned).collect::<Vec<_>>();
    let now = best(picked.as_str().unwrap());
    assert!(best(&choice).iter().any(|it| now.contains(it)), "{choice} and {picked}");
    look(browser, "offers-link").await;
    browser.click("form#ask button.main").await;
    until(browser, "return document.querySelector('#take') !== null").await;
    ready(browser).await;
    let kept = browser.run("return document.querySelector('tr.picked').dataset.window").await;
    assert!(best(kept.as_str().unwrap()).iter().any(|it| now.contains(it)), "{picked} and {kept}");
    browser.click("tr[data-window] td.best").await;
}

pub(crate) async fn jobs_are_found_sorted_and_counted(browser: &Browser, stage: &Stage) {
    browser.go(&stage.url("/jobs?show=all&sort=name")).await;
    let sorted = browser.run("return document.querySelector('th[aria-sort]').innerText").await;
    assert!(sorted.as_str().unwrap().contains("Name"), "{sorted}");
    browser.until("Showing 1–2 of 2 jobs").await;
    browser.until(" ago").await;
    browser.go(&stage.url("/jobs?find=LOOKED&show=over")).await;
    browser.until("looked-at").await;
    browser.go(&stage.url("/jobs?find=nothing")).await;
    browser.until("No job matches the filter").await;
    browser.go(&stage.url("/jobs/2")).await;
    browser.until("What was considered").await;
    browser.until("Each pool alone").await;
    ready(browser).await;
}
