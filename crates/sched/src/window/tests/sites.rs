//! Windows that lie at one site, against all sites searched one by one and against brute force.

use tradewind_model::{Reason, Spread};

use super::*;

/// A world whose nodes lie at up to three sites, and a job for one of them.
pub(super) fn any_world_of_sites() -> impl Strategy<Value = World> {
    (any_world(), prop::collection::vec(0_u32..3, 6)).prop_map(|(world, of)| {
        let sites = ["a", "b", "c"].map(|name| Site { name: name.to_owned() });
        let nodes = world.grid.nodes().iter().zip(of);
        let nodes = nodes.map(|(node, site)| Node { site: SiteId(site), ..node.clone() });
        let grid = Grid::new(sites.to_vec(), nodes.collect()).unwrap();
        let request = Request { spread: Spread::Site, ..world.request };
        World { grid, request, ..world }
    })
}

/// The same world in which only one site's nodes are ever free.
fn at(world: &World, site: u32) -> World {
    let here = |slot: &&Slot| world.grid.node(slot.node).site == SiteId(site);
    let slots = world.slots.as_slice().iter().filter(here).copied().collect();
    let request = Request { spread: Spread::Grid, ..world.request.clone() };
    World { grid: world.grid.clone(), slots: SlotList::new(slots).unwrap(), request }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn searches_that_share_a_ranking_find_what_each_finds_alone(
        world in any_world_of_sites(),
        at_one_site in any::<bool>(),
        searches in prop::collection::vec(
            (any_criterion(), 0_u8..4, prop::option::of(0_i64..80), prop::option::of(5_i64..45)),
            1..6,
        ),
    ) {
        let spread = if at_one_site { Spread::Site } else { Spread::Grid };
        let mut request = Request { spread, ..world.request.clone() };
        let mut scratch = Scratch::default();
        let mut before: Option<Searcher> = None;
        for (criterion, kind, budget, deadline) in searches {
            let algorithm = match kind {
                0 => Algorithm::Amp,
                1 => Algorithm::Csa(criterion),
                _ => Algorithm::Best(criterion),
            };
            let search = Search::new(algorithm);
            request.budget = budget.map(Money);
            request.deadline = deadline.map(Time);
            let alone = Searcher::new(&world.grid, &request, &search);
            let shared = match &before {
                Some(before) => before.again(&world.grid, &request, &search),
                None => alone.clone(),
            };
            let from = Time(i64::MIN);
            prop_assert_eq!(
                shared.find(&world.slots, from, &mut scratch),
                alone.find(&world.slots, from, &mut scratch)
            );
            before = Some(shared);
        }
    }

    #[test]
    fn the_window_is_the_best_of_all_sites(
        world in any_world_of_sites(),
        criterion in any_criterion(),
    ) {
        let found = find(&world.grid, &world.slots, &world.request, &best(&criterion));
        let of_sites = (0..3).filter_map(|site| {
            let world = at(&world, site);
            find(&world.grid, &world.slots, &world.request, &best(&criterion))
        });
        let key = |window: &tradewind_model::Window| {
            let value = value(&criterion, window, &world.grid);
            (value, window.start(), window.cost(), window.finish())
        };
        let wanted = of_sites.map(|found| key(&found.window)).min();
        prop_assert_eq!(found.as_ref().map(|found| key(&found.window)), wanted);
        if let Some(found) = found {
            found.window.check(&world.request, &world.grid).unwrap();
            prop_assert_eq!(found.proof, Proof::Exact);
        }
    }

    #[test]
    fn there_is_a_reason_where_there_is_no_window(world in any_world_of_sites()) {
        let search = best(&Criterion::Start);
        let searcher = Searcher::new(&world.grid, &world.request, &search);
        let mut scratch = Scratch::default();
        if searcher.find(&world.slots, Time(i64::MIN), &mut scratch).is_some() {
            return Ok(());
        }
        let reason = searcher.reason(&world.slots, &mut scratch);
        let of_sites = [0, 1, 2].map(|site| {
            let world = at(&world, site);
            let of = Searcher::new(&world.grid, &world.request, &search);
            of.reason(&world.slots, &mut scratch)
        });
        // Nodes that are never free suit nevertheless, so only reasons of money are the same.
        let cheapest = |reason: &Reason| match reason {
            Reason::BudgetShort { cheapest, .. } => Some(*cheapest),
            _ => None,
        };
        prop_assert_eq!(cheapest(&reason), of_sites.iter().filter_map(cheapest).min());
    }
}
