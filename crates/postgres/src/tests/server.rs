//! A PostgreSQL of the tests' own: Debian's programs, a folder that goes away, a socket in it and a
//! port of this machine. It is stopped when the last test that uses it has ended.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use tempfile::TempDir;

/// How the role and the database are made, as the documentation says.
const HOW_TO: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/postgresql.md"));
/// The password that stands there.
pub(crate) const PASSWORD: &str = "a-long-random-password";

/// A server.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    process: Mutex<Option<Process>>,
    databases: AtomicU32,
}

/// The server's process, started by a thread that lives as long: the server ends with it.
struct Process {
    pid: u32,
    thread: JoinHandle<()>,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The one that other tests of this process use, too.
    pub(crate) fn shared() -> Arc<Server> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(Server::start(""));
        *shared = Arc::downgrade(&server);
        server
    }

    /// One of its own, with more lines in its configuration.
    pub(crate) fn start(settings: &str) -> Server {
        let folder = tempfile::Builder::new().prefix("tw-pg").tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        if is_root() {
            for path in [folder.path(), &data] {
                let owned = Command::new("chown").arg("postgres:").arg(path).status().unwrap();
                assert!(owned.success());
            }
        }
        let made = as_postgres(&program("initdb"))
            .args(["--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let hba = "local all postgres trust\nlocal all all scram-sha-256\n\
                   host all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let socket = folder.path().display();
        let mut conf = fs::read_to_string(data.join("postgresql.conf")).unwrap();
        conf += &format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nmax_connections = 60\n\
             unix_socket_directories = '{socket}'\nfsync = on\nlogging_collector = off\n\
             shared_buffers = 32MB\n{settings}\n"
        );
        fs::write(data.join("postgresql.conf"), conf).unwrap();
        let (process, databases) = (Mutex::new(None), AtomicU32::new(0));
        let server = Server { folder, port, process, databases };
        server.run();
        server.admin("postgres").batch_execute(&how_to().0).unwrap();
        server
    }

    /// Starts the process, and waits until it answers. What a killed one has left of processes may
    /// still have the folder: it is started again then.
    pub(crate) fn run(&self) {
        let begin = Instant::now();
        let mut process = self.spawn();
        while let Err(wrong) = self.try_admin("postgres") {
            if process.thread.is_finished() {
                process = self.spawn();
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(120), "{wrong}\n{}", log());
            thread::sleep(Duration::from_millis(50));
        }
        *self.process.lock().unwrap() = Some(process);
    }

    fn spawn(&self) -> Process {
        let (data, log) = (self.folder.path().join("data"), self.folder.path().join("log"));
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            let log = fs::File::options().create(true).append(true).open(log).unwrap();
            let mut child: Child = as_postgres(&program("postgres"))
                .arg("-D")
                .arg(data)
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap();
            tell.send(child.id()).unwrap();
            child.wait().unwrap();
        });
        Process { pid: told.recv().unwrap(), thread }
    }

    /// Ends the process and waits for it: `INT` in good order, `KILL` at once.
    pub(crate) fn end(&self, signal: &str) {
        let Some(process) = self.process.lock().unwrap().take() else { return };
        signal_to(process.pid, signal);
        process.thread.join().unwrap();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn try_admin(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = Client::configure();
        config.host_path(self.folder.path()).port(self.port).user("postgres").dbname(database);
        config.connect(NoTls)
    }

    /// A session of the server's administrator.
    pub(crate) fn admin(&self, database: &str) -> Client {
        self.try_admin(database).unwrap()
    }

    /// A database of its own for the role of the documentation, made as written there.
    pub(crate) fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("market{number}");
        let (_, make, inside) = how_to();
        let named = |sql: &str| sql.replace("DATABASE tradewind", &format!("DATABASE {name}"));
        let mut admin = self.admin("postgres");
        // Not all at once: databases are not made inside of transactions.
        for statement in make.split_inclusive(';').filter(|it| it.contains(';')) {
            admin.batch_execute(&named(statement)).unwrap();
        }
        self.admin(&name).batch_execute(&named(&inside)).unwrap();
        name
    }

    /// The URL of a database over TCP, with a password.
    pub(crate) fn url_with(&self, database: &str, password: &str) -> String {
        format!("postgresql://tradewind:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The URL of a database, with the right password.
    pub(crate) fn url(&self, database: &str) -> String {
        self.url_with(database, PASSWORD)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("INT");
    }
}

/// What the documentation has an administrator do: the role, the database, what is inside of it.
fn how_to() -> (String, String, String) {
    let block = HOW_TO.split("```sql\n").nth(1).and_then(|it| it.split("```").next()).unwrap();
    let (outside, inside) = block.split_once("\\connect tradewind\n").unwrap();
    let at = outside.find("CREATE DATABASE").unwrap();
    (outside[..at].to_owned(), outside[at..].to_owned(), inside.to_owned())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// PostgreSQL does not run as root. Its parent's death ends it, so that a test that is killed
/// leaves nothing behind.
fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--init-groups"]);
    }
    command.arg(program).current_dir("/");
    command
}

/// A program of the latest version that is installed.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL: run `make setup`");
    let mut versions: Vec<u32> =
        versions.filter_map(|it| it.ok()?.file_name().into_string().ok()?.parse().ok()).collect();
    versions.sort_unstable();
    let latest = versions.last().expect("PostgreSQL: run `make setup`");
    PathBuf::from(format!("/usr/lib/postgresql/{latest}/bin/{name}"))
}

pub(crate) fn signal_to(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(sent.unwrap().success());
}
