//! The options of `plan`, and what they mean to the library.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tradewind_io::chart::HAS_PNG;
use tradewind_io::scenario::{self, Scenario};
use tradewind_io::wire;
use tradewind_model::{
    Component, Limit, Measure, Money, Objective, Plan, Quantity, Rho, Snapshot, Span, VoPolicy,
};
use tradewind_sched::policy::cyclic::{Cyclic, Offers, SearchBy, SliceBy, SubBatches};
use tradewind_sched::window::{Algorithm, Variant};

use crate::exit::Failure;
use crate::values::{self, Count};

/// Arguments of `tradewind plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind plan examples/batch.toml
  tradewind plan examples/batch.toml --objective max-income --chart plan.svg
  tradewind plan examples/batch.toml --scheme batch-slicer --sub-batches auto --format json
  tradewind plan examples/batch.toml --scheme whole-batch --objective min-cost
  tradewind plan examples/energy.toml --order carbon,cost --limit energy=30
  tradewind plan examples/energy.toml --order cost,carbon --front 20 --chart front.svg
  tradewind snapshot log.swf --at 10d --horizon 24h --seed 1 | tradewind plan -

Exit code 4 if no job could be placed.")]
pub(crate) struct Args {
    /// A scenario in JSON or TOML; `-` reads standard input.
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// `css` plans the batch at once, `batch-slicer` part by part, `whole-batch` at once with
    /// windows that may overlap until the choice; `on-the-fly` searches and chooses at once, at
    /// prices of contested slots.
    #[arg(long, value_enum, default_value_t)]
    scheme: Scheme,
    /// What searches windows: `job` (each job's own criterion), `alp`, `amp`, `csa`, `start`,
    /// `finish`, `runtime`, `cost`, `processor-time` or `sum:ATTRIBUTE`.
    #[arg(long, default_value = "job", value_parser = search)]
    search: SearchBy,
    /// Exact searches, or the papers' own heuristics.
    #[arg(long, value_enum, default_value_t)]
    variant: VariantName,
    /// What the combination optimises [default: the scenario's, else min-time].
    #[arg(long, value_enum)]
    objective: Option<ObjectiveName>,
    /// What "time" is in the combination [default: the scenario's, else runtime].
    #[arg(long, value_enum)]
    measure: Option<MeasureName>,
    /// The number of parts for `batch-slicer`; `auto` picks it by the result [default: auto].
    #[arg(long, value_name = "K|auto", value_parser = values::count_or_auto)]
    sub_batches: Option<Count>,
    /// The order in which `batch-slicer` cuts.
    #[arg(long, value_enum, default_value_t)]
    slice_by: SliceName,
    /// The most time for the batch: seconds, `2h`, or `auto` [default: the scenario's, else auto].
    #[arg(long, value_name = "N|auto", value_parser = values::time_limit)]
    time_limit: Option<Limit<Span>>,
    /// The most credits for the batch, or `auto` [default: the scenario's, else auto].
    #[arg(long, value_name = "N|auto", value_parser = values::budget_limit)]
    budget_limit: Option<Limit<Money>>,
    /// Choose by a vector of criteria instead of the objective: the best in the first component,
    /// among those the best in the second, and so on: `cost`, `lost-income`, `time`, `idleness`,
    /// `start`, `finish`, `runtime`, `processor-time`, `energy`, `carbon`, `energy-price`,
    /// `sum:ATTRIBUTE`; `most:` before a quantity maximises it.
    #[arg(long, value_name = "COMPONENT,...", value_delimiter = ',', value_parser = values::component)]
    #[arg(conflicts_with = "objective")]
    order: Vec<Component>,
    /// The largest sum of a quantity over the batch, in credits, kWh, gCO2e or seconds:
    /// `energy=2.5`. May be repeated.
    #[arg(long, value_name = "QUANTITY=N", value_parser = values::sum_limit)]
    limit: Vec<(Quantity, i64)>,
    /// Show what the batch can trade instead of a plan: at most N combinations that no other one
    /// beats in all components of `--order` [default: those of the objective]. `--chart` draws them.
    #[arg(long, value_name = "N")]
    pub(super) front: Option<NonZeroUsize>,
    /// Scales budgets that are derived from a price cap, within (0, 1] [default: the scenario's,
    /// else 1].
    #[arg(long, value_name = "R", value_parser = values::rho)]
    rho: Option<Rho>,
    /// Alternatives per job; `all` searches until nothing is left.
    #[arg(long, value_name = "N|all", default_value = "50", value_parser = values::count_or_all)]
    max_alternatives: Count,
    /// Steps that a bounded search (processor-time, sum) may take per window.
    #[arg(long, value_name = "N", default_value_t = Cyclic::DEFAULT_WORK_LIMIT)]
    work_limit: u64,
    /// Looks at an alternative that one choice of `whole-batch` may take, or partial combinations
    /// that a choice by `--order` within several limits may examine [default: 2000000].
    #[arg(long, value_name = "N")]
    choice_limit: Option<u64>,
    /// For the papers' random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw who runs where and when, as `.svg` or `.png` by the name.
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,
    /// Write every job's alternatives to a JSON file that `combine` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) alternatives: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Scheme {
    #[default]
    Css,
    BatchSlicer,
    WholeBatch,
    OnTheFly,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Scheme::Css => "css",
            Scheme::BatchSlicer => "batch-slicer",
            Scheme::WholeBatch => "whole-batch",
            Scheme::OnTheFly => "on-the-fly",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum VariantName {
    #[default]
    Exact,
    Paper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectiveName {
    /// Most income for the owners, within the time limit.
    MaxIncome,
    /// Least time, within the budget limit.
    MinTime,
    /// Least cost, within the time limit.
    MinCost,
    /// Least idleness: most used time, within the time limit.
    MinIdle,
}

impl From<ObjectiveName> for Objective {
    fn from(name: ObjectiveName) -> Objective {
        match name {
            ObjectiveName::MaxIncome => Objective::MaxIncome,
            ObjectiveName::MinTime => Objective::MinTime,
            ObjectiveName::MinCost => Objective::MinCost,
            ObjectiveName::MinIdle => Objective::MinIdle,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeasureName {
    Runtime,
    ProcessorTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum SliceName {
    #[default]
    Priority,
    Cost,
    Performance,
    Criterion,
}

/// What a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picture {
    Svg,
    Png,
}

fn search(text: &str) -> Result<SearchBy, String> {
    Ok(match text {
        "job" => SearchBy::Job,
        "csa" => SearchBy::Csa,
        "alp" => SearchBy::All(Algorithm::Alp),
        "amp" => SearchBy::All(Algorithm::Amp),
        other => match scenario::criterion(other) {
            Some(criterion) => SearchBy::All(Algorithm::Best(criterion)),
            None => {
                return Err("one of job, alp, amp, csa, start, finish, runtime, cost, \
                            processor-time, sum:ATTRIBUTE is needed"
                    .to_owned());
            }
        },
    })
}

/// By the ending of the file's name.
pub(crate) fn picture_kind(path: &Path) -> Result<Picture, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("svg") => Ok(Picture::Svg),
        Some("png") if !HAS_PNG => Err(Failure::usage("this program was built without PNG")
            .hint("end the name in `.svg`; `cargo build --release` builds a program with PNG")),
        Some("png") => Ok(Picture::Png),
        _ => Err(Failure::usage(format!("`{}` is neither an SVG nor a PNG", path.display()))
            .hint("end the name of the chart in `.svg` or `.png`")),
    }
}

impl Args {
    /// Options win over the scenario.
    pub(super) fn override_policy(&self, policy: &mut VoPolicy) {
        let measure = |name| match name {
            MeasureName::Runtime => Measure::Runtime,
            MeasureName::ProcessorTime => Measure::ProcessorTime,
        };
        policy.objective = self.objective.map_or(policy.objective, Objective::from);
        policy.measure = self.measure.map_or(policy.measure, measure);
        policy.time_limit = self.time_limit.unwrap_or(policy.time_limit);
        policy.budget_limit = self.budget_limit.unwrap_or(policy.budget_limit);
        policy.rho = self.rho.unwrap_or(policy.rho);
        if !self.order.is_empty() {
            policy.criteria.order.clone_from(&self.order);
        } else if self.objective.is_some() {
            policy.criteria.order.clear();
        }
        for (quantity, limit) in &self.limit {
            policy.criteria.limits.retain(|(other, _)| other != quantity);
            policy.criteria.limits.push((quantity.clone(), *limit));
        }
    }

    /// The scheme for a batch of `jobs` jobs.
    pub(super) fn cyclic(&self, snapshot: &Snapshot) -> Result<Cyclic, Failure> {
        let jobs = snapshot.jobs.len();
        self.without_contradiction(snapshot)?;
        Ok(Cyclic {
            offers: match self.scheme {
                Scheme::WholeBatch => Offers::Overlapping,
                Scheme::OnTheFly => Offers::OnTheFly,
                Scheme::Css | Scheme::BatchSlicer => Offers::Disjoint,
            },
            sub_batches: self.sub_batches(jobs)?,
            slice_by: match self.slice_by {
                SliceName::Priority => SliceBy::Priority,
                SliceName::Cost => SliceBy::Cost,
                SliceName::Performance => SliceBy::Performance,
                SliceName::Criterion => SliceBy::Criterion,
            },
            search: self.search.clone(),
            variant: match self.variant {
                VariantName::Exact => Variant::Exact,
                VariantName::Paper => Variant::Paper,
            },
            max_alternatives: match self.max_alternatives {
                Count::Number(max) => Some(max),
                Count::Word => None,
            },
            work_limit: self.work_limit,
            choice_limit: self.choice_limit.unwrap_or(Cyclic::DEFAULT_CHOICE_LIMIT),
            seed: self.seed,
        })
    }

    /// Whether each option that is given means something to the scheme.
    fn without_contradiction(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        let policy = &snapshot.policy;
        let whole = matches!(self.scheme, Scheme::WholeBatch | Scheme::OnTheFly);
        if whole && !policy.criteria.is_empty() {
            let scheme = self.scheme.name();
            return Err(Failure::usage(format!(
                "`{scheme}` has no vector of criteria and no further limits",
            ))
            .hint("leave `--order` and `--limit` out, or use `--scheme css`"));
        }
        if whole && snapshot.jobs.iter().any(|job| job.request.needs.is_some()) {
            let scheme = self.scheme.name();
            let what = format!(
                "`{scheme}` keeps windows apart, and tasks of this scenario may share nodes"
            );
            return Err(Failure::usage(what).hint("use `--scheme css` or `--scheme batch-slicer`"));
        }
        if whole && snapshot.jobs.iter().any(|job| job.request.licences.is_some()) {
            let scheme = self.scheme.name();
            let what =
                format!("`{scheme}` keeps nodes apart, and jobs of this scenario share licences");
            return Err(Failure::usage(what).hint("use `--scheme css` or `--scheme batch-slicer`"));
        }
        self.fly_without_contradiction(policy)?;
        if self.scheme != Scheme::Css && self.front.is_some() {
            return Err(Failure::usage("`--front` is of the alternatives of `css`")
                .hint("leave `--scheme` out"));
        }
        let sliced = self.scheme == Scheme::BatchSlicer;
        let chooses = whole || !policy.criteria.is_empty() || self.front.is_some();
        let of_no_use = [
            ("--sub-batches", self.sub_batches.is_some() && !sliced, Scheme::BatchSlicer),
            ("--slice-by", self.slice_by != SliceName::Priority && whole, Scheme::BatchSlicer),
            ("--choice-limit", self.choice_limit.is_some() && !chooses, Scheme::WholeBatch),
        ];
        match of_no_use.into_iter().find(|(_, wrong, _)| *wrong) {
            Some((option, _, meant)) => {
                let scheme = self.scheme.name();
                Err(Failure::usage(format!("`{option}` has no meaning with the scheme `{scheme}`"))
                    .hint(format!("add `--scheme {}`", meant.name())))
            }
            None => Ok(()),
        }
    }

    /// On the fly the VO's objective is all that searches go by.
    fn fly_without_contradiction(&self, policy: &VoPolicy) -> Result<(), Failure> {
        if self.scheme != Scheme::OnTheFly {
            return Ok(());
        }
        if !Offers::fly(policy) {
            let failure = Failure::usage("`on-the-fly` has the objectives min-time and min-cost");
            return Err(failure.hint("add `--objective min-cost`, or use `--scheme whole-batch`"));
        }
        if self.search != SearchBy::Job || self.variant != VariantName::Exact {
            let failure = Failure::usage("`on-the-fly` has one exact search, by the objective");
            return Err(failure.hint("leave `--search` and `--variant` out"));
        }
        Ok(())
    }

    fn sub_batches(&self, jobs: usize) -> Result<SubBatches, Failure> {
        match (self.scheme, self.sub_batches) {
            (Scheme::Css | Scheme::WholeBatch | Scheme::OnTheFly, _) => Ok(SubBatches::Count(1)),
            (Scheme::BatchSlicer, Some(Count::Number(count))) if count as usize > jobs => {
                Err(Failure::usage(format!("{count} sub-batches of a batch of {jobs} jobs"))
                    .hint("`--sub-batches` is at most the number of jobs"))
            }
            (Scheme::BatchSlicer, Some(Count::Number(count))) => Ok(SubBatches::Count(count)),
            (Scheme::BatchSlicer, None | Some(Count::Word)) => Ok(SubBatches::Auto),
        }
    }

    /// The document of a plan made this way.
    pub(super) fn document(&self, snapshot: &Snapshot, plan: &Plan) -> wire::Plan {
        wire::Plan {
            scheme: Some(self.scheme.name().to_owned()),
            seed: (self.variant == VariantName::Paper).then_some(self.seed),
            ..wire::Plan::new(snapshot, plan, snapshot.policy.measure)
        }
    }

    /// What a reader needs to distinguish two plans: the scenario's title or file, and the policy.
    pub(super) fn title(&self, scenario: &Scenario, sub_batches: u32) -> String {
        let scheme = match self.scheme {
            Scheme::BatchSlicer => format!("batch-slicer in {sub_batches}"),
            scheme => scheme.name().to_owned(),
        };
        let file = match self.scenario.as_str() {
            "-" => "standard input",
            path => Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path),
        };
        let subject = scenario.title.as_deref().unwrap_or(file);
        let policy = &scenario.snapshot.policy;
        let order: Vec<String> =
            policy.criteria.order.iter().map(scenario::component_name).collect();
        match order.is_empty() {
            true => format!("{subject}: {scheme}, {}", scenario::objective_name(policy.objective)),
            false => format!("{subject}: {scheme}, {}", order.join(", then ")),
        }
    }
}
