//! Tasks that their site's manager holds.

use tradewind_model::{SiteId, Time};

use crate::live::record::TaskRecord;
use crate::live::state::{Job, Phase, State, TaskGoal, TaskReport};
use crate::live::{ApplyError, Live};
use crate::site::{HeldTask, Seen, Survey, Tag};

impl Live {
    /// Writes down which tasks are held at the site, and takes jobs back that are held for too long.
    pub(in crate::live) fn learn_holds(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        for (tag, why) in self.state.changed_holds(site, survey) {
            self.put(at, TaskRecord::HeldThere { tag, why })?;
        }
        for (tag, held) in &survey.held {
            if self.is_held_too_long(at, tag, held) {
                self.take_back(at, tag.job)?;
            }
        }
        Ok(())
    }

    fn is_held_too_long(&self, at: Time, tag: &Tag, held: &HeldTask) -> bool {
        let task = self.state.tasks.get(tag).filter(|_| self.is_current(tag));
        let since = task.and_then(|task| Some(task.held.as_ref()?.0));
        let job = self.state.jobs.get(&tag.job).filter(|job| job.phase() == Phase::Running);
        // Where another part of it works, its user decides.
        let waits = job.is_some_and(|job| job.began().is_none());
        let is_wanted = task.is_some_and(|task| task.wanted == TaskGoal::Run);
        waits && is_wanted && since.is_some_and(|since| since + held.max <= at)
    }
}

impl State {
    /// Tasks at the site that are held now and were not, or the other way round.
    fn changed_holds(&self, site: SiteId, survey: &Survey) -> Vec<(Tag, Option<String>)> {
        let here = self.tasks.iter().filter(|(_, task)| self.site_of(task.pool) == site);
        let news = here.filter_map(|(tag, task)| {
            let before = task.held.as_ref().map(|(_, why)| why);
            let now = survey.held.get(tag).map(|held| &held.why);
            // What a task was held for when it was taken back says why the job waits again.
            let waits =
                matches!(task.known, TaskReport::Acknowledged | TaskReport::Seen(Seen::Waiting));
            let counts = now.is_some() && waits || now.is_none() && task.wanted == TaskGoal::Run;
            (before != now && counts).then(|| (tag.clone(), now.cloned()))
        });
        news.collect()
    }

    /// Where a job that has its nodes is held, since when, and the manager's word for it.
    pub fn held_there(&self, job: &Job) -> Option<(&str, Time, &str)> {
        let parts = job.parts().iter().enumerate().filter(|(_, part)| part.since.is_none());
        let mut held = parts.filter_map(|(place, part)| {
            let task = self.tasks.get(&job.tag(&self.name, place))?;
            let (since, why) = task.held.as_ref()?;
            Some((self.site_name(part.pool), *since, why.as_str()))
        });
        held.next()
    }

    /// The site in whose queue the job waits: it was submitted there, and has no nodes yet.
    pub fn queued_at(&self, job: &Job) -> Option<&str> {
        if job.parts().iter().any(|part| part.since.is_some() || part.exit.is_some()) {
            return None;
        }
        let mut parts = job.parts().iter().enumerate().filter(|(place, _)| {
            let task = self.tasks.get(&job.tag(&self.name, *place));
            task.is_some_and(|task| matches!(task.known, TaskReport::Seen(Seen::Waiting)))
        });
        parts.next().map(|(_, part)| self.site_name(part.pool))
    }

    /// That a job which was taken back had been held at its site.
    pub(in crate::live) fn was_held(&self, job: &Job) -> Option<String> {
        let (site, since, why) = self.held_there(job)?;
        let minutes = (self.now() - since).0 / 60;
        let long = if minutes > 0 { format!("{minutes} min") } else { "a while".to_owned() };
        Some(format!("it was held at {site} for {long}: {why}"))
    }
}
