"""Environments for reinforcement learning (needs gymnasium)::

    import gymnasium, tradewind
    env = gymnasium.make("tradewind/Backfill-v0", log="log.swf.gz")

An episode is a stretch of a log, replayed by the same simulator as all others.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import _native
from .errors import UsageError
from .policy import Event, MarketView, Policy
from .runs import Runs, simulate

#: Spans above a week look alike.
LONG = math.log1p(7 * 86_400)
#: Slowdowns of shorter jobs are those of jobs of this length, in seconds.
BOUND = 10
#: Stretches that are tried until one has something to choose.
TRIES = 100
#: Features of a job.
FEATURES = 6


class _Stop(Exception):
    """The episode was given up."""


class _Chooser(Policy):
    """Starts jobs in the order of arrival; which job overtakes a waiting head is asked for."""

    promise = "head"

    def __init__(self, episode: _Episode) -> None:
        self.episode = episode
        self.queue: dict[int, tuple[int, int, int]] = {}  # job -> processors, estimate, submitted
        self.running: dict[int, tuple[int, int]] = {}  # job -> expected end, processors

    def _begin(self, market: MarketView) -> Policy:
        return self

    def decide(self, market: MarketView, events: list[Event]) -> list[int]:
        now, free = market.now, market.free[0]
        for event in events:
            if event.event == "submitted":
                self.queue[event.job] = (event.processors, event.estimate, now)
            elif event.event == "ended":
                del self.running[event.job]
        self.episode.passed(now, self.queue)
        started: list[int] = []
        while self.queue:
            head = next(iter(self.queue))
            width = self.queue[head][0]
            if width > free:
                break
            free -= self._start(head, now, started)
        while len(self.queue) > 1 and free > 0:
            shadow, spare = self._reservation(next(iter(self.queue)), free)
            candidates = self._candidates(now, free, shadow, spare)
            if not candidates:
                break
            chosen = self.episode.ask(self, now, free, market.processors, shadow, spare, candidates)
            if chosen is None:
                break
            free -= self._start(chosen, now, started)
        return started

    def _start(self, job: int, now: int, started: list[int]) -> int:
        processors, estimate, _ = self.queue.pop(job)
        self.running[job] = (now + estimate, processors)
        started.append(job)
        return processors

    def _reservation(self, head: int, free: int) -> tuple[int, int]:
        """When the head is expected to start, and how many processors it leaves then."""
        width = self.queue[head][0]
        ends = sorted(self.running.values())
        for at, (end, processors) in enumerate(ends):
            free += processors
            is_last = at + 1 == len(ends) or ends[at + 1][0] > end
            if free >= width and is_last:
                return end, free - width
        raise RuntimeError(f"{width} processors will never be free")

    def _candidates(self, now: int, free: int, shadow: int, spare: int) -> list[int]:
        """Jobs that may start now without delaying the head, in the order of arrival."""
        found = []
        for job in list(self.queue)[1:]:
            processors, estimate, _ = self.queue[job]
            if processors <= free and (now + estimate <= shadow or processors <= spare):
                found.append(job)
                if len(found) == self.episode.size:
                    break
        return found


class _Episode:
    """A replay on a thread of its own, which waits wherever there is something to choose."""

    def __init__(self, size: int, jobs: int, options: dict[str, Any]) -> None:
        self.size, self.jobs = size, jobs
        self.observation = np.zeros((size + 2, FEATURES), np.float32)
        self.candidates: list[int] = []
        self.cost = 0.0
        self.last: int | None = None
        self.waiting: dict[int, tuple[int, int, int]] = {}
        self.over = False
        self.stopped = False
        self.runs: Runs | None = None
        self.error: BaseException | None = None
        self.action: int | None = None
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(options,), daemon=True)
        self._thread.start()
        self._asked.acquire()

    def _run(self, options: dict[str, Any]) -> None:
        try:
            self.runs = simulate(policy=_Chooser(self), **options)
        except _Stop:
            pass
        except BaseException as error:  # It is raised on the caller's thread.
            self.error = error
        self.over = True
        self._asked.release()

    def passed(self, now: int, queue: dict[int, tuple[int, int, int]]) -> None:
        """Adds what waiting has cost since the last pass."""
        if self.last is not None:
            span = now - self.last
            self.cost += sum(span / max(estimate, BOUND) for _, estimate, _ in self.waiting.values())
        self.last, self.waiting = now, dict(queue)

    def ask(
        self,
        policy: _Chooser,
        now: int,
        free: int,
        processors: int,
        shadow: int,
        spare: int,
        candidates: list[int],
    ) -> int | None:
        """The chosen job; waits for the caller's thread."""
        self.candidates = candidates
        seen = self.observation
        seen[:] = 0

        def describe(row: int, job: int) -> None:
            width, estimate, submitted = policy.queue[job]
            seen[row, :4] = (1, width / processors, _log(estimate), _log(now - submitted))

        for row, job in enumerate(candidates):
            describe(row, job)
            width, estimate, _ = policy.queue[job]
            seen[row, 4:] = (now + estimate <= shadow, width / free)
        describe(self.size, next(iter(policy.queue)))
        seen[self.size, 4:] = (_log(shadow - now), spare / processors)
        many = len(policy.queue)
        seen[-1, :3] = (free / processors, many / (many + self.size), len(candidates) / self.size)
        self.waiting = dict(policy.queue)
        self._asked.release()
        self._answered.acquire()
        if self.stopped:
            raise _Stop
        assert self.action is not None
        return candidates[self.action] if self.action < len(candidates) else None

    def act(self, action: int) -> None:
        """Goes on to the next choice, or to the end."""
        self.action = action
        self._answered.release()
        self._asked.acquire()

    def stop(self) -> None:
        if not self.over:
            self.stopped = True
            self._answered.release()
            self._thread.join()


def _log(span: int) -> float:
    """A span in seconds from 0 to 1."""
    return min(math.log1p(max(span, 0)) / LONG, 1.0)


class BackfillEnv(gymnasium.Env):
    """Which waiting job overtakes the head of the queue next?

    Jobs start in the order of arrival. Where the first one must wait, it holds a reservation, and the
    agent chooses among the jobs that may start now without delaying it, again until none is left or
    it declines. Choosing the first each time is EASY.

    **Observation**: ``float32`` of shape ``(candidates + 2, 6)``, all from 0 to 1. A row for each
    candidate: 1, width over processors, estimate, wait (both logarithmic, 1 for a week), whether it is
    expected to end before the reservation, width over free processors. Then the head: 1, width,
    estimate, wait, time to its reservation, processors that it leaves. Then free processors, length of
    the queue ``n / (n + candidates)``, share of candidates. Rows without a job are 0.

    **Action**: the number of a candidate, or ``candidates``: none. ``action_masks()`` says which exist;
    others mean none.

    **Reward**: minus the slowdown that waiting jobs gained since the last action (seconds over their
    estimates, at least 10 s), over the jobs of the episode. At the end ``info["metrics"]`` has the
    measures of the replay.

    Parameters: ``log`` and options of ``tradewind.simulate`` for one cluster (``procs``, ``estimate``);
    ``jobs``: jobs of an episode, whose beginning is drawn by the seed (``None``: the whole log);
    ``candidates``: the most that are offered at once.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        log: str | os.PathLike[str],
        *,
        jobs: int | None = 256,
        candidates: int = 16,
        procs: int | None = None,
        estimate: str = "requested",
    ) -> None:
        if candidates < 1 or (jobs is not None and jobs < 1):
            raise ValueError("`candidates` and `jobs` are numbers from 1")
        self._submitted = _native.submissions(os.fspath(log))
        self._options: dict[str, Any] = {"log": log, "procs": procs, "estimate": estimate}
        self._jobs = min(jobs or len(self._submitted), len(self._submitted))
        self._size = candidates
        self._episode: _Episode | None = None
        shape = (candidates + 2, FEATURES)
        self.observation_space = spaces.Box(0.0, 1.0, shape, np.float32)
        self.action_space = spaces.Discrete(candidates + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins a stretch of the log; the same seed, the same stretch."""
        super().reset(seed=seed)
        for _ in range(TRIES):
            self.close()
            first = int(self.np_random.integers(0, len(self._submitted) - self._jobs + 1))
            last = self._submitted[first + self._jobs - 1]
            window = {"from_time": self._submitted[first], "to_time": last + 1}
            self._episode = _Episode(self._size, self._jobs, self._options | window)
            if not self._episode.over or self._episode.error is not None:
                return self._seen()
        raise UsageError([("no job of this log can overtake another one", "take more `jobs`")])

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Starts the chosen job, or none, and goes on to the next choice."""
        episode = self._episode
        if episode is None or episode.over:
            raise RuntimeError("the episode is over: call `reset`")
        before = episode.cost
        episode.act(int(action))
        observation, info = self._seen()
        return observation, (before - episode.cost) / self._jobs, episode.over, False, info

    def action_masks(self) -> np.ndarray:
        """Which actions exist now."""
        masks = np.zeros(self._size + 1, bool)
        masks[-1] = True
        if self._episode is not None and not self._episode.over:
            masks[: len(self._episode.candidates)] = True
        return masks

    def _seen(self) -> tuple[np.ndarray, dict[str, Any]]:
        episode = self._episode
        assert episode is not None
        if episode.error is not None:
            raise episode.error
        if episode.over:
            episode.observation[:] = 0
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if episode.runs is not None:
            info["metrics"] = episode.runs.metrics
        return episode.observation.copy(), info

    def close(self) -> None:
        """Ends the replay, if one runs."""
        if self._episode is not None:
            self._episode.stop()
            self._episode = None
