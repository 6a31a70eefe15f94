//! `tradewind token`: who may come in.

use std::path::PathBuf;

use clap::ValueEnum;
use tradewind_web::documents::{IssuedToken, NewToken, Role, Site, SiteList, Token, TokenList};

use super::Sheet;
use crate::cli::Format;
use crate::client::words::moment;
use crate::client::{Market, Place};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::report::Report;
use crate::tables::Side;

/// What to do with tokens.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make a token for a user; its secret is seen this once.
    New(NewArgs),
    /// List tokens, without their secrets, which nobody has.
    List(ListArgs),
    /// Make a token useless, at once.
    Revoke(RevokeArgs),
}

/// For whom.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token new ana
  tradewind token new olga --role owner --note 'prices of alpha' --output olga.token

Administrators may.")]
struct NewArgs {
    /// A user's name; one that is new begins with what the configuration grants.
    user: String,
    /// As what they come in.
    #[arg(long, value_enum, default_value_t = As::User)]
    role: As,
    /// For people: on which machine it is used, say.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Write the secret to this file, which only its owner can read, instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// As what somebody comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum As {
    /// Their own jobs and accounts.
    User,
    /// The same, and their sites.
    Owner,
    /// Everything.
    Administrator,
    /// Another market: to exchange jobs, and nothing else.
    Peer,
}

impl From<As> for Role {
    fn from(role: As) -> Role {
        match role {
            As::User => Role::User,
            As::Owner => Role::Owner,
            As::Administrator => Role::Administrator,
            As::Peer => Role::Peer,
        }
    }
}

/// Of which market.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token list

Your own; an administrator sees all.")]
struct ListArgs {
    #[command(flatten)]
    place: Place,
}

/// Which.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind token revoke 3

Your own; administrators may all.")]
struct RevokeArgs {
    /// Its number.
    #[arg(value_name = "ID")]
    token: u64,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    match &args.what {
        What::New(args) => new(args, format, report),
        What::List(args) => list(args, format),
        What::Revoke(args) => {
            Market::open(&args.place)?.delete(&format!("/v1/tokens/{}", args.token))?;
            Ok(Exit::Ok)
        }
    }
}

fn new(args: &NewArgs, format: Format, report: &Report) -> Outcome {
    let NewArgs { user, role, note, output, place } = args;
    let market = Market::open(place)?;
    if let Some(path) = output.as_ref().filter(|path| path.exists()) {
        let message = format!("`{}` is there already", path.display());
        return Err(Failure::usage(message).hint("name another file"));
    }
    let wanted = NewToken { user: user.clone(), role: (*role).into(), note: note.clone() };
    let sent = market.post("/v1/tokens", &wanted)?;
    let IssuedToken { id, token } = sent.read()?;
    match (output, format) {
        (Some(path), _) => {
            write_private(path, &format!("{token}\n"))?;
            output::print(&format!("token {id} is in {}\n", path.display()))?;
        }
        (None, Format::Json) => sent.print()?,
        (None, Format::Table | Format::Csv) => output::print(&format!("{token}\n"))?,
    }
    // The token is made: a hint that cannot be had is none.
    if let Ok(SiteList { sites }) = market.get("/v1/sites").and_then(|sent| sent.read())
        && let Some(hint) = hint(user, *role, &sites)
    {
        report.note(&hint);
    }
    Ok(Exit::Ok)
}

/// What is probably not meant: an owner who cannot set prices, or who owns nothing.
fn hint(user: &str, role: As, sites: &[Site]) -> Option<String> {
    let own = sites.iter().filter(|site| site.owner == user).map(|site| site.name.as_str());
    let own = own.collect::<Vec<_>>().join(", ");
    match (role, own.is_empty()) {
        (As::User, false) => Some(format!(
            "{user} owns {own}, and may set prices there with a token of `--role owner` only"
        )),
        (As::Owner, true) => Some(format!(
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

fn list(args: &ListArgs, format: Format) -> Outcome {
    let sent = Market::open(&args.place)?.pages("/v1/tokens", "tokens")?;
    let TokenList { tokens, .. } = sent.read()?;
    let columns = vec![
        ("TOKEN", Side::Right),
        ("USER", Side::Left),
        ("ROLE", Side::Left),
        ("ISSUED", Side::Left),
        ("NOTE", Side::Left),
    ];
    let row = |it: &Token| {
        let issued = match format {
            Format::Csv => it.issued.to_string(),
            _ => moment(it.issued),
        };
        vec![it.id.to_string(), it.user.clone(), role(it.role).to_owned(), issued, it.note.clone()]
    };
    Sheet { columns, rows: tokens.iter().map(row).collect() }.print(&sent, format)?;
    Ok(Exit::Ok)
}

fn role(role: Role) -> &'static str {
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

    use tradewind_web::documents::Reach;

    use super::*;

    #[test]
    fn owners_are_told_of_their_role() {
        let site = Site {
            name: "alpha".to_owned(),
            owner: "olga".to_owned(),
            state: Reach::Up,
            since: None,
            reason: None,
            requests_per_minute: None,
            requests: BTreeMap::new(),
            away_since: None,
            pools: vec![],
            delay: None,
        };
        let sites = [site];
        let said = |user, role| hint(user, role, &sites);
        assert!(said("olga", As::User).unwrap().contains("--role owner"));
        assert!(said("ana", As::Owner).unwrap().contains("owner = \"ana\""));
        assert_eq!([said("olga", As::Owner), said("ana", As::User)], [None, None]);
    }
}
