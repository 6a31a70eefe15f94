//! The real program over clusters, and what people do with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::cluster::Cluster;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");
/// States of jobs that are not over.
const LIVE: [&str; 4] = ["PENDING", "CONFIGURING", "RUNNING", "COMPLETING"];

/// A cluster as a site of the market.
pub(crate) struct Offer {
    name: String,
    /// Nodes, and where they are.
    pub(crate) pool: String,
    /// Lines of its table, beside those that all have.
    pub(crate) more: String,
    /// Who jobs run as.
    pub(crate) account: String,
    /// Variables of its commands.
    pub(crate) environment: BTreeMap<String, String>,
}

impl Offer {
    /// So many nodes, at so many credits per node and second.
    pub(crate) fn new(cluster: &Cluster, name: &str, nodes: u32, price: &str) -> Offer {
        let conf = cluster.conf().to_string_lossy().into_owned();
        Offer {
            name: name.to_owned(),
            pool: format!("nodes = {nodes}, price = {price}, partition = \"main\""),
            more: String::new(),
            account: cluster.user.clone(),
            environment: [("SLURM_CONF".to_owned(), conf)].into(),
        }
    }

    /// With lines of its own.
    pub(crate) fn with(self, more: &str) -> Offer {
        Offer { more: more.to_owned(), ..self }
    }

    /// As the configuration has it, with tasks' files in the folder.
    pub(crate) fn table(&self, folder: &Path) -> String {
        let Offer { name, pool, more, account, environment } = self;
        let variables: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let (variables, folder) = (variables.join(", "), folder.display());
        format!(
            "[[site]]\nname = {name:?}\nkind = \"slurm\"\nowner = \"owner-{name}\"\n\
             environment = {{ {variables} }}\naccounts = {{ \"*\" = {account:?} }}\n\
             directory = \"{folder}/work\"\nspool = \"{folder}/work/.{name}\"\n\
             grace = \"1s\"\nrequests_at_rest = 600\nrequests_busy = 600\n{more}\npool = [{{ name = \"{name}-main\", {pool} }}]\n"
        )
    }
}

/// A market in a folder of its own.
pub(crate) struct Market {
    folder: TempDir,
    daemon: Mutex<Option<Child>>,
}

impl Market {
    /// Starts the daemon on these sites; `head` comes before them.
    pub(crate) fn start(head: &str, offers: &[Offer]) -> Market {
        let market = Market::prepare(head, offers);
        market.up();
        market
    }

    /// Writes the configuration only.
    pub(crate) fn prepare(head: &str, offers: &[Offer]) -> Market {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let market = Market { folder, daemon: Mutex::new(None) };
        let sites: String = offers.iter().map(|offer| offer.table(market.folder.path())).collect();
        std::fs::write(market.path("tradewind.toml"), format!("{head}\n{sites}")).unwrap();
        market
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What tasks have written to a file of their directory.
    pub(crate) fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("work").join(name)).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("tradewind.toml")
    }

    /// Starts the daemon, and waits until it answers.
    pub(crate) fn up(&self) {
        self.spawn();
        self.until_up();
    }

    /// Waits until the daemon answers that was spawned last.
    pub(crate) fn until_up(&self) {
        self.until("the market is up", || {
            let mut daemon = self.daemon.lock().unwrap();
            let ended = daemon.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}\n{}", self.log());
            self.run(&["policy"]).status.success()
        });
    }

    pub(crate) fn spawn(&self) {
        self.spawn_with(&[]);
    }

    /// With variables of its own.
    pub(crate) fn spawn_with(&self, environment: &[(&str, String)]) {
        drop(std::fs::remove_file(self.state().join("url")));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.path("log"));
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--listen", "127.0.0.1:0", "--state"]).arg(self.state());
        up.arg("--config").arg(self.config()).env("NO_COLOR", "1");
        up.envs(environment.iter().map(|(name, value)| (name, value)));
        up.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        *self.daemon.lock().unwrap() = Some(up.spawn().unwrap());
    }

    /// `SIGKILL`: nothing is tidied up.
    pub(crate) fn kill(&self) {
        if let Some(mut daemon) = self.daemon.lock().unwrap().take() {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }

    /// Waits until the daemon has died by itself.
    pub(crate) fn until_down(&self) {
        self.until("the daemon is down", || {
            let mut daemon = self.daemon.lock().unwrap();
            daemon.as_mut().unwrap().try_wait().unwrap().is_some()
        });
    }

    fn command(&self, words: &[&str]) -> Command {
        let names = if ["journal", "token"].contains(&words[0]) { 2 } else { 1 };
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path()).args(&words[..names]);
        command.arg("--state").arg(self.state()).args(&words[names..]);
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN"] {
            command.env_remove(name);
        }
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that exits with 0.
    pub(crate) fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}\n{}", self.log());
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let words = [words, &["--format", "json"]].concat();
        serde_json::from_str(&self.text(&words)).unwrap()
    }

    /// A user with a token of their own; options that make a command theirs.
    pub(crate) fn user(&self, name: &str) -> [String; 2] {
        let token = self.text(&["token", "new", name]);
        let file = self.path(&format!("{name}.token"));
        std::fs::write(&file, token).unwrap();
        ["--token-file".to_owned(), file.to_string_lossy().into_owned()]
    }

    /// Hands a job in; its number.
    pub(crate) fn submit(&self, words: &[&str]) -> u64 {
        let number =
            self.text(&[&["submit", "--parsable", "--chdir", &self.work()], words].concat());
        number.trim().parse().unwrap()
    }

    pub(crate) fn work(&self) -> String {
        self.path("work").to_string_lossy().into_owned()
    }

    pub(crate) fn job(&self, number: u64) -> Value {
        self.json(&["job", &number.to_string()])
    }

    /// Waits until something holds of a job; what it is then.
    pub(crate) fn until_job(
        &self,
        number: u64,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        let began = Instant::now();
        loop {
            let job = self.job(number);
            if holds(&job) {
                return job;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "no {what}: {job:#}\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    pub(crate) fn until_state(&self, number: u64, state: &str) -> Value {
        self.until_job(number, state, |job| job["state"] == state)
    }

    pub(crate) fn until(&self, what: &str, holds: impl Fn() -> bool) {
        self.until_within(Duration::from_secs(120), what, holds);
    }

    pub(crate) fn until_within(&self, max: Duration, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            let jobs = || String::from_utf8(self.run(&["jobs", "--all"]).stdout).unwrap();
            let is_late = began.elapsed() > max;
            assert!(!is_late, "it does not come about that {what}\n{}\n{}", jobs(), self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// All jobs by number, once all of them are over.
    pub(crate) fn all_over(&self) -> BTreeMap<u64, Value> {
        let is_live = |job: &Value| LIVE.contains(&job["state"].as_str().unwrap());
        let all = || self.json(&["jobs", "--all"])["jobs"].as_array().unwrap().clone();
        self.until("all jobs are over", || !all().iter().any(is_live));
        all().into_iter().map(|job| (job["id"].as_u64().unwrap(), job)).collect()
    }

    /// The first pool of a site, as the market sees it.
    pub(crate) fn pool(&self, site: &str) -> Value {
        let all = self.json(&["sites"]);
        let site = all["sites"].as_array().unwrap().iter().find(|it| it["name"] == site).unwrap();
        site["pools"][0].clone()
    }

    /// Balances in micro-credits by account.
    pub(crate) fn balances(&self) -> BTreeMap<String, i64> {
        let all = self.json(&["ledger", "--accounts"]);
        let accounts = all["accounts"].as_array().unwrap().iter();
        accounts
            .map(|it| (it["account"].as_str().unwrap().to_owned(), micro(&it["balance"])))
            .collect()
    }

    /// That all accounts add up to nothing, and that the owners have what users have paid; then
    /// that the journal proves it.
    pub(crate) fn check_money(&self, jobs: &BTreeMap<u64, Value>) {
        let balances = self.balances();
        assert_eq!(balances.values().sum::<i64>(), 0, "{balances:?}");
        let of = |kind: &str| -> i64 {
            balances.iter().filter(|(name, _)| name.starts_with(kind)).map(|(_, sum)| sum).sum()
        };
        assert_eq!(of("held:"), 0, "{balances:?}");
        let paid: i64 = jobs.values().map(|job| micro(&job["paid"])).sum();
        assert_eq!(of("owner:"), paid, "{balances:?}");
        let proof = self.json(&["journal", "verify"]);
        assert_eq!(proof["proved"], Value::Bool(true), "{proof}");
    }
}

impl Drop for Market {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Credits in millionths.
pub(crate) fn micro(credits: &Value) -> i64 {
    (credits.as_f64().unwrap() * 1e6).round() as i64
}

/// How often each line occurs.
pub(crate) fn tally(text: &str) -> BTreeMap<&str, usize> {
    let mut all = BTreeMap::new();
    text.lines().for_each(|line| *all.entry(line).or_default() += 1);
    all
}

/// A line of shell that leaves its mark in a file of the directory, with one write.
pub(crate) fn marks(work: &str, mark: &str, rest: &str) -> String {
    format!("echo {mark} >> {work}/marks; {rest}")
}
