//! Who may change a project, and who may spend from it.

use tradewind_model::{Money, Time};

use crate::live::answer::{Refusal, RefusalKind};
use crate::live::input::ProjectChange;
use crate::live::money::Account;
use crate::live::names::{good_name, unknown_project};
use crate::live::record::LedgerRecord;
use crate::live::rights::{Actor, Role};
use crate::live::state::ledger::projects::{MemberRole, ProjectEdit, SpendingLimits};
use crate::live::state::{Job, JobHold, Phase, State};
use crate::live::{ApplyError, Live};

impl State {
    /// Whether the user may spend the project's money.
    ///
    /// # Errors
    /// If there is no such project, or the user is no member of it.
    pub fn may_spend(&self, user: &str, project: &str) -> Result<(), Refusal> {
        match self.ledger.projects.get(project) {
            None => Err(unknown_project(self, user, project)),
            Some(it) if it.has(user) => Ok(()),
            Some(_) => {
                let hint = format!(
                    "a manager of the project or an administrator types `tradewind project add \
                     {project} {user}`"
                );
                Err(Refusal::new(RefusalKind::Forbidden, no_member(user, project), hint))
            }
        }
    }

    /// Why the job's user may not spend the money of the project that is to pay for it, if so.
    pub fn barred(&self, job: &Job) -> Option<String> {
        let project = job.paying_project()?;
        let is_member = self.ledger.projects.may_spend(project, &job.user);
        (!is_member).then(|| no_member(&job.user, project))
    }
}

fn no_member(user: &str, project: &str) -> String {
    format!("{user} is not a member of project {project}")
}

impl Live {
    /// Whether the user may submit or ask for quotes for this project.
    ///
    /// # Errors
    /// If there is no such project, or the user is no member of it.
    pub fn may_spend(&self, user: &str, project: Option<&str>) -> Result<(), Refusal> {
        project.map_or(Ok(()), |project| self.state.may_spend(user, project))
    }

    pub(in crate::live) fn change(
        &mut self,
        at: Time,
        project: &str,
        change: ProjectEdit,
    ) -> Result<(), ApplyError> {
        self.put(at, LedgerRecord::Project { project: project.to_owned(), change })
    }

    /// What a user requests of a project, if that is allowed.
    pub(in crate::live) fn wish(
        &mut self,
        at: Time,
        actor: &Actor,
        name: &str,
        wish: ProjectChange,
    ) -> Result<Result<(), Refusal>, ApplyError> {
        if let Err(refusal) = self.may_wish(actor, name, &wish) {
            return Ok(Err(refusal));
        }
        let by = actor.user.clone();
        let change = match wish {
            ProjectChange::Make { note } => ProjectEdit::Made { by, note, spent: Vec::new() },
            ProjectChange::Note { note } => ProjectEdit::Noted { note },
            ProjectChange::Join { user, role } => ProjectEdit::Joined { user, role },
            ProjectChange::Leave { user } => ProjectEdit::Left { user },
            ProjectChange::Limit { user, limits } => ProjectEdit::Limited { user, limits },
        };
        if self.says_nothing_new(name, &change) {
            return Ok(Ok(()));
        }
        self.change(at, name, change.clone())?;
        match change {
            ProjectEdit::Left { .. } => self.turn_away(at, name)?,
            ProjectEdit::Joined { user, .. } => self.let_back(at, name, &user)?,
            ProjectEdit::Limited { .. } => {
                self.recheck_budgets(at, name)?;
                let account = Account::Project(name.to_owned());
                self.recheck_funds(at, |payer| *payer == account)?;
                self.afford(at)?;
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    fn says_nothing_new(&self, name: &str, change: &ProjectEdit) -> bool {
        let Some(project) = self.state.ledger.projects.get(name) else { return false };
        match change {
            ProjectEdit::Noted { note } => project.note == *note,
            ProjectEdit::Joined { user, role } => {
                project.members.get(user).is_some_and(|member| member.role == *role)
            }
            ProjectEdit::Limited { user: None, limits } => project.limits == *limits,
            ProjectEdit::Limited { user: Some(user), limits } => {
                project.members.get(user).is_some_and(|member| member.limits == *limits)
            }
            _ => false,
        }
    }

    /// Whether the wish makes sense and is theirs. Only administrators make projects, set limits of
    /// whole projects, and say who manages them.
    pub(in crate::live) fn may_wish(
        &self,
        actor: &Actor,
        name: &str,
        wish: &ProjectChange,
    ) -> Result<(), Refusal> {
        let forbidden = |message: String| {
            Err(Refusal::new(RefusalKind::Forbidden, message, "ask an administrator"))
        };
        let is_administrator = actor.role == Role::Administrator;
        let project = self.state.ledger.projects.get(name);
        if let ProjectChange::Make { .. } = wish {
            return match project {
                _ if !is_administrator => forbidden("only an administrator makes projects".into()),
                Some(_) => {
                    let message = format!("there is a project `{name}` already");
                    Err(Refusal::new(RefusalKind::Conflict, message, "see `project show`"))
                }
                None => good_name(name),
            };
        }
        let seen = project.filter(|it| is_administrator || it.has(&actor.user));
        let Some(project) = seen else {
            return Err(unknown_project(&self.state, &actor.user, name));
        };
        if !is_administrator && !project.is_managed_by(&actor.user) {
            return forbidden(format!("only managers of {name} and administrators may do this"));
        }
        match wish {
            ProjectChange::Make { .. } | ProjectChange::Note { .. } => Ok(()),
            ProjectChange::Limit { limits, .. } if !limits.make_sense() => {
                let hint = "leave a limit out to lift it";
                Err(Refusal::new(RefusalKind::Invalid, "a limit is below 0", hint))
            }
            ProjectChange::Limit { user: None, .. } if !is_administrator => {
                forbidden("only an administrator limits a whole project".into())
            }
            ProjectChange::Limit { user: None, .. } => Ok(()),
            ProjectChange::Join { user, role } => {
                let before = project.members.get(user).map(|member| member.role);
                let of_managers =
                    *role == MemberRole::Manager || before == Some(MemberRole::Manager);
                match of_managers && before != Some(*role) && !is_administrator {
                    true => forbidden("only an administrator says who manages a project".into()),
                    false => good_name(user),
                }
            }
            ProjectChange::Limit { user: Some(user), .. } | ProjectChange::Leave { user } => {
                if !project.has(user) {
                    let hint = format!("see `tradewind project show {name}`");
                    return Err(Refusal::new(RefusalKind::Unknown, no_member(user, name), hint));
                }
                let is_other = project.is_managed_by(user) && *user != actor.user;
                match is_other && !is_administrator {
                    true => forbidden(format!("{user} manages {name} as well")),
                    false => Ok(()),
                }
            }
        }
    }

    /// Waiting jobs of users who may not spend the project's money leave the queue. What runs goes
    /// on to its end: its money was set aside before. Linear in the jobs.
    pub(in crate::live) fn turn_away(&mut self, at: Time, name: &str) -> Result<(), ApplyError> {
        let jobs = self.state.jobs.values();
        let own = jobs.filter(|job| job.paying_project() == Some(name));
        let waiting = own.filter(|job| job.phase() == Phase::Waiting);
        let barred = |job: &Job| Some((job.number, self.state.barred(job)?));
        let barred: Vec<(u64, String)> = waiting.filter_map(barred).collect();
        for (number, why) in barred {
            self.shelve(at, number, JobHold::Rejected(why))?;
        }
        Ok(())
    }

    /// Jobs that were held since their user was no member try again.
    pub(in crate::live) fn let_back(
        &mut self,
        at: Time,
        name: &str,
        user: &str,
    ) -> Result<(), ApplyError> {
        let hold = JobHold::Rejected(no_member(user, name));
        let held = Phase::Held(&hold);
        let jobs = self.state.jobs.values();
        let own = jobs.filter(|it| it.paying_project() == Some(name) && it.user == user);
        let back: Vec<u64> = own.filter(|it| it.phase() == held).map(|it| it.number).collect();
        for number in back {
            self.enqueue(at, number)?;
        }
        Ok(())
    }
}

impl SpendingLimits {
    fn make_sense(&self) -> bool {
        [self.total, self.month].into_iter().flatten().all(|it| it >= Money::ZERO)
    }
}
