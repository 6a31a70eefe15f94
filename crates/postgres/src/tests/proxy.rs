//! Between client and server, to lose what is on the way.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What is lost from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Nothing = 0,
    Requests = 1,
    Answers = 2,
}

pub(super) struct Proxy {
    pub(super) port: u16,
    lost: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(super) fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().port();
        let lost = Arc::new(AtomicU8::new(Lost::Nothing as u8));
        let open = Arc::new(Mutex::new(Vec::new()));
        let (flag, all) = (Arc::clone(&lost), Arc::clone(&open));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port)))
                else {
                    continue;
                };
                let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                all.lock().unwrap().extend(ends);
                let (back, there) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (one, other) = (Arc::clone(&flag), Arc::clone(&flag));
                thread::spawn(move || pass_on(client, there, &one, Lost::Requests));
                thread::spawn(move || pass_on(server, back, &other, Lost::Answers));
            }
        });
        Proxy { port: here, lost, open }
    }

    pub(super) fn lose(&self, lost: Lost) {
        self.lost.store(lost as u8, Ordering::SeqCst);
    }

    /// Ends all connections.
    pub(super) fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, lost: &AtomicU8, these: Lost) {
    let mut bytes = [0; 65_536];
    while let Ok(read) = from.read(&mut bytes) {
        if read == 0 {
            break;
        }
        if lost.load(Ordering::SeqCst) == these as u8 {
            continue;
        }
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
