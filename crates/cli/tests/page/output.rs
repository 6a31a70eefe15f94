//! What a job writes is read on a page of its own: live, apart, whole, searched, copied, as a file.

use serde_json::Value;

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::until;

/// Writes more than a page shows at first, and its last line when a file is there.
const WORK: &str = "seq 1 60000; echo it went wrong >&2; \
                    while [ ! -e go ]; do sleep 0.2; done; echo the very end";

#[tokio::test]
async fn the_output_of_a_job_is_read_as_it_is_written() {
    let stage = Stage::new();
    let submit = ["submit", "--job-name", "talks", "--time", "10"];
    let files = ["--output", "talks.out", "--error", "talks.err", "--", "sh", "-c", WORK];
    stage.command(&[&submit[..], &files].concat());
    let browser = Browser::start().await;
    crate::sign_in(&browser, &stage.url(""), &stage.admin()).await;
    browser.arrive("/").await;
    browser.go(&stage.url("/jobs/1")).await;
    browser.until("60000").await;
    browser.until("it went wrong").await;
    browser.run("[...document.querySelectorAll('a')].find((it) => it.innerText === 'Open the output').click()").await;
    browser.arrive("/jobs/1/output").await;
    its_end_is_searched_and_its_beginning_found(&browser).await;
    it_is_followed_to_its_end(&browser, &stage).await;
    it_is_a_file(&browser).await;
    standard_error_is_apart(&browser).await;
    others_may_not_read_it(&browser, &stage).await;
    browser.end().await;
}

const LOG: &str = "document.getElementById('log').textContent";

async fn its_end_is_searched_and_its_beginning_found(browser: &Browser) {
    browser.until(" to 348,894 of 348,894. More is added as it is written.").await;
    assert_eq!(browser.run(&format!("return {LOG}.includes('\\n59999\\n60000\\n')")).await, true);
    assert_eq!(browser.run(&format!("return {LOG}.startsWith('1\\n')")).await, false);
    browser.fill("#log-find", "5999").await;
    browser.until("11 of 11").await;
    browser.click("#log-next").await;
    browser.until("1 of 11").await;
    browser.click("#log-previous").await;
    browser.until("11 of 11").await;
    look(browser, "output").await;
    browser.fill("#log-find", "nowhere").await;
    browser.until("no match in what is shown").await;
    browser.run("const it = document.getElementById('log-find'); it.value = ''; it.dispatchEvent(new Event('input'))").await;
    let earlier = "const it = document.getElementById('log-earlier'); if (!it.hidden) it.click();
        return document.getElementById('log').textContent.startsWith('1\\n2\\n3\\n')";
    until(browser, earlier).await;
    browser.until("All of it: 348,894 bytes.").await;
    browser.click("#log-copy").await;
    until(browser, "return /Copied|Selected/.test(document.getElementById('log-copy').innerText)")
        .await;
}

async fn it_is_followed_to_its_end(browser: &Browser, stage: &Stage) {
    browser.run("window.sameDocument = true").await;
    std::fs::write(stage.path("go"), "").unwrap();
    until(browser, &format!("return {LOG}.endsWith('\\nthe very end\\n')")).await;
    browser.until("The job is over.").await;
    assert_eq!(browser.run("return window.sameDocument").await, true);
    let whole = format!("return {LOG}.length");
    assert_eq!(browser.run(&whole).await, 348_907, "each byte came once");
}

async fn fetched(browser: &Browser, path: &str) -> Value {
    let script = format!(
        "const done = arguments[arguments.length - 1];
        fetch('{path}').then(async (it) => {{
          const text = await it.text();
          done([it.status, text.length, text.slice(0, 4), text.slice(-13), it.headers.get('content-disposition')]);
        }})"
    );
    browser.client.execute_async(&script, Vec::new()).await.unwrap()
}

/// Longer than a piece of what is read at once.
async fn it_is_a_file(browser: &Browser) {
    let link = browser.run("return document.querySelector('a[download]').pathname + document.querySelector('a[download]').search").await;
    let file = fetched(browser, link.as_str().unwrap()).await;
    let name = "attachment; filename=\"job-1-output.txt\"";
    assert_eq!(file, serde_json::json!([200, 348_907, "1\n2\n", "the very end\n", name]));
}

async fn standard_error_is_apart(browser: &Browser) {
    browser.run("[...document.querySelectorAll('a')].find((it) => it.innerText === 'Standard error').click()").await;
    until(browser, "return location.search === '?stream=error'").await;
    until(browser, &format!("return {LOG} === 'it went wrong\\n'")).await;
    browser.until("All of it: 14 bytes. The job is over.").await;
    look(browser, "output-error").await;
}

async fn others_may_not_read_it(browser: &Browser, stage: &Stage) {
    browser.client.delete_all_cookies().await.unwrap();
    crate::sign_in(browser, &stage.url(""), &stage.token("ben")).await;
    browser.arrive("/").await;
    for path in ["/jobs/1/output", "/jobs/1/output/file"] {
        assert_eq!(fetched(browser, path).await[0], 404, "{path}");
    }
}
