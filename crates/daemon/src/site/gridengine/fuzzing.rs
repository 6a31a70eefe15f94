//! Grid Engine's answers as a fuzzer writes them: no bytes may stop the daemon.

use super::{replies, words};

/// Reads `bytes` as every answer of Grid Engine's commands that is read anywhere.
pub fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = replies::Status::read(text);
    let _ = replies::reservations(text);
    let _ = replies::Details::read(text);
    let _ = replies::QacctRow::read(text);
    let _ = words::refusal(text);
}
