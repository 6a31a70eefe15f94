//! `tradewind init`: a first configuration, from five questions or from options.

mod file;
mod partitions;
mod questions;
mod sinfo;

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tradewind_io::decimal;
use tradewind_io::input::Input;
use tradewind_io::settings;

use crate::exit::{Exit, Failure, Outcome};
use crate::report::Report;
use crate::{output, sites};
use file::{PoolText, SiteAnswers};
use questions::Questions;

/// Arguments of `tradewind init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind init
  tradewind init --kind local --nodes 8 --price 0.01
  tradewind init --kind ssh --ssh tradewind@login.alpha.example --name alpha --owner olga
  tradewind init --kind shadow --ssh login.alpha.example

On a terminal it asks for what is not given; elsewhere, and with `--yes`, the defaults hold. The
partitions of a cluster and their nodes are those that `sinfo` lists. Check the file with
`tradewind doctor --config tradewind.toml`, and run it with `tradewind up --config tradewind.toml`.")]
pub(crate) struct Args {
    /// What the site is.
    #[arg(long, value_name = "KIND")]
    kind: Option<SiteKind>,
    /// The name of the site [default: alpha].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The cluster's login node, as `ssh` takes it: `USER@HOST`, or a host of `~/.ssh/config`.
    #[arg(long, value_name = "USER@HOST", allow_hyphen_values = true)]
    ssh: Option<String>,
    /// How many tasks a local site runs at once [default: the processors of this machine].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    nodes: Option<u32>,
    /// Credits for a node and a second [default: 0.01].
    #[arg(long, value_name = "CREDITS")]
    price: Option<String>,
    /// The user whom the income belongs to [default: the administrator].
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// The file.
    #[arg(long, short, value_name = "FILE", default_value = "tradewind.toml")]
    output: PathBuf,
    /// Replace the file if it is there.
    #[arg(long)]
    force: bool,
    /// Ask nothing: what is not given has its default.
    #[arg(long, short)]
    yes: bool,
}

/// What a site can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SiteKind {
    /// Processes on this machine
    Local,
    /// A Slurm cluster whose commands run here
    Slurm,
    /// A Slurm cluster that is reached by ssh
    Ssh,
    /// A Slurm cluster that is only observed
    Shadow,
}

pub(crate) fn run(args: &Args, report: &Report) -> Outcome {
    // Before any question.
    if args.output.exists() && !args.force {
        return Err(taken(&args.output));
    }
    let is_asked = !args.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let site = answers(args, &Questions { is_asked })?;
    let text = file::text(&site);
    // What is written can be read: else this program is wrong, and there is no file.
    settings::parse(&Input::new(&args.output.display().to_string(), text.as_bytes()))?;
    write(args, &text)?;
    let path = args.output.display();
    output::print(&format!("{path}\n"))?;
    report.note(&format!("check it: tradewind doctor --config {path}"));
    report.note(&format!("run it: tradewind up --config {path}"));
    Ok(Exit::Ok)
}

fn answers(args: &Args, ask: &Questions) -> Result<SiteAnswers, Failure> {
    let usual = if args.ssh.is_some() { SiteKind::Ssh } else { SiteKind::Local };
    let kind = match args.kind {
        Some(kind) => kind,
        None => ask.kind(usual)?,
    };
    let name = ask.text("name of the site", args.name.as_deref(), "alpha", questions::name)?;
    let ssh = login(args, kind, ask)?;
    let pools = match kind {
        SiteKind::Local => vec![PoolText { name: name.clone(), nodes: slots(args, ask)? }],
        _ => partitions::read(ssh.as_deref())?,
    };
    let price = ask.text(
        "credits for a node and a second",
        args.price.as_deref(),
        "0.01",
        questions::price,
    )?;
    // As TOML has numbers: `5.` is none.
    let price = decimal::parse(&price, 6).map_or(price, |micro| decimal::format(micro, 6));
    let administrator = sites::ADMINISTRATOR;
    let owner = ask.text(
        "user whom its income belongs to",
        args.owner.as_deref(),
        administrator,
        questions::name,
    )?;
    let is_root = rustix::process::geteuid().is_root();
    Ok(SiteAnswers { kind, name, owner, price, pools, ssh, account: account(), is_root })
}

/// Tasks at once.
fn slots(args: &Args, ask: &Questions) -> Result<u32, Failure> {
    if let Some(nodes) = args.nodes {
        return Ok(nodes);
    }
    let here = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let text = ask.text("tasks at once (nodes)", None, &here, questions::nodes)?;
    text.parse().map_err(|_| Failure::usage(format!("`{text}` is no number of nodes")))
}

/// Where the cluster is, if not here.
fn login(args: &Args, kind: SiteKind, ask: &Questions) -> Result<Option<String>, Failure> {
    match (kind, &args.ssh) {
        (SiteKind::Local | SiteKind::Slurm, Some(_)) => {
            Err(Failure::usage("`--ssh` is for the kinds `ssh` and `shadow`")
                .hint("leave it out, or say `--kind ssh`"))
        }
        (SiteKind::Local | SiteKind::Slurm, None) => Ok(None),
        (_, Some(given)) => {
            questions::login(given).map_err(|why| Failure::usage(format!("`--ssh`: {why}")))?;
            Ok(Some(given.clone()))
        }
        (SiteKind::Ssh, None) => {
            let said = "login node (USER@HOST)";
            ask.needed(said, "--ssh", questions::login).map(Some)
        }
        (SiteKind::Shadow, None) => {
            let said = "login node (USER@HOST; empty: Slurm's commands run here)";
            let text = ask.text(said, None, "", questions::login_or_here)?;
            Ok(Some(text).filter(|text| !text.is_empty()))
        }
    }
}

/// The account of this process, by its name.
fn account() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|it| questions::name(it).is_ok());
    set("USER").or_else(|| set("LOGNAME")).unwrap_or_else(|| "root".to_owned())
}

fn taken(path: &Path) -> Failure {
    Failure::usage(format!("`{}` is there already", path.display()))
        .hint("write another file, `--output FILE`, or replace it, `--force`")
}

fn write(args: &Args, text: &str) -> Result<(), Failure> {
    if args.force {
        return output::write_file(&args.output, text.as_bytes());
    }
    // One that was made meanwhile stays.
    let made = std::fs::File::create_new(&args.output);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(&args.output),
        _ => Failure::usage(format!("failed to write `{}`: {error}", args.output.display())),
    })
}
