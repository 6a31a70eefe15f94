"""A policy in Python as a process of its own, which answers lines of JSON::

    tradewind simulate LOG --policy-cmd 'python3 -m tradewind.serve module:Class' --out DIR

``module:Class`` is a ``tradewind.Policy``; the module is looked for in the current folder, too. The lines are
those of ``docs/reference/policy-cmd.md``. What the policy prints goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from .policy import Policy

PROTOCOL = 1
#: Attributes of jobs that state none.
NO_TERMS: dict[str, Any] = {
    "user": 0, "priority": 0, "home": None, "value": None, "min_performance": None, "max_price": None,
    "budget": None, "earliest_start": None, "deadline": None, "minimize": "start",
}


class Event:
    """A line's event: its fields are attributes, ``from_`` stands for ``from``."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        terms = NO_TERMS if fields["event"] == "submitted" else {}
        named = terms | {"from_" if name == "from" else name: it for name, it in fields.items()}
        if isinstance(shares := named.get("shares"), list):
            named["shares"] = [(share["pool"], share["nodes"]) for share in shares]
        self.__dict__.update(named)

    def __repr__(self) -> str:
        return f"<Event {self.__dict__}>"


class Job:
    """A job and what it asks for. Times in seconds, amounts in credits."""

    job: int
    processors: int
    estimate: int

    def __init__(self, event: Event) -> None:
        self.__dict__.update({name: it for name, it in event.__dict__.items() if name != "event"})

    def __repr__(self) -> str:
        return f"<Job {self.job}>"


class Running:
    """A job that holds nodes."""

    def __init__(self, job: Job, start: int, shares: list[tuple[int, int]], market: Market) -> None:
        self.job, self.processors, self.start = job.job, job.processors, start
        self.shares = shares
        self._estimate: int = job.estimate
        self._market = market

    @property
    def expected_end(self) -> int:
        """The end of its last tasks; once that is over, the estimate is doubled until it is not."""
        slowest: int = min(self._market._speeds[pool] for pool, _ in self.shares)
        length: int = max(-(-self._estimate * 1000 // slowest), 1)
        while self.start + length <= self._market.now:
            length *= 2
        return self.start + length


class Prices:
    """What a node of a pool costs, in micro-credits per second."""

    def __init__(self, pool: Mapping[str, Any]) -> None:
        told = pool.get("prices", {"values": [(0, pool["price"])]})
        self.changes = "prices" in pool
        self._values = [(at, round(1e6 * price)) for at, price in told["values"]]
        self._every: int | None = told.get("every")

    def steps(self, start: int, end: int) -> list[tuple[int, int]]:
        """Pairs of (from when on, price): at ``start``, and each change before ``end``."""
        first, shift = self._values[0], 0
        if self._every:
            shift = (start - first[0]) // self._every * self._every
        found = [(start, first[1])]
        while True:
            for at, price in self._values:
                if at + shift >= end and at + shift > start:
                    return found
                if at + shift <= start:
                    found = [(start, price)]
                else:
                    found.append((at + shift, price))
            if not self._every:
                return found
            shift += self._every

    def cost(self, start: int, end: int) -> int:
        """The sum over all seconds."""
        steps = self.steps(start, end)
        ends = [at for at, _ in steps[1:]] + [end]
        return sum(price * (until - at) for (at, price), until in zip(steps, ends, strict=True))


class Market:
    """The market as the lines describe it, with the attributes and methods of ``MarketView``."""

    def __init__(self, grid: Mapping[str, Any]) -> None:
        self.now = 0
        self.sites: list[str] = list(grid["sites"])
        self.pools: list[dict[str, Any]] = [{"attributes": {}} | pool for pool in grid["pools"]]
        self.processors: int = sum(pool["nodes"] for pool in self.pools)
        self.free: list[int] = [pool["nodes"] for pool in self.pools]
        self._speeds = [round(1000 * pool["performance"]) for pool in self.pools]
        for prices in (pool["prices"] for pool in self.pools if "prices" in pool):
            prices["values"] = [(at, price) for at, price in prices["values"]]
        self._prices = [Prices(pool) for pool in self.pools]
        self._jobs: dict[int, Job] = {}
        self._waiting: dict[int, Job] = {}
        self._running: dict[int, Running] = {}
        self._answer: dict[str, Any] = {}

    @property
    def queue(self) -> list[Job]:
        """Waiting jobs in the order of submission."""
        return [self._waiting[job] for job in sorted(self._waiting)]

    @property
    def running(self) -> list[Running]:
        """Jobs that hold nodes, by number."""
        return [self._running[job] for job in sorted(self._running)]

    def job(self, job: int) -> Job:
        """A job that waits or runs."""
        if job not in self._jobs:
            raise KeyError(f"there is no job {job}")
        return self._jobs[job]

    def waits(self, job: int) -> bool:
        """Whether the job waits."""
        return job in self._waiting

    def price(self, pool: int) -> float:
        """The owner's price now, in credits per node and second."""
        return self._prices[pool].steps(self.now, self.now)[0][1] / 1e6

    def cost(
        self,
        job: int,
        pool: int | None = None,
        shares: Sequence[tuple[int, int]] | None = None,
        at: int | None = None,
    ) -> float:
        """What a job is expected to cost in credits if it starts at ``at``, without it now."""
        start = self.now if at is None else at
        asked = self.job(job)
        places = shares or [(0 if pool is None else pool, asked.processors)]
        ends = {it: start + max(-(-asked.estimate * 1000 // self._speeds[it]), 1) for it, _ in places}
        return sum(nodes * self._prices[it].cost(start, ends[it]) for it, nodes in places) / 1e6

    def start(
        self, job: int, pool: int | None = None, shares: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """Starts a waiting job."""
        start: dict[str, Any] = {"job": job}
        if pool is not None:
            start["pool"] = pool
        if shares is not None:
            start["shares"] = [{"pool": it, "nodes": nodes} for it, nodes in shares]
        self._answer.setdefault("start", []).append(start)

    def refuse(self, job: int) -> None:
        """Never runs the job."""
        self._answer.setdefault("refuse", []).append({"job": job})

    def reserve(self, job: int, at: int) -> None:
        """Says when the waiting job will start."""
        self._answer.setdefault("reserve", []).append({"job": job, "at": at})

    def wake(self, at: int) -> None:
        """Asks for a pass at this time."""
        self._answer["wake"] = min(at, self._answer.get("wake", at))

    def _happen(self, event: Event) -> None:
        fields = event.__dict__
        job = fields.get("job", -1)
        match fields["event"]:
            case "submitted":
                self._jobs[job] = self._waiting[job] = Job(event)
            case "started":
                shares = fields.get("shares") or [(fields["pool"], self._jobs[job].processors)]
                self._begin(job, shares)
            case "interrupted":
                self._running.pop(job, None)
                self._waiting[job] = self._jobs[job]
            case "released":
                running = self._running[job]
                running.shares = [share for share in running.shares if share[0] != fields["pool"]]
            case "ended" | "refused" | "cancelled":
                for jobs in (self._running, self._waiting, self._jobs):
                    jobs.pop(job, None)
            case "lined":
                self._waiting.pop(job, None)
            case "priced":
                self._prices[fields["pool"]] = Prices({"price": fields["price"]})

    def _begin(self, job: int, shares: list[tuple[int, int]]) -> None:
        self._waiting.pop(job, None)
        self._running[job] = Running(self._jobs[job], self.now, shares, self)

    def _take(self, returned: Any) -> dict[str, Any]:
        """The answer: what was said by methods, and what ``decide`` returned."""
        if isinstance(returned, Mapping):
            for job in returned.get("start", ()):
                self._answer.setdefault("start", []).append(job if isinstance(job, dict) else {"job": job})
            for job in returned.get("refuse", ()):
                self.refuse(job["job"] if isinstance(job, dict) else job)
            for reserve in returned.get("reserve", ()):
                self.reserve(reserve["job"], reserve["at"])
            if (at := returned.get("wake")) is not None:
                self.wake(at)
        elif returned is not None:
            for job in returned:
                self.start(job)
        answer, self._answer = self._answer, {}
        for start in answer.get("start", ()):
            job = start["job"]
            if job in self._waiting:
                shares = [(it["pool"], it["nodes"]) for it in start.get("shares", ())]
                self._begin(job, shares or [(start.get("pool", 0), self._jobs[job].processors)])
        for refused in answer.get("refuse", ()):
            self._waiting.pop(refused["job"], None)
        return answer


def found(name: str) -> Policy:
    """The policy that ``module:Class`` names."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        sys.exit(f"error: `{name}` names no policy\n  hint: write module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        policy = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        sys.exit(f"error: there is no policy `{name}`: {error}")
    made = policy() if isinstance(policy, type) else policy
    if not isinstance(made, Policy):
        sys.exit(f"error: `{name}` is not derived from tradewind.Policy")
    return made


def serve(policy: Policy, lines: TextIO, answers: TextIO) -> None:
    """Answers each line until there are no more."""

    def answer(what: Mapping[str, Any]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    first = lines.readline()
    if not first:
        return
    market = Market(json.loads(first))
    mine = policy._begin(market)  # type: ignore[arg-type]
    answer({"protocol": PROTOCOL, "promise": mine.promise})
    for line in lines:
        told = json.loads(line)
        events = [Event(event) for event in told["events"]]
        market.now, market.free = told["now"], told["free"]
        for event in events:
            market._happen(event)
        answer(market._take(mine.decide(market, events)))  # type: ignore[arg-type]


def main() -> None:
    """The command of this module."""
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m tradewind.serve module:Class")
    answers, sys.stdout = sys.stdout, sys.stderr
    serve(found(sys.argv[1]), sys.stdin, answers)


if __name__ == "__main__":
    main()
