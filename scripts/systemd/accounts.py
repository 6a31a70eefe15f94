"""Jobs of two users run as their own accounts in the unit's sandbox."""

import os
from pathlib import Path

from market import cell, check, ended, lives, main_pid, market, output, state, submit, until, written

WHO = """id -un; id -Gn; umask; grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status
echo $HOME $USER; pwd; cat /proc/self/cgroup; echo mine >kept; echo end"""

# What a job of one user tries against the market and another user's job.
ATTACK = """for path in /var/lib/tradewind/admin.token /var/lib/tradewind/journal.db /proc/VICTIM/environ \
/proc/VICTIM/cwd/secret /proc/DAEMON/environ /home/ben/secret; do
    cat "$path" >/dev/null 2>&1 && echo "read $path"
done
for pid in VICTIM KEEPER DAEMON; do kill -9 $pid 2>/dev/null && echo "killed $pid"; done
kill -9 -- -VICTIM 2>/dev/null && echo "killed group"
ls /var/lib/tradewind >/dev/null 2>&1 && echo listed
for file in memory.max cpu.max cgroup.procs; do
    (echo max >CELL/$file) 2>/dev/null && echo "wrote $file"
done
(echo x >/usr/local/x) 2>/dev/null && echo "wrote the system"
echo end"""


def identity(how):
    """Each job has its user's account, its groups, and nothing of the daemon's rights."""
    for user in ["ana", "ben"]:
        number = submit(user, WHO)
        it = ended(number)
        said = output(number, user).splitlines()
        check(f"{how}: a job of {user} completes", it["state"] == "COMPLETED", it["state"])
        check(f"{how}: it runs as {user}, with the groups and the home of that account",
              said[:2] == [user, f"{user} team"] and f"/home/{user} {user}" in said, said)
        held = [line for line in said if line.startswith("Cap") and line.split()[1].strip("0")]
        check(f"{how}: it has no capabilities", not held, held)
        kept = Path(f"/home/{user}/kept").stat()
        check(f"{how}: its files are {user}'s only", kept.st_mode & 0o777 == 0o600, oct(kept.st_mode))


def apart(how):
    """A job of one user against that of another and the daemon."""
    Path("/home/ben/secret").write_text("secret\n")
    Path("/home/ben/secret").chmod(0o600)
    victim = submit("ben", "echo $$; echo begun; while [ ! -e /home/ben/go ]; do sleep 0.2; done; echo over")
    pid = int(written(victim, "begun", "ben").split()[0])
    keeper = next(int(line.split()[1]) for line in
                  Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("PPid"))
    text = ATTACK
    for name, value in [("VICTIM", pid), ("KEEPER", keeper), ("DAEMON", main_pid()), ("CELL", cell(victim))]:
        text = text.replace(name, str(value))
    attack = submit("ana", text)
    ended(attack)
    said = output(attack, "ana").split("\n")
    check(f"{how}: a job of ana cannot read, kill or change what is not hers", said == ["end", ""], said)
    check(f"{how}: the job of ben runs on", lives(pid) and state(victim) == "RUNNING")
    seen = market("jobs", "--format", "json", user="ana")
    check(f"{how}: ana does not see ben's job in the market", f'"id":{victim},' not in seen)
    said = market("cancel", str(victim), user="ana", fails=True)
    check(f"{how}: nor can she cancel it", state(victim) == "RUNNING", said)
    Path("/home/ben/go").touch()
    check(f"{how}: it completes", ended(victim)["state"] == "COMPLETED")
    os.unlink("/home/ben/go")


def cancels(how):
    """What a job leaves behind ends with it, although the daemon is another account."""
    number = submit("ana", "env -i setsid sleep 7311 & echo begun; sleep 7311")
    written(number, "begun", "ana")
    market("cancel", str(number), user="ana")
    it = ended(number)
    check(f"{how}: a job can be cancelled", it["state"] == "CANCELLED", it["state"])
    until("its processes are gone", lambda: not sleeping("7311"), 30)
    check(f"{how}: and nothing of it is left", not sleeping("7311"))
    number = submit("ana", "trap '' TERM; echo begun; while :; do sleep 0.1; done", "--time", "0:05")
    it = ended(number)
    check(f"{how}: a job ends at its limit", it["state"] == "TIMEOUT", it["state"])


def sleeping(seconds):
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                return True
        except OSError:
            continue
    return False
