"""How many decisions per second worlds take: speed.py LOG [KIND] [WORLDS] [THREADS].

Every action is 0 (EASY), so that nothing but the worlds and the calls of `step` costs time.
"""

import sys
import time

import numpy as np

import tradewind as tw


def main():
    """Prints decisions per second of wall-clock time, and of processor time of all threads."""
    log, kind = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "Backfill"
    worlds, threads = (int(it) for it in (sys.argv[3:5] + ["64", "2"][len(sys.argv[3:5]) :]))
    envs = tw.make_vec(kind, worlds, log=log, jobs=4096, threads=threads, copy=False)
    envs.reset(seed=1)
    actions = np.zeros(worlds, np.int64)
    for _ in range(5):
        wall, used, steps = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - wall < 2:
            for _ in range(100):
                envs.step(actions)
            steps += 100
        wall, used = time.perf_counter() - wall, time.process_time() - used
        decisions = steps * worlds
        print(f"{decisions / wall:,.0f} per second, {decisions / used:,.0f} per second of processor time")


if __name__ == "__main__":
    main()
