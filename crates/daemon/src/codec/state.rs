//! The state, for snapshots.

use std::collections::BTreeMap;

use serde_json::Value;
use tradewind_model::MarketState;

use super::wire::{Decode, Encode, Fault, Fields, Object};
use crate::live::State;
use crate::live::job_table::JobTable;
use crate::live::money::Account;
use crate::live::state::Job;

/// Every field of a state, each written and read under its name.
macro_rules! state {
    ($($field:ident),* $(,)?) => {
        impl Encode for State {
            fn put(&self, out: &mut Vec<u8>) {
                let State { $($field),* } = self;
                let mut object = Object::begin(out);
                $(object.field(stringify!($field), $field);)*
                object.end();
            }
        }

        impl Decode for State {
            fn get(value: Value) -> Result<Self, Fault> {
                let mut fields = Fields::of(value)?;
                let state = State { $($field: fields.take(stringify!($field))?),* };
                fields.end()?;
                Ok(state)
            }
        }
    };
}

state!(
    name, market, owners, away, policy, jobs, numbers, last_job, keys, users, tasks, closures,
    tariffs, accounts, tokens, last_token, quotes, last_quote, slips, peers, past, lead, projects,
    rules, used,
);

/// A snapshot's own body: everything that is not in pages.
pub(super) struct Head {
    /// Without what is in pages.
    pub(super) state: State,
    /// Without its jobs.
    pub(super) market: MarketState,
    pub(super) balances: BTreeMap<Account, i128>,
    pub(super) posted: u64,
    /// Over all pages.
    pub(super) digest: [u8; 32],
}

/// The fields of a state that are in its snapshot's own body as they are.
macro_rules! head {
    ($($field:ident),* $(,)?) => {
        /// Writes a snapshot's own body: `market` has no jobs.
        pub(super) fn put_head(
            state: &State,
            market: &MarketState,
            digest: &[u8; 32],
            out: &mut Vec<u8>,
        ) {
            let State { $($field,)* market: _, jobs: _, numbers: _, keys: _, tasks: _, accounts } =
                state;
            let balances: Vec<(&Account, i128)> = accounts.balances().collect();
            let mut object = Object::begin(out);
            $(object.field(stringify!($field), $field);)*
            object.field("market", market);
            object.field("balances", &balances);
            object.field("posted", &accounts.posted());
            object.field("pages", digest);
            object.end();
        }

        /// Decodes the head of a snapshot.
        pub(super) fn get_head(value: Value) -> Result<Head, Fault> {
            let mut fields = Fields::of(value)?;
            let market: MarketState = fields.take("market")?;
            let (balances, posted) = (fields.take("balances")?, fields.take("posted")?);
            let digest = fields.take("pages")?;
            let state = State {
                $($field: fields.take(stringify!($field))?,)*
                ..State::empty(market.now)
            };
            fields.end()?;
            Ok(Head { state, market, balances, posted, digest })
        }
    };
}

head!(
    name, owners, away, policy, last_job, users, closures, tariffs, tokens, last_token, quotes,
    last_quote, slips, peers, past, lead, projects, rules, used,
);

impl Encode for JobTable {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}

impl Decode for JobTable {
    fn get(value: Value) -> Result<Self, Fault> {
        <BTreeMap<u64, Job> as Decode>::get(value).map(JobTable::from)
    }
}
