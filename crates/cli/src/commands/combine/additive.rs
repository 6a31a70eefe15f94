//! Any quantities of the alternatives: a lexicographic choice, and the front of several.

use std::collections::BTreeMap;
use std::path::Path;

use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::wire::Amount;
use tradewind_io::wire::combine::Job;
use tradewind_model::{Goal, Limit, Money};
use tradewind_sched::combine::additive::{
    self, AdditiveChoice, CombinationProblem, ObjectiveColumn, Refused,
};

use super::Args;
use crate::commands::front::{FrontView, PointKind};
use crate::commands::plan::Picture;
use crate::exit::{Failure, Outcome};
use crate::options::Format;

/// The columns that every file has.
const FIRST: [&str; 2] = ["cost", "time"];
const COST: usize = 0;
const TIME: usize = 1;

/// The alternatives as a table of whole numbers: seconds, and millionths of everything else.
struct Columns {
    names: Vec<String>,
    jobs: Vec<Vec<Vec<i64>>>,
}

impl Columns {
    fn of(jobs: &[Job]) -> Columns {
        let first = jobs.iter().flat_map(|job| &job.alternatives).next();
        let more = first.into_iter().flat_map(|it| it.quantities.keys().cloned());
        let names = FIRST.iter().map(|name| (*name).to_owned()).chain(more).collect();
        let numbers = |job: &Job| {
            let row = job.alternatives.iter().map(|it| {
                let more = it.quantities.values().copied();
                [it.cost.0, it.time.0].into_iter().chain(more).collect()
            });
            row.collect()
        };
        Columns { names, jobs: jobs.iter().map(numbers).collect() }
    }

    fn column(&self, name: &str) -> Result<usize, Failure> {
        self.names.iter().position(|it| it == name).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            Failure::usage(format!("the alternatives have no quantity `{name}`"))
                .hint(did_you_mean(name, &known))
        })
    }

    fn component(&self, name: &str) -> Result<ObjectiveColumn, Failure> {
        let least = |column| ObjectiveColumn { column, goal: Goal::Least };
        let most = |column| ObjectiveColumn { column, goal: Goal::Most };
        match (name, name.strip_prefix("most:")) {
            ("lost-income", _) => Ok(most(COST)),
            ("idleness", _) => Ok(most(TIME)),
            (_, Some(name)) => self.column(name).map(most),
            (name, None) => self.column(name).map(least),
        }
    }

    fn amount(&self, column: usize, sum: i64) -> Amount {
        if column == TIME { Amount::Seconds(sum) } else { Amount::Credits(Money(sum)) }
    }

    fn unit(column: usize) -> &'static str {
        match column {
            COST => "credits",
            TIME => "s",
            _ => "",
        }
    }

    /// The given limits, by column.
    fn limits(&self, args: &Args) -> Result<Vec<Option<i64>>, Failure> {
        let mut limits = vec![None; self.names.len()];
        for (name, text) in &args.limit {
            let column = self.column(name)?;
            let decimals = if column == TIME { 0 } else { 6 };
            let limit = tradewind_io::decimal::parse(text, decimals).map_err(|err| {
                Failure::usage(format!("`--limit {name}={text}`: `{text}` is {err}"))
            })?;
            limits[column] = Some(limit);
        }
        let (time, budget) = args.limits();
        for (column, limit) in [(TIME, time), (COST, budget)] {
            if let Limit::At(limit) = limit {
                limits[column] = Some(limits[column].map_or(limit, |it| limit.min(it)));
            }
        }
        Ok(limits)
    }

    fn refuse(&self, jobs: &[Job], refused: &Refused) -> Failure {
        Failure::infeasible(match *refused {
            Refused::NoAlternative { job } => {
                format!("the job `{}` has no alternative", jobs[job].name)
            }
            Refused::Limit { column, limit, min } => format!(
                "every combination has `{}` of at least {} and the limit is {}",
                self.names[column],
                self.amount(column, min),
                self.amount(column, limit)
            ),
            other => other.to_string(),
        })
    }
}

/// Whether the numbers of time and cost alone cannot answer.
pub(super) fn is_asked(args: &Args) -> bool {
    let classic = ["cost", "lost-income", "time", "idleness"];
    let other = |name: &String| !classic.contains(&name.as_str());
    let front_of_more = args.front.is_some() && (!args.order.is_empty() || args.chart.is_some());
    front_of_more || !args.limit.is_empty() || args.order.iter().any(other)
}

/// The choice by `--order`, or the front with `--front`.
pub(super) fn run(
    jobs: &[Job],
    args: &Args,
    format: Format,
    file: Option<(&Path, Picture)>,
) -> Outcome {
    let columns = Columns::of(jobs);
    let names = match args.order.is_empty() {
        true if args.front.is_some() => FIRST.map(str::to_owned).to_vec(),
        true => {
            return Err(Failure::usage("`--limit` needs an order of components")
                .hint("such as `--order time,cost`"));
        }
        false => args.order.clone(),
    };
    let order: Vec<ObjectiveColumn> =
        names.iter().map(|name| columns.component(name)).collect::<Result<_, _>>()?;
    let limits = columns.limits(args)?;
    let work_limit = CombinationProblem::DEFAULT_WORK_LIMIT;
    let wanted = CombinationProblem { order: &order, limits: &limits, work_limit };
    let (points, complete) = match args.front {
        Some(max) => additive::front(&columns.jobs, &wanted, max.get())
            .map(|front| (front.points, front.complete)),
        None => additive::lexicographic(&columns.jobs, &wanted)
            .map(|it| (vec![it.clone()], it.gap.is_none())),
    }
    .map_err(|refused| columns.refuse(jobs, &refused))?;
    let point = |it: &AdditiveChoice| {
        let sums = order.iter().map(|c| columns.amount(c.column, it.totals[c.column])).collect();
        (it.chosen.iter().copied().map(Some).collect(), sums)
    };
    let limited = limits.iter().enumerate().filter_map(|(column, limit)| {
        Some((columns.names[column].clone(), columns.amount(column, (*limit)?)))
    });
    let units = order.iter().map(|component| Columns::unit(component.column));
    FrontView {
        title: args.file.clone(),
        components: names.into_iter().zip(units).collect(),
        limits: limited.collect::<BTreeMap<_, _>>(),
        points: points.iter().map(point).collect(),
        kind: if args.front.is_some() { PointKind::Front } else { PointKind::Choice },
        complete,
    }
    .show(format, file)
}
