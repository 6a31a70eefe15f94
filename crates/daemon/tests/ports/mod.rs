//! Ports for servers that need theirs in advance, and that no other process gets before they
//! listen.

use std::fs::File;
use std::net::TcpListener;
use std::sync::Mutex;

use rustix::fs::{FlockOperation, flock};

/// Below those that kernels assign on request, to clients and to servers that listen on port 0.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// Locks of what this process has been given; they go with it.
static GIVEN: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A free port, given once during the life of this process: other test programs that
/// run now get others.
pub(crate) fn free() -> u16 {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("tradewind-ports-{user}"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut given = GIVEN.lock().unwrap();
    let is_free = |port: &u16| {
        let file = File::create(folder.join(port.to_string())).unwrap();
        let is_ours = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let is_free = is_ours && TcpListener::bind(("127.0.0.1", *port)).is_ok();
        given.extend(is_free.then_some(file));
        is_free
    };
    PORTS.into_iter().find(is_free).unwrap()
}
