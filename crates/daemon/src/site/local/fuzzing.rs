//! Files of a local site as a fuzzer writes them: what owners take, and what is known of tasks.

use serde_json::from_slice;

use super::owner;
use super::records::{Begun, EndRecord, Gathering, GoRecord, Placed, Sheet, Started};
use crate::site::PoolSetup;

/// Reads `bytes` as every file of a local site.
pub fn read(bytes: &[u8]) {
    let pool = PoolSetup {
        name: "cpu".to_owned(),
        nodes: 4,
        performance: tradewind_model::Performance::REFERENCE,
        attributes: std::collections::BTreeMap::new(),
    };
    let _ = owner::task(bytes, 1_800_000_000, &[pool]);
    let _ = (from_slice::<Sheet>(bytes), from_slice::<Placed>(bytes), from_slice::<Begun>(bytes));
    let _ = (from_slice::<Gathering>(bytes), from_slice::<GoRecord>(bytes));
    let _ = (from_slice::<Started>(bytes), from_slice::<EndRecord>(bytes));
}
