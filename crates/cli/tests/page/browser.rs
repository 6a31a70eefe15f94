//! A real browser without a window: Chromium, or with `TRADEWIND_BROWSER=firefox` Firefox.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::{Capabilities, TimeoutConfiguration};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::ports;

/// The driver and the browser that it drives; both end with it.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    is_firefox: bool,
    pub(crate) client: Client,
}

impl Browser {
    /// Starts both. Needs Chromium and its driver; `make setup` installs them.
    pub(crate) async fn start() -> Browser {
        let port = ports::free();
        let is_firefox = std::env::var_os("TRADEWIND_BROWSER").is_some_and(|it| it == "firefox");
        let mut driver = Command::new(if is_firefox { "geckodriver" } else { "chromedriver" });
        // A clock that is not UTC, so that both can be distinguished.
        driver.env("TZ", "Asia/Tokyo");
        if is_firefox {
            // Each Firefox has a port of its own for its driver, too.
            driver.arg(format!("--websocket-port={}", ports::free()));
        }
        driver.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = driver.spawn().expect("no driver of the browser: `make setup` installs it");
        let capabilities = if is_firefox { firefox() } else { chromium() };
        let begun = Instant::now();
        loop {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities.clone());
            match builder.connect(&format!("http://127.0.0.1:{port}")).await {
                Ok(client) => {
                    // The accessibility checker takes its time where others keep the processor busy.
                    let script = Some(Duration::from_secs(180));
                    let patient = TimeoutConfiguration::new(script, None, None);
                    client.update_timeouts(patient).await.unwrap();
                    return Browser { driver, port, is_firefox, client };
                }
                Err(wrong) => {
                    assert!(begun.elapsed() < Duration::from_secs(60), "no browser: {wrong}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    pub(crate) async fn go(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.client.find(Locator::Css(css)).await.unwrap();
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    pub(crate) async fn click(&self, css: &str) {
        let element = self.client.find(Locator::Css(css)).await;
        element.unwrap_or_else(|wrong| panic!("{css}: {wrong}")).click().await.unwrap();
    }

    /// All text of the page that is seen; nothing while the browser is on its way.
    pub(crate) async fn text(&self) -> String {
        let script = "return document.body ? document.body.innerText : ''";
        let text = self.client.execute(script, Vec::new()).await;
        text.ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(crate) async fn path(&self) -> String {
        self.client.current_url().await.unwrap().path().to_owned()
    }

    /// Waits until the browser has gone to a page whose path begins so.
    pub(crate) async fn arrive(&self, path: &str) {
        let begun = Instant::now();
        loop {
            let there = self.path().await;
            if there == path || (path.len() > 1 && there.starts_with(path)) {
                return;
            }
            let patient = begun.elapsed() < Duration::from_secs(60);
            assert!(patient, "still at {there}, not at {path}:\n{}", self.text().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the page says so, without being loaded again.
    pub(crate) async fn until(&self, wanted: &str) {
        let begun = Instant::now();
        loop {
            let text = self.text().await;
            if text.contains(wanted) {
                return;
            }
            let patient = begun.elapsed() < Duration::from_secs(60);
            assert!(patient, "the page never says `{wanted}`:\n{text}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// How far parts of the page have jumped since it began to load, as browsers count layout shift,
    /// and what jumped from where to where; nothing where they do not count it. What comes with the
    /// market's news is no loading. It comes back when the page has been at rest for a while.
    pub(crate) async fn jumps(&self) -> (f64, String) {
        let script = "const done = arguments[arguments.length - 1];
            let sum = 0;
            const said = [];
            if (!PerformanceObserver.supportedEntryTypes.includes('layout-shift')) { done([0, '']); return; }
            const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
            const name = (it) => it?.id || it?.className || it?.nodeName || 'what is gone';
            new PerformanceObserver((list) => {
              for (const it of list.getEntries()) {
                const [news] = performance.getEntriesByName('news');
                if (it.hadRecentInput || (news && it.startTime >= news.startTime)) continue;
                sum += it.value;
                said.push(`${it.value.toFixed(3)} at ${Math.round(it.startTime)}: ${it.sources.map((part) =>
                  `${name(part.node)} ${place(part.previousRect)} > ${place(part.currentRect)}`).join(', ')}`);
              }
            }).observe({ type: 'layout-shift', buffered: true });
            const isReady = () => !document.getElementById('stage') || document.body.dataset.timeline === 'ready';
            const wait = () => (isReady() ? setTimeout(() => done([sum, said.join('; ')]), 150) : setTimeout(wait, 50));
            wait();";
        let found = self.client.execute_async(script, Vec::new()).await.unwrap();
        (found[0].as_f64().unwrap(), found[1].as_str().unwrap().to_owned())
    }

    /// From now on what is loaded comes slowly: so many bytes in a second, each answer late. Nothing
    /// where the browser's protocol has no such command.
    pub(crate) async fn slow(&self, bytes_per_second: i64) {
        if self.is_firefox {
            return;
        }
        self.command("Network.enable", &json!({})).await;
        let network = json!({
            "offline": false,
            "latency": if bytes_per_second < 0 { 0 } else { 60 },
            "downloadThroughput": bytes_per_second,
            "uploadThroughput": -1,
        });
        self.command("Network.emulateNetworkConditions", &network).await;
    }

    /// The narrowest window that it makes, pixels.
    pub(crate) fn narrowest(&self) -> u32 {
        if self.is_firefox { 500 } else { 0 }
    }

    /// Whether [`Browser::system_theme`] is there.
    pub(crate) fn has_system_themes(&self) -> bool {
        !self.is_firefox
    }

    pub(crate) async fn size(&self, width: u32, height: u32) {
        self.client.set_window_size(width, height).await.unwrap();
    }

    /// Makes the reader's system light or dark, by the browser's own protocol.
    pub(crate) async fn system_theme(&self, theme: &str) {
        let media = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.command("Emulation.setEmulatedMedia", &json!({ "features": media })).await;
    }

    /// A command of the browser's own protocol.
    pub(crate) async fn command(&self, name: &str, parameters: &Value) {
        let session = self.client.session_id().await.unwrap().unwrap();
        let url = format!("http://127.0.0.1:{}/session/{session}/goog/cdp/execute", self.port);
        let command = json!({"cmd": name, "params": parameters});
        ureq::post(&url).content_type("application/json").send(command.to_string()).unwrap();
    }

    pub(crate) async fn end(mut self) {
        drop(self.client.clone().close().await);
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}

fn chromium() -> Capabilities {
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        // Containers give little of it.
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ];
    let mut capabilities = Capabilities::new();
    capabilities.insert("goog:chromeOptions".to_owned(), json!({"args": arguments}));
    capabilities.insert("goog:loggingPrefs".to_owned(), json!({"browser": "ALL"}));
    capabilities
}

fn firefox() -> Capabilities {
    let arguments = ["-headless", "--width=1280", "--height=900"];
    let mut capabilities = Capabilities::new();
    let binary = "/usr/bin/firefox-esr";
    let options = json!({"args": arguments, "binary": binary});
    capabilities.insert("moz:firefoxOptions".to_owned(), options);
    capabilities
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
