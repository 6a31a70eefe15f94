"""Errors with the messages, hints and exit codes of the command ``tradewind``."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """What cannot be done. ``code`` is the exit code that the command would have
    (``docs/reference/exit-codes.md``), ``problems`` all that is wrong: (message, hint or None).
    """

    code: int = 1

    def __init__(self, problems: list[tuple[str, str | None]] | str, code: int | None = None) -> None:
        self.problems = [(problems, None)] if isinstance(problems, str) else list(problems)
        if code is not None:
            self.code = code
        super().__init__("\n".join(_line(*problem) for problem in self.problems))


class RefusedError(Error):
    """The answer is no: a market refuses, or there is no such thing (code 1)."""

    code = 1


class UsageError(Error, ValueError):
    """Arguments make no sense, or no market can be asked (code 2)."""

    code = 2


class InputError(Error, ValueError):
    """A file or a request is not what it should be (code 3)."""

    code = 3


class InternalError(Error):
    """An error of Tradewind itself (code 70)."""

    code = 70


class JobFailed(Error):
    """A job did not complete. ``job`` is its document, ``state`` its state as Slurm names it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.state: str = job["state"]
        why = job.get("message")
        super().__init__(f"job {job['id']}: {self.state}" + (f": {why}" if why else ""))


def _line(message: str, hint: str | None) -> str:
    return message if hint is None else f"{message}\n  hint: {hint}"


def of_code(code: int, problems: list[tuple[str, str | None]]) -> Error:
    """The exception for an exit code of the command."""
    kinds = {kind.code: kind for kind in (RefusedError, UsageError, InputError, InternalError)}
    return kinds.get(code, Error)(problems, code)
