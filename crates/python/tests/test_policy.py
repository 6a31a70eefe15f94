"""Policies in Python."""

import time

import pyarrow
import pytest
from easy import Easy

import tradewind as tw


def starts(runs):
    return pyarrow.table(runs.jobs).select(["job_id", "starting_time"]).to_pylist()


def test_easy_in_python_starts_jobs_when_ours_does(log):
    ours = tw.simulate(log, "easy")
    theirs = tw.simulate(log, Easy)
    assert starts(ours) == starts(theirs)
    assert theirs.policies == ["Easy"]
    assert theirs.metrics == ours.metrics
    exact = {"estimate": "exact", "load": 0.9}
    assert starts(tw.simulate(log, "easy", **exact)) == starts(tw.simulate(log, Easy(), **exact))


def test_a_policy_stands_beside_others_and_begins_each_run_afresh(log):
    runs = tw.simulate(log, ["easy", Easy()], seeds=[1, 2])
    assert runs.policies == ["easy", "Easy"] and len(runs) == 4
    assert starts(runs["Easy"][0]) == starts(runs["Easy"][1]) == starts(runs["easy"][0])


def test_a_start_above_its_budget_ends_the_replay_where_prices_change(log, tmp_path):
    side = tmp_path / "side.toml"
    side.write_text("[[job]]\njob = 1\nbudget = 1\n")
    changing = tmp_path / "changing.toml"
    pool = 'pool = [{ name = "p", nodes = 64 }]'
    changing.write_text(f'[[site]]\nname = "a"\nprice = [["0h", 1], ["1h", 2]]\n{pool}\n')
    with pytest.raises(tw.InputError, match="and its budget is 1"):
        tw.simulate(log, Easy, grid=changing, side=side)


def test_costs_of_what_cannot_be_are_refused(log):
    seen = []

    class Asks(tw.Policy):
        def decide(self, market, events):
            for given in [{"job": 999}, {"job": 0, "pool": 7}, {"job": 0, "at": -1}, {"job": 0, "at": 2**62}]:
                with pytest.raises(ValueError) as error:
                    market.cost(**given)
                seen.append(str(error.value))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.simulate(log, Asks)
    assert "no job 999" in seen[0] and "no pool 7" in seen[1] and "`at`" in seen[2] and "`at`" in seen[3]


class Viewer(tw.Policy):
    """First come, first served, by views and methods alone."""

    promise = "order"

    def begin(self, market):
        assert market.pools[0]["nodes"] == market.processors
        assert market.queue == [] and len(market.sites) == 1
        self.kept = None

    def decide(self, market, events):
        free = market.free[0]
        assert free + sum(job.processors for job in market.running) == market.processors
        for running in market.running:
            assert running.start <= market.now < running.expected_end
            assert sum(nodes for _, nodes in running.shares) == running.processors
        for job in market.queue:
            assert market.waits(job.job) and market.job(job.job).estimate == job.estimate
            assert job.budget is None and job.minimize == "start"
            if job.processors > free:
                break
            market.start(job.job)
            free -= job.processors
        self.kept = market
        kept.append(market)


kept = []


def test_views_say_what_is_there_and_only_during_a_pass(log):
    runs = tw.simulate(log, Viewer)
    assert starts(runs) == starts(tw.simulate(log, "fcfs"))
    with pytest.raises(RuntimeError, match="only while `decide` runs"):
        _ = kept[0].now


def one(answer):
    """A policy that gives this answer in its first pass."""

    class One(tw.Policy):
        def decide(self, market, events):
            return answer(market, events) if callable(answer) else answer

    return One


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ([0, 0], tw.InputError, "job 0 cannot do this in its state"),
        ([77], tw.InputError, "job 77 is number 78 in the log"),
        ([777], tw.InputError, "there are 200 jobs, from 0"),
        (None, tw.InputError, "waiting for ever"),
        ({"starts": [0]}, ValueError, "unknown part `starts`"),
        ({"start": [{"job": 0, "shares": [{"pool": 0, "nodes": 1}]}]}, ValueError, "add up"),
        (7, TypeError, "`decide` returns nothing"),
        ({"wake": 1 << 60}, ValueError, "`wake` is after"),
        (lambda market, events: 1 // 0, ZeroDivisionError, "zero"),
    ],
)
def test_what_cannot_be_is_said(log, answer, error, said):
    with pytest.raises(error, match=said):
        tw.simulate(log, one(answer))


def test_a_broken_promise_is_found(log):
    class Liar(Easy):
        promise = "order"

    with pytest.raises(tw.InputError, match="Liar"):
        tw.simulate(log, Liar)
    with pytest.raises(ValueError, match="there is no promise"):
        tw.simulate(log, type("Odd", (Easy,), {"promise": "all"}))


def test_jobs_can_be_refused(log):
    class Narrow(Easy):
        promise = "nothing"

        def decide(self, market, events):
            wide = [event.job for event in events if getattr(event, "processors", 0) > 8]
            left = [event for event in events if getattr(event, "job", None) not in wide]
            return {"start": super().decide(market, left), "refuse": wide}

    runs = tw.simulate(log, Narrow)
    states = pyarrow.table(runs.jobs)["final_state"].to_pylist()
    assert 0 < states.count("REJECTED") == runs.metrics["refused"]


def test_no_policy(log):
    with pytest.raises(tw.UsageError, match="is no policy"):
        tw.simulate(log, [42])
    with pytest.raises(NotImplementedError):
        tw.simulate(log, tw.Policy)


def test_a_pass_costs_little():
    """A wide bound: the figures are in docs/reference/python.md."""
    options = {"model": "lublin[jobs=2000]", "procs": 128, "load": 0.7}
    before = time.process_time()
    tw.simulate(policy=Easy, **options)
    assert time.process_time() - before < 20
