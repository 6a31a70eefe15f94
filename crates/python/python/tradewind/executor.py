"""Python functions as jobs of a market, behind ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .errors import Error, JobFailed, UsageError
from .market import JobFuture, Market

#: Seconds that a result may come after its job's end (files of another machine).
LATE = 10.0


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs of a market::

        with tw.Executor(tw.Market(), time=600, nodes=1, budget=1) as executor:
            print(list(executor.map(simulate, range(10))))

    Each call is a job of its own: a pickle of function and arguments in a file, which the job's Python
    reads and whose result, or exception, it writes beside. Functions defined in a script or a notebook
    need ``cloudpickle`` where they are sent from and where they run; without it, functions of modules
    only. Pickles run code: no other account may write to ``folder``.

    Parameters
    ----------
    market
        Where to submit; without it, as ``Market()`` finds it.
    time
        Seconds that a call may take.
    folder
        A folder that the jobs can read and write at the same path (a shared file system for clusters).
        Without it a temporary one of this machine, which only jobs of the same account can use.
    python
        The interpreter of jobs, which needs this package; without it this one.
    tries
        How often a call is submitted if its job fails without an answer (a node that is lost); a
        function that raises an exception is not run again.
    most
        Calls that are submitted and not over; others wait here.
    fields
        All else is part of each submission: ``nodes``, ``budget`` (credits), ``deadline`` (seconds since
        1970), ``site``, ….

    ``submit`` returns a future whose ``job`` is the job's future once it is submitted. ``cancel`` of a
    future cancels its job; the function may have run. An exception has the traceback of the job as a note.
    """

    def __init__(
        self,
        market: Market | None = None,
        *,
        time: int = 3600,
        folder: str | os.PathLike[str] | None = None,
        python: str | None = None,
        tries: int = 1,
        most: int = 1000,
        **fields: Any,
    ) -> None:
        if tries < 1 or most < 1:
            raise UsageError([("`tries` and `most` are numbers from 1", None)])
        self._market = market or Market()
        self._own_folder = folder is None
        if folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="tradewind-"))
        else:
            self._folder = Path(folder).resolve() / f"tradewind-{uuid.uuid4().hex}"
            self._folder.mkdir(mode=0o700, parents=True)
        self._python = python or sys.executable
        self._fields: dict[str, Any] = {"time": int(time), "directory": str(self._folder)} | fields
        self._tries, self._room = tries, threading.Semaphore(most)
        self._lock = threading.Lock()
        self._open: set[CallFuture] = set()
        self._shut = False
        self._number = 0
        self._sender = concurrent.futures.ThreadPoolExecutor(1, "tradewind-executor")

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[Any]:
        """Submits a call; a ``CallFuture``."""
        packed = _packed((fn, args, kwargs))
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._number += 1
            name = f"call-{self._number}"
            future = CallFuture(self, name, getattr(fn, "__name__", "call"))
            self._open.add(future)
        (self._folder / f"{name}.in").write_bytes(packed)
        future.add_done_callback(self._gone)
        self._sender.submit(self._send, future)
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[Any]:
        """As ``map``; a job runs ``chunksize`` calls, one after the other."""
        if chunksize < 1:
            raise ValueError("`chunksize` is a number from 1")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        calls = list(zip(*iterables))
        parts = [calls[at : at + chunksize] for at in range(0, len(calls), chunksize)]
        results = super().map(_Chunk(fn), parts, timeout=timeout)
        return (result for part in results for result in part)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. ``cancel_futures`` cancels those that are not over, ``wait`` waits for
        the others; then the folder is removed.
        """
        with self._lock:
            self._shut = True
            left = list(self._open)
        if cancel_futures:
            for future in left:
                future.cancel()
        if wait:
            concurrent.futures.wait(left)
            self._sender.shutdown(wait=True)
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self._sender.shutdown(wait=False)

    def __repr__(self) -> str:
        return f"<Executor {self._market.url}>"

    def _send(self, future: CallFuture) -> None:
        """Submits the job of a call, on the sender's thread."""
        while not self._room.acquire(timeout=0.2):
            if future.done():
                return
        future._has_room = True
        self._try(future)

    def _try(self, future: CallFuture) -> None:
        if future.done():
            return self._leave(future)
        future._tries += 1
        name = str(self._folder / future._name)
        # Not the folder of the job: nothing there may stand for a module.
        command = [self._python, "-P", "-m", "tradewind._call", f"{name}.in", f"{name}.out"]
        fields: dict[str, Any] = {"name": future._what, "output": f"{name}.log", "error": f"{name}.err"} | self._fields
        try:
            job = self._market.submit(command, key=f"{uuid.uuid4().hex}", **fields)
        except Error as error:
            future._fail(error)
            return self._leave(future)
        with future._change:
            future.job = job
            cancelled = future.cancelled()
        if cancelled:
            job.cancel()
        job.add_done_callback(lambda job: self._ended(future, job))

    def _ended(self, future: CallFuture, job: concurrent.futures.Future[Any]) -> None:
        """A job is over: its answer is the call's."""
        if future.done():
            return self._leave(future)
        error = job.exception()
        answer = self._answer(future, error)
        if answer is None and future._tries < self._tries and not self._shut:
            self._sender.submit(self._try, future)
            return
        if answer is None:
            future._fail(error or Error("the job completed and left no result"))
        elif answer[0]:
            future._succeed(answer[1])
        else:
            if answer[2]:
                answer[1].add_note(answer[2])
            future._fail(answer[1])
        self._leave(future)

    def _answer(self, future: CallFuture, error: BaseException | None) -> Any:
        """What the job wrote: whether it succeeded, the result or exception, its traceback; ``None`` if
        it wrote nothing.
        """
        path = self._folder / f"{future._name}.out"
        # A function that returned, or raised: only then is there an answer, which may come later over
        # a network.
        ended = error is None or isinstance(error, JobFailed) and _code(error) == 1
        last = time.monotonic() + (LATE if ended else 0.0)
        while True:
            try:
                return pickle.loads(path.read_bytes())
            except FileNotFoundError:
                if time.monotonic() >= last:
                    return None
                time.sleep(0.05)
            except Exception as wrong:
                return (False, Error(f"the result cannot be read: {wrong}"), None)

    def _leave(self, future: CallFuture) -> None:
        if future._has_room:
            future._has_room = False
            self._room.release()

    def _gone(self, future: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._open.discard(future)


class CallFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """A call of an ``Executor``. ``job`` is the future of its job, ``None`` until it is submitted."""

    def __init__(self, executor: Executor, name: str, what: str) -> None:
        super().__init__()
        self._executor, self._name, self._what = executor, name, what
        self._change = threading.RLock()
        self._tries = 0
        self._has_room = False
        self.job: JobFuture | None = None

    def cancel(self) -> bool:
        """Cancels the call and its job; false if it is over."""
        with self._change:
            if not super().cancel():
                return self.cancelled()
            self.set_running_or_notify_cancel()
            job = self.job
        if job is not None:
            job.cancel()
        return True

    def running(self) -> bool:
        """Whether its job runs: asks the market."""
        return not self.done() and self.job is not None and self.job.state == "RUNNING"

    def _succeed(self, result: Any) -> None:
        with self._change:
            if not self.done():
                self.set_result(result)

    def _fail(self, error: BaseException) -> None:
        with self._change:
            if not self.done():
                self.set_exception(error)


def _code(failed: JobFailed) -> int | None:
    """The exit code of the job's program, if it has one."""
    code: int | None = (failed.job.get("exit") or {}).get("code")
    return code


class _Chunk:
    """A function for many arguments in a row."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        return [self.function(*call) for call in calls]


def _packed(call: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(call)
    packed: bytes = cloudpickle.dumps(call)
    return packed
