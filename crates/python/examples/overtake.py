"""Learns which job should overtake the head of the queue, and says how good that is elsewhere.

    python overtake.py train LOG -o weights.json      # minutes on two cores
    python overtake.py compare weights.json LOG…      # logs that it was not trained on

The agent is small: a score for each candidate, linear in what ``tradewind/Backfill-v0`` shows of it; the
highest score starts next. Its weights are found by the cross-entropy method (R. Rubinstein, The
cross-entropy method for combinatorial and continuous optimization, 1999): draw weights around a mean, let
each play the same episodes, move the mean to the best. Needs numpy and gymnasium.
"""

import argparse
import json
import sys

import gymnasium
import numpy as np

import tradewind as tw

#: What a score is made of: by candidate, from rows of the observation.
FEATURES = ("width", "estimate", "wait", "ends in time", "width of free", "area")
#: Measures of the table, with their units.
MEASURES = {
    "mean_bounded_slowdown": "mean slowdown",
    "p95_bounded_slowdown": "p95",
    "p99_bounded_slowdown": "p99",
    "max_bounded_slowdown": "largest",
    "mean_wait_s": "mean wait, h",
    "p95_wait_s": "p95, h",
    "p99_wait_s": "p99, h",
    "max_wait_s": "longest, h",
}


def features(seen):
    """(worlds, candidates, features) of observations (worlds, candidates + 2, 6)."""
    rows = seen[:, :-2, 1:]
    area = rows[..., :1] * rows[..., 1:2]
    return np.concatenate([rows, area], axis=2)


def choose(weights, seen, masks):
    """The candidate with the highest score in each world. ``weights``: (worlds, features)."""
    scores = np.einsum("wcf,wf->wc", features(seen), weights)
    scores[~masks[:, :-1]] = -np.inf
    return scores.argmax(axis=1)


def play(envs, weights, seed):
    """Mean bounded slowdown and longest wait in s of one episode in each world, all of the same jobs."""
    seen, info = envs.reset(seed=[seed] * envs.num_envs)
    slowdown, longest = np.full((2, envs.num_envs), np.nan)
    while np.isnan(slowdown).any():
        seen, _, over, _, info = envs.step(choose(weights, seen, info["action_mask"]))
        fresh = over & np.isnan(slowdown)
        if fresh.any():
            slowdown[fresh] = info["episode"]["mean_bounded_slowdown"][fresh]
            longest[fresh] = info["episode"]["longest_wait_s"][fresh]
    return slowdown, longest


def train(log, *, generations=40, worlds=64, episodes=8, jobs=512, seed=1, say=print, **options):
    """Weights by the cross-entropy method. The cost of weights in an episode: their mean slowdown over
    EASY's, and a tenth of their longest wait over EASY's.
    """
    rng = np.random.default_rng(seed)
    envs = tw.make_vec("Backfill", worlds, log=log, jobs=jobs, copy=False, **options)
    easy = tw.make_vec("Backfill", 1, log=log, jobs=jobs, **options)
    mean, spread = np.zeros(len(FEATURES)), np.ones(len(FEATURES))
    for generation in range(generations):
        drawn = rng.normal(mean, spread, (worlds, len(FEATURES))).astype(np.float32)
        drawn[0] = mean
        cost = np.zeros(worlds)
        for seed in rng.integers(0, 2**31, episodes):
            usual, usual_longest = first_each_time(easy, int(seed))
            slowdown, longest = play(envs, drawn, int(seed))
            cost += slowdown / usual + 0.1 * longest / max(usual_longest, 1.0)
        best = drawn[np.argsort(cost)[: worlds // 8]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 / (generation + 1)
        say(f"generation {generation}: cost {cost.min() / episodes:.4f}, mean's {cost[0] / episodes:.4f}")
    return mean


def first_each_time(easy, seed):
    """EASY in the same episode: it takes the first candidate, which waits longest."""
    easy.reset(seed=[seed])
    while True:
        _, _, over, _, info = easy.step(np.zeros(1, np.int64))
        if over[0]:
            episode = info["episode"]
            return episode["mean_bounded_slowdown"][0], episode["longest_wait_s"][0]


def measured(weights, log, **options):
    """All measures of the agent on a whole log."""
    env = gymnasium.make("tradewind/Backfill-v0", log=log, jobs=None, **options).unwrapped
    seen, info = env.reset(seed=1)
    weights, over = np.asarray(weights, np.float32)[None], False
    while not over:
        action = choose(weights, seen[None], info["action_mask"][None])[0]
        seen, _, over, _, info = env.step(action)
    return info["metrics"]


def compare(weights, log, **options):
    """Measures by policy: the agent, EASY, and EASY with the shortest job first behind the head."""
    rows = {"agent": measured(weights, log, **options)}
    for policy in ("easy", "easy[backfill=shortest]"):
        rows[policy] = tw.simulate(log, policy, **options).metrics
    return rows


def table(name, rows):
    """Markdown; waits in hours."""
    lines = []
    for policy, metrics in rows.items():
        cells = [metrics[it] / 3600 if it.endswith("wait_s") else metrics[it] for it in MEASURES]
        lines.append(f"| {name} | {policy} | " + " | ".join(f"{it:,.1f}" for it in cells) + " |")
    return "\n".join(lines)


def main():
    """The two commands of above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("log")
    training.add_argument("-o", "--out", default="weights.json")
    training.add_argument("--generations", type=int, default=40)
    training.add_argument("--seed", type=int, default=1)
    comparing = commands.add_parser("compare")
    comparing.add_argument("weights")
    comparing.add_argument("logs", nargs="+")
    given = parser.parse_args()
    if given.command == "train":
        print(f"seed {given.seed}", file=sys.stderr)
        weights = train(given.log, generations=given.generations, seed=given.seed)
        with open(given.out, "w") as file:
            json.dump(dict(zip(FEATURES, map(float, weights))), file, indent=1)
        return
    with open(given.weights) as file:
        weights = list(json.load(file).values())
    print("| log | policy | " + " | ".join(MEASURES.values()) + " |")
    print("|---" * (len(MEASURES) + 2) + "|")
    for log in given.logs:
        print(table(log.split("/")[-1].split(".")[0], compare(weights, log)), flush=True)


if __name__ == "__main__":
    main()
