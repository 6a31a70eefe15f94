//! How a command finds its market: by its URL and token, or by the folder of a market that runs
//! on this machine.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::expiry;
use super::logins::{Login, Logins};
use crate::exit::Failure;

/// Which market, and as whom. The default names nothing: variables do, or what is on this machine.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Market")]
pub(crate) struct MarketArgs {
    /// Where the market is; else `$TRADEWIND_URL`, else what the folder of `--state` says,
    /// else that of the last `tradewind login`. Of a market with standbys, the URLs of all its
    /// daemons with commas between them.
    #[arg(long, value_name = "URL[,URL…]")]
    url: Option<String>,
    /// The file of the token; else `$TRADEWIND_TOKEN_FILE` or `$TRADEWIND_TOKEN`, else that in the
    /// folder of `--state` if that is given, else that of `tradewind login`, else that in the usual
    /// folder.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The folder of a market on this machine; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Authorities to trust instead of the usual ones, certificates in PEM; else `$TRADEWIND_CA`.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How long an answer may take, in seconds [default: 30]; `wait` ends then in any case.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
}

/// Everything that is needed to ask a market.
#[derive(Clone)]
pub(crate) struct Found {
    /// Without a slash at its end.
    pub(super) url: String,
    /// Where other daemons of the same market are, likewise.
    pub(super) others: Vec<String>,
    pub(super) token: String,
    /// Certificates in PEM, and their file.
    pub(super) ca: Option<(PathBuf, Vec<u8>)>,
    pub(super) timeout: Duration,
    /// Whether it was found in a folder of this machine: paths mean the same to both of us.
    pub(super) here: bool,
    /// Where the token is from.
    pub(super) source: TokenSource,
}

/// Where a token is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// A file that has nothing else.
    File(PathBuf),
    /// A variable, or a program.
    Variable,
    /// `tradewind login`.
    Login,
}

impl Found {
    /// All addresses, the first one first.
    pub(super) fn all(&self) -> Vec<String> {
        std::iter::once(&self.url).chain(&self.others).cloned().collect()
    }

    /// The same market at another of its addresses.
    pub(super) fn at(&self, url: &str) -> Found {
        Found { url: url.to_owned(), ..self.clone() }
    }

    /// How long before its end users are warned: seconds.
    pub(super) fn early(&self) -> i64 {
        match self.source {
            TokenSource::Login => expiry::OF_SIGN_INS,
            TokenSource::File(_) | TokenSource::Variable => expiry::OF_TOKENS,
        }
    }
}

/// The folder that is given, or that `TRADEWIND_STATE` names, or else that of the user's own market.
///
/// # Errors
/// If there is no home.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    named_folder(given).map_or_else(usual_folder, Ok)
}

fn named_folder(given: Option<&Path>) -> Option<PathBuf> {
    given.map(Path::to_owned).or_else(|| path_of("TRADEWIND_STATE"))
}

fn usual_folder() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("tradewind")).ok_or_else(|| {
        Failure::usage("there is no home: HOME is not set").hint("say where: `--state DIR`")
    })
}

/// The folder of a demo's market, beside that of the user's own.
///
/// # Errors
/// If there is no home.
pub(crate) fn demo_folder() -> Result<PathBuf, Failure> {
    Ok(usual_folder()?.with_file_name("tradewind-demo"))
}

/// The folder that is named, or else that of the user's own market, or of a demo if only that runs.
fn running_folder(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named);
    }
    let (own, demo) = (usual_folder()?, demo_folder()?);
    Ok(if url(&demo).exists() && !url(&own).exists() { demo } else { own })
}

/// The journal of the market in this folder.
pub(crate) fn journal(folder: &Path) -> PathBuf {
    folder.join("journal.db")
}

/// The audit log in a market's folder.
pub(crate) fn audit(folder: &Path) -> PathBuf {
    folder.join("audit.db")
}

/// The administrator's token of the market in this folder.
pub(crate) fn token(folder: &Path) -> PathBuf {
    folder.join("admin.token")
}

/// Where the market in this folder says that it listens.
pub(crate) fn url(folder: &Path) -> PathBuf {
    folder.join("url")
}

impl MarketArgs {
    /// The market that runs in this folder, as its administrator; `None`: it does not say where it
    /// listens.
    pub(crate) fn of_folder(folder: &Path) -> Option<MarketArgs> {
        let text = std::fs::read_to_string(url(folder)).ok()?;
        let (token_file, state) = (Some(token(folder)), Some(folder.to_owned()));
        Some(MarketArgs { url: Some(text), token_file, state, ca: None, timeout: Some(5) })
    }

    /// The folder that an option or a variable names.
    fn state(&self) -> Option<PathBuf> {
        named_folder(self.state.as_deref())
    }

    fn ca_file(&self) -> Option<PathBuf> {
        self.ca.clone().or_else(|| path_of("TRADEWIND_CA"))
    }

    /// How long an answer may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.bound().unwrap_or(Duration::from_secs(30))
    }

    /// The same, if it is given.
    pub(crate) fn bound(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs)
    }

    /// Finds the market; does not ask it anything yet.
    ///
    /// # Errors
    /// If there is none, or no token for it.
    pub(crate) fn find(&self) -> Result<Found, Failure> {
        let logins = Logins::read();
        let (urls, here) = self.addresses(&logins)?;
        let mut urls = urls.into_iter();
        let (url, others) = (urls.next().unwrap_or_default(), urls.collect());
        let login = logins.at(&url);
        let ca = self.ca_file().or_else(|| login.and_then(|it| it.ca.clone()));
        let ca = ca.map(|path| read(&path).map(|bytes| (path, bytes)));
        let (token, source) = self.token(here, login)?;
        let timeout = self.timeout();
        Ok(Found { url, others, token, ca: ca.transpose()?, timeout, here, source })
    }

    /// Where the market is, and whether a folder of this machine said so: that which is named, or
    /// runs here, or was signed in to last.
    pub(crate) fn address(&self, logins: &Logins) -> Result<(String, bool), Failure> {
        let (urls, here) = self.addresses(logins)?;
        Ok((urls.into_iter().next().unwrap_or_default(), here))
    }

    /// The same, with the other daemons of the market.
    fn addresses(&self, logins: &Logins) -> Result<(Vec<String>, bool), Failure> {
        let given = self.url.clone().or_else(|| variable("TRADEWIND_URL"));
        let (url, here) = match (given, self.running(), &logins.last) {
            (Some(url), ..) => (url, false),
            (None, Ok(url), _) => (url, true),
            (None, Err(_), Some(last)) if self.state().is_none() => (last.clone(), false),
            (None, Err(failure), _) => return Err(failure),
        };
        let urls = url.split(',').map(|url| url.trim().trim_end_matches('/').to_owned());
        let urls: Vec<String> = urls.collect();
        urls.iter().try_for_each(|url| check(url))?;
        Ok((urls, here))
    }

    /// The authorities that are named.
    pub(crate) fn ca(&self) -> Result<Option<(PathBuf, Vec<u8>)>, Failure> {
        self.ca_file().map(|path| read(&path).map(|bytes| (path, bytes))).transpose()
    }

    /// What the market of the folder wrote down about itself.
    fn running(&self) -> Result<String, Failure> {
        let folder = running_folder(self.state())?;
        let file = url(&folder);
        std::fs::read_to_string(&file).map_err(|wrong| match wrong.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                let message =
                    format!("no market is running here: there is no `{}`", file.display());
                Failure::usage(message).hint("start one: `tradewind up`; or name one: `--url URL`")
            }
            _ => Failure::usage(format!("failed to read `{}`: {wrong}", file.display())),
        })
    }

    /// The token and where it is from, in this order: the file of the option, the file of
    /// `TRADEWIND_TOKEN_FILE`, `TRADEWIND_TOKEN`; if the market was found `here`, the administrator's
    /// token in the folder that an option or a variable names, if the user may read it; that of signing
    /// in; the administrator's token in the usual folder.
    fn token(&self, here: bool, login: Option<&Login>) -> Result<(String, TokenSource), Failure> {
        let hint = "set `TRADEWIND_TOKEN`, or give `--token-file FILE`; an administrator issues \
                    one with `tradewind token new USER`; or sign in: `tradewind login`";
        let named = self.named_token().filter(|_| here);
        let file = self.token_file.clone().or_else(|| path_of("TRADEWIND_TOKEN_FILE"));
        let (text, source) = match (file, variable("TRADEWIND_TOKEN"), named, login) {
            (Some(path), ..) => {
                let text = String::from_utf8_lossy(&read(&path)?).into_owned();
                (text, TokenSource::File(path))
            }
            (None, Some(text), ..) => (text, TokenSource::Variable),
            (None, None, Some((text, path)), _) => (text, TokenSource::File(path)),
            (None, None, None, Some(login)) => (login.token.clone(), TokenSource::Login),
            (None, None, None, None) if here => {
                let path = token(&running_folder(self.state())?);
                let text = std::fs::read_to_string(&path);
                let text = text.map_err(|wrong| {
                    let message = format!("no token: `{}`: {wrong}", path.display());
                    Failure::usage(message).hint(hint)
                })?;
                (text, TokenSource::File(path))
            }
            (None, None, None, None) => {
                return Err(Failure::usage("no token for this market").hint(hint));
            }
        };
        let token = text.trim().to_owned();
        match !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic()) {
            true => Ok((token, source)),
            false => Err(Failure::usage("the token is not one line of letters").hint(hint)),
        }
    }
}

impl MarketArgs {
    /// The administrator's token in the folder that is named, and its file, if it can be read.
    fn named_token(&self) -> Option<(String, PathBuf)> {
        let path = token(&self.state()?);
        Some((std::fs::read_to_string(&path).ok()?, path))
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

fn path_of(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |wrong| Failure::usage(format!("failed to read `{}`: {wrong}", path.display()));
    std::fs::read(path).map_err(failed)
}

/// Tokens go to this machine, or under TLS: nowhere else.
pub(super) fn check(url: &str) -> Result<(), Failure> {
    let wrong = |why: &str, hint: &str| {
        Err(Failure::usage(format!("the market's URL `{url}` {why}")).hint(hint))
    };
    if url.contains(char::is_whitespace) || url.contains('?') || url.contains('#') {
        return wrong("is none", "write `https://HOST[:PORT]`");
    }
    match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (_, Some(rest)) if !rest.is_empty() => Ok(()),
        (Some(rest), _) if is_loopback(rest) => Ok(()),
        (Some(_), _) => {
            wrong("would send the token in the clear", "use `https://`, as beyond this machine")
        }
        _ => wrong("has no `http://` or `https://`", "write `https://HOST[:PORT]`"),
    }
}

/// Whether `HOST[:PORT][/…]` is this machine.
pub(super) fn is_loopback(rest: &str) -> bool {
    let host = rest.split('/').next().unwrap_or_default();
    // `user@host` would be another host than it seems.
    let name = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = name.parse::<std::net::IpAddr>();
    !host.contains('@') && (name == "localhost" || address.is_ok_and(|it| it.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stay_on_this_machine_or_go_under_tls() {
        for good in ["http://127.0.0.1:8460", "http://[::1]:1", "http://localhost", "https://a.b"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["http://example.org", "http://127.0.0.1@example.org", "ftp://x", "https://", ""]
        {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
