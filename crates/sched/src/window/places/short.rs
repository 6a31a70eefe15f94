//! Which resource keeps tasks from the nodes, and how much of it would do.

use tradewind_model::{Grid, NodeId, Reason, Request, Resource, Slot, SlotList, Window};

/// What one resource alone is short of.
struct Short {
    resource: Resource,
    needed: u64,
    /// The largest demand for it with which there is a window, all else unchanged.
    would_do: u64,
    window: Window,
}

/// If a smaller demand for one resource alone gives a window: that resource, with the smallest
/// reduction relative to the demand; the first of equals. Each is found by bisection, since a
/// smaller demand never makes a placeable job unplaceable. `find` is the search for a window of a
/// request on these slots. `None` if no resource alone helps.
pub(in crate::window) fn reason(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    mut find: impl FnMut(&Request) -> Option<Window>,
) -> Option<Reason> {
    let needs = request.needs.as_ref()?;
    let kinds: Vec<Resource> = needs.each.kinds().collect();
    let mut of = |kind: &Resource| short(request, kind, &mut find);
    let all: Vec<Short> = kinds.iter().filter_map(&mut of).collect();
    // The greatest part of the demand that would do: a / b < c / d as a · d < c · b.
    let least = all.into_iter().reduce(|best, next| {
        let (a, b) = (u128::from(best.would_do), u128::from(best.needed));
        let (c, d) = (u128::from(next.would_do), u128::from(next.needed));
        if a * d < c * b { next } else { best }
    })?;
    let (nodes, of) = nodes_short(grid, slots, request, &least);
    let Short { resource, needed, would_do, .. } = least;
    Some(Reason::ResourceShort { resource, needed, would_do, nodes, of })
}

fn short(
    request: &Request,
    resource: &Resource,
    mut find: impl FnMut(&Request) -> Option<Window>,
) -> Option<Short> {
    let needs = request.needs.as_ref()?;
    let needed = needs.each.of(resource);
    let mut find = |amount: u64| {
        let mut less = request.clone();
        less.needs.as_mut()?.each = needs.each.with(resource, amount);
        find(&less)
    };
    let mut enough = least_demand(resource);
    let mut window = find(enough).filter(|_| enough < needed)?;
    let mut short = needed;
    while short - enough > 1 {
        let middle = enough + (short - enough) / 2;
        match find(middle) {
            Some(found) => (enough, window) = (middle, found),
            None => short = middle,
        }
    }
    Some(Short { resource: resource.clone(), needed, would_do: enough, window })
}

/// What a task takes of a resource at least.
pub(crate) fn least_demand(resource: &Resource) -> u64 {
    u64::from(*resource == Resource::Cores)
}

/// On how many of the nodes that suit otherwise the resource is short at the start of the window
/// that a smaller demand gets, for as long as a task takes there.
fn nodes_short(grid: &Grid, slots: &SlotList, request: &Request, short: &Short) -> (u32, u32) {
    let suitable =
        grid.iter().filter(|(id, node)| request.suits(node) && grid.resources(*id).is_some());
    let (mut lacking, mut all) = (0, 0);
    for (id, node) in suitable {
        let start = short.window.start();
        let span = Slot { start, end: start + request.length_on(node), node: id };
        all += 1;
        lacking += u32::from(free(grid, slots, span, &short.resource) < short.needed);
    }
    (lacking, all)
}

/// How much of the resource is free on a node throughout a span.
fn free(grid: &Grid, slots: &SlotList, span: Slot, resource: &Resource) -> u64 {
    if let Some(steps) = slots.shared().and_then(|shared| shared.steps(span.node)) {
        let after = steps.partition_point(|step| step.from <= span.start);
        let during = &steps[after.saturating_sub(1)..];
        let during = during.iter().take_while(|step| step.from < span.end);
        return during.map(|step| step.free.of(resource)).min().unwrap_or(0);
    }
    let is_free =
        |slot: &Slot| slot.node == span.node && slot.start <= span.start && slot.end >= span.end;
    let has = |id: NodeId| grid.resources(id).map_or(0, |it| it.all.of(resource));
    if slots.as_slice().iter().any(is_free) { has(span.node) } else { 0 }
}
