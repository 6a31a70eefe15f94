"""The environment for reinforcement learning."""

import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tradewind as tw

NAME = "tradewind/Backfill-v0"
NAMES = [f"tradewind/{kind}-v0" for kind in ("Backfill", "Order", "Pool", "Bid")]


def parameters(name, examples):
    """A log, and what else an environment needs."""
    given = {"log": examples / "small.swf", "jobs": 100}
    match name:
        case "tradewind/Pool-v0":
            return given | {"grid": examples / "grid.toml", "outages": None}
        case "tradewind/Bid-v0":
            more = {"grid": examples / "grid.toml", "side": examples / "side.toml", "share": 0.5}
            return given | more | {"seed": 1}
    return given | {"candidates": 4}


@pytest.fixture(params=NAMES)
def any_env(request, examples):
    made = gymnasium.make(request.param, **parameters(request.param, examples))
    yield made
    made.close()


@pytest.fixture
def env(log):
    made = gymnasium.make(NAME, log=log, jobs=100, candidates=4)
    yield made
    made.close()


def play(env, seed, choose):
    """An episode: its rewards, its last info and all that was seen."""
    seen, info = env.reset(seed=seed)
    all_seen, rewards, over = [seen], [], False
    while not over:
        mask = env.unwrapped.action_masks()
        assert (mask == info["action_mask"]).all()
        seen, reward, over, cut, info = env.step(choose(mask))
        assert not cut and env.observation_space.contains(seen)
        all_seen.append(seen)
        rewards.append(reward)
    return rewards, info, np.stack(all_seen)


def test_agents_see_prices_that_change(examples):
    given = {"log": examples / "small.swf", "jobs": 100, "grid": examples / "prices-grid.toml"}
    env = gymnasium.make("tradewind/Pool-v0", **given)
    _, info, seen = play(env, 3, allowed)
    env.close()
    prices = seen[:-1, :-1, -1]
    # The campus between a quarter and all of what it costs by day; the highest price is the cloud's, 3.
    assert len(np.unique(prices[:, 0])) > 1 and prices[:, 0].min() >= np.float32(0.5 / 3)
    assert info["metrics"]["total_cost"] > 0


def allowed(mask):
    """The first action that exists."""
    return int(np.argmax(mask))


def test_gymnasium_finds_nothing_to_object_to(any_env):
    check_env(any_env.unwrapped)


def test_the_same_seed_gives_the_same_episode(any_env):
    first = play(any_env, 7, allowed)
    again = play(any_env, 7, allowed)
    other = play(any_env, 8, allowed)
    assert first[0] == again[0] and (first[2] == again[2]).all()
    assert repr(first[1]["metrics"]) == repr(again[1]["metrics"])
    assert len(first[0]) != len(other[0]) or first[0] != other[0]


def test_the_first_candidate_is_easy_and_none_is_fcfs(log):
    whole = gymnasium.make(NAME, log=log, jobs=None, candidates=200)
    _, info, _ = play(whole, 1, lambda mask: 0)
    assert info["metrics"] == tw.simulate(log, "easy").metrics
    none = whole.action_space.n - 1
    rewards, info, _ = play(whole, 1, lambda mask: none)
    assert info["metrics"] == tw.simulate(log, "fcfs").metrics
    assert sum(rewards) < 0
    whole.close()


def test_actions_that_do_not_exist_mean_none(env):
    none = env.action_space.n - 1
    masked = play(env, 3, lambda mask: none)
    absent = play(env, 3, lambda mask: none if mask[:-1].all() else int(np.argmin(mask)))
    assert masked[0] == absent[0] or len(masked[0]) != len(absent[0])


def test_an_episode_can_be_given_up(env):
    env.reset(seed=1)
    env.step(0)
    env.reset(seed=2)
    env.close()
    with pytest.raises(RuntimeError, match="call `reset`"):
        env.unwrapped.step(0)


@pytest.mark.parametrize("first", ["gymnasium, tradewind", "tradewind, gymnasium"])
def test_the_environment_is_known_in_either_order(first):
    code = f"import {first}; print([it for it in gymnasium.registry if it.startswith('tradewind')])"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout == f"{NAMES}\n"


def test_errors_come_through(tmp_path):
    with pytest.raises(tw.InputError):
        gymnasium.make(NAME, log=tmp_path / "none.swf")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("Backfill", {"candidates": 0}, "`candidates` is a number from 1"),
        ("Backfill", {"jobs": 0}, "`jobs` is a number from 1"),
        ("Order", {"jbos": 5}, "no parameter `jbos`"),
        ("Pool", {}, "there is one site"),
        ("Bid", {}, "no job says what it is worth"),
        ("Backfill", {"jobs": 1}, "has anything to choose"),
        ("Bid", {"share": -1.0}, "`share`"),
    ],
)
def test_what_makes_no_sense_is_said(log, name, options, said):
    with pytest.raises(tw.UsageError, match=said):
        gymnasium.make(f"tradewind/{name}-v0", log=log, **options).reset(seed=1)


def test_the_first_in_line_each_time_is_easy(log):
    whole = gymnasium.make("tradewind/Order-v0", log=log, jobs=None)
    _, info, _ = play(whole, 1, lambda mask: 0)
    assert info["metrics"] == tw.simulate(log, "easy").metrics


def test_homes_dealt_out_are_those_of_the_command(examples, log):
    """`--homes dealt` sends jobs to the sites in turn, among those that are wide enough."""
    grid, policy = examples / "eight-sites.toml", "easy-sites[migrate=off]"
    options = {"grid": grid, "squeeze": 20}
    whole = gymnasium.make("tradewind/Pool-v0", log=log, jobs=None, policy=policy, **options)
    turn = iter(range(10**6))
    _, info, seen = play(whole, 1, lambda mask: next(turn) % 8)
    theirs = tw.simulate(log, policy, homes="dealt", **options).metrics
    assert info["metrics"]["mean_wait_s"] == theirs["mean_wait_s"] > 0
    assert info["metrics"]["max_wait_s"] == theirs["max_wait_s"]
    assert seen.shape[1:] == (9, 8)


def test_true_bids_are_those_of_the_command(examples, log):
    market = {"grid": examples / "grid.toml", "side": examples / "side.toml"}
    policy = "auction[clearing=k]"
    whole = gymnasium.make("tradewind/Bid-v0", log=log, jobs=None, seed=3, levels=(0.5, 1.0), **market)
    rewards, info, _ = play(whole, 1, lambda mask: 1)
    theirs = tw.simulate(log, policy, seeds=3, **market).metrics
    assert repr(info["metrics"]) == repr(theirs)
    half, _, _ = play(whole, 1, lambda mask: 0)
    assert len(half) == len(rewards) and half != rewards


def steps(envs, seed, count):
    """What random allowed actions lead to."""
    rng = np.random.default_rng(5)
    seen, info = envs.reset(seed=seed)
    record = [seen.copy()]
    for _ in range(count):
        mask = info["action_mask"]
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        seen, rewards, over, cut, info = envs.step(actions)
        assert not cut.any() and seen.dtype == np.float32
        record += [seen.copy(), rewards.copy(), over.copy()]
    return record, info


def test_worlds_do_not_depend_on_threads(log):
    options = {"log": log, "jobs": 60, "candidates": 4}
    one = steps(tw.make_vec("Backfill", 7, threads=1, **options), 3, 200)
    two = steps(gymnasium.make_vec(NAME, 7, vectorization_mode="vector_entry_point", threads=3, **options), 3, 200)
    assert all((a == b).all() for a, b in zip(one[0], two[0], strict=True))
    other = steps(tw.make_vec("Backfill", 7, threads=1, **options), 4, 200)
    assert any((a != b).any() for a, b in zip(one[0], other[0], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_world_among_others_is_the_environment(examples, name):
    given = parameters(name, examples)
    envs, single = tw.make_vec(name, 3, threads=2, copy=False, **given), gymnasium.make(name, **given)
    seen, info = envs.reset(seed=[11, 12, 13])
    mine, my_info = single.reset(seed=12)
    over, ended = False, 0
    while not over:
        assert (seen[1] == mine).all() and (info["action_mask"][1] == my_info["action_mask"]).all()
        actions = info["action_mask"].argmax(axis=1)
        mine, reward, over, _, my_info = single.step(actions[1])
        seen, rewards, overs, _, info = envs.step(actions)
        assert rewards[1] == np.float32(reward) and overs[1] == over
        ended += int(overs.sum())
    assert info["_episode"][1] and info["episode"]["jobs"][1] > 0
    metrics = my_info["metrics"]
    assert info["episode"]["mean_wait_s"][1] == pytest.approx(metrics["mean_wait_s"], rel=1e-6)
    # The next step begins another episode.
    seen, rewards, overs, _, info = envs.step(np.zeros(3, int))
    assert rewards[1] == 0 and not overs[1] and seen[1].any()


def test_arrays_that_do_not_fit_are_refused(log):
    envs = tw.make_vec("Order", 2, log=log, jobs=50)
    with pytest.raises(RuntimeError, match="call `reset`"):
        envs.step(np.zeros(2, int))
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="one action"):
        envs.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="from 1 to"):
        tw.make_vec("Order", 0, log=log)


def test_worlds_take_decisions_quickly(log):
    """A wide bound: the figures of a release build are in docs/reference/python.md."""
    envs = tw.make_vec("Order", 64, log=log, jobs=150, threads=2, copy=False)
    envs.reset(seed=1)
    actions = np.zeros(64, np.int64)
    before = time.process_time()
    for _ in range(500):
        envs.step(actions)
    assert time.process_time() - before < 20
