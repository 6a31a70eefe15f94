"""Runs in the virtual machine, at every start of it: what to check then."""

import sys
from pathlib import Path

import accounts
import configs
import limits
import namespaces
import reboot
import service
from market import LOGS, check, exposure, section, sh, start_over

# What comes after the next start of the machine.
STAGE = LOGS / "stage"
PACKAGING = Path("packaging")
SUDOERS = "tradewind ALL=(%team) NOPASSWD: /usr/local/bin/tradewind local-task *\n"


def prepare():
    sh("systemctl", "is-system-running", "--wait", fails=True)
    sh("groupadd", "team")
    for name in ["ana", "ben"]:
        sh("useradd", "--create-home", "--shell", "/bin/sh", "--groups", "team", name)
        # Nothing but the modes of files keeps them apart.
        Path(f"/home/{name}").chmod(0o755)
    version = sh("systemctl", "--version").splitlines()[0]
    kernel = sh("uname", "-r").strip()
    controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text().strip()
    check("cgroups of version 2 have the controllers", {"cpu", "memory"} <= set(controllers.split()),
          f"{version}, Linux {kernel}: {controllers}")
    service.install()


def by_setpriv():
    section("the unit", service.unit)
    section("the journal", service.lines)
    section("setpriv: accounts", lambda: accounts.identity("setpriv"))
    section("setpriv: users apart", lambda: accounts.apart("setpriv"))
    section("setpriv: ends of jobs", lambda: accounts.cancels("setpriv"))


def by_sudo():
    Path("/etc/sudoers.d/tradewind").write_text(SUDOERS)
    start_over(configs.accounts(configs.SUDO), PACKAGING / "tradewind-sudo.conf")
    check("sudo: exposure is 3.0 or less", exposure() <= 3.0, exposure())
    section("sudo: accounts", lambda: accounts.identity("sudo"))
    section("sudo: users apart", lambda: accounts.apart("sudo"))
    section("sudo: ends of jobs", lambda: accounts.cancels("sudo"))
    section("sudo: limits", limits.files)


def with_limits():
    section("limits", limits.files)
    section("memory", limits.memory)
    section("processors", limits.processors)
    section("limits after a restart", limits.restart)


def stops():
    section("stops", service.stops)
    section("a lost supervisor", service.lost_supervisor)


def by_namespaces():
    start_over(configs.shared(), PACKAGING / "tradewind-namespaces.conf")
    check("namespaces: exposure is 3.0 or less", exposure() <= 3.0, exposure())
    section("namespaces: jobs apart", namespaces.apart)
    section("namespaces: memory", limits.memory)
    section("namespaces: ends of jobs", lambda: accounts.cancels("namespaces"))
    section("namespaces: limits after a restart", limits.restart)


def own_accounts():
    start_over(configs.accounts(), PACKAGING / "tradewind-accounts.conf")


# Names, what they need first, and what they check.
PARTS = {
    "setpriv": (lambda: None, by_setpriv),
    "limits": (lambda: None, with_limits),
    "stops": (lambda: None, stops),
    "sudo": (lambda: None, by_sudo),
    "namespaces": (lambda: None, by_namespaces),
    "reboot": (own_accounts, lambda: restart(reboot.in_order, "in-order")),
}


def restart(how, stage):
    reboot.begin()
    reboot.note(STAGE, stage)
    print(f"---- the machine starts again ({stage})", flush=True)
    how()


def after_order():
    section("after a restart in order", lambda: reboot.after("a reboot"))
    section("a loss of power", lambda: restart(reboot.at_once, "power"))


def after_power():
    section("after a loss of power", lambda: reboot.after("a loss of power"))


def main():
    stage = STAGE.read_text() if STAGE.exists() else ""
    if stage == "":
        section("the machine", prepare)
        wanted = Path("parts").read_text().split() or list(PARTS)
        for name in wanted:
            prepared, part = PARTS[name]
            section(name, prepared)
            section(name, part)
    elif stage == "in-order":
        after_order()
    else:
        after_power()
    print("DONE", flush=True)


sys.exit(main())
