from collections.abc import Callable, Sequence
from typing import Any, final

from .policy import Policy

@final
class Table:
    """A table: rows of named columns in memory, for every library that reads Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def num_rows(self) -> int: ...
    def __len__(self) -> int: ...

@final
class FinishedRun:
    @property
    def summary_json(self) -> str: ...
    @property
    def jobs(self) -> Table: ...

@final
class Job:
    """A job and what it asks for. Times in seconds, amounts in credits."""

    @property
    def job(self) -> int: ...
    @property
    def processors(self) -> int: ...
    @property
    def estimate(self) -> int: ...
    user: int
    priority: int
    home: int | None
    value: float | None
    min_performance: float | None
    max_price: float | None
    budget: float | None
    earliest_start: int | None
    deadline: int | None
    minimize: str

@final
class Running:
    """A job that holds nodes."""

    @property
    def job(self) -> int: ...
    @property
    def processors(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def expected_end(self) -> int: ...
    @property
    def shares(self) -> list[tuple[int, int]]: ...

@final
class Event:
    """Something that happened; attributes that an event does not have raise AttributeError."""

    @property
    def event(self) -> str: ...
    @property
    def job(self) -> int: ...
    @property
    def processors(self) -> int: ...
    @property
    def estimate(self) -> int: ...
    pool: int
    shares: list[tuple[int, int]]
    price: float
    closure: int
    nodes: int
    from_: int
    until: int
    cause: str
    user: int
    priority: int
    home: int | None
    value: float | None
    min_performance: float | None
    max_price: float | None
    budget: float | None
    earliest_start: int | None
    deadline: int | None
    minimize: str

@final
class MarketView:
    """The market at the moment of a pass, readable only while ``decide`` runs."""

    @property
    def now(self) -> int: ...
    @property
    def free(self) -> list[int]: ...
    @property
    def processors(self) -> int: ...
    @property
    def pools(self) -> list[dict[str, Any]]: ...
    @property
    def sites(self) -> list[str]: ...
    @property
    def queue(self) -> list[Job]: ...
    @property
    def running(self) -> list[Running]: ...
    def job(self, job: int) -> Job: ...
    def waits(self, job: int) -> bool: ...
    def price(self, pool: int) -> float: ...
    def cost(
        self,
        job: int,
        pool: int | None = None,
        shares: Sequence[tuple[int, int]] | None = None,
        at: int | None = None,
    ) -> float: ...
    def start(
        self, job: int, pool: int | None = None, shares: Sequence[tuple[int, int]] | None = None
    ) -> None: ...
    def refuse(self, job: int) -> None: ...
    def reserve(self, job: int, at: int) -> None: ...
    def wake(self, at: int) -> None: ...

def replay(
    options: dict[str, Any],
    own: tuple[str, Policy] | None,
    check: bool,
    threads: int | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[FinishedRun], list[str]]: ...
def jobs_of(runs: Sequence[FinishedRun]) -> Table: ...
def summary_of(runs: Sequence[FinishedRun]) -> Table: ...

@final
class Worlds:
    """Episodes of replays side by side; arrays are written in place. Times in seconds."""

    def __init__(
        self, options: dict[str, Any], kind: dict[str, Any], jobs: int | None, worlds: int, threads: int
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def reset(self, seeds: Sequence[int] | None, seen: Any, masks: Any) -> None: ...
    def step(
        self, actions: Any, seen: Any, masks: Any, rewards: Any, over: Any
    ) -> list[tuple[int, dict[str, float]]]: ...
    def summary_json(self, world: int) -> str | None: ...
