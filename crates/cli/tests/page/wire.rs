//! A way between the browser and a daemon that can be cut.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Wire {
    port: u16,
    ways: Arc<Mutex<Ways>>,
}

/// All connections that were made; none, while it is cut.
#[derive(Default)]
struct Ways {
    cut: bool,
    open: Vec<TcpStream>,
}

impl Wire {
    /// To an address with a port, as in `http://127.0.0.1:8460`.
    pub(crate) fn to(url: &str) -> Wire {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ways = Arc::new(Mutex::new(Ways::default()));
        let own = Arc::clone(&ways);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // While it is cut, connections are closed.
                if own.lock().unwrap().cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        drop(io::copy(&mut from, &mut to));
                        drop(to.shutdown(Shutdown::Both));
                    });
                }
                own.lock().unwrap().open.extend([client, server]);
            }
        });
        Wire { port, ways }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Nothing comes through any more.
    pub(crate) fn cut(&self) {
        let mut ways = self.ways.lock().unwrap();
        ways.cut = true;
        ways.open.drain(..).for_each(|way| drop(way.shutdown(Shutdown::Both)));
    }

    pub(crate) fn mend(&self) {
        self.ways.lock().unwrap().cut = false;
    }
}
