//! A drawn market that stands still, with a server.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use tradewind_daemon::audit::Audit;
use tradewind_daemon::codec::{Codec as _, Json};
use tradewind_daemon::engine::reads::Permit;
use tradewind_daemon::engine::{CommittedRecord, Handle, still};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Phase, State};
use tradewind_daemon::live::{Ask, Input, Live, Refusal, Settings};
use tradewind_daemon::site::{Excerpt, SiteError, Tag, Written};
use tradewind_daemon::store::Store;
use tradewind_daemon::store::sqlite::Sqlite;
use tradewind_model::{Demand, JobId, Money, Place, PoolId, Price, SiteId, Span, Time};
use tradewind_web::documents::{
    Explanation, Fate, JobChange, QueuePlan, Totals, WhatIf, WhatIfQuestion,
};
use tradewind_web::{
    Advisor, Api, Limits, Listen, MarketView, Outputs, Plan, Planned, Proposal, Quoted,
    ReplayResult, Server, SignIn, Tariffs, Watch, Week, new_secret, serve,
};

use crate::world::Policies;

/// Users of the drawn worlds, and an administrator.
pub(crate) const USERS: [&str; 4] = ["root", "ana", "bo", "cy"];

/// Knows a plan of the queue.
#[derive(Debug)]
struct Knows(Arc<Plan>);

impl Advisor for Knows {
    fn quote(&self, _: &MarketView, _: &Demand, _: &Watch) -> Result<Quoted, Refusal> {
        panic!("no quote is asked for")
    }

    fn quote_instead(
        &self,
        _: &MarketView,
        _: JobId,
        _: &Demand,
        _: &Watch,
    ) -> Result<Vec<Proposal>, Refusal> {
        panic!("no quote is asked for")
    }

    /// As it is, jobs start as in the plan; as asked, at once.
    fn whatif(&self, view: &MarketView, _: &WhatIfQuestion, _: &Watch) -> Result<WhatIf, Refusal> {
        let (now, income) = (view.market.now().0, Money::ZERO.into());
        let totals =
            Totals { started: 0, refused: 0, open: 0, mean_wait: None, makespan: 0, income };
        let starts = |at: i64| Fate { start: Some(at), ..Fate::default() };
        let change = |it: &Planned| JobChange {
            job: view.numbers[&it.job],
            before: starts(it.start.0),
            after: starts(now),
        };
        Ok(WhatIf {
            before: view.policy.clone(),
            after: "other".to_owned(),
            from: now,
            until: now,
            totals_before: totals.clone(),
            totals_after: totals,
            same: 0,
            sooner: 0,
            later: 0,
            changes: self.0.jobs.iter().map(change).collect(),
            looked_at: None,
        })
    }

    fn plan(&self) -> Option<Arc<Plan>> {
        Some(Arc::clone(&self.0))
    }

    fn replay_with_prices(
        &self,
        _: &MarketView,
        _: &Week,
        _: &[(Time, PoolId, Price)],
        _: &Watch,
    ) -> Result<ReplayResult, Refusal> {
        panic!("no replay is asked for")
    }

    fn explain_window(
        &self,
        _: &MarketView,
        _: &Demand,
        _: &Watch,
    ) -> Result<Explanation, Refusal> {
        Ok(Explanation {
            job: 0,
            reason: Some("no-common-time".to_owned()),
            message: "there is no window for all of its groups".to_owned(),
            expected_start: Some(12_345),
            expectation: None,
            advice: None,
            ahead: None,
            relaxations: vec![],
            fall_backs: vec![],
            fair_share: None,
            queue: None,
        })
    }

    fn explain(&self, view: &MarketView, job: JobId, _: &Watch) -> Result<Explanation, Refusal> {
        Ok(Explanation {
            job: view.numbers[&job],
            reason: job.0.is_multiple_of(3).then(|| "no-common-time".to_owned()),
            message: "it waits for jobs before it".to_owned(),
            // Of a computation of its own: no place may show it.
            expected_start: Some(12_345),
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

impl Outputs for Knows {
    fn read(&self, _: SiteId, _: &Tag, it: Excerpt, _: Permit) -> Result<Written, SiteError> {
        Ok(it.of(&[]))
    }
}

impl Tariffs for Knows {
    fn check(&self, _: PoolId, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Starts for most waiting jobs, some of which have passed.
fn plan(state: &State) -> Plan {
    let waiting = state.jobs.values().filter(|job| job.phase() == Phase::Waiting);
    let planned = waiting.filter_map(|job| {
        let pools = state.market.pools();
        let (id, _) = pools.iter().find(|(_, pool)| pool.nodes >= job.nodes())?;
        let start = state.now() + Span((job.number * 37 % 400) as i64 - 50);
        let (job, place) = (job.id()?, Place::Pool(id));
        (job.0 % 5 != 0).then_some(Planned { job, start, end: start + Span(60), place })
    });
    let mut jobs: Vec<Planned> = planned.collect();
    jobs.sort_by_key(|planned| planned.job);
    Plan { queue: QueuePlan { queue_as_of: state.now().0, ..QueuePlan::default() }, jobs }
}

/// The market after many forecasts have ended, so that expected starts have ranges.
fn informed(state: &State) -> State {
    let scores: Vec<String> = (0..60).map(|it| (700_000 + it * 12_345).to_string()).collect();
    let levels = [25, 100, 250, 500, 750, 900, 975].map(|it| format!("{it}000000")).join(",");
    let body = String::from_utf8(Json.state(state)).unwrap();
    // It is the last field, if it is there.
    let before = body.split_once(",\"waits\":{\"head\"").map_or(&body[..body.len() - 1], |it| it.0);
    let waits = format!(
        r#""waits":{{"head":{{"levels":[{levels},0,0,0,60],"held":[]}},"scores":[[0,[-2,0,1,60,{}]]],"open":[]}}"#,
        scores.join(",")
    );
    Json.read_state(Json::VERSION, format!("{before},{waits}}}").as_bytes()).unwrap()
}

/// A copy of the market with a token for each user.
fn copy(live: &Live) -> (Live, Vec<String>) {
    let (state, at) = (informed(live.state()), live.state().now());
    let policy = state.policy.clone();
    let settings = live.settings().clone();
    let begun = Live::begin(state, Settings { ..settings }, Arc::new(Policies), &policy, at);
    let (mut live, _) = begun.unwrap();
    let tokens = USERS.map(|name| {
        let (secret, hash) = new_secret().unwrap();
        let actor = Actor { user: "root".to_owned(), role: Role::Administrator };
        let role = if name == "root" { Role::Administrator } else { Role::User };
        let (user, note) = (name.to_owned(), String::new());
        let ask = Ask::Admit { user, role, hash, note, terms: Default::default() };
        live.step(at, Input::Asked { actor, ask }).unwrap();
        secret
    });
    (live, tokens.into())
}

pub(crate) struct Stage {
    url: String,
    tokens: Vec<String>,
    server: Server,
    market: Handle,
    audit: Audit,
    folder: tempfile::TempDir,
}

impl Stage {
    /// With a server to which these rows are news.
    pub(crate) fn new(live: &Live, rows: Vec<CommittedRecord>) -> Stage {
        let (live, tokens) = copy(live);
        let knows = Arc::new(Knows(Arc::new(plan(live.state()))));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.db");
        let store = Box::new(Sqlite::open(&path).unwrap());
        let audit =
            Audit::start(store, move || Ok(Box::new(Sqlite::look(&path)?) as Box<dyn Store>));
        let (audit, market) = (audit.unwrap(), still(live, rows).unwrap());
        let api = Api {
            market: market.clone(),
            outputs: Arc::clone(&knows) as Arc<dyn Outputs>,
            advisor: Arc::clone(&knows) as Arc<dyn Advisor>,
            tariffs: knows,
            limits: Limits::default(),
            audit: audit.clone(),
            sign_in: SignIn::default(),
            observations: Default::default(),
            operations: Arc::new(tradewind_web::NoOperations),
        };
        let listen = Listen { address: ([127, 0, 0, 1], 0).into(), tls: None, hosts: vec![] };
        let server = serve(api, listen).unwrap();
        let url = format!("http://127.0.0.1:{}", server.address.port());
        Stage { url, tokens, server, market, audit, folder }
    }

    fn token(&self, user: &str) -> &str {
        let place = USERS.iter().position(|it| *it == user).unwrap();
        &self.tokens[place]
    }

    /// The text at the address, as this user sees it.
    pub(crate) fn text(&self, user: &str, path: &str) -> String {
        let bearer = format!("Bearer {}", self.token(user));
        let request = ureq::get(format!("{}{path}", self.url)).header("Authorization", bearer);
        let mut answer = request.call().unwrap_or_else(|wrong| panic!("{path}: {wrong}"));
        answer.body_mut().read_to_string().unwrap()
    }

    /// The stream of all events, up to that of this row.
    pub(crate) fn events(&self, last: u64) -> Vec<Value> {
        let bearer = format!("Bearer {}", self.token("root"));
        let url = format!("{}/v1/events?after=0", self.url);
        let answer = ureq::get(url).header("Authorization", bearer).call().unwrap();
        let lines = BufReader::new(answer.into_body().into_reader()).lines().map(Result::unwrap);
        let texts = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        let mut all = Vec::new();
        for text in texts {
            let event: Value = serde_json::from_str(&text).unwrap();
            let is_last = event["seq"] == last;
            all.push(event);
            if is_last {
                break;
            }
        }
        all
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.text("root", path)).unwrap()
    }

    /// All jobs, as the list of the API has them.
    pub(crate) fn jobs(&self) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let list = self.get(&format!("/v1/jobs?limit=50&after={after}"));
            all.extend(list["jobs"].as_array().unwrap().iter().cloned());
            match list.get("next").and_then(Value::as_u64) {
                Some(next) => after = next,
                None => return all,
            }
        }
    }

    /// What a command of the administrator prints.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        self.shim("tradewind", words)
    }

    /// What the program prints under this name, as one of Slurm's commands.
    pub(crate) fn shim(&self, name: &str, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg0(name);
        command.args(words).env("TRADEWIND_URL", &self.url).env("TZ", "UTC");
        command.env("TRADEWIND_TOKEN", self.token("root")).env("HOME", self.folder.path());
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() != Some(2), "{words:?}: {said}");
        String::from_utf8(done.stdout).unwrap()
    }

    pub(crate) fn stop(self) {
        self.server.stop();
        self.audit.stop();
        self.market.stop();
    }
}
