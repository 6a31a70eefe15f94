//! Searches on an index against searches of the whole list.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{JobData, Link, Links, Money, Performance, Price, Times};

use super::super::front::FreeAtOnce;
use super::super::tests::large::random_world;
use super::super::tests::{self, any_criterion, any_world};
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

/// What happens to a list whose best windows are kept.
#[derive(Debug, Clone)]
enum Happens {
    /// Slots of a node, by gaps and lengths.
    Change(u32, Vec<(i64, i64)>),
    /// The best window of some request is taken.
    Take(usize),
    NotBefore(i64),
    Remove(usize),
}

fn anything() -> impl Strategy<Value = Happens> {
    let spans = prop::collection::vec((0_i64..12, 1_i64..25), 0..3);
    prop_oneof![
        6 => (0_u32..6, spans).prop_map(|(node, spans)| Happens::Change(node, spans)),
        2 => (0_usize..4).prop_map(Happens::Take),
        1 => (0_i64..20).prop_map(Happens::NotBefore),
        1 => (0_usize..4).prop_map(Happens::Remove),
    ]
}

fn slots_of(node: NodeId, spans: &[(i64, i64)]) -> Vec<Slot> {
    let mut at = -4;
    let slot = |&(gap, length): &(i64, i64)| {
        let start = at + gap;
        at = start + length;
        Slot { start: Time(start), end: Time(at), node }
    };
    spans.iter().map(slot).collect()
}

/// Kept windows beside a list that is searched again from the beginning.
struct Beside<'g> {
    grid: &'g Grid,
    kept: KeptWindows<'g>,
    by_node: BTreeMap<NodeId, Vec<Slot>>,
    from: Time,
    /// By key; with the window that was reported last.
    asked: BTreeMap<usize, (Request, Search, Option<Window>)>,
}

impl Beside<'_> {
    fn list(&self) -> SlotList {
        SlotList::new(self.by_node.values().flatten().copied().collect()).unwrap()
    }

    fn happens(&mut self, what: &Happens) {
        let reported = match what {
            Happens::Change(node, spans) => {
                let node = NodeId(node % self.grid.len() as u32);
                let slots = slots_of(node, spans);
                self.by_node.insert(node, slots.clone());
                self.kept.change(node, slots).unwrap()
            }
            Happens::Take(key) => {
                let Some(window) = self.kept.best(*key).cloned() else { return };
                let mut list = self.list();
                list.subtract_window(&window).unwrap();
                self.by_node.clear();
                for slot in list.as_slice() {
                    self.by_node.entry(slot.node).or_default().push(*slot);
                }
                self.kept.take(&window).unwrap()
            }
            Happens::NotBefore(from) => {
                self.from = self.from.max(Time(*from));
                self.kept.not_before(Time(*from))
            }
            Happens::Remove(key) => {
                self.kept.remove(*key);
                self.asked.remove(key);
                Vec::new()
            }
        };
        self.compare(&reported);
    }

    /// Every window is the best one, and exactly those that are others were reported.
    fn compare(&mut self, reported: &[usize]) {
        let list = self.list();
        let mut others = Vec::new();
        for (key, (request, search, last)) in &mut self.asked {
            let searcher = Searcher::new(self.grid, request, search);
            let plain = searcher.find(&list, self.from, &mut Scratch::default());
            let plain = plain.map(|found| found.window);
            assert_eq!(self.kept.best(*key), plain.as_ref(), "{request:?} {search:?} {list:?}");
            if *last != plain {
                *last = plain;
                others.push(*key);
            }
        }
        assert_eq!(reported, others);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn kept_windows_are_those_of_a_searcher(
        world in any_world(),
        requests in prop::collection::vec((tests::any_request(), any_of_the_searches()), 1..4),
        happenings in prop::collection::vec(anything(), 1..9),
        (from, eager, remade) in (-3_i64..10, any::<bool>(), any::<bool>()),
    ) {
        let mut kept = KeptWindows::new(&world.grid, &world.slots, Time(from));
        if eager {
            kept.search_among_some(EAGER);
        }
        if remade {
            kept.make_the_index_again_after_each_change();
        }
        let mut asked = BTreeMap::new();
        for (request, search) in requests {
            if let Ok(key) = kept.add(request.clone(), search.clone()) {
                let found = kept.best(key).cloned();
                asked.insert(key, (request, search, found));
            }
        }
        let mut by_node: BTreeMap<NodeId, Vec<Slot>> = BTreeMap::new();
        for slot in world.slots.as_slice() {
            by_node.entry(slot.node).or_default().push(*slot);
        }
        let mut beside = Beside { grid: &world.grid, kept, by_node, from: Time(from), asked };
        beside.compare(&[]);
        happenings.iter().for_each(|it| beside.happens(it));
    }
}

/// Many nodes and requests of all kinds, as tuned.
#[test]
fn kept_windows_on_large_lists_are_those_of_a_searcher() {
    for seed in 0..6 {
        let (grid, slots) = random_world(seed, 1_200, 300);
        let grid = with_both_times(&grid, seed);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut kept = KeptWindows::new(&grid, &slots, Time(0));
        let mut asked = BTreeMap::new();
        for _ in 0..40 {
            let (request, search) = (any_request(&mut random), any_search(&mut random));
            if let Ok(key) = kept.add(request.clone(), search.clone()) {
                asked.insert(key, (request, search, kept.best(key).cloned()));
            }
        }
        assert!(asked.len() > 20);
        let mut by_node: BTreeMap<NodeId, Vec<Slot>> = BTreeMap::new();
        for slot in slots.as_slice() {
            by_node.entry(slot.node).or_default().push(*slot);
        }
        let mut beside = Beside { grid: &grid, kept, by_node, from: Time(0), asked };
        for _ in 0..60 {
            let node = random.random_range(0..grid.len() as u32);
            let spans: Vec<(i64, i64)> = (0..random.random_range(0..5))
                .map(|_| (random.random_range(0..60), random.random_range(1..80)))
                .collect();
            let what = match random.random_range(0..4) {
                0 => Happens::Take(random.random_range(0..40)),
                _ => Happens::Change(node, spans),
            };
            beside.happens(&what);
        }
    }
}

#[test]
fn slots_that_are_none_of_the_node_are_refused() {
    let (grid, slots) = random_world(1, 3, 100);
    let mut kept = KeptWindows::new(&grid, &slots, Time(0));
    let slot = |node, start, end| Slot { start: Time(start), end: Time(end), node: NodeId(node) };
    let key = kept.add(Request::new(1, Span(10)), Search::best(Criterion::Start)).unwrap();
    let before = kept.best(key).cloned();
    let refused = [vec![slot(1, 0, 9)], vec![slot(0, 9, 9)], vec![slot(0, 5, 9), slot(0, 0, 4)]];
    for slots in refused {
        assert!(kept.change(NodeId(0), slots).is_err());
    }
    assert!(kept.change(NodeId(9), vec![slot(9, 0, 9)]).is_err());
    assert_eq!(kept.change(NodeId(9), Vec::new()), Ok(Vec::new()));
    for node in [0, 9] {
        let (node, length) = (NodeId(node), Span(1_000));
        let task = tradewind_model::Task { node, length, cost: Money(1), group: 0 };
        assert!(kept.take(&Window::new(Time(0), vec![task]).unwrap()).is_err());
    }
    assert_eq!(kept.best(key), before.as_ref());
    let unlike = Search::best(Criterion::Sum("watts".into()));
    assert_eq!(kept.add(Request::new(1, Span(10)), unlike), Err(WholeList));
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
