//! The stream of events, from which webhooks and mails are made, too.

use std::collections::BTreeMap;

use serde_json::Value;
use tradewind_daemon::codec::Codec as _;
use tradewind_daemon::engine::CommittedRecord;
use tradewind_daemon::live::Record;
use tradewind_daemon::live::record::{
    JobRecord, MarketRecord, OfferRecord, SiteRecord, TaskRecord,
};
use tradewind_daemon::store::Store as _;
use tradewind_model::{PoolId, Price, Time};

use crate::stage::Stage;
use crate::world::World;

/// More rows would not fit into what may wait for a watcher.
const MOST: usize = 4_000;

/// Whether the record says where a job stands.
fn says(record: &Record) -> bool {
    matches!(
        record,
        Record::Market(MarketRecord::Decided { .. })
            | Record::Job(JobRecord::Ended { .. } | JobRecord::BarrierReached { .. })
            | Record::Task(TaskRecord::Saw { .. })
            | Record::Offer(OfferRecord::Kept { .. } | OfferRecord::Breached { .. })
    )
}

/// What the market wrote down of its jobs, with new numbers, and a price behind it.
pub(crate) fn rows(world: &mut World) -> Vec<CommittedRecord> {
    let shelf = world.shelf.clone();
    let (_, store) = world.daemon.as_mut().unwrap();
    let mut found: Vec<(Time, Record)> = Vec::new();
    let mut after = 0;
    loop {
        let rows = store.read(after, 500).unwrap();
        let Some(last) = rows.last() else { break };
        after = last.seq;
        let read = rows.iter().map(|it| (Time(it.at), shelf.read_record(&it.body).unwrap()));
        found.extend(read.filter(|(_, record)| says(record)));
    }
    let now = found.last().map_or(Time(0), |(at, _)| *at);
    found.push((now, Record::Site(SiteRecord::Priced { pool: PoolId(0), price: Price(7) })));
    assert!(found.len() < MOST, "{} rows", found.len());
    let row = |(place, (at, record))| CommittedRecord { seq: place as u64 + 1, at, record };
    found.into_iter().enumerate().map(row).collect()
}

/// The last event of each kind of a job says what its document says.
pub(crate) fn compare(stage: &Stage, last: u64, seen: &mut BTreeMap<String, u32>) {
    let mut told: BTreeMap<(u64, String), Value> = BTreeMap::new();
    for event in stage.events(last) {
        let kind = event["kind"].as_str().unwrap().to_owned();
        assert_ne!(kind, "reset", "events were missed");
        if let Some(job) = event["job"].as_u64() {
            told.insert((job, kind), event);
        }
    }
    for job in stage.jobs() {
        let number = job["id"].as_u64().unwrap();
        let of = |kind: &str| told.get(&(number, kind.to_owned()));
        for kind in ["over", "running", "kept", "breached"] {
            *seen.entry(format!("event {kind}")).or_default() += u32::from(of(kind).is_some());
        }
        if let Some(ended) = job.get("ended") {
            let event = of("over").unwrap_or_else(|| panic!("nothing says that it ended: {job}"));
            assert_eq!((&event["state"], &event["user"]), (&job["state"], &job["user"]), "{event}");
            // It was over when it was written down, perhaps for long: its site was silent.
            assert!(event["at"].as_i64() >= ended.as_i64(), "{event} {job}");
        }
        // What began and ended between two looks is not seen to run.
        if let (Some(event), Some(started)) = (of("running"), job.get("started"))
            && job["parts"].as_array().is_some_and(|it| it.len() == 1)
            && job["restarts"] == 0
        {
            assert_eq!(&event["time"], started, "{event} {job}");
        }
        let outcome = job.get("promise").map_or("", |it| it["outcome"].as_str().unwrap());
        for kind in ["kept", "breached"] {
            assert_eq!(of(kind).is_some(), outcome == kind, "{kind}: {job}");
        }
        if let Some(event) = of("breached") {
            assert_eq!(event["message"], job["promise"]["reason"], "{event} {job}");
        }
    }
}
