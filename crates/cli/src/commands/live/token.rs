//! `tradewind token`: tokens of users.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tradewind_io::duration::parse_span;
use tradewind_web::documents::{
    IssuedToken, Myself, NewSecret, NewToken, Role, Site, SiteList, Token, TokenList,
};

use super::Sheet;
use crate::client::words::moment;
use crate::client::{Market, MarketArgs};
use crate::commands::up;
use crate::exit::{Exit, Failure, Outcome, Problem};
use crate::options::Format;
use crate::output;
use crate::report::Report;
use crate::tables::Side;

/// What to do with tokens.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: TokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Make a token for a user; its secret is seen this once.
    #[command(visible_alias = "create")]
    New(NewArgs),
    /// Give a token another secret; the present one stays valid for a while.
    Rotate(RotateArgs),
    /// List tokens, without their secrets, which are not kept.
    List(TokenListArgs),
    /// Make a token useless, at once.
    Revoke(RevokeArgs),
}

/// Arguments of `tradewind token new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token new ana
  tradewind token create ana --expires 90d --note laptop
  tradewind token new olga --role owner --note 'prices of alpha' --output olga.token

Administrators may.")]
struct NewArgs {
    /// A user's name; one that is new begins with what the configuration grants.
    user: String,
    /// Role of the token.
    #[arg(long, value_enum, default_value_t = TokenAs::User)]
    role: TokenAs,
    /// For people: on which machine it is used, say.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// How long it is valid, such as `90d`, or `never` [default: as the configuration says].
    #[arg(long, value_name = "SPAN", value_parser = lifetime)]
    expires: Option<i64>,
    /// Write the secret to this file, which only its owner can read, instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind token rotate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token rotate
  tradewind token rotate 3 --grace 1d --output ana.token
  tradewind token rotate 3 --expires 90d

Without an ID the token that this command uses, and its file gets the new secret. Your own;
administrators may all, and say when they expire.")]
struct RotateArgs {
    /// Id of the token.
    #[arg(value_name = "ID")]
    token: Option<u64>,
    /// How long the present secret stays valid, such as `1h`.
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = grace)]
    grace: i64,
    /// How long it is valid from now on, such as `90d`, or `never` [default: as before].
    #[arg(long, value_name = "SPAN", value_parser = lifetime)]
    expires: Option<i64>,
    /// Write the new secret to this new file, instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: MarketArgs,
}

/// Seconds; 0 for `never`.
fn lifetime(text: &str) -> Result<i64, String> {
    match text {
        "never" => Ok(0),
        _ => match parse_span(text)?.0 {
            seconds @ 1.. => Ok(seconds),
            _ => Err("a token is valid for at least one second".to_owned()),
        },
    }
}

/// Reads a time of at most 30 days: seconds.
fn grace(text: &str) -> Result<i64, String> {
    match parse_span(text)?.0 {
        seconds @ 0..=2_592_000 => Ok(seconds),
        _ => Err("from 0 to 30 days".to_owned()),
    }
}

/// Role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TokenAs {
    /// Their own jobs and accounts.
    User,
    /// The same, and their sites.
    Owner,
    /// May see and change everything.
    Administrator,
    /// Another market: to exchange jobs, and nothing else.
    Peer,
}

impl From<TokenAs> for Role {
    fn from(role: TokenAs) -> Role {
        match role {
            TokenAs::User => Role::User,
            TokenAs::Owner => Role::Owner,
            TokenAs::Administrator => Role::Administrator,
            TokenAs::Peer => Role::Peer,
        }
    }
}

/// Arguments of `tradewind token list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token list

Your own; an administrator sees all.")]
struct TokenListArgs {
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind token revoke`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token revoke 3

Your own; administrators may all.")]
struct RevokeArgs {
    /// Id of the token.
    #[arg(value_name = "ID")]
    token: u64,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    match &args.what {
        TokenCommand::New(args) => new(args, format, report),
        TokenCommand::List(args) => list(args, format, report),
        TokenCommand::Rotate(args) => rotate(args, format, report),
        TokenCommand::Revoke(args) => {
            Market::open(&args.place)?.delete(&format!("/v1/tokens/{}", args.token))?;
            Ok(Exit::Ok)
        }
    }
}

fn new(args: &NewArgs, format: Format, report: &Report) -> Outcome {
    let NewArgs { user, role, note, expires, output, place } = args;
    let market = Market::open(place)?;
    is_free(output.as_deref())?;
    let (user_name, note) = (user.clone(), note.clone());
    let wanted = NewToken { user: user_name, role: (*role).into(), note, lifetime: *expires };
    let sent = market.post("/v1/tokens", &wanted)?;
    let IssuedToken { id, token, expires } = sent.read()?;
    if let Some(expires) = expires {
        report.note(&format!("token {id} expires at {}", moment(expires)));
    }
    match (output, format) {
        (Some(path), _) => {
            write_private(path, &format!("{token}\n"))?;
            output::print(&format!("token {id} is in {}\n", path.display()))?;
        }
        (None, Format::Json) => sent.print()?,
        (None, Format::Table | Format::Csv) => output::print(&format!("{token}\n"))?,
    }
    // The token is made: a hint that is not available is left out.
    if let Ok(SiteList { sites, .. }) = market.get("/v1/sites").and_then(|sent| sent.read())
        && let Some(hint) = hint(user, *role, &sites)
    {
        report.note(&hint);
    }
    Ok(Exit::Ok)
}

/// Nothing is written over.
fn is_free(output: Option<&Path>) -> Result<(), Failure> {
    match output.filter(|path| path.exists()) {
        None => Ok(()),
        Some(path) => {
            let message = format!("`{}` is there already", path.display());
            Err(Failure::usage(message).hint("name another file"))
        }
    }
}

fn rotate(args: &RotateArgs, format: Format, report: &Report) -> Outcome {
    let RotateArgs { token, grace, expires, output, place } = args;
    let market = Market::open(place)?;
    is_free(output.as_deref())?;
    let own = match token {
        Some(_) => None,
        None => Some(market.get("/v1/me")?.read::<Myself>()?.token),
    };
    let number = token.or(own).unwrap_or_default();
    let wanted = NewSecret { grace: Some(*grace), lifetime: *expires };
    let sent = market.post(&format!("/v1/tokens/{number}/rotate"), &wanted)?;
    let IssuedToken { id, token, expires } = sent.read()?;
    let until = moment(crate::client::words::now().saturating_add(*grace));
    report.note(&format!("the secret before is valid until {until}"));
    if let Some(expires) = expires {
        report.note(&format!("token {id} expires at {}", moment(expires)));
    }
    let used = market.token_file().filter(|_| own.is_some() && output.is_none());
    match (output, used, format) {
        (Some(path), ..) => write_private(path, &format!("{token}\n"))?,
        (None, Some(path), _) => replace(path, &token)?,
        (None, None, Format::Json) => return sent.print().map(|()| Exit::Ok),
        (None, None, _) => return output::print(&format!("{token}\n")).map(|()| Exit::Ok),
    }
    let path = output.as_deref().or(used).unwrap_or(Path::new(""));
    output::print(&format!("the new secret of token {id} is in {}\n", path.display()))?;
    Ok(Exit::Ok)
}

/// The file that had the present secret gets the new one, as a whole or not at all.
fn replace(path: &Path, token: &str) -> Result<(), Failure> {
    let wrote = up::place::write_private(path, &format!("{token}\n"));
    wrote.map_err(|failure| {
        failure.hint(
            "the secret before is valid for the grace period: rotate again, with `--output FILE`",
        )
    })
}

/// What is probably not meant: an owner who cannot set prices, or who owns nothing.
fn hint(user: &str, role: TokenAs, sites: &[Site]) -> Option<String> {
    let own = sites.iter().filter(|site| site.owner == user).map(|site| site.name.as_str());
    let own = own.collect::<Vec<_>>().join(", ");
    match (role, own.is_empty()) {
        (TokenAs::User, false) => Some(format!(
            "{user} owns {own}, and may set prices there with a token of `--role owner` only"
        )),
        (TokenAs::Owner, true) => Some(format!(
            "{user} owns no site yet: the configuration names owners, as `owner = \"{user}\"` in \
             a `[[site]]`"
        )),
        _ => None,
    }
}

/// A new file that only its owner can read.
fn write_private(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|wrong| Failure::data(format!("failed to write `{}`: {wrong}", path.display())))
}

fn list(args: &TokenListArgs, format: Format, report: &Report) -> Outcome {
    let sent = Market::open(&args.place)?.pages("/v1/tokens", "tokens")?;
    let TokenList { tokens, .. } = sent.read()?;
    let columns = vec![
        ("TOKEN", Side::Right),
        ("USER", Side::Left),
        ("ROLE", Side::Left),
        ("ISSUED", Side::Left),
        ("EXPIRES", Side::Left),
        ("NOTE", Side::Left),
    ];
    let row = |it: &Token| {
        let issued = match format {
            Format::Csv => it.issued.to_string(),
            _ => moment(it.issued),
        };
        let expires = match (it.expires, format) {
            (None, Format::Csv) => String::new(),
            (None, _) => "never".to_owned(),
            (Some(at), Format::Csv) => at.to_string(),
            (Some(at), _) => moment(at),
        };
        let (id, user, role) = (it.id.to_string(), it.user.clone(), role(it.role).to_owned());
        vec![id, user, role, issued, expires, it.note.clone()]
    };
    let rows = tokens.iter().map(row).collect();
    Sheet { columns, rows }.print(&sent, format)?;
    for (token, what) in ending(&tokens, crate::client::words::now()) {
        let message = format!("token {} of {} {what}", token.id, token.user);
        report.warning(&Problem { message, hint: None });
    }
    Ok(Exit::Ok)
}

/// How long before their end tokens are warned of: seconds.
const EARLY: i64 = 14 * 86_400;

/// Tokens of machines that have expired or will soon, and what to say of them. Those of signing in
/// always expire soon.
pub(super) fn ending(tokens: &[Token], now: i64) -> Vec<(&Token, String)> {
    let own = tokens.iter().filter(|it| it.signed_in.is_none());
    let say = |it: &'_ Token| match it.expires? {
        at if at <= now => Some(format!("expired at {}", moment(at))),
        at if at - now <= EARLY => Some(format!("expires at {}", moment(at))),
        _ => None,
    };
    own.filter_map(|it| Some((it, say(it)?))).collect()
}

pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Owner => "owner",
        Role::Administrator => "administrator",
        Role::Peer => "peer",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tradewind_web::documents::SiteState;

    use super::*;

    #[test]
    fn owners_learn_their_role() {
        let site = Site {
            name: "alpha".to_owned(),
            owner: "olga".to_owned(),
            state: SiteState::Up,
            since: None,
            reason: None,
            requests_per_minute: None,
            requests: BTreeMap::new(),
            away_since: None,
            pools: vec![],
            queue: None,
            delay: None,
            start_ranges: None,
        };
        let sites = [site];
        let said = |user, role| hint(user, role, &sites);
        assert!(said("olga", TokenAs::User).unwrap().contains("--role owner"));
        assert!(said("ana", TokenAs::Owner).unwrap().contains("owner = \"ana\""));
        assert_eq!([said("olga", TokenAs::Owner), said("ana", TokenAs::User)], [None, None]);
    }
}
