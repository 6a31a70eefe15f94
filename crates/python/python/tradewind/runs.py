"""Replays of logs: the same code as the command ``tradewind simulate``."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native
from .errors import UsageError
from .policy import Policy

if TYPE_CHECKING:
    from ._native import FinishedRun, Table

PathLike = Union[str, "os.PathLike[str]"]
PolicyLike = Union[str, Policy, type[Policy]]
Logs = Union[PathLike, Sequence[PathLike], None]
Words = Union[str, Sequence[str]]
Progress = Union[bool, Callable[[int, int], object]]

_NOT_MEASURES = {"log", "policy", "semantics", "overrun", "estimate", "load", "seed", "processors"}


class Runs(Sequence["Runs"]):
    """Finished runs, in the order of the campaign: workloads, rules, loads, policies, seeds.

    ``runs[0]`` is one run, ``runs["easy"]`` those of one policy.
    """

    def __init__(self, runs: Sequence[FinishedRun], notes: Sequence[str]) -> None:
        self._runs = list(runs)
        self._documents: list[dict[str, Any]] = [json.loads(run.summary_json) for run in runs]
        #: What was assumed or left out, as the command says it on standard error.
        self.notes: list[str] = list(notes)

    @property
    def jobs(self) -> Table:
        """One row per job, as an Arrow table: the columns of ``jobs.csv`` (times in seconds, energy
        in joules); of several runs also ``policy``, ``semantics``, ``overrun``, ``estimate``, ``load``
        and ``seed``.
        """
        return _native.jobs_of(self._runs)

    @property
    def summary(self) -> Table:
        """One row per run, as an Arrow table: the fields of ``summary.json``. Units are in the names:
        ``_s`` seconds, ``_node_s`` node-seconds, ``_kwh``, ``_g``; money in credits.
        """
        return _native.summary_of(self._runs)

    @property
    def metrics(self) -> dict[str, float]:
        """The measures of the run by name, ``nan`` where there is nothing to measure; of several runs
        of one policy their means over the runs that have a value.

        Raises ``UsageError`` for runs of several policies.
        """
        policies = self.policies
        if len(policies) != 1:
            hint = f'choose one: runs["{policies[0]}"].metrics' if policies else None
            raise UsageError([("metrics are those of one policy", hint)])
        names = dict.fromkeys(name for run in self._documents for name in _measures(run))
        return {name: _mean(run.get(name) for run in self._documents) for name in names}

    @property
    def policies(self) -> list[str]:
        """Names of the policies, each once."""
        return list(dict.fromkeys(run["policy"] for run in self._documents))

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The document ``summary.json`` of each run."""
        return [dict(run) for run in self._documents]

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, key: int | slice | str) -> Runs:
        if isinstance(key, str):
            found = [at for at, run in enumerate(self._documents) if run["policy"] == key]
            if not found:
                raise KeyError(f"no run of policy `{key}`: there are {', '.join(self.policies)}")
            return Runs([self._runs[at] for at in found], self.notes)
        some = self._runs[key] if isinstance(key, slice) else [self._runs[key]]
        return Runs(some, self.notes)

    def __iter__(self) -> Iterator[Runs]:
        return (Runs([run], self.notes) for run in self._runs)

    def __repr__(self) -> str:
        lines = [f"<tradewind.Runs: {len(self)}"]
        for run in self._documents[:20]:
            seed = "" if run.get("seed") is None else f", seed {run['seed']}"
            measures = (f"{name} {run[name]:.6g}" for name in _SHOWN if run.get(name) is not None)
            lines.append(f"  {run['log']}, {run['policy']}{seed}: {', '.join(measures)}")
        return "\n".join(lines) + ">"

    def plot(self, ax: Any = None) -> Any:
        """Draws the distribution of waits of each policy (share of jobs that wait longer, both axes
        logarithmic) and returns the matplotlib axes. Needs matplotlib and pyarrow.
        """
        import pyarrow

        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        for policy in self.policies:
            waits = pyarrow.table(self[policy].jobs)["waiting_time"].drop_null().to_pylist()
            waits.sort()
            share = [1 - at / len(waits) for at in range(len(waits))]
            ax.step([max(wait, 1) for wait in waits], share, where="post", label=policy)
        ax.set(xscale="log", yscale="log", xlabel="wait in s", ylabel="share of jobs that wait longer")
        ax.legend()
        return ax


_SHOWN = ("jobs", "mean_wait_s", "max_wait_s", "mean_bounded_slowdown", "utilisation")


def _measures(run: dict[str, Any]) -> Iterator[str]:
    for name, value in run.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name not in _NOT_MEASURES and (value is None or is_number):
            yield name


def _mean(values: Iterable[Any]) -> float:
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan


def simulate(
    log: Logs = None,
    policy: PolicyLike | Sequence[PolicyLike] = "easy",
    *,
    grid: PathLike | None = None,
    seeds: int | str | Sequence[int] | None = None,
    procs: int | None = None,
    estimate: Words = (),
    overrun: Words = (),
    semantics: Words = (),
    load: float | str | Sequence[float | str] = (),
    model: str | None = None,
    users: int | None = None,
    homes: str | None = None,
    outages: PathLike | None = None,
    side: PathLike | None = None,
    from_time: int | str | None = None,
    to_time: int | str | None = None,
    squeeze: int | None = None,
    warm_up: int | str | None = None,
    cool_down: int | str | None = None,
    check: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> Runs:
    """Replays logs under one or several policies: what ``tradewind simulate`` does, in this process.

    Every combination of policies, rules, loads and seeds is a run. Runs of built-in policies use all
    cores and no interpreter lock; Ctrl-C ends them. Nothing is written to disk.

    Parameters
    ----------
    log
        A log in the Standard Workload Format, plain, gzip or zstd, or several that are replayed together.
    policy
        Names with parameters as on the command line (``"easy[depth=4]"``, ``"easy,conservative"``),
        a ``Policy`` of your own, its class, or a list of these.
    grid
        Sites with their nodes and prices, instead of one cluster.
    seeds
        Replications: one seed, ``"1..10"``, ``range(1, 11)`` or a list of consecutive numbers.
    procs
        Processors of the machine; without it, as the log's header says.
    estimate
        The run times that policies expect: ``requested`` (default), ``exact``, ``predicted``,
        ``published-linear`` or ``learned``; several make several runs.
    overrun
        What happens to a job that exceeds its request: ``kill`` (default) or ``extend``.
    semantics
        The order within one second: ``textbook`` (default) or ``pyss``.
    load
        Offered loads to scale to, as shares of the machine.
    model, users
        Draw the jobs from a model instead of a log; draw so many users from each log's.
    homes, outages, side
        As the options of the command: files or words.
    from_time, to_time
        Leave out jobs submitted before, or from this moment on: seconds of the log's clock, or ``"14d"``.
    squeeze
        Submit jobs so many times as fast.
    warm_up, cool_down
        Metrics leave out jobs of the first and of the last so many seconds.
    check
        Watch every step of built-in policies, too.
    threads
        Runs at a time; without it, one per core.
    progress
        ``True`` draws a bar on standard error; a function is called with (jobs that ended, jobs in
        all) some times a second, with a policy of your own after each run.

    Raises
    ------
    UsageError
        Arguments make no sense (``code`` 2).
    InputError
        A file is not what it should be, or a policy of your own asks for what cannot be (``code`` 3).
    """
    options = _campaign(
        log,
        {
            "grid": grid, "seeds": seeds, "procs": procs, "estimate": estimate, "overrun": overrun,
            "semantics": semantics, "load": load, "model": model, "users": users, "homes": homes,
            "outages": outages, "side": side, "from_time": from_time, "to_time": to_time,
            "squeeze": squeeze, "warm_up": warm_up, "cool_down": cool_down,
        },
    )
    named, own = _policies(policy)
    seen, done = _bar(progress)
    runs: list[FinishedRun] = []
    notes: list[str] = []
    try:
        if named:
            some, said = _native.replay(options | {"policies": named}, None, check, threads, seen)
            runs, notes = runs + some, notes + said
        for name, mine in own:
            some, said = _native.replay(options | {"policies": []}, (name, mine), True, None, seen)
            runs, notes = runs + some, notes + [note for note in said if note not in notes]
    finally:
        done()
    return Runs(runs, notes)


def _campaign(log: Logs, given: dict[str, Any]) -> dict[str, Any]:
    """What is to be replayed, for the native part; ``given`` are arguments of ``simulate``."""
    logs = [] if log is None else [log] if isinstance(log, (str, os.PathLike)) else list(log)
    model, load = given.get("model"), given.get("load", ())
    if not logs and model is None:
        raise UsageError([("no log and no model is named", "for instance `simulate(\"log.swf.gz\")`")])
    return {
        "logs": [os.fspath(path) for path in logs],
        "semantics": _words(given.get("semantics", ())),
        "overrun": _words(given.get("overrun", ())),
        "estimate": _words(given.get("estimate", ())),
        "load": [str(load)] if isinstance(load, (int, float, str)) else [str(it) for it in load],
        "seeds": _seeds(given.get("seeds")),
        "model": model,
        "users": given.get("users"),
        "procs": given.get("procs"),
        "grid": _path(given.get("grid")),
        "homes": given.get("homes"),
        "outages": _path(given.get("outages")),
        "side": _path(given.get("side")),
        "from": _text(given.get("from_time")),
        "to": _text(given.get("to_time")),
        "squeeze": given.get("squeeze"),
        "warm_up": _text(given.get("warm_up")),
        "cool_down": _text(given.get("cool_down")),
    }


def options_of(log: Logs, policy: str, given: dict[str, Any]) -> dict[str, Any]:
    """The same for one built-in policy; ``seed`` is one of what is drawn."""
    left = dict(given)
    seed = left.pop("seed", None)
    return _campaign(log, left | {"seeds": seed}) | {"policies": _list(policy)}


def metrics_of(document: dict[str, Any]) -> dict[str, float]:
    """The measures of a ``summary.json``."""
    return {name: _mean([document[name]]) for name in _measures(document)}


def _policies(
    given: PolicyLike | Sequence[PolicyLike],
) -> tuple[list[str], list[tuple[str, Policy]]]:
    """Names of built-in policies, and policies of the caller's with their names."""
    all_of = [given] if isinstance(given, (str, Policy, type)) else list(given)
    named: list[str] = []
    own: list[tuple[str, Policy]] = []
    for one in all_of:
        if isinstance(one, str):
            named += _list(one)
            continue
        mine = one() if isinstance(one, type) else one
        if not callable(getattr(mine, "decide", None)) or not isinstance(mine, Policy):
            raise UsageError([(f"`{one!r}` is no policy", "name one, or derive it from tradewind.Policy")])
        own.append((getattr(mine, "name", type(mine).__name__), mine))
    names = named + [name for name, _ in own]
    if not names:
        raise UsageError([("no policy is named", 'for instance `policy="easy"`')])
    for name in names:
        if names.count(name) > 1:
            hint = "give one an attribute `name`" if name not in named else None
            raise UsageError([(f"policy `{name}` is named twice", hint)])
    return named, own


def _list(text: str) -> list[str]:
    """The parts of ``a,b[c=1,d=2]``: commas in brackets do not part them."""
    parts, inside = [""], False
    for letter in text:
        inside = (inside or letter == "[") and letter != "]"
        if letter == "," and not inside:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _words(given: Words) -> list[str]:
    return given.split(",") if isinstance(given, str) else list(given)


def _path(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def _text(value: int | str | None) -> str | None:
    return None if value is None else str(value)


def _seeds(seeds: int | str | Sequence[int] | None) -> str | None:
    if seeds is None or isinstance(seeds, str):
        return seeds
    if isinstance(seeds, int):
        return f"{seeds}..{seeds}"
    numbers = list(seeds)
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise UsageError([("seeds are not consecutive numbers", 'write a range: `seeds="1..10"`')])
    return f"{numbers[0]}..{numbers[-1]}"


def _bar(progress: Progress) -> tuple[Callable[[int, int], object] | None, Callable[[], None]]:
    """A function that shows how far the replay is, and one that ends the display."""
    if progress is False:
        return None, lambda: None
    if progress is not True:
        return progress, lambda: None
    import sys

    def show(ended: int, jobs: int) -> None:
        share = ended / jobs if jobs else 0.0
        bar = "#" * round(30 * share)
        print(f"\r[{bar:<30}] {ended} of {jobs} jobs", end="", file=sys.stderr, flush=True)

    return show, lambda: print(file=sys.stderr)
