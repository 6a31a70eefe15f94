"""The trained example, small."""

import json
import pathlib
import subprocess
import sys

import pytest

import tradewind as tw

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def overtake(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import overtake

    return overtake


def test_training_improves_on_where_it_began(overtake, log):
    said = []
    small = {"generations": 6, "worlds": 16, "episodes": 2, "jobs": 100, "say": said.append}
    weights = overtake.train(log, **small)
    again = overtake.train(log, **small | {"say": lambda _: None})
    assert (weights == again).all() and len(said) == 6
    rows = overtake.compare(weights, log)
    assert set(rows) == {"agent", "easy", "easy[backfill=shortest]"}
    assert rows["easy"] == tw.simulate(log, "easy").metrics
    assert rows["agent"]["jobs"] == rows["easy"]["jobs"] == 200
    assert "| small | agent |" in overtake.table("small", rows)


def test_the_longest_wait_first_is_easy(overtake, log):
    """With a weight on the wait alone the first in line is chosen: ties go to it."""
    wait = [float(name == "wait") for name in overtake.FEATURES]
    easy = tw.simulate(log, "easy").metrics
    assert overtake.measured(wait, log, candidates=200) == easy


def test_the_commands_run(log, tmp_path):
    script, out = FOLDER / "overtake.py", tmp_path / "weights.json"
    train = [sys.executable, script, "train", log, "-o", out, "--generations", "0"]
    subprocess.run(train, check=True, capture_output=True)
    assert set(json.loads(out.read_text())) and len(json.loads(out.read_text())) == 6
    compare = [sys.executable, script, "compare", out, log]
    said = subprocess.run(compare, check=True, capture_output=True, text=True).stdout
    assert said.count("\n") == 5 and "p99" in said
