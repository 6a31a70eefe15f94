//! Searches on an index against searches of the whole list.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{JobData, Link, Links, Money, Performance, Price, Times};

use super::super::front::FreeAtOnce;
use super::super::tests::large::random_world;
use super::super::tests::{any_criterion, any_world};
use super::*;

/// Searches among some nodes whenever it can.
const EAGER: Tuning = Tuning { few_slots: 0, first_nodes: (1, 0), share: 1 };

fn any_of_the_searches() -> impl Strategy<Value = Search> {
    let algorithm = prop_oneof![
        1 => Just(Algorithm::Alp),
        1 => Just(Algorithm::Amp),
        6 => any_criterion().prop_map(Algorithm::Best),
    ];
    algorithm.prop_map(Search::new)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn answers_are_those_of_a_searcher(
        world in any_world(),
        search in any_of_the_searches(),
        from in -3_i64..30,
    ) {
        let mut index = SlotIndex::new(&world.grid, &world.slots);
        index.tuning = EAGER;
        let mut scratch = Scratch::default();
        let ours = index.find(&world.slots, (&world.request, &search), Time(from), &mut scratch);
        let searcher = Searcher::new(&world.grid, &world.request, &search);
        prop_assert_eq!(ours, searcher.find(&world.slots, Time(from), &mut scratch));
    }

    /// A transfer follows no order of speeds: such jobs are for the plain search.
    #[test]
    fn answers_for_jobs_with_data_are_those_of_a_searcher(
        world in any_world(), search in any_of_the_searches(), bytes in 1_u64..12,
    ) {
        let between = [world.grid.sites()[0].name.clone(), "store".to_owned()];
        let links = Links::new(vec![Link { between, bandwidth: 8 }]).unwrap();
        let data = JobData { input: bytes, from: "store".to_owned(), ..JobData::default() };
        let data = Some(links.stage(world.grid.sites(), data).unwrap());
        let request = Request { data, ..world.request };
        let mut index = SlotIndex::new(&world.grid, &world.slots);
        index.tuning = EAGER;
        let mut scratch = Scratch::default();
        let ours = index.find(&world.slots, (&request, &search), Time::MIN, &mut scratch);
        let searcher = Searcher::new(&world.grid, &request, &search);
        prop_assert_eq!(&ours, &searcher.find(&world.slots, Time::MIN, &mut scratch));
        let front = FreeAtOnce::new(&world.grid, world.slots.as_slice(), Time(0));
        let first = front.request(&world.grid, &request, &search).and_then(|it| front.find(&it));
        prop_assert!(first.is_none() || first == ours);
    }

    /// Windows are taken out of the list until none is left.
    #[test]
    fn an_index_follows_its_list(world in any_world(), search in any_of_the_searches()) {
        let (mut slots, mut scratch) = (world.slots.clone(), Scratch::default());
        let mut index = SlotIndex::new(&world.grid, &world.slots);
        index.tuning = EAGER;
        let searcher = Searcher::new(&world.grid, &world.request, &search);
        for _ in 0..12 {
            let ours = index.find(&slots, (&world.request, &search), Time::MIN, &mut scratch);
            prop_assert_eq!(&ours, &searcher.find(&slots, Time::MIN, &mut scratch));
            let Some(Found { window, .. }) = ours else { break };
            slots.subtract_window(&window).unwrap();
            index.take(&window);
            let again = SlotIndex::new(&world.grid, &slots);
            for (node, _) in world.grid.iter() {
                prop_assert_eq!(index.of(node), again.of(node));
            }
        }
    }
}

/// Many nodes, wide jobs and limits of all kinds, as tuned and eagerly.
#[test]
fn answers_on_large_lists_are_those_of_a_searcher() {
    let mut among_some = 0;
    for seed in 0..12 {
        let (grid, slots) = random_world(seed, 1_500, 300);
        let grid = with_both_times(&grid, seed);
        let usual = SlotIndex::new(&grid, &slots);
        let eager = SlotIndex { tuning: EAGER, ..usual.clone() };
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        for _ in 0..40 {
            let request = any_request(&mut random);
            let search = any_search(&mut random);
            let from = Time(random.random_range(-20..200));
            let mut scratch = Scratch::default();
            let searcher = Searcher::new(&grid, &request, &search);
            let plain = searcher.find(&slots, from, &mut scratch);
            for index in [&usual, &eager] {
                let ours = index.find(&slots, (&request, &search), from, &mut scratch);
                assert_eq!(ours, plain, "{request:?} {search:?} from {from}, seed {seed}");
            }
            let some = usual.find_among_some((&request, &search), from, &mut scratch);
            among_some += usize::from(some.is_ok());
        }
    }
    assert!(among_some > 300, "{among_some} of 480 were answered among some nodes");
}

fn with_both_times(grid: &Grid, seed: u64) -> Grid {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut nodes = grid.nodes().to_vec();
    for node in &mut nodes {
        node.times = if random.random() { Times::Work } else { Times::Wall };
    }
    Grid::new(grid.sites().to_vec(), nodes).unwrap()
}

fn any_request(random: &mut Pcg64Mcg) -> Request {
    let mut request = Request::new(random.random_range(1..20), Span(random.random_range(1..60)));
    let mut maybe =
        |share: f64, most: i64| random.random_bool(share).then(|| random.random_range(0..=most));
    let tasks = i64::from(request.tasks);
    request.budget = maybe(0.5, tasks * 300).map(Money);
    request.max_price = maybe(0.2, 20).map(Price);
    request.deadline = maybe(0.2, 300).map(Time);
    request.earliest_start = maybe(0.2, 150).map(Time);
    request.min_performance =
        maybe(0.2, 4_000).and_then(|it| Performance::from_thousandths(it as u32));
    request.times = match random.random_range(0..4) {
        0 => tradewind_model::TimeMode::Owner,
        1 => tradewind_model::TimeMode::WALL,
        _ => tradewind_model::TimeMode::WORK,
    };
    request
}

fn any_search(random: &mut Pcg64Mcg) -> Search {
    let criteria = [
        Criterion::Start,
        Criterion::Finish,
        Criterion::Runtime,
        Criterion::Cost,
        Criterion::ProcessorTime,
    ];
    match random.random_range(0..8) {
        0 => Search::new(Algorithm::Amp),
        1 => Search::new(Algorithm::Alp),
        at => Search::best(criteria[at % 5].clone()),
    }
}
