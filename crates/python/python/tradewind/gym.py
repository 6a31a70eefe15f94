"""Environments for reinforcement learning (needs gymnasium)::

    import gymnasium, tradewind
    env = gymnasium.make("tradewind/Backfill-v0", log="log.swf.gz")
    envs = tradewind.make_vec("Backfill", 64, log="log.swf.gz")

An episode is a stretch of a log, replayed by the simulator of ``simulate``, which stops wherever there
is something to choose. One environment, or many that native threads step without the interpreter's lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _native
from .errors import UsageError
from .runs import Logs, metrics_of, options_of

__all__ = ["BackfillEnv", "BidEnv", "OrderEnv", "PoolEnv", "WorldsVectorEnv", "make_vec"]


def _thousandths(name: str, value: float) -> int:
    if not 0 <= value <= 4_000_000:
        raise UsageError([(f"`{name}`: {value} is not from 0 to 4,000,000", None)])
    return round(1000 * value)


def _worlds(name: str, worlds: int, threads: int, given: dict[str, Any]) -> _native.Worlds:
    """Worlds by the parameters of their environment."""
    left = dict(given)
    log = left.pop("log", None)
    jobs = left.pop("jobs", 256)
    if jobs is not None and jobs < 1:
        raise UsageError([("`jobs` is a number from 1", None)])
    kind: dict[str, Any] = {
        "name": name,
        "candidates": left.pop("candidates", 16) if name in ("backfill", "order") else 1,
        "levels": [],
        "share": 0,
    }
    if name == "bid":
        kind["levels"] = [_thousandths("levels", it) for it in left.pop("levels", BidEnv.LEVELS)]
        kind["share"] = _thousandths("share", left.pop("share", 0.1))
    policies = {"pool": "easy-sites[migrate=off]", "bid": "auction[clearing=k]"}
    policy = left.pop("policy", policies[name]) if name in policies else "easy"
    allowed = _GRID if name in policies else _CLUSTER
    for option in left:
        if option not in allowed:
            known = ", ".join(sorted(allowed))
            raise UsageError([(f"there is no parameter `{option}`", f"known are {known}")])
    options = options_of(log, policy, left)
    return _native.Worlds(options, kind, jobs, worlds, threads)


#: Options of ``simulate`` that environments take.
_CLUSTER = {"procs", "estimate", "model", "load", "squeeze", "from_time", "to_time", "overrun", "seed"}
_GRID = _CLUSTER | {"grid", "homes", "outages", "side"}


class _Env(gymnasium.Env[np.ndarray, np.int64]):
    """One world."""

    metadata: dict[str, Any] = {"render_modes": []}
    _kind = ""

    def __init__(self, log: Logs = None, **options: Any) -> None:
        self._worlds = _worlds(self._kind, 1, 1, {"log": log} | options)
        rows, features, actions = self._worlds.shape
        self.observation_space = spaces.Box(0.0, 1.0, (rows, features), np.float32)
        self.action_space = spaces.Discrete(actions)
        self._seen = np.zeros((1, rows, features), np.float32)
        self._masks = np.zeros((1, actions), np.uint8)
        self._rewards, self._over = np.zeros(1, np.float32), np.zeros(1, np.uint8)
        self._action = np.zeros(1, np.int64)
        self._goes_on = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins a stretch of the log; the same seed, the same stretch."""
        first = self._np_random is None
        super().reset(seed=seed)
        drawn = [int(self.np_random.integers(0, 2**63))] if seed is not None or first else None
        self._goes_on = False
        self._worlds.reset(drawn, self._seen, self._masks)
        self._goes_on = True
        return self._seen[0].copy(), {"action_mask": self.action_masks()}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Takes the action and goes on to the next choice."""
        if not self._goes_on:
            raise RuntimeError("the episode is over: call `reset`")
        self._action[0] = action
        self._worlds.step(self._action, self._seen, self._masks, self._rewards, self._over)
        over = bool(self._over[0])
        info: dict[str, Any] = {}
        if over:
            self._goes_on = False
            self._masks[:] = 0
            self._masks[0, -1] = 1
            info["metrics"] = metrics_of(json.loads(self._worlds.summary_json(0) or "{}"))
        info["action_mask"] = self.action_masks()
        return self._seen[0].copy(), float(self._rewards[0]), over, False, info

    def action_masks(self) -> np.ndarray:
        """Which actions exist now: an array of bool."""
        masks: np.ndarray = self._masks[0].astype(bool)
        return masks

    def close(self) -> None:
        """Gives the episode up, if one goes on."""
        self._goes_on = False


class BackfillEnv(_Env):
    """Which waiting job overtakes the head of the queue next?

    Jobs start in the order of arrival. Where the first one must wait, it holds a reservation, and the
    agent chooses among the jobs that may start now without delaying it, again until none is left or
    it declines. Choosing the first each time is EASY, declining each time is FCFS.

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

    Parameters: ``log`` (or ``model``) and options of ``tradewind.simulate`` for one cluster (``procs``,
    ``estimate``, ``load``, …); ``jobs``: jobs of an episode, whose beginning is drawn by the seed
    (``None``: the whole log); ``candidates``: the most that are offered at once.
    """

    _kind = "backfill"

    def __init__(
        self, log: Logs = None, *, jobs: int | None = 256, candidates: int = 16, **options: Any
    ) -> None:
        super().__init__(log, jobs=jobs, candidates=candidates, **options)


class OrderEnv(_Env):
    """Which waiting job is the head of the queue?

    In each pass in which a waiting job fits, and more than one waits, the agent chooses one of the first
    ``candidates``. If it fits it starts, and the agent chooses again. If not, it holds a reservation in
    this pass, and jobs that do not delay it start in the order of arrival. The first each time is EASY.

    **Observation**: ``float32`` of shape ``(candidates + 1, 6)``, all from 0 to 1. A row for each
    candidate: 1, width over processors, estimate, wait (both logarithmic, 1 for a week), whether it
    fits now, width over free processors (at most 1). Then free processors, length of the queue
    ``n / (n + candidates)``, share of candidates, time until the next expected end (logarithmic).

    **Action**: the number of a candidate; those that do not exist mean the first.

    **Reward**, ``info`` and parameters: as ``BackfillEnv``.
    """

    _kind = "order"

    def __init__(
        self, log: Logs = None, *, jobs: int | None = 256, candidates: int = 16, **options: Any
    ) -> None:
        super().__init__(log, jobs=jobs, candidates=candidates, **options)


class PoolEnv(_Env):
    """At which site of a grid does a job wait?

    Asked at each submission for which more than one site is wide enough. Then ``policy`` starts the job,
    which should leave it where it is (``easy-sites[migrate=off]``: EASY at each site).

    **Observation**: ``float32`` of shape ``(pools + 1, 8)``, all from 0 to 1. A row for each pool: whether
    it can run the job, free nodes, width over nodes, jobs that wait at its site ``n / (n + 16)``, seconds
    of work per node that waits there and that runs (logarithmic, 1 for a week), performance over the
    best, price over the highest (where it changes with time, the mean over the job's time from now on over
    the highest ever). Then the job: 1, width over all processors, estimate, value over cost at
    the highest price (1 for four times), time to the deadline and that less its estimate (1 without one),
    waiting jobs ``n / (n + 16)``, free processors.

    **Action**: the number of a site, in the order of the grid file; those that are not wide enough mean
    the first that is.

    **Reward**: as ``BackfillEnv``, until jobs start.

    Parameters: ``log``, ``grid`` and options of ``tradewind.simulate``, ``jobs``, ``policy``.
    """

    _kind = "pool"

    def __init__(self, log: Logs = None, *, jobs: int | None = 256, **options: Any) -> None:
        super().__init__(log, jobs=jobs, **options)


class BidEnv(_Env):
    """What does a job say that it is worth?

    The agent has a ``share`` of the jobs (those with a value, drawn by the episode's seed), and says at the
    submission of each a multiple of its value; all others say what is true. ``policy`` trades
    (``auction[clearing=k]``: the price is half way between what the owner asks and what the job says).

    **Observation**: as ``PoolEnv``; jobs that wait for a trade count in each pool.

    **Action**: the number of one of ``levels``; those that do not exist mean the last.

    **Reward**: what the agent's jobs brought that ended since the last action, over what all of its jobs
    are worth: the value of those that ended in time, minus what they paid.

    Parameters: ``log``, ``grid`` (with prices), ``side`` (with values) and options of
    ``tradewind.simulate``, ``jobs``, ``policy``, ``levels``, ``share`` (0 to 1).
    """

    _kind = "bid"
    #: Multiples of the value.
    LEVELS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.25)

    def __init__(
        self,
        log: Logs = None,
        *,
        jobs: int | None = 256,
        levels: Sequence[float] = LEVELS,
        share: float = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(log, jobs=jobs, levels=levels, share=share, **options)


_KINDS: dict[str, type[_Env]] = {"Backfill": BackfillEnv, "Order": OrderEnv, "Pool": PoolEnv, "Bid": BidEnv}


class WorldsVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many worlds, stepped on native threads without the interpreter's lock.

    World ``i`` with seed ``s`` is the environment of this kind reset with what is drawn from
    ``(s, i)``: the result does not depend on the number of threads. Observations of all worlds are one
    array ``(num_envs, rows, features)``, which the next step overwrites (``copy=False``), or a copy.

    A world whose episode is over begins its next one in the next step, whatever its action
    (``AutoresetMode.NEXT_STEP``), with a reward of 0. ``info`` has ``action_mask``, and ``episode`` with the
    world's ``jobs``, ``mean_wait_s``, ``longest_wait_s``, ``mean_bounded_slowdown``, ``cost`` (credits)
    where one ended (``_episode`` says where).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        kind: str,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        copy: bool = True,
        **options: Any,
    ) -> None:
        if kind not in _KINDS:
            raise UsageError([(f"there is no environment `{kind}`", f"known are {', '.join(_KINDS)}")])
        threads = len(os.sched_getaffinity(0)) if threads is None else threads
        self._worlds = _worlds(_KINDS[kind]._kind, num_envs, threads, options)
        rows, features, actions = self._worlds.shape
        self.num_envs = num_envs
        self.single_observation_space = spaces.Box(0.0, 1.0, (rows, features), np.float32)
        self.single_action_space = spaces.Discrete(actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seen = np.zeros((num_envs, rows, features), np.float32)
        self._masks = np.zeros((num_envs, actions), np.uint8)
        self._rewards = np.zeros(num_envs, np.float32)
        self._over = np.zeros(num_envs, np.uint8)
        self._cut = np.zeros(num_envs, bool)
        self._copy = copy

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode in each world. ``seed``: one for all, or one for each."""
        seeds: list[int] | None = None
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
            seeds = [int(it) for it in self.np_random.integers(0, 2**63, self.num_envs)]
        elif seed is not None:
            fresh = np.random.default_rng()
            each = [int(fresh.integers(0, 2**31)) if it is None else int(it) for it in seed]
            seeds = [int(np.random.default_rng(it).integers(0, 2**63)) for it in each]
        self._worlds.reset(seeds, self._seen, self._masks)
        return self._observed(), {"action_mask": self.action_masks()}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Takes an action in each world."""
        actions = np.ascontiguousarray(actions, np.int64)
        ended = self._worlds.step(actions, self._seen, self._masks, self._rewards, self._over)
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if ended:
            where = np.zeros(self.num_envs, bool)
            numbers = {name: np.zeros(self.num_envs) for name in ended[0][1]}
            for world, measures in ended:
                where[world] = True
                for name, value in measures.items():
                    numbers[name][world] = value
            info |= {"episode": numbers, "_episode": where}
        rewards, over = self._rewards, self._over.view(bool)
        if self._copy:
            rewards, over = rewards.copy(), over.copy()
        return self._observed(), rewards, over, self._cut, info

    def action_masks(self) -> np.ndarray:
        """Which actions exist: an array of bool ``(num_envs, actions)``."""
        masks = self._masks.view(bool)
        return masks.copy() if self._copy else masks

    def _observed(self) -> np.ndarray:
        return self._seen.copy() if self._copy else self._seen


def make_vec(kind: str, num_envs: int = 1, **options: Any) -> WorldsVectorEnv:
    """``num_envs`` worlds of ``kind`` (``"Backfill"``, ``"Order"``, ``"Pool"``, ``"Bid"``, or
    ``"tradewind/Backfill-v0"``) with the parameters of its environment. ``threads``: without it, one per
    core. ``copy=False``: arrays are overwritten by the next step.
    """
    name = kind.removeprefix("tradewind/").removesuffix("-v0")
    return WorldsVectorEnv(name, num_envs, **options)


def _vector(kind: str) -> Any:
    def make(num_envs: int = 1, **options: Any) -> WorldsVectorEnv:
        return WorldsVectorEnv(kind, num_envs, **options)

    return make


backfill_vector, order_vector = _vector("Backfill"), _vector("Order")
pool_vector, bid_vector = _vector("Pool"), _vector("Bid")
