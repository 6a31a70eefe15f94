#!/usr/bin/env python3
"""A policy of one's own over JSON lines; docs/reference/policy-cmd.md has every field.

    tradewind simulate LOG --policy-cmd 'python3 examples/policy.py easy' --out run

Rules: fcfs (no job overtakes), easy (the first job that must wait holds a reservation; others start
now if that does not delay it), smallest-first (whatever fits, the narrowest first). One pool.
"""

import json
import sys

RULE = sys.argv[1] if len(sys.argv) > 1 else "fcfs"
queue = {}  # job -> (processors, estimate), in the order of submission
running = {}  # job -> (expected end, processors)


def reservation(width, free, now):
    """When `width` processors are expected to be free, and how many more are free then."""
    for end in sorted({end for end, _ in running.values()}):
        freed = free + sum(processors for until, processors in running.values() if until <= end)
        if freed >= width:
            return end, freed - width
    raise ValueError(f"{width} processors will never be free")


def decide(now, free):
    """The jobs to start now."""
    start, shadow, spare = [], None, 0
    order = sorted(queue, key=lambda job: queue[job]) if RULE == "smallest-first" else list(queue)
    for job in order:
        processors, estimate = queue[job]
        fits = processors <= free
        if fits and shadow is not None:  # Only beside the reservation.
            if now + estimate > shadow and processors > spare:
                fits = False
            elif now + estimate > shadow:
                spare -= processors
        if fits:
            free -= processors
            running[job] = (now + estimate, processors)
            del queue[job]
            start.append(job)
        elif RULE == "fcfs":
            break
        elif RULE == "easy" and shadow is None:
            shadow, spare = reservation(processors, free, now)
    return start


json.loads(sys.stdin.readline())  # The sites and the version of the protocol.
print(json.dumps({"protocol": 1}), flush=True)
for line in sys.stdin:
    told = json.loads(line)
    for event in told["events"]:
        job = event.get("job")
        if event["event"] == "submitted":
            queue[job] = (event["processors"], event["estimate"])
        elif event["event"] == "ended":
            del running[job]
    start = decide(told["now"], told["free"][0])
    print(json.dumps({"start": [{"job": job} for job in start]}), flush=True)
