//! Requests for hosts of other names: pages whose name leads to this machine read nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::stage::Stage;

/// The answer to a request with these lines in its head.
fn ask(stage: &Stage, path: &str, lines: &str) -> String {
    let mut stream = TcpStream::connect(stage.address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_request_for_another_host_reads_nothing_and_is_written_down() {
    let stage = Stage::new();
    let token = format!("Authorization: Bearer {}\r\n", stage.tokens["root"]);
    for path in ["/metrics", "/healthz", "/openapi.json", "/v1/sign-in", "/signin", "/v1/me", "/x"]
    {
        for host in ["evil.example", "evil.example:8460", "localhost.evil.example", ""] {
            for more in ["", &token] {
                let answer = ask(&stage, path, &format!("Host: {host}\r\n{more}"));
                assert!(answer.starts_with("HTTP/1.1 421 "), "{path} {host}: {answer}");
                assert!(answer.contains(r#""kind":"host""#) && answer.contains("`hosts` of"));
            }
        }
    }
    let port = stage.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "market.local", "LOCALHOST"] {
        let answer = ask(&stage, "/metrics", &format!("Host: {host}:{port}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
    }
    assert!(ask(&stage, "/metrics", "").starts_with("HTTP/1.1 200 "), "no browser");
    stage.audit.stop();
    let (_, log) = stage.get("root", "/v1/audit?kind=refusal");
    let first = &log["rows"][0];
    assert_eq!((&first["user"], &first["outcome"]), (&json!("@127.0.0.1"), &json!("421 host")));
    stage.stop();
}
