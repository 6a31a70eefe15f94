//! Grid Engine's answers as a fuzzer writes them: no bytes may stop the daemon.

use super::resources::HostResources;
use super::settings::{Pool, Unit};
use super::{cluster, queue, replies, rule, words};
use crate::site::size::UnitSize;

/// Reads `bytes` as every answer of Grid Engine's commands that is read anywhere.
pub fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(status) = replies::Status::read(text) {
        let unit = UnitSize { cores: 2, memory: 1_000 };
        let pools =
            [Unit::Slots(0), Unit::Shared(unit), Unit::Host].map(|unit| Pool::named("all.q", unit));
        let _ = queue::of(
            &pools,
            (&status.instances, &HostResources::counting(&[("h", 9_000)])),
            status.jobs.iter(),
            |job| job.slots > 1,
        );
    }
    let _ = replies::reservations(text);
    let _ = replies::Details::read(text);
    let _ = replies::QacctRow::read(text);
    let _ = rule::read(&cluster::pairs(text));
    let _ = (words::refusal(text), words::is_unheard(text));
}
