//! The page of projects.

use crate::browser::Browser;
use crate::look::look;
use crate::sign_in;
use crate::stage::Stage;

#[tokio::test]
async fn the_page_of_projects_works() {
    let stage = Stage::new();
    let browser = Browser::start().await;
    managers_change_their_own(&browser, &stage).await;
    browser.end().await;
}

/// A project with members and budgets that are used to different degrees, as its manager and
/// as an administrator see it; forms change it, from our own pages only.
async fn managers_change_their_own(browser: &Browser, stage: &Stage) {
    let token = stage.token("mia");
    sign_in(browser, &stage.url(""), &token).await;
    browser.arrive("/").await;
    let links = "return document.querySelectorAll('nav a[href=\"/projects\"]').length";
    assert_eq!(browser.run(links).await, 0, "who has no project has no such page");
    browser.go(&stage.url("/projects")).await;
    browser.until("You belong to no project").await;
    look(browser, "projects-none").await;
    stage.command(&["project", "create", "apollo", "--note", "to the moon"]);
    stage.command(&["grant", "project:apollo", "50"]);
    stage.command(&["project", "add", "apollo", "mia", "--role", "manager"]);
    let work = ["submit", "--account", "apollo", "--time", "1", "--wrap", "true"];
    let job = stage.command_as(&token, &work);
    let number: String = job.chars().filter(char::is_ascii_digit).collect();
    stage.command(&["wait", &number, "--timeout", "120"]);
    browser.go(&stage.url("/")).await;
    browser.click("nav a[href='/projects']").await;
    browser.until("to the moon").await;
    browser.click("section > details.confirm > summary").await;
    browser.fill("#add-1", "noa").await;
    browser.click("form:has(#add-1) button").await;
    browser.until("Remove noa").await;
    browser.click("section > details.confirm > summary").await;
    browser.fill("#total-1", "many").await;
    browser.click("form:has(#total-1) button").await;
    browser.until("is not a number of credits").await;
    let typed = "return document.querySelector('#total-1').value";
    assert_eq!(browser.run(typed).await, "many", "what was typed stays");
    look(browser, "projects-refused").await;
    browser.fill("#total-1", "0.001").await;
    browser.click("form:has(#total-1) button").await;
    browser.until("0.001 in all").await;
    browser.until("of mia’s limit is used").await;
    look(browser, "projects-manager").await;
    let cookie = browser.client.get_named_cookie("tradewind").await.unwrap();
    let session = format!("tradewind={}", cookie.value());
    let post = |origin: &str| {
        stage.post("/projects", "act=remove&project=apollo&user=noa", &session, origin)
    };
    assert_eq!(post("https://elsewhere.example"), 403);
    assert_eq!(post(&stage.url("")), 303, "our own page may");
    browser.go(&stage.url("/projects")).await;
    assert!(!browser.text().await.contains("noa"), "noa is removed");
}
