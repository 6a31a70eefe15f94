//! The state, for snapshots.

use serde_json::Value;

use super::wire::{Fault, Fields, Get, Object, Put};
use crate::live::State;

/// Every field of a state, each written and read under its name.
macro_rules! state {
    ($($field:ident),* $(,)?) => {
        impl Put for State {
            fn put(&self, out: &mut Vec<u8>) {
                let State { $($field),* } = self;
                let mut object = Object::begin(out);
                $(object.field(stringify!($field), $field);)*
                object.end();
            }
        }

        impl Get for State {
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
