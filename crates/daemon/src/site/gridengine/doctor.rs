//! Whether the cluster can run tasks, and how well.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_io::settings::cluster::Mode;

use super::cluster::GridEngineCluster;
use super::replies::Status;
use super::resources::HostResources;
use super::rule::seconds;
use super::settings::{Pool, Unit};
use crate::site::Finding;
use crate::site::managed::driver::Base;
use crate::site::managed::driver::doctor::{self, bad, good, timed_run, warn};
use crate::site::managed::tool::{Call, Tool};

/// Beyond this a command is slow: milliseconds.
const SLOW: u128 = 1_000;
/// Looks at everything; nothing is changed.
pub(super) fn look(base: &Base, pools: &[Pool], hosts: &HostResources) -> Vec<Finding> {
    let tool = &base.tool;
    let mut all = vec![commands(base)];
    let status = match GridEngineCluster(tool).status() {
        Ok(status) => status,
        Err(error) => {
            let remedy = "start sge_qmaster; look whether the prefix and SGE_ROOT, SGE_CELL, \
                          SGE_QMASTER_PORT of this site are right";
            all.push(bad("the cluster answers", error.to_string(), remedy));
            return all;
        }
    };
    all.extend(pools.iter().map(|pool| queue(pool, &status, hosts)));
    all.extend(pools.iter().find_map(|pool| memory(pool, hosts)));
    all.extend(pools.iter().filter_map(|pool| environment(tool, pool, &status)));
    all.push(doctor::clock(base));
    all.push(scheduler(tool));
    all.push(killing(tool));
    all.push(accounting(base));
    all.extend(doctor::accounts(base));
    if base.cluster.mode == Mode::Reservation {
        all.push(reservations(tool, pools.first()));
    }
    all
}

fn commands(base: &Base) -> Finding {
    let what = "Grid Engine's commands";
    let remedy = "install the client commands (Debian: gridengine-client), or give the site a \
                  `command` prefix and PATH with which they are found";
    let (answer, took) = timed_run(base, &Call::ours(&["qstat", "-help"]));
    match answer {
        Ok(answer)
            if answer.text().starts_with("SGE ") || answer.text().contains("usage: qstat") =>
        {
            let text = answer.text();
            let version = text.lines().next().unwrap_or_default().to_owned();
            let found = format!("{version}, {took} ms a command");
            match took > SLOW {
                true => {
                    warn(what, found, "each survey takes at least three: use a faster way there")
                }
                false => good(what, found),
            }
        }
        Ok(answer) => bad(what, answer.complaint().to_owned(), remedy),
        Err(trouble) => bad(what, trouble.to_string(), remedy),
    }
}

fn queue(pool: &Pool, status: &Status, hosts: &HostResources) -> Finding {
    let what = format!("pool {}: the queue {}", pool.setup.name, pool.queues());
    let own: Vec<_> = status.instances.iter().filter(|one| pool.has(one)).collect();
    let units: u32 = own.iter().map(|one| pool.units_in(one, hosts.room(one))).sum();
    let ill: Vec<String> = own
        .iter()
        .filter(|one| !one.is_well())
        .map(|one| format!("{} {}", one.name, one.state))
        .collect();
    let wanted = pool.setup.nodes;
    let found = format!("hosts: {}, units: {units} of {wanted}", own.len());
    if own.is_empty() {
        let queues: Vec<&str> = status.instances.iter().map(|one| one.name.as_str()).collect();
        let remedy = format!("name one of these: {}", queues.join(", "));
        let found = "`qstat -f` lists no such queue, or none of the hosts in it".to_owned();
        return bad(&what, found, &remedy);
    }
    if !ill.is_empty() {
        let found = format!("{found}; {}", ill.join(", "));
        return warn(&what, found, "`qstat -f -explain aAcE` says why");
    }
    match units == wanted {
        true => good(&what, found),
        false => warn(&what, found, "set `nodes` of the pool to what is there"),
    }
}

/// Memory of units must be counted.
fn memory(pool: &Pool, hosts: &HostResources) -> Option<Finding> {
    let Unit::Shared(unit) = pool.unit else { return None };
    let what = "memory of units is counted";
    let remedy = "make `h_vmem` consumable (`qconf -mc`), and give hosts their `complex_values`; \
                  or name another complex: `options = { mem = \"…\" }`";
    Some(match hosts.problem(pool) {
        Some(why) => bad(what, why, remedy),
        None => good(what, format!("a unit has {} slots and {} MB", unit.cores, unit.memory)),
    })
}

/// A parallel environment must give a unit's slots on one host.
fn environment(tool: &Tool, pool: &Pool, status: &Status) -> Option<Finding> {
    let name = pool.environment.as_ref()?;
    let what = format!("pool {}: the parallel environment {name}", pool.setup.name);
    let about = match settings_of(tool, &["qconf", "-sp", name]) {
        Ok(about) => about,
        Err(why) => return Some(bad(&what, why, "name one of those that `qconf -spl` lists")),
    };
    let rule = about.get("allocation_rule").map_or("", String::as_str);
    let found = format!("allocation_rule {rule}");
    let offered = settings_of(tool, &["qconf", "-sq", &pool.queue]).unwrap_or_default();
    let list = offered.get("pe_list").map_or("", String::as_str);
    if !list.split([' ', ',', '[', ']']).any(|one| one == name) {
        let remedy = format!("`qconf -aattr queue pe_list {name} {}`", pool.queue);
        return Some(bad(&what, format!("the queue does not have it: pe_list {list}"), &remedy));
    }
    let own = status.instances.iter().filter(|one| pool.has(one));
    let sizes: BTreeSet<u32> = own.map(|one| pool.slots_on(one)).collect();
    let wanted = match (pool.unit.slots(), sizes.len()) {
        (Some(1), _) | (_, 0) => return Some(good(&what, found)),
        (Some(slots), _) => slots.to_string(),
        (None, 1) => sizes.first().map(u32::to_string).unwrap_or_default(),
        (None, _) => {
            let found = format!("hosts of {sizes:?} slots in one pool");
            let remedy = "make a pool of each kind, with `hosts`";
            return Some(bad(&what, found, remedy));
        }
    };
    let remedy = format!("a unit's slots must lie on one host: set allocation_rule {wanted}");
    Some(if rule == wanted { good(&what, found) } else { bad(&what, found, &remedy) })
}

fn scheduler(tool: &Tool) -> Finding {
    let what = "the scheduler is quick";
    let about = match settings_of(tool, &["qconf", "-ssconf"]) {
        Ok(about) => about,
        Err(why) => return warn(what, why, "let the account read it: `qconf -ssconf`"),
    };
    let value = |name: &str| about.get(name).map_or("0", String::as_str);
    let interval = seconds(value("schedule_interval"));
    let mut wrong = Vec::new();
    if interval.is_none_or(|interval| interval > 1) {
        wrong.push(format!("schedule_interval {} (0:0:1)", value("schedule_interval")));
    }
    for name in ["flush_submit_sec", "flush_finish_sec"] {
        if value(name) != "1" {
            wrong.push(format!("{name} {} (1)", value(name)));
        }
    }
    if value("max_reservation") == "0" {
        wrong.push("max_reservation 0 (100)".to_owned());
    }
    match wrong.is_empty() {
        true => good(what, format!("it plans every {} s", interval.unwrap_or_default())),
        false => warn(
            what,
            wrong.join(", "),
            "`qconf -msconf`: set what stands in brackets, or starts come late by as much, and \
             wide jobs wait behind narrow ones",
        ),
    }
}

fn killing(tool: &Tool) -> Finding {
    let what = "jobs are killed with all their processes";
    match settings_of(tool, &["qconf", "-sconf"]) {
        Ok(about) => {
            let found = about.get("execd_params").cloned().unwrap_or_default();
            let is_on = ["ENABLE_ADDGRP_KILL=true", "ENABLE_ADDGRP_KILL=1", "USE_CGROUPS"];
            match is_on.iter().any(|word| found.contains(word)) {
                true => good(what, found),
                false => warn(
                    what,
                    format!("execd_params {found}"),
                    "`qconf -mconf`: execd_params ENABLE_ADDGRP_KILL=true; without it a task that \
                     somebody deletes with qdel may leave processes behind",
                ),
            }
        }
        Err(why) => warn(what, why, "let the account read it: `qconf -sconf`"),
    }
}

fn accounting(base: &Base) -> Finding {
    let what = "the accounting can be read";
    let (answer, took) = timed_run(base, &Call::ours(&["qacct", "-j", "tw-doctor"]));
    let remedy = "let `qacct` run where the commands run (the file `accounting` of the cell must \
                  be seen there): without it a task that is killed counts as lost";
    match answer {
        Ok(answer) if answer.is_good() || is_unused(&answer.err) => {
            let found = format!("{took} ms");
            match took > SLOW {
                true => warn(what, found, "it is big: rotate it (logrotate, `savelog`)"),
                false => good(what, found),
            }
        }
        Ok(answer) => warn(what, answer.complaint().to_owned(), remedy),
        Err(trouble) => warn(what, trouble.to_string(), remedy),
    }
}

fn reservations(tool: &Tool, pool: Option<&Pool>) -> Finding {
    let what = "advance reservations may be made";
    let remedy = "`qconf -au ACCOUNT arusers` for each account, or use `mode = \"begin\"`";
    let queue = pool.map_or("", |pool| pool.queue.as_str());
    let words = ["qrsub", "-w", "v", "-d", "1", "-q", queue];
    match tool.run(&Call::ours(&words).order()) {
        // It only looked; a full queue is no lack of rights.
        Ok(answer) if answer.is_good() || answer.err.contains("no suitable queues") => {
            good(what, "yes".to_owned())
        }
        Ok(answer) => bad(what, answer.complaint().to_owned(), remedy),
        Err(trouble) => bad(what, trouble.to_string(), remedy),
    }
}

/// What `qacct` says of a job that is not known, and where no job has ever ended.
fn is_unused(complaint: &str) -> bool {
    complaint.contains("not found") || complaint.contains("accounting: No such file")
}

fn settings_of(tool: &Tool, words: &[&str]) -> Result<BTreeMap<String, String>, String> {
    GridEngineCluster(tool).settings(words).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::managed::ssh;

    #[test]
    fn a_failed_sign_in_has_the_remedy_for_that() {
        let found = "no SSH connection to ge.example: nobody can sign in without a question";
        let told = bad("the cluster answers", found.to_owned(), "start sge_qmaster");
        assert_eq!(told.remedy, ssh::REMEDY);
        assert_eq!(bad("it", "connection refused".to_owned(), "start it").remedy, "start it");
    }
}
