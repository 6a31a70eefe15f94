//! The whole of Tradewind over two real Slurm clusters: the real program, real jobs, a real
//! journal. Without Slurm these tests fail: see docs/reference/slurm.md.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../daemon/tests/slurm/accounting.rs"]
mod accounting;
mod backlog;
mod batch;
mod caps;
mod clock;
#[path = "../../../daemon/tests/slurm/cluster.rs"]
mod cluster;
mod cut;
mod failing;
mod faults;
mod groups;
mod history;
mod killed;
mod limits;
mod lives;
mod market;
mod memory;
#[path = "../../../daemon/tests/ports/mod.rs"]
mod ports;
mod promise;
#[path = "../../../postgres/src/tests/proxy.rs"]
mod proxy;
mod restored;
mod scripts;
#[expect(dead_code, reason = "the store's own tests use the rest")]
#[path = "../../../postgres/src/tests/server.rs"]
mod server;
mod takeover;
mod theft;
mod together;
mod tools;
mod tutorial;
mod wrong;
