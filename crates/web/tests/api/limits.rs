use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tradewind_web::{Limits, Rate, ServeError};

use crate::stage::{ByRote, Stage};

#[test]
fn too_many_requests_of_one_token_are_refused_and_others_are_not() {
    let per_token = Rate { per_second: 1, burst: 5 };
    let stage = Stage::limited(Limits { per_token, ..Limits::default() });
    let statuses: Vec<u16> = (0..50).map(|_| stage.get("ana", "/v1/me").0).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses[5..].contains(&429), "{statuses:?}");
    assert_eq!(stage.get("bob", "/v1/me").0, 200);
    stage.stop();
}

#[test]
fn a_client_that_guesses_tokens_is_soon_refused() {
    let per_address = Rate { per_second: 1, burst: 250 };
    let stage = Stage::limited(Limits { per_address, ..Limits::default() });
    let statuses: Vec<u16> = (0..5).map(|_| stage.get("nobody", "/v1/me").0).collect();
    assert_eq!((statuses[0], statuses[4]), (401, 429), "{statuses:?}");
    stage.stop();
}

#[test]
fn bodies_and_headers_have_an_end() {
    let stage = Stage::limited(Limits { body_bytes: 1_000, ..Limits::default() });
    let long = json!({"policy": "x".repeat(2_000)});
    let (status, failure) = stage.call("root", "PUT", "/v1/market/policy", long);
    assert_eq!((status, &failure["error"]["kind"]), (413, &json!("too_large")));
    let mut stream = TcpStream::connect(stage.address).unwrap();
    let head =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    drop(stream.write_all(head.as_bytes()));
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer));
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    stage.stop();
}

#[test]
fn a_client_refused_before_its_long_body_ends_learns_why() {
    let stage = Stage::new();
    let long = "x".repeat(4 << 20).into_bytes();
    for (user, path, status) in
        [("nobody", "/v1/jobs", 401), ("ana", "/v1/nothing", 404), ("ana", "/v1/me", 405)]
    {
        for _ in 0..5 {
            assert_eq!(stage.send(user, "POST", path, &[], long.clone()).0, status);
        }
    }
    stage.stop();
}

#[test]
fn slow_clients_and_too_many_of_them_are_hung_up_on() {
    let request_time = Duration::from_secs(3);
    let limits =
        Limits { connections: 3, connections_reserved: 0, request_time, ..Limits::default() };
    let stage = Stage::limited(limits);
    let mut slow: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(stage.address).unwrap()).collect();
    slow.iter_mut().for_each(|it| drop(it.write_all(b"GET /healthz HT")));
    let mut fourth = TcpStream::connect(stage.address).unwrap();
    fourth.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    fourth.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(matches!(fourth.read(&mut [0; 10]), Ok(10)), "it has the place of a slow one");
    let begin = Instant::now();
    for it in &mut slow {
        drop(it.read_to_string(&mut String::new()));
    }
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    stage.stop();
}

#[test]
fn without_tls_the_server_listens_on_this_machine_only() {
    let stage = Stage::new();
    let api = tradewind_web::Api {
        market: stage.engine.handle.clone(),
        outputs: Arc::new(ByRote),
        advisor: Arc::new(ByRote),
        tariffs: Arc::new(ByRote),
        limits: Limits::default(),
        sign_in: Default::default(),
        audit: Default::default(),
        observations: Default::default(),
        operations: Arc::new(tradewind_web::NoOperations),
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let address = address.parse().unwrap();
        let listen = tradewind_web::Listen { address, tls: None, hosts: vec![] };
        let refused = tradewind_web::serve(api.clone(), listen).unwrap_err();
        assert!(matches!(refused, ServeError::Open(_)), "{refused}");
        assert!(refused.to_string().contains("TLS"));
    }
    let taken = tradewind_web::Listen { address: stage.address, tls: None, hosts: vec![] };
    let refused = tradewind_web::serve(api, taken).unwrap_err();
    assert!(matches!(refused, ServeError::Bind { .. }), "{refused}");
    stage.stop();
}
