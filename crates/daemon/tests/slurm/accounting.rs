//! `slurmdbd` and its database for one cluster, in a folder of their own: as this account, loopback
//! only, gone at the end.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::ports;

const MISSING: &str = "slurmdbd or MariaDB is not installed, and these tests need them: run \
                       `scripts/setup.sh`, or `apt-get install slurmdbd mariadb-server` (Debian, \
                       Ubuntu)";

/// Both, from [`Accounting::start`] until it is dropped.
pub(crate) struct Accounting {
    folder: TempDir,
    port: u16,
    /// The database comes last.
    daemons: Vec<Child>,
}

impl Accounting {
    pub(crate) fn start(user: &str) -> Accounting {
        let folder = TempDir::new().unwrap();
        let mut it = Accounting { folder, port: ports::free(), daemons: Vec::new() };
        it.start_database(user);
        let path = it.path().display();
        let conf = format!(
            "AuthType=auth/none\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={}\n\
             CommunicationParameters=NoInAddrAny\nSlurmUser={user}\nStorageType=accounting_storage/mysql\n\
             StorageHost=localhost\nStorageUser=root\nStorageLoc=slurm\nLogFile={path}/dbd.log\n\
             PidFile={path}/dbd.pid\n",
            it.port
        );
        let file = it.path().join("slurmdbd.conf");
        std::fs::write(&file, conf).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        // It looks for its own file beside the cluster's, and reads nothing else of that.
        let conf = it.path().join("slurm.conf");
        std::fs::write(&conf, "ClusterName=none\nSlurmctldHost=localhost\n").unwrap();
        let mut command = daemon("slurmdbd");
        command.arg("-D").env("SLURM_CONF", &conf).env("MYSQL_UNIX_PORT", it.socket());
        it.spawn(&mut command);
        it
    }

    /// The lines of a cluster's `slurm.conf`.
    pub(crate) fn lines(&self) -> String {
        format!(
            "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n\
             AccountingStoragePort={}\nAccountingStorageEnforce=associations,limits,qos\n",
            self.port
        )
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn socket(&self) -> std::path::PathBuf {
        self.path().join("db.sock")
    }

    fn start_database(&mut self, user: &str) {
        let folder = self.path().join("data");
        let data = format!("--datadir={}", folder.display());
        // Beside others of its kind it has ended with code 1 and no word: then it is tried once more.
        make_database(&data, user)
            .or_else(|_| {
                let _ = std::fs::remove_dir_all(&folder);
                make_database(&data, user)
            })
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        let socket = format!("--socket={}", self.socket().display());
        let pid = format!("--pid-file={}", self.path().join("db.pid").display());
        let log = format!("--log-error={}", self.path().join("db.log").display());
        let mut command = daemon("mariadbd");
        // Only this account reaches the socket, and nothing is kept.
        command.args(["--no-defaults", &data, &socket, &pid, &log, "--skip-networking"]);
        command.args(["--skip-grant-tables", "--innodb-buffer-pool-size=16M"]);
        command.args(["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"]);
        command.args(["--innodb-use-native-aio=0", "--performance-schema=0"]);
        // Slurm asks for it where there is such a setting (MariaDB 11.6 and later).
        command.arg("--loose-innodb-snapshot-isolation=OFF");
        command.arg(format!("--user={user}"));
        self.spawn(&mut command);
        let end = Instant::now() + Duration::from_secs(60);
        while !self.socket().exists() {
            let log = || std::fs::read_to_string(self.path().join("db.log")).unwrap_or_default();
            assert!(Instant::now() < end, "the database does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn spawn(&mut self, command: &mut Command) {
        let child = command.spawn().unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        self.daemons.insert(0, child);
    }
}

/// An empty database in this folder.
fn make_database(data: &str, user: &str) -> Result<(), String> {
    let mut command = daemon("mariadb-install-db");
    command.args(["--no-defaults", data, "--skip-test-db"]);
    command.arg("--auth-root-authentication-method=normal").arg(format!("--user={user}"));
    // Several are made at the same time, and the kernel's requests are few.
    command.args(["--innodb-use-native-aio=0", "--innodb-buffer-pool-size=16M"]);
    let made = command.output().unwrap_or_else(|error| panic!("{MISSING}: {error}"));
    let (code, said) = (made.status, String::from_utf8_lossy(&made.stdout));
    let wrong = String::from_utf8_lossy(&made.stderr);
    match code.success() {
        true => Ok(()),
        false => Err(format!("mariadb-install-db: {code}\n{said}\n{wrong}")),
    }
}

impl Drop for Accounting {
    fn drop(&mut self) {
        for child in &mut self.daemons {
            if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let end = Instant::now() + Duration::from_secs(5);
            while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn daemon(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
