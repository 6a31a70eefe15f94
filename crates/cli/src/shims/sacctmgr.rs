//! `sacctmgr show user|account|association`: the projects of the caller, which are accounts to tools.

use tradewind_web::documents::Project;

use super::squeue::me;
use super::{args, refused};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Outcome};
use crate::output;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[arg(short = 'i', long)]
    immediate: bool,
    #[arg(short, long)]
    noheader: bool,
    #[arg(short, long)]
    parsable: bool,
    #[arg(short = 'P', long)]
    parsable2: bool,
    #[arg(short = 's', long)]
    associations: bool,
    #[arg(trailing_var_arg = true)]
    words: Vec<String>,
}

pub(super) fn run(given: &[String]) -> Outcome {
    let args: Args = args::read("sacctmgr", given)?;
    let words: Vec<String> = args.words.iter().map(|it| it.to_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["show" | "list", what, rest @ ..] = &words[..] else {
        return Err(refused("only `show` is offered; projects are changed by `tradewind project`"));
    };
    if !["user", "users", "account", "accounts", "assoc", "association", "associations"]
        .contains(what)
    {
        return Err(refused(format!("show {what} cannot be honoured")));
    }
    let format = rest.iter().find_map(|it| it.strip_prefix("format="));
    let columns: Vec<String> =
        format.unwrap_or("user,account").split(',').map(str::to_owned).collect();
    let market = Market::open(&MarketArgs::default())?;
    let user = me(&market)?;
    let sent = market.get("/v1/projects")?;
    let projects: Vec<Project> = match sent.0.get("projects") {
        Some(all) => crate::client::Sent(all.clone()).read()?,
        None => sent.read()?,
    };
    let mut text = String::new();
    let behind = if args.parsable { "|" } else { "" };
    let parsable = args.parsable || args.parsable2;
    let line = |cells: Vec<String>| match parsable {
        true => cells.join("|") + behind + "\n",
        false => cells.join(" ") + "\n",
    };
    let cell = |column: &String, of: &dyn Fn(&str) -> String| {
        let (name, width) = column.split_once('%').unwrap_or((column, "10"));
        let width: usize = width.trim_start_matches('-').parse().unwrap_or(10).min(1_000);
        let value = of(name);
        if parsable { value } else { format!("{value:>width$.width$}") }
    };
    if !args.noheader {
        text.push_str(&line(columns.iter().map(|it| cell(it, &|name| name.to_owned())).collect()));
    }
    for project in projects {
        let of = |name: &str| match name {
            "account" | "acct" => project.project.clone(),
            "user" => user.clone(),
            "cluster" => "tradewind".to_owned(),
            _ => String::new(),
        };
        text.push_str(&line(columns.iter().map(|it| cell(it, &of)).collect()));
    }
    output::print(&text).map(|()| Exit::Ok)
}
