//! A whole market for a test: an engine on a store in memory, sites that are driven by hand, and
//! a server on a free port.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::contract;
use crate::hand::{ByHand, Hand};
use serde_json::{Value, json};
use tradewind_daemon::audit::Audit;
use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::reads::Permit;
use tradewind_daemon::engine::{Engine, Setup, SiteSetup, Timing};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::Booking;
use tradewind_daemon::live::{Ask, Make, Refusal, RefusalKind, Settings};
use tradewind_daemon::site::{
    Excerpt, Exit, Finding, PoolSetup, SiteError, Stream, Tag, Verdict, Written,
};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::sqlite::Sqlite;
use tradewind_daemon::store::{Origin, Store};
use tradewind_model::{
    Admission, Attribute, Demand, JobId, Money, Performance, Place, Pool, PoolId, Pools, Price,
    Reason, SiteId, Span, Time, Times,
};
use tradewind_sched::policy::{Policy, gridfill};
use tradewind_web::documents::{Explanation, QueuePlan, Totals, WhatIf, WhatIfQuestion};
use tradewind_web::{
    Advisor, Api, Daemons, Limits, Listen, MarketView, Operations, Outputs, Plan, Proposal, Quoted,
    Receiver, ReplayResult, ServeError, Server, SignIn, StandbyDaemon, Tariffs, Tls, Watch, Week,
    new_secret, serve,
};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, policy: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        match policy {
            "easy" | "other" => {
                Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
            }
            wrong => Err(format!("there is no policy `{wrong}`")),
        }
    }
}

pub(crate) fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64)
}

/// Horizons of the what-ifs that have begun, in all tests of this process.
pub(crate) static ASKED: Mutex<BTreeSet<i64>> = Mutex::new(BTreeSet::new());

/// Everything that the API cannot do itself, by rote.
#[derive(Debug)]
pub(crate) struct ByRote;

impl Outputs for ByRote {
    fn read(&self, _: SiteId, tag: &Tag, wanted: Excerpt, _: Permit) -> Result<Written, SiteError> {
        let stream = if wanted.stream == Stream::Error { "errors" } else { "output" };
        Ok(wanted.of(format!("{stream} of {}", tag.job).as_bytes()))
    }
}

impl Tariffs for ByRote {
    fn check(&self, _: PoolId, text: &str) -> Result<(), String> {
        match text.starts_with("price = ") {
            true => Ok(()),
            false => Err("line 1: this is no price".to_owned()),
        }
    }
}

impl Operations for ByRote {
    fn examine(&self) -> Result<Vec<(String, Finding)>, String> {
        let finding = |verdict, what: &str, remedy: &str| Finding {
            what: what.to_owned(),
            verdict,
            found: "as it was found".to_owned(),
            remedy: remedy.to_owned(),
        };
        let clock = finding(Verdict::Warning, "the clock", "set it by NTP");
        let login = finding(Verdict::Good, "the login", "");
        let queue = finding(Verdict::Bad, "the queue <b>", "open it");
        let named = |it: Finding| ("alpha".to_owned(), it);
        Ok([clock, login, queue].map(named).into())
    }

    fn receivers(&self) -> Vec<Receiver> {
        vec![Receiver {
            name: "hooks.example.org".to_owned(),
            sent: 1_200,
            last_sent: Some(now().0 - 30),
            failed: 2,
            last_failure: Some((now().0 - 4_000, "the answer was 500".to_owned())),
            waiting: 3,
        }]
    }

    fn daemons(&self) -> Option<Result<Daemons, String>> {
        let standby = |url: &str, rows_behind, silent| StandbyDaemon {
            url: url.to_owned(),
            rows_behind,
            silent,
        };
        let standbys = vec![standby("http://two", 7, 0), standby("http://three", 0, 60)];
        let owner = Some("http://one".to_owned());
        Some(Ok(Daemons { owner, lease: Some(9), standbys }))
    }
}

impl ByRote {
    /// Questions about 7,007 seconds and more that end in 7 take as many milliseconds, unless they
    /// are stopped.
    fn work(&self, _: &MarketView, span: Span, watch: &Watch) -> Result<(), Refusal> {
        let begin = Instant::now();
        let time = Duration::from_millis(span.0.unsigned_abs());
        while span.0 >= 7_000 && span.0 % 10 == 7 && begin.elapsed() < time {
            if watch.is_over() {
                return Err(Refusal::new(RefusalKind::Unavailable, "it was stopped", ""));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Advisor for ByRote {
    fn replay_with_prices(
        &self,
        _: &MarketView,
        week: &Week,
        _: &[(Time, PoolId, Price)],
        _: &Watch,
    ) -> Result<ReplayResult, Refusal> {
        Ok(week.real.clone())
    }

    fn plan(&self) -> Option<Arc<Plan>> {
        None
    }

    fn quote(&self, view: &MarketView, demand: &Demand, watch: &Watch) -> Result<Quoted, Refusal> {
        self.work(view, demand.estimate, watch)?;
        let start = now() + Span(1_000);
        let booking = Booking {
            start,
            ends: vec![start + demand.estimate],
            place: Place::Pool(PoolId(0)),
            prices: vec![view.market.pools().pool(PoolId(0)).price],
            groups: None,
        };
        let found = |criterion: &str| Proposal {
            criterion: criterion.to_owned(),
            exact: true,
            answer: Ok((booking.clone(), Money(60_000_000))),
        };
        let none =
            Proposal { criterion: "cost".to_owned(), exact: true, answer: Err(Reason::NoValue) };
        let proposals = vec![found("start"), found("finish"), none];
        Ok(Quoted { proposals, queue: QueuePlan::default() })
    }

    fn quote_instead(
        &self,
        view: &MarketView,
        _: JobId,
        demand: &Demand,
        watch: &Watch,
    ) -> Result<Vec<Proposal>, Refusal> {
        Ok(self.quote(view, demand, watch)?.proposals)
    }

    fn whatif(
        &self,
        view: &MarketView,
        question: &WhatIfQuestion,
        watch: &Watch,
    ) -> Result<WhatIf, Refusal> {
        let span = question.horizon.unwrap_or_default();
        ASKED.lock().unwrap().insert(span);
        let priority = rustix::process::getpriority_process(None).unwrap();
        self.work(view, Span(question.horizon.unwrap_or_default()), watch)?;
        assert_ne!(question.policy.as_deref(), Some("broken"), "a mistake in an advisor");
        let totals = Totals {
            started: 0,
            refused: 0,
            open: 0,
            mean_wait: Some(1.5),
            makespan: 0,
            income: Money(0).into(),
        };
        let changes = view.numbers.values().map(|job| tradewind_web::documents::JobChange {
            job: *job,
            before: Default::default(),
            after: Default::default(),
        });
        Ok(WhatIf {
            before: view.policy.clone(),
            after: question.policy.clone().unwrap_or_default(),
            from: 0,
            // How nice the thread is that answers.
            until: priority.into(),
            totals_before: totals.clone(),
            totals_after: totals,
            same: 0,
            sooner: 0,
            later: 0,
            changes: changes.collect(),
            looked_at: None,
        })
    }

    fn explain_window(
        &self,
        _: &MarketView,
        _: &Demand,
        _: &Watch,
    ) -> Result<Explanation, Refusal> {
        panic!("no job of the tests has groups")
    }

    fn explain(&self, view: &MarketView, job: JobId, _: &Watch) -> Result<Explanation, Refusal> {
        if view.market.demand(job).unwrap().processors == 2 {
            panic!("a mistake in an advisor");
        }
        Ok(Explanation {
            job: view.numbers[&job],
            reason: None,
            message: "other jobs are ahead of it".to_owned(),
            expected_start: None,
            expectation: None,
            advice: None,
            ahead: Some(1),
            relaxations: vec![],
            fall_backs: vec![],
            fair_share: None,
            queue: None,
        })
    }
}

fn pools() -> Pools {
    let pool = |name: &str, site: u32, performance| {
        let (of, own) = name.split_once('/').unwrap();
        let text = |text: &str| Attribute::Text(text.to_owned());
        Pool {
            name: name.to_owned(),
            site: SiteId(site),
            nodes: 2,
            performance: Performance::from_thousandths(performance).unwrap(),
            price: Price(1_000_000),
            attributes: [("site".to_owned(), text(of)), ("pool".to_owned(), text(own))].into(),
            admission: Admission::NONE,
            times: Times::Work,
        }
    };
    let site = |name: &str| tradewind_model::Site { name: name.to_owned() };
    let both = vec![pool("alpha/x", 0, 1_000), pool("beta/y", 1, 2_000)];
    Pools::new(vec![site("alpha"), site("beta")], both).unwrap()
}

/// A log in a folder of its own.
fn audit() -> (tempfile::TempDir, Audit) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let store = Box::new(Sqlite::open(&path).unwrap());
    let audit = Audit::start(store, move || Ok(Box::new(Sqlite::look(&path)?) as Box<dyn Store>));
    (folder, audit.unwrap())
}

/// A market with a server.
pub(crate) struct Stage {
    pub(crate) hands: [Hand; 2],
    /// By user: the secret of a token. `root` is an administrator, `olga` owns `alpha`.
    pub(crate) tokens: BTreeMap<&'static str, String>,
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) server: Server,
    agent: ureq::Agent,
    /// The folder of the audit log.
    pub(crate) log: tempfile::TempDir,
    pub(crate) audit: Audit,
    scheme: &'static str,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage::with(Limits::default(), None, ureq::tls::TlsConfig::default())
    }

    pub(crate) fn limited(limits: Limits) -> Stage {
        Stage::with(limits, None, ureq::tls::TlsConfig::default())
    }

    pub(crate) fn with(limits: Limits, tls: Option<Tls>, trust: ureq::tls::TlsConfig) -> Stage {
        Stage::try_with(limits, tls, trust, SignIn::default()).unwrap()
    }

    pub(crate) fn signing_in(sign_in: SignIn) -> Stage {
        let trust = ureq::tls::TlsConfig::default();
        Stage::try_with(Limits::default(), None, trust, sign_in).unwrap()
    }

    pub(crate) fn try_with(
        limits: Limits,
        tls: Option<Tls>,
        trust: ureq::tls::TlsConfig,
        sign_in: SignIn,
    ) -> Result<Stage, ServeError> {
        Stage::made([Hand::default(), Hand::default()], limits, tls, trust, sign_in)
    }

    /// The second site cannot be reached, from the beginning.
    pub(crate) fn without_beta(error: SiteError) -> Stage {
        let hands = [Hand::default(), Hand::default()];
        hands[1].fail(Some(error));
        let (trust, sign_in) = (ureq::tls::TlsConfig::default(), SignIn::default());
        Stage::made(hands, Limits::default(), None, trust, sign_in).unwrap()
    }

    fn made(
        hands: [Hand; 2],
        limits: Limits,
        tls: Option<Tls>,
        trust: ureq::tls::TlsConfig,
        sign_in: SignIn,
    ) -> Result<Stage, ServeError> {
        let origin = Origin { market: "m".to_owned(), created: 0 };
        let sites = [("alpha", "olga", "x"), ("beta", "otto", "y")].into_iter().zip(&hands);
        let sites = sites.map(|((name, owner, pool), hand)| {
            let performance = Performance::from_thousandths(1_000).unwrap();
            let attributes = Default::default();
            let pools =
                vec![PoolSetup { name: pool.to_owned(), nodes: 2, performance, attributes }];
            let site = Box::new(ByHand { pools, tasks: hand.clone() });
            let survey_every = Duration::from_millis(20);
            SiteSetup {
                name: name.to_owned(),
                owner: owner.to_owned(),
                site,
                survey_every,
                survey_within: Duration::from_secs(60),
            }
        });
        let setup = Setup {
            open: Box::new(move || {
                Ok(Box::new(Disk::new(origin.clone()).open().unwrap()) as Box<dyn Store>)
            }),
            codec: Json,
            pools: Arc::new(pools()),
            sites: sites.collect(),
            peers: vec![],
            maker: Arc::new(Easy),
            policy: "easy".to_owned(),
            settings: Settings { peers: vec!["far".to_owned()], ..Settings::default() },
            timing: Timing::default(),
        };
        let engine = Engine::start(setup).unwrap();
        engine.handle.await_surveys(Duration::from_secs(60));
        let market = engine.handle.clone();
        let roles = [("root", Role::Administrator), ("olga", Role::Owner), ("otto", Role::Owner)];
        let roles = roles.into_iter().chain([("ana", Role::User), ("bob", Role::User)]);
        let roles = roles.chain([("far", Role::Peer)]);
        let tokens = roles.map(|(name, role)| {
            let (secret, hash) = new_secret().unwrap();
            let root = Actor { user: "root".to_owned(), role: Role::Administrator };
            let (user, note) = (name.to_owned(), String::new());
            market
                .ask(root, Ask::Admit { user, role, hash, note, terms: Default::default() })
                .unwrap();
            (name, secret)
        });
        let tokens = tokens.collect();
        let (advisor, outputs, tariffs) = (Arc::new(ByRote), Arc::new(ByRote), Arc::new(ByRote));
        let (log, audit) = audit();
        let kept = audit.clone();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let observations = Default::default();
        let operations = Arc::new(ByRote);
        let api = Api {
            market,
            outputs,
            advisor,
            tariffs,
            limits,
            audit,
            sign_in,
            observations,
            operations,
        };
        let hosts = vec!["market.local".to_owned()];
        let server = serve(api, Listen { address: ([127, 0, 0, 1], 0).into(), tls, hosts });
        let server = match server {
            Ok(server) => server,
            Err(wrong) => {
                engine.handle.stop();
                engine.wait();
                return Err(wrong);
            }
        };
        let client = ureq::Agent::config_builder().tls_config(trust).http_status_as_error(false);
        let agent = client.build().new_agent();
        Ok(Stage {
            hands,
            tokens,
            address: server.address,
            engine,
            server,
            agent,
            log,
            audit: kept,
            scheme,
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.address.port())
            .replace("http://localhost", "http://127.0.0.1")
    }

    /// Sends any request.
    pub(crate) fn send(
        &self,
        user: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (u16, String) {
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        if let Some(token) = self.tokens.get(user) {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let run = |request| {
            self.agent.configure_request(request).allow_non_standard_methods(true).build()
        };
        let mut answer = match body.is_empty() {
            true => self.agent.run(run(request.body(vec![]).unwrap())).unwrap(),
            false => self.agent.run(run(request.body(body).unwrap())).unwrap(),
        };
        let status = answer.status().as_u16();
        (status, answer.body_mut().read_to_string().unwrap())
    }

    /// The headers of an answer.
    pub(crate) fn head(&self, user: &str, path: &str) -> ureq::http::HeaderMap {
        let bearer = format!("Bearer {}", self.tokens[user]);
        let answer = self.agent.get(self.url(path)).header("Authorization", bearer).call();
        answer.unwrap().headers().clone()
    }

    /// Sends a document, or nothing if it is `null`.
    pub(crate) fn call(&self, user: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = if body.is_null() { vec![] } else { body.to_string().into_bytes() };
        let (status, text) = self.send(user, method, path, &[], body);
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        contract::check(method, path, status, &value);
        (status, value)
    }

    pub(crate) fn get(&self, user: &str, path: &str) -> (u16, Value) {
        self.call(user, "GET", path, Value::Null)
    }

    /// Submits a job of so many nodes, and returns its number.
    pub(crate) fn submit(&self, user: &str, nodes: u32) -> u64 {
        let (status, done) = self.call(user, "POST", "/v1/jobs", job(nodes));
        assert_eq!(status, 201, "{done}");
        done["jobs"][0].as_u64().unwrap()
    }

    /// Waits until the job is in this state.
    pub(crate) fn until(&self, job: u64, state: &str) -> Value {
        let begin = Instant::now();
        loop {
            let (_, seen) = self.get("root", &format!("/v1/jobs/{job}"));
            if seen["state"] == state {
                return seen;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{seen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The job's task ends like this, at whichever site it is.
    pub(crate) fn end(&self, job: u64, exit: Exit) {
        self.until(job, "RUNNING");
        let at = |hand: &&Hand| hand.tasks().keys().any(|tag| tag.job == job);
        self.hands.iter().filter(at).for_each(|hand| hand.end(job, exit.clone()));
    }

    pub(crate) fn stop(self) {
        self.server.stop();
        self.audit.stop();
        self.engine.handle.stop();
        self.engine.wait();
    }
}

/// A job of so many nodes for a minute.
pub(crate) fn job(nodes: u32) -> Value {
    json!({"name": "t", "command": ["true"], "nodes": nodes, "time": 60})
}
