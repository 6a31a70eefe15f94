#!/usr/bin/env python3
"""Two daemons, two real Slurm clusters, and a database of three nodes that Patroni and etcd look
after, on this machine, under load. Again and again the database's primary is killed or frozen, its
disk is full, or the daemon that owns the market is killed or frozen. Then the history is checked:
what was accepted has run, no task has run twice, the sums are zero, the journal is proved. Ends with
the times that each thing took, from the event (a full disk: from when there was space again) until a
submission that was begun later was accepted.

Needs Debian's slurm-wlm, postgresql and etcd-server, and Patroni 3.0.3 or later: PATRONI names its
program (3.0.2, which Debian 12 has, takes the lock of the primary back after it was frozen, and what
was committed meanwhile is lost). As root, disks can be full, too. PROGRAM: a release build unless given. PROXY=1: the daemons reach the primary by HAProxy instead of by
a list of hosts in their `store`. ONLY="primary frozen,owner frozen": no other things. Ended by
SIGTERM, SIGHUP or Ctrl-C, it stops what it has started.

Usage: scripts/failovers.py [ROUNDS]     each round has one of each thing; 1 unless given
"""

import base64
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = str(Path(os.environ.get("PROGRAM", HERE.parent / "target/release/tradewind")).resolve())
PATRONI = os.environ.get("PATRONI", "patroni")
ROOT = os.geteuid() == 0
PATIENCE = 180  # seconds that anything may take
GOAL = 45  # seconds that a lost primary may stop the market for
PASSWORD = "a-long-random-password"  # as docs/how-to/postgresql.md has it
LEASE = 10


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait(what, ready, every=0.1):
    begun = time.monotonic()
    while not (value := ready()):
        if time.monotonic() - begun > PATIENCE:
            raise SystemExit(f"{what}: not within {PATIENCE} s")
        time.sleep(every)
    return value


def ask(url):
    """Status and body of an answer; None: there is none."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode()
    except OSError:
        return None


def descendants(pid):
    found = [pid]
    for one in found:
        try:
            tasks = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        found += map(int, tasks)
    return found


class Started:
    """A program with a log."""

    def __init__(self, folder, name, words, as_postgres=False):
        self.words, self.log = words, Path(folder, f"{name}.log")
        if as_postgres and ROOT:
            drop = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"]
            self.words = drop + words
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()


class Node(Started):
    """PostgreSQL under Patroni."""

    def __init__(self, folder, number, etcd):
        self.name, self.home = f"node{number}", Path(folder, f"node{number}")
        self.port, self.rest = free_port(), free_port()
        self.data = self.home / "disk" / "data"
        (self.home / "disk").mkdir(parents=True)
        if ROOT:
            disk = ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", self.home / "disk"]
            subprocess.run(disk, check=True)
            for path in (self.home, self.home / "disk"):
                shutil.chown(path, "postgres", "postgres")
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        users = {
            name: {"username": user, "password": PASSWORD}
            for name, user in (("superuser", "postgres"), ("replication", "replicator"))
        }
        everybody = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"]
        configuration = {
            "scope": "tradewind",
            "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}"},
            "etcd3": {"host": f"127.0.0.1:{etcd}"},
            "bootstrap": {
                # The primary's term, and how often it is renewed: half of Patroni's defaults.
                "dcs": {
                    "ttl": 20, "loop_wait": 5, "retry_timeout": 5, "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 60}},
                },
                # Each failover leaves segments of one more history, and the disk is small.
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"wal-segsize": "1"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "data_dir": str(self.data),
                "bin_dir": binaries,
                "pgpass": str(self.home / "pgpass"),
                "authentication": users,
                "pg_hba": [*everybody, "host replication all 127.0.0.1/32 scram-sha-256"],
                "parameters": {
                    "unix_socket_directories": str(self.home), "shared_buffers": "32MB",
                    "min_wal_size": "32MB", "max_wal_size": "64MB", "wal_keep_size": "64MB",
                    "checkpoint_timeout": "30s",
                },
            },
        }  # fmt: skip
        file = self.home / "patroni.yml"  # JSON is YAML
        file.write_text(json.dumps(configuration))
        if ROOT:
            shutil.chown(file, "postgres", "postgres")
        super().__init__(folder, self.name, [PATRONI, str(file)], as_postgres=True)

    def is_primary(self):
        return (ask(f"http://127.0.0.1:{self.rest}/primary") or (0,))[0] == 200

    def follows(self):
        return (ask(f"http://127.0.0.1:{self.rest}/replica") or (0,))[0] == 200

    def is_synchronous(self):
        """Whether each commit waits for it, so that Patroni may promote it."""
        return (ask(f"http://127.0.0.1:{self.rest}/synchronous") or (0,))[0] == 200

    def all_processes(self):
        """Patroni's, the server's, and those that it has started."""
        try:
            server = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError, ValueError):
            return descendants(self.process.pid)
        return [*descendants(self.process.pid), *descendants(server)]

    def signal_all(self, how):
        for pid in self.all_processes():
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                pass

    def sql(self, text, database="postgres"):
        words = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", str(self.home), "-p",
                 str(self.port), "-U", "postgres", "-d", database]  # fmt: skip
        return subprocess.run(words, input=text, text=True, check=True, capture_output=True, timeout=10).stdout


class Stage:
    def __init__(self, folder):
        self.folder, self.started, self.nodes, self.daemons = folder, [], [], []
        self.accepted, self.moments, self.stop = set(), [], threading.Event()

    def begin(self):
        for name in ("work", "marks", "etcd"):
            Path(self.folder, name).mkdir()
        # Below those that the kernel gives to connections: two clusters take PORT to PORT + 1004.
        ports = {"PORT": str(20000 + os.getpid() % 11000)}
        clusters = [HERE / "clusters.sh", "start", f"{self.folder}/clusters"]
        # In a session of its own and waited for in any case: half a cluster could not be stopped.
        start = subprocess.Popen(
            clusters, env={**os.environ, **ports}, stdout=sys.stderr, start_new_session=True
        )
        try:
            start.wait()
        finally:
            if start.wait() != 0:
                raise SystemExit("the clusters do not come up")
        client, peer = free_port(), free_port()
        here = "http://127.0.0.1:"
        words = ["etcd", "--data-dir", f"{self.folder}/etcd", "--name", "one",
                 "--listen-client-urls", f"{here}{client}", "--advertise-client-urls",
                 f"{here}{client}", "--listen-peer-urls", f"{here}{peer}",
                 "--initial-advertise-peer-urls", f"{here}{peer}", "--initial-cluster",
                 f"one={here}{peer}"]  # fmt: skip
        self.started.append(Started(self.folder, "etcd", words))
        self.etcd = f"{here}{client}"
        wait("etcd", lambda: ask(f"{self.etcd}/health"))
        for number in range(3):
            self.nodes.append(Node(self.folder, number, client))
        primary = self.healthy()
        outside, inside = self.documented()
        for statement in outside.split(";"):
            primary.sql(statement)
        primary.sql(inside, "tradewind")
        store = self.store()
        for name in ("one", "two"):
            port = free_port()
            configuration = Path(self.folder, f"{name}.toml")
            configuration.write_text(self.configuration(store))
            words = [PROGRAM, "up", "--config", str(configuration), "--state",
                     f"{self.folder}/{name}", "--listen", f"127.0.0.1:{port}"]  # fmt: skip
            self.daemons.append(Started(self.folder, name, words))
            self.daemons[-1].url = f"http://127.0.0.1:{port}"
            daemon = self.daemons[-1]
            ended = daemon.process.poll
            wait(name, lambda: ended() is not None or self.role(daemon) in ("ok", "standby"))
            if ended() is not None:
                raise SystemExit(daemon.log.read_text())
        self.urls = ",".join(it.url for it in self.daemons)

    def documented(self):
        page = (HERE.parent / "docs/how-to/postgresql.md").read_text()
        block = page.split("```sql\n")[1].split("```")[0]
        return block.split("\\connect tradewind\n")

    def store(self):
        hosts = ",".join(f"127.0.0.1:{it.port}" for it in self.nodes)
        if os.environ.get("PROXY"):
            port = free_port()
            server = "  server {0.name} 127.0.0.1:{0.port} check port {0.rest}\n"
            servers = [server.format(it) for it in self.nodes]
            Path(self.folder, "haproxy.cfg").write_text(
                "defaults\n  mode tcp\n  timeout connect 3s\n  timeout client 1h\n  timeout server 1h\n"
                f"listen primary\n  bind 127.0.0.1:{port}\n  option httpchk GET /primary\n"
                "  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n"
                + "".join(servers)
            )
            words = ["haproxy", "-db", "-f", f"{self.folder}/haproxy.cfg"]
            self.started.append(Started(self.folder, "haproxy", words))
            hosts = f"127.0.0.1:{port}"
            # It takes all for primaries until it has asked them.
            time.sleep(6)
        return f"postgresql://tradewind:{PASSWORD}@{hosts}/tradewind"

    def configuration(self, store):
        text = f'store = "{store}"\n[standby]\nlease_seconds = {LEASE}\n'
        for name in ("alpha", "beta"):
            text += f"""
[[site]]
name = "{name}"
kind = "slurm"
environment = {{ SLURM_CONF = "{self.folder}/clusters/{name}/slurm.conf" }}
accounts = {{ "*" = "{os.environ.get("USER") or "root"}" }}
directory = "{self.folder}/work"
spool = "{self.folder}/work/.{name}"
grace = "1s"
requests_at_rest = 600
requests_busy = 600
pool = [{{ name = "{name}-main", nodes = 4, price = 1, partition = "main" }}]
"""
        return text

    def role(self, daemon):
        status, body = ask(f"{daemon.url}/readyz") or (0, "{}")
        try:
            return json.loads(body).get("status")
        except ValueError:
            return None

    def owner(self):
        return wait("an owner", lambda: [it for it in self.daemons if self.role(it) == "ok"])[0]

    def healthy(self):
        """The primary, when two others follow it and one of them may succeed it."""
        late = time.monotonic() + PATIENCE / 3

        def found():
            nonlocal late
            primaries = [it for it in self.nodes if it.is_primary()]
            followers = [it for it in self.nodes if it.follows()]
            if (len(primaries), len(followers)) != (1, 2):
                return None
            if any(it.is_synchronous() for it in followers):
                return primaries
            if time.monotonic() > late:
                self.forget_synchronous()
                late += PATIENCE
            return None

        return wait("a primary, and two that follow it, one at each commit", found, 0.5)[0]

    def forget_synchronous(self):
        """A primary that was frozen may write itself down as the one that has a synchronous node, just
        after another was promoted. Patroni 3.0 leaves that to it for ever ("Synchronous replication key
        updated by someone else"), and no node may be promoted any more."""
        print("Patroni names no synchronous node: its key is removed", flush=True)
        key = base64.b64encode(b"/service/tradewind/sync").decode()
        remove = f"{self.etcd}/v3/kv/deleterange"
        urllib.request.urlopen(remove, data=json.dumps({"key": key}).encode(), timeout=5).close()

    def command(self, *words):
        token = f"{self.folder}/one/admin.token"
        words = [PROGRAM, *words, "--url", self.urls, "--token-file", token]
        return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def load(self):
        number = 0
        while not self.stop.is_set():
            number += 1
            line = f"echo ran >> {self.folder}/marks/{number}; sleep 0.3"
            begun = time.monotonic()
            said = self.command("submit", "--time", "60", "--chdir", f"{self.folder}/work", "--wrap", line)
            if said.returncode == 0:
                self.accepted.add(str(number))
                self.moments.append((begun, time.monotonic()))
            time.sleep(0.15)

    def outage(self, event):
        """Seconds until a submission that was begun after the event was accepted."""

        def found():
            return [end for begun, end in self.moments if begun >= event]

        return wait("a submission", found, 0.05)[0] - event

    def lose_primary(self, how):
        primary = self.healthy()
        event = time.monotonic()
        primary.signal_all(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        took = self.outage(event)
        if how == "killed":
            primary.process.wait()
            primary.start()
        else:
            primary.signal_all(signal.SIGCONT)
        self.healthy()
        return took

    def fill_disk(self):
        primary = self.healthy()
        filler = primary.home / "disk" / "filler"

        def is_over():
            """Takes what space there is; whether nothing was accepted for some time, or another node is
            the primary: Patroni 4 lets one take over, Patroni 3.0 did not."""
            with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
            with contextlib.suppress(subprocess.SubprocessError):
                # What is left of a segment of the write-ahead log is space, too.
                primary.sql("SELECT pg_switch_wal()")
            others = [it for it in self.nodes if it is not primary]
            return time.monotonic() - self.moments[-1][1] > 4 or any(it.is_primary() for it in others)

        wait("a market that stands still, or another primary", is_over)
        filler.unlink()
        took = self.outage(time.monotonic())
        self.healthy()
        return took

    def lose_owner(self, how):
        owner = self.owner()
        event = time.monotonic()
        owner.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        took = self.outage(event)
        if how == "killed":
            owner.process.wait()
            owner.start()
        else:
            owner.process.send_signal(signal.SIGCONT)
        wait("a standby", lambda: self.role(owner) == "standby")
        return took

    def check(self):
        def is_over():
            said = self.command("policy", "--format", "json")
            jobs = json.loads(said.stdout)["jobs"] if said.returncode == 0 else {"waiting": 1}
            return not sum(jobs.get(it, 0) for it in ("waiting", "running", "held"))

        wait("the end of all jobs", is_over, 0.5)
        marks = {it.name: it.read_text() for it in Path(self.folder, "marks").iterdir()}
        twice = {name for name, text in marks.items() if text != "ran\n"}
        lost = self.accepted - marks.keys()
        accounts = json.loads(self.command("ledger", "--accounts", "--format", "json").stdout)
        sums = sum(round(float(it["balance"]) * 1e6) for it in accounts["accounts"])
        proof = subprocess.run(
            [PROGRAM, "journal", "verify", "--store", self.store_url, "--format", "json"],
            capture_output=True, text=True,
        )  # fmt: skip
        proved = proof.returncode == 0 and json.loads(proof.stdout)["proved"]
        print(f"{len(self.accepted)} accepted, {len(marks)} ran, lost: {sorted(lost)}, "
              f"ran twice: {sorted(twice)}, sum {sums}, proved: {proved}")  # fmt: skip
        return not lost and not twice and sums == 0 and proved

    @property
    def store_url(self):
        text = Path(self.folder, "one.toml").read_text()
        return text.split('store = "')[1].split('"')[0]

    def end(self):
        self.stop.set()
        for daemon in self.daemons:
            daemon.end()
        for node in self.nodes:
            node.signal_all(signal.SIGCONT)
            node.end()
            node.signal_all(signal.SIGKILL)
        for it in self.started:
            it.end()
        if Path(self.folder, "clusters").exists():
            subprocess.run([HERE / "clusters.sh", "stop", f"{self.folder}/clusters"])
        time.sleep(0.5)
        for disk in Path(self.folder).glob("node*/disk"):
            if disk.is_mount():
                subprocess.run(["umount", "-l", disk])


def end_on_signals():
    """A signal to end is an exception, so that what was started is stopped, and once is enough."""
    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def leave(number, _):
        for it in ends:
            signal.signal(it, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for it in ends:
        signal.signal(it, leave)


def main():
    end_on_signals()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    folder = tempfile.mkdtemp(prefix="tw-failovers")
    os.chmod(folder, 0o755)
    stage, times, fine = Stage(folder), {}, False
    things = {
        "primary killed": lambda: stage.lose_primary("killed"),
        "primary frozen": lambda: stage.lose_primary("frozen"),
        "primary's disk full": stage.fill_disk,
        "owner killed": lambda: stage.lose_owner("killed"),
        "owner frozen": lambda: stage.lose_owner("frozen"),
    }
    if not ROOT:
        del things["primary's disk full"]
    only = os.environ.get("ONLY")
    if only:
        things = {name: happen for name, happen in things.items() if name in only.split(",")}
    try:
        stage.begin()
        load = threading.Thread(target=stage.load)
        load.start()
        stage.outage(0)
        for _ in range(rounds):
            for name, happen in things.items():
                times.setdefault(name, []).append(happen())
                print(f"{name}: {times[name][-1]:.1f} s", flush=True)
                time.sleep(2)
        stage.stop.set()
        load.join()
        fine = stage.check()
        for name, took in times.items():
            took.sort()
            print(f"{name}: {len(took)} times, median {took[len(took) // 2]:.1f} s, longest {took[-1]:.1f} s")
        late = [name for name, took in times.items() if name.startswith("primary") and took[-1] > GOAL]
        if late:
            print(f"longer than {GOAL} s: {', '.join(late)}")
            fine = False
    finally:
        stage.end()
        if fine and not os.environ.get("KEEP"):
            shutil.rmtree(folder)
        else:
            print(f"see {folder}", file=sys.stderr)
    sys.exit(0 if fine else 1)


main()
