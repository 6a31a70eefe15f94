//! A rolling upgrade: daemons of two releases follow one journal in PostgreSQL.

#[expect(dead_code, reason = "the store's own tests use the rest")]
#[path = "../../../postgres/src/tests/server.rs"]
mod server;

use super::*;
use server::Server;

/// What a daemon says that it is.
fn role(daemon: &Daemon) -> String {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(10)))
        .http_status_as_error(false)
        .build()
        .into();
    let Ok(mut answer) = agent.get(format!("{}/readyz", daemon.url)).call() else {
        return String::new();
    };
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    let said: Value = serde_json::from_str(&text).unwrap_or_default();
    said["status"].as_str().unwrap_or_default().to_owned()
}

fn becomes(daemon: &Daemon, name: &str) {
    until(&format!("{} is {name}", daemon.url), || role(daemon) == name);
}

/// A market in a database, with a folder for each daemon.
struct Stage {
    server: std::sync::Arc<Server>,
    folder: tempfile::TempDir,
    database: String,
}

impl Stage {
    fn new() -> Stage {
        let (server, folder) = (Server::shared(), tempfile::tempdir().unwrap());
        let stage = Stage { database: server.database(), server, folder };
        let store = format!("store = \"{}\"\n[standby]\nlease_seconds = 2\n", stage.store());
        configure(&stage.path("tradewind.toml"), &store);
        // A local site belongs to its folder, which both daemons use.
        fs::create_dir_all(stage.path("one/sites")).unwrap();
        fs::create_dir(stage.path("two")).unwrap();
        std::os::unix::fs::symlink(stage.path("one/sites"), stage.path("two/sites")).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) -> String {
        self.server.url(&self.database)
    }

    fn start(&self, program: &Program, name: &str) -> Daemon {
        program.start(&self.path("tradewind.toml"), &self.path(name))
    }

    /// A command to one daemon, by its address.
    fn ask(&self, program: &Program, daemon: &Daemon, words: &[&str]) -> Output {
        let token = self.path("one/admin.token");
        let market = ["--url", &daemon.url, "--token-file", token.to_str().unwrap()];
        let (command, rest) = words.split_at(1);
        program.run(&[command, &market, rest].concat())
    }

    fn submit(&self, program: &Program, daemon: &Daemon) {
        let ended = self.ask(program, daemon, &["submit", "--time", "1", "--wait", "--", "true"]);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    fn jobs(&self, program: &Program, daemon: &Daemon) -> Vec<Value> {
        let ended = self.ask(program, daemon, &["jobs", "--all", "--format", "json"]);
        list(&serde_json::from_slice(&ended.stdout).unwrap())
    }

    /// Rows and snapshot lead to the same state, whichever daemon has written them.
    fn is_proved(&self, today: &Program) {
        let proof = today.json(&["journal", "verify", "--store", &self.store()]);
        assert_eq!(proof["proved"], true, "{proof}");
    }

    fn count(&self, today: &Program, kind: &str) -> usize {
        let kinds = kinds(today, &["--store", &self.store()]);
        kinds.iter().filter(|it| *it == kind).count()
    }
}

#[test]
fn a_standby_of_today_takes_over_and_hands_back_until_something_new_is_written() {
    let (older, today) = (Program::older(), Program::today());
    let stage = Stage::new();
    let mut one = stage.start(&older, "one");
    Market(&stage.path("one")).fill(&older, &["--store", &stage.store()]);
    let two = stage.start(&today, "two");
    becomes(&two, "standby");
    let before = stage.jobs(&older, &one);
    until("the standby has read all", || stage.jobs(&today, &two).len() == before.len());
    // The earlier release is killed: today's goes on, and writes nothing that it does not know.
    one.end("KILL");
    becomes(&two, "ok");
    let now = stage.jobs(&today, &two);
    assert!(says(&Value::Array(now.clone()), &Value::Array(before.clone())), "{before:?}\n{now:?}");
    stage.submit(&today, &two);
    assert_eq!(stage.count(&today, "ruled-by"), 0);
    stage.is_proved(&today);
    // It follows, and gets the market back.
    let one = stage.start(&older, "one");
    becomes(&one, "standby");
    let given = stage.ask(&today, &two, &["handover"]);
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
    becomes(&one, "ok");
    becomes(&two, "standby");
    stage.submit(&older, &one);
    assert_eq!(stage.jobs(&older, &one).len(), before.len() + 2);
    stage.is_proved(&today);
    // Once more there, and something that the earlier release does not know.
    assert!(stage.ask(&older, &one, &["handover"]).status.success());
    becomes(&two, "ok");
    let limited = stage.ask(&today, &two, &["budget", "admin", "--energy", "50"]);
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    stage.submit(&today, &two);
    assert_eq!((stage.count(&today, "power-limited"), stage.count(&today, "ruled-by")), (1, 0));
    let refused = stage.ask(&today, &two, &["handover"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && said.contains("owns it again"), "{said}");
    becomes(&two, "ok");
    // The earlier one still answers, with what it knew, and says why it is behind.
    assert_eq!(role(&one), "standby");
    assert_eq!(stage.jobs(&older, &one).len(), before.len() + 2);
    let log = one.stop();
    assert!(log.contains("power-limited: it is not known here"), "{log}");
    // Both are of today: the next term takes up the rules of today.
    let one = stage.start(&today, "one");
    becomes(&one, "standby");
    assert!(stage.ask(&today, &two, &["handover"]).status.success());
    becomes(&one, "ok");
    stage.submit(&today, &one);
    assert_eq!(stage.count(&today, "ruled-by"), 1);
    stage.is_proved(&today);
    let refused = older.refused(&stage.path("tradewind.toml"), &stage.path("three"));
    assert!(refused.contains("it is not known here"), "{refused}");
    two.stop();
    one.stop();
}
