//! What another market says: letters and answers, heard by a market that has a job for it and one
//! of its own. Whatever comes, the market goes on, its money sums up to zero, and what it wrote
//! down can be read again.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tradewind_daemon::codec::peers::{Answers, Glance, Post, Questions};
use tradewind_daemon::codec::{Codec, Json};
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Input, Live, Make, Settings, State};
use tradewind_io::input;
use tradewind_io::submission::document;
use tradewind_model::{
    Admission, Attributes, Performance, Pool, Pools, Price, Site, SiteId, Span, Time, Times,
};
use tradewind_sched::negotiation::Peer;
use tradewind_sched::policy::{Policy, gridfill};

fuzz_target!(|data: &[u8]| {
    tradewind_web::fuzzing::receipts(data);
    let mut market = Market::new();
    for line in data.split(|byte| *byte == b'\n').take(16) {
        market.hear(line);
    }
});

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

const DAWN: Time = Time(1_800_000_000);

struct Market {
    live: Live,
    now: Time,
}

impl Market {
    /// One node, two jobs of a user, and a peer `b`.
    fn new() -> Market {
        let pool = Pool {
            name: "s/x".to_owned(),
            site: SiteId(0),
            nodes: 1,
            performance: Performance::REFERENCE,
            price: Price(1_000_000),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        };
        let pools = Pools::new(vec![Site { name: "s".to_owned() }], vec![pool]);
        let pools = Arc::new(pools.expect("one pool"));
        let mut state = State::empty(DAWN);
        let owners = vec!["o".to_owned()];
        for record in [
            MarketRecord::Created { market: "a".to_owned() },
            MarketRecord::Gridded { pools, owners },
        ] {
            state.apply(DAWN, &record.into()).expect("a first record");
        }
        let settings = Settings { peers: vec!["b".to_owned()], ..Settings::default() };
        let begun = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN);
        let mut market = Market { live: begun.expect("a market").0, now: DAWN };
        market.put(Input::Contact { peer: Peer(0), there: true });
        for tasks in [1, 2] {
            let text =
                format!(r#"{{"name": "t", "command": ["true"], "nodes": {tasks}, "time": 100}}"#);
            let submission = document::parse(&input::Input::new("job", text)).expect("a job");
            let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
            market.ask("ana", Role::User, ask);
        }
        market
    }

    /// One of the things that a peer may send, some seconds after the one before.
    fn hear(&mut self, line: &[u8]) {
        self.now = self.now + Span(3);
        if let Ok(answers) = Answers::read(line) {
            let outputs = std::collections::BTreeMap::new();
            let reports = answers.jobs;
            self.put(Input::Reported { peer: Peer(0), reports, outputs });
        }
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else { return };
        if let Ok(post) = Post::read(value.clone()) {
            let Post { market, sent, letters, .. } = post;
            self.ask("b", Role::Peer, Ask::Letters { market, sent, letters });
        }
        if let Ok(questions) = Questions::read(value.clone()) {
            let Questions { market, jobs: wanted, .. } = questions;
            self.ask("b", Role::Peer, Ask::Report { market, wanted });
        }
        let _ = Glance::read(value);
        self.put(Input::Tick);
    }

    fn ask(&mut self, user: &str, role: Role, ask: Ask) {
        let actor = Actor { user: user.to_owned(), role };
        self.put(Input::Asked { actor, ask });
    }

    fn put(&mut self, input: Input) {
        let step = self.live.step(self.now, input).expect("a step is always possible");
        for record in &step.records {
            let bytes = Json.record(record);
            assert_eq!(Json.record(&Json.read_record(&bytes).expect("our own record")), bytes);
        }
        while self.live.is_due(self.now) {
            self.live.plan(self.now).expect("a plan is always possible");
        }
        assert_eq!(self.live.state().accounts().sum(), 0);
    }
}
