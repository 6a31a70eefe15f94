//! A provider and a market that trusts it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

/// The interpreter that has the provider's packages, installed if they are missing.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut script = Command::new(root.join("scripts/packages.sh"));
        let made = script.args(["oidc", "a provider of identities"]).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "the provider's packages are not available: {said}");
        root.join(String::from_utf8(made.stdout).unwrap().trim())
    })
}

/// The provider, which ends with us.
pub(crate) struct Provider {
    child: Child,
    pub(crate) url: String,
    agent: ureq::Agent,
}

impl Provider {
    pub(crate) fn start() -> Provider {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc/provider.py");
        let mut command = Command::new(python());
        command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().unwrap();
        let agent = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
        let url = format!("http://127.0.0.1:{port}");
        Provider { child, url, agent: agent.build().new_agent() }
    }

    /// A person has an account there.
    pub(crate) fn user(&self, name: &str, groups: &[&str]) {
        let claims = json!({"preferred_username": name, "groups": groups});
        let put = self.agent.put(format!("{}/users/{name}", self.url));
        assert_eq!(put.send_json(claims).unwrap().status(), 204);
    }

    /// Makes it misbehave; returns how often each path was asked for.
    pub(crate) fn control(&self, wanted: Value) -> Value {
        let put = self.agent.put(format!("{}/control", self.url)).send_json(wanted);
        put.unwrap().body_mut().read_json().unwrap()
    }

    /// The person signs in there, by the address that the market sent; returns where the browser is
    /// sent then.
    pub(crate) fn consent(&self, address: &str, user: &str) -> String {
        let answer = self.agent.post(address).send_form([("sub", user)]).unwrap();
        answer.headers()["location"].to_str().unwrap().to_owned()
    }

    /// The person confirms the code of a command, or denies it.
    pub(crate) fn confirm(&self, code: &str, user: &str, action: &str) {
        let form = [("user_code", code), ("sub", user), ("action", action)];
        let answer = self.agent.post(format!("{}/device", self.url)).send_form(form).unwrap();
        assert_eq!(answer.status(), 204);
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A market whose people are the provider's.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) provider: Provider,
    pub(crate) url: String,
    daemon: Child,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let provider = Provider::start();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "a secret: 100%/plain\n").unwrap();
        // The provider must know the port before there is one.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}");
        let secret = folder.path().join("secret");
        let text = format!(
            "shared_account = true\n[listen]\naddress = '127.0.0.1:{port}'\n[sign_in]\nurl = '{url}'\n[sign_in.oidc]\n\
             name = 'Test University'\nissuer = '{}'\nclient_id = 'market'\n\
             client_secret_file = '{}'\nroles = {{ hpc = 'user', staff = 'administrator' }}\n\
             projects = {{ moon = 'apollo' }}\n",
            provider.url,
            secret.display()
        );
        std::fs::write(folder.path().join("tradewind.toml"), text).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--log", "debug", "--config"]).arg(folder.path().join("tradewind.toml"));
        up.arg("--state").arg(folder.path().join("state")).stdin(Stdio::null());
        let daemon = up.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let stage = Stage { folder, provider, url, daemon };
        let begun = Instant::now();
        while ureq::get(format!("{}/readyz", stage.url)).call().is_err() {
            let log = stage.log();
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the market does not come up: {log}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        stage
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// A command of a user who has a home of their own, and cannot see the market's state.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).current_dir(self.folder.path());
        command.env("HOME", self.folder.path().join("person"));
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}
