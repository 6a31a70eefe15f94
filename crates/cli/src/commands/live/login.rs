//! `tradewind login`, `logout`, `whoami`: signing in with a provider of identities.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::json;
use tradewind_web::documents::{
    self, DeviceAnswer, DeviceQuestion, DeviceSignIn, Myself, NewSession,
};

use super::Sheet;
use crate::client::logins::{Login, Logins};
use crate::client::words::{moment, moment_or_none};
use crate::client::{Market, MarketArgs, MarketClient, Sent, TokenSource};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::report::Report;
use crate::tables::Side;

/// How long one answer may take: the market asks the provider meanwhile.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Answers that may be missing in a row before it is given up.
const MISSES: u32 = 5;

/// Arguments of `tradewind login`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind login --url https://market.example.org
  tradewind login

Prints an address and a code: open the one in any browser, sign in there, and confirm the other.
The token that the market then issues is kept in `$XDG_CONFIG_HOME/tradewind/logins.json`, which
only its owner can read, and is used for this market by all commands until it expires.
Scripts and services use tokens that an administrator issues: `tradewind token`.")]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind logout`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind logout

Revokes the token that `tradewind login` got, and forgets it.")]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind whoami`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind whoami
  tradewind whoami --format json")]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn login(args: &LoginArgs, format: Format, report: &Report) -> Outcome {
    let mut logins = Logins::read();
    let (url, _) = args.place.address(&logins)?;
    let ca = args.place.ca()?;
    let trusted = ca.as_ref().map(|(path, _)| path.canonicalize().unwrap_or_else(|_| path.clone()));
    let line = MarketClient::patient(&url, ca, TIMEOUT)?;
    let (_, device) = ask::<DeviceSignIn>(&line, "/v1/sign-in/device", b"{}".to_vec())?;
    let device = device.ok_or_else(|| Failure::negative("the market sent no code"))?;
    match &device.whole_url {
        Some(whole) => report.prompt(&format!(
            "open {whole} in any browser, and confirm the code {}",
            device.user_code
        )),
        None => report.prompt(&format!(
            "open {} in any browser, and type the code {}",
            device.url, device.user_code
        )),
    }
    let session = wait(&line, &device)?;
    let NewSession { token, user, role, expires, .. } = session;
    let login = Login { token, user: user.clone(), expires, ca: trusted };
    logins.markets.retain(|_, it| !it.is_over());
    logins.markets.insert(url.clone(), login);
    logins.last = Some(url.clone());
    let file = logins.write()?;
    let until = moment_or_none(expires);
    match format {
        Format::Json => {
            let document = json!({"url": url, "user": user, "role": role, "expires": expires,
                "file": file.display().to_string()});
            output::json(&document)?;
        }
        Format::Table | Format::Csv => output::print(&format!(
            "signed in to {url} as {user} ({}) until {until}\n",
            super::token::role(role)
        ))?,
    }
    Ok(Exit::Ok)
}

/// Asks politely until the user has confirmed the code, or it has expired.
fn wait(line: &MarketClient, device: &DeviceSignIn) -> Result<NewSession, Failure> {
    let end = Instant::now() + Duration::from_secs(device.lasts.unsigned_abs());
    let mut interval = device.interval.clamp(1, 60);
    let mut missed = 0;
    let question = DeviceQuestion { device_code: device.device_code.clone() };
    let body = serde_json::to_vec(&question).unwrap_or_default();
    while Instant::now() < end {
        std::thread::sleep(Duration::from_secs(interval.unsigned_abs()));
        let (status, text) = match line.post("/v1/sign-in/device/token", body.clone()) {
            Ok((429 | 503, _)) if missed < MISSES => {
                missed += 1;
                continue;
            }
            Ok(answer) => answer,
            Err(_) if missed < MISSES => {
                missed += 1;
                continue;
            }
            Err(why) => return Err(Failure::negative(why)),
        };
        missed = 0;
        match status {
            200 => return read(&text),
            202 => interval = (interval + read::<DeviceAnswer>(&text)?.slower).min(60),
            _ => return Err(refusal(status, &text)),
        }
    }
    Err(Failure::negative("the code was not confirmed in time").hint("`tradewind login` again"))
}

/// Status and document of an answer that is a good one.
fn ask<T: DeserializeOwned>(
    line: &MarketClient,
    path: &str,
    body: Vec<u8>,
) -> Result<(u16, Option<T>), Failure> {
    let (status, text) = line.post(path, body).map_err(|why| {
        Failure::usage(why).hint("is it running, and is this its URL? `--url URL` names another")
    })?;
    match status {
        200 => Ok((status, Some(read(&text)?))),
        _ => Err(refusal(status, &text)),
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(text).map_err(|_| {
        Failure::usage("what answers is no market of this release").hint("see `--url`")
    })
}

fn refusal(status: u16, text: &[u8]) -> Failure {
    match serde_json::from_slice::<documents::Failure>(text) {
        Ok(documents::Failure { error }) if error.hint.is_empty() => {
            Failure::negative(error.message)
        }
        Ok(documents::Failure { error }) => Failure::negative(error.message).hint(error.hint),
        Err(_) => Failure::negative(format!("the market answered {status}")),
    }
}

pub(crate) fn logout(args: &LogoutArgs, report: &Report) -> Outcome {
    let mut logins = Logins::read();
    let (url, _) = args.place.address(&logins)?;
    if !logins.markets.contains_key(&url) {
        let message = format!("you are not signed in to {url}");
        return Err(Failure::negative(message).hint("`tradewind login` signs in"));
    }
    // A token that has expired, or a market that is gone, is no reason to keep it.
    let revoked = Market::open(&args.place).and_then(|market| match market.source() {
        TokenSource::Login => {
            let token = market.get("/v1/me")?.read::<Myself>()?.token;
            market.delete(&format!("/v1/tokens/{token}")).map(|_| ())
        }
        // Another token was named, and is not the one to revoke.
        TokenSource::File(_) | TokenSource::Variable => {
            Err(Failure::negative("another token was named"))
        }
    });
    if revoked.is_err() {
        report
            .note("the market could not be reached: the token stays valid there until it expires");
    }
    logins.markets.remove(&url);
    logins.last = logins.last.filter(|it| *it != url);
    logins.write()?;
    output::print(&format!("signed out of {url}\n"))?;
    Ok(Exit::Ok)
}

pub(crate) fn whoami(args: &WhoamiArgs, format: Format) -> Outcome {
    let market = Market::open(&args.place)?;
    let Sent(mut document) = market.get("/v1/me")?;
    let me: Myself = Sent(document.clone()).read()?;
    let source = match market.source() {
        TokenSource::File(path) => path.display().to_string(),
        TokenSource::Variable => "$TRADEWIND_TOKEN".to_owned(),
        TokenSource::Login => "tradewind login".to_owned(),
    };
    if let Some(fields) = document.as_object_mut() {
        fields.insert("url".to_owned(), market.url().into());
        fields.insert("from".to_owned(), source.as_str().into());
    }
    let columns = vec![
        ("USER", Side::Left),
        ("ROLE", Side::Left),
        ("PROJECTS", Side::Left),
        ("TOKEN", Side::Right),
        ("EXPIRES", Side::Left),
        ("FROM", Side::Left),
        ("MARKET", Side::Left),
    ];
    let expires = match (me.expires, format) {
        (None, Format::Csv) => String::new(),
        (None, _) => "never".to_owned(),
        (Some(at), Format::Csv) => at.to_string(),
        (Some(at), _) => moment(at),
    };
    let (role, projects) = (super::token::role(me.role).to_owned(), me.projects.join(","));
    let url = market.url().to_owned();
    let row = vec![me.user, role, projects, me.token.to_string(), expires, source, url];
    Sheet { columns, rows: vec![row] }.print(&Sent(document), format)?;
    Ok(Exit::Ok)
}
