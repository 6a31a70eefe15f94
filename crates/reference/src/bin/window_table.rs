//! Prints the window search's figures as Markdown tables: `window_table [speed|growth|bounded|csa]…`.
#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tradewind_model::{Criterion, Money, Request, Time};
use tradewind_reference::scan;
use tradewind_reference::worlds::Market;
use tradewind_sched::window::{Algorithm, Scratch, Search, Searcher, Variant};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if has("speed") {
        speed();
    }
    if has("growth") {
        growth();
    }
    if has("bounded") {
        bounded();
    }
    if has("csa") {
        csa();
    }
}

/// The minimum time of one call: as many calls as fit 0.3 s, at least three.
fn min(mut call: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    let begin = Instant::now();
    for round in 0.. {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
        if round >= 3 && begin.elapsed() > Duration::from_millis(300) {
            break;
        }
    }
    best
}

fn ns_per_slot(market: &Market, time: Duration) -> f64 {
    time.as_nanos() as f64 / market.slots.len() as f64
}

/// Which budget a row is measured under, in per cent of the cheapest window's cost.
const ROWS: [(&str, Criterion, i64); 6] = [
    ("start, no window: whole list", Criterion::Start, 99),
    ("cost", Criterion::Cost, 200),
    ("runtime, budget 1.3 × least", Criterion::Runtime, 130),
    ("runtime, no window", Criterion::Runtime, 99),
    ("finish, budget 1.3 × least", Criterion::Finish, 130),
    ("finish, no window", Criterion::Finish, 99),
];

fn request(market: &Market, tasks: u32, criterion: &Criterion, percent: i64) -> Request {
    let mut request = market.request(tasks, criterion.clone());
    let cheapest = market.cheapest(tasks).map_or(0, |money| money.0);
    request.budget = Some(Money((i128::from(cheapest) * i128::from(percent) / 100) as i64));
    request
}

/// One whole search: ranking and scan.
fn search(market: &Market, request: &Request, scratch: &mut Scratch) -> bool {
    let search = Search::best(request.criterion.clone());
    let searcher = Searcher::new(&market.grid, request, &search);
    black_box(searcher.find(&market.slots, Time::MIN, scratch)).is_some()
}

fn speed() {
    println!("| slots × nodes | tasks | search | ns/slot | plain scan | ratio | one pass |");
    println!("|---|---|---|---|---|---|---|");
    let sizes = [
        (100, 30, 5),
        (100_000, 100, 5),
        (10_000, 3_000, 5),
        (100_000, 30_000, 5),
        (100_000, 30_000, 50),
        (100_000, 30_000, 500),
    ];
    for (slots, nodes, tasks) in sizes {
        let market = Market::random(1, slots, nodes);
        let pass = ns_per_slot(&market, min(|| one_pass(&market)));
        for (name, criterion, percent) in &ROWS {
            let request = request(&market, tasks, criterion, *percent);
            let mut scratch = Scratch::default();
            let ours = min(|| {
                black_box(search(&market, &request, &mut scratch));
            });
            let theirs = min(|| {
                black_box(scan::find(&market.grid, &market.slots, &request));
            });
            let (ours, theirs) = (ns_per_slot(&market, ours), ns_per_slot(&market, theirs));
            println!(
                "| {slots} × {nodes} | {tasks} | {name} | {ours:.1} | {theirs:.1} | {:.2} | {pass:.2} |",
                theirs / ours
            );
        }
    }
}

/// One sequential pass over the list, as a floor.
fn one_pass(market: &Market) {
    let idle: i64 = market.slots.as_slice().iter().map(|slot| slot.end.0 - slot.start.0).sum();
    black_box(idle);
}

fn growth() {
    let sizes = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
    let markets: Vec<Market> = sizes.iter().map(|&p| Market::random(1, p, p * 3 / 10)).collect();
    println!("| search | {} | exponent |", sizes.map(|p| format!("{p}")).join(" | "));
    println!("|---|{}---|", "---|".repeat(sizes.len()));
    for (name, criterion, percent) in &ROWS {
        let mut points = Vec::new();
        let mut cells = Vec::new();
        for market in &markets {
            let request = request(market, 5, criterion, *percent);
            let mut scratch = Scratch::default();
            let time = min(|| {
                black_box(search(market, &request, &mut scratch));
            });
            points.push(((market.slots.len() as f64).ln(), time.as_secs_f64().ln()));
            cells.push(format!("{:.1}", ns_per_slot(market, time)));
        }
        println!("| {name} | {} | {:.3} |", cells.join(" | "), slope(&points));
    }
}

/// The minimum-squares slope.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let above: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let below: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    above / below
}

/// Processor time under a budget: time and proof.
fn bounded() {
    println!("| slots × nodes | tasks | budget / least | processor time | proof | time |");
    println!("|---|---|---|---|---|---|");
    for (slots, nodes) in [(1_000, 300), (10_000, 3_000), (100_000, 30_000)] {
        let market = Market::random(1, slots, nodes);
        for (tasks, percent) in
            [5, 50, 200].into_iter().flat_map(|m| [102, 120, 160].map(|b| (m, b)))
        {
            let request = request(&market, tasks, &Criterion::ProcessorTime, percent);
            let search = Search::best(Criterion::ProcessorTime);
            let searcher = Searcher::new(&market.grid, &request, &search);
            let mut scratch = Scratch::default();
            let begin = Instant::now();
            let found = searcher.find(&market.slots, Time::MIN, &mut scratch);
            let time = ms(begin.elapsed());
            let (value, proof) = match found {
                Some(it) => (it.window.processor_time().0, format!("{:?}", it.proof)),
                None => (0, "no window".into()),
            };
            println!(
                "| {slots} × {nodes} | {tasks} | {:.2} | {value} | {proof} | {time} |",
                percent as f64 / 100.0
            );
        }
    }
}

fn csa() {
    println!("| nodes | horizon | slots | windows | CSA | paper's steps | published |");
    println!("|---|---|---|---|---|---|---|");
    let by_nodes = [50, 100, 200, 300, 400].map(|nodes| (nodes, 600));
    let by_horizon = [1_200, 1_800, 2_400, 3_000, 3_600].map(|horizon| (100, horizon));
    for (nodes, horizon) in by_nodes.into_iter().chain(by_horizon).chain([(10_000, 600)]) {
        let market = Market::of_paper(1, nodes, horizon);
        let mut request = market.request(5, Criterion::Finish);
        request.budget = market.cheapest(5).map(|money| Money(money.0 * 1_500 / 1_027));
        let published = match (nodes, horizon) {
            (400, 600) => "about 3,000 ms",
            (100, 3_600) => "about 2,500 ms",
            _ => "",
        };
        let paper = if nodes > 1_000 {
            "–".into()
        } else {
            ms(csa_time(&market, &request, Variant::Paper))
        };
        println!(
            "| {nodes} | {horizon} | {} | {} | {} | {paper} | {published} |",
            market.slots.len(),
            windows(&market, &request),
            ms(csa_time(&market, &request, Variant::Exact)),
        );
    }
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1_000.0)
}

fn csa_time(market: &Market, request: &Request, variant: Variant) -> Duration {
    let search = Search { variant, ..Search::new(Algorithm::Csa(Criterion::Finish)) };
    let mut scratch = Scratch::default();
    min(|| {
        let searcher = Searcher::new(&market.grid, request, &search);
        black_box(searcher.find(&market.slots, Time::MIN, &mut scratch));
    })
}

/// How many windows CSA cuts.
fn windows(market: &Market, request: &Request) -> usize {
    let searcher = Searcher::new(&market.grid, request, &Search::new(Algorithm::Amp));
    let mut left = market.slots.clone();
    let (mut scratch, mut count, mut from) = (Scratch::default(), 0, Time::MIN);
    while let Some(found) = searcher.find(&left, from, &mut scratch) {
        from = found.window.start();
        if left.subtract_window(&found.window).is_err() {
            break;
        }
        count += 1;
    }
    count
}
