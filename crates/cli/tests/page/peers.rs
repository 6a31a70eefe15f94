//! Jobs at another market, on the pages of the one that they came from.

use std::path::Path;

use crate::browser::Browser;
use crate::look::look;
use crate::ports;
use crate::stage::Stage;
use crate::timeline::{keys, ready, text_of, until};

/// A market whose peer is at that port; its token for the peer comes into the folder.
fn market(nodes: u32, (peer, port): (&str, u16), tokens: &Path) -> String {
    let token = tokens.join(format!("{peer}.token"));
    format!(
        "[[site]]\nname = \"own\"\nkind = \"local\"\n\
         pool = [{{ name = \"main\", nodes = {nodes}, price = 0.001 }}]\n\
         [[peers]]\nname = \"{peer}\"\nurl = \"http://127.0.0.1:{port}\"\ntoken_file = \"{}\"\n",
        token.display()
    )
}

/// The market lets the peer in; the secret is what the peer shows.
fn admit(stage: &Stage, name: &str, peer: &str, tokens: &Path) {
    let file = tokens.join(format!("{name}.token"));
    let file = file.to_str().unwrap();
    stage.command(&["token", "new", peer, "--role", "peer", "--output", file]);
}

#[tokio::test]
async fn jobs_at_a_peer_have_rows_of_their_own() {
    let tokens = tempfile::tempdir().unwrap();
    let (at_home, far) = (ports::free(), ports::free());
    let home = Stage::at(at_home, &market(1, ("vega", far), tokens.path()));
    let vega = Stage::at(far, &market(4, ("home", at_home), tokens.path()));
    admit(&vega, "vega", "home", tokens.path());
    admit(&home, "home", "vega", tokens.path());
    // Three nodes are only there.
    home.submit(("wide-one", "3", "5", "sleep 300"));
    home.submit(("own-one", "1", "5", "sleep 300"));
    let browser = Browser::start().await;
    crate::sign_in(&browser, &home.url(""), &home.admin()).await;
    browser.arrive("/").await;
    the_timeline_tells_of_it(&browser).await;
    the_job_tells_of_it(&browser, &home).await;
    all_pages_have_room_in_one_line(&browser, &home).await;
    others_do_not_see_whose_it_is(&browser, &home).await;
    browser.end().await;
}

async fn the_timeline_tells_of_it(browser: &Browser) {
    ready(browser).await;
    until(browser, "return document.getElementById('lanes').textContent.includes('at vega')").await;
    browser.run("document.querySelector('#mirror').closest('details').open = true").await;
    browser.until("↗ at a peer: job 1 wide-one of admin").await;
    let said = "document.getElementById('said').textContent";
    until(browser, &format!("return /of 4 nodes.*1 at a peer/.test({said})")).await;
    let rows = "return [...document.querySelectorAll('#mirror tbody tr')].map((it) => it.innerText).find((it) => it.includes('wide-one'))";
    let row = until(browser, rows).await;
    assert!(row.as_str().unwrap().contains("3 nodes at vega"), "{row}");
    keys(browser, "f.").await;
    until(browser, "return document.getElementById('chosen').textContent").await;
    look(browser, "peer").await;
    // Its rows alone.
    browser.fill("#rows-find", "at vega").await;
    until(browser, &format!("return {said}.includes('3 of 4 nodes')")).await;
    keys(browser, "f.").await;
    until(
        browser,
        "return document.getElementById('chosen').textContent.includes('passed on to vega')",
    )
    .await;
    assert!(text_of(browser, "#chosen").await.contains("Open job 1"));
}

/// With every page that there can be but that of observed clusters, in a window of 1,280 pixels.
async fn all_pages_have_room_in_one_line(browser: &Browser, home: &Stage) {
    home.command(&["project", "create", "apollo"]);
    browser.go(&home.url("/peers")).await;
    browser.until("Held there").await;
    let bar = "return [document.querySelectorAll('.top nav:not([hidden]) a').length,
        document.querySelector('.top').getBoundingClientRect().height]";
    let found = browser.run(bar).await;
    assert!(found[0] == 9 && found[1].as_f64().is_some_and(|it| it < 64.0), "{found}");
    look(browser, "peers-page").await;
}

async fn the_job_tells_of_it(browser: &Browser, home: &Stage) {
    browser.go(&home.url("/jobs/1")).await;
    browser.until("Passed on to").await;
    ready(browser).await;
    until(browser, "return document.getElementById('lanes').textContent.includes('at vega')").await;
    look(browser, "job-at-peer").await;
}

async fn others_do_not_see_whose_it_is(browser: &Browser, home: &Stage) {
    browser.client.delete_all_cookies().await.unwrap();
    crate::sign_in(browser, &home.url(""), &home.token("bob")).await;
    browser.arrive("/").await;
    ready(browser).await;
    browser.run("document.querySelector('#mirror').closest('details').open = true").await;
    browser.until("at a peer: a job of another user").await;
    assert!(!browser.text().await.contains("wide-one"));
}
