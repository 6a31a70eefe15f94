"""Functions as jobs of a market that runs on this machine."""

import concurrent.futures
import pathlib
import time

import calls
import pytest

import tradewind as tw


@pytest.fixture
def client(market):
    return tw.Market(*market)


#: Where jobs find the module of the functions.
PATH = {"PYTHONPATH": str(pathlib.Path(calls.__file__).parent)}


@pytest.fixture
def executor(client):
    with tw.Executor(client, time=60, environment=PATH) as made:
        yield made
        made.shutdown(wait=False, cancel_futures=True)


def test_results_and_exceptions_come_back(executor):
    assert isinstance(executor, concurrent.futures.Executor)
    result = executor.submit(calls.add, 1, 2, more=3)
    failed = executor.submit(calls.fail, "this")
    odd = executor.submit(calls.unpicklable)
    gone = executor.submit(calls.leave)
    assert result.result(timeout=120) == 6
    assert result.job.result()["state"] == "COMPLETED" and result.job.result()["name"] == "add"
    with pytest.raises(LookupError, match="this") as caught:
        failed.result(timeout=120)
    assert "calls.py" in caught.value.__notes__[0]
    assert failed.job.exception().state == "FAILED"
    with pytest.raises(tw.JobFailed) as lost:
        gone.result(timeout=120)
    assert lost.value.job["exit"]["code"] == 3
    try:
        assert odd.result(timeout=120)() is None
    except RuntimeError as error:
        assert "cannot be pickled" in str(error)


def test_map_keeps_the_order(executor):
    assert list(executor.map(calls.double, range(4), timeout=120)) == [0, 2, 4, 6]
    chunks = executor.map(calls.add, range(5), range(5), timeout=120, chunksize=3)
    assert list(chunks) == [0, 2, 4, 6, 8]


def test_a_call_is_cancelled_with_its_job(executor, tmp_path):
    call = executor.submit(calls.sleep, str(tmp_path / "runs"))
    last = time.monotonic() + 120
    while not (tmp_path / "runs").exists():
        assert time.monotonic() < last
        time.sleep(0.05)
    assert call.running() and call.cancel() and call.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        call.result()
    assert call.job.exception(timeout=120).state == "CANCELLED"


def test_a_job_without_an_answer_is_tried_again(client, tmp_path):
    with tw.Executor(client, time=60, tries=2, folder=tmp_path, environment=PATH) as executor:
        assert executor.submit(calls.once, str(tmp_path / "seen")).result(timeout=120) == "second"
    assert [it.name for it in tmp_path.iterdir()] == ["seen"]
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(calls.double, 1)


def test_what_a_market_refuses_is_raised(client):
    with tw.Executor(client, time=60, nodes=10**6) as executor:
        with pytest.raises(tw.InputError):
            executor.submit(calls.double, 1).result(timeout=120)
    with pytest.raises(tw.UsageError, match="`tries`"):
        tw.Executor(client, tries=0)


def test_few_are_submitted_at_once(client):
    with tw.Executor(client, time=60, most=1, environment=PATH) as executor:
        jobs = [executor.submit(calls.double, number) for number in range(3)]
        assert [job.result(timeout=120) for job in jobs] == [0, 2, 4]
