"""cgroups of version 2: memory and processors are kept to what was bought."""

import time
from pathlib import Path

from market import (CGROUP, STATE, answers, cell, check, ended, main_pid, market, output, refused, sh, state,
                    submit, until, written)

EAT = "echo begun; head -c {bytes} /dev/zero | tail -c {bytes} | wc -c; echo over"


def files(user="ana"):
    """What the kernel was told, by what it says."""
    number = submit(user, "echo begun; sleep 60", "--mem", "64")
    written(number, "begun", user)
    folder = cell(number)
    read = {name: (folder / name).read_text().strip()
            for name in ["memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "cgroup.controllers"]
            if (folder / name).exists()}
    check("a job with --mem=64 on one slot has these limits",
          read.get("memory.max") == str(64 << 20) and read.get("memory.oom.group") == "1"
          and read.get("cpu.max") == "100000 100000", read)
    market("cancel", str(number))
    ended(number)
    check("its cgroup is removed", not folder.exists(), folder)


def memory(user="ana", other="ben"):
    """A job that takes more memory than it has bought ends alone."""
    bystander = submit(other, "echo begun; sleep 20; echo over")
    written(bystander, "begun", other)
    fits = submit(user, EAT.format(bytes=40 << 20), "--mem", "100")
    number = submit(user, EAT.format(bytes=300 << 20) + "; sleep 60", "--mem", "100")
    it = ended(number)
    check("a job that takes 300 MB with --mem=100 is stopped", it["state"] == "OUT_OF_MEMORY", it["state"])
    said = market("job", str(number), user=user)
    check("`tradewind job` says why, and how much it had", "more memory" in said and "--mem=100" in said, said)
    check("it ended as a whole", "over" not in output(number, user), output(number, user))
    check("a job that takes less completes", ended(fits)["state"] == "COMPLETED")
    default = ended(submit(user, EAT.format(bytes=200 << 20)))
    check("without --mem it has the share of its slot, 128 MB", default["state"] == "OUT_OF_MEMORY",
          default.get("message"))
    said = refused("tradewind", "submit", "--state", str(STATE), "--mem", "1000", "--time", "1",
                   "--wrap", "true")
    check("a job that requests more than the slots have is refused", "128 MB" in said, said)
    check("the other user's job completes", ended(bystander)["state"] == "COMPLETED")
    check("the daemon did not notice", answers() and main_pid() > 0)
    events = (CGROUP / "daemon" / "memory.events").read_text()
    check("none of its own was killed", "oom_kill 0" in events, events)


def processors(user="ana"):
    """Four programs that only compute, in a job that has bought one processor of two."""
    number = submit(user, "for i in 1 2 3 4; do (while :; do :; done) & done; echo begun; wait")
    written(number, "begun", user)
    folder = cell(number)
    before, began = used(folder), time.monotonic()
    time.sleep(10)
    after, took = used(folder), time.monotonic() - began
    share = (after["usage_usec"] - before["usage_usec"]) / 1e6 / took
    throttled = after["nr_throttled"] - before["nr_throttled"]
    check("four busy processes of a one-processor job use one processor",
          0.5 <= share <= 1.1 and throttled > 0, f"{share:.2f} processors, throttled {throttled} times")
    check("the market answers meanwhile", answers())
    market("cancel", str(number))
    ended(number)
    number = submit(user, "for i in 1 2 3 4; do (while :; do :; done) & done; echo begun; wait", "--nodes", "2")
    written(number, "begun", user)
    quota = (cell(number) / "cpu.max").read_text().strip()
    check("a job with two slots may use two processors", quota == "200000 100000", quota)
    market("cancel", str(number))
    ended(number)


def used(folder):
    lines = (folder / "cpu.stat").read_text().splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


def restart():
    """After a restart jobs are still in their cgroups, and new ones get theirs."""
    number = submit("ana", "echo begun; sleep 300", "--mem", "64")
    written(number, "begun", "ana")
    folder = cell(number)
    sh("systemctl", "restart", "tradewind")
    until("the market answers", answers)
    until("the job is known", lambda: state(number) == "RUNNING")
    check("after a restart the job is in its cgroup", cell(number) == folder, folder)
    files()
    market("cancel", str(number))
    check("and it can be cancelled", ended(number)["state"] == "CANCELLED")
    check("and its cgroup is removed", not Path(folder).exists())
