//! What sites say: answers of Slurm and of Grid Engine, what tasks write into the spool, and the files
//! of local sites.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_daemon::site::{gridengine, local, managed, slurm};

fuzz_target!(|data: &[u8]| {
    slurm::fuzzing::read(data);
    gridengine::fuzzing::read(data);
    managed::fuzzing::read(data);
    local::fuzzing::read(data);
});
