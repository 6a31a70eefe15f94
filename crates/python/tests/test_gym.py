"""The environment for reinforcement learning."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tradewind as tw

NAME = "tradewind/Backfill-v0"


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


def test_gymnasium_finds_nothing_to_object_to(env):
    check_env(env.unwrapped)


def test_the_same_seed_gives_the_same_episode(env):
    first = play(env, 7, lambda mask: 0)
    again = play(env, 7, lambda mask: 0)
    other = play(env, 8, lambda mask: 0)
    assert first[0] == again[0] and (first[2] == again[2]).all()
    assert first[1]["metrics"] == again[1]["metrics"]
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
    assert said.stdout == f"['{NAME}']\n"


def test_errors_come_through(tmp_path):
    with pytest.raises(tw.InputError):
        gymnasium.make(NAME, log=tmp_path / "none.swf")
