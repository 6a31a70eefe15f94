"""Replays one log in other simulators and in Tradewind, and prints a Markdown table.

Called by run.sh; docs/explanation/rivals.md says how to set it up and how to read it.
"""

import argparse
import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
POLICIES = ["fcfs", "easy", "conservative"]
SEMANTICS = ["textbook", "pyss"]
# Runs that together take less than this are repeated, up to so many times; the best counts.
ENOUGH_S, MOST_RUNS = 3.0, 5


@dataclass
class Job:
    submit: int
    run: int
    processors: int
    request: int


@dataclass
class Outcome:
    """What one simulator made of one policy."""

    simulator: str
    policy: str
    wall_s: float
    runs: int
    starts: dict


def prepare(log, out, first):
    """Writes the jobs that every simulator reads alike, and returns them and the machine's size.

    Run time, processors and request above 0; runs cut to requests; numbers from 1; the first
    submission at 0; processors as allocated.
    """
    opened = gzip.open(log, "rt") if str(log).endswith(".gz") else open(log)
    processors, rows = None, []
    with opened as lines:
        for line in lines:
            if line.startswith(";"):
                key, _, value = line.lstrip("; ").partition(":")
                if key.strip() == "MaxProcs" and value.split():
                    processors = int(value.split()[0])
                continue
            fields = line.split()
            if len(fields) < 18:
                continue
            number, submit, run = int(fields[0]), int(fields[1]), int(float(fields[3]))
            width, request = int(fields[4]), int(float(fields[8]))
            if run > 0 and width > 0 and request > 0:
                rows.append((submit, number, Job(submit, min(run, request), width, request)))
    if processors is None:
        sys.exit(f"{log}: no MaxProcs in the header")
    rows.sort(key=lambda row: row[:2])
    jobs = [job for _, _, job in rows][:first]
    zero = jobs[0].submit
    with open(out, "w") as file:
        file.write(f"; MaxProcs: {processors}\n; MaxNodes: {processors}\n")
        for number, job in enumerate(jobs, 1):
            job.submit -= zero
            file.write(
                f"{number} {job.submit} 0 {job.run} {job.processors} -1 -1 {job.processors} "
                f"{job.request} -1 1 1 1 1 1 1 -1 -1\n"
            )
    return jobs, processors


def timed(command, timeout_s, quick_s=ENOUGH_S):
    """The best wall time of a whole process, and how many runs it is the best of."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs == 0 or (runs < MOST_RUNS and spent < quick_s):
        began = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=timeout_s, check=False)
        took = time.perf_counter() - began
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
            raise RuntimeError("; ".join(said) or f"exit code {done.returncode}")
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best, runs


def commit(folder):
    said = subprocess.run(["git", "-C", str(folder), "rev-parse", "--short=7", "HEAD"],
                          capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def python2():
    """Python 2.7: $PYTHON2, or among pyenv's, or on the path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob("versions/2.7.*/bin/python2.7"))
    return os.environ.get("PYTHON2") or (str(found[-1]) if found else shutil.which("python2.7"))


def rivals(folder):
    """The simulators in the folder: name, policies, and the command without its last arguments."""
    found = []
    pyss, accasim, cqsim = folder / "pyss", folder / "accasim", folder / "CQSim"
    if (pyss / "src").is_dir():
        if python2() is None:
            sys.exit("pyss needs Python 2.7: name it in PYTHON2")
        command = [python2(), "-O", HERE / "run_pyss.py", pyss]
        found.append((f"pyss @{commit(pyss)}", POLICIES, command))
    if (accasim / "bin/python").exists():
        python = accasim / "bin/python"
        ask = "import importlib.metadata as m; print(m.version('accasim'))"
        version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
        command = [python, HERE / "run_accasim.py", accasim]
        found.append((f"AccaSim {version.stdout.strip()}", POLICIES[:2], command))
    if (cqsim / "src").is_dir():
        command = [sys.executable, HERE / "run_cqsim.py", cqsim]
        found.append((f"CQSim @{commit(cqsim)}", POLICIES, command))
    return found


def read_starts(path):
    with open(path) as file:
        return {int(number): int(start) for number, start in csv.reader(file)}


def run_rival(rival, policy, log, processors, scratch, timeout_s):
    name, _, command = rival
    out = scratch / "starts.csv"
    out.unlink(missing_ok=True)
    arguments = [str(part) for part in [*command, log, processors, policy, out]]
    wall_s, runs = timed(arguments, timeout_s)
    return Outcome(name, policy, wall_s, runs, read_starts(out))


def run_ours(binary, policy, semantics, log, scratch, timeout_s):
    out = scratch / f"{policy}-{semantics}"
    command = [binary, "simulate", log, "--policy", policy, "--semantics", semantics, "--out", out]
    # Without --force a second run would find the first one's results and do nothing.
    command += ["--quiet", "--force"]
    wall_s, runs = timed([str(part) for part in command], timeout_s, quick_s=1.0)
    with open(out / "jobs.csv") as file:
        starts = {int(row["job_id"]): int(float(row["starting_time"])) for row in csv.DictReader(file)}
    return Outcome(f"Tradewind `{semantics}`", policy, wall_s, runs, starts)


def differ(jobs, starts, others):
    """How many jobs start at another time, or in one of the two only."""
    count = sum(starts.get(n) != others.get(n) for n in range(1, len(jobs) + 1))
    return f"{count} ({100 * count / len(jobs):.1f} %)" if count else "0"


def row(jobs, outcome, ours):
    """One line of the table. `ours` has our own outcomes by semantics, for the same policy."""
    starts = {n: start for n, start in outcome.starts.items() if 1 <= n <= len(jobs)}
    ran = [(jobs[n - 1], start) for n, start in starts.items()]
    wait = sum(start - job.submit for job, start in ran) / len(ran)
    stretched = (max(1.0, (start - job.submit + job.run) / max(job.run, 10)) for job, start in ran)
    makespan = max(start + job.run for job, start in ran)
    ratio = outcome.wall_s / max(our.wall_s for our in ours.values())
    theirs = not outcome.simulator.startswith("Tradewind")
    return [
        outcome.simulator,
        outcome.policy,
        f"{outcome.wall_s:.3f}" if outcome.wall_s < 10 else f"{outcome.wall_s:.1f}",
        f"{len(jobs) / outcome.wall_s:,.0f}",
        f"{wait:.3f}",
        f"{sum(stretched) / len(ran):.4f}",
        str(makespan),
        *(differ(jobs, outcome.starts, ours[it].starts) for it in SEMANTICS),
        f"{ratio:,.0f} ×" if theirs else "",
    ]


def unexpected(jobs, outcome, ours):
    """What should be the same and is not: FCFS everywhere, and all that pyss does."""
    alike = []
    if outcome.policy == "fcfs":
        alike.append("textbook")
    if outcome.simulator.startswith("pyss"):
        alike.append("pyss")
    return [f"{outcome.simulator}, {outcome.policy}: starts differ from `{semantics}`"
            for semantics in alike if differ(jobs, outcome.starts, ours[semantics].starts) != "0"]


HEAD = ["simulator", "policy", "wall s", "jobs/s", "mean wait s", "mean bounded slowdown",
        "makespan s", "≠ `textbook`", "≠ `pyss`", "wall / ours"]


def empty(simulator, policy, why):
    return [simulator, policy, why] + [""] * (len(HEAD) - 3)


def main():
    parser = argparse.ArgumentParser(prog="scripts/rivals/run.sh")
    parser.add_argument("folder", type=Path, help="where the other simulators are")
    parser.add_argument("log", type=Path, help="SWF, plain or gzip, with MaxProcs in its header")
    parser.add_argument("jobs", type=int, nargs="?", help="only the first so many")
    parser.add_argument("--only", default="", help="names of simulators, separated by commas")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--timeout", type=float, default=1800, help="seconds per run")
    parser.add_argument("--json", type=Path, help="writes the rows here, too")
    parser.add_argument("--binary", type=Path, default=HERE.parents[1] / "target/release/tradewind")
    args = parser.parse_args()
    only = [name.lower() for name in args.only.split(",") if name]
    chosen = [it for it in rivals(args.folder) if not only or it[0].split()[0].lower() in only]
    policies = args.policies.split(",")
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        log = scratch / "log.swf"
        jobs, processors = prepare(args.log, log, args.jobs)
        print(f"{args.log.name}: {len(jobs)} jobs, {processors} processors\n")
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
        for policy in policies:
            ours = {semantics: run_ours(args.binary, policy, semantics, log, scratch, args.timeout)
                    for semantics in SEMANTICS}
            for outcome in ours.values():
                rows.append(row(jobs, outcome, ours))
                print("| " + " | ".join(rows[-1]) + " |", flush=True)
            for rival in (it for it in chosen if policy in it[1]):
                try:
                    outcome = run_rival(rival, policy, log, processors, scratch, args.timeout)
                    rows.append(row(jobs, outcome, ours))
                    wrong += unexpected(jobs, outcome, ours)
                except subprocess.TimeoutExpired:
                    rows.append(empty(rival[0], policy, f"> {args.timeout:g}"))
                except (RuntimeError, OSError) as error:
                    rows.append(empty(rival[0], policy, f"failed: {error}"))
                print("| " + " | ".join(rows[-1]) + " |", flush=True)
    if args.json:
        args.json.write_text(json.dumps([dict(zip(HEAD, cells)) for cells in rows], indent=1))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
