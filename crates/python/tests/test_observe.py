"""A policy in Python beside a cluster that is only observed; its Slurm is a few lines of shell."""

import json
import os
import pathlib
import subprocess
import sys
import time

import tradewind as tw

FOLDER = pathlib.Path(__file__).parent
SLURM = """#!/bin/sh
here=${0%/*}
while case $1 in env | *=*) ;; *) false ;; esac; do shift; done
case $1 in
squeue) cat "$here/jobs.json" ;;
scontrol)
    case "$*" in
    *nodes*) echo "NodeName=a1 CPUTot=4 State=IDLE Partitions=main RealMemory=4000" ;;
    *reservation*) echo "No reservations in the system" ;;
    esac
    ;;
date | id) exec "$@" ;;
*) exit 1 ;;
esac
"""
CONFIG = """
[[site]]
name = "here"
kind = "local"
pool = [{ name = "p", nodes = 2 }]
[[site]]
name = "far"
kind = "slurm"
mode = "observe"
policy = "python:test_observe:Narrow"
unit = "cores:1"
command = ["SLURM"]
requests_at_rest = 6000
pool = [{ name = "far-main", nodes = 4, partition = "main" }]
"""


class Narrow(tw.Policy):
    """The narrowest job that fits, whatever waits before it."""

    def decide(self, market, events):
        fits = [job for job in market.queue if job.processors <= market.free[0]]
        if fits:
            market.start(min(fits, key=lambda job: (job.processors, job.job)).job)


def job(number, cpus, start, state="PENDING"):
    now = int(time.time())
    runs = state == "RUNNING"
    return {
        "job_id": number, "comment": "", "user_name": "eve", "account": "physics", "job_state": state,
        "state_reason": "None" if runs else "Resources", "submit_time": now, "start_time": start,
        "end_time": start + 600, "partition": "main", "nodes": "a1" if runs else "", "cpus": cpus,
        "node_count": 1, "time_limit": 10, "priority": 100 - number, "exit_code": 0,
    }  # fmt: skip


def test_a_class_decides_for_an_observed_cluster(program, tmp_path):
    def lists(*jobs):
        part = tmp_path / "part"
        part.write_text(json.dumps({"errors": [], "jobs": jobs}))
        part.rename(tmp_path / "jobs.json")

    slurm, config, state = tmp_path / "slurm", tmp_path / "tradewind.toml", tmp_path / "state"
    slurm.write_text(SLURM)
    slurm.chmod(0o755)
    config.write_text(CONFIG.replace("SLURM", str(slurm)))
    begin = int(time.time())
    busy, wide, narrow = job(1, 2, begin, "RUNNING"), job(2, 4, begin + 700), job(3, 1, begin + 700)
    lists(busy, wide, narrow)
    paths = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    up = [program, "up", "--quiet", "--shared-account", "--state", state, "--listen", "127.0.0.1:0"]
    daemon = subprocess.Popen(
        [*up, "--config", config], stdout=subprocess.DEVNULL, cwd=FOLDER, env=os.environ | {"PATH": paths}
    )

    def seen():
        asked = [program, "shadow", "--state", state, "--format", "json"]
        done = subprocess.run(asked, capture_output=True, text=True)
        sites = json.loads(done.stdout)["sites"] if done.returncode == 0 else []
        return sites[0] if sites else {}

    def until(what, done):
        last = time.monotonic() + 120
        while not done():
            assert daemon.poll() is None and time.monotonic() < last, f"{what}: {seen()}"
            time.sleep(0.1)

    try:
        until("the queue is seen", lambda: seen().get("waiting") == 2)
        time.sleep(1.1)
        # The cluster starts the wide job first, then the narrow one, as Slurm would.
        lists(job(2, 4, int(time.time()), "RUNNING"), narrow)
        until("the wide job is seen", lambda: seen()["jobs"] == 1)
        lists(job(3, 1, int(time.time()), "RUNNING"))
        until("the narrow job is seen", lambda: seen()["jobs"] == 2)
        policy = seen()["policy"]
        assert policy["name"] == "python:test_observe:Narrow" and "problem" not in policy, policy
        # It would have started the narrow job at once, and the wide one not before.
        assert (policy["jobs"], policy["earlier"], policy["later"]) == (2, 1, 1), policy
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)
