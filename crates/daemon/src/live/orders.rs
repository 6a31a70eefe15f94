//! What sites are to be told: a function of the state.

use std::collections::BTreeMap;

use tradewind_model::SiteId;

use super::state::{Job, Known, Part, Phase, State, Task, Wanted};
use super::{Act, Live};
use crate::site::{Order, Tag};

/// Something that a site is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Which site.
    pub site: SiteId,
    /// About which task.
    pub tag: Tag,
    /// What.
    pub act: Act,
    /// The task, where it is to run.
    pub order: Option<Box<Order>>,
}

impl Live {
    /// All that sites are to be told and have not answered yet; `told` are those that they were
    /// told and may still answer. Linear in the tasks that are not forgotten.
    pub fn orders(&self, told: impl Fn(&Tag, Act) -> bool) -> Vec<Instruction> {
        let tasks = self.state.tasks.iter();
        let due = tasks.filter_map(|(tag, task)| Some((tag, task, act(task)?)));
        let due = due.filter(|(tag, _, act)| !told(tag, *act));
        due.filter_map(|(tag, task, act)| self.state.instruction(tag, task, act)).collect()
    }
}

fn act(task: &Task) -> Option<Act> {
    match (task.wanted, &task.known) {
        _ if task.is_over() => Some(Act::Forget),
        (Wanted::Stop, Known::Withdrawn(_)) => None,
        (Wanted::Stop, _) => Some(Act::Withdraw),
        (Wanted::Run, Known::Nothing) => Some(Act::Submit),
        (Wanted::Run, _) => None,
    }
}

impl State {
    fn instruction(&self, tag: &Tag, task: &Task, act: Act) -> Option<Instruction> {
        let order = match act {
            Act::Submit => Some(Box::new(self.order(tag)?)),
            Act::Withdraw | Act::Forget => None,
        };
        Some(Instruction { site: self.site_of(task.pool), tag: tag.clone(), act, order })
    }

    fn order(&self, tag: &Tag) -> Option<Order> {
        let job = self.jobs.get(&tag.job).filter(|job| job.phase == Phase::Running)?;
        let part = job.parts.get(tag.part as usize)?;
        let submission = &job.submission;
        Some(Order {
            tag: tag.clone(),
            name: submission.name.clone(),
            user: job.user.clone(),
            pool: self.own_name(part).to_owned(),
            nodes: part.nodes,
            start: job.started.unwrap_or(self.now()),
            limit: part.limit,
            work: submission.work.clone(),
            surroundings: submission.surroundings.clone(),
            variables: self.variables(job, tag, part),
            on_lost: submission.on_lost,
            passed_through: submission.passed_through.clone(),
        })
    }

    /// The pool's name without its site's.
    fn own_name(&self, part: &Part) -> &str {
        let name = &self.market.pools().pool(part.pool).name;
        name.split_once('/').map_or(name, |(_, own)| own)
    }

    /// What a task can learn of its job: names as Slurm users know them, and ours.
    fn variables(&self, job: &Job, tag: &Tag, part: &Part) -> BTreeMap<String, String> {
        let nodes: u32 = job.parts.iter().map(|part| part.nodes).sum();
        let site = self.site_of(part.pool);
        let site = &self.market.pools().sites()[site.0 as usize].name;
        let mut all = vec![
            ("SLURM_JOB_ID", job.number.to_string()),
            ("SLURM_JOB_NAME", job.submission.name.clone()),
            ("SLURM_CLUSTER_NAME", site.clone()),
            ("SLURM_JOB_NUM_NODES", part.nodes.to_string()),
            // The site puts its names of the nodes there.
            ("SLURM_JOB_NODELIST", "%N".to_owned()),
            ("TRADEWIND_NODES", "%N".to_owned()),
            ("SLURM_JOB_PARTITION", self.own_name(part).to_owned()),
            ("SLURM_RESTART_COUNT", job.attempt.to_string()),
            ("TRADEWIND_JOB_ID", job.number.to_string()),
            ("TRADEWIND_SITE", site.clone()),
            ("TRADEWIND_POOL", self.own_name(part).to_owned()),
            ("TRADEWIND_PART", tag.part.to_string()),
            ("TRADEWIND_PARTS", job.parts.len().to_string()),
            ("TRADEWIND_TASKS", nodes.to_string()),
            ("TRADEWIND_ATTEMPT", job.attempt.to_string()),
            ("TRADEWIND_LIMIT", part.limit.0.to_string()),
        ];
        if let Some(origin) = &job.origin {
            all.push(("TRADEWIND_HOME", origin.name.clone()));
            all.push(("TRADEWIND_HOME_JOB_ID", origin.job.to_string()));
        }
        let array = job.origin.as_ref().map_or(job.array, |origin| origin.array);
        if let Some((first, index)) = array {
            all.push(("SLURM_ARRAY_JOB_ID", first.to_string()));
            all.push(("SLURM_ARRAY_TASK_ID", index.to_string()));
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
