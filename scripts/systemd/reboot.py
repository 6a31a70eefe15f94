"""The machine is started again while jobs run: once in order, and once as if by a loss of power."""

import json
import os
import time
from pathlib import Path

from market import LOGS, Wrong, answers, check, ended, sh, show, submit, until, written

NOTE = LOGS / "jobs"


def note(path, text):
    """A loss of power does not lose this; all else is the market's business."""
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def begin():
    """Jobs that run on all four slots, and one that waits for them."""
    running = [submit(user, "echo begun; sleep 900; echo over", "--nodes", "2") for user in ["ana", "ben"]]
    for number, user in zip(running, ["ana", "ben"]):
        written(number, "begun", user)
    again = submit("ben", "echo ran >>again; sleep 3", "--nodes", "4")
    note(NOTE, json.dumps({"running": running, "waiting": again, "at": time.time()}))


def after(what):
    """The market is back, and says what became of them."""
    until("the market answers", answers)
    check(f"after {what} the service is active", show("ActiveState")["ActiveState"] == "active")
    noted = json.loads(NOTE.read_text())
    for number in noted["running"]:
        it = ended(number)
        check(f"after {what} a job that ran has failed with its node", it["state"] == "NODE_FAIL"
              and it["held"] == 0, f"{it['state']}: {it.get('message')}")
        off = it["ended"] - noted["at"]
        check(f"after {what} it is not charged for the time that the machine was off", off < 40,
              f"charged until {off:.0f} s after the last check; paid {it['paid']}")
    it = ended(noted["waiting"])
    ran = Path("/home/ben/again").read_text().split()
    check(f"after {what} the job that waited runs, once", it["state"] == "COMPLETED" and ran == ["ran"],
          f"{it['state']}, ran {len(ran)} times")
    Path("/home/ben/again").unlink()
    number = submit("ana", "id -un; echo over")
    check(f"after {what} jobs run", ended(number)["state"] == "COMPLETED")


def in_order():
    sh("systemctl", "reboot")
    gone()


def at_once():
    """Nothing is written back, as when the power fails."""
    Path("/proc/sysrq-trigger").write_text("b")
    gone()


def gone():
    """Until the machine is off: this process ends with it."""
    time.sleep(300)
    raise Wrong("the machine does not start again")
