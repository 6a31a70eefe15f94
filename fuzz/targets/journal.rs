//! Rows and snapshots of a journal, as a damaged disk or another release has them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_daemon::codec::{Codec, Json};

fuzz_target!(|data: &[u8]| {
    if let Ok(record) = Json.read_record(data) {
        let bytes = Json.record(&record);
        let back = Json.read_record(&bytes).expect("our own record");
        assert_eq!(Json.record(&back), bytes);
    }
    let _ = Json.read_state(Json::VERSION, data);
});
