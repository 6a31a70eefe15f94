//! The tree of commands and options: the one source of help, completions and man pages.

use std::fmt::Write as _;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::live::{
    audit, backup, budget, control, doctor, events, grant, handover, job, jobs, journal, ledger,
    login, output, peers, policy, price, project, reclaim, report, shadow, sites, submit, token,
    usage, wait, whatif,
};
use crate::commands::{
    analyze, combine, completions, explain, forecast, generate, init, local_task, merge, plan,
    quote, reproduce, simulate, snapshot, up,
};
use crate::options::Global;
use crate::shims::link;

/// An economic metascheduler: plans parallel jobs on clusters that are not all yours.
#[derive(Debug, Parser)]
#[command(name = "tradewind", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = AFTER)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
Examples:
  tradewind up --demo
  tradewind submit --time 10 --nodes 2 train.sh
  tradewind plan examples/batch.toml
  tradewind quote examples/batch.toml --job forecast
  tradewind snapshot log.swf.gz --at 10d --horizon 24h --seed 1 | tradewind plan -

Exit codes: 0 ok, 1 negative answer, 2 usage, 3 input data, 4 infeasible, 70 bug.";

/// Commands that need no market; all others are its own.
const OFFLINE: [&str; 12] = [
    "snapshot",
    "plan",
    "combine",
    "generate",
    "simulate",
    "forecast",
    "merge",
    "analyze",
    "reproduce",
    "completions",
    "man",
    "help",
];

/// The tree of commands, with its list in two parts.
pub(crate) fn tree() -> clap::Command {
    let command = Cli::command();
    let list = |wanted: &dyn Fn(&str) -> bool| {
        let all = command.get_subcommands().filter(|it| !it.is_hide_set() && wanted(it.get_name()));
        all.fold(String::new(), |mut list, it| {
            let about = it.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {:<12} {about}", it.get_name());
            list
        })
    };
    let offline = |name: &str| OFFLINE.contains(&name);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nLive market:\n{}\nPlanning and \
         simulation:\n{}\nOptions:\n{{options}}{{after-help}}",
        list(&|name| !offline(name)),
        list(&offline)
    );
    command.help_template(template)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the live market: sites, journal, API, all in one process.
    Up(up::Args),
    /// Write a first configuration: a local site, or a Slurm cluster, here or by ssh.
    Init(init::Args),
    /// Look after a task of a local site.
    #[command(hide = true)]
    LocalTask(local_task::Args),
    /// Submit a job: a script with `#SBATCH` and `#TRADEWIND` lines, or a command.
    Submit(Box<submit::Args>),
    /// List jobs of the live market.
    Jobs(jobs::Args),
    /// Show one job: state, reason, expected start, parts, money, history.
    Job(job::Args),
    /// Wait until jobs are over, and exit as they did.
    Wait(wait::Args),
    /// Print what a job has written.
    Output(output::Args),
    /// Stop jobs, or keep them from running.
    Cancel(control::CancelArgs),
    /// Keep waiting jobs out of the queue.
    Hold(control::HoldArgs),
    /// Let held jobs into the queue.
    Release(control::ReleaseArgs),
    /// Stop jobs that run, and have them wait in the queue again.
    Requeue(control::RequeueArgs),
    /// Change a job that waits, or choose what follows if its accepted offer is not kept.
    Update(control::UpdateArgs),
    /// Say what would change under another policy, or without a job.
    Whatif(whatif::Args),
    /// List sites: nodes, load, prices.
    Sites(sites::Args),
    /// List peers: other markets that jobs are exchanged with; end doubt about jobs there.
    Peers(peers::Args),
    /// Show or set what a pool costs.
    Price(price::Args),
    /// Take nodes of a site back from preemptible jobs, for its owner.
    Reclaim(reclaim::Args),
    /// Show an account: balance and postings.
    Ledger(ledger::Args),
    /// Move money to an account.
    Grant(grant::Args),
    /// Show or limit the energy and carbon that jobs of a user or a project may use.
    Budget(budget::Args),
    /// Make projects, choose their members, limit what they spend.
    Project(project::Args),
    /// Make, list, rotate and revoke tokens.
    Token(token::Args),
    /// Sign in with the market's provider of identities, in any browser.
    Login(login::LoginArgs),
    /// Sign out again: the token of `login` is revoked.
    Logout(login::LogoutArgs),
    /// Say who one is: user, role, projects, token.
    Whoami(login::WhoamiArgs),
    /// Show or choose the policy that decides.
    Policy(policy::Args),
    /// Compare forecasts of starts with what came, on clusters that are only observed.
    Shadow(shadow::Args),
    /// Sum up what users and sites did.
    Report(report::Args),
    /// Sum up what was used and charged, by project, user, site and month.
    Usage(usage::Args),
    /// Print what happens in the market.
    Events(events::Args),
    /// List, prove or export the audit log: refusals, sign-ins, and who changed or read what.
    Audit(audit::Args),
    /// Check, replay, export, archive or compact the market's journal.
    Journal(journal::Args),
    /// Have another daemon own the market, of those that share its journal in a database.
    Handover(handover::Args),
    /// Copy the journal, also while the market runs.
    Backup(backup::BackupArgs),
    /// Bring a copy of the journal back.
    Restore(backup::RestoreArgs),
    /// Look whether sites have what they need, and say what to do.
    Doctor(doctor::Args),
    /// Turn a moment of a workload log (SWF) into a planning problem.
    Snapshot(snapshot::Args),
    /// Show what one job could get: the best window by every criterion, cost against finish.
    Quote(Box<quote::Args>),
    /// Say why a job has no window, and the smallest change that would give it one.
    Explain(explain::Args),
    /// Plan a batch: alternatives for each job, then the best combination of them.
    Plan(plan::Args),
    /// Choose one of each job's alternatives: the combination step alone.
    Combine(combine::Args),
    /// Make a workload: from a model, or from a log.
    Generate(generate::Args),
    /// Replay workload logs (SWF) under one or several policies.
    Simulate(Box<simulate::Args>),
    /// Replay a log, forecast each job's start at its submission, and score the forecasts.
    Forecast(forecast::Args),
    /// Join the parts of a campaign that were run apart.
    Merge(merge::Args),
    /// What theory says: mean waits and slowdowns of queues.
    Analyze(analyze::Args),
    /// Run the papers' studies again: every published number beside a measured one.
    Reproduce(reproduce::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
    /// Make a folder with Slurm's commands, which then speak to the market.
    Shims(link::Args),
    /// Print the manual page, of everything or of one command.
    Man(completions::ManArgs),
}
