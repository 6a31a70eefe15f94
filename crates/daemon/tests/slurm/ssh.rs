//! The Slurm site through a real SSH server on loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tradewind_daemon::site::SiteError;
use tradewind_daemon::site::conformance::{CHECKS, SiteBench, order};
use tradewind_daemon::site::slurm::ManagedSettings;

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{sleeps, until_ended};
use super::{LANES, WIDTH, conformance_plan, ports};

const MISSING: &str = "an SSH server is not installed, and these tests need one: run \
                       `scripts/setup.sh`, or `apt-get install openssh-server openssh-client` \
                       (Debian, Ubuntu)";

/// A server of this account's own: with its keys, its configuration and its port.
struct Server {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Server {
    fn start() -> Server {
        let folder = TempDir::new().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["host", "key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.path().join(name));
            let status = keygen.status().unwrap_or_else(|error| panic!("{MISSING}: {error}"));
            assert!(status.success());
        }
        let port = ports::free();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let conf = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nPidFile none\n\
             AuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nPrintMotd no\n",
            at("host"),
            at("authorized")
        );
        std::fs::write(at("sshd_config"), conf).unwrap();
        if rustix::process::getuid().is_root() {
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut sshd = Command::new("/usr/sbin/sshd");
        sshd.args(["-D", "-e", "-f", &at("sshd_config"), "-E", &at("log")]);
        sshd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = sshd.spawn().unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        let server = Server { folder, port, child };
        server.admit(true);
        let public = std::fs::read_to_string(server.path("host.pub")).unwrap();
        let known = format!("[127.0.0.1]:{port} {public}");
        std::fs::write(server.path("known"), known).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "{}", server.log());
            thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Whether our key opens.
    fn admit(&self, is_open: bool) {
        let key = std::fs::read(self.path("key.pub")).unwrap();
        std::fs::write(self.path("authorized"), if is_open { key } else { Vec::new() }).unwrap();
    }

    /// Options of `ssh` that lead here, and nothing of the account's own configuration.
    fn options(&self) -> Vec<String> {
        let at = |name: &str| self.path(name).display().to_string();
        let known = format!("UserKnownHostsFile={}", at("known"));
        let key = at("key");
        let port = self.port.to_string();
        let all = ["-F", "none", "-p", &port, "-i", &key, "-o", "IdentitiesOnly=yes", "-o", &known];
        all.map(str::to_owned).to_vec()
    }

    /// The site is reached through here.
    fn reach(&self, settings: &mut ManagedSettings) {
        let cluster = &mut settings.cluster;
        cluster.ssh = Some("127.0.0.1".to_owned());
        cluster.ssh_options = self.options();
        std::fs::create_dir_all(&settings.folder).unwrap();
        cluster.socket = Some(socket(&settings.folder));
    }

    /// Ends the connection that is kept behind the socket.
    fn hang_up(&self, socket: &Path) {
        let mut exit = Command::new("ssh");
        exit.args(["-O", "exit", "-o"]).arg(format!("ControlPath={}", socket.display()));
        exit.args(self.options()).arg("127.0.0.1").stderr(Stdio::null());
        drop(exit.status());
        let end = Instant::now() + Duration::from_secs(30);
        while std::os::unix::net::UnixStream::connect(socket).is_ok() {
            assert!(Instant::now() < end, "the connection stays");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Logins that succeeded.
    fn logins(&self) -> usize {
        self.log().matches("Accepted publickey").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("ssh")
}

#[test]
fn a_cluster_behind_ssh_keeps_its_promises() {
    let only = std::env::var("TRADEWIND_CHECK").unwrap_or_default();
    let (server, cluster) = (Server::start(), Cluster::start(&conformance_plan()));
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (server, cluster, next, failed) = (&server, &cluster, &next, &failed);
            let only = &only;
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, check)) = CHECKS.get(number) else { return };
                    if !name.contains(only.as_str()) {
                        continue;
                    }
                    let partition = format!("l{lane}c{number}");
                    let reach = |settings: &mut ManagedSettings| server.reach(settings);
                    let mut bench = SlurmBench::with(cluster, &partition, WIDTH, reach);
                    if let Err(why) = check(&mut bench) {
                        failed.lock().unwrap().push(format!("{name}: {why}"));
                    }
                    server.hang_up(&socket(&bench.settings.folder));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), server.log());
    // One for each check, and not one for each command.
    assert!(server.logins() <= CHECKS.len(), "{}", server.logins());
}

#[test]
fn a_missing_sign_in_is_reported_and_then_all_goes_on() {
    let (server, cluster) = (Server::start(), Cluster::start(&Plan::of("v", 1)));
    let reach = |settings: &mut ManagedSettings| server.reach(settings);
    let mut bench = SlurmBench::with(&cluster, "main", 1, reach);
    let socket = socket(&bench.settings.folder);
    let first = order(&mut bench, 1, &sleeps(0, 4));
    bench.site().submit(&first).unwrap();
    until_ended(&mut bench, &first.tag);
    assert_eq!(server.logins(), 1, "{}", server.log());
    // A connection that breaks is made again by itself.
    server.hang_up(&socket);
    bench.site().survey().unwrap();
    assert_eq!(server.logins(), 2, "{}", server.log());
    // Now a person must sign in: nothing asks, nothing is done, and all errors are the same.
    server.admit(false);
    server.hang_up(&socket);
    let began = Instant::now();
    let away = bench.site().survey().unwrap_err();
    let second = order(&mut bench, 2, &sleeps(0, 0));
    for told in [
        bench.site().survey().unwrap_err(),
        bench.site().submit(&second).unwrap_err(),
        bench.site().withdraw(&first.tag).err().unwrap_or(away.clone()),
    ] {
        assert_eq!(told, away);
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let SiteError::Away(why) = &away else { panic!("{away:?}") };
    assert!(why.contains("Permission denied"), "{why}");
    let (_, command) = why.split_once("daemon's account: ").unwrap();
    let found = bench.site().doctor().remove(0);
    assert!(found.found.contains(command) && found.remedy.contains("once"), "{found:?}");
    // A person does it, with what opens for a person.
    server.admit(true);
    let status = Command::new("sh").args(["-c", command]).status().unwrap();
    server.admit(false);
    assert!(status.success(), "{command}");
    bench.site().submit(&second).unwrap();
    until_ended(&mut bench, &second.tag);
    // Or the key opens again: some seconds later it is tried.
    server.hang_up(&socket);
    bench.site().survey().unwrap_err();
    server.admit(true);
    let began = Instant::now();
    while let Err(wrong) = bench.site().survey() {
        assert!(began.elapsed() < Duration::from_secs(60), "{wrong}");
        thread::sleep(Duration::from_millis(100));
    }
    server.hang_up(&socket);
}
