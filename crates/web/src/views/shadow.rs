//! Observed clusters as a document.

use tradewind_daemon::shadow::{
    Advised, Compared, Errors, Hour, SiteSummary, Summary, WaitSummary,
};

use crate::documents::{
    ComparedErrors, Credits, ObservedHour, ObservedPolicy, ObservedSite, ObservedWaits, Shadow,
    StartErrors,
};

pub(crate) fn document(summary: Summary) -> Shadow {
    let Summary { jobs, ours, manager, same, sites, users, projects } = summary;
    let Compared { ours: same_ours, manager: same_manager } = same;
    Shadow {
        jobs: jobs as u64,
        ours: errors(ours),
        slurm: errors(manager),
        same: ComparedErrors { ours: errors(same_ours), slurm: errors(same_manager) },
        sites: sites.into_iter().map(site).collect(),
        users: users.into_iter().map(waits).collect(),
        projects: projects.into_iter().map(waits).collect(),
    }
}

fn errors(Errors { jobs, median, p90 }: Errors) -> StartErrors {
    StartErrors { jobs: jobs as u64, median, p90 }
}

fn site(it: SiteSummary) -> ObservedSite {
    let (since, surveyed) = it.observed.unzip();
    let total = it.total;
    let hours = it.hours.into_iter().map(|(from, Hour { used, up, value, .. })| ObservedHour {
        from,
        used,
        up,
        value: Credits(value.into()),
    });
    ObservedSite {
        name: it.name,
        since,
        surveyed,
        problem: it.problem,
        unknown: it.unknown,
        jobs: it.jobs as u64,
        ours: errors(it.ours),
        slurm: errors(it.manager),
        waiting: it.waiting as u64,
        unpredicted: it.counts.unpredicted,
        brief: it.counts.brief,
        unwatched: it.counts.unwatched,
        gone: it.counts.gone,
        arrays: it.counts.arrays,
        utilisation: (total.up > 0).then(|| total.used as f64 / total.up as f64),
        value: Credits(total.value.into()),
        idle_value: Credits(total.idle_value.into()),
        hours: hours.collect(),
        waits: waits(it.waits),
        users: it.users.into_iter().map(waits).collect(),
        projects: it.projects.into_iter().map(waits).collect(),
        policy: it.advised.map(policy),
    }
}

fn policy(it: Advised) -> ObservedPolicy {
    let (problem_since, problem) = it.policy.outage.unzip();
    ObservedPolicy {
        name: it.policy.name,
        problem,
        problem_since,
        outages: it.policy.outages,
        jobs: it.jobs as u64,
        earlier: it.earlier as u64,
        saved: it.saved,
        later: it.later as u64,
        built_in: it.built_in as u64,
    }
}

fn waits(it: WaitSummary) -> ObservedWaits {
    ObservedWaits {
        name: it.name,
        jobs: it.jobs as u64,
        waited: it.waited,
        examined: it.examined as u64,
        saved: it.saved,
        examined_later: it.examined_later as u64,
        saved_later: it.saved_later,
        cheaper_later: Credits(it.cheaper_later.into()),
    }
}
