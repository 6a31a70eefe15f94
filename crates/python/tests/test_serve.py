"""A policy in Python behind the pipe of a policy's command."""

import csv
import pathlib
import subprocess
import sys

import pyarrow
import pytest
from easy import Easy
from patient import Patient

import tradewind as tw

FOLDER = pathlib.Path(__file__).parent


class Viewer(tw.Policy):
    """EASY's head alone, by views and methods."""

    promise = "order"

    def begin(self, market):
        assert market.processors == sum(pool["nodes"] for pool in market.pools)

    def decide(self, market, events):
        free = market.free[0]
        assert free + sum(job.processors for job in market.running) == market.processors
        for running in market.running:
            assert running.start <= market.now < running.expected_end
        for job in market.queue:
            assert market.waits(job.job) and job.budget is None
            assert market.job(job.job).estimate == job.estimate
            if job.processors > free:
                break
            market.start(job.job)
            free -= job.processors


def replayed(program, log, policy, out, *more):
    command = f"{sys.executable} -m tradewind.serve {policy}"
    run = [program, "simulate", log, "--policy-cmd", command, "--out", out, *more]
    return subprocess.run(run, capture_output=True, text=True, cwd=FOLDER)


@pytest.mark.parametrize(("name", "policy"), [("easy:Easy", Easy), ("test_serve:Viewer", Viewer)])
def test_starts_are_those_of_the_same_process(program, log, tmp_path, name, policy):
    done = replayed(program, log, name, tmp_path)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "jobs.csv", newline="") as file:
        theirs = [float(row["starting_time"]) for row in csv.DictReader(file)]
    assert theirs == pyarrow.table(tw.simulate(log, policy).jobs)["starting_time"].to_pylist()


def test_prices_that_change_are_those_of_the_same_process(program, log, examples, tmp_path):
    grid = examples / "prices-grid.toml"
    done = replayed(program, log, "patient:Patient", tmp_path, "--grid", grid)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "jobs.csv", newline="") as file:
        theirs = [float(row["starting_time"]) for row in csv.DictReader(file)]
    ours = tw.simulate(log, Patient, grid=grid)
    assert theirs == pyarrow.table(ours.jobs)["starting_time"].to_pylist()
    easy = tw.simulate(log, "easy", grid=grid)
    assert 0 < ours.metrics["total_cost"] < easy.metrics["total_cost"]


class Slow(tw.Policy):
    def decide(self, market, events):
        import time

        time.sleep(600)


def test_a_policy_that_thinks_too_long_ends_the_replay(program, log, tmp_path):
    done = replayed(program, log, "test_serve:Slow", tmp_path, "--policy-timeout", "1s")
    assert done.returncode == 3 and "no answer within 1 s" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [("easy", "names no policy"), ("easy:None_", "there is no policy"), ("calls:double", "not derived")],
)
def test_what_is_no_policy_is_said(name, said):
    command = [sys.executable, "-m", "tradewind.serve", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, input="")
    assert done.returncode == 1 and said in done.stderr
