//! Rows and snapshots of a journal, exports of one, archive files, rows of the audit log and what is
//! kept of observed clusters, as a damaged disk or another release has them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_daemon::audit::AuditEntry;
use tradewind_daemon::codec::{Codec, Json};
use tradewind_daemon::shadow;
use tradewind_daemon::store::{ExportedRows, RowSource, archive};

fuzz_target!(|data: &[u8]| {
    if let Ok(record) = Json.read_record(data) {
        let bytes = Json.record(&record);
        let back = Json.read_record(&bytes).expect("our own record");
        assert_eq!(Json.record(&back), bytes);
    }
    let _ = Json.read_state(Json::VERSION, data);
    if let Ok(mut rows) = ExportedRows::begin(data) {
        while rows.next().is_ok_and(|rows| !rows.is_empty()) {}
    }
    archive::fuzzed(data);
    let _ = serde_json::from_slice::<AuditEntry>(data);
    shadow::read(data);
});
