//! `tradewind combine`: the combination step alone.

mod additive;
mod vector;

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use tradewind_io::scenario::objective_name;
use tradewind_io::wire::combine::{Alternative, Job, Sums};
use tradewind_io::{input, wire};
use tradewind_model::{Limit, Money, Objective, Span};
use tradewind_sched::combine::{self, Choice, Combination, Infeasible, SumLimits};

use crate::commands::plan::{ObjectiveName, picture_kind};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::{self, Column, Side};
use crate::values;

/// Arguments of `tradewind combine`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind combine alternatives.json --objective min-cost --time-limit 2h
  tradewind combine - --objective min-time --budget-limit 812.5 --format json < alternatives.json
  tradewind combine alternatives.json --front 20
  tradewind combine alternatives.json --order lost-income,time --time-limit 2h
  tradewind combine alternatives.json --order energy,cost --limit carbon=900 --front 20 --chart front.svg

`tradewind plan --alternatives FILE` writes such a file.
The file: {\"jobs\": [{\"name\": \"a\", \"alternatives\": [{\"time\": 60, \"cost\": 12.5}, …]}, …]}
Exit code 4, with the reason on standard error, when nothing meets the limits.")]
pub(crate) struct Args {
    /// Jobs with alternatives in JSON or TOML; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: String,
    /// What to optimise.
    #[arg(long, value_enum, default_value = "min-time")]
    objective: ObjectiveName,
    /// Show every trade of cost against time instead (the Pareto front), or of the components of
    /// `--order`, at most N of them.
    #[arg(long, value_name = "N", conflicts_with = "objective")]
    front: Option<NonZeroUsize>,
    /// Choose the minimum of the first, among those the minimum of the second, and so on; only
    /// limits that are given apply: `cost`, `lost-income`, `time`, `idleness`, a name in the
    /// alternatives' `quantities`, or `most:` and a name to maximise it.
    #[arg(long, value_name = "COMPONENT,...", value_delimiter = ',')]
    #[arg(conflicts_with = "objective")]
    order: Vec<String>,
    /// The largest sum of a quantity, with `--order` or `--front`. May be repeated.
    #[arg(long, value_name = "QUANTITY=N", value_parser = limit)]
    limit: Vec<(String, String)>,
    /// Draw the front, as `.svg` or `.png` by the name.
    #[arg(long, value_name = "FILE", requires = "front")]
    chart: Option<PathBuf>,
    /// The most time in all: seconds, `2h`, or `auto`, which applies where it binds.
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = values::time_limit)]
    time_limit: Limit<Span>,
    /// The most credits in all, or `auto`, which applies where it binds.
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = values::budget_limit)]
    budget_limit: Limit<Money>,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let picture = args.chart.as_deref().map(picture_kind).transpose()?;
    let jobs = wire::combine::parse(&input::read(&args.file)?)?;
    let limited = args.limits() != (Limit::Auto, Limit::Auto);
    if additive::is_asked(args) || (args.front.is_some() && limited) {
        return additive::run(&jobs, args, format, args.chart.as_deref().zip(picture));
    }
    if let Some(max) = args.front {
        return vector::front(&jobs, &choices(&jobs), max.get(), format);
    }
    if !args.order.is_empty() {
        return vector::ordered(&jobs, args, format);
    }
    let objective = Objective::from(args.objective);
    let (bounds, best) = match combined(&choices(&jobs), objective, args) {
        Ok(found) => found,
        Err(why) => return refuse(&jobs, objective_name(objective), &why, format),
    };
    match format {
        Format::Json => output::json(&document(objective, bounds, &best))?,
        Format::Csv => output::print(&output::csv(&csv(&jobs, &best))?)?,
        Format::Table => output::print(&table(&jobs, objective_name(objective), bounds, &best))?,
    }
    Ok(Exit::Ok)
}

/// `QUANTITY=N`.
fn limit(text: &str) -> Result<(String, String), String> {
    let pair = text.rsplit_once('=').filter(|(name, limit)| !name.is_empty() && !limit.is_empty());
    let (name, limit) = pair.ok_or("not QUANTITY=N")?;
    Ok((name.to_owned(), limit.to_owned()))
}

fn choices(jobs: &[Job]) -> Vec<Vec<Choice>> {
    let choice = |it: &Alternative| Choice { time: it.time.0, cost: it.cost.0 };
    jobs.iter().map(|job| job.alternatives.iter().map(choice).collect()).collect()
}

impl Args {
    /// Both limits as plain numbers.
    fn limits(&self) -> (Limit<i64>, Limit<i64>) {
        let time = match self.time_limit {
            Limit::Auto => Limit::Auto,
            Limit::At(span) => Limit::At(span.0),
        };
        let budget = match self.budget_limit {
            Limit::Auto => Limit::Auto,
            Limit::At(money) => Limit::At(money.0),
        };
        (time, budget)
    }
}

fn combined(
    choices: &[Vec<Choice>],
    objective: Objective,
    args: &Args,
) -> Result<(SumLimits, Combination), Infeasible> {
    let (time, budget) = args.limits();
    let bounds = combine::limits(choices, objective, time, budget)?;
    Ok((bounds, combine::best(choices, objective, bounds)?))
}

/// The answer that there is none: the reason on standard error, and the whole document all the
/// same where a program reads it.
fn refuse(jobs: &[Job], objective: &str, why: &Infeasible, format: Format) -> Outcome {
    let reason = match why {
        Infeasible::NoAlternative { job } => {
            format!("the job `{}` has no alternative", jobs[*job].name)
        }
        other => other.to_string(),
    };
    if format == Format::Json {
        output::json(&Refused {
            objective,
            chosen: None,
            totals: None,
            limits: None,
            reason: &reason,
        })?;
    }
    Err(Failure::infeasible(reason))
}

/// The document when nothing meets the limits.
#[derive(Debug, serde::Serialize)]
struct Refused<'a> {
    objective: &'a str,
    chosen: Option<()>,
    totals: Option<()>,
    limits: Option<()>,
    reason: &'a str,
}

fn document(objective: Objective, bounds: SumLimits, best: &Combination) -> wire::Combined {
    wire::Combined {
        objective: objective_name(objective).to_owned(),
        chosen: best.chosen.clone(),
        totals: sums(best),
        limits: limits_of(bounds),
    }
}

fn sums(best: &Combination) -> Sums {
    Sums { time: best.time, cost: Money(best.cost) }
}

fn limits_of(bounds: SumLimits) -> wire::BatchLimits {
    wire::BatchLimits { time: bounds.time, budget: bounds.budget.map(Money) }
}

fn table(jobs: &[Job], objective: &str, bounds: SumLimits, best: &Combination) -> String {
    const COLUMNS: [Column; 4] = [
        ("job", Side::Left),
        ("chosen", Side::Right),
        ("time s", Side::Right),
        ("cost credits", Side::Right),
    ];
    let row = |(job, &chosen): (&Job, &usize)| {
        let alternative = &job.alternatives[chosen];
        vec![
            job.name.clone(),
            format!("{} of {}", chosen + 1, job.alternatives.len()),
            alternative.time.to_string(),
            alternative.cost.to_string(),
        ]
    };
    let rows = jobs.iter().zip(&best.chosen).map(row).collect();
    let mut text = tables::table(&COLUMNS, rows);
    let time = bounds.time.map(|limit| format!(" (limit {limit} s)")).unwrap_or_default();
    let budget = bounds.budget.map(|limit| format!(" (limit {})", Money(limit)));
    let _ = writeln!(
        text,
        "\n{}: time {} s{time}; cost {} credits{}",
        objective,
        best.time,
        Money(best.cost),
        budget.unwrap_or_default()
    );
    text
}

fn csv(jobs: &[Job], best: &Combination) -> Vec<Vec<String>> {
    let head = ["job", "chosen", "time_s", "cost"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (job, &chosen) in jobs.iter().zip(&best.chosen) {
        let alternative = &job.alternatives[chosen];
        let (time, cost) = (alternative.time.to_string(), alternative.cost.to_string());
        rows.push(vec![job.name.clone(), chosen.to_string(), time, cost]);
    }
    rows
}
