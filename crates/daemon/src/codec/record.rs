//! The records of the journal: of each aggregate its own kinds, whose names are one flat list.

use serde_json::Value;

use super::wire::{Decode, DecodeFault, Encode, Names, choice};
use crate::live::record::{
    AccessRecord, JobRecord, LedgerRecord, MarketRecord, OfferRecord, OutageRecord, PeerRecord,
    Record, SiteRecord, TaskRecord,
};

choice!(MarketRecord {
    "created" => Created { market },
    "gridded" => Gridded { pools, owners },
    "began" => Began { release, policy, usage },
    "decided" => Decided { commands },
    "clock" => Clock { lead },
});
choice!(SiteRecord {
    "priced" => Priced { pool, price },
    "rated" => Rated { pool, rate },
    "tariff" => Tariff { pool, text },
    "reached" => Reached { site, away },
    "site-health" => Health { site, health },
    "site-put-off" => PutOff { site, change },
    "site-used" => Used { site, ended },
});
choice!(JobRecord {
    "chose" => Chose { job, choice },
    "submitted" => Submitted { job, user, submission, array, key },
    "element" => Element { job, first, index },
    "held" => Held { job, hold },
    "joined" => Joined { job, demand, processors, foreseen },
    "started" => Started { job },
    "lined" => Lined { job, pool, start },
    "turn-came" => TurnCame { job },
    "turn-lost" => TurnLost { job },
    "turn-expected" => TurnExpected { job, at },
    "expected" => Expected { starts },
    "forecast" => Forecast { starts },
    "left" => Left { job, hold },
    "released" => Released { job, pool },
    "interrupted" => Interrupted { job, setback },
    "stopping" => Stopping { job },
    "recalling" => Recalling { job },
    "unbegun" => Unbegun { tag },
    "settled" => Settled { job },
    "cancelling" => Cancelling { job, by },
    "requeueing" => Requeueing { job, by },
    "notice-given" => NoticeGiven { job, ends, why },
    "updated" => Updated { job, submission, by },
    "ended" => Ended { job, finish },
    "dropped" => Dropped { job },
    "redacted" => Redacted { job, last, hash },
    "gathered" => BarrierReached { job, at },
    "slipped" => BarrierTimedOut { job, pool, why },
    "launched" => Launched { job, began },
    "unkept" => Unkept { job, site, why },
    "skipped" => Skipped { job },
});
choice!(TaskRecord {
    "acknowledged" => Acknowledged { tag },
    "declined" => Declined { tag, why },
    "withdrawn" => Withdrawn { tag },
    "saw" => Saw { tag, seen },
    "forgot" => Forgot { tag },
    "resumed" => Resumed { tag },
    "held-there" => HeldThere { tag, why },
    "went" => Went { tag },
    "notified" => Notified { tag },
});
choice!(LedgerRecord {
    "moved" => Moved { from, to, amount, note },
    "project" => Project { project, change },
    "rules" => Rules { version },
    "ruled-by" => RuledBy { version },
    "power-limited" => PowerLimited { holder, limits },
});
choice!(OutageRecord {
    "announced" => Announced { what, why },
    "closed" => Closed { why },
    "reopened" => Reopened { why },
});
choice!(OfferRecord {
    "quoted" => Quoted { quote },
    "taken" => Taken { quote, job },
    "promise-kept" => Kept { job, began },
    "promise-breached" => Breached { job, why },
    "promise-voided" => Voided { job, why },
    "on-breach" => OnBreach { job, then },
});
choice!(AccessRecord {
    "admitted" => Admitted { token, user, role, hash, note },
    "expelled" => Expelled { token },
    "token-expires" => TokenExpires { token, at },
    "token-rotated" => TokenRotated { token, hash, earlier_until },
    "token-signed-in" => TokenSignedIn { token, signed_in },
});
choice!(PeerRecord {
    "peered" => Peered { peer, known },
    "negotiated" => Negotiated { entry, guest },
    "heard" => Heard { job, news },
    "came-back" => CameBack { job, why, hold },
    "offer-judged" => Judged { job, verdict },
    "recalled-from-peer" => Recalled { job },
    "settled-by-hand" => SettledByHand { job, by, outcome },
});

/// All kinds: a name says which of them it is.
macro_rules! records {
    ($($kind:ident($record:ident)),* $(,)?) => {
        impl Encode for Record {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Record::$kind(record) => record.put(out),)*
                }
            }
        }

        impl Decode for Record {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                let name = name_of(&value)?;
                $(if $record::NAMES.contains(&name) {
                    return $record::get(value).map(Record::$kind);
                })*
                Err(DecodeFault::unknown().within(name))
            }
        }

        #[cfg(test)]
        impl super::tests::Any for Record {
            fn any(dice: &mut super::tests::Dice) -> Self {
                let all = Record::all_names();
                let name = dice.of(&all);
                $(if $record::NAMES.contains(&name) {
                    return Record::$kind($record::any(dice));
                })*
                unreachable!()
            }
        }

        #[cfg(test)]
        impl Record {
            /// The names of all kinds.
            pub(super) fn all_names() -> Vec<&'static str> {
                [$($record::NAMES),*].concat()
            }
        }
    };
}

records!(
    Market(MarketRecord),
    Site(SiteRecord),
    Job(JobRecord),
    Task(TaskRecord),
    Ledger(LedgerRecord),
    Outage(OutageRecord),
    Offer(OfferRecord),
    Access(AccessRecord),
    Peer(PeerRecord),
);

/// The name of an alternative.
fn name_of(value: &Value) -> Result<&str, DecodeFault> {
    let name = match value {
        Value::String(name) => Some(name),
        Value::Object(map) if map.len() == 1 => map.keys().next(),
        _ => None,
    };
    name.map(String::as_str)
        .ok_or_else(|| DecodeFault::new("expected a name, or an object with one"))
}
