//! Jobs whose data is brought to their nodes and away, against all windows of all nodes.

use tradewind_model::{JobData, Link, Links};

use super::brute::{self, key};
use super::sites::any_world_of_sites;
use super::*;

/// In bits per second, between two of: the sites, and a place where no job runs.
type DrawnLinks = Vec<(usize, usize, u64)>;

const PLACES: [&str; 4] = ["a", "b", "c", "store"];

fn any_data() -> impl Strategy<Value = (DrawnLinks, JobData)> {
    let links = prop::collection::vec((0_usize..4, 0_usize..4, 1_u64..20), 0..8);
    let data = (0_u64..12, 0_usize..4, 0_u64..12, 0_usize..4);
    (links, data).prop_map(|(mut links, (input, from, output, to))| {
        links.retain(|(one, other, _)| one < other);
        links.sort_unstable();
        links.dedup_by_key(|(one, other, _)| (*one, *other));
        let place = |at: usize| PLACES[at].to_owned();
        (links, JobData { input, from: place(from), output, to: place(to) })
    })
}

/// How long the bytes take, counted bit by bit; `None`: there is no link.
fn seconds(links: &DrawnLinks, bytes: u64, (from, to): (&str, &str)) -> Option<i64> {
    if bytes == 0 || from == to {
        return Some(0);
    }
    let is_between = |(one, other, _): &&(usize, usize, u64)| {
        let ends = (PLACES[*one], PLACES[*other]);
        ends == (from, to) || ends == (to, from)
    };
    let (_, _, bandwidth) = links.iter().find(is_between)?;
    let (mut left, mut seconds) = (bytes * 8, 0);
    while left > 0 {
        left = left.saturating_sub(*bandwidth);
        seconds += 1;
    }
    Some(seconds)
}

/// The same world with data; `None` if the data lies where there is no link.
fn with_data(world: World, links: &DrawnLinks, data: &JobData) -> Option<World> {
    let link = |(one, other, bandwidth): &(usize, usize, u64)| Link {
        between: [PLACES[*one].to_owned(), PLACES[*other].to_owned()],
        bandwidth: *bandwidth,
    };
    let all = Links::new(links.iter().map(link).collect()).unwrap();
    let staging = all.stage(world.grid.sites(), data.clone()).ok()?;
    Some(World { request: Request { data: Some(staging), ..world.request }, ..world })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn windows_with_data_are_the_best_of_all(
        world in any_world_of_sites(),
        (links, data) in any_data(),
        criterion in any_criterion(),
    ) {
        let plain = World { request: Request { spread: Default::default(), ..world.request.clone() }, ..world };
        let Some(world) = with_data(plain.clone(), &links, &data) else { return Ok(()) };
        let limits = brute::all_limits(&world.request);
        let all = brute::all_windows(&world, &criterion, limits);
        let wanted = all.iter().map(|window| key(&criterion, window, &world.grid)).min();
        let got = brute::found_key(&world, &best(&criterion), &criterion);
        brute::same_best(&world.request, &criterion, got, wanted)?;
        let found = find(&world.grid, &world.slots, &world.request, &best(&criterion));
        let Some(found) = found else { return Ok(()) };
        prop_assert_eq!(found.window.check(&world.request, &world.grid), Ok(()));
        for task in found.window.tasks() {
            let node = world.grid.node(task.node);
            let site = world.grid.sites()[node.site.0 as usize].name.as_str();
            let stage_in = seconds(&links, data.input, (&data.from, site));
            let stage_out = seconds(&links, data.output, (site, &data.to));
            let work = plain.request.length_on(node).0;
            let length = stage_in.zip(stage_out).map(|(before, after)| before + work + after);
            prop_assert_eq!(Some(task.length.0), length, "{}", site);
            prop_assert_eq!(node.price * task.length, task.cost);
        }
    }
}
