//! Which jobs are meant, and their rows.

use serde_json::Value;
use tradewind_web::documents::{Job, JobList};

use super::{hostlist, refused};
use crate::client::{Market, encode};
use crate::exit::{Exit, Failure};

/// A job as a user names it: `12`, `12_3`, `12_[1-3,7]`, `12.batch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobName {
    /// Number of the job, or of the array's first.
    pub(super) number: u64,
    /// Indices in the array; empty: the whole job.
    pub(super) indices: Vec<u32>,
    /// The step that is meant.
    pub(super) step: Option<String>,
}

impl JobName {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn read(text: &str) -> Result<JobName, Failure> {
        let wrong = || refused(format!("Invalid job id specified: {text}"));
        let (name, step) = match text.split_once('.') {
            Some((name, step)) => (name, Some(step.to_owned())),
            None => (text, None),
        };
        let (number, indices) = match name.split_once('_') {
            Some((number, indices)) => (number, Some(indices)),
            None => (name, None),
        };
        let number = number.parse().map_err(|_| wrong())?;
        let indices = match indices {
            Some(text) => self::indices(text).ok_or_else(wrong)?,
            None => Vec::new(),
        };
        Ok(JobName { number, indices, step })
    }

    /// All of a list; brackets keep their commas.
    ///
    /// # Errors
    /// The first that is none.
    pub(super) fn list(given: &[String]) -> Result<Vec<JobName>, Failure> {
        let mut all = Vec::new();
        for text in given {
            let mut inside = false;
            let parts = text.split(|letter| {
                match letter {
                    '[' => inside = true,
                    ']' => inside = false,
                    _ => {}
                }
                letter == ',' && !inside
            });
            for part in parts.map(str::trim).filter(|it| !it.is_empty()) {
                all.push(JobName::read(part)?);
            }
        }
        Ok(all)
    }
}

/// `3`, `[1-3,7]`, `[0-9%2]`.
fn indices(text: &str) -> Option<Vec<u32>> {
    const MOST: usize = 10_000;
    let inside = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    let ranges = inside.split('%').next()?;
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if to.checked_sub(from)? as usize >= MOST {
            return None;
        }
        all.extend(from..=to);
    }
    (all.len() <= MOST).then_some(all)
}

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

/// A job, and what was submitted.
#[derive(Debug, Clone)]
pub(super) struct SelectedJob {
    pub(super) job: Job,
    pub(super) asked: Value,
    /// Indices of the jobs of its array that wait and that it stands for in a list.
    pub(super) folded: Vec<u32>,
    /// The step of the job that is shown; `None`: the job.
    pub(super) step: Option<&'static str>,
}

impl SelectedJob {
    pub(super) fn new(mut job: Job) -> SelectedJob {
        let asked = job.submission.take().unwrap_or_default();
        SelectedJob { job, asked, folded: Vec::new(), step: None }
    }

    /// The project that pays; empty: the user pays.
    pub(super) fn account(&self) -> &str {
        self.job.project.as_deref().unwrap_or_default()
    }

    /// `12`, or of an array `12_3`, or of several of it `12_[3-5]`.
    pub(super) fn id(&self) -> String {
        match self.job.array {
            Some(it) if !self.folded.is_empty() => {
                format!("{}_[{}]", it.first, hostlist::ranges(&self.folded))
            }
            Some(it) => format!("{}_{}", it.first, it.index),
            None => self.job.id.to_string(),
        }
    }

    /// Where it runs or ran, as pools; before, where it may run, if that was asked for.
    pub(super) fn partition(&self) -> String {
        let mut pools: Vec<&str> = self.job.parts.iter().map(|it| own_name(&it.pool)).collect();
        if pools.is_empty() {
            pools = self.asked["partitions"]
                .as_array()
                .map(|all| all.iter().filter_map(Value::as_str).map(own_name).collect())
                .unwrap_or_default();
        }
        pools.dedup();
        match pools.is_empty() {
            true => "(any)".to_owned(),
            false => pools.join(","),
        }
    }

    /// Whether `partition` is one of its pools, by its own name or with its site.
    fn is_in(&self, partition: &str) -> bool {
        let of_parts = self.job.parts.iter().map(|it| it.pool.as_str());
        let asked = self.asked["partitions"].as_array();
        let asked = asked.into_iter().flatten().filter_map(Value::as_str);
        of_parts.chain(asked).any(|pool| pool == partition || own_name(pool) == partition)
    }

    /// Its nodes by the sites' names.
    pub(super) fn nodes(&self) -> Vec<String> {
        self.job.parts.iter().flat_map(|it| it.node_names.iter().cloned()).collect()
    }
}

/// The pool without its site.
pub(super) fn own_name(pool: &str) -> &str {
    pool.split_once('/').map_or(pool, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_named_as_slurm_names_them() {
        let name = |number, indices: &[u32], step: Option<&str>| JobName {
            number,
            indices: indices.to_vec(),
            step: step.map(str::to_owned),
        };
        let given = ["12,13_4".to_owned(), "14_[1-3,7%2],15.batch".to_owned()];
        assert_eq!(
            JobName::list(&given).unwrap(),
            [
                name(12, &[], None),
                name(13, &[4], None),
                name(14, &[1, 2, 3, 7], None),
                name(15, &[], Some("batch")),
            ]
        );
        for bad in ["x", "1_x", "1_[2-1]", "1_[0-4000000000]", "-1"] {
            assert!(JobName::read(bad).is_err(), "{bad}");
        }
    }
}
