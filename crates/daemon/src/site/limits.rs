//! What a manager allows: limits of its partitions and of its users, and which of them a job met.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::Accounts;
use tradewind_model::Span;

use super::managed::accounts::account_of;
use super::queued::QueueRule;
use super::{SiteError, Survey, Tag};

/// Why a manager does not run a job that is well in itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    /// How long it holds.
    pub holds: Holds,
    /// The manager's word for it, such as `AssocMaxSubmitJobLimit`.
    pub word: String,
}

/// Surveys name for so long what was said to a submission.
const TOLD: Duration = Duration::from_secs(600);

/// Limits that submissions met: surveys tell of them for a while.
#[derive(Debug, Default)]
pub(super) struct CaughtCaps(BTreeMap<Tag, (Instant, Cap)>);

impl CaughtCaps {
    /// The task was not taken.
    pub(super) fn catch(&mut self, tag: &Tag, cap: Cap) {
        self.0.insert(tag.clone(), (Instant::now(), cap));
    }

    /// The task is not taken for what its job asks for, or for whose it is; why, for people.
    pub(super) fn refuse(&mut self, tag: &Tag, holds: Holds, why: String) -> SiteError {
        self.catch(tag, Cap { holds, word: why.clone() });
        SiteError::Capped(why)
    }

    /// Adds them to a survey.
    pub(super) fn tell(&mut self, survey: &mut Survey) {
        self.0.retain(|_, (at, _)| at.elapsed() < TOLD);
        survey.capped.extend(self.0.iter().map(|(tag, (_, cap))| (tag.clone(), cap.clone())));
    }
}

/// How long a cap holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Until other jobs of the user or of the user's group have ended.
    ForNow,
    /// As long as the job asks for what it asks for.
    ForThisJob,
    /// As long as the user may not use the pool with this account.
    ForThisUser,
}

/// A limit, and the manager's word for it.
pub type Limit<T> = Option<(T, String)>;

/// What a site allows, as far as its manager could be asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// By pool, in the order of the setup.
    pub pools: Vec<PoolLimits>,
    /// Which account runs whose jobs; `None`: not known.
    pub accounts: Option<Accounts>,
    /// The only account that can run jobs, if there is only one.
    pub only: Option<String>,
    /// By account and by the project that it is charged to at the manager: what it may. `None`:
    /// not known, or there are no limits.
    pub users: Option<BTreeMap<String, BTreeMap<String, UserLimits>>>,
    /// By QOS: what it allows.
    pub qos: BTreeMap<String, UserLimits>,
    /// Jobs that the manager can hold, of all users.
    pub all_jobs: Option<u32>,
    /// Options that all jobs have: name and value.
    pub options: Vec<(String, String)>,
    /// How its scheduler goes through its queue; `None`: not known.
    pub queue: Option<QueueRule>,
}

/// What a job may ask for in a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolLimits {
    /// How long it may run.
    pub wall: Limit<Span>,
    /// Limit on the number of nodes.
    pub nodes: Limit<u32>,
    /// The projects at the manager that may use it; `None`: all.
    pub projects: Option<Vec<String>>,
    /// The QOS that may use it; `None`: all.
    pub qos: Option<Vec<String>>,
}

/// What one account may have there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserLimits {
    /// Jobs at one time, running and waiting.
    pub jobs: Limit<u32>,
    /// How long one of them may run.
    pub wall: Limit<Span>,
    /// Limit on the number of nodes.
    pub nodes: Limit<u32>,
    /// The QOS of jobs that name none; empty: not known.
    pub qos: String,
}

impl UserLimits {
    /// These, and those of `other` where these say nothing.
    #[must_use]
    pub fn or(&self, other: &UserLimits) -> UserLimits {
        UserLimits {
            jobs: self.jobs.clone().or_else(|| other.jobs.clone()),
            wall: self.wall.clone().or_else(|| other.wall.clone()),
            nodes: self.nodes.clone().or_else(|| other.nodes.clone()),
            qos: self.qos.clone(),
        }
    }

    /// The wider of each: which of the two holds is not known.
    #[must_use]
    pub fn wider(&self, other: &UserLimits) -> UserLimits {
        fn wider<T: Ord + Clone>(one: &Limit<T>, other: &Limit<T>) -> Limit<T> {
            one.as_ref().zip(other.as_ref()).map(|(one, other)| one.max(other).clone())
        }
        let same = self.qos == other.qos;
        UserLimits {
            jobs: wider(&self.jobs, &other.jobs),
            wall: wider(&self.wall, &other.wall),
            nodes: wider(&self.nodes, &other.nodes),
            qos: if same { self.qos.clone() } else { String::new() },
        }
    }
}

/// What of a job's options managers count by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charged {
    /// The project at the manager (`--account`), if it is named.
    pub project: Option<String>,
    /// The QOS, if it is named.
    pub qos: Option<String>,
}

impl Charged {
    /// By the site's options and the job's own, which come last.
    pub fn of(site: &[(String, String)], own: &[(String, String)]) -> Charged {
        let last = |wanted: &str| {
            let all = site.iter().chain(own).filter(|(name, _)| name == wanted);
            all.map(|(_, value)| value.clone()).next_back()
        };
        Charged { project: last("account"), qos: last("qos") }
    }
}

impl Limits {
    /// The account at `site` that runs jobs of `user`.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub fn account<'a>(&'a self, site: &str, user: &'a str) -> Result<&'a str, String> {
        let account = match &self.accounts {
            Some(accounts) => account_of(accounts, site, user)?,
            None => user,
        };
        match &self.only {
            Some(only) if only != account => {
                Err(format!("jobs run as {only:?} there, and {user:?} has the account {account:?}"))
            }
            _ => Ok(account),
        }
    }

    /// What jobs that are charged in this way may; `account` runs them.
    ///
    /// # Errors
    /// That the manager does not know the account, or not with this project.
    pub fn of(&self, account: &str, charged: &Charged) -> Result<UserLimits, String> {
        let named = charged.qos.as_ref().and_then(|name| self.qos.get(name));
        let Some(users) = &self.users else {
            return Ok(named.cloned().unwrap_or_default());
        };
        let Some(own) = users.get(account) else {
            return Err(format!("{account:?} has no account at the manager"));
        };
        let found = match &charged.project {
            None => own.values().cloned().reduce(|one, other| one.wider(&other)),
            Some(project) => own.get(project).cloned(),
        };
        let Some(found) = found else {
            let project = charged.project.as_deref().unwrap_or_default();
            return Err(format!("{account:?} may not use the account {project:?} there"));
        };
        let qos = named.or_else(|| self.qos.get(&found.qos));
        Ok(qos.map_or_else(|| found.clone(), |qos| qos.or(&found)))
    }

    /// Why the pool is closed to jobs that are charged in this way, if it is.
    pub fn shut(&self, pool: &PoolLimits, account: &str, charged: &Charged) -> Option<String> {
        let is_in = |all: &Vec<String>, one: &String| all.contains(one);
        let qos = charged.qos.as_ref().zip(pool.qos.as_ref());
        if let Some((name, _)) = qos.filter(|(name, all)| !is_in(all, name)) {
            return Some(format!("jobs of the QOS {name:?} may not use it"));
        }
        let allowed = pool.projects.as_ref()?;
        let own = self.users.as_ref().and_then(|users| users.get(account));
        let is_allowed = match (&charged.project, own) {
            (Some(project), _) => is_in(allowed, project),
            (None, Some(own)) => own.keys().any(|project| is_in(allowed, project)),
            (None, None) => true,
        };
        (!is_allowed).then(|| format!("only the accounts {} may use it", allowed.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(jobs: u32, qos: &str) -> UserLimits {
        UserLimits {
            jobs: Some((jobs, "A".to_owned())),
            qos: qos.to_owned(),
            ..UserLimits::default()
        }
    }

    fn sample() -> Limits {
        let own = [("climate", limits(2, "normal")), ("ocean", limits(5, "normal"))];
        let own = own.map(|(name, it)| (name.to_owned(), it)).into();
        Limits {
            users: Some([("ana".to_owned(), own)].into()),
            qos: [("tight".to_owned(), limits(1, ""))].into(),
            ..Limits::default()
        }
    }

    #[test]
    fn the_limits_of_a_job_follow_from_its_account_and_qos() {
        let limits = sample();
        let jobs = |project: Option<&str>, qos: Option<&str>| {
            let charged =
                Charged { project: project.map(str::to_owned), qos: qos.map(str::to_owned) };
            limits.of("ana", &charged).map(|it| it.jobs.map(|(jobs, _)| jobs))
        };
        assert_eq!(jobs(Some("climate"), None), Ok(Some(2)));
        assert_eq!(jobs(None, None), Ok(Some(5)), "which account is the default is not known");
        assert_eq!(jobs(Some("climate"), Some("tight")), Ok(Some(1)));
        assert!(jobs(Some("other"), None).unwrap_err().contains("\"other\""));
        assert!(limits.of("bo", &Charged::default()).is_err());
        assert_eq!(Limits::default().of("bo", &Charged::default()), Ok(UserLimits::default()));
    }

    #[test]
    fn a_partition_may_be_for_some_accounts_only() {
        let limits = sample();
        let pool = PoolLimits { projects: Some(vec!["ocean".to_owned()]), ..PoolLimits::default() };
        let shut = |project: Option<&str>| {
            let charged = Charged { project: project.map(str::to_owned), qos: None };
            limits.shut(&pool, "ana", &charged)
        };
        assert_eq!((shut(None), shut(Some("ocean"))), (None, None));
        assert!(shut(Some("climate")).unwrap().contains("ocean"));
    }
}
