//! Which jobs are meant, and their rows.

use tradewind_web::documents::{Job, JobList};

use super::job_name::JobName;
use super::selected::SelectedJob;
use crate::client::{Market, encode};
use crate::exit::{Exit, Failure};

/// Stands for states that jobs of the market are never in.
pub(super) const NO_STATE: &str = "NONE";

/// What is asked of a list of jobs; the market filters by the first three.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// In these states of the API; empty: in all.
    pub(super) states: Vec<String>,
    /// Of these users; empty: of all that the caller may see.
    pub(super) users: Vec<String>,
    /// With these names; empty: with any.
    pub(super) names: Vec<String>,
    /// In these partitions, `POOL` or `SITE/POOL`.
    pub(super) partitions: Vec<String>,
    /// Of these accounts, which are projects.
    pub(super) accounts: Vec<String>,
    /// On these clusters, which are sites; empty or `all`: on any.
    pub(super) clusters: Vec<String>,
}

impl Wanted {
    /// The jobs, by number. Of named ones those that the caller may see; the others are left out.
    ///
    /// # Errors
    /// If the market does not answer.
    pub(super) fn rows(
        &self,
        market: &Market,
        named: &[JobName],
    ) -> Result<Vec<SelectedJob>, Failure> {
        if self.states.iter().any(|it| it == NO_STATE) {
            return Ok(Vec::new());
        }
        let jobs = match named.is_empty() {
            true => self.all(market)?,
            false => found(market, named)?,
        };
        let mut rows: Vec<SelectedJob> =
            jobs.into_iter().map(SelectedJob::new).filter(|row| self.takes(row)).collect();
        rows.sort_by_key(|row| row.job.id);
        rows.dedup_by_key(|row| row.job.id);
        Ok(rows)
    }

    fn all(&self, market: &Market) -> Result<Vec<Job>, Failure> {
        let only = |list: &[String]| match list {
            [one] => Some(encode(one)),
            _ => None,
        };
        let mut path = "/v1/jobs?detail=true".to_owned();
        if !self.states.is_empty() {
            path.push_str(&format!("&state={}", self.states.join(",")));
        }
        for (key, value) in [("user", only(&self.users)), ("name", only(&self.names))] {
            if let Some(value) = value {
                path.push_str(&format!("&{key}={value}"));
            }
        }
        let JobList { jobs, .. } = market.pages(&path, "jobs")?.read()?;
        Ok(jobs)
    }

    pub(super) fn takes(&self, row: &SelectedJob) -> bool {
        let within =
            |list: &[String], it: &str| list.is_empty() || list.iter().any(|one| one == it);
        within(&self.states, &row.job.state)
            && within(&self.users, &row.job.user)
            && within(&self.names, &row.job.name)
            && within(&self.accounts, row.account())
            && (self.partitions.is_empty() || self.partitions.iter().any(|it| row.is_in(it)))
            && (self.clusters.is_empty()
                || self.clusters.iter().any(|it| it == "all" || row.job.sites.contains(it)))
    }
}

/// The jobs of these names, once each.
fn found(market: &Market, named: &[JobName]) -> Result<Vec<Job>, Failure> {
    let mut all = Vec::new();
    for name in named {
        all.extend(jobs_of(market, name)?);
    }
    Ok(all)
}

/// The jobs that one name stands for: of the first of an array, all of it. Empty if the caller has no such job.
pub(super) fn jobs_of(market: &Market, name: &JobName) -> Result<Vec<Job>, Failure> {
    let path = format!("/v1/jobs?detail=true&array={}", name.number);
    let JobList { jobs: array, .. } = market.pages(&path, "jobs")?.read()?;
    if !array.is_empty() {
        let is_meant = |job: &Job| {
            let index = job.array.map(|it| it.index);
            name.indices.is_empty() || index.is_some_and(|it| name.indices.contains(&it))
        };
        return Ok(array.into_iter().filter(is_meant).collect());
    }
    if !name.indices.is_empty() {
        return Ok(Vec::new());
    }
    match market.get(&format!("/v1/jobs/{}", name.number)) {
        Ok(sent) => Ok(vec![sent.read()?]),
        Err(failure) if failure.exit == Exit::Negative => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}
