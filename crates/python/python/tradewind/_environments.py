"""Makes the environments known to gymnasium, which is not imported for that: as soon as it is."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .gym import WorldsVectorEnv

#: The names of environments.
KINDS = ("Backfill", "Order", "Pool", "Bid")


def register() -> None:
    """Names the environments ``tradewind/…``."""
    from gymnasium.envs.registration import register

    for kind in KINDS:
        register(
            id=f"tradewind/{kind}-v0",
            entry_point=f"tradewind.gym:{kind}Env",
            vector_entry_point=f"tradewind.gym:{kind.lower()}_vector",
        )


class _OnceImported:
    """Waits for the import of gymnasium."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: Any) -> None:
                load(module)
                register()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def arrange() -> None:
    """Registers the environments now, or when gymnasium is imported."""
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _OnceImported())


def make_vec(kind: str, num_envs: int = 1, **options: Any) -> WorldsVectorEnv:
    """Many environments that native threads step without the interpreter's lock; needs gymnasium.

    ``kind`` is ``"Backfill"``, ``"Order"``, ``"Pool"``, ``"Bid"`` or a registered name; ``options`` are
    those of the environment (``log``, ``jobs``, …), ``threads`` (without it, one per core) and ``copy``
    (false: arrays are overwritten by the next step).
    """
    from . import gym

    return gym.make_vec(kind, num_envs, **options)
