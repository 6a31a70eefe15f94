//! The limits of a cluster, read now and then by `scontrol` and `sacctmgr`, and what jobs meet of
//! them between two looks.
//!
//! What cannot be read is not known, and is learned when jobs meet it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::Members;
use tradewind_model::Span;

use super::listing::Job;
use super::{Slurm, caps, tasks};
use crate::site::limits::{Cap, Limit, Limits, PoolLimits, UserLimits};
use crate::site::managed::tool::Call;
use crate::site::{Finding, Survey, Tag, Verdict};

/// Limits are read so often.
const READ: Duration = Duration::from_secs(3_600);
/// What `sbatch` has said of a task is told for so long.
const TOLD: Duration = Duration::from_secs(600);
/// A job that waits for a limit may wait so long before that counts: Slurm's own scheduler may
/// just not have come by.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is known of a cluster's limits.
#[derive(Debug, Default)]
pub(super) struct Known {
    read: Option<(Instant, Arc<Limits>)>,
    /// What could not be read, for people.
    pub unread: Vec<String>,
    /// What `sbatch` has said.
    caught: BTreeMap<Tag, (Instant, Cap)>,
    /// Jobs that wait for a limit: since when.
    waits: BTreeMap<Tag, (Instant, Cap)>,
    /// By account: our jobs that were over when jobs were last listed, and listed all the same.
    lingering: BTreeMap<String, u32>,
    /// Accounts of our jobs that have ended since, by their own word: Slurm may count them still.
    fading: Vec<(Instant, String)>,
}

/// Slurm has counted a job out so long after its script has ended.
pub(super) const FADES: Duration = Duration::from_secs(2);

impl Known {
    /// `sbatch` has not taken the task.
    pub(super) fn catch(&mut self, tag: &Tag, cap: Cap) {
        self.caught.insert(tag.clone(), (Instant::now(), cap));
    }

    /// A job of the account has ended by its own word.
    pub(super) fn fade(&mut self, account: String) {
        let has_limits = self.read.as_ref().is_some_and(|(_, limits)| limits.users.is_some());
        if has_limits {
            self.fading.push((Instant::now(), account));
        }
    }

    /// When the next of them is counted no more.
    pub(super) fn faded(&self) -> Option<Instant> {
        self.fading.iter().map(|(at, _)| *at + FADES).min()
    }

    /// Forgets those that Slurm counts no more; whether there were any.
    pub(super) fn forget_faded(&mut self) -> bool {
        let before = self.fading.len();
        self.fading.retain(|(at, _)| at.elapsed() < FADES);
        self.fading.len() < before
    }

    /// By account: our jobs that are over, and that Slurm may count still.
    pub(super) fn lingering(&self) -> BTreeMap<String, u32> {
        let mut all = self.lingering.clone();
        for (_, account) in &self.fading {
            *all.entry(account.clone()).or_default() += 1;
        }
        all
    }
}

impl Slurm {
    /// Tells which limits there are, which of them tasks have met, and how many jobs accounts have
    /// that are not ours.
    pub(super) fn tell_limits(&mut self, jobs: &[Job], survey: &mut Survey) {
        survey.limits = Some(self.limits());
        let marked = tasks::by_comment(jobs);
        let is_open = |job: &&Job| job.waits() || job.holds_nodes();
        let mut foreign: BTreeMap<String, u32> = BTreeMap::new();
        for job in jobs.iter().filter(is_open) {
            *foreign.entry(job.user.clone()).or_default() += 1;
        }
        survey.all_jobs = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let mut waits = BTreeMap::new();
        for (tag, ticket) in self.tickets.iter() {
            let own = marked.get(ticket.mark().as_str()).into_iter().flatten();
            for job in own.copied().filter(|job| tasks::is_its(job, ticket)).filter(is_open) {
                if let Some(count) = foreign.get_mut(&job.user) {
                    *count = count.saturating_sub(1);
                }
                if ticket.ended.is_some() {
                    *survey.lingering.entry(job.user.clone()).or_default() += 1;
                }
                let cap = Some(job).filter(|job| job.waits() && ticket.ended.is_none());
                let Some(cap) = cap.and_then(|job| caps::of_reason(&job.reason)) else { continue };
                let since = self.caps.waits.get(tag).map_or_else(Instant::now, |(since, _)| *since);
                if since.elapsed() >= PATIENCE {
                    survey.capped.insert(tag.clone(), cap.clone());
                }
                waits.insert(tag.clone(), (since, cap));
            }
        }
        self.caps.waits = waits;
        self.caps.lingering = survey.lingering.clone();
        self.caps.fading.clear();
        self.caps.caught.retain(|_, (at, _)| at.elapsed() < TOLD);
        let caught = self.caps.caught.iter().map(|(tag, (_, cap))| (tag.clone(), cap.clone()));
        survey.capped.extend(caught);
        survey.foreign = foreign;
    }

    fn limits(&mut self) -> Arc<Limits> {
        if let Some((at, known)) = &self.caps.read
            && at.elapsed() < READ
        {
            return Arc::clone(known);
        }
        let before = self.caps.unread.clone();
        let limits = Arc::new(self.read_limits());
        if self.caps.unread != before {
            for what in &self.caps.unread {
                let site = &self.name;
                tracing::warn!(site, "limits that cannot be read will be learned: {what}");
            }
        }
        self.caps.read = Some((Instant::now(), Arc::clone(&limits)));
        limits
    }

    /// Asks for all limits: four commands at most, two of them of the controller.
    pub(super) fn read_limits(&mut self) -> Limits {
        self.caps.unread.clear();
        let only = self.cluster.user_command.is_empty().then(|| self.own_account().ok()).flatten();
        let mut limits = Limits {
            accounts: Some(self.cluster.accounts.clone()),
            only,
            options: self.cluster.options.clone(),
            ..Limits::default()
        };
        let config = self.read(&["scontrol", "show", "config"]).map(|text| config(&text));
        let config = config.unwrap_or_default();
        let get = |key: &str| config.get(key).map_or("", String::as_str);
        limits.all_jobs = get("MaxJobCount").parse().ok();
        let enforced: Vec<&str> = get("AccountingStorageEnforce").split(',').collect();
        let is_enforced = |what: &[&str]| what.iter().any(|it| enforced.contains(it));
        if is_enforced(&["associations", "limits", "safe", "all"]) {
            let cluster = format!("cluster={}", get("ClusterName"));
            let has_limits = is_enforced(&["limits", "safe", "all"]);
            limits.users = self.associations(&cluster, get("SlurmUser"), has_limits);
            if has_limits {
                let words = ["sacctmgr", "-nP", "show", "qos", QOS];
                limits.qos = self.read(&words).map(|text| qos(&text)).unwrap_or_default();
            }
        }
        let partitions = self.read(&["scontrol", "-o", "show", "partition"]);
        let partitions = partitions.map(|text| partitions_of(&text)).unwrap_or_default();
        let of = |members: &Members| {
            let found = members.partition.as_ref().and_then(|name| partitions.get(name));
            found.cloned().unwrap_or_default()
        };
        limits.pools = self.members.iter().map(of).collect();
        limits
    }

    /// What limits of the cluster are known beforehand.
    pub(super) fn limits_are_known(&mut self) -> Finding {
        let limits = self.read_limits();
        let mut found = Vec::new();
        for (pool, own) in self.pools.iter().zip(&limits.pools) {
            let wall = own.wall.as_ref().map(|(max, _)| format!("{} s", max.0));
            let nodes = own.nodes.as_ref().map(|(max, _)| format!("{max} nodes"));
            let own: Vec<String> = wall.into_iter().chain(nodes).collect();
            if !own.is_empty() {
                found.push(format!("a job in {} may have {}", pool.name, own.join(" and ")));
            }
        }
        if let Some(users) = &limits.users {
            found.push(format!("{} users have accounts in slurmdbd", users.len()));
        }
        found.extend(limits.all_jobs.map(|max| format!("the controller holds {max} jobs")));
        let unread = std::mem::take(&mut self.caps.unread);
        let (verdict, found) = match unread.is_empty() {
            true => (Verdict::Good, found.join("; ")),
            false => (Verdict::Warning, unread.join("; ")),
        };
        let remedy = "limits are learned when jobs meet them, each after some refusals; to have \
                      them read, let the account that runs our commands use `sacctmgr show assoc` \
                      and `scontrol show partition`";
        Finding {
            what: "limits of the cluster can be read".to_owned(),
            verdict,
            found,
            remedy: if verdict == Verdict::Good { String::new() } else { remedy.to_owned() },
        }
    }

    /// What a command says; it is noted if it says nothing.
    fn read(&mut self, words: &[&str]) -> Option<String> {
        match self.tool.must(&Call::ours(words)) {
            Ok(answer) => Some(answer.text()),
            Err(wrong) => {
                self.caps.unread.push(wrong.to_string());
                None
            }
        }
    }

    /// All associations, unless we may see our own only.
    fn associations(
        &mut self,
        cluster: &str,
        slurm_user: &str,
        has_limits: bool,
    ) -> Option<BTreeMap<String, BTreeMap<String, UserLimits>>> {
        let words = ["sacctmgr", "-nP", "show", "assoc", cluster, ASSOC];
        let mut users = associations(&self.read(&words)?);
        let own = self.own_account().unwrap_or_default();
        let sees_all = own == "root" || slurm_user.split('(').next() == Some(own.as_str());
        if !sees_all && users.keys().all(|name| *name == own || name == "root") {
            self.caps.unread.push("`sacctmgr show assoc` shows our own account only".to_owned());
            return None;
        }
        if !has_limits {
            let all = users.values_mut().flat_map(BTreeMap::values_mut);
            all.for_each(|it| {
                *it = UserLimits { qos: std::mem::take(&mut it.qos), ..UserLimits::default() }
            });
        }
        Some(users)
    }
}

const ASSOC: &str =
    "format=User,Account,Partition,MaxJobs,MaxSubmitJobs,MaxWall,MaxTRES,QOS,DefaultQOS";
const QOS: &str = "format=Name,MaxJobsPU,MaxSubmitJobsPU,MaxWall,MaxTRES";

/// `text` as each of the answers that limits are read from.
#[cfg(feature = "fuzzing")]
pub(super) fn read_all(text: &str) {
    let _ = (config(text), associations(text), qos(text), partitions_of(text));
}

/// `scontrol show config` by key.
fn config(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// By user and account; of a user's partitions the widest limits. What inherits a limit of its
/// account is listed with it.
fn associations(text: &str) -> BTreeMap<String, BTreeMap<String, UserLimits>> {
    let mut all: BTreeMap<String, BTreeMap<String, UserLimits>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [user, account, _, jobs, submit, wall, tres, names, default] = fields.as_slice() else {
            continue;
        };
        if user.is_empty() {
            continue;
        }
        let only = if names.contains(',') { "" } else { names };
        let limits = UserLimits {
            jobs: fewer((jobs, "AssocMaxJobsLimit"), (submit, "AssocMaxSubmitJobLimit")),
            wall: span(wall).map(|span| (span, "AssocMaxWallDurationPerJobLimit".to_owned())),
            nodes: nodes(tres).map(|nodes| (nodes, "AssocMaxNodePerJobLimit".to_owned())),
            qos: if default.is_empty() { only } else { default }.to_owned(),
        };
        let own = all.entry((*user).to_owned()).or_default();
        let known = own.get(*account).map_or_else(|| limits.clone(), |known| known.wider(&limits));
        own.insert((*account).to_owned(), known);
    }
    all
}

fn qos(text: &str) -> BTreeMap<String, UserLimits> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('|').collect();
        let [name, jobs, submit, wall, tres] = fields.as_slice() else { return None };
        let limits = UserLimits {
            jobs: fewer((jobs, "QOSMaxJobsPerUserLimit"), (submit, "QOSMaxSubmitJobPerUserLimit")),
            wall: span(wall).map(|span| (span, "QOSMaxWallDurationPerJobLimit".to_owned())),
            nodes: nodes(tres).map(|nodes| (nodes, "QOSMaxNodePerJobLimit".to_owned())),
            qos: String::new(),
        };
        Some(((*name).to_owned(), limits))
    };
    text.lines().filter_map(row).collect()
}

fn partitions_of(text: &str) -> BTreeMap<String, PoolLimits> {
    let row = |line: &str| {
        let fields = line.split_whitespace().filter_map(|field| field.split_once('='));
        let fields: BTreeMap<&str, &str> = fields.collect();
        let get = |name: &str| fields.get(name).copied().unwrap_or_default();
        let list = |name: &str| match get(name) {
            "" | "ALL" | "(null)" => None,
            names => Some(names.split(',').map(str::to_owned).collect()),
        };
        let limits = PoolLimits {
            wall: span(get("MaxTime")).map(|span| (span, "PartitionTimeLimit".to_owned())),
            nodes: get("MaxNodes").parse().ok().map(|it| (it, "PartitionNodeLimit".to_owned())),
            projects: list("AllowAccounts"),
            qos: list("AllowQos"),
        };
        Some((fields.get("PartitionName")?.to_string(), limits))
    };
    text.lines().filter_map(row).collect()
}

/// The lower of two counts, with its word.
fn fewer(one: (&str, &str), other: (&str, &str)) -> Limit<u32> {
    let read = |(text, word): (&str, &str)| Some((text.parse().ok()?, word.to_owned()));
    [read(one), read(other)].into_iter().flatten().min()
}

/// `01:40:00`, `2-00:00:00`, `30:00`, `5`, as Slurm writes spans: minutes, if there is one number.
fn span(text: &str) -> Option<Span> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<i64>().ok()?, rest),
        None => (0, text),
    };
    let parts: Vec<i64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let seconds = match (parts.as_slice(), days > 0) {
        ([hours, minutes, seconds], _) => hours * 3_600 + minutes * 60 + seconds,
        ([hours, minutes], true) => hours * 3_600 + minutes * 60,
        ([minutes, seconds], false) => minutes * 60 + seconds,
        ([hours], true) => hours * 3_600,
        ([minutes], false) => minutes * 60,
        _ => return None,
    };
    (seconds >= 0 && days >= 0).then(|| Span(days.saturating_mul(86_400).saturating_add(seconds)))
}

/// The nodes of `cpu=8,node=2`.
fn nodes(tres: &str) -> Option<u32> {
    tres.split(',').find_map(|one| one.strip_prefix("node=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associations_are_read() {
        let text = "|climate||7||01:40:00||normal|\nana|climate||7|4|01:40:00|cpu=8,node=2|normal|\n\
                    ana|ocean|||||||normal,tight|\nbo|climate|short||3|||normal,tight|tight\n\
                    bo|climate|main||9|||normal,tight|tight\nodd line\n";
        let all = associations(&text.replace("ana|ocean|||||||", "ana|ocean||||||"));
        assert_eq!(all.keys().collect::<Vec<_>>(), ["ana", "bo"]);
        let ana = &all["ana"]["climate"];
        assert_eq!(ana.jobs, Some((4, "AssocMaxSubmitJobLimit".to_owned())));
        assert_eq!(ana.wall.as_ref().map(|(span, _)| span.0), Some(6_000));
        assert_eq!(ana.nodes.as_ref().map(|(nodes, _)| *nodes), Some(2));
        assert_eq!((ana.qos.as_str(), all["ana"]["ocean"].qos.as_str()), ("normal", ""));
        let bo = &all["bo"]["climate"];
        assert_eq!((bo.jobs.as_ref().map(|it| it.0), bo.qos.as_str()), (Some(9), "tight"));
    }

    #[test]
    fn qos_and_partitions_are_read() {
        let all = qos("normal||||\ntight|1|3|00:02:00|node=2\n");
        assert_eq!(all["normal"], UserLimits::default());
        assert_eq!(all["tight"].jobs, Some((1, "QOSMaxJobsPerUserLimit".to_owned())));
        assert_eq!(all["tight"].wall.as_ref().map(|(span, _)| span.0), Some(120));
        let text = "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL MaxNodes=UNLIMITED \
                    MaxTime=UNLIMITED\nPartitionName=short AllowAccounts=a,b AllowQos=ALL MaxNodes=2 \
                    MaxTime=1-00:05:00\n";
        let all = partitions_of(text);
        assert_eq!(all["main"], PoolLimits::default());
        let short = &all["short"];
        assert_eq!(short.wall.as_ref().map(|(span, _)| span.0), Some(86_700));
        assert_eq!(short.nodes.as_ref().map(|(nodes, _)| *nodes), Some(2));
        assert_eq!(short.projects, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn spans_are_read_as_slurm_writes_them() {
        let read = |text: &str| span(text).map(|span| span.0);
        for (text, seconds) in [("5", 300), ("30:00", 1_800), ("01:40:00", 6_000), ("2-0", 172_800)]
        {
            assert_eq!(read(text), Some(seconds), "{text}");
        }
        assert_eq!(read("2-01:00"), Some(176_400));
        for text in ["", "UNLIMITED", "INFINITE", "x", "1:2:3:4", "-5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
