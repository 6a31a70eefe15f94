//! What many requests, large pages and a thousand open pages cost.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::pretence::Stage;

/// All pages, with a job that waits.
pub(crate) const PAGES: [&str; 14] = [
    "/",
    "/jobs",
    "/jobs?show=all&sort=name&page=50",
    "/jobs/9000",
    "/submit",
    "/quote",
    "/market",
    "/ledger",
    "/ledger?account=",
    "/spending",
    "/projects",
    "/admin",
    "/policy",
    "/help",
];
/// Requests for each page, in a time that is bounded.
const REQUESTS: usize = 300;
const LONGEST: Duration = Duration::from_secs(20);
/// Pages that are open at once.
const OPEN: usize = 1_000;
/// Changes of the market that are timed.
const CHANGES: usize = 300;

fn quantiles(name: &str, mut taken: Vec<f64>, more: &str) {
    taken.sort_by(f64::total_cmp);
    let of = |thousandths: usize| taken[(taken.len() - 1) * thousandths / 1_000];
    let (half, most) = (of(500), of(990));
    println!("{name:<52} p50 {half:>7.1} ms   p99 {most:>7.1} ms   of {} {more}", taken.len());
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The server's part of each page, one request after another.
pub(crate) fn pages(stage: &Stage) {
    for path in PAGES {
        let (begun, mut taken, mut bytes) = (Instant::now(), Vec::new(), 0);
        while taken.len() < REQUESTS && begun.elapsed() < LONGEST {
            let asked = Instant::now();
            bytes = stage.get(path).len();
            taken.push(milliseconds(asked));
        }
        quantiles(&format!("page {path}"), taken, &format!("requests, {bytes} bytes"));
    }
}

/// Each page as a browser loads it that was never there: bytes over the wire, first paint, and how
/// far its parts jump.
pub(crate) async fn visits(browser: &Browser, stage: &Stage) {
    for path in PAGES {
        browser.command("Network.clearBrowserCache", &json!({})).await;
        browser.go(&stage.url(path)).await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let script = "const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
            const files = all.filter((it) => !it.name.includes('/page/board') && !it.name.includes('/v1/'));
            const sum = (some) => some.reduce((before, it) => before + it.encodedBodySize, 0);
            return [performance.getEntriesByName('first-contentful-paint')[0]?.startTime || 0, sum(files), sum(all), all.length]";
        let found = browser.run(script).await;
        let [paint, files, all, count] = [0, 1, 2, 3].map(|at| found[at].as_f64().unwrap());
        let (jumps, _) = browser.jumps().await;
        println!(
            "visit {path:<38} first paint {paint:>5.0} ms   {:>6.1} kB, with data {:>7.1} kB, \
             {count} requests   layout shift {jumps:.3}",
            files / 1e3,
            all / 1e3
        );
    }
}

/// What a change costs the engine, from the question to its answer.
fn changes(stage: &Stage) -> Vec<f64> {
    let change = |_| {
        let asked = Instant::now();
        stage.submit();
        let took = milliseconds(asked);
        sleep(Duration::from_millis(5));
        took
    };
    (0..CHANGES).map(change).collect()
}

/// A stream of events, as an open page has one; counts what comes.
fn listen(stage: &Stage, heard: Arc<AtomicUsize>) {
    let address = stage.url("/v1/events");
    let address = address.trim_start_matches("http://");
    let (host, path) = address.split_once('/').unwrap();
    let (host, token) = (host.to_owned(), stage.token.clone());
    let request = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Accept: text/event-stream\r\n\r\n"
    );
    let listener = Builder::new().stack_size(128 << 10);
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let read = move || {
        for line in BufReader::with_capacity(1 << 12, stream).lines().map_while(Result::ok) {
            if line.starts_with("data:") {
                heard.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    listener.spawn(read).unwrap();
}

/// A thousand open pages: what a change costs the engine without and with them, and while all of
/// them look at their page again.
pub(crate) fn crowd(stage: &Stage) {
    quantiles("a change, no page is open", changes(stage), "changes");
    let heard = Arc::new(AtomicUsize::new(0));
    (0..OPEN).for_each(|_| listen(stage, Arc::clone(&heard)));
    sleep(Duration::from_secs(2));
    heard.store(0, Ordering::Relaxed);
    let before = stage.readings();
    quantiles(&format!("a change, {OPEN} pages are open"), changes(stage), "changes");
    println!("the engine was looked at {} times meanwhile", stage.readings() - before);
    let wanted = OPEN * CHANGES;
    let begun = Instant::now();
    while heard.load(Ordering::Relaxed) < wanted && begun.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(10));
    }
    println!(
        "{} events were heard for {CHANGES} changes, the last {:.1} s after its change",
        heard.load(Ordering::Relaxed),
        begun.elapsed().as_secs_f64()
    );
    let left = Arc::new(AtomicUsize::new(OPEN));
    let begun = Instant::now();
    let askers = (0..16).map(|_| {
        let (stage, left) = (stage.clone(), Arc::clone(&left));
        std::thread::spawn(move || {
            let next = |it: usize| it.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok() {
                stage.get("/");
            }
        })
    });
    let askers: Vec<_> = askers.collect();
    let mut taken = Vec::new();
    while left.load(Ordering::Relaxed) > 0 {
        let asked = Instant::now();
        stage.submit();
        taken.push(milliseconds(asked));
        sleep(Duration::from_millis(50));
    }
    askers.into_iter().for_each(|it| it.join().unwrap());
    let all = begun.elapsed().as_secs_f64();
    quantiles(&format!("a change while {OPEN} pages look again"), taken, "changes");
    println!("{OPEN} pages have looked again within {all:.1} s");
}
