"""A policy that goes by prices that change with time, for tests."""

import tradewind as tw


def price_at(pool, second):
    """The price of a pool at a moment, from nothing but its dictionary."""
    told = pool.get("prices")
    if told is None:
        return pool["price"]
    first = told["values"][0][0]
    if "every" in told:
        second = (second - first) % told["every"] + first
    before = [price for at, price in told["values"] if at <= second]
    return before[-1] if before else told["values"][0][1]


class Patient(tw.Policy):
    """Each job starts where it is cheapest now, once an hour later would not be cheaper."""

    def begin(self, market):
        self.looks = 0

    def decide(self, market, events):
        free, wakes = list(market.free), []
        for pool in market.pools:
            assert market.price(pool["pool"]) == price_at(pool, market.now)
        for job in market.queue:
            room = [pool["pool"] for pool in market.pools if free[pool["pool"]] >= job.processors]
            costs = [(market.cost(job.job, pool), pool) for pool in room]
            if not costs:
                continue
            cost, pool = min(costs)
            if self.looks < 20:
                self.looks += 1
                self.check(market, job, pool, cost)
            if market.cost(job.job, pool, at=market.now + 3600) < cost:
                wakes.append(market.now + 3600)
                continue
            market.start(job.job, pool)
            free[pool] -= job.processors
        if wakes:
            market.wake(min(wakes))

    def check(self, market, job, pool, cost):
        """The cost is the sum over all seconds, here and in shares."""
        it = market.pools[pool]
        length = -(-1000 * job.estimate // round(1000 * it["performance"]))
        seconds = range(market.now, market.now + length)
        each = sum(round(1e6 * price_at(it, second)) for second in seconds)
        assert cost == each * job.processors / 1e6
        assert market.cost(job.job, shares=[(pool, job.processors)]) == cost
