"""Policies of your own, in the process of the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from ._native import Event, Job, MarketView, Running

__all__ = ["Event", "Job", "MarketView", "Policy", "Running"]


class Policy:
    """A policy that decides in Python::

        class First(tw.Policy):
            def decide(self, market, events):
                for job in market.queue:
                    if job.processors > market.free[0]:
                        break
                    return [job.job]

        runs = tw.simulate("log.swf.gz", policy=First())

    Every run gets its own copy of the object, made before the first pass; then ``begin`` is called.
    All checkers watch: nothing over-allocated, no job lost or run twice, ``promise`` kept.
    """

    #: What checkers hold the policy to: ``nothing``, ``order`` (jobs start in the order of
    #: submission), ``head`` (no job delays the first waiting one) or ``reservations`` (no job starts
    #: later than it was first told).
    promise: str = "nothing"

    def begin(self, market: MarketView) -> None:
        """Called once before the first pass of a run; ``market`` is empty."""

    def decide(
        self, market: MarketView, events: list[Event]
    ) -> Iterable[int] | Mapping[str, Any] | None:
        """One pass. ``events`` is what happened since the last one, ``market`` the state after it;
        no events: a pass that was asked for with ``wake``.

        The answer is given by the methods ``market.start``, ``refuse``, ``reserve`` and ``wake``, or
        returned: the ids of jobs to start, or a dictionary with ``start``, ``refuse``, ``reserve``
        and ``wake`` like the answer of a policy's command. ``market`` and views taken from it may be
        kept, but ``market`` can be read only until this method returns.
        """
        raise NotImplementedError("a policy needs a method `decide(self, market, events)`")

    def _begin(self, market: MarketView) -> Policy:
        mine = copy.deepcopy(self)
        mine.begin(market)
        return mine
