//! Others' connections, streams and wrong tokens keep no user out.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tradewind_web::{Limits, Rate};

use crate::stage::Stage;

/// A connection from another address of this machine.
fn connect(from: [u8; 4], to: SocketAddr) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(IpAddr::from(from), 0))?;
        socket.connect(to).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

/// The status of a request on the connection, which stays open.
fn status(stream: &mut TcpStream, token: &str) -> Option<u16> {
    let head =
        format!("GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut byte = [0];
    // The head, and a body of `{…}`.
    while !answer.ends_with(b"}") {
        match stream.read(&mut byte) {
            Ok(1) => answer.push(byte[0]),
            _ => return None,
        }
    }
    std::str::from_utf8(&answer).ok()?.split(' ').nth(1)?.parse().ok()
}

/// All that there is, with a place for as many connections as a daemon has.
fn stage() -> Stage {
    let stranger_time = Duration::from_secs(3_600);
    Stage::limited(Limits { stranger_time, ..Limits::default() })
}

#[test]
fn idle_connections_of_one_address_keep_no_user_out() {
    let stage = stage();
    let (to, root) = (stage.address, &stage.tokens["root"]);
    let mut early = connect([127, 0, 0, 3], to).unwrap();
    assert_eq!(status(&mut early, root), Some(200));
    let crowd: Vec<TcpStream> =
        (0..1_100).map_while(|_| connect([127, 0, 0, 2], to).ok()).collect();
    assert!(crowd.len() > 500, "only {} connections: raise `ulimit -n`", crowd.len());
    for from in [[127, 0, 0, 1], [127, 0, 0, 2], [127, 0, 0, 4]] {
        let mut late = connect(from, to).unwrap();
        assert_eq!(status(&mut late, root), Some(200), "from {from:?}");
        assert_eq!(status(&mut late, root), Some(200), "from {from:?}");
    }
    assert_eq!(status(&mut early, root), Some(200));
    stage.stop();
}

/// All places are taken again and again: there is one for who comes next, and who has shown a token
/// keeps theirs, though all come from one address.
#[test]
fn new_connections_again_and_again_keep_no_user_out() {
    let stage = Stage::limited(Limits {
        connections: 40,
        connections_reserved: 10,
        connections_per_address: 20,
        stranger_time: Duration::from_secs(3_600),
        ..Limits::default()
    });
    let (to, root) = (stage.address, &stage.tokens["root"]);
    let mut held = Vec::new();
    let mut crowd = || held.extend((0..60).map(|_| connect([127, 0, 0, 1], to).unwrap()));
    for _ in 0..5 {
        crowd();
        let mut own = connect([127, 0, 0, 1], to).unwrap();
        assert_eq!(status(&mut own, root), Some(200), "there is a place");
        crowd();
        assert_eq!(status(&mut own, root), Some(200), "it is still there");
    }
    stage.stop();
}

#[test]
fn connections_that_show_no_token_are_closed_soon() {
    let stranger_time = Duration::from_millis(300);
    let stage = Stage::limited(Limits { stranger_time, ..Limits::default() });
    let mut idle = connect([127, 0, 0, 1], stage.address).unwrap();
    let mut own = connect([127, 0, 0, 1], stage.address).unwrap();
    assert_eq!(status(&mut own, &stage.tokens["ana"]), Some(200));
    let begin = Instant::now();
    assert!(matches!(idle.read(&mut [0; 10]), Ok(0) | Err(_)));
    assert!(begin.elapsed() < Duration::from_secs(15));
    assert_eq!(status(&mut own, &stage.tokens["ana"]), Some(200));
    stage.stop();
}

#[test]
fn wrong_tokens_cost_only_their_sender() {
    let per_address = Rate { per_second: 1, burst: 250 };
    let stage = Stage::limited(Limits { per_address, ..Limits::default() });
    let wrong: Vec<u16> = (0..5).map(|_| stage.get("nobody", "/v1/me").0).collect();
    assert_eq!((wrong[0], wrong[4]), (401, 429), "{wrong:?}");
    for user in ["root", "ana", "bob"] {
        assert_eq!(stage.get(user, "/v1/me").0, 200, "{user} at the same address");
    }
    let (_, told) = stage.get("nobody", "/v1/me");
    assert_eq!(told["error"]["limit"], "failures_per_address");
    stage.stop();
}

#[test]
fn streams_of_one_user_leave_room_for_others() {
    let limits =
        Limits { streams: 8, streams_per_user: 4, streams_reserved: 2, ..Limits::default() };
    let stage = Stage::limited(limits);
    let open = |user: &str| {
        let mut stream = connect([127, 0, 0, 1], stage.address).unwrap();
        let token = &stage.tokens[user];
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        (String::from_utf8_lossy(&first[9..]).into_owned(), stream)
    };
    let anas: Vec<_> = (0..6).map(|_| open("ana")).collect();
    let statuses: Vec<&str> = anas.iter().map(|(status, _)| status.as_str()).collect();
    assert_eq!(statuses, ["200", "200", "200", "200", "429", "429"]);
    let bobs: Vec<_> = (0..3).map(|_| open("bob")).collect();
    let statuses: Vec<&str> = bobs.iter().map(|(status, _)| status.as_str()).collect();
    assert_eq!(statuses, ["200", "200", "429"]);
    assert_eq!(open("root").0, "200", "some are kept for administrators");
    stage.stop();
}
