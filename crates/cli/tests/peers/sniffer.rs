//! A way between two daemons on which the letters are read that pass.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::Sender;
use std::thread;

use tradewind_daemon::codec::peers::Post;

/// The port of a new way to the daemon at `target`; the bodies of its letters are sent to `heard`
/// with `from` and `to` before they arrive.
pub(crate) fn to(target: u16, ends: (usize, usize), heard: Sender<((usize, usize), Post)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
            let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let heard = heard.clone();
            thread::spawn(move || {
                let mut read = Vec::new();
                carry(up, server, |chunk| {
                    read.extend_from_slice(chunk);
                    for post in posts(&mut read) {
                        drop(heard.send((ends, post)));
                    }
                });
            });
            thread::spawn(move || carry(down, client, |_| {}));
        }
    });
    port
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut tell: impl FnMut(&[u8])) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        tell(&chunk[..read]);
        if to.write_all(&chunk[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The letters of all requests that are complete, which are taken out of `read`.
fn posts(read: &mut Vec<u8>) -> Vec<Post> {
    let mut all = Vec::new();
    while let Some(head) = read.windows(4).position(|it| it == b"\r\n\r\n") {
        let text = String::from_utf8_lossy(&read[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.map_or(0, |it| it.trim().parse().unwrap());
        let end = head + 4 + length;
        if read.len() < end {
            break;
        }
        if text.starts_with("post /v1/peers/letters ") {
            let body = serde_json::from_slice(&read[head + 4..end]).unwrap();
            all.push(Post::read(body).unwrap());
        }
        read.drain(..end);
    }
    all
}
