"""A client of a market that runs on this machine."""

import asyncio
import concurrent.futures
import http.server
import json
import threading
import time

import pytest

import tradewind as tw


@pytest.fixture
def client(market):
    url, token = market
    return tw.Market(url, token)


def test_jobs_are_futures(client, tmp_path):
    job = client.submit(["echo", "hello"], time=60, directory=str(tmp_path))
    done = job.result(timeout=120)
    assert done["state"] == "COMPLETED" and done["id"] == job.id
    assert job.output().strip() == "hello"
    assert job.output(bytes=3) == "lo\n"
    assert not job.cancel()
    assert [it["id"] for it in client.jobs(name="echo")] == [job.id]


def test_jobs_that_fail_say_so(client, tmp_path):
    jobs = [
        client.submit(["false"], time=60, directory=str(tmp_path)),
        client.submit(["true"], time=60, directory=str(tmp_path)),
    ]
    assert {job.id for job in tw.as_completed(jobs, timeout=120)} == {job.id for job in jobs}
    failed = jobs[0].exception()
    assert isinstance(failed, tw.JobFailed) and failed.state == "FAILED"
    assert failed.job["exit"]["code"] == 1
    assert jobs[1].exception() is None


def test_jobs_can_be_cancelled_and_awaited(client, tmp_path):
    job = client.submit(["sleep", "300"], time=600, directory=str(tmp_path))
    assert job.cancel()

    async def wait():
        return await asyncio.wrap_future(job)

    with pytest.raises(tw.JobFailed, match="CANCELLED"):
        asyncio.run(asyncio.wait_for(wait(), 120))
    again = client.future(job.id)
    done, left = concurrent.futures.wait([again], timeout=120)
    assert done == {again} and not left


def test_quotes_are_accepted(client, tmp_path):
    work = {"time": 60, "directory": str(tmp_path), "name": "quoted"}
    quotes = client.quote(["true"], **work)["quotes"]
    offer = next(offer for offer in quotes if "id" in offer)
    job = client.submit(["true"], quote=offer["id"], **work)
    assert job.result(timeout=180)["promise"]["quote"] == offer["id"]


def test_scripts_and_arrays(client, tmp_path):
    script = f"#!/bin/sh\n#SBATCH --time=1 --array=1-3 --chdir={tmp_path}\necho $SLURM_ARRAY_TASK_ID\n"
    with pytest.raises(tw.UsageError, match="a script and a command"):
        client.submit(["true"], script=script)
    jobs = client.submit_array(script=script, options={"--job-name": "three"})
    assert len(jobs) == 3
    for job in tw.as_completed(jobs, timeout=120):
        assert job.result()["name"] == "three"


def test_a_key_submits_once(client, tmp_path):
    work = {"time": 60, "directory": str(tmp_path), "key": "the-same"}
    assert client.submit(["true"], **work).id == client.submit(["true"], **work).id


def test_errors_have_the_codes_of_the_command(client, market):
    url, token = market
    for call, kind, code in [
        (lambda: client.job(10**9), tw.RefusedError, 1),
        (lambda: client.submit(["true"], time=0), tw.InputError, 3),
        (lambda: client.submit(["true"], time=60, nodes=10**6), tw.InputError, 3),
        (lambda: client.submit("echo hello", time=60), tw.UsageError, 2),
        (lambda: tw.Market(url, "wrong").jobs(), tw.UsageError, 2),
        (lambda: tw.Market("http://example.org", token), tw.UsageError, 2),
        (lambda: tw.Market("127.0.0.1:80", token), tw.UsageError, 2),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.code == code
    missing = client.future(10**9)
    with pytest.raises(tw.RefusedError):
        missing.result(timeout=120)


class Flaky(http.server.BaseHTTPRequestHandler):
    """Loses the answer to the first submission, then is too busy once, then accepts."""

    keys: list = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        match len(self.keys):
            case 1:
                self.connection.close()
                return
            case 2:
                status, answer = 503, {"error": {"message": "the daemon stops"}}
            case _:
                status, answer = 201, {"jobs": [7]}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_submission_is_repeated_with_its_key_and_a_token_is_not_passed_on():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        client = tw.Market(f"http://127.0.0.1:{server.server_port}", "t", timeout=60)
        answer = client._line.ask("POST", "/v1/jobs", {}, key="one")
        assert answer == {"jobs": [7]} and Flaky.keys == ["one"] * 3
        before = time.monotonic()
        with pytest.raises(tw.RefusedError, match="302"):
            client.jobs()
        assert time.monotonic() - before < 30
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
