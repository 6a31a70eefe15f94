//! Whether the site can be worked with, and what would make it better. Changes nothing.

use std::collections::BTreeMap;
use std::time::Instant;

use tradewind_io::settings::cluster::{Accounts, Cluster, Members, Mode};

use super::hand_in::{self, Begin, Terms};
use super::nodes::Node;
use super::{NODE_LIST, Slurm, WHOLE_LIST, conf, listing, munge, pools, versions};
use crate::site::local::records::now;
use crate::site::managed::ssh;
use crate::site::managed::tool::{Answer, Call, Who};
use crate::site::{Finding, Verdict};

/// Above this an answer is slow: milliseconds.
const SLOW: u128 = 500;
/// More than this between two clocks is too much: seconds.
pub(super) const SKEW: i64 = 2;
/// What is to be done then.
pub(super) const SET_CLOCKS: &str =
    "set both clocks by NTP: parts of a job begin by their site's clock";
/// What is to be done where the site's options name a cluster.
const NO_CLUSTERS: &str = "take `clusters` out of the site's `options`: it needs slurmdbd, and jobs \
                           would go where we do not look; which cluster a site is, is said by \
                           `command`, or SLURM_CONF in `environment`";
/// Below this, ends may be forgotten before they are seen: seconds.
const FORGETFUL: i64 = 30;

pub(super) fn finding(what: &str, verdict: Verdict, found: String, remedy: &str) -> Finding {
    let remedy = match verdict {
        Verdict::Good => "",
        _ if conf::is_missing(&found) => conf::REMEDY,
        _ if ssh::is_no_connection(&found) && found.contains("sign in") => ssh::REMEDY,
        _ => remedy,
    };
    Finding { what: what.to_owned(), verdict, found, remedy: remedy.to_owned() }
}

/// `scontrol show config` by key.
type Config = BTreeMap<String, String>;

impl Slurm {
    pub(super) fn look_around(&mut self) -> Vec<Finding> {
        let mut all = vec![self.version(), self.controller(), self.clock()];
        // Each of the others would fail in the same way, perhaps after a long time.
        let is_lost = all.iter().any(|it| conf::is_missing(&it.found));
        if is_lost || all.iter().take(2).all(|it| it.verdict == Verdict::Bad) {
            let found = "not tried, as those above did not answer".to_owned();
            let remedy = "mend what is above, then ask again";
            all.push(finding("Slurm's other commands answer", Verdict::Bad, found, remedy));
            return all;
        }
        for words in [&WHOLE_LIST[..], &NODE_LIST, &["scontrol", "-o", "show", "reservation"]] {
            all.push(self.command(words));
        }
        let config = self.config();
        match &config {
            Ok(config) => all.extend(self.settings(config)),
            Err(wrong) => all.push(finding(
                "Slurm's settings can be read",
                Verdict::Bad,
                wrong.clone(),
                "`scontrol show config` must work for the account that runs our commands",
            )),
        }
        if let Ok(nodes) = self.nodes_listed() {
            for (pool, members) in self.pools.iter().zip(&self.members) {
                let there = self.pool_is_there(&pool.name, pool.nodes, members, &nodes);
                all.push(there);
                let is_up = pools::belonging(&nodes, members).iter().any(|node| node.is_up);
                all.extend(is_up.then(|| self.rehearsal(&pool.name, members)));
            }
        }
        all.push(self.limits_are_known());
        all.push(self.reservations());
        all.extend(self.accounts());
        all
    }

    /// Runs it; what it said, and how long that took in milliseconds.
    fn timed(&self, call: &Call<'_>) -> Result<(Answer, u128), String> {
        let began = Instant::now();
        let answer = self.tool.must(call).map_err(|wrong| wrong.to_string())?;
        Ok((answer, began.elapsed().as_millis()))
    }

    fn command(&self, words: &[&str]) -> Finding {
        let what = format!("`{}` answers", words.join(" "));
        let remedy = "log in as the account that runs our commands and try it; see `command`, \
                      `environment` and `timeout` of the site";
        match self.timed(&Call::ours(words)) {
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

    fn version(&self) -> Finding {
        let what = "Slurm's commands are there";
        let remedy = "install Slurm's client commands there, set `command` to reach a machine \
                      that has them, or SLURM_CONF in `environment` to a file that is there";
        match self.timed(&Call::ours(&["scontrol", "--version"])) {
            Ok((answer, _)) => versions::finding(what, answer.text().trim()),
            Err(wrong) => finding(what, Verdict::Bad, wrong, remedy),
        }
    }

    fn controller(&self) -> Finding {
        let what = "the controller is up";
        let remedy = "start slurmctld, or set SLURM_CONF in `environment` to the right cluster";
        match self.timed(&Call::ours(&["scontrol", "ping"])) {
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

    fn clock(&self) -> Finding {
        let what = "the site's clock agrees with ours";
        match self.clock_apart() {
            Ok(apart) => {
                let verdict = match apart.abs() {
                    apart if apart > 300 => Verdict::Bad,
                    apart if apart > SKEW => Verdict::Warning,
                    _ => Verdict::Good,
                };
                finding(what, verdict, format!("{apart} s apart"), SET_CLOCKS)
            }
            Err(wrong) => {
                finding(what, Verdict::Bad, wrong.to_string(), "`date +%s` must work there")
            }
        }
    }

    fn config(&self) -> Result<Config, String> {
        let (answer, _) = self.timed(&Call::ours(&["scontrol", "show", "config"]))?;
        let text = answer.text();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Ok(pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect())
    }

    /// What in Slurm's configuration is in our way.
    fn settings(&mut self, config: &Config) -> Vec<Finding> {
        let get = |key: &str| config.get(key).map_or("", String::as_str);
        let mut all = vec![starts(get("SchedulerParameters"))];
        all.extend(self.names_another(get("ClusterName")));
        let age = seconds(get("MinJobAge"));
        let verdict = if age < FORGETFUL { Verdict::Warning } else { Verdict::Good };
        let remedy = "MinJobAge=300: ends are then told by Slurm, not only by our own script";
        all.push(finding("ended jobs are remembered", verdict, format!("{age} s"), remedy));
        let private = get("PrivateData");
        let owner = get("SlurmUser").split('(').next().unwrap_or_default().to_owned();
        let own = self.own_account().unwrap_or_default();
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
    fn names_another(&self, own: &str) -> Option<Finding> {
        let (_, named) = self.cluster.options.iter().find(|(name, _)| name == "clusters")?;
        let found = format!("clusters = {named:?}; `scontrol show config` calls it {own:?}");
        let verdict = if named == own { Verdict::Good } else { Verdict::Bad };
        Some(finding("jobs are handed in to this cluster", verdict, found, NO_CLUSTERS))
    }

    fn pool_is_there(&self, name: &str, max: u32, members: &Members, nodes: &[Node]) -> Finding {
        let what = format!("pool {name} has its nodes");
        let own = pools::belonging(nodes, members);
        let units = |node: &&Node| pools::units(node, self.cluster.unit);
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
            let remedy =
                "set `hosts` of the pool to names that are there, and `nodes` to their number";
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
    fn rehearsal(&self, pool: &str, members: &Members) -> Finding {
        let what = format!("jobs can be handed in to pool {pool}");
        let Cluster { unit, options, accounts, .. } = &self.cluster;
        let account = match accounts {
            Accounts::Same => None,
            Accounts::Of(all) => all.values().next(),
        };
        let terms =
            Terms { members, excluded: &[], unit: *unit, options, begin: &Begin::Now, now: now() };
        let call = Call {
            who: account.map_or(Who::Ours, |account| Who::User(account)),
            words: hand_in::rehearsal(&terms),
            input: b"#!/bin/sh\n",
        };
        let names_cluster = options.iter().any(|(name, _)| name == "clusters");
        let remedy = match names_cluster {
            true => NO_CLUSTERS,
            false => "see `options` of the site, and `partition` and `features` of the pool",
        };
        match self.timed(&call) {
            Ok((answer, took)) => {
                let said = answer.complaint().trim_start_matches("sbatch: ");
                finding(&what, Verdict::Good, format!("{said} ({took} ms)"), "")
            }
            Err(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
        }
    }

    /// Asks for a reservation that cannot be: what is refused first are rights, then times.
    fn reservations(&self) -> Finding {
        let what = "nodes can be reserved";
        let past = "StartTime=2000-01-01T00:00:00";
        let words = ["scontrol", "create", "reservation", "ReservationName=tradewind-doctor", past];
        let words = words.into_iter().chain(["Duration=1", "NodeCnt=1", "Users=root"]);
        let words: Vec<&str> = words.collect();
        let needs = self.cluster.mode == Mode::Reservation;
        let verdict = if needs { Verdict::Bad } else { Verdict::Good };
        match self.tool.run(&Call::ours(&words)) {
            Ok(answer)
                if answer.err.contains("Invalid user id") || answer.err.contains("denied") =>
            {
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

    /// Whether commands run as users, and whether what they need is there.
    fn accounts(&mut self) -> Vec<Finding> {
        let named: Vec<String> = match &self.cluster.accounts {
            Accounts::Same => Vec::new(),
            Accounts::Of(all) => all.values().cloned().collect(),
        };
        if named.is_empty() {
            let found = match self.cluster.accounts {
                Accounts::Same => "each user's account is called as the user is",
                Accounts::Of(_) => "nobody has an account here: no job can run",
            };
            let verdict = match self.cluster.accounts {
                Accounts::Same => Verdict::Good,
                Accounts::Of(_) => Verdict::Bad,
            };
            let remedy = "set `accounts` of the site, such as { ana = \"ana01\" }, or \"same\"";
            return vec![finding("users have accounts", verdict, found.to_owned(), remedy)];
        }
        named.iter().map(|account| self.account_works(account)).collect()
    }

    fn account_works(&self, account: &str) -> Finding {
        let what = format!("jobs can be run as {account}");
        let directory = self.cluster.directory.replace("{user}", account);
        let spool = self.cluster.spool.replace("{user}", account);
        let mut call = Call::by(Who::User(account), &["/bin/sh", "-s", "--", &directory, &spool]);
        let program = format!("{HOME}{PROBE}");
        call.input = program.as_bytes();
        let remedy = "see `user_command`, `accounts`, `directory` and `spool` of the site; jobs \
                      need GNU coreutils and util-linux";
        match self.timed(&call) {
            Ok((answer, took)) => {
                let text = answer.text();
                let mut lines = text.lines();
                let who = lines.next().unwrap_or_default();
                let wrong: Vec<&str> = lines.filter(|line| *line != "done").collect();
                match (who == account, wrong.is_empty(), text.ends_with("done\n")) {
                    (true, true, true) => finding(&what, Verdict::Good, format!("{took} ms"), ""),
                    (false, ..) => {
                        let found = format!("the command ran as {who:?}");
                        finding(&what, Verdict::Bad, found, remedy)
                    }
                    _ => finding(&what, Verdict::Bad, wrong.join("; "), remedy),
                }
            }
            Err(wrong) => finding(&what, Verdict::Bad, wrong, remedy),
        }
    }
}

const HOME: &str = include_str!("../managed/home.sh");
const PROBE: &str = r#"
id -un
at_home "$1"
[ -d "$place" ] || echo "$1 is not there"
at_home "$2"
at=$place
while [ ! -d "$at" ]; do at=$(dirname "$at"); done
[ -w "$at" ] || echo "$2 cannot be written"
case $(date +%3N) in [0-9][0-9][0-9]) ;; *) echo "date knows no milliseconds" ;; esac
sleep 0.01 || echo "sleep knows no fractions"
command -v base64 >/dev/null || echo "there is no base64"
command -v setsid >/dev/null || echo "there is no setsid"
echo done
"#;

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
