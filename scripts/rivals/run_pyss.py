"""Replays a log in pyss and writes down when each job starts.

Usage: python2.7 -O run_pyss.py FOLDER LOG PROCESSORS fcfs|easy|conservative OUT.csv
FOLDER is a checkout of github.com/dinesh121991/pyss.
"""
import os
import sys

folder, log, processors, policy, out = sys.argv[1:]
sys.path.insert(0, os.path.join(folder, "src"))

from base.prototype import _job_inputs_to_jobs
from base.workload_parser import parse_lines
from schedulers.conservative_scheduler import ConservativeScheduler
from schedulers.easy_scheduler import EasyBackfillScheduler
from schedulers.fcfs_scheduler import FcfsScheduler
from schedulers.simulator import Simulator

SCHEDULERS = {
    "fcfs": FcfsScheduler,
    "easy": EasyBackfillScheduler,
    "conservative": ConservativeScheduler,
}

processors = int(processors)
with open(log) as lines:
    jobs = _job_inputs_to_jobs(parse_lines(lines), processors)
    simulator = Simulator(jobs, processors, SCHEDULERS[policy](processors))
simulator.run()
with open(out, "w") as starts:
    for job in simulator.terminated_jobs:
        starts.write("%d,%d\n" % (job.id, job.start_to_run_at_time))
