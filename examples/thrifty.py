#!/usr/bin/env python3
"""A policy of one's own that waits for low prices; docs/reference/policy-cmd.md has every field.

    tradewind simulate examples/small.swf --grid examples/prices-grid.toml \\
      --policy easy --policy-cmd 'python3 examples/thrifty.py 12' --out run

A job waits, at most for so many hours, for the start at which it costs least in some pool. From then
on it starts in the cheapest pool that has room, if its budget and its price cap allow that.
"""

import json
import sys

PATIENCE = 3600 * int(sys.argv[1] if len(sys.argv) > 1 else 12)


class Pool:
    """A pool, and what a node of it costs."""

    def __init__(self, told):
        self.pool, self.nodes, self.performance = told["pool"], told["nodes"], told["performance"]
        prices = told.get("prices", {"values": [[0, told["price"]]]})
        self.values, self.every = prices["values"], prices.get("every")

    def prices(self, start, end):
        """Pairs of (from when on, price): at `start`, and each change until `end`."""
        first, shift = self.values[0], 0
        if self.every:
            shift = (start - first[0]) // self.every * self.every
        found = [(start, first[1])]
        while True:
            for at, price in self.values:
                if at + shift >= end:
                    return found
                found = [(start, price)] if at + shift <= start else [*found, (at + shift, price)]
            if not self.every:
                return found
            shift += self.every

    def length(self, job):
        thousandths = round(1000 * self.performance)
        return -(-1000 * job["estimate"] // thousandths)

    def cost(self, job, start):
        """What the job costs here from `start` on; None if that is more than it may."""
        end = start + self.length(job)
        steps = self.prices(start, end)
        ends = [at for at, _ in steps[1:]] + [end]
        each = sum(round(1e6 * price) * (until - at) for (at, price), until in zip(steps, ends))
        cost = each * job["processors"] / 1e6
        dear = max(price for _, price in steps) > job.get("max_price", float("inf"))
        return None if dear or cost > job.get("budget", float("inf")) else cost

    def starts(self, job, now):
        """Now, at the latest, and when a price changes at an end of the job: one is cheapest."""
        until, length = now + PATIENCE, self.length(job)
        changes = [at for at, _ in self.prices(now, until + length)]
        moments = {at for change in changes for at in (change, change - length)}
        return {until} | {at for at in moments if now <= at <= until}


def cheapest(job, pools, starts):
    """(cost, start, pool) of the cheapest start, if the job can pay any."""
    wide = [pool for pool in pools if pool.nodes >= job["processors"]]
    costs = [(pool.cost(job, at), at, pool.pool) for pool in wide for at in starts(pool)]
    return min((it for it in costs if it[0] is not None), default=None)


def decide(told, pools, queue):
    """Starts, refusals and when to be asked again."""
    now, free, answer = told["now"], told["free"], {"start": [], "refuse": []}
    for event in told["events"]:
        if event["event"] == "submitted":
            best = cheapest(event, pools, lambda pool: pool.starts(event, now))
            if best:
                queue[event["job"]] = (event, best[1])
            else:
                answer["refuse"].append({"job": event["job"]})
    wakes = [at for _, at in queue.values() if at > now]
    for number, (job, at) in list(queue.items()):
        room = [pool for pool in pools if free[pool.pool] >= job["processors"]]
        best = cheapest(job, room, lambda _: [now]) if at <= now else None
        if best:
            free[best[2]] -= job["processors"]
            answer["start"].append({"job": number, "pool": best[2]})
            del queue[number]
        elif at <= now:  # It waits for room, or for a price that it can pay.
            wakes += [it for pool in pools for it, _ in pool.prices(now, now + 86_400)[1:]]
    return answer | ({"wake": min(wakes)} if wakes else {})


def main():
    grid = json.loads(sys.stdin.readline())
    pools, queue = [Pool(told) for told in grid["pools"]], {}
    print(json.dumps({"protocol": 1}), flush=True)
    for line in sys.stdin:
        print(json.dumps(decide(json.loads(line), pools, queue)), flush=True)


main()
