"""Tradewind: an economic metascheduler for clusters that are not all yours.

``simulate`` replays logs under policies, ``Policy`` is a policy of your own, ``Market`` is a client of
a running market, ``Executor`` runs functions there, and ``gymnasium.make("tradewind/Backfill-v0", log=…)``
and ``make_vec`` are environments for reinforcement learning. Times are in seconds and amounts in credits everywhere.
"""

from . import _environments
from ._environments import make_vec
from .errors import Error, InputError, InternalError, JobFailed, RefusedError, UsageError
from .executor import Executor
from .market import JobFuture, Market, as_completed
from .policy import Event, Job, MarketView, Policy, Running
from .runs import Runs, simulate

__all__ = [
    "Error",
    "Event",
    "Executor",
    "InputError",
    "InternalError",
    "Job",
    "JobFailed",
    "JobFuture",
    "Market",
    "MarketView",
    "Policy",
    "RefusedError",
    "Running",
    "Runs",
    "UsageError",
    "as_completed",
    "make_vec",
    "simulate",
]

_environments.arrange()
