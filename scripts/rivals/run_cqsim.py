"""Replays a log in CQSim and writes down when each job starts.

Usage: python3 run_cqsim.py FOLDER LOG PROCESSORS fcfs|easy|conservative OUT.csv
FOLDER is a checkout of github.com/SPEAR-UIC/CQSim. Its settings module holds paths of its authors'
machine, so an empty one takes its place; its command line ignores `-b 0`, so it is not used.
"""
import os
import sys
import tempfile
import types

folder, log, _, policy, out = sys.argv[1:]
sys.path.insert(0, os.path.join(folder, "src"))
sys.modules["cqsim_path"] = types.ModuleType("cqsim_path")

import cqsim_main

BACKFILL = {"fcfs": 0, "easy": 1, "conservative": 2}

with tempfile.TemporaryDirectory() as scratch:
    here, name = os.path.split(os.path.abspath(log))
    sys.stdout = open(os.devnull, "w")
    cqsim_main.cqsim_main(
        {
            "path_in": here + "/",
            "path_fmt": scratch + "/",
            "path_out": scratch + "/",
            "path_debug": scratch + "/",
            "job_trace": name,
            "node_struc": name,
            "job_save": "jobs",
            "node_save": "nodes",
            "output": "result",
            "debug": "debug",
            "ext_fmt_j": ".csv",
            "ext_fmt_j_c": ".con",
            "ext_fmt_n": ".csv",
            "ext_fmt_n_c": ".con",
            "ext_si": ".ult",
            "ext_ai": ".adp",
            "ext_jr": ".rst",
            "ext_debug": ".log",
            "log_freq": 1000,
            "read_input_freq": 1000,
            "debug_lvl": 0,
            "start": 0.0,
            "read_num": 0,
            "anchor": 0,
            "cluster_fraction": 1.0,
            # The oldest first, as its settings have it, and no window of reordered jobs.
            "alg": ["w", "+", "2"],
            "alg_sign": [1, 0, 1],
            "ad_alg_para": [],
            "backfill": BACKFILL[policy],
            "bf_para": [],
            "win": 0,
            "win_para": ["5", "0", "0"],
            "ad_win_para": [],
            "monitor": 0,
        }
    )
    with open(os.path.join(scratch, "result.rst")) as lines, open(out, "w") as starts:
        for line in lines:
            fields = line.strip().split(";")
            starts.write(f"{fields[0]},{int(float(fields[7]))}\n")
