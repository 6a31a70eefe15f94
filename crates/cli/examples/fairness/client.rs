//! A daemon in a folder of its own, and clients that keep their connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Wrong;

/// A kept connection of one user.
pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
    to: SocketAddr,
    token: String,
}

impl Client {
    pub(crate) fn new(to: SocketAddr, token: &str) -> Result<Client, Wrong> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client { stream: BufReader::new(stream), to, token: token.to_owned() })
    }

    /// The same user on a new connection.
    pub(crate) fn again(&self) -> Result<Client, Wrong> {
        Client::new(self.to, &self.token)
    }

    /// Sends a request, and reads the head of the answer: its status, and how long its body is.
    pub(crate) fn head(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(u16, usize), Wrong> {
        let (token, length) = (&self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(head.as_bytes())?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        while line != "\r\n" {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the connection was closed".into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).unwrap_or_default().parse()?;
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        Ok((status, length))
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(u16, String), Wrong> {
        let (status, length) = self.head(method, path, body)?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body)?))
    }
}

/// A daemon in a folder of its own, which goes with it.
pub(crate) struct Daemon {
    child: Child,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
    root: String,
}

impl Daemon {
    pub(crate) fn start(program: &str) -> Result<Daemon, Wrong> {
        let name = format!("tradewind-fairness-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let words = ["up", "--shared-account", "--listen", "127.0.0.1:0", "--log", "error"];
        let mut up = Command::new(program);
        up.args(words).arg("--state").arg(&folder);
        let mut child = up.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("there is no output")?;
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url)?;
        let address = url.trim().trim_start_matches("http://").parse()?;
        let root = std::fs::read_to_string(folder.join("admin.token"))?.trim().to_owned();
        Ok(Daemon { child, folder, address, root })
    }

    /// A token of a new user.
    pub(crate) fn token(&self, user: &str) -> Result<String, Wrong> {
        let body = format!(r#"{{"user":"{user}","role":"user","note":""}}"#);
        let (status, told) =
            Client::new(self.address, &self.root)?.send("POST", "/v1/tokens", &body)?;
        let value: serde_json::Value = serde_json::from_str(&told)?;
        let token = value["token"].as_str().ok_or_else(|| format!("{status}: {told}"))?;
        Ok(token.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// A job that is held, with so many variables.
pub(crate) fn job(name: &str, variables: usize) -> String {
    let variable = |i: usize| format!(r#""V{i}":"{}""#, "x".repeat(8));
    let all: Vec<String> = (0..variables).map(variable).collect();
    format!(
        r#"{{"name":"{name}","command":["true"],"nodes":1,"time":60,"held":true,"environment":{{{}}}}}"#,
        all.join(",")
    )
}
