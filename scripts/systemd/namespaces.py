"""Jobs that share the daemon's account, with the drop-in for namespaces."""

from market import (STATE, cell, check, ended, lives, main_pid, market, output, state, submit, written)

ATTACK = """ls -A STATE; cat STATE/admin.token STATE/journal.db >/dev/null 2>&1 && echo read
for pid in VICTIM DAEMON; do [ -r /proc/$pid/environ ] && cat /proc/$pid/environ >/dev/null 2>&1 && echo "saw $pid"; done
cat /proc/VICTIM/root/var/lib/tradewind/admin.token 2>/dev/null && echo "read through /proc"
for file in memory.max cpu.max; do (echo max >CELL/$file) 2>/dev/null && echo "wrote $file"; done
umount STATE 2>/dev/null && echo uncovered
for pid in VICTIM DAEMON; do
    tr '\\0' ' ' </proc/$pid/cmdline 2>/dev/null | grep -E 'begun|tradewind up' && echo "listed $pid"; done
for path in /proc/[0-9]*; do tr '\\0' ' ' <$path/cmdline 2>/dev/null | grep -x 'sleep 120 ' && echo "listed $path"; done
kill -9 VICTIM 2>/dev/null && echo "killed VICTIM"
echo end
kill -9 -1"""


def apart():
    """A job against another one, the state folder and its own limits."""
    victim = submit("ben", "echo begun; sleep 120; echo over")
    written(victim, "begun", "ben")
    folder = cell(victim)
    pid = next(int(pid) for pid in (folder / "cgroup.procs").read_text().split()
               if b"sleep" in read(f"/proc/{pid}/cmdline"))
    text = ATTACK
    daemon = main_pid()
    for name, value in [("STATE", STATE), ("VICTIM", pid), ("DAEMON", daemon), ("CELL", folder)]:
        text = text.replace(name, str(value))
    attack = submit("ana", f"exec 2>/dev/null; {text}")
    it = ended(attack)
    said = output(attack, "ana").split("\n")
    # Only the folders on the way to what jobs may see are there.
    allowed = {"end", "", "sites", "work"}
    check("a job sees no state folder and no other job, and changes no limits",
          "end" in said and set(said) <= allowed, f"{it['state']}: {said}")
    check("the other job runs on, and so does the daemon",
          lives(pid) and lives(daemon) and state(victim) == "RUNNING")
    market("cancel", str(victim))
    ended(victim)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
