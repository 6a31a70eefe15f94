"""`simulate` gives what the command gives."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time

import pandas
import polars
import pyarrow
import pytest

import tradewind as tw


def rows_of_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_of_jobs_is_that_of_the_command(log, program, tmp_path):
    command = [program, "simulate", log, "--policy", "easy", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    table = pyarrow.table(tw.simulate(log, policy="easy").jobs)
    rows = rows_of_csv(tmp_path / "jobs.csv")
    assert table.column_names == list(rows[0])
    assert table.num_rows == len(rows) == 200
    for name in table.column_names:
        for ours, theirs in zip(table[name].to_pylist(), (row[name] for row in rows), strict=True):
            match ours:
                case None:
                    assert theirs == ""
                case str():
                    assert ours == theirs
                case _:
                    assert math.isclose(float(ours), float(theirs), abs_tol=1e-6), (name, ours, theirs)


def test_the_summary_is_that_of_the_command(log, program, tmp_path):
    grid = [program, "simulate", log, "--policy", "easy,fcfs", "--estimate", "exact", "--check"]
    subprocess.run([*grid, "--out", tmp_path], check=True, capture_output=True)
    runs = tw.simulate(log, policy="easy,fcfs", estimate="exact", check=True)
    assert runs.policies == ["easy", "fcfs"]
    for policy in runs.policies:
        theirs = json.loads((tmp_path / policy / "summary.json").read_text())
        assert runs[policy].documents == [theirs]
        for name, value in runs[policy].metrics.items():
            assert isinstance(value, float)
            assert math.isnan(value) if theirs[name] is None else value == theirs[name]
    summary = pyarrow.table(runs.summary).to_pylist()
    assert [row["policy"] for row in summary] == ["easy", "fcfs"]
    assert summary[0]["mean_wait_s"] == runs["easy"].metrics["mean_wait_s"]


def test_any_library_reads_the_tables(log):
    runs = tw.simulate(log, policy=["easy", "conservative"], seeds=range(1, 3))
    assert len(runs) == 4
    frame = polars.DataFrame(runs.jobs)
    assert frame.shape[0] == 800 and set(frame["policy"]) == {"easy", "conservative"}
    assert set(frame["seed"]) == {"1", "2"}
    panda = pandas.DataFrame.from_arrow(runs["easy"][0].jobs)
    assert list(panda.columns) == runs[0].jobs.column_names
    mean = panda["waiting_time"].mean()
    assert math.isclose(mean, runs["easy"][0].metrics["mean_wait_s"], rel_tol=1e-4)
    # The table does not need the runs, and can be read twice.
    jobs = runs.jobs
    del runs
    assert pyarrow.table(jobs).num_rows == pyarrow.table(jobs).num_rows == len(jobs) == 800


def test_grids_models_and_rules(examples, log):
    runs = tw.simulate(log, "easy", grid=examples / "three-sites.toml")
    assert runs.metrics["jobs"] > 0
    drawn = tw.simulate(model="lublin[jobs=100]", policy="easy", procs=64, seeds="1..3")
    assert len(drawn) == 3
    assert len({run.metrics["mean_wait_s"] for run in drawn}) > 1
    pyss = tw.simulate(log, "easy[backfill=shortest]", semantics="pyss", estimate="predicted")
    assert pyss.metrics["jobs"] == 200.0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"policy": "eazy"}, 2, "did you mean `easy`?"),
        ({"policy": []}, 2, "no policy is named"),
        ({"policy": "easy,easy"}, 2, "named twice"),
        ({"procs": 0}, 2, "from 1 to"),
        ({"estimate": "guess"}, 2, "known here"),
        ({"seeds": [1, 3]}, 2, "1..10"),
        ({"semantics": "pyss", "overrun": "extend"}, 2, "pyss"),
        ({"from_time": 9, "to_time": 8}, 2, "is not before"),
        ({"warm_up": "1000d"}, 3, "leave no job to count"),
        ({"log": "/no/such/log.swf"}, 3, "log.swf"),
        ({"log": None}, 2, "no log"),
    ],
)
def test_errors_are_those_of_the_command(log, arguments, code, said):
    with pytest.raises(tw.Error, match="(?s)" + said.replace(".", "[.]")) as caught:
        tw.simulate(**{"log": log} | arguments)
    assert caught.value.code == code
    assert caught.value.problems[0][0]


def test_metrics_are_of_one_policy(log):
    runs = tw.simulate(log, "easy,fcfs")
    with pytest.raises(tw.UsageError, match="choose one"):
        _ = runs.metrics
    with pytest.raises(KeyError, match="easy, fcfs"):
        _ = runs["sjf"]


def test_other_threads_go_on_during_a_replay():
    """A replay does not hold the interpreter's lock."""
    seen = []

    def count():
        while not done.is_set():
            seen.append(time.monotonic())
            time.sleep(0.001)

    done = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    before = time.monotonic()
    tw.simulate(model="lublin[jobs=20000]", policy="conservative", procs=128)
    after = time.monotonic()
    done.set()
    thread.join()
    during = [at for at in seen if before < at < after]
    assert after - before < 0.2 or len(during) > 3


def test_progress_is_told_and_its_exception_ends_the_replay(log):
    told = []
    runs = tw.simulate(log, "easy", seeds="1..3", progress=lambda *it: told.append(it))
    assert told and told[-1] == (600, 600) and len(runs) == 3

    def stop(ended, jobs):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tw.simulate(log, "easy", progress=stop)


def test_ctrl_c_ends_a_replay():
    code = (
        "import tradewind as tw\n"
        "print('ready', flush=True)\n"
        "tw.simulate(model='lublin[jobs=2000000]', policy='conservative', procs=128)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert "KeyboardInterrupt" in said
