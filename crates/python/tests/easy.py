"""EASY backfilling as a policy in Python; `docs/reference/python.md` shows it."""

import tradewind as tw


class Easy(tw.Policy):
    """The first job that must wait holds a reservation; others start now if that does not delay it.
    One pool.
    """

    promise = "head"

    def __init__(self):
        self.queue = {}  # job -> (processors, estimate), in the order of submission
        self.running = {}  # job -> (expected end, processors)

    def decide(self, market, events):
        now, free = market.now, market.free[0]
        for event in events:
            if event.event == "submitted":
                self.queue[event.job] = (event.processors, event.estimate)
            elif event.event == "ended":
                del self.running[event.job]
        start, shadow, spare = [], None, 0
        for job, (processors, estimate) in self.queue.items():
            if shadow is None:
                if processors > free:
                    shadow, spare = self.reservation(processors, free)
                    continue
            elif processors > free:
                continue
            elif now + estimate > shadow:
                if processors > spare:
                    continue
                spare -= processors
            free -= processors
            self.running[job] = (now + estimate, processors)
            start.append(job)
            if free == 0 and shadow is not None:
                break
        for job in start:
            del self.queue[job]
        return start

    def reservation(self, width, free):
        """When so many processors are expected to be free, and how many more are free then."""
        ends = sorted(self.running.values())
        for at, (end, processors) in enumerate(ends):
            free += processors
            if free >= width and (at + 1 == len(ends) or ends[at + 1][0] > end):
                return end, free - width
        raise ValueError(f"{width} processors will never be free")
