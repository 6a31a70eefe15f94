//! A real Slurm cluster on this machine: its own daemons and folder, loopback only, no munge, no
//! root. It stops what it started, also when a test panics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::accounting::Accounting;
use super::ports;

const MISSING: &str = "Slurm is not installed, and these tests need it: run `scripts/setup.sh`, or \
                       `apt-get install slurm-wlm` (Debian, Ubuntu); see docs/reference/slurm.md";
/// Makes starts quick; see docs/reference/slurm.md.
const QUICK: &str = "batch_sched_delay=0,bf_interval=1,sched_interval=1,sched_min_interval=0";

/// What a cluster is made of.
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) nodes: u32,
    /// Lines of `slurm.conf` beside those that all have, with `NODES` for the names of all nodes.
    pub(crate) more: Vec<String>,
    pub(crate) scheduler: &'static str,
    /// Of the line of each node.
    pub(crate) node: &'static str,
    /// Arguments of `sacctmgr` before the controller starts; nothing: there is no `slurmdbd`.
    pub(crate) accounts: &'static [&'static str],
}

impl Plan {
    /// So many nodes of four processors in the partition `main`.
    pub(crate) fn of(name: &'static str, nodes: u32) -> Plan {
        let main = "PartitionName=main Nodes=NODES Default=YES MaxTime=INFINITE DefaultTime=10 \
                    State=UP";
        Plan {
            name,
            nodes,
            more: vec![main.to_owned()],
            scheduler: QUICK,
            node: "CPUs=4 RealMemory=4000 State=UNKNOWN",
            accounts: &[],
        }
    }
}

pub(crate) struct Cluster {
    folder: TempDir,
    pub(crate) user: String,
    controller: Option<Child>,
    nodes: BTreeMap<String, Child>,
    accounting: Option<Accounting>,
}

impl Cluster {
    pub(crate) fn start(plan: &Plan) -> Cluster {
        let folder = TempDir::new().unwrap();
        // Other users' jobs run here, too.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["state", "spool", "run", "log"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let whoami = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(whoami.stdout).unwrap().trim().to_owned();
        let accounting = (!plan.accounts.is_empty()).then(|| Accounting::start(&user));
        let (controller, nodes) = (None, BTreeMap::new());
        let cluster = Cluster { folder, user, controller, nodes, accounting };
        std::fs::write(cluster.conf(), cluster.configuration(plan)).unwrap();
        // Slurm counts accelerators by their files, and any file will do.
        for name in ["gpu0", "gpu1"] {
            std::fs::write(cluster.path().join(name), "").unwrap();
        }
        let files = format!("Name=gpu File={}/gpu[0-1]\n", cluster.path().display());
        std::fs::write(cluster.path().join("gres.conf"), files).unwrap();
        // Versions from 23.02 on want control groups unless the configuration says that there are
        // none.
        if version() >= (23, 2) {
            let text = "CgroupPlugin=disabled\n";
            std::fs::write(cluster.path().join("cgroup.conf"), text).unwrap();
        }
        let mut cluster = cluster;
        for words in plan.accounts {
            cluster.manage(words);
        }
        cluster.start_controller();
        for number in 1..=plan.nodes {
            cluster.start_node(&format!("{}{number}", plan.name));
        }
        cluster.until("all nodes are idle", |it| {
            let states = it.say(&["sinfo", "-h", "-N", "-o", "%N %T"]);
            let mut idle: Vec<&str> = states.lines().filter(|it| it.ends_with(" idle")).collect();
            idle.dedup();
            idle.len() == plan.nodes as usize
        });
        cluster
    }

    /// Has `sacctmgr` do something, with `USER` for the account that all runs as.
    pub(crate) fn manage(&self, words: &str) {
        let words = words.replace("USER", &self.user);
        let words: Vec<&str> = ["sacctmgr", "-i"].into_iter().chain(words.split(' ')).collect();
        // Until `slurmdbd` is there.
        self.until(&format!("{words:?}"), |it| it.run(&words).status.success());
    }

    pub(crate) fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Nodes that do not answer for minutes count as there: the machine may be busy with others.
    fn configuration(&self, plan: &Plan) -> String {
        let folder = self.folder.path().display();
        let (name, user) = (plan.name, &self.user);
        let ports: Vec<u16> = (0..=plan.nodes).map(|_| ports::free()).collect();
        let mut text = format!(
            "ClusterName={name}\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/none\nCredType=cred/none\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool/%n\n\
             SlurmctldPidFile={folder}/run/slurmctld.pid\nSlurmdPidFile={folder}/run/%n.pid\n\
             SlurmctldLogFile={folder}/log/slurmctld.log\nSlurmdLogFile={folder}/log/%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             JobCompType=jobcomp/none\n\
             SwitchType=switch/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             SlurmdParameters=config_overrides\nReturnToService=2\nMailProg=/bin/true\n\
             SlurmctldTimeout=300\nSlurmdTimeout=300\nMinJobAge=60\nInactiveLimit=0\nKillWait=2\n\
             Waittime=0\nMessageTimeout=5\nSchedulerType=sched/backfill\n",
            ports[0]
        );
        text += &match &self.accounting {
            Some(accounting) => accounting.lines(),
            None => "AccountingStorageType=accounting_storage/none\n".to_owned(),
        };
        if !plan.scheduler.is_empty() {
            let _ = writeln!(text, "SchedulerParameters={}", plan.scheduler);
        }
        for (number, port) in (1..).zip(&ports[1..]) {
            let _ = writeln!(
                text,
                "NodeName={name}{number} NodeAddr=127.0.0.1 NodeHostname=localhost Port={port} {}",
                plan.node
            );
        }
        for line in &plan.more {
            let _ =
                writeln!(text, "{}", line.replace("NODES", &format!("{name}[1-{}]", plan.nodes)));
        }
        text
    }

    fn daemon(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.conf()).env("PATH", path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn start_controller(&mut self) {
        let mut command = self.daemon("slurmctld");
        let child = command.arg("-D").spawn().unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        self.controller = Some(child);
        self.until("the controller answers", |it| it.run(&["scontrol", "ping"]).status.success());
    }

    pub(crate) fn start_node(&mut self, name: &str) {
        let mut command = self.daemon("slurmd");
        let child = command.args(["-D", "-N", name]).spawn();
        let child = child.unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        self.nodes.insert(name.to_owned(), child);
    }

    /// A signal to the controller, which goes on.
    pub(crate) fn signal_controller(&self, signal: Signal) {
        send(self.controller.as_ref().unwrap(), signal);
    }

    /// A signal to the controller, which ends.
    pub(crate) fn stop_controller(&mut self, signal: Signal) {
        let mut child = self.controller.take().unwrap();
        send(&child, signal);
        child.wait().unwrap();
    }

    /// A command at this cluster.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("SLURM_CONF", self.conf()).env("TZ", "UTC");
        command.stdin(Stdio::null());
        command.output().unwrap_or_else(|error| panic!("{MISSING}: {error}"))
    }

    /// What a command says that must end well.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// An owner's job that sleeps; its number.
    pub(crate) fn job(&self, options: &[&str]) -> String {
        let mut words = vec!["sbatch", "--parsable", "--output=/dev/null", "--chdir=/"];
        words.extend(options);
        words.extend(["--wrap", "sleep 600"]);
        self.say(&words).trim().to_owned()
    }

    /// Waits until a job's state is this one; an empty one: it is gone or over.
    pub(crate) fn until_state(&self, job: &str, state: &str) {
        self.until(&format!("job {job} is {state:?}"), |it| {
            let output = it.run(&["squeue", "-h", "-o", "%T", "-j", job]);
            String::from_utf8_lossy(&output.stdout).trim() == state
        });
    }

    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Cluster) -> bool) {
        self.until_within(Duration::from_secs(60), what, holds);
    }

    pub(crate) fn until_within(
        &self,
        patience: Duration,
        what: &str,
        holds: impl Fn(&Cluster) -> bool,
    ) {
        let began = Instant::now();
        while !holds(self) {
            if began.elapsed() > patience {
                let log = std::fs::read_to_string(self.path().join("log/slurmctld.log"));
                let log = log.unwrap_or_default();
                let end: Vec<&str> = log.lines().rev().take(20).collect();
                let queue = self.run(&["squeue"]);
                let queue = String::from_utf8_lossy(&queue.stdout).into_owned();
                panic!("it does not come about that {what}\n{queue}\n{}", end.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Cancels all jobs of a partition, or of all, and waits until they are gone.
    pub(crate) fn clear(&self, partition: Option<&str>) {
        let mut list = vec!["squeue", "-h", "-o", "%i"];
        list.extend(partition.iter().flat_map(|name| ["-p", name]));
        for _ in 0..200 {
            let output = self.run(&list);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if !output.status.success() || text.trim().is_empty() {
                return;
            }
            for job in text.lines() {
                self.run(&["scancel", job]);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(controller) = &self.controller {
            send(controller, Signal::CONT);
            self.clear(None);
        }
        let mut all: Vec<Child> = self.controller.take().into_iter().collect();
        all.extend(std::mem::take(&mut self.nodes).into_values());
        for child in &all {
            send(child, Signal::TERM);
        }
        let end = Instant::now() + Duration::from_secs(5);
        for child in &mut all {
            while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        for pid in self.left_over() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Cluster {
    /// Processes that belong to this cluster by their environment: steps and jobs.
    fn left_over(&self) -> Vec<Pid> {
        let mark = format!("SLURM_CONF={}", self.conf().display()).into_bytes();
        let own = rustix::process::getpid();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &Pid| {
            let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
            let environment = std::fs::read(path).unwrap_or_default();
            *pid != own && environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        pids.filter_map(Pid::from_raw).filter(is_ours).collect()
    }
}

fn send(child: &Child, signal: Signal) {
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process(pid, signal);
    }
}

/// Year and month of this machine's Slurm.
pub(crate) fn version() -> (u32, u32) {
    let output = Command::new("slurmctld").arg("-V").env("PATH", path()).output();
    let output = output.unwrap_or_else(|error| panic!("{MISSING}: {error}"));
    let text = String::from_utf8(output.stdout).unwrap();
    let number = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = number.split('.').map(|part| part.trim().parse::<u32>().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}

/// Daemons are where plain users do not look.
fn path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}
