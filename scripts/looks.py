"""Fills a live market step by step, and measures looks ahead at each step. See looks.sh."""
import http.client
import json
import random
import sys
import threading
import time
from urllib.parse import urlparse

url, token_file, daemon, asks = urlparse(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
steps = [int(jobs) for text in sys.argv[5:] for jobs in text.split()]
token = open(token_file).read().strip()
draw = random.Random(7)


class Client:
    """One connection."""

    def __init__(self):
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)

    def call(self, method, path, body=None):
        """Status, document and seconds."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        begin = time.perf_counter()
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        took = time.perf_counter() - begin
        return answer.status, json.loads(text) if text else None, took


def work():
    """A job of 1 to 4 nodes for an hour or more: the queue hardly moves meanwhile."""
    nodes, time_limit = draw.randint(1, 4), 60 * draw.randint(60, 120)
    return {"name": "look", "command": ["sleep", "7200"], "nodes": nodes, "time": time_limit}


def fill(jobs, threads=16):
    """Submits jobs on several connections; the last job's number."""
    all_work = [work() for _ in range(jobs)]
    last = [0] * threads

    def some(at):
        client = Client()
        for document in all_work[at::threads]:
            status, done, _ = client.call("POST", "/v1/jobs", document)
            assert status == 201, done
            last[at] = done["jobs"][0]

    every = [threading.Thread(target=some, args=(at,)) for at in range(threads)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()
    return max(last)


def spread(times):
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    return f"{1e3 * at(0.5):9.1f} {1e3 * at(0.99):9.1f}"


def measure(name, count, ask):
    client, times, bad = Client(), [], 0
    for _ in range(count):
        status, done, took = ask(client)
        times.append(took)
        bad += status >= 400
    print(f"  {name:34} {spread(times)}   {count} asked, {bad} without an answer", flush=True)
    return done


def beside(what, other):
    """Submissions while another thread goes on asking."""
    stop = threading.Event()

    def go_on():
        client = Client()
        while not stop.is_set():
            other(client)

    thread = threading.Thread(target=go_on)
    thread.start()
    measure(what, asks, lambda client: client.call("POST", "/v1/jobs", work()))
    stop.set()
    thread.join()


def quote(client):
    return client.call("POST", "/v1/quotes", work())


def step(jobs, job):
    print(f"{jobs} jobs wait (milliseconds: median, 99 of 100)")
    submit = lambda client: client.call("POST", "/v1/jobs", work())
    if job:
        measure("submission, alone", asks, submit)
    told = measure("quote", asks, quote)
    print(f"    by the plan {json.dumps(told.get('queue'))}")
    if job:
        measure("explain", asks, lambda client: client.call("GET", f"/v1/jobs/{job}/explain"))
    whatif = lambda client: client.call("POST", "/v1/whatif", {"policy": "conservative"})
    measure("what-if", max(3, asks // 20), whatif)
    if job:
        beside("submission, beside quotes", quote)
        beside("submission, beside what-ifs", whatif)
    memory = [line.split()[1] for line in open(f"/proc/{daemon}/status") if line.startswith("VmRSS")]
    print(f"  memory: {int(memory[0]) >> 10} MiB", flush=True)


time.sleep(1)
step(0, None)
there = 0
for jobs in steps:
    begin = time.perf_counter()
    job = fill(jobs - there)
    print(f"filled in {time.perf_counter() - begin:.0f} s", flush=True)
    there = jobs
    # The first plan of so many jobs is made meanwhile.
    time.sleep(10)
    step(jobs, job)
