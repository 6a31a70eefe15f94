//! Series of carbon intensity and of the price of electricity that a site reads from an address.
//!
//! The last good answer is a file below the state folder, so that it is there after a restart, and
//! while an address does not answer; the market reads these files as it reads those beside its
//! configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use tradewind_io::digest::sha256;
use tradewind_io::power::Electricity;
use tradewind_io::settings::Settings;
use tradewind_model::Series;
use ureq::Agent;

use crate::background::{Background, StopFlag};
use crate::commands::up::place::try_write_private;

/// How often each address is read.
const EVERY: Duration = Duration::from_secs(60);
/// For one answer, whole.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer: centuries of hours.
const MAX_BYTES: u64 = 8 << 20;
const MAX_REDIRECTS: u32 = 3;
/// An answer that is older than this is stale.
pub(crate) const STALE: Duration = Duration::from_secs(15 * 60);

/// One series of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feed {
    /// Whose electricity it is.
    pub(crate) site: String,
    /// What it says.
    pub(crate) what: Electricity,
    /// Where it is read.
    pub(crate) address: String,
}

/// All series that are read from addresses.
pub(crate) fn of(settings: &Settings) -> Vec<Feed> {
    let sites = settings.sites.iter();
    let of = |site: &tradewind_io::settings::Site| {
        let feed = |(what, address): (&Electricity, &String)| Feed {
            site: site.name.clone(),
            what: *what,
            address: address.clone(),
        };
        site.feeds.iter().map(feed).collect::<Vec<_>>()
    };
    sites.flat_map(of).collect()
}

/// Puts the last good answers of a market's addresses into its settings. An address that never gave
/// one leaves its series unknown.
pub(crate) fn fill(settings: &mut Settings, state: &Path) {
    for feed in of(settings) {
        let Some(series) = feed.kept(state) else { continue };
        let site = settings.sites.iter_mut().find(|site| site.name == feed.site);
        let Some(site) = site else { continue };
        match feed.what {
            Electricity::Carbon => site.power.carbon = Some(series),
            Electricity::Price => site.power.price = Some(series),
        }
    }
}

impl Feed {
    /// Its last good answer. An answer of another address does not count.
    fn file(&self, state: &Path) -> PathBuf {
        let digest = sha256(self.address.as_bytes());
        state.join("feeds").join(format!("{}-{}.csv", self.what.key(), &digest[..16]))
    }

    fn kept(&self, state: &Path) -> Option<Series> {
        let file = self.file(state);
        let text = std::fs::read_to_string(&file).ok()?;
        self.what.parse(&file.to_string_lossy(), &text).ok()
    }

    /// How old its last good answer is, if there ever was one.
    pub(crate) fn age(&self, state: &Path) -> Option<Duration> {
        let written = std::fs::metadata(self.file(state)).ok()?.modified().ok()?;
        Some(SystemTime::now().duration_since(written).unwrap_or_default())
    }

    /// Reads the address once.
    ///
    /// # Errors
    /// Why there is no good answer, in words.
    pub(crate) fn fetch(&self) -> Result<String, String> {
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(MAX_REDIRECTS)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("tradewind/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let mut answer = agent.get(&self.address).call().map_err(|wrong| wrong.to_string())?;
        if answer.status() != 200 {
            return Err(format!("it answers {}", answer.status()));
        }
        let body = answer.body_mut().with_config().limit(MAX_BYTES);
        let text = body.read_to_string().map_err(|wrong| wrong.to_string())?;
        match self.what.parse("its answer", &text) {
            Ok(_) => Ok(text),
            Err(wrong) => Err(first_line(&wrong.to_string())),
        }
    }

    fn renew(&self, state: &Path) -> Result<(), String> {
        let text = self.fetch()?;
        let file = self.file(state);
        let write = || {
            std::fs::create_dir_all(state.join("feeds"))?;
            try_write_private(&file, &text)
        };
        write().map_err(|wrong| format!("`{}` cannot be written: {wrong}", file.display()))
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Reads all addresses again and again on a thread of its own, until it is stopped; none where there
/// is nothing to read.
#[derive(Debug)]
pub(crate) struct FeedReader(Option<Background>);

impl FeedReader {
    /// Starts, if there is anything to read.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(crate) fn start(settings: &Settings, state: &Path) -> std::io::Result<FeedReader> {
        let (feeds, state) = (of(settings), state.to_owned());
        if feeds.is_empty() {
            return Ok(FeedReader(None));
        }
        let run = move |flag: &StopFlag| {
            let mut told: BTreeMap<usize, String> = BTreeMap::new();
            while !flag.is_set() {
                let begun = Instant::now();
                for (at, feed) in feeds.iter().enumerate().take_while(|_| !flag.is_set()) {
                    note(&mut told, at, feed, feed.renew(&state));
                }
                while begun.elapsed() < EVERY && !flag.is_set() {
                    std::thread::park_timeout(Duration::from_secs(1));
                }
            }
        };
        Background::start("feeds", run).map(|thread| FeedReader(Some(thread)))
    }

    /// Stops. An answer that is being waited for is not: its time is bounded, and its thread ends by
    /// itself.
    pub(crate) fn stop(self) {
        drop(self.0.map(Background::leave));
    }
}

/// A fault is in the log once, until there is another one or a good answer.
fn note(told: &mut BTreeMap<usize, String>, at: usize, feed: &Feed, outcome: Result<(), String>) {
    let Feed { site, what, .. } = feed;
    let (key, host) = (what.key(), host(&feed.address));
    match outcome {
        Ok(()) if told.remove(&at).is_some() => tracing::info!(site, key, host, "read again"),
        Ok(()) => {}
        Err(why) => {
            if told.get(&at) != Some(&why) {
                tracing::warn!(site, key, host, why, "a series stays as it is");
            }
            told.insert(at, why);
        }
    }
}

/// The host of an address, for the log and for findings: the rest may be a secret.
pub(crate) fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Serves the answers one after another, each on a connection of its own.
    fn served(answers: Vec<(&'static str, String)>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 2_048];
                let _ = stream.read(&mut request);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(body.as_bytes());
            }
        });
        format!("http://{address}/carbon.csv?key=secret")
    }

    fn feed(address: &str) -> Feed {
        let (site, what) = ("alpha".to_owned(), Electricity::Carbon);
        Feed { site, what, address: address.to_owned() }
    }

    #[test]
    fn the_last_good_answer_is_kept_whatever_comes_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let good = "time,value\n0h,610\n1h,620.5\n".to_owned();
        let long = format!("time,value\n0h,{}\n", "1".repeat(MAX_BYTES as usize));
        let address = served(vec![
            ("200 OK", good),
            ("404 Not Found", String::new()),
            ("200 OK", "time,value\n1h,1\n0h,2\n".to_owned()),
            ("200 OK", "<html>".to_owned()),
            ("200 OK", long),
        ]);
        let feed = feed(&address);
        assert_eq!((feed.kept(folder.path()), feed.age(folder.path())), (None, None));
        feed.renew(folder.path()).unwrap();
        let first = feed.kept(folder.path()).unwrap();
        assert_eq!(first.values().map(|(_, value)| value).collect::<Vec<_>>(), [610_000, 620_500]);
        let faults = [(); 4].map(|()| feed.renew(folder.path()).unwrap_err());
        assert!(faults[0].contains("404"), "{faults:?}");
        assert!(faults[1].contains("not later than the one before"), "{faults:?}");
        assert!(faults.iter().all(|fault| !fault.contains('\n')), "{faults:?}");
        assert_eq!(feed.kept(folder.path()), Some(first));
        assert!(feed.age(folder.path()).unwrap() < STALE);
        let other = Feed { address: format!("{address}2"), ..feed };
        assert_eq!(other.kept(folder.path()), None, "another address has its own answers");
    }

    #[test]
    fn an_address_without_a_server_is_a_fault_that_tells_no_secret() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let fault = feed(&format!("http://{address}/x?key=secret")).fetch().unwrap_err();
        assert!(!fault.contains("secret"), "{fault}");
        assert_eq!(host("https://user:pw@grid.example:8443/a?key=s"), "grid.example:8443");
    }

    #[test]
    fn settings_get_the_last_good_answers() {
        let folder = tempfile::tempdir().unwrap();
        let address = served(vec![("200 OK", "time,value\n0h,610\n".to_owned())]);
        let text = format!(
            "[[site]]\nname = 'alpha'\nkind = 'local'\nwatts = 90\ncarbon = '{address}'\n\
             pool = [{{name = 'main', nodes = 1, price = 0.01}}]\n"
        );
        let config = folder.path().join("tradewind.toml");
        std::fs::write(&config, text).unwrap();
        let (mut settings, _) = tradewind_io::settings::load(&config.to_string_lossy()).unwrap();
        fill(&mut settings, folder.path());
        assert_eq!(settings.sites[0].power.carbon, None);
        of(&settings)[0].renew(folder.path()).unwrap();
        fill(&mut settings, folder.path());
        let carbon = settings.sites[0].power.carbon.as_ref().unwrap();
        assert_eq!(carbon.values().next().map(|(_, value)| value), Some(610_000));
    }
}
