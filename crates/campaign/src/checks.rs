//! What cannot be run, before anything is.

use tradewind_io::campaign::Workload;

use crate::failure::Failure;
use crate::plan::Plan;
use crate::policy::PolicySpec;
use crate::workload::WorkloadFiles;
use crate::{model, moldable, preemptible};

/// What options say of a workload must fit together.
///
/// # Errors
/// If it does not, as wrong usage.
pub fn workload(workload: &Workload) -> Result<(), Failure> {
    if let (Some(from), Some(to)) = (workload.from, workload.to)
        && from >= to
    {
        return Err(Failure::usage(format!("`--from` {from} is not before `--to` {to}")));
    }
    if let Some((message, hint)) = workload.model.as_deref().and_then(model::objection) {
        return Err(Failure::usage(message).hint(hint));
    }
    if let Some((message, hint)) = workload.moldable.as_deref().and_then(moldable::objection) {
        return Err(Failure::usage(message).hint(hint));
    }
    let preemptible = workload.preemptible.as_deref();
    if let Some((message, hint)) = preemptible.and_then(preemptible::objection) {
        return Err(Failure::usage(message).hint(hint));
    }
    if preemptible.is_some() && (workload.moldable.is_some() || workload.nodes.is_some()) {
        let failure = Failure::usage("preemptible jobs have one shape, and whole nodes");
        return Err(failure.hint("leave out `--moldable` and `--memory`, or `--preemptible`"));
    }
    if workload.model.is_some() && workload.procs.is_none() && workload.grid.is_none() {
        let failure = Failure::usage("a model needs the machine's size");
        return Err(failure.hint("add `--procs N`, or a grid file: `--grid FILE`"));
    }
    let sized = workload.nodes.is_some() || workload.grid.is_some();
    if workload.memory.is_some() && !sized || workload.memory.is_none() && workload.nodes.is_some()
    {
        let failure = Failure::usage("memory is counted on nodes of a stated size");
        let hint = "give `--memory`, `--node-processors` and `--node-memory` together, or `--memory` \
                    with a grid whose pools have `memory`";
        return Err(failure.hint(hint));
    }
    if workload.logs.iter().filter(|log| *log == "-").count() > 1 {
        return Err(Failure::usage("standard input, `-`, can be read only once"));
    }
    Ok(())
}

/// Policies must fit the pools, as far as these are known before logs are read.
///
/// # Errors
/// If one does not, as wrong usage.
pub fn plan(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    check_parameters(plan)?;
    check_parts(sources)?;
    check_memory(plan, sources)?;
    check_shapes(plan, sources)?;
    check_limits(plan, sources)?;
    check_numbers(plan, sources)?;
    check_licences(plan, sources)?;
    check_data(plan, sources)?;
    check_prices(plan, sources)
}

/// Parameters must change something.
fn check_parameters(plan: &Plan) -> Result<(), Failure> {
    let idle = |policy: &PolicySpec| {
        let (key, needs) = policy.idle_parameter()?;
        let text = policy.text();
        let message = format!("policy `{text}`: `{key}` changes nothing without `{needs}`");
        Some(Failure::usage(message).hint(format!("leave it out, or add `{needs}`")))
    };
    plan.policies().find_map(idle).map_or(Ok(()), Err)
}

/// Jobs keep to pools by attributes that some pool has, as a text.
fn check_parts(sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    let missing = sources.iter().find_map(WorkloadFiles::missing_part);
    let Some((name, file)) = missing else { return Ok(()) };
    let message = format!("`--keep-to {name}`: no pool of {file} has a text `{name}`");
    let hint = format!("write `attributes = {{ {name} = \"3\" }}` at pools for jobs of {name} 3");
    Err(Failure::usage(message).hint(hint))
}

/// Policies must know memory where it is counted on shared nodes; where jobs have whole nodes, all
/// nodes say how much they have.
fn check_memory(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    if let Some(pool) = sources.iter().find_map(WorkloadFiles::pool_without_memory) {
        let message = format!("the pool `{pool}` does not say how much memory its nodes have");
        let hint = "give every pool or its site `memory = \"4G\"`, or leave out `--memory`";
        return Err(Failure::usage(message).hint(hint));
    }
    if !sources.iter().any(WorkloadFiles::counts_memory) {
        return Ok(());
    }
    let hint = "use `fcfs`, `sjf`, `easy` or `conservative`";
    let blind = plan.deciders.iter().find(|it| it.ours().is_none_or(|it| !it.counts_memory()));
    match blind {
        None => Ok(()),
        Some(decider) => {
            let message = format!("policy `{}` does not count memory", decider.text());
            Err(Failure::usage(message).hint(hint))
        }
    }
}

/// Policies must choose shapes where jobs are moldable.
fn check_shapes(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    if !sources.iter().any(WorkloadFiles::is_moldable) {
        return Ok(());
    }
    let blind = plan.deciders.iter().find(|it| it.ours().is_none_or(|it| !it.chooses_shapes()));
    let Some(decider) = blind else { return Ok(()) };
    let message = format!("policy `{}` does not choose shapes", decider.text());
    let hint = "use `easy` and its like, `css`, `batch-slicer`, `whole-batch` or `bsf`";
    Err(Failure::usage(message).hint(hint))
}

/// What policies count must be known of every pool.
fn check_numbers(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    for pools in sources.iter().filter_map(WorkloadFiles::listed_pools) {
        plan.policies().try_for_each(|policy| policy.check_numbers(&pools))?;
    }
    Ok(())
}

/// Only policies that plan licences may decide where jobs take some along.
fn check_licences(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    for pools in sources.iter().filter_map(WorkloadFiles::listed_pools) {
        plan.policies().try_for_each(|policy| policy.check_licences(&pools))?;
        let own = plan.deciders.iter().find(|it| it.ours().is_none());
        if let (Some(decider), [licence, ..]) = (own, pools.licences()) {
            let (text, name) = (decider.text(), &licence.name);
            let message = format!("policy `{text}` plans no licences, and there is `{name}`");
            let hint = "use a policy of ours, or a grid without licences";
            return Err(Failure::usage(message).hint(hint));
        }
    }
    Ok(())
}

/// Only policies that count the transfer of data may decide where jobs have some.
fn check_data(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    if !sources.iter().any(WorkloadFiles::has_data) {
        return Ok(());
    }
    plan.policies().try_for_each(PolicySpec::check_data)?;
    match plan.deciders.iter().find(|it| it.ours().is_none()) {
        Some(decider) => {
            let message = format!("policy `{}` counts no transfer of data", decider.text());
            let hint = "use a policy of ours, or a grid without `[data]`";
            Err(Failure::usage(message).hint(hint))
        }
        None => Ok(()),
    }
}

/// Jobs must not be sent where they are not taken.
fn check_limits(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    let blind = plan.policies().find(|policy| policy.ignores_limits());
    let Some(policy) = blind else { return Ok(()) };
    let Some(pool) = sources.iter().find_map(WorkloadFiles::limited_pool) else { return Ok(()) };
    let policy = policy.text();
    let message = format!("policy `{policy}` knows no limits of queues, and `{pool}` has some");
    let hint = "use `auction`, `meta-fcfs`, `easy` or their like, or a grid without limits";
    Err(Failure::usage(message).hint(hint))
}

/// Searches must know prices that change with time where there are some.
fn check_prices(plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Result<(), Failure> {
    let Some((pool, layout)) = sources.iter().find_map(WorkloadFiles::changing_pool) else {
        return Ok(());
    };
    for policy in plan.policies() {
        if let Some(why) = policy.on(layout).needs_one_price() {
            let text = policy.text();
            let message = format!("policy `{text}` {why}; the price of `{pool}` changes");
            return Err(Failure::usage(message).hint("leave out `variant=paper`"));
        }
    }
    Ok(())
}
