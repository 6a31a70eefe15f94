//! One SSH connection to a cluster that is kept, and carries all commands.
//!
//! OpenSSH keeps it: a master process of its own behind a socket in the site's folder. We start
//! it, without ever asking anybody; where a person must sign in, that person starts it by hand,
//! with a command that we name, and everything goes on.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::Cluster;

use super::tool::{KEPT, Prefix, Tool, kill, quote};
use crate::site::exit::wait_until;

/// What is to be done where a person must sign in.
pub const REMEDY: &str = "run the command that is named there, once, on this machine; the site goes \
                          on by itself";
/// How a reason begins.
const NO_CONNECTION: &str = "no SSH connection to ";
/// An unused connection is kept so long: a daemon that is started again finds it.
const PERSIST: &str = "8h";
/// Of both: until the other side answers, and until silence ends a connection (three times that).
const PATIENCE: &str = "15";
/// Signing in may take so long, with proxies between.
const LONGEST: Duration = Duration::from_secs(30);
/// Until the next try, at first.
const AGAIN: Duration = Duration::from_secs(5);
/// The same for those who were refused, at most: login nodes lock out who tries too often.
const AGAIN_AT_MOST: Duration = Duration::from_secs(300);
/// Signs that a person is needed.
const REFUSED: [&str; 4] = [
    "Permission denied",
    "Host key verification failed",
    "Too many authentication failures",
    "REMOTE HOST IDENTIFICATION HAS CHANGED",
];
/// The longest path of a socket, with what OpenSSH adds while it makes one.
const LONGEST_PATH: usize = 107 - 17;

/// Whether this says that there is no connection.
pub fn is_no_connection(found: &str) -> bool {
    found.contains(NO_CONNECTION)
}

/// A connection that is kept.
#[derive(Debug)]
pub struct Connection {
    destination: String,
    options: Vec<String>,
    socket: PathBuf,
    failed: Mutex<Option<Failed>>,
}

/// The last try.
#[derive(Debug, Clone)]
struct Failed {
    at: Instant,
    /// Until the next one.
    pause: Duration,
    why: String,
}

impl PartialEq for Connection {
    fn eq(&self, other: &Connection) -> bool {
        (&self.destination, &self.options, &self.socket)
            == (&other.destination, &other.options, &other.socket)
    }
}

impl Eq for Connection {}

impl Tool {
    /// How commands of this cluster are run.
    pub fn of(site: &str, cluster: &Cluster) -> Tool {
        let prefix = |words: &[String]| {
            let prefix = Prefix::new(words.to_vec());
            Prefix { remote_shell: cluster.remote_shell.unwrap_or(prefix.remote_shell), ..prefix }
        };
        let connection = Connection::of(cluster);
        let (ours, users) = match &connection {
            Some(it) => (it.prefix(&[]), it.prefix(&cluster.user_command)),
            None => (prefix(&cluster.command), prefix(&cluster.user_command)),
        };
        let users = if cluster.user_command.is_empty() { Prefix::default() } else { users };
        Tool {
            site: site.to_owned(),
            ours,
            users,
            environment: cluster.environment.clone(),
            timeout: Duration::from_secs(u64::try_from(cluster.timeout.0).unwrap_or(1)),
            requests: Arc::default(),
            connection: connection.map(std::sync::Arc::new),
            gate: None,
        }
    }
}

impl Connection {
    fn of(cluster: &Cluster) -> Option<Connection> {
        Some(Connection {
            destination: cluster.ssh.clone()?,
            options: cluster.ssh_options.clone(),
            socket: cluster.socket.clone()?,
            failed: Mutex::new(None),
        })
    }

    /// Words before a command, and before those behind which users' commands run.
    fn prefix(&self, behind: &[String]) -> Prefix {
        let mut words = self.words(&["BatchMode=yes", "ControlMaster=no"], &["-T"]);
        words.extend(behind.iter().map(|word| quote(word)));
        Prefix { words, remote_shell: true }
    }

    /// `ssh` with these settings and options, those of the site, and where to.
    fn words(&self, settings: &[&str], options: &[&str]) -> Vec<String> {
        // The setting's own language: percent signs and blanks mean something.
        let path = self.socket.to_string_lossy().replace('%', "%%");
        let path = format!("ControlPath=\"{path}\"");
        let timeout = format!("ConnectTimeout={PATIENCE}");
        let usual = [path.as_str(), &timeout];
        let settings = settings.iter().copied().chain(usual).flat_map(|it| ["-o", it]);
        let words = ["ssh"].into_iter().chain(settings).chain(options.iter().copied());
        let rest = self.options.iter().chain(std::iter::once(&self.destination));
        words.map(str::to_owned).chain(rest.cloned()).collect()
    }

    /// Those that make the connection.
    fn making(&self, settings: &[&str]) -> Vec<String> {
        let persist = format!("ControlPersist={PERSIST}");
        let alive = format!("ServerAliveInterval={PATIENCE}");
        let settings = [&["ControlMaster=yes", &persist, &alive], settings].concat();
        self.words(&settings, &["-N", "-f"])
    }

    /// What a person types to sign in.
    pub fn sign_in(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./@:%+,".contains(c);
        let shown = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => quote(word),
        };
        self.making(&[]).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn is_there(&self) -> bool {
        UnixStream::connect(&self.socket).is_ok()
    }

    /// Makes the connection, if there is none and the last try is long enough ago.
    ///
    /// # Errors
    /// Why there is none, for people: always in the same words as long as nothing changes.
    pub fn ensure(&self) -> Result<(), String> {
        if self.is_there() {
            return Ok(());
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_there() {
            *failed = None;
            return Ok(());
        }
        if let Some(last) = failed.as_ref().filter(|last| last.at.elapsed() < last.pause) {
            return Err(last.why.clone());
        }
        let Err(said) = self.make() else {
            *failed = None;
            return Ok(());
        };
        let is_refused = REFUSED.iter().any(|sign| said.contains(sign));
        let mut why = format!("{NO_CONNECTION}`{}`: {said}", self.destination);
        if is_refused {
            why = format!("{why}; to sign in, run as the daemon's account: {}", self.sign_in());
        }
        let pause = match failed.as_ref() {
            Some(last) if is_refused => (last.pause * 2).min(AGAIN_AT_MOST),
            _ => AGAIN,
        };
        *failed = Some(Failed { at: Instant::now(), pause, why: why.clone() });
        Err(why)
    }

    /// Makes it; if that does not succeed, what was said.
    fn make(&self) -> Result<(), String> {
        let length = self.socket.as_os_str().len();
        if length > LONGEST_PATH {
            let path = self.socket.display();
            return Err(format!(
                "{path} has {length} bytes, and a socket's path {LONGEST_PATH} at most: have a \
                 shorter state folder, or use `command`"
            ));
        }
        // What a dead master has left; nobody answers there.
        drop(std::fs::remove_file(&self.socket));
        let log = self.socket.with_extension("log");
        let words = self.making(&["BatchMode=yes"]);
        let mut child = start(&words, &log).map_err(|error| format!("ssh: {error}"))?;
        let ended = end(&mut child);
        let said = std::fs::read(&log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
        match ended {
            Some(true) => Ok(()),
            Some(false) => Err(last.unwrap_or("ssh failed, and said nothing").to_owned()),
            None => Err(format!("it was not made within {} s", LONGEST.as_secs())),
        }
    }
}

/// The connection's process writes into a file: it stays, and a pipe would never be closed.
fn start(words: &[String], log: &Path) -> io::Result<Child> {
    let mut options = File::options();
    let said = options.create(true).write(true).truncate(true).mode(0o600).open(log)?;
    let mut all = words.iter();
    let mut command = Command::new(all.next().map_or("", String::as_str));
    command.args(all).env_clear().env("LC_ALL", "C");
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.process_group(0).spawn()
}

/// Whether it ended well; `None`: it took too long, and was killed.
fn end(child: &mut Child) -> Option<bool> {
    let ended = wait_until(child, Instant::now() + LONGEST);
    if ended.is_none() {
        kill(child);
    }
    ended.map(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::managed::tool::{Call, CommandTrouble, Who};

    fn cluster(socket: &Path) -> Cluster {
        Cluster {
            ssh: Some("ana@login".to_owned()),
            ssh_options: vec!["-p".to_owned(), "2222".to_owned()],
            socket: Some(socket.to_owned()),
            user_command: ["sudo", "-n", "-u", "{user}"].map(str::to_owned).to_vec(),
            ..Cluster::default()
        }
    }

    #[test]
    fn commands_go_through_the_socket_and_people_sign_in_with_the_same() {
        let tool = Tool::of("alpha", &cluster(Path::new("/var/a b/50%/ssh")));
        let ours = tool.ours.words.join(" ");
        let socket = "ControlPath=\"/var/a b/50%%/ssh\"";
        assert!(ours.contains("BatchMode=yes") && ours.contains(socket), "{ours}");
        assert!(ours.ends_with("-T -p 2222 ana@login") && tool.ours.remote_shell, "{ours}");
        let users = tool.users.words.join(" ");
        assert!(users.ends_with("ana@login 'sudo' '-n' '-u' '{user}'"), "{users}");
        let sign_in = tool.connection.unwrap().sign_in();
        assert!(
            sign_in.contains(&format!("'{socket}'")) && !sign_in.contains("Batch"),
            "{sign_in}"
        );
        assert!(sign_in.ends_with("-N -f -p 2222 ana@login"), "{sign_in}");
    }

    #[test]
    fn without_a_connection_nothing_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = cluster(&folder.path().join("ssh"));
        // Nobody listens there.
        (cluster.ssh, cluster.ssh_options) =
            (Some("127.0.0.1".to_owned()), vec!["-p".to_owned(), "1".to_owned()]);
        let tool = Tool::of("alpha", &cluster);
        for who in [Who::Ours, Who::User("ana")] {
            let told = tool.run(&Call::by(who, &["true"])).unwrap_err();
            let CommandTrouble::NotRun(why) = told else { panic!("{told}") };
            assert!(is_no_connection(&why) && why.starts_with("site alpha: "), "{why}");
            assert!(!why.contains("to sign in"), "nobody was refused: {why}");
        }
        let deep = folder.path().join("x".repeat(100)).join("ssh");
        let tool = Tool::of("alpha", &Cluster { socket: Some(deep), ..cluster });
        let told = tool.run(&Call::ours(&["true"])).unwrap_err().to_string();
        assert!(told.contains("shorter state folder"), "{told}");
    }
}
