//! A market of 4,000 nodes whose sites only pretend.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::reads::Permit;
use tradewind_daemon::engine::{Engine, Handle, Setup, SiteSetup, Timing};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Make, Refusal, Settings};
use tradewind_daemon::site::{
    Excerpt, Exit, Finding, Go, Order, PoolSetup, PoolSurvey, Seen, Site, SiteError, Survey, Tag,
    Written,
};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::{Origin, Store};
use tradewind_io::input::Input;
use tradewind_io::submission::document;
use tradewind_model::{
    Admission, Attribute, Demand, JobId, Performance, Place, Pool, PoolId, Pools, Price, SiteId,
    Span, Time, Times,
};
use tradewind_sched::policy::{Policy, gridfill};
use tradewind_web::documents::{Explanation, QueuePlan, WhatIf, WhatIfQuestion};
use tradewind_web::{
    Advisor, Api, Limits, Listen, MarketView, Outputs, Plan, Planned, Proposal, Quoted, Rate,
    ReplayResult, Tariffs, Watch, Week, new_secret, serve,
};

pub(crate) const NODES: u32 = 4_000;
pub(crate) const JOBS: u32 = 10_000;
const SITES: u32 = 4;
/// Nothing that is measured reaches it.
const RATE: Rate = Rate { per_second: 1_000_000, burst: 1_000_000 };
const POOLS: u32 = 8;
const OF_POOL: u32 = NODES / POOLS;

/// Numbers without a pattern, the same in every run.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

/// Gives each task nodes anywhere among those that are free, and says that it runs.
#[derive(Debug)]
struct Pretence {
    pools: Vec<PoolSetup>,
    free: Vec<BTreeSet<u32>>,
    tasks: BTreeMap<Tag, Seen>,
    draw: Draw,
}

impl Site for Pretence {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }
    fn survey(&mut self) -> Result<Survey, SiteError> {
        let pools = vec![PoolSurvey { up: OF_POOL, ..PoolSurvey::default() }; self.pools.len()];
        Ok(Survey { pools, tasks: self.tasks.clone(), ..Survey::default() })
    }
    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        let own = |pool: &PoolSetup| pool.name == order.pool;
        let pool = self.pools.iter().position(own).unwrap_or(0);
        let free = &mut self.free[pool];
        let mut nodes = Vec::new();
        for _ in 0..order.nodes {
            let from = self.draw.below(u64::from(OF_POOL)) as u32;
            let Some(node) = free.range(from..).next().or(free.first()).copied() else { break };
            free.remove(&node);
            nodes.push(format!("{}-{node:03}", self.pools[pool].name));
        }
        self.tasks.insert(order.tag.clone(), Seen::Running { since: now(), nodes });
        Ok(())
    }
    fn go(&mut self, _: &Tag, _: &Go) -> Result<(), SiteError> {
        Ok(())
    }
    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let ended = Seen::Ended { since: None, at: now(), exit: Exit::Withdrawn };
        self.tasks.insert(tag.clone(), ended);
        Ok(())
    }
    fn recall(&mut self, _: &Tag) -> Result<(), SiteError> {
        Err(SiteError::Begun)
    }
    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.tasks.remove(tag);
        Ok(())
    }
    fn output(&mut self, _: &Tag, _: usize) -> Result<Vec<u8>, SiteError> {
        Ok(vec![])
    }
    fn doctor(&mut self) -> Vec<Finding> {
        vec![]
    }
}

/// Plans by taking the nodes that are free first, job after job; knows nothing else. As the daemon
/// does, it plans beside the requests, and these see the last plan.
#[derive(Debug, Default)]
struct First {
    last: Mutex<Option<Arc<Plan>>>,
}

impl First {
    /// Plans until the program ends.
    fn plans(&self, market: &Handle) {
        while let Ok(view) = market.look(|live| MarketView::of(live, Span(0))) {
            let plan = Arc::new(planned(&view));
            *self.last.lock().unwrap() = Some(plan);
            std::thread::sleep(Duration::from_secs(3));
        }
    }
}

fn cannot() -> Refusal {
    Refusal::new(tradewind_daemon::live::RefusalKind::Conflict, "not here", "")
}

impl Advisor for First {
    fn plan(&self) -> Option<Arc<Plan>> {
        self.last.lock().unwrap().clone()
    }
    fn quote(&self, _: &MarketView, _: &Demand, _: &Watch) -> Result<Quoted, Refusal> {
        Err(cannot())
    }
    fn quote_instead(
        &self,
        _: &MarketView,
        _: JobId,
        _: &Demand,
        _: &Watch,
    ) -> Result<Vec<Proposal>, Refusal> {
        Err(cannot())
    }
    fn whatif(&self, _: &MarketView, _: &WhatIfQuestion, _: &Watch) -> Result<WhatIf, Refusal> {
        Err(cannot())
    }
    fn replay_with_prices(
        &self,
        _: &MarketView,
        _: &Week,
        _: &[(Time, PoolId, Price)],
        _: &Watch,
    ) -> Result<ReplayResult, Refusal> {
        Err(cannot())
    }
    fn explain_window(
        &self,
        _: &MarketView,
        _: &Demand,
        _: &Watch,
    ) -> Result<Explanation, Refusal> {
        Err(cannot())
    }

    fn explain(&self, _: &MarketView, _: JobId, _: &Watch) -> Result<Explanation, Refusal> {
        Err(cannot())
    }
}

fn planned(view: &MarketView) -> Plan {
    let now = view.market.now();
    let mut free: Vec<Vec<Time>> = vec![vec![now; OF_POOL as usize]; POOLS as usize];
    let mut planned = Vec::new();
    for job in view.market.queue() {
        let Some(demand) = view.market.demand(job) else { continue };
        let nodes = demand.processors as usize;
        let pool = (0..free.len()).min_by_key(|pool| free[*pool][nodes - 1]).unwrap_or(0);
        let start = free[pool][nodes - 1];
        let end = start + demand.estimate;
        free[pool][..nodes].fill(end);
        free[pool].sort_unstable();
        let place = Place::Pool(PoolId(pool as u32));
        planned.push(Planned { job, start, end, place });
    }
    let looked_at = planned.len() as u64;
    let queue = QueuePlan { queue_as_of: now.0, waiting: looked_at, looked_at, placed: 0 };
    Plan { queue, jobs: planned }
}

impl Outputs for First {
    fn read(&self, _: SiteId, _: &Tag, it: Excerpt, _: Permit) -> Result<Written, SiteError> {
        Ok(it.of(&[]))
    }
}

impl Tariffs for First {
    fn check(&self, _: PoolId, _: &str) -> Result<(), String> {
        Ok(())
    }
}

fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64)
}

fn pools() -> Pools {
    let text = |text: String| Attribute::Text(text);
    let pool = |at: u32| Pool {
        name: format!("site{}/pool{at}", at * SITES / POOLS),
        site: SiteId(at * SITES / POOLS),
        nodes: OF_POOL,
        performance: Performance::from_thousandths(1_000).unwrap(),
        price: Price(i64::from(500 + at * 100)),
        attributes: [
            ("site".to_owned(), text(format!("site{}", at * SITES / POOLS))),
            ("pool".to_owned(), text(format!("pool{at}"))),
        ]
        .into(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = (0..SITES).map(|at| tradewind_model::Site { name: format!("site{at}") });
    Pools::new(sites.collect(), (0..POOLS).map(pool).collect()).unwrap()
}

fn site(at: u32) -> SiteSetup {
    let own = (0..POOLS).filter(|pool| pool * SITES / POOLS == at);
    let performance = Performance::from_thousandths(1_000).unwrap();
    let pools: Vec<PoolSetup> = own
        .map(|pool| PoolSetup {
            name: format!("pool{pool}"),
            nodes: OF_POOL,
            performance,
            attributes: Default::default(),
        })
        .collect();
    let free = vec![(0..OF_POOL).collect(); pools.len()];
    let draw = Draw(u64::from(at) + 7);
    let site = Box::new(Pretence { pools, free, tasks: BTreeMap::new(), draw });
    let (name, owner) = (format!("site{at}"), "olga".to_owned());
    let minute = Duration::from_secs(60);
    SiteSetup { name, owner, site, survey_every: Duration::from_secs(1), survey_within: minute }
}

/// The market and its server.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) token: String,
    address: std::net::SocketAddr,
    engine: Arc<Engine>,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let origin = Origin { market: "bench".to_owned(), created: 0 };
        let setup = Setup {
            open: Box::new(move || {
                Ok(Box::new(Disk::new(origin.clone()).open().unwrap()) as Box<dyn Store>)
            }),
            codec: Json,
            pools: Arc::new(pools()),
            sites: (0..SITES).map(site).collect(),
            peers: vec![],
            maker: Arc::new(Easy),
            policy: "easy".to_owned(),
            settings: Settings::default(),
            timing: Timing::default(),
        };
        let engine = Arc::new(Engine::start(setup).unwrap());
        let (token, hash) = new_secret().unwrap();
        let (user, note) = ("root".to_owned(), String::new());
        let ask =
            Ask::Admit { user, role: Role::Administrator, hash, note, terms: Default::default() };
        engine.handle.ask(root(), ask).unwrap();
        let first = Arc::new(First::default());
        let (planner, handle) = (Arc::clone(&first), engine.handle.clone());
        std::thread::spawn(move || planner.plans(&handle));
        let api = Api {
            market: engine.handle.clone(),
            outputs: first.clone(),
            advisor: first.clone(),
            tariffs: first,
            limits: Limits {
                // A thousand pages of one user on one machine.
                connections: 4_096,
                connections_per_address: 4_096,
                connections_per_user: 4_096,
                streams: 1_024,
                per_token: RATE,
                per_user: RATE,
                per_address: RATE,
                streams_per_user: 1_024,
                ..Limits::default()
            },
            sign_in: Default::default(),
            audit: Default::default(),
            observations: Default::default(),
            operations: Arc::new(tradewind_web::NoOperations),
        };
        let listen = Listen { address: ([127, 0, 0, 1], 0).into(), tls: None, hosts: vec![] };
        let server = serve(api, listen).unwrap();
        let stage = Stage { token, address: server.address, engine };
        std::mem::forget(server); // it serves until the program ends
        let begun = Instant::now();
        let mut draw = Draw(42);
        for _ in 0..JOBS {
            // As many of one node as of some, of many and of hundreds, for a minute to some days.
            let nodes = (1u64 << draw.below(9)) + draw.below(8);
            let time = 60 * (1 << draw.below(12)) + draw.below(60);
            stage.hand_in(nodes.min(u64::from(OF_POOL)), time);
        }
        std::thread::sleep(Duration::from_secs(4));
        println!("submitted within {:.1} s", begun.elapsed().as_secs_f64());
        stage
    }

    fn hand_in(&self, nodes: u64, time: u64) {
        let text = format!(
            r#"{{"name": "bench", "command": ["true"], "nodes": {nodes}, "time": {time}}}"#
        );
        let submission = document::parse(&Input::new("bench", text.as_bytes())).unwrap();
        let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
        self.engine.handle.ask(root(), ask).unwrap();
    }

    /// One job more.
    pub(crate) fn submit(&self) {
        self.hand_in(3, 600);
    }

    /// How often the engine was looked at.
    pub(crate) fn readings(&self) -> u64 {
        self.engine.handle.gauges().readings.count()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        let bearer = format!("Bearer {}", self.token);
        let mut answer = ureq::get(self.url(path)).header("authorization", bearer).call().unwrap();
        answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }

    /// The first page with all of the board.
    pub(crate) fn all(&self) -> String {
        let frame: serde_json::Value = serde_json::from_slice(&self.get("/page/board")).unwrap();
        format!("/?t={}..{}", frame["from"], frame["until"])
    }

    /// The first page with as many rectangles as are drawn one by one, about, and how many they are.
    pub(crate) fn many(&self, frame: &serde_json::Value) -> (String, usize) {
        let (now, until) = (now().0, frame["until"].as_i64().unwrap());
        let (mut best, mut span) = ((self.near(), 0), 3_600);
        while now + span < until {
            // As the page asks for it: with a part more on either side.
            let path = format!(
                "/page/board/picture?from={}&until={}&first=1000&rows=400&columns=3300&lines=1280",
                now - span,
                now + 2 * span
            );
            let text = self.get(&path);
            let line = text.iter().position(|it| *it == b'\n').unwrap();
            let part: serde_json::Value = serde_json::from_slice(&text[..line]).unwrap();
            if let Some(rows) = part["rectangles"]["row"].as_array() {
                let view = format!("/?t={}..{}&rows=1100.0%2B200.0", now, now + span);
                best = (view, rows.len());
            }
            span = span * 5 / 4;
        }
        best
    }

    /// The first page with an hour of 200 nodes.
    pub(crate) fn near(&self) -> String {
        let now = now().0;
        format!("/?t={}..{}&rows=1000.0+200.0", now - 600, now + 3_000).replace('+', "%2B")
    }
}

fn root() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}
