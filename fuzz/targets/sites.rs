//! What sites say: answers of Slurm and of Grid Engine, and what tasks write into the spool.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_daemon::site::{gridengine, managed, slurm};

fuzz_target!(|data: &[u8]| {
    slurm::fuzzing::read(data);
    gridengine::fuzzing::read(data);
    managed::fuzzing::read(data);
});
