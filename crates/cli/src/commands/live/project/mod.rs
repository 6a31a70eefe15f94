//! `tradewind project`: who spends a project's money, and how much.

mod import_file;
mod show;
mod table;

use tradewind_io::decimal;
use tradewind_model::Money;
use tradewind_web::documents::{
    Credits, LimitChange, MemberRole, Membership, NewProject, Project, ProjectList, ProjectMember,
    SpendingLimits,
};

use crate::client::{Market, MarketArgs, encode};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;

/// What to do with projects.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ProjectCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProjectCommand {
    /// Make a project.
    Create(CreateArgs),
    /// Add members, or give members another role.
    Add(AddArgs),
    /// Remove members.
    Remove(RemoveArgs),
    /// Show or set what a project or a member may spend.
    Limit(LimitArgs),
    /// Show one project: members, limits, spending, and when its money ends.
    Show(ShowArgs),
    /// List the projects that you belong to.
    List(ProjectListArgs),
    /// Make users, projects, members and budgets as a file says.
    Import(table::ProjectImportArgs),
    /// Print users, projects, members and budgets as a file.
    Export(table::ProjectExportArgs),
}

/// Arguments of `tradewind project create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project create apollo --note 'turbulence' --manager ana
  tradewind grant project:apollo 10000

Administrators may. It has no money until it is granted some.")]
struct CreateArgs {
    /// 1 to 64 letters, digits and `_-.@`.
    project: String,
    /// For people: what it is.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Who manages it; may be given several times.
    #[arg(long, value_name = "USER")]
    manager: Vec<String>,
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind project add`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project add apollo bob cleo
  tradewind project add apollo ana --role manager

Managers of the project and administrators may; only administrators say who is a manager.")]
struct AddArgs {
    /// The project.
    project: String,
    /// Who is to be a member.
    #[arg(required = true, value_name = "USER")]
    users: Vec<String>,
    /// Role in the project.
    #[arg(long, value_enum, default_value_t = MemberAs::Member)]
    role: MemberAs,
    #[command(flatten)]
    place: MarketArgs,
}

/// Role in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MemberAs {
    /// Spends; sees the project's sum and own rows.
    Member,
    /// The same; sees all rows, adds and removes members and sets their limits.
    Manager,
}

/// Arguments of `tradewind project remove`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project remove apollo bob

Managers of the project and administrators may. Jobs that run go on to their ends; jobs that wait
are held until their user is a member again.")]
struct RemoveArgs {
    /// The project.
    project: String,
    /// Who is to be no member any more.
    #[arg(required = true, value_name = "USER")]
    users: Vec<String>,
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind project limit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project limit apollo --total 5000 --month 800
  tradewind project limit apollo bob --month 50
  tradewind project limit apollo bob --month none

Managers limit members; only administrators limit the whole project. What is not named stays as it
is. Jobs that would go beyond a limit wait until there is room.")]
struct LimitArgs {
    /// The project.
    project: String,
    /// One of its members; without one, the project itself.
    #[arg(value_name = "USER")]
    user: Option<String>,
    /// The most credits since the project was made, or `none`.
    #[arg(long, value_name = "CREDITS|none", value_parser = limit_of)]
    total: Option<Most>,
    /// The most credits in a calendar month (UTC), or `none`.
    #[arg(long, value_name = "CREDITS|none", value_parser = limit_of)]
    month: Option<Most>,
    #[command(flatten)]
    place: MarketArgs,
}

/// A limit as it is written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Most(Option<Money>);

fn limit_of(text: &str) -> Result<Most, String> {
    match text {
        "none" => Ok(Most(None)),
        text => decimal::parse_credits(text).map(|it| Most(Some(it))).map_err(|it| it.to_string()),
    }
}

/// Arguments of `tradewind project show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project show apollo

Its members see it; what others spend is for its managers and administrators.")]
struct ShowArgs {
    /// The project.
    project: String,
    #[command(flatten)]
    place: MarketArgs,
}

/// Arguments of `tradewind project list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind project list
  tradewind project list --format csv

An administrator sees all.")]
struct ProjectListArgs {
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    match &args.what {
        ProjectCommand::Create(args) => create(args, format)?,
        ProjectCommand::Add(args) => add(args, format)?,
        ProjectCommand::Remove(args) => remove(args)?,
        ProjectCommand::Limit(args) => limit(args, format)?,
        ProjectCommand::Show(args) => {
            let sent = Market::open(&args.place)?.get(&path(&args.project))?;
            show::one(&sent, format)?;
        }
        ProjectCommand::Import(args) => table::import(args, format)?,
        ProjectCommand::Export(args) => table::export(args, format)?,
        ProjectCommand::List(args) => {
            let sent = Market::open(&args.place)?.pages("/v1/projects", "projects")?;
            let ProjectList { projects, .. } = sent.read()?;
            show::all(&projects).print(&sent, format)?;
        }
    }
    Ok(Exit::Ok)
}

fn path(project: &str) -> String {
    format!("/v1/projects/{}", encode(project))
}

fn member(project: &str, user: &str) -> String {
    format!("{}/members/{}", path(project), encode(user))
}

fn create(args: &CreateArgs, format: Format) -> Result<(), Failure> {
    let CreateArgs { project, note, manager, place } = args;
    let market = Market::open(place)?;
    let wanted = NewProject { project: project.clone(), note: note.clone() };
    let mut sent = market.post("/v1/projects", &wanted)?;
    for user in manager {
        let role = MemberRole::Manager;
        sent = market.put(&member(project, user), &Membership { role })?;
    }
    show::one(&sent, format)
}

fn add(args: &AddArgs, format: Format) -> Result<(), Failure> {
    let market = Market::open(&args.place)?;
    let role = match args.role {
        MemberAs::Member => MemberRole::Member,
        MemberAs::Manager => MemberRole::Manager,
    };
    let mut last = None;
    for user in &args.users {
        last = Some(market.put(&member(&args.project, user), &Membership { role })?);
    }
    last.map_or(Ok(()), |sent| show::one(&sent, format))
}

fn remove(args: &RemoveArgs) -> Result<(), Failure> {
    let market = Market::open(&args.place)?;
    for user in &args.users {
        market.delete(&member(&args.project, user))?;
    }
    Ok(())
}

fn limit(args: &LimitArgs, format: Format) -> Result<(), Failure> {
    let market = Market::open(&args.place)?;
    let mut sent = market.get(&path(&args.project))?;
    if args.total.is_some() || args.month.is_some() {
        let before = limits_of(&sent.read()?, args.user.as_deref())?;
        let credits = |max: Option<Most>, before: Option<Credits>| match max {
            None => before,
            Some(Most(max)) => max.map(Credits::from),
        };
        let (total, month) = (credits(args.total, before.total), credits(args.month, before.month));
        let change = LimitChange { user: args.user.clone(), total, month };
        sent = market.put(&format!("{}/limits", path(&args.project)), &change)?;
    }
    show::one(&sent, format)
}

/// The limits of the project, or of one of its members.
fn limits_of(project: &Project, user: Option<&str>) -> Result<SpendingLimits, Failure> {
    let Some(user) = user else { return Ok(project.limits) };
    let is_meant = |member: &&ProjectMember| member.user == user;
    let member = project.members.iter().find(is_meant).ok_or_else(|| {
        let name = &project.project;
        let hint = format!("`tradewind project show {name}` lists its members");
        Failure::negative(format!("{user} is not a member of project {name}")).hint(hint)
    })?;
    Ok(member.limits.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_amount_or_none() {
        assert_eq!(limit_of("none"), Ok(Most(None)));
        assert_eq!(limit_of("2.5"), Ok(Most(Some(Money(2_500_000)))));
        assert!(limit_of("-1").is_err() && limit_of("").is_err());
    }
}
