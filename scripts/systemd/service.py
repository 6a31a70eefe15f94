"""The service as docs/reference/up.md has it installed: how systemd sees it, and how it stops."""

import json
import os
import re
import signal
import time
from pathlib import Path

import configs
from market import (CONFIG, STATE, answers, check, ended, exposure, job, journal, lives,
                    main_pid, refused, sh, show, state, status_of, submit, until, written)


def install():
    """The shell block of the page, word by word."""
    page = Path("up.md").read_text()
    _, section = page.split("## As a service\n", 1)
    recipe = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    Path("tradewind.toml").write_text(configs.accounts())
    sh("bash", "-euxc", recipe)
    until("the market answers", answers)
    check("the page's commands install and start the service", show("ActiveState")["ActiveState"] == "active")


def unit():
    about = show("Type", "NotifyAccess", "UMask", "User", "Result", "NRestarts", "WatchdogUSec", "Delegate")
    check("systemd waited for READY=1", about["Type"] == "notify" and about["Result"] == "success", about)
    check("/healthz answers", answers("/healthz"), answers("/healthz"))
    check("/readyz answers", answers("/readyz"), answers("/readyz"))
    check("exposure is 3.0 or less", exposure() <= 3.0, exposure())
    status = status_of(main_pid())
    uid = int(sh("id", "-u", "tradewind"))
    check("the daemon runs as its own account", status["Uid"].split()[0] == str(uid), status["Uid"])
    check("umask 0077", status["Umask"] == "0077" and about["UMask"] == "0077", status["Umask"])
    check("no new privileges, and a filter of system calls",
          (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status["Seccomp"])
    for path in [STATE, STATE / "work", STATE / "sites"]:
        mode = path.stat().st_mode & 0o7777
        check(f"{path} is 0700 and the daemon's", mode == 0o700 and path.stat().st_uid == uid, oct(mode))
    for name in ["journal.db", "admin.token"]:
        mode = (STATE / name).stat().st_mode & 0o7777
        check(f"{STATE / name} is 0600", mode == 0o600, oct(mode))
    own = Path(f"/proc/{main_pid()}/cgroup").read_text().strip()
    check("the daemon is in the subgroup that the unit names", own.endswith("tradewind.service/daemon"), own)


def lines():
    """What an administrator reads in the journal."""
    said = journal("--output=cat")
    readable = all(line.isprintable() for line in said.splitlines())
    check("the journal has readable lines", said and readable, said)
    check("the journal names where the token is", "admin.token" in said)
    check("no token is in the journal", "tw_" not in said)


def doctor():
    """The diagnosis as the daemon's account, in the sandbox of the service."""
    said = sh("runuser", "-u", "tradewind", "--", "/usr/local/bin/tradewind", "doctor", "--no-jobs",
              "--config", str(CONFIG), "--state", str(STATE), fails=True)
    check("doctor names its findings", "the account" in said, said)


def long_job(user):
    number = submit(user, "echo $$; echo begun; sleep 3; while [ ! -e go ]; do sleep 0.2; done; echo over")
    said = written(number, "begun", user)
    return number, int(said.split()[0])


def quick_stop(*words):
    began = time.monotonic()
    sh(*words)
    took = time.monotonic() - began
    check(f"{' '.join(words)} is quick while a job runs", took < 20, f"{took:.1f} s")


def goes_on(what, number, pid):
    """The job runs on with the same process."""
    until("the market answers", answers)
    until(f"job {number} is known", lambda: state(number) == "RUNNING")
    check(f"after {what} the job runs on, once", lives(pid) and job(number)["restarts"] == 0,
          f"process {pid}")


def stops():
    number, pid = long_job("ana")
    check("systemctl reload is refused: there is nothing to reload",
          "not applicable" in refused("systemctl", "reload", "tradewind"))
    first = main_pid()
    quick_stop("systemctl", "restart", "tradewind")
    goes_on("a restart", number, pid)
    check("a restart makes another process", main_pid() != first)
    quick_stop("systemctl", "stop", "tradewind")
    about = show("ActiveState", "Result")
    check("a stop is a success", about == {"ActiveState": "inactive", "Result": "success"}, about)
    check("after a stop the job runs on", lives(pid))
    sh("systemctl", "start", "tradewind")
    goes_on("a stop and a start", number, pid)
    killed(number, pid)
    hung_up(number, pid)
    Path("/home/ana/go").touch()
    it = ended(number)
    check("the job ends as if nothing had happened", it["state"] == "COMPLETED" and it["exit"]["code"] == 0, it)
    seconds = it["ended"] - it["started"]
    check("it is charged once, for its time", it["held"] == 0 and abs(it["paid"] - seconds * 0.001) < 0.01,
          f"{it['paid']} credits for {seconds} s")
    Path("/home/ana/go").unlink()


def killed(number, pid):
    """The daemon's main process is killed while a job runs."""
    first, before = main_pid(), int(show("NRestarts")["NRestarts"])
    os.kill(first, signal.SIGKILL)
    until("another process after SIGKILL", lambda: main_pid() not in (0, first))
    check("after SIGKILL systemd starts it again", int(show("NRestarts")["NRestarts"]) == before + 1)
    goes_on("SIGKILL", number, pid)


def hung_up(number, pid):
    """Many daemons read their configuration again at this signal, and for systemd it is a clean end."""
    first = main_pid()
    os.kill(first, signal.SIGHUP)
    until("the journal says what SIGHUP does", lambda: "SIGHUP" in journal("--output=cat"), 30)
    check("SIGHUP does not end the service", main_pid() == first and show("ActiveState")["ActiveState"] == "active")
    goes_on("SIGHUP", number, pid)


def lost_supervisor():
    """The kernel's administrator kills what watches over a job."""
    number, pid = long_job("ana")
    folder = next(path.parent for path in STATE.glob("sites/alpha/tasks/*/begun.json")
                  if not (path.parent / "ended.json").exists())
    begun = json.loads((folder / "begun.json").read_text())
    os.kill(begun["supervisor"], signal.SIGKILL)
    it = ended(number)
    check("a job whose supervisor was killed is lost, and says so",
          it["state"] == "NODE_FAIL" and "unknown" in it["message"], f"{it['state']}: {it.get('message')}")
    check("and nothing of it is left", not lives(pid))
