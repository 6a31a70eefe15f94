"""Replays a log in AccaSim and writes down when each job starts.

Usage: python3.9 run_accasim.py FOLDER LOG PROCESSORS fcfs|easy OUT.csv
The interpreter is the one that has accasim 1.1.3; FOLDER is not read.
"""
import json
import os
import sys
import tempfile
import time
from datetime import datetime

# The schedule is written in local time.
os.environ["TZ"] = "UTC"
time.tzset()

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator

_, log, processors, policy, out = sys.argv[1:]
SCHEDULERS = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}
EPOCH = datetime(1970, 1, 1)

with tempfile.TemporaryDirectory() as folder:
    machine = os.path.join(folder, "machine.json")
    with open(machine, "w") as file:
        # One node with all processors: the same schedule as a node for each, in less time.
        json.dump(
            {
                "groups": {"all": {"core": int(processors)}},
                "resources": {"all": 1},
                "equivalence": {"processor": {"core": 1}},
            },
            file,
        )
    simulator = Simulator(
        log,
        machine,
        SCHEDULERS[policy](FirstFit()),
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=folder,
        LOG_LEVEL="WARNING",
    )
    (schedule,) = simulator.start_simulation().values()
    with open(schedule) as lines, open(out, "w") as starts:
        for line in lines:
            submitted, _, ran = line.split("__")
            start = datetime.strptime(ran.split(";")[0], "%Y-%m-%d %H:%M:%S")
            starts.write(f"{submitted.split(';')[0]},{int((start - EPOCH).total_seconds())}\n")
