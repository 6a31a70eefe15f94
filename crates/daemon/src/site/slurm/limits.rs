//! The limits of a cluster, read now and then by `scontrol` and `sacctmgr`.
//!
//! What cannot be read is not known, and is learned when jobs meet it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::Members;
use tradewind_model::Span;

use super::Controller;
use crate::site::limits::{Limit, Limits, PoolLimits, UserLimits};
use crate::site::managed::driver::Base;
use crate::site::managed::tool::Call;
use crate::site::queued::QueueRule;
use crate::site::{Finding, Verdict};

/// Limits are read so often.
const READ: Duration = Duration::from_secs(3_600);
/// What is known of a cluster's limits.
#[derive(Debug, Default)]
pub(super) struct KnownLimits {
    read: Option<(Instant, Arc<Limits>)>,
    /// What could not be read, for people.
    pub unread: Vec<String>,
    /// By partition: those with more come first in the queue.
    pub tiers: BTreeMap<String, u32>,
    /// Whether plain users see their own jobs only.
    pub hides_jobs: bool,
    /// How long jobs that are over are listed; `None`: for ever, or not read yet.
    pub listed_for: Option<Span>,
    /// Whether there is an accounting that knows jobs that are not listed any more.
    pub has_accounting: bool,
}

impl Controller {
    pub(super) fn limits_now(&mut self, base: &Base) -> Arc<Limits> {
        if let Some((at, known)) = &self.limits.read
            && at.elapsed() < READ
        {
            return Arc::clone(known);
        }
        let before = self.limits.unread.clone();
        let limits = Arc::new(self.read_limits(base));
        if self.limits.unread != before {
            for what in &self.limits.unread {
                let site = &base.name;
                tracing::warn!(site, "limits that cannot be read will be learned: {what}");
            }
        }
        self.limits.read = Some((Instant::now(), Arc::clone(&limits)));
        limits
    }

    /// Asks for all limits: four commands at most, two of them of the controller.
    pub(super) fn read_limits(&mut self, base: &Base) -> Limits {
        self.limits.unread.clear();
        let mut limits = Limits { options: base.cluster.options.clone(), ..base.own_limits() };
        let config = self.read(base, &["scontrol", "show", "config"]).map(|text| config(&text));
        let config = config.unwrap_or_default();
        let get = |key: &str| config.get(key).map_or("", String::as_str);
        limits.all_jobs = get("MaxJobCount").parse().ok();
        limits.queue = rule(&config);
        self.limits.listed_for = listed_for(get("MinJobAge"));
        self.limits.has_accounting = get("AccountingStorageType").ends_with("/slurmdbd");
        self.limits.hides_jobs = get("PrivateData").split(',').any(|what| what.trim() == "jobs");
        let enforced: Vec<&str> = get("AccountingStorageEnforce").split(',').collect();
        let is_enforced = |what: &[&str]| what.iter().any(|it| enforced.contains(it));
        if is_enforced(&["associations", "limits", "safe", "all"]) {
            let cluster = format!("cluster={}", get("ClusterName"));
            let has_limits = is_enforced(&["limits", "safe", "all"]);
            limits.users = self.associations(base, &cluster, get("SlurmUser"), has_limits);
            if has_limits {
                let words = ["sacctmgr", "-nP", "show", "qos", QOS];
                limits.qos = self.read(base, &words).map(|text| qos(&text)).unwrap_or_default();
            }
        }
        let partitions = self.read(base, &["scontrol", "-o", "show", "partition"]);
        self.limits.tiers = partitions.as_deref().map(tiers).unwrap_or_default();
        let partitions = partitions.map(|text| partitions_of(&text)).unwrap_or_default();
        let of = |members: &Members| {
            let found = members.partition.as_ref().and_then(|name| partitions.get(name));
            found.cloned().unwrap_or_default()
        };
        limits.pools = base.members.iter().map(of).collect();
        limits
    }

    /// What limits of the cluster are known beforehand.
    pub(super) fn limits_are_known(&mut self, base: &Base) -> Finding {
        let limits = self.read_limits(base);
        let mut found = Vec::new();
        for (pool, own) in base.pools.iter().zip(&limits.pools) {
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
        let unread = std::mem::take(&mut self.limits.unread);
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
    fn read(&mut self, base: &Base, words: &[&str]) -> Option<String> {
        match base.tool.must(&Call::ours(words)) {
            Ok(answer) => Some(answer.text()),
            Err(wrong) => {
                self.limits.unread.push(wrong.to_string());
                None
            }
        }
    }

    /// All associations, unless we may see our own only.
    fn associations(
        &mut self,
        base: &Base,
        cluster: &str,
        slurm_user: &str,
        has_limits: bool,
    ) -> Option<BTreeMap<String, BTreeMap<String, UserLimits>>> {
        let words = ["sacctmgr", "-nP", "show", "assoc", cluster, ASSOC];
        let mut users = associations(&self.read(base, &words)?);
        let own = base.own_account().unwrap_or_default();
        let sees_all = own == "root" || slurm_user.split('(').next() == Some(own.as_str());
        if !sees_all && users.keys().all(|name| *name == own || name == "root") {
            self.limits.unread.push("`sacctmgr show assoc` shows our own account only".to_owned());
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

/// `300 sec`, which is Slurm's default; 0: for ever.
fn listed_for(text: &str) -> Option<Span> {
    let seconds = text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(300);
    (seconds > 0).then_some(Span(seconds))
}

const ASSOC: &str =
    "format=User,Account,Partition,MaxJobs,MaxSubmitJobs,MaxWall,MaxTRES,QOS,DefaultQOS";
const QOS: &str = "format=Name,MaxJobsPU,MaxSubmitJobsPU,MaxWall,MaxTRES";

/// `text` as each of the answers that limits are read from.
#[cfg(feature = "fuzzing")]
pub(super) fn read_all(text: &str) {
    let _ = (config(text), associations(text), qos(text), partitions_of(text), tiers(text));
    let _ = rule(&config(text));
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

/// By partition: its priority among partitions.
fn tiers(text: &str) -> BTreeMap<String, u32> {
    let row = |line: &str| {
        let get = |name: &str| {
            let find =
                |field: &'_ str| field.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            line.split_whitespace().find_map(find)
        };
        Some((get("PartitionName")?, get("PriorityTier")?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// How the scheduler goes through its queue; `None`: it does not say.
fn rule(config: &BTreeMap<String, String>) -> Option<QueueRule> {
    /// As slurm.conf has them where nothing is configured: jobs, minutes and seconds.
    const USUAL: (i64, i64, i64) = (500, 24 * 60, 30);
    let parameters = config.get("SchedulerParameters").map_or("", String::as_str);
    let get = |name: &str, usual: i64| {
        let own =
            parameters.split(',').find_map(|one| one.trim().strip_prefix(name)?.strip_prefix('='));
        own.and_then(|value| value.parse().ok()).filter(|value| *value >= 0).unwrap_or(usual)
    };
    let plans = config.get("SchedulerType")?.contains("backfill");
    let depth = if plans { get("bf_max_job_test", USUAL.0) } else { 0 };
    let window = if plans { get("bf_window", USUAL.1).saturating_mul(60) } else { 0 };
    let interval = if plans { get("bf_interval", USUAL.2) } else { get("sched_interval", 60) };
    Some(QueueRule {
        depth: u32::try_from(depth).unwrap_or(u32::MAX),
        on_request: false,
        window: Span(window.min(Span::MAX.0)),
        interval: Span(interval.min(Span::MAX.0)),
        changes_order: config.get("PriorityType").is_some_and(|it| it.contains("multifactor")),
    })
}

/// The lower of two counts, with its word.
fn fewer(one: (&str, &str), other: (&str, &str)) -> Limit<u32> {
    let read = |(text, word): (&str, &str)| Some((text.parse().ok()?, word.to_owned()));
    [read(one), read(other)].into_iter().flatten().min()
}

/// `01:40:00`, `2-00:00:00`, `30:00`, `5`, as Slurm writes spans: minutes, if there is one number.
pub(super) fn span(text: &str) -> Option<Span> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<i64>().ok()?, rest),
        None => (0, text),
    };
    let parts: Vec<i64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (parts.as_slice(), days > 0) {
        ([hours, minutes, seconds], _) => (*hours, *minutes, *seconds),
        ([hours, minutes], true) => (*hours, *minutes, 0),
        ([minutes, seconds], false) => (0, *minutes, *seconds),
        ([hours], true) => (*hours, 0, 0),
        ([minutes], false) => (0, *minutes, 0),
        _ => return None,
    };
    let seconds =
        hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
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
    fn the_schedulers_own_rule_is_read() {
        let of = |text: &str| rule(&config(text));
        let usual = of("SchedulerType = sched/backfill\nPriorityType = priority/basic\n").unwrap();
        assert_eq!((usual.depth, usual.window, usual.interval), (500, Span(86_400), Span(30)));
        assert!(!usual.changes_order);
        let own = of("SchedulerType = sched/backfill\nPriorityType = priority/multifactor\n\
                      SchedulerParameters = bf_interval=1,bf_max_job_test=1000,bf_window=4320\n");
        let own = own.unwrap();
        assert_eq!((own.depth, own.window, own.interval), (1_000, Span(259_200), Span(1)));
        assert!(own.changes_order);
        let builtin = of("SchedulerType = sched/builtin\nSchedulerParameters = bf_window=-5\n");
        assert_eq!(builtin.map(|it| (it.depth, it.window)), Some((0, Span(0))));
        assert_eq!(of("ClusterName = a\n"), None);
        let tiers = tiers("PartitionName=a X=1 PriorityTier=7\nPartitionName=b\nodd\n");
        assert_eq!(tiers, BTreeMap::from([("a".to_owned(), 7)]));
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
