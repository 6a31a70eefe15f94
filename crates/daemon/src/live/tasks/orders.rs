//! What sites are to be told: a function of the state.

use std::collections::BTreeMap;

use tradewind_io::submission::signal::Warning;
use tradewind_model::{PoolId, SiteId};

use crate::live::state::{Job, Part, Phase, State, Task, TaskGoal, TaskReport};
use crate::live::{Act, Live};
use crate::site::{Go, Order, OrderData, Site, SiteError, Tag};

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
    /// When its work is to begin, and what it gets to know of the others.
    pub go: Option<Box<Go>>,
    /// The signal that its job has named, where it is to be told something.
    pub signal: Option<Warning>,
}

impl Instruction {
    /// Whether sites may be told several of its kind at once.
    pub fn is_of_many(&self) -> bool {
        match self.act {
            Act::Submit => self.order.is_some(),
            Act::Forget => true,
            Act::Go | Act::Notify | Act::Withdraw | Act::Recall => false,
        }
    }

    /// Tells the site several things of one kind about different tasks, see
    /// [`Instruction::is_of_many`]; its answers in their order.
    pub fn carry_out_all(all: &[Instruction], site: &mut dyn Site) -> Vec<Result<(), SiteError>> {
        match all.first().map(|first| first.act) {
            Some(Act::Submit) => {
                let orders: Vec<&Order> = all.iter().filter_map(|it| it.order.as_deref()).collect();
                site.submit_all(&orders)
            }
            Some(Act::Forget) => {
                let tags: Vec<&Tag> = all.iter().map(|it| &it.tag).collect();
                site.forget_all(&tags)
            }
            _ => all.iter().map(|it| it.carry_out(site)).collect(),
        }
    }

    /// Tells the site.
    ///
    /// # Errors
    /// What the site says.
    pub fn carry_out(&self, site: &mut dyn Site) -> Result<(), SiteError> {
        let nothing = || Err(SiteError::Refused("nothing to run".to_owned()));
        match self.act {
            Act::Submit => self.order.as_ref().map_or_else(nothing, |order| site.submit(order)),
            Act::Go => self.go.as_ref().map_or_else(nothing, |go| site.go(&self.tag, go)),
            Act::Notify => site.notify(&self.tag, self.signal),
            Act::Withdraw => site.withdraw(&self.tag),
            Act::Recall => site.recall(&self.tag),
            Act::Forget => site.forget(&self.tag),
        }
    }
}

impl Live {
    /// All that sites are to be told and have not answered yet; `told` are those that they were
    /// told and may still answer. Linear in the tasks that are not forgotten.
    pub fn orders(&self, told: impl Fn(&Tag, Act) -> bool) -> Vec<Instruction> {
        let tasks = self.state.tasks.iter();
        let due = tasks.filter_map(|(tag, task)| Some((tag, task, act(task)?)));
        let due = due.filter(|(tag, _, act)| !told(tag, *act));
        due.filter_map(|(tag, task, act)| self.instruction(tag, task, act)).collect()
    }

    fn instruction(&self, tag: &Tag, task: &Task, act: Act) -> Option<Instruction> {
        let (mut order, mut go, mut signal) = (None, None, None);
        match act {
            Act::Submit => order = Some(Box::new(self.order(tag)?)),
            Act::Go => go = Some(Box::new(self.state.go(tag, task)?)),
            Act::Notify => {
                let job = self.state.jobs.get(&tag.job)?;
                signal = Warning::among(&job.options_of(tag.part as usize));
            }
            Act::Withdraw | Act::Recall | Act::Forget => {}
        }
        let site = self.state.site_of(task.pool);
        Some(Instruction { site, tag: tag.clone(), act, order, go, signal })
    }

    fn order(&self, tag: &Tag) -> Option<Order> {
        let state = &self.state;
        let job = state.jobs.get(&tag.job).filter(|job| job.phase() == Phase::Running)?;
        let part = job.parts().get(tag.part as usize)?;
        let submission = &job.submission;
        Some(Order {
            tag: tag.clone(),
            name: submission.name.clone(),
            user: job.user.clone(),
            pool: state.own_name(part.pool).to_owned(),
            nodes: part.nodes,
            start: job.starts().unwrap_or(state.now()),
            aside: job.in_window(),
            gather: self.patience(job),
            limit: part.limit,
            data: submission
                .terms
                .data
                .clone()
                .zip(part.staging)
                .map(|(data, times)| Box::new(OrderData { data, times })),
            work: submission.work.clone(),
            surroundings: submission.surroundings.clone(),
            variables: state.variables(job, tag, part),
            on_lost: submission.on_lost,
            is_preemptible: submission.on_preempted.is_some(),
            passed_through: job.options_of(tag.part as usize),
        })
    }
}

fn act(task: &Task) -> Option<Act> {
    match (task.wanted, &task.known) {
        _ if task.is_over() => Some(Act::Forget),
        (TaskGoal::Stop | TaskGoal::Recall, TaskReport::Withdrawn(_)) => None,
        (TaskGoal::Recall, _) => Some(Act::Recall),
        (TaskGoal::Stop, _) => Some(Act::Withdraw),
        (TaskGoal::Run, TaskReport::Nothing) => Some(Act::Submit),
        (TaskGoal::Run, _) if task.go.is_some() => Some(Act::Go),
        (TaskGoal::Run, _) if task.notice.is_some() => Some(Act::Notify),
        (TaskGoal::Run, _) => None,
    }
}

impl State {
    /// The pool's name without its site's.
    pub(in crate::live) fn own_name(&self, pool: PoolId) -> &str {
        let name = &self.market.pools().pool(pool).name;
        name.split_once('/').map_or(name, |(_, own)| own)
    }

    pub(in crate::live) fn site_name(&self, pool: PoolId) -> &str {
        &self.market.pools().sites()[self.site_of(pool).0 as usize].name
    }

    /// When the task's work begins, and where the parts of its job are.
    fn go(&self, tag: &Tag, task: &Task) -> Option<Go> {
        let job = self.jobs.get(&tag.job)?;
        let mut variables = BTreeMap::new();
        let mut tell = |name: String, value: String| variables.insert(name, value);
        let mut hosts = Vec::new();
        for (place, part) in job.parts().iter().enumerate() {
            let name = |what: &str| format!("TRADEWIND_PART_{place}_{what}");
            let first = part.names.first().cloned().unwrap_or_default();
            tell(name("SITE"), self.site_name(part.pool).to_owned());
            tell(name("POOL"), self.own_name(part.pool).to_owned());
            tell(name("NODES"), part.names.join(","));
            tell(name("ADDRESS"), first);
            if let Some(group) = job.group_of(place) {
                tell(name("GROUP"), group.to_string());
            }
            hosts.extend(part.names.iter().cloned());
        }
        tell("TRADEWIND_HOSTS".to_owned(), hosts.join(","));
        Some(Go { at: task.go?, variables })
    }

    /// What a task can learn of its job: names as Slurm users know them, and ours.
    fn variables(&self, job: &Job, tag: &Tag, part: &Part) -> BTreeMap<String, String> {
        let nodes: u32 = job.parts().iter().map(|part| part.nodes).sum();
        let site = self.site_name(part.pool);
        let mut all = vec![
            ("SLURM_JOB_ID", job.number.to_string()),
            ("SLURM_JOB_NAME", job.submission.name.clone()),
            ("SLURM_CLUSTER_NAME", site.to_owned()),
            ("SLURM_JOB_NUM_NODES", part.nodes.to_string()),
            // The site puts its names of the nodes there.
            ("SLURM_JOB_NODELIST", "%N".to_owned()),
            ("TRADEWIND_NODES", "%N".to_owned()),
            ("SLURM_JOB_PARTITION", self.own_name(part.pool).to_owned()),
            ("SLURM_RESTART_COUNT", job.attempt.to_string()),
            ("TRADEWIND_JOB_ID", job.number.to_string()),
            ("TRADEWIND_SITE", site.to_owned()),
            ("TRADEWIND_POOL", self.own_name(part.pool).to_owned()),
            ("TRADEWIND_PART", tag.part.to_string()),
            ("TRADEWIND_PARTS", job.parts().len().to_string()),
            ("TRADEWIND_TASKS", nodes.to_string()),
            ("TRADEWIND_ATTEMPT", job.attempt.to_string()),
            ("TRADEWIND_LIMIT", part.limit.0.to_string()),
        ];
        if let Some(group) = job.group_of(tag.part as usize) {
            all.push(("TRADEWIND_GROUP", group.to_string()));
        }
        if let Some(origin) = &job.origin {
            all.push(("TRADEWIND_HOME", origin.name.clone()));
            all.push(("TRADEWIND_HOME_JOB_ID", origin.job.to_string()));
        }
        let array = job.origin.as_ref().map_or(job.array, |origin| origin.array);
        if let Some((first, index)) = array {
            all.push(("SLURM_ARRAY_JOB_ID", first.to_string()));
            all.push(("SLURM_ARRAY_TASK_ID", index.to_string()));
            all.extend(job.array_variables());
        }
        all.extend(job.shape_variables(tag.part as usize));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
