//! The state, for snapshots.

use std::collections::BTreeMap;

use serde_json::Value;
use tradewind_model::MarketState;

use super::waits::WaitsHead;
use super::wire::{Decode, DecodeFault, Encode, Fields, Object};
use crate::live::State;
use crate::live::money::Account;
use crate::live::sites::Sites;
use crate::live::state::access::Access;
use crate::live::state::jobs::{Job, JobTable, Jobs};
use crate::live::state::ledger::Ledger;
use crate::live::state::offers::Offers;
use crate::live::state::outages::Outages;
use crate::live::state::tasks::Tasks;

/// A snapshot's own body: everything that is not in pages.
pub(super) struct SnapshotHead {
    /// Without what is in pages.
    pub(super) state: State,
    /// Without its jobs.
    pub(super) market: MarketState,
    pub(super) balances: BTreeMap<Account, i128>,
    pub(super) posted: u64,
    /// Over all pages.
    pub(super) digest: [u8; 32],
}

/// The stored form of a state is flat: `state` says which field of which aggregate each name is,
/// and is both pattern and expression, so that no field can be forgotten. `all` are written and
/// read under their names; `head` are those in a snapshot's own body.
macro_rules! state {
    (state: { $($state:tt)* }, all: { $($field:ident),* }, head: { $($own:ident),* }) => {
        impl Encode for State {
            fn put(&self, out: &mut Vec<u8>) {
                let $($state)* = self;
                let mut object = Object::begin(out);
                $(object.field(stringify!($field), $field);)*
                object.end();
            }
        }

        impl Decode for State {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                let mut fields = Fields::of(value)?;
                $(let $field = fields.take(stringify!($field))?;)*
                fields.end()?;
                ruled($($state)*)
            }
        }

        /// Writes a snapshot's own body: `short` is the market without jobs.
        #[expect(unused_variables, reason = "what is in pages is not in the head")]
        pub(super) fn put_head(
            state: &State,
            short: &MarketState,
            digest: &[u8; 32],
            out: &mut Vec<u8>,
        ) {
            let $($state)* = state;
            let money = state.accounts();
            let balances: Vec<(&Account, i128)> = money.balances().collect();
            let mut object = Object::begin(out);
            $(object.field(stringify!($own), $own);)*
            object.field("market", short);
            object.field("balances", &balances);
            object.field("posted", &money.posted());
            object.field("pages", digest);
            object.field("waits", &WaitsHead::of(&state.waits));
            object.end();
        }

        /// Decodes the head of a snapshot.
        #[expect(unused_variables, reason = "what is in the head replaces what is empty")]
        pub(super) fn get_head(value: Value) -> Result<SnapshotHead, DecodeFault> {
            let mut fields = Fields::of(value)?;
            let short: MarketState = fields.take("market")?;
            let (balances, posted) = (fields.take("balances")?, fields.take("posted")?);
            let digest = fields.take("pages")?;
            let forecasts = fields.take::<WaitsHead>("waits")?.waits()?;
            let $($state)* = State::empty(short.now);
            $(let $own = fields.take(stringify!($own))?;)*
            fields.end()?;
            let state = ruled(State { waits: forecasts, ..$($state)* })?;
            Ok(SnapshotHead { state, market: short, balances, posted, digest })
        }
    };
}

state!(
    state: {
        State {
            name,
            market,
            policy,
            lead,
            jobs: Jobs { table: jobs, numbers, last: last_job, keys, users },
            tasks: Tasks(tasks),
            sites: Sites { owners, away, health, tariffs, delays: slips, used: habits, put_off },
            ledger: Ledger { accounts, used, income, projects, budgets, rules },
            outages: Outages { open: closures, past },
            offers: Offers { quotes, last: last_quote },
            access: Access { tokens, last: last_token },
            peers,
            waits,
            lengths,
        }
    },
    all: {
        name, market, owners, away, policy, jobs, numbers, last_job, keys, users, tasks, closures,
        tariffs, accounts, tokens, last_token, quotes, last_quote, slips, peers, past, lead,
        projects, rules, used, income, health, habits, put_off, waits, lengths, budgets
    },
    head: {
        name, owners, away, policy, last_job, users, closures, tariffs, tokens, last_token, quotes,
        last_quote, slips, peers, past, lead, projects, rules, used, income, health, habits,
        put_off, budgets
    }
);

/// A state that was read, with what follows from its rules.
fn ruled(mut state: State) -> Result<State, DecodeFault> {
    state
        .ledger
        .knows_rules()
        .map_err(|wrong| DecodeFault::new(wrong.to_string()).within("rules"))?;
    state.follow_rules();
    Ok(state)
}

impl Encode for JobTable {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}

impl Decode for JobTable {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        <BTreeMap<u64, Job> as Decode>::get(value).map(JobTable::from)
    }
}
