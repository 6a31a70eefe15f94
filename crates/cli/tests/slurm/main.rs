//! The whole of Tradewind over two real Slurm clusters: the real program, real jobs, a real
//! journal. Without Slurm these tests fail: see docs/reference/slurm.md.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../../../daemon/tests/slurm/accounting.rs"]
mod accounting;
mod backlog;
mod batch;
mod caps;
mod clock;
#[path = "../../../daemon/tests/slurm/cluster.rs"]
mod cluster;
mod failing;
mod faults;
mod history;
mod killed;
mod limits;
mod lives;
mod market;
mod memory;
#[path = "../../../daemon/tests/ports/mod.rs"]
mod ports;
mod promise;
mod restored;
mod scripts;
mod theft;
mod together;
mod tools;
mod tutorial;
mod wrong;
