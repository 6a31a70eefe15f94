"""What scripts/forecast-slurm.sh runs: drawn owners' jobs on three equal Slurm clusters.

All get the same jobs at the same moments. Beside them Tradewind submits jobs of its own to the
second cluster, behind the owners; the third has none, like the first, so that the two say how much
waits differ by themselves. At some moments the first cluster is observed by a new
`mode = "observe"` market, whose record has its forecasts and Slurm's from the same list of jobs.
A world of the kind `ranges` is one cluster of a market alone, whose own ranges of starts are counted.
Writes one JSON document per world; `table` makes the tables from several of them.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OVER = 600  # seconds that a job works which is ended at its limit
# No job of the owners ends so by itself: a world in which one does says nothing.
LOST = "CANCELLED", "FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY"
NAMES = "alpha", "beta", "gamma"  # without us, with us, without us


def draw(seed, jobs, nodes, each=4, kind="backlog"):
    """The owners' jobs and ours: widths, limits in minutes, true run times, moments in seconds.

    Of a backlog a fifth is submitted while the others run and wait; otherwise all are, by less than
    the nodes can do."""
    of = random.Random(f"forecast {seed} {jobs} {nodes}")

    def one(widest):
        width = min(widest, round(2 ** of.uniform(0, of.choice([1, 2, 3]))))
        limit = of.choice([1, 1, 1, 2, 2, 3])
        # Most jobs end early, as in logs of real clusters; one in twenty is ended at its limit.
        work = OVER if of.random() < 0.05 else max(2, round(limit * 60 * of.random() ** 2))
        return {"nodes": width, "limit": limit, "work": work}

    owners = [one(max(1, nodes // 2)) for _ in range(jobs)]
    seconds = sum(job["nodes"] * min(job["work"], job["limit"] * 60 + 15) for job in owners)
    length = seconds / nodes
    for job in owners:
        job["at"] = of.uniform(5, 0.6 * length) if of.random() < 0.2 else 0
        if kind == "arriving":
            job["at"] = of.uniform(1, 1.3 * length)
    owners.sort(key=lambda job: job["at"])
    ours = [one(max(1, nodes // 4)) for _ in range(max(1, jobs // each))]
    for job in ours:
        job["limit"] = 1
        job["work"] = min(job["work"], of.randint(3, 40))
        job["at"] = of.uniform(8, 0.7 * length)
    ours.sort(key=lambda job: job["at"])
    looks = [1 + length * part for part in (0, 0.1, 0.2, 0.35, 0.5)]
    return owners, ours, looks, length


class Cluster:
    def __init__(self, folder, name):
        self.name = name
        self.environment = {**os.environ, "SLURM_CONF": f"{folder}/{name}/slurm.conf", "TZ": "UTC"}
        self.ids, self.seen, self.lost = {}, {}, {}
        self.submitting = threading.Lock()

    def say(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.stdout, done.stderr

    def submit(self, number, job):
        with self.submitting:
            said, wrong = self.say(
                "sbatch", "--parsable", "--exclusive", f"-N{job['nodes']}", f"--time={job['limit']}",
                "--output=/dev/null", "--chdir=/", f"--wrap=sleep {job['work']}")
            if not said.strip():
                raise SystemExit(f"sbatch: {wrong}")
            self.ids[said.strip()] = number

    def open(self, is_open):
        """Whether jobs start."""
        self.say("scontrol", "update", "PartitionName=main", f"State={'UP' if is_open else 'DOWN'}")

    def look(self):
        """Submissions and starts of all jobs that Slurm still knows.

        Of a job that was cancelled while it waited, Slurm gives the moment of that as its start."""
        said, _ = self.say("squeue", "-h", "-t", "all", "-o", "%i|%V|%S|%T")
        for line in said.splitlines():
            name, submitted, start, state = line.split("|")
            if name in self.ids and state in LOST:
                self.lost[name] = state
            if name in self.ids and state not in ("PENDING", "CONFIGURING") and start != "N/A":
                self.seen[name] = (moment(submitted), moment(start))

    def waiting(self):
        return len(self.say("squeue", "-h", "-t", "PENDING", "-o", "%i")[0].split())

    def forecasts(self):
        """`squeue --start`: by job, its expected start."""
        said, _ = self.say("squeue", "-h", "--start", "-o", "%i|%S")
        rows = [line.split("|") for line in said.splitlines()]
        return {name: moment(start) for name, start in rows if start != "N/A"}

    def test_only(self, job):
        """`sbatch --test-only`: when such a job would start that is submitted now."""
        _, said = self.say(
            "sbatch", "--test-only", "--exclusive", f"-N{job['nodes']}", f"--time={job['limit']}",
            "--chdir=/", "--wrap=true")
        words = said.split()
        return moment(words[words.index("at") + 1]) if "start" in words and "at" in words else None


def moment(text):
    from calendar import timegm
    return timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


class Market:
    """A daemon in a folder of its own."""

    def __init__(self, program, folder, head, cluster, nodes, more):
        self.program, self.folder = program, Path(folder)
        self.folder.mkdir(parents=True)
        (self.folder / "work").mkdir()
        conf = cluster.environment["SLURM_CONF"]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        (self.folder / "tradewind.toml").write_text(
            f"{head}\n[[site]]\nname = \"{cluster.name}\"\nkind = \"slurm\"\n"
            f"environment = {{ SLURM_CONF = \"{conf}\" }}\naccounts = {{ \"*\" = \"{user}\" }}\n"
            f"directory = \"{self.folder}/work\"\nspool = \"{self.folder}/spool\"\n"
            f"requests_at_rest = 60\nrequests_busy = 60\n{more}\n"
            f"pool = [{{ name = \"{cluster.name}-main\", nodes = {nodes}, partition = \"main\", price = 0.01 }}]\n")
        self.log = open(self.folder / "log", "w")
        self.daemon = subprocess.Popen(
            [program, "up", "--quiet", "--config", self.folder / "tradewind.toml", "--state",
             self.folder / "state", "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)

    def run(self, *words):
        done = subprocess.run([self.program, *words, "--state", self.folder / "state"],
                              capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else None

    def json(self, *words):
        said = self.run(*words, "--format", "json")
        return json.loads(said) if said else None

    def until(self, holds, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.daemon.poll() is not None:
                raise SystemExit((self.folder / "log").read_text())
            found = holds()
            if found:
                return found
            time.sleep(0.2)
        return None

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(timeout=60)
        self.log.close()


def waits_at(market):
    """Owners' jobs that wait, as the market knows."""
    sites = (market.json("sites") or {}).get("sites") or [{}]
    return (sites[0].get("queue") or {}).get("jobs", 0)


def longest_delay(market):
    """For how long the market knows to have put off one of the owners' waiting jobs, seconds."""
    sites = (market.json("sites") or {}).get("sites") or [{}]
    return (sites[0].get("queue") or {}).get("longest_delay", 0)


def guard(args):
    """What the configuration says of the owners."""
    bound = f"\nmax_delay = {args.max_delay}" if args.max_delay else ""
    return f"guard = \"{args.guard}\"{bound}"


def observe(program, work, cluster, nodes, number):
    """Both forecasts of all waiting jobs, from one survey of a market that only observes."""
    market = Market(program, f"{work}/look{number}", "", cluster, nodes, "mode = \"observe\"")
    def has_looked():
        sites = (market.json("shadow") or {}).get("sites") or [{}]
        return sites[0].get("waiting")
    market.until(has_looked)
    listed = cluster.forecasts()
    market.stop()
    shadow = json.loads((market.folder / "state" / "shadow.json").read_text())["shadow"]
    site = shadow["sites"][cluster.name]
    return [
        {"at": site["at"], "job": name, "ours": job["ours"], "slurm": job["manager"][0],
         "together": job["manager"][1], "listed": listed.get(name)}
        if "manager" in job else
        {"at": site["at"], "job": name, "ours": job.get("ours"), "slurm": None, "together": None,
         "listed": listed.get(name)}
        for name, job in site["waiting"].items()]


def ask_and_submit(market, cluster, job):
    """A quote, Slurm's answer to the same request at the same moment, and the job itself.

    `ours` is when the quote expects the start, `window` from when on it would be promised."""
    words = ["--nodes", str(job["nodes"]), "--time", f"{job['limit']}:00", "--chdir",
             f"{market.folder}/work", "--output", "/dev/null", "--wrap", f"sleep {job['work']}"]
    now = time.time()
    quotes = (market.json("quote", *words) or {}).get("quotes", [])
    offers = [offer for offer in quotes if isinstance(offer.get("start"), int)]
    windows = [offer["start"] for offer in offers]
    starts = [offer.get("expected_start", offer["start"]) for offer in offers]
    slurm = cluster.test_only(job)
    number = market.run("submit", "--parsable", *words)
    return {"at": now, "ours": min(starts, default=None), "window": min(windows, default=None), "slurm": slurm, "job": number and number.strip()}


def world(args):
    owners, ours, looks, length = draw(args.seed, args.jobs, args.nodes, args.each, args.kind)
    clusters = alpha, beta, gamma = [Cluster(f"{args.work}/clusters", name) for name in NAMES]
    begin = time.time()
    market = Market(args.program, f"{args.work}/market", "", beta, args.nodes, guard(args))
    market.until(lambda: market.run("policy"))
    events = [(job["at"], "owner", number) for number, job in enumerate(owners) if job["at"] > 0]
    events += [(job["at"], "ours", number) for number, job in enumerate(ours)]
    events += [(at, "look", number) for number, at in enumerate(looks)]
    events.sort(key=lambda event: event[0])
    asked, seen, put_off = [], [], []
    pools = {name: ThreadPoolExecutor(1) for name in (*NAMES, "ours", "look", "poll")}
    stop = threading.Event()

    def poll():
        while not stop.wait(8):
            for it in clusters:
                it.look()
            put_off.append(longest_delay(market))

    polling = pools["poll"].submit(poll)
    # All begin with the same queue: nothing starts before it is whole.
    for it in clusters:
        it.open(False)
    pending = []
    for number, job in enumerate(owners):
        if job["at"] == 0:
            pending += [pools[it.name].submit(it.submit, number, job) for it in clusters]
    for one in pending:
        one.result()
    opened = time.time()
    for one in [pools[it.name].submit(it.open, True) for it in clusters]:
        one.result()
    # Slurm's answers are of the moment, and the market lists the jobs every second or two.
    market.until(lambda: waits_at(market) >= 0.9 * beta.waiting(), 30)
    start, pending = time.time(), []
    for at, kind, number in events:
        time.sleep(max(0, start + at - time.time()))
        if kind == "owner":
            pending += [pools[it.name].submit(it.submit, number, owners[number]) for it in clusters]
        elif kind == "ours":
            job = ours[number]
            pending.append(pools["ours"].submit(lambda job=job: asked.append(
                {**ask_and_submit(market, beta, job), "number": number})))
        else:
            pending.append(pools["look"].submit(lambda number=number: seen.extend(
                observe(args.program, args.work, alpha, args.nodes, number))))
    for one in pending:
        one.result()
    end = time.time() + 3 * length + 600
    while sum(len(it.seen) for it in clusters) < 3 * len(owners) and time.time() < end:
        time.sleep(1)
    is_over = lambda it: it and it.get("state") in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")
    for it in asked:
        job = market.until(lambda: is_over(it["job"] and market.json("job", it["job"])) and
                           market.json("job", it["job"]), 300)
        it["start"] = (job or {}).get("started")
        it["state"] = (job or {}).get("state")
        it["whole"] = job
    stop.set()
    polling.result()
    market.stop()
    lost = {it.name: it.lost for it in clusters if it.lost}
    if lost:
        raise SystemExit(f"jobs of the owners did not end by themselves: {lost}")
    rows = []
    for place in range(len(owners)):
        row = {**owners[place]}
        for cluster in clusters:
            name = next((name for name, number in cluster.ids.items() if number == place), None)
            row[cluster.name] = cluster.seen.get(name)
            row.setdefault("job", name)
        rows.append(row)
    starts = {name: when[1] for name, when in alpha.seen.items()}
    for it in seen:
        it["start"] = starts.get(it["job"])
    document = {"slurm": alpha.say("sinfo", "--version")[0].split()[-1], "seed": args.seed, "jobs": args.jobs, "nodes": args.nodes,
                "seconds": round(time.time() - begin), "guard": args.guard, "kind": args.kind, "max_delay": args.max_delay, "put_off": max(put_off, default=0), "opened": int(opened), "owners": rows,
                "seen": seen, "asked": asked}
    Path(args.out).write_text(json.dumps(document))


def ranges(args):
    """A market alone on a cluster, with more work than its nodes can do: how its ranges hold."""
    of = random.Random(f"ranges {args.seed} {args.jobs} {args.nodes}")
    # Three kinds of jobs, all of which end long before their limit.
    jobs = [{"nodes": of.choice([1, 1, 2, max(1, args.nodes // 2)]), "limit": of.choice([1, 1, 2]),
             "work": of.choice([3, 8, 20]) + of.randint(0, 5)} for _ in range(args.jobs)]
    length = sum(job["nodes"] * (job["work"] + 2) for job in jobs) / args.nodes
    moments = sorted(of.uniform(0, 0.9 * length) for _ in jobs)
    cluster = Cluster(f"{args.work}/clusters", NAMES[0])
    market = Market(args.program, f"{args.work}/market", "", cluster, args.nodes, "")
    market.until(lambda: market.run("policy"))
    start, numbers = time.time(), []
    for at, job in zip(moments, jobs):
        time.sleep(max(0, start + at - time.time()))
        number = market.run(
            "submit", "--parsable", "--nodes", str(job["nodes"]), "--time", f"{job['limit']}:00",
            "--chdir", f"{market.folder}/work", "--output", "/dev/null", "--wrap", f"sleep {job['work']}")
        numbers.append(number and number.strip())
    def is_over(number):
        return (market.json("job", number) or {}).get("state") in ("COMPLETED", "FAILED", "TIMEOUT")
    over = [bool(market.until(lambda: is_over(number), 600)) for number in numbers if number]
    site = ((market.json("sites") or {}).get("sites") or [{}])[0]
    market.stop()
    document = {"slurm": cluster.say("sinfo", "--version")[0].split()[-1], "seed": args.seed,
                "jobs": args.jobs, "nodes": args.nodes, "seconds": round(time.time() - start),
                "kind": "ranges", "over": sum(over), "score": site.get("start_ranges")}
    Path(args.out).write_text(json.dumps(document))


def range_table(worlds):
    """Starts within the ranges that were given first, of 100."""
    print("| Slurm | jobs on nodes | worlds | jobs over | starts with a range | 50 | 80 | 95 |")
    print("|---|---|---|---|---|---|---|---|")
    for key in sorted({(one["slurm"], one["jobs"], one["nodes"]) for one in worlds}):
        some = [one for one in worlds if (one["slurm"], one["jobs"], one["nodes"]) == key]
        scores = [one["score"] for one in some if one["score"]]
        starts = sum(score["starts"] for score in scores)
        within = [sum(score["within"][at]["starts"] for score in scores) for at in range(3)]
        shares = " | ".join(f"{100 * it / starts:.0f}" if starts else "–" for it in within)
        print(f"| {key[0]} | {key[1]} on {key[2]} | {len(some)} | {sum(one['over'] for one in some)} | "
              f"{starts} | {shares} |")


def quantile(values, part):
    """Nearest rank: a value that occurred."""
    values = sorted(values)
    return values[max(0, -(-len(values) * part // 100) - 1)] if values else None


def errors(pairs):
    """Median, the value that nine of ten do not exceed, and the mean with its sign (late: positive)."""
    late = [start - forecast for forecast, start in pairs]
    if not late:
        return "–"
    size = [abs(it) for it in late]
    return f"{quantile(size, 50)}, {quantile(size, 90)}, {statistics.mean(late):+.0f}"


def comparable(asked):
    """Our jobs with both forecasts; and whether another one of ours waited when they were asked for."""
    started = [it for it in asked if it["start"]]
    for it in started:
        it["alone"] = not any(other["at"] < it["at"] < other["start"] for other in started)
    return [it for it in started if it["ours"] is not None and it["slurm"] is not None]


def compared(asked):
    every = ("slurm", "window", "ours")
    slurm, window, ours = ([(it.get(whose, it["ours"]), it["start"]) for it in asked] for whose in every)
    return f"{len(asked)} | {errors(slurm)} | {errors(window)} | {errors(ours)}"


def waits(world):
    """Of each owner's job that started on all clusters: its wait on each, seconds, and the job. No
    wait begins before the queue was opened."""
    def wait(row, name):
        submitted, start = row[name]
        return start - max(submitted, world["opened"])
    rows = [row for row in world["owners"] if all(row[name] for name in NAMES)]
    return [([wait(row, name) for name in NAMES], row) for row in rows]


def beyond(world):
    """By how much jobs started later than foreseen when they were seen first, on each cluster.

    The load is the same, so the forecast without us is compared with all starts; what counts is
    the wait from the submission on."""
    first = {}
    for it in sorted(world["seen"], key=lambda it: it["at"]):
        forecast = it["together"] if it["together"] is not None else it["ours"]
        if forecast is not None:
            first.setdefault(it["job"], forecast)
    found = [(each, row) for each, row in waits(world) if row["job"] in first]
    foreseen = lambda row: first[row["job"]] - max(row["alpha"][0], world["opened"])
    return [[wait - foreseen(row) for wait in each] for each, row in found]


# Two-sided 95 % quantiles of Student's distribution, by degrees of freedom.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
           2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


def each(worlds, difference):
    """By world: a difference of the owners' mean waits, in per cent of all worlds' mean wait without
    us."""
    means = [[statistics.mean(wait) for wait in zip(*(wait for wait, _ in waits(one)))] for one in worlds]
    whole = max(statistics.mean((first + again) / 2 for first, _, again in means), 0.1)
    return [100 * difference(*mean) / whole for mean in means]


def interval(worlds, difference):
    """The mean of these over worlds, and half of the 95 % interval of this mean. Worlds are
    independent, jobs of one world are not. `None` for fewer than two worlds."""
    if len(worlds) < 2:
        return None
    parts = each(worlds, difference)
    factor = STUDENT[len(parts) - 2] if len(parts) - 2 < len(STUDENT) else 2.04
    return statistics.mean(parts), factor * statistics.stdev(parts) / len(parts) ** 0.5


def by_us(first, beside, again):
    return beside - (first + again) / 2


def by_itself(first, beside, again):
    return again - first


def percent(found):
    return "–" if found is None else f"{found[0]:+.2f} ± {found[1]:.2f} %"


def table(args):
    worlds = [json.loads(Path(path).read_text()) for path in args.files]
    ranged = [one for one in worlds if one.get("kind") == "ranges"]
    if ranged:
        range_table(ranged)
    worlds = [one for one in worlds if one.get("kind") != "ranges"]
    if not worlds:
        return
    groups = {}
    for one in worlds:
        groups.setdefault((one["slurm"], one.get("kind", "backlog"), one["jobs"], one["nodes"]), []).append(one)
    sums = sorted({key[:2] for key in groups})
    for version, kind in sums:
        groups[version, kind, None, None] = [
            one for one in worlds if (one["slurm"], one.get("kind", "backlog")) == (version, kind)]
    order = sorted(groups, key=lambda key: (key[1] == "arriving", key[0], key[2] is None, key[2] or 0))
    def name(key):
        what = "all" if key[2] is None else f"{key[2]} on {key[3]}"
        return f"{key[0]} | {what}" + (", arriving" if key[1] == "arriving" else "")

    print("| Slurm | jobs on nodes | worlds | forecasts of both | Slurm's error | ours | forecasts of ours alone | their error |")
    print("|---|---|---|---|---|---|---|---|")
    for key in order:
        seen = [it for one in groups[key] for it in one["seen"] if it["start"] is not None]
        both = [it for it in seen if it["slurm"] is not None and it["together"] is not None]
        alone = [it for it in seen if it["slurm"] is None and it["ours"] is not None]
        print(f"| {name(key)} | {len(groups[key])} | {len(both)} | "
              f"{errors([(it['slurm'], it['start']) for it in both])} | "
              f"{errors([(it['together'], it['start']) for it in both])} | {len(alone)} | "
              f"{errors([(it['ours'], it['start']) for it in alone])} |")
    print("\n| Slurm | jobs on nodes | our jobs | `sbatch --test-only` | our window | expected start | "
          "no other of ours waited | `sbatch --test-only` | our window | expected start |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for key in order:
        both = [it for one in groups[key] for it in comparable(one["asked"])]
        if both:
            alone = [it for it in both if it["alone"]]
            print(f"| {name(key)} | {compared(both)} | {compared(alone)} |")
    print("\n| Slurm | jobs on nodes | worlds | our jobs | owners' jobs | mean wait without | with | without again | "
          "by us | by itself | of each job by us: 9 of 10, worst | by itself | starts foreseen | "
          "latest after it: without | with | without again | longest put off by us |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for key in order:
        some = groups[key]
        jobs = [it for one in some for it, _ in waits(one)]
        if not jobs:
            continue
        means = [f"{statistics.mean(wait):.1f}" for wait in zip(*jobs)]
        late = [[beside - first for first, beside, _ in jobs], [again - first for first, _, again in jobs]]
        late = [f"{quantile(it, 90):+d}, {max(it):+d}" for it in late]
        after = [it for one in some for it in beyond(one)]
        latest = [f"{max((it[place] for it in after), default=0):+d}" for place in range(3)]
        count = sum(len(one["asked"]) for one in some)
        print(f"| {name(key)} | {len(some)} | {count} | {len(jobs)} | {' | '.join(means)} | "
              f"{percent(interval(some, by_us))} | {percent(interval(some, by_itself))} | "
              f"{' | '.join(late)} | {len(after)} | {' | '.join(latest)} | "
              f"{max(one.get('put_off', 0) for one in some)} |")
    print()
    for version, kind in sums:
        print(verdict(f"{version}, {kind}", groups[version, kind, None, None]))
    for kind in sorted({kind for _, kind in sums}):
        some = [one for one in worlds if one.get("kind", "backlog") == kind]
        print(verdict(f"of all versions, {kind}", some))


def verdict(name, worlds):
    """What the tables say, in a sentence each."""
    seen = [it for one in worlds for it in one["seen"] if it["start"] is not None]
    both = [it for it in seen if it["slurm"] is not None and it["together"] is not None]
    middle = lambda whose: quantile([abs(it["start"] - it[whose]) for it in both], 50)
    ours, slurms = middle("together"), middle("slurm")
    said = [f"Slurm {name}, {len(worlds)} worlds:"]
    if both:
        word = "WORSE" if ours > slurms else "not worse"
        said.append(f"median error of our forecasts {ours} s, of Slurm's {slurms} s: {word};")
    asked = [it for one in worlds for it in comparable(one["asked"])]
    if asked:
        late = lambda whose: quantile([abs(it["start"] - it.get(whose, it["ours"])) for it in asked], 50)
        slurms = late("slurm")
        said += [f"of our own jobs, {what} {late(whose)} s, `sbatch --test-only` {slurms} s: "
                 f"{'WORSE' if late(whose) > slurms else 'not worse'};"
                 for what, whose in (("expected starts", "ours"), ("windows", "window"))]
    found = interval(worlds, by_us)
    if found is not None:
        low, high = found[0] - found[1], found[0] + found[1]
        word = "below 1 %" if high < 1 else "ABOVE 1 %" if low > 1 else "not decided by so few worlds"
        said.append(f"owners wait longer with us by {low:+.2f} to {high:+.2f} %: {word};")
        said.append(f"by itself the same load differs by {percent(interval(worlds, by_itself))};")
        middle = [quantile(each(worlds, what), 50) for what in (by_us, by_itself)]
        said.append("median of the worlds: {:+.2f} % with us, {:+.2f} % by itself".format(*middle))
    return " ".join(said)


def main():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("world")
    for name in ("--program", "--work", "--out"):
        one.add_argument(name, required=True)
    for name in ("--seed", "--jobs", "--nodes"):
        one.add_argument(name, type=int, required=True)
    one.add_argument("--each", type=int, default=4, help="of so many owners' jobs, one of ours")
    one.add_argument("--kind", choices=("backlog", "arriving", "ranges"), default="backlog")
    one.add_argument("--max-delay", type=int)
    one.add_argument("--guard", choices=("limits", "early", "spare"), default="spare")
    one.set_defaults(run=lambda args: (ranges if args.kind == "ranges" else world)(args))
    tables = kinds.add_parser("table")
    tables.add_argument("files", nargs="+")
    tables.set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
