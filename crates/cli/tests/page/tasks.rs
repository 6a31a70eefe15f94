//! What people come for, done as they would: by the words that they see, with as few clicks as the
//! table in `docs/reference/pages.md` says.

use fantoccini::Locator;

use crate::browser::Browser;
use crate::look::look;
use crate::stage::Stage;
use crate::timeline::until;

const MARKET: &str = r#"
[[site]]
name = "lyra"
kind = "local"
owner = "olga"
pool = [{ name = "thrift", nodes = 4, price = 0.001 }]
[[site.price]]
hours = "Mon-Sun 20:00-08:00"
price = 0.0005

[[site]]
name = "vega"
kind = "local"
pool = [{ name = "fast", nodes = 2, performance = 2, price = 0.004 }]
"#;

/// How fast adults read English silently, on average (Brysbaert 2019).
const WORDS_A_MINUTE: usize = 238;

/// Marks the first element that is seen and says this, and is clicked by people: what says nothing
/// else comes first.
const FIND: &str = "const [text] = arguments;
    const plain = (it) => (it.innerText || it.ariaLabel || '').replace(/\\s+/g, ' ').trim();
    const seen = (it) => it.checkVisibility() && it.getClientRects().length > 0;
    const of = (css) => [...document.querySelectorAll(css)].filter(seen);
    const all = [...of('dialog[open] button'), ...of('main :is(a, button, summary, label)'), ...of('header :is(a, button)')];
    const boxes = [...document.querySelectorAll('input[type=checkbox][aria-label]')].filter(seen);
    const found = all.find((it) => plain(it) === text) || all.find((it) => plain(it).startsWith(text))
      || boxes.find((it) => it.ariaLabel.startsWith(text));
    document.querySelector('[data-wanted]')?.removeAttribute('data-wanted');
    if (!found) return false;
    found.dataset.wanted = '';
    found.scrollIntoView({ block: 'center' });
    return true;";

/// A person at the browser, whose clicks are counted.
struct Person<'a> {
    browser: &'a Browser,
    clicks: usize,
    entries: usize,
    /// Words from the top of each page to what was looked for.
    words: usize,
}

impl<'a> Person<'a> {
    /// Signs in; that is not counted.
    async fn enter(browser: &'a Browser, stage: &Stage, token: &str) -> Person<'a> {
        browser.go(&stage.url("/signin")).await;
        browser.client.delete_all_cookies().await.unwrap();
        crate::sign_in(browser, &stage.url(""), token).await;
        browser.arrive("/").await;
        Person { browser, clicks: 0, entries: 0, words: 0 }
    }

    /// Clicks on what says this. Live updates may replace it in between: it is found again.
    async fn click(&mut self, text: &str) {
        let begun = std::time::Instant::now();
        loop {
            let found = self.browser.client.execute(FIND, vec![text.into()]).await.unwrap();
            let element = match found == true {
                true => self.browser.client.find(Locator::Css("[data-wanted]")).await.ok(),
                false => None,
            };
            let words = self.words_to(text).await;
            if let Some(element) = element
                && element.click().await.is_ok()
            {
                self.words += words;
                self.clicks += 1;
                return;
            }
            let patient = begun.elapsed().as_secs() < 60;
            assert!(patient, "nothing says `{text}`:\n{}", self.browser.text().await);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Fills in the field with this label.
    async fn fill(&mut self, label: &str, text: &str) {
        let script = format!(
            "const label = [...document.querySelectorAll('main label')].find((it) => it.innerText.trim().startsWith('{label}'));
             const field = label?.control || document.querySelector('main input[aria-label^=\"{label}\"]');
             if (!field) return false;
             document.querySelector('[data-wanted]')?.removeAttribute('data-wanted');
             field.dataset.wanted = '';
             return true"
        );
        until(self.browser, &script).await;
        self.browser.fill("[data-wanted]", text).await;
        self.entries += 1;
    }

    /// What the page answers, the last of what is read for a task.
    async fn answer(&mut self, text: &str) {
        self.read(text).await;
        self.words += self.words_to(text).await;
    }

    /// Words of the page before this text and of it: as one reads who begins at the top.
    async fn words_to(&self, text: &str) -> usize {
        let page = self.browser.text().await;
        let end = page.find(text).map_or(page.len(), |at| at + text.len());
        page[..end].split_whitespace().filter(|it| it.chars().any(char::is_alphanumeric)).count()
    }

    /// What the page says on the way.
    async fn read(&self, text: &str) {
        self.browser.until(text).await;
    }

    /// Ends a task: so many clicks and fields, and so many words at most.
    #[expect(clippy::print_stdout, reason = "the counts of the documentation")]
    async fn done(&mut self, task: &str, (clicks, entries, words): (usize, usize, usize)) {
        let seconds = self.words * 60 / WORDS_A_MINUTE;
        let done = format!("{} clicks, {} fields", self.clicks, self.entries);
        println!("{task}: {done}, {} words, {seconds} s", self.words);
        assert_eq!((self.clicks, self.entries), (clicks, entries), "{task}: clicks, fields");
        assert!(self.words <= words, "{task}: {} words, {words} at most", self.words);
        (self.clicks, self.entries, self.words) = (0, 0, 0);
    }

    async fn home(&mut self, stage: &Stage) {
        self.browser.go(&stage.url("/")).await;
    }
}

#[tokio::test]
async fn tasks_take_few_clicks_and_words() {
    let stage = Stage::with(MARKET);
    let ana = stage.token("ana");
    stage.command(&["grant", "user:ana", "100"]);
    stage.command(&["project", "create", "apollo"]);
    stage.command(&["project", "add", "apollo", "ana", "--role", "manager"]);
    stage.command(&["grant", "project:apollo", "50"]);
    let paid = ["submit", "--account", "apollo", "--time", "1", "--", "true"];
    stage.command_as(&ana, &paid);
    stage.submit_as(&ana, ("broken", "1", "1", "echo no such data; exit 3"));
    stage.command(&["wait", "1", "--timeout", "120"]);
    stage.submit(("theirs", "4", "30", "sleep 900"));
    stage.submit(("more", "2", "30", "sleep 900"));
    stage.submit_as(&ana, ("wing-study", "6", "20", "true"));
    let array = ["submit", "--array", "0-9", "--nodes", "3", "--time", "9", "--job-name", "sweep"];
    stage.command_as(&ana, &[&array[..], &["--", "true"]].concat());
    let browser = Browser::start().await;
    as_a_user(&browser, &stage, &ana).await;
    as_an_owner(&browser, &stage).await;
    as_an_administrator(&browser, &stage).await;
    browser.end().await;
}

async fn as_a_user(browser: &Browser, stage: &Stage, token: &str) {
    let mut ana = Person::enter(browser, stage, token).await;
    ana.answer("next start of yours").await;
    ana.done("when does my next job start", (0, 0, 110)).await;

    ana.click("5 wing-study").await;
    ana.read("nodes").await;
    ana.answer("Range of its start").await;
    ana.done("why does it wait", (1, 0, 260)).await;

    ana.home(stage).await;
    ana.click("5 wing-study").await;
    ana.click("Change the job").await;
    ana.fill("Time limit", "10").await;
    ana.click("Change job 5").await;
    ana.read("updated by ana").await;
    ana.answer("Expected start").await;
    ana.done("give it less time while it waits", (3, 1, 560)).await;

    ana.home(stage).await;
    ana.click("Job 2, broken").await;
    ana.answer("no such data").await;
    ana.done("why did it fail", (1, 0, 200)).await;

    ana.home(stage).await;
    ana.click("Job 2, broken").await;
    ana.click("Run again").await;
    ana.fill("Time limit", "2").await;
    ana.click("Submit").await;
    ana.done("run it again with more time", (3, 1, 200)).await;

    ana.home(stage).await;
    ana.click("Quote").await;
    ana.fill("Nodes", "2").await;
    ana.fill("Time limit", "10m").await;
    let tomorrow = jiff::Zoned::now().tomorrow().unwrap().strftime("%FT08:00").to_string();
    browser.run(&format!("document.getElementById('deadline').value = '{tomorrow}'")).await;
    ana.entries += 1;
    ana.fill("Script", "#!/bin/sh\ntrue\n").await;
    ana.click("Get quotes").await;
    ana.read("cost").await;
    ana.answer("Expires").await;
    look(browser, "task-cheapest").await;
    ana.done("the cheapest before tomorrow 8:00", (2, 4, 260)).await;

    ana.home(stage).await;
    ana.click("Projects").await;
    ana.read("apollo").await;
    ana.answer("Spent").await;
    ana.done("who used my project’s money", (1, 0, 80)).await;

    ana.home(stage).await;
    ana.click("Ledger").await;
    ana.click("Spending").await;
    ana.answer("credits paid for jobs").await;
    look(browser, "spending-own").await;
    ana.done("what have I spent this month", (2, 0, 150)).await;

    ana.home(stage).await;
    ana.click("Ledger").await;
    ana.click("Spending").await;
    ana.answer("at this rate").await;
    ana.done("when does my project’s money end", (2, 0, 200)).await;

    ana.home(stage).await;
    ana.click("Jobs").await;
    ana.click("Choose all of sweep").await;
    ana.click("Cancel…").await;
    ana.click("Yes, cancel the chosen jobs").await;
    ana.answer("10 jobs cancelled").await;
    ana.done("stop the runaway array", (4, 0, 480)).await;
}

async fn as_an_owner(browser: &Browser, stage: &Stage) {
    let told = stage.command(&["token", "new", "olga", "--role", "owner", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let mut olga = Person::enter(browser, stage, told["token"].as_str().unwrap()).await;
    olga.click("Market").await;
    olga.click("Prices of lyra/thrift").await;
    olga.fill("Price of rule 1", "3").await;
    olga.click("Preview the change").await;
    olga.read("This would change").await;
    olga.click("Set these prices").await;
    olga.answer("The prices of lyra/thrift were changed").await;
    olga.done("raise the night price", (4, 1, 900)).await;

    olga.click("Ledger").await;
    olga.click("Spending").await;
    olga.read("By pool and month").await;
    olga.answer("lyra/thrift").await;
    olga.done("what has my site earned, by month and pool", (2, 0, 200)).await;
}

async fn as_an_administrator(browser: &Browser, stage: &Stage) {
    stage.lose("vega");
    let mut admin = Person::enter(browser, stage, &stage.admin()).await;
    admin.answer("vega: lost since").await;
    admin.done("which site is down, and since when", (0, 0, 80)).await;

    admin.click("Admin").await;
    admin.click("Examine all sites").await;
    admin.answer("to look at").await;
    look(browser, "admin-examined").await;
    admin.done("what is wrong with it, and what to do", (2, 0, 600)).await;

    admin.home(stage).await;
    admin.click("Admin").await;
    admin.read("tradewind doctor vega").await;
    look(browser, "admin-site-away").await;
    admin.fill("To", "ana").await;
    admin.fill("Amount", "25").await;
    admin.click("Grant").await;
    admin.answer("Statement of user:ana").await;
    admin.done("give a user credits", (2, 2, 900)).await;
    stage.find("vega");
}
