"""What the checks use: the service, the market in it, and lines of a report."""

import json
import re
import subprocess
import sys
import time
import traceback
import urllib.request
from pathlib import Path

URL = "http://127.0.0.1:8460"
STATE = Path("/var/lib/tradewind")
CONFIG = Path("/etc/tradewind/tradewind.toml")
DROP_INS = Path("/etc/systemd/system/tradewind.service.d")
CGROUP = Path("/sys/fs/cgroup/system.slice/tradewind.service")
LOGS = Path("/var/log/check")
TOKENS = Path("/root/tokens")
# The machine may be emulated, on a host that has other work: seconds.
PATIENCE = 600


class Wrong(Exception):
    """Something that has to be there before the next checks is not."""


def check(what, is_right, found=""):
    """One line of the report."""
    line = "PASS" if is_right else "FAIL"
    found = str(found).strip().replace("\n", " | ")
    print(f"{line} {what}" + (f": {found}" if found else ""), flush=True)
    return is_right


def section(name, part):
    """Runs a part of the checks; what ends it early is a failure, too."""
    print(f"---- {name} ({time.monotonic():.0f} s after the start of the machine)", flush=True)
    try:
        part()
    except Exception as error:
        check(name, False, f"{type(error).__name__}: {error}")
        traceback.print_exc(file=sys.stdout)


def sh(*words, fails=False, **more):
    """Standard output of a command, which must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **more)
    if done.returncode != 0 and not fails:
        raise Wrong(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def refused(*words):
    """What a command says that must not succeed; nothing if it does."""
    try:
        sh(*words)
    except Wrong as wrong:
        return str(wrong)
    return ""


def until(what, is_so, seconds=PATIENCE):
    """The first value that counts as true."""
    end = time.monotonic() + seconds
    while not (value := is_so()):
        if time.monotonic() > end:
            raise Wrong(f"{what}: not within {seconds} s")
        time.sleep(0.2)
    return value


def answers(path="/healthz"):
    """What the market says to a plain request; nothing if it does not answer."""
    try:
        with urllib.request.urlopen(URL + path, timeout=10) as answer:
            return answer.status == 200 and (answer.read().decode() or "an empty answer")
    except OSError:
        return ""


def show(*names):
    """Properties of the service."""
    lines = sh("systemctl", "show", "tradewind", *(f"--property={name}" for name in names))
    return dict(line.split("=", 1) for line in lines.splitlines())


def main_pid():
    return int(show("MainPID")["MainPID"])


def exposure():
    """What systemd says of the service that runs: from 0 (safe) to 10."""
    said = sh("systemd-analyze", "security", "--no-pager", "tradewind.service")
    return float(re.search(r"Overall exposure level for tradewind.service: ([0-9.]+)", said)[1])


def status_of(pid):
    """The kernel's account of a process, by name."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def lives(pid):
    try:
        return status_of(pid)["State"][0] != "Z"
    except OSError:
        return False


def market(*words, user=None, fails=False):
    """A command to the market, as its administrator or a user."""
    how = ["--state", str(STATE)]
    if user is not None:
        how = ["--url", URL, "--token-file", str(token(user))]
    home = f"/home/{user}" if user else "/tmp"
    before, behind = (words, ()) if "--" not in words else (
        words[: words.index("--")], words[words.index("--"):])
    return sh("/usr/local/bin/tradewind", *before, *how, *behind, fails=fails, cwd=home)


def token(user):
    path = TOKENS / user
    if not path.exists():
        TOKENS.mkdir(mode=0o700, exist_ok=True)
        market("token", "new", user, "--output", str(path))
    return path


def submit(user, text, *options):
    """A job that is one line of a shell; its number."""
    words = ("submit", "--parsable", "--time", "60", *options, "--", "/bin/sh", "-c", text)
    return int(market(*words, user=user))


def job(number):
    """The market's document of a job. Straight from the API: starting a program takes seconds here."""
    bearer = (STATE / "admin.token").read_text().strip()
    ask = urllib.request.Request(f"{URL}/v1/jobs/{number}", headers={"Authorization": f"Bearer {bearer}"})

    def once():
        try:
            with urllib.request.urlopen(ask, timeout=30) as answer:
                return json.load(answer)
        except OSError:
            return None
    return until(f"the market tells of job {number}", once)


def state(number):
    return job(number)["state"]


def ended(number):
    """The job at its end."""
    over = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
    return until(f"job {number} ends", lambda: (it := job(number))["state"] not in over and it)


def output(number, user=None):
    """What a job has written. A site on a slow machine may say that it is to be asked again."""
    def said():
        try:
            return "said " + market("output", str(number), user=user)
        except Wrong as wrong:
            if "ask again" not in str(wrong):
                raise
            return ""
    return until(f"the output of job {number} is read", said).removeprefix("said ")


def written(number, word, user=None):
    """Until a job has written a word; all that it has written."""
    def text():
        said = market("output", str(number), user=user, fails=True)
        return word in said and said
    try:
        until(f"job {number} starts", lambda: state(number) not in ("PENDING", "CONFIGURING"))
        return until(f"job {number} writes {word}", text)
    except Wrong as wrong:
        raise Wrong(f"{wrong}; {market('job', str(number))}") from wrong


def cell(number):
    """The cgroup of a job that runs."""
    found = [path for path in CGROUP.glob("*-*/*") if (path / "cgroup.procs").exists()]
    marks = {path: (path / "cgroup.procs").read_text().split() for path in found}
    for path, pids in marks.items():
        for pid in pids:
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"TRADEWIND_JOB_ID={number}".encode() in environment:
                return path
    raise Wrong(f"job {number} is in none of {[str(path) for path in found]}")


def journal(*words):
    """Lines of the service in the journal."""
    return sh("journalctl", "--unit=tradewind", "--no-pager", "--boot", *words)


def start_over(config, *drop_ins):
    """Another market, with this configuration and these drop-ins of ours or of this check."""
    sh("systemctl", "stop", "tradewind")
    for path in DROP_INS.glob("*"):
        path.unlink()
    DROP_INS.mkdir(exist_ok=True)
    for path in drop_ins:
        (DROP_INS / Path(path).name).write_text(Path(path).read_text())
    for path in [*STATE.glob("*"), *TOKENS.glob("*")]:
        sh("rm", "-rf", str(path))
    CONFIG.write_text(config)
    sh("systemctl", "daemon-reload")
    sh("systemctl", "start", "tradewind")
    until("the market answers", answers)
