//! Whether the site can be worked with, and what would make it better. Changes nothing.

use std::collections::BTreeMap;

use tradewind_io::settings::cluster::{Accounts, Cluster, Members, Mode};

use super::nodes::Node;
use super::sbatch::{self, BeginTime, SbatchTerms};
use super::{Controller, NODE_LIST, WHOLE_LIST, all_nodes, conf, listing, munge, pools, versions};
use crate::site::clock::now;
use crate::site::managed::driver::Base;
use crate::site::managed::driver::doctor::{self, timed};
use crate::site::managed::tool::{Call, Purpose, Who};
use crate::site::{Finding, Verdict};

/// Above this an answer is slow: milliseconds.
const SLOW: u128 = 500;
/// What is to be done where the site's options name a cluster.
const NO_CLUSTERS: &str = "take `clusters` out of the site's `options`: it needs slurmdbd, and jobs \
                           would go where we do not look; which cluster a site is, is said by \
                           `command`, or SLURM_CONF in `environment`";
/// Below this, ends may be forgotten before they are seen: seconds.
const FORGETFUL: i64 = 30;

pub(super) fn finding(what: &str, verdict: Verdict, found: String, remedy: &str) -> Finding {
    let remedy = if conf::is_missing(&found) { conf::REMEDY } else { remedy };
    doctor::finding(what, verdict, found, remedy)
}

/// `scontrol show config` by key.
type Config = BTreeMap<String, String>;

impl Controller {
    pub(super) fn look_around(&mut self, base: &Base) -> Vec<Finding> {
        let mut all = vec![version(base), controller(base), doctor::clock(base)];
        // Each of the others would fail in the same way, perhaps after a long time.
        let is_lost = all.iter().any(|it| conf::is_missing(&it.found));
        if is_lost || all.iter().take(2).all(|it| it.verdict == Verdict::Bad) {
            let found = "not tried, as those above did not answer".to_owned();
            let remedy = "mend what is above, then ask again";
            all.push(finding("Slurm's other commands answer", Verdict::Bad, found, remedy));
            return all;
        }
        for words in [&WHOLE_LIST[..], &NODE_LIST, &["scontrol", "-o", "show", "reservation"]] {
            all.push(command(base, words));
        }
        let config = config(base);
        match &config {
            Ok(config) => all.extend(settings(base, config)),
            Err(wrong) => all.push(finding(
                "Slurm's settings can be read",
                Verdict::Bad,
                wrong.clone(),
                "`scontrol show config` must work for the account that runs our commands",
            )),
        }
        if let Ok(nodes) = all_nodes(base) {
            for (pool, members) in base.pools.iter().zip(&base.members) {
                let there = pool_is_there(base, &pool.name, pool.nodes, members, &nodes);
                all.push(there);
                let is_up = pools::belonging(&nodes, members).iter().any(|node| node.is_up);
                all.extend(is_up.then(|| rehearsal(base, &pool.name, members)));
            }
        }
        all.push(self.limits_are_known(base));
        all.push(self.queue_is_known(base));
        all.push(reservations(base));
        all.extend(doctor::accounts(base));
        all
    }
}

fn command(base: &Base, words: &[&str]) -> Finding {
    let what = format!("`{}` answers", words.join(" "));
    let remedy = "log in as the account that runs our commands and try it; see `command`, \
                  `environment` and `timeout` of the site";
    match timed(base, &Call::ours(words)) {
        Ok((answer, took)) => {
            let is_json = words.contains(&"--json");
            let wrong = if is_json { listing::jobs(&answer.out).err() } else { None };
            match wrong {
                Some(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
                None if took > SLOW => {
                    let remedy = "surveys will be slow: have fewer jobs in the queue, or a \
                                  closer login node";
                    finding(&what, Verdict::Warning, format!("{took} ms"), remedy)
                }
                None => finding(&what, Verdict::Good, format!("{took} ms"), ""),
            }
        }
        Err(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
    }
}

fn version(base: &Base) -> Finding {
    let what = "Slurm's commands are there";
    let remedy = "install Slurm's client commands there, set `command` to reach a machine \
                  that has them, or SLURM_CONF in `environment` to a file that is there";
    match timed(base, &Call::ours(&["scontrol", "--version"])) {
        Ok((answer, _)) => versions::finding(what, answer.text().trim()),
        Err(wrong) => finding(what, Verdict::Bad, wrong, remedy),
    }
}

fn controller(base: &Base) -> Finding {
    let what = "the controller is up";
    let remedy = "start slurmctld, or set SLURM_CONF in `environment` to the right cluster";
    match timed(base, &Call::ours(&["scontrol", "ping"])) {
        Ok((answer, took)) => {
            let text = answer.text().trim().replace('\n', "; ");
            let verdict = if text.contains(" UP") { Verdict::Good } else { Verdict::Bad };
            finding(what, verdict, format!("{text} ({took} ms)"), remedy)
        }
        Err(wrong) if munge::is_missing(&wrong) => {
            finding(what, Verdict::Bad, wrong, munge::REMEDY)
        }
        Err(wrong) => finding(what, Verdict::Bad, wrong, remedy),
    }
}

fn config(base: &Base) -> Result<Config, String> {
    let (answer, _) = timed(base, &Call::ours(&["scontrol", "show", "config"]))?;
    let text = answer.text();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect())
}

/// What in Slurm's configuration is in our way.
fn settings(base: &Base, config: &Config) -> Vec<Finding> {
    let get = |key: &str| config.get(key).map_or("", String::as_str);
    let mut all = vec![starts(get("SchedulerParameters"))];
    all.extend(names_another(base, get("ClusterName")));
    let age = seconds(get("MinJobAge"));
    let verdict = if age < FORGETFUL { Verdict::Warning } else { Verdict::Good };
    let remedy = "MinJobAge=300: ends are then told by Slurm, not only by our own script";
    all.push(finding("ended jobs are remembered", verdict, format!("{age} s"), remedy));
    let private = get("PrivateData");
    let owner = get("SlurmUser").split('(').next().unwrap_or_default().to_owned();
    let own = base.own_account().unwrap_or_default();
    let sees_all = !private.contains("jobs") || own == owner || own == "root";
    let verdict = if sees_all { Verdict::Good } else { Verdict::Bad };
    let remedy = "make the account that runs our commands an operator, or take `jobs` out of \
                  PrivateData: our users' jobs would look lost";
    let found = format!("PrivateData = {private}, we are {own}");
    all.push(finding("all jobs can be seen", verdict, found, remedy));
    let preempt = get("PreemptMode");
    let verdict = if preempt == "OFF" { Verdict::Good } else { Verdict::Warning };
    let remedy = "a job of ours that is preempted counts as lost with its node; its `on_lost` \
                  decides";
    all.push(finding("jobs are not preempted", verdict, preempt.to_owned(), remedy));
    all
}

/// Whether the site's options send jobs to another cluster than this one.
fn names_another(base: &Base, own: &str) -> Option<Finding> {
    let (_, named) = base.cluster.options.iter().find(|(name, _)| name == "clusters")?;
    let found = format!("clusters = {named:?}; `scontrol show config` calls it {own:?}");
    let verdict = if named == own { Verdict::Good } else { Verdict::Bad };
    Some(finding("jobs are handed in to this cluster", verdict, found, NO_CLUSTERS))
}

fn pool_is_there(base: &Base, name: &str, max: u32, members: &Members, nodes: &[Node]) -> Finding {
    let what = format!("pool {name} has its nodes");
    let own = pools::belonging(nodes, members);
    let units = |node: &&Node| pools::units(node, base.cluster.unit);
    let all: u32 = own.iter().map(units).sum();
    let up: u32 = own.iter().filter(|node| node.is_up).map(units).sum();
    let down: Vec<String> = own
        .iter()
        .filter(|node| !node.is_up)
        .map(|node| format!("{} {}", node.name, node.state))
        .take(5)
        .collect();
    let partition = members.partition.as_deref();
    let is_known =
        |name: &str| nodes.iter().any(|node| node.partitions.iter().any(|it| it == name));
    if let Some(missing) = partition.filter(|name| !is_known(name)) {
        let found = format!("no node is in partition {missing:?}; {}", pools::there_is(nodes));
        return finding(&what, Verdict::Bad, found, "set `partition` of the pool");
    }
    if let Some(found) = pools::absent_hosts(nodes, members) {
        let remedy = "set `hosts` of the pool to names that are there, and `nodes` to their number";
        return finding(&what, Verdict::Bad, found, remedy);
    }
    let found = format!("{all} of {max}, {up} up {}", down.join(", ")).trim().to_owned();
    match (all, up) {
        (0, _) => {
            let there = pools::there_is(nodes);
            let found = format!("Slurm has no node of it, and {max} are wanted; {there}");
            let remedy = "no node has all of the pool's `partition`, `features` and `hosts`: \
                          set them to what is there";
            finding(&what, Verdict::Bad, found, remedy)
        }
        (all, _) if all != max => {
            let remedy = "set `nodes` of the pool to what is there";
            finding(&what, Verdict::Warning, found, remedy)
        }
        (all, up) if up < all => {
            finding(&what, Verdict::Warning, found, "`scontrol show node` says why")
        }
        _ => finding(&what, Verdict::Good, found, ""),
    }
}

/// Has Slurm say what would become of a job with the site's options, handed in as one of the
/// accounts.
fn rehearsal(base: &Base, pool: &str, members: &Members) -> Finding {
    let what = format!("jobs can be handed in to pool {pool}");
    let Cluster { unit, options, accounts, .. } = &base.cluster;
    let account = match accounts {
        Accounts::Same => None,
        Accounts::Of(all) => all.values().next(),
    };
    let terms = SbatchTerms {
        members,
        excluded: &[],
        unit: *unit,
        options,
        begin: &BeginTime::Now,
        now: now(),
    };
    let call = Call {
        who: account.map_or(Who::Ours, |account| Who::User(account)),
        words: sbatch::rehearsal(&terms),
        input: b"#!/bin/sh\n",
        purpose: Purpose::Look,
    };
    let names_cluster = options.iter().any(|(name, _)| name == "clusters");
    let remedy = match names_cluster {
        true => NO_CLUSTERS,
        false => "see `options` of the site, and `partition` and `features` of the pool",
    };
    match timed(base, &call) {
        Ok((answer, took)) => {
            let said = answer.complaint().trim_start_matches("sbatch: ");
            finding(&what, Verdict::Good, format!("{said} ({took} ms)"), "")
        }
        Err(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
    }
}

/// Asks for a reservation that cannot be: what is refused first are rights, then times.
fn reservations(base: &Base) -> Finding {
    let what = "nodes can be reserved";
    let past = "StartTime=2000-01-01T00:00:00";
    let words = ["scontrol", "create", "reservation", "ReservationName=tradewind-doctor", past];
    let words = words.into_iter().chain(["Duration=1", "NodeCnt=1", "Users=root"]);
    let words: Vec<&str> = words.collect();
    let needs = base.cluster.mode == Mode::Reservation;
    let verdict = if needs { Verdict::Bad } else { Verdict::Good };
    match base.tool.run(&Call::ours(&words).order()) {
        Ok(answer) if answer.err.contains("Invalid user id") || answer.err.contains("denied") => {
            let found = "no: only operators may, and our account is none".to_owned();
            let remedy = "make it an operator (sacctmgr modify user NAME set \
                          adminlevel=Operator), or set mode = \"hold-release\"";
            finding(what, verdict, found, remedy)
        }
        Ok(answer) if answer.err.contains("time") => {
            finding(what, Verdict::Good, "yes".to_owned(), "")
        }
        Ok(answer) => finding(what, verdict, answer.complaint().to_owned(), "see the message"),
        Err(wrong) => finding(what, verdict, wrong.to_string(), "see the message"),
    }
}

/// The number at the beginning of `300 sec`.
fn seconds(text: &str) -> i64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// How late jobs may start by Slurm's own rhythm.
fn starts(parameters: &str) -> Finding {
    let what = "jobs start without delay";
    let get = |name: &str, usual: i64| {
        let own = parameters.split(',').find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
        own.and_then(|value| value.parse().ok()).unwrap_or(usual)
    };
    let interval = get("sched_interval", 60);
    let delay = get("batch_sched_delay", 3);
    let found = format!("sched_interval {interval} s, batch_sched_delay {delay} s");
    let slow = interval > 2 || delay > 0;
    let remedy = "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0 \
                  in slurm.conf: starts were then within 0.4 s, and else up to 2.6 s late on hold \
                  and release, or 29 s with --begin";
    finding(what, if slow { Verdict::Warning } else { Verdict::Good }, found, remedy)
}
