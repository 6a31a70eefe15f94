//! `W`: a window with its nodes by name.

use std::collections::BTreeMap;

use serde::Serialize;
use tradewind_model::{self as model, Grid, Money};

use super::amount::{Amount, credits};

/// A window, as it is in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The common start.
    pub start: i64,
    /// The end of the longest task.
    pub finish: i64,
    /// Seconds of the longest task.
    pub runtime: i64,
    /// Σ cost of the tasks and the licences.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// Σ seconds of the tasks.
    pub processor_time: i64,
    /// Of a moldable job: which of its shapes this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<TakenShape>,
    /// In node order.
    pub tasks: Vec<Task>,
    /// What each task takes of its node, where tasks may share nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task: Option<PerTask>,
    /// What the job takes along from the start to the finish, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub licences: BTreeMap<String, TakenLicences>,
    /// Of a job with data: what it means at each site of the window, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, StagedData>,
    /// Where electricity is described: `energy` in kWh, `carbon` in gCO2e and `energy_price`, what
    /// the electricity costs the sites in credits.
    #[serde(flatten)]
    pub consumption: Option<Consumption>,
}

/// A shape of a moldable job, as the job says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TakenShape {
    /// Nodes.
    pub nodes: u32,
    /// Seconds on the reference node.
    pub time: i64,
}

/// What a task takes of a node that it shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PerTask {
    /// Processor cores.
    pub cores: u32,
    /// Memory in KiB.
    pub memory_kib: u64,
    /// Generic resources by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gres: BTreeMap<String, u32>,
}

impl From<&model::Resources> for PerTask {
    fn from(each: &model::Resources) -> PerTask {
        let model::Resources { cores, memory, gres } = each.clone();
        PerTask { cores, memory_kib: memory, gres }
    }
}

/// How many of a licence a window takes along, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TakenLicences {
    /// How many.
    pub count: u32,
    /// Price × count × runtime.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
}

/// The licences of a window by name, with what each costs.
fn licences(window: &model::Window, grid: &Grid) -> BTreeMap<String, TakenLicences> {
    let all = grid.licences();
    let taken = |share: &model::LicenceShare| {
        let licence = all.get(share.licence.index())?;
        let cost = model::licences_cost(all, &[*share], window.runtime());
        Some((licence.name.clone(), TakenLicences { count: share.count, cost }))
    };
    window.licences().into_iter().flat_map(|shares| shares.iter()).filter_map(taken).collect()
}

/// What the transfer of a job's data to a site and away means: parts of the tasks there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StagedData {
    /// Seconds before the work.
    pub stage_in: i64,
    /// Seconds after it.
    pub stage_out: i64,
    /// What the nodes cost during both: price × seconds, a part of the window's cost.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
}

/// What the data of a job means in its window, by the name of each site. Empty for a job without data.
pub fn staged(
    window: &model::Window,
    request: &model::Request,
    grid: &Grid,
) -> BTreeMap<String, StagedData> {
    let mut by_site = BTreeMap::new();
    for task in window.tasks() {
        let site = grid.node(task.node).site;
        let Some(times) = request.data.as_ref().and_then(|staging| staging.at(site)) else {
            continue;
        };
        let (stage_in, stage_out) = (times.stage_in.0, times.stage_out.0);
        let nothing = StagedData { stage_in, stage_out, cost: Money::ZERO };
        let name = grid.site_of(task.node).name.clone();
        let of_site: &mut StagedData = by_site.entry(name).or_insert(nothing);
        of_site.cost += staging_cost(window, task, (times, grid));
    }
    by_site
}

/// What a task costs while its job's data is brought to its node and away.
fn staging_cost(
    window: &model::Window,
    task: &model::Task,
    (times, grid): (model::StageTimes, &Grid),
) -> Money {
    if window.each().is_some() {
        // It pays for its part of the node, at one price.
        let part = i128::from(task.cost.0) * i128::from(times.total().0);
        let cost = part / i128::from(task.length.0.max(1));
        return Money(i64::try_from(cost).unwrap_or(task.cost.0));
    }
    let (start, end) = (window.start(), window.start() + task.length);
    let cost = |from, span| grid.cost(task.node, from, span);
    cost(start, times.stage_in) + cost(end - times.stage_out, times.stage_out)
}

/// What a window consumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Consumption {
    /// Energy, shown in kWh.
    pub energy: Amount,
    /// Emissions, shown in grams of CO2e.
    pub carbon: Amount,
    /// What the electricity costs the sites.
    pub energy_price: Amount,
}

impl From<model::Consumption> for Consumption {
    fn from(used: model::Consumption) -> Consumption {
        Consumption {
            energy: Amount::Energy(used.energy),
            carbon: Amount::Carbon(used.carbon),
            energy_price: Amount::Credits(used.price),
        }
    }
}

/// One task of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The node's name.
    pub node: String,
    /// The window's start.
    pub start: i64,
    /// When the node is free again.
    pub end: i64,
    /// Price × length.
    #[serde(serialize_with = "credits")]
    pub cost: Money,
    /// Where tasks differ, whose group it is: its place in the job's `groups`, from 0 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
}

impl Window {
    /// `window` of a job with this request, with the names of `grid`.
    pub fn of(window: &model::Window, request: &model::Request, grid: &Grid) -> Window {
        let of_width = |shapes: &model::Shapes| {
            let shape = shapes.of_width(u32::try_from(window.tasks().len()).ok()?)?;
            Some(TakenShape { nodes: shape.nodes, time: shape.time.0 })
        };
        let shape = request.shapes.as_ref().and_then(of_width);
        let data = staged(window, request, grid);
        Window { shape, data, ..Window::new(window, grid) }
    }

    /// `window` with the names of `grid`.
    fn new(window: &model::Window, grid: &Grid) -> Window {
        // Of several groups the later ones have numbers above 0.
        let differ = window.tasks().iter().any(|task| task.group > 0);
        let task = |task: &model::Task| Task {
            node: grid.node(task.node).name.clone(),
            start: window.start().0,
            end: (window.start() + task.length).0,
            cost: task.cost,
            group: differ.then_some(task.group),
        };
        Window {
            start: window.start().0,
            finish: window.finish().0,
            runtime: window.runtime().0,
            cost: window.cost(),
            processor_time: window.processor_time().0,
            shape: None,
            tasks: window.tasks().iter().map(task).collect(),
            per_task: window.each().map(PerTask::from),
            licences: licences(window, grid),
            data: BTreeMap::new(),
            consumption: grid.power().map(|_| grid.consumption(window).into()),
        }
    }
}
