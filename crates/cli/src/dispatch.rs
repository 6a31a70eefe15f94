//! From the parsed command line to the module of its command.

use crate::cli::{self, Cli, Command};
use crate::commands::{
    analyze, combine, completions, explain, forecast, generate, init, live, local_task, merge,
    plan, quote, reproduce, simulate, snapshot, up,
};
use crate::exit::Outcome;
use crate::report::Report;
use crate::shims::link;

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli, report: &Report) -> Outcome {
    let format = cli.global.format;
    match &cli.command {
        Command::Up(args) => up::run(args, report),
        Command::LocalTask(args) => Ok(local_task::run(args)),
        Command::Simulate(args) => simulate::run(args, format, report),
        Command::Forecast(args) => forecast::run(args, format, report),
        Command::Reproduce(args) => reproduce::run(args, format, report),
        Command::Merge(args) => merge::run(args, format, report),
        Command::Snapshot(args) => snapshot::run(args, report),
        Command::Generate(args) => generate::run(args, report),
        Command::Quote(args) => quote::run(args, format, report),
        Command::Explain(args) => explain::run(args, format, report),
        Command::Plan(args) => plan::run(args, format, report),
        Command::Combine(args) => combine::run(args, format),
        Command::Analyze(args) => analyze::run(args, format, report),
        Command::Init(args) => init::run(args, report),
        Command::Submit(args) => live::submit::run(args, format, report),
        Command::Jobs(args) => live::jobs::run(args, format),
        Command::Job(args) => live::job::run(args, format),
        Command::Wait(args) => live::wait::run(args, format, report),
        Command::Output(args) => live::output::run(args),
        Command::Cancel(args) => live::control::cancel(args, format, report),
        Command::Hold(args) => live::control::hold(args, format, report),
        Command::Release(args) => live::control::release(args, format, report),
        Command::Requeue(args) => live::control::requeue(args, format, report),
        Command::Update(args) => live::control::update(args, format, report),
        Command::Whatif(args) => live::whatif::run(args, format),
        Command::Sites(args) => live::sites::run(args, format, report),
        Command::Peers(args) => live::peers::run(args, format, report),
        Command::Price(args) => live::price::run(args, format),
        Command::Reclaim(args) => live::reclaim::run(args, format),
        Command::Audit(args) => live::audit::run(args, format),
        Command::Ledger(args) => live::ledger::run(args, format),
        Command::Grant(args) => live::grant::run(args, format),
        Command::Budget(args) => live::budget::run(args, format),
        Command::Project(args) => live::project::run(args, format),
        Command::Login(args) => live::login::login(args, format, report),
        Command::Logout(args) => live::login::logout(args, report),
        Command::Whoami(args) => live::login::whoami(args, format),
        Command::Token(args) => live::token::run(args, format, report),
        Command::Policy(args) => live::policy::run(args, format, report),
        Command::Shadow(args) => live::shadow::run(args, format),
        Command::Report(args) => live::report::run(args, format),
        Command::Usage(args) => live::usage::run(args, format),
        Command::Events(args) => live::events::run(args, format, report),
        Command::Journal(args) => live::journal::run(args, format),
        Command::Handover(args) => live::handover::run(args, format),
        Command::Backup(args) => live::backup::backup(args, format),
        Command::Restore(args) => live::backup::restore(args, format),
        Command::Doctor(args) => live::doctor::run(args, format, report),
        Command::Completions(args) => completions::run(args, cli::tree()),
        Command::Shims(args) => link::run(args),
        Command::Man(args) => completions::man(args, cli::tree()),
    }
}
