"""A client of a running market: quotes, jobs as futures, their output."""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _http
from .errors import Error, JobFailed, UsageError

#: States of jobs that have not ended.
LIVE = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
#: Seconds between two looks at jobs that have not ended, at first and at most.
FIRST_LOOK, LONGEST_LOOK = 0.2, 5.0
#: Jobs of one page of a list.
PAGE = 1000


class JobFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """A job of a market. ``result()`` waits for its document and raises ``JobFailed`` if it did not
    complete; ``concurrent.futures.wait``, ``as_completed`` and ``asyncio.wrap_future`` work, too.
    """

    def __init__(self, market: Market, job: int) -> None:
        super().__init__()
        self._market = market
        #: The job's number.
        self.id = job

    def job(self) -> dict[str, Any]:
        """The job's document as it is now (times: seconds since 1970, amounts: credits)."""
        return self._market.job(self.id)

    @property
    def state(self) -> str:
        """The job's state now, as Slurm names it."""
        return str(self.job()["state"])

    def output(self, bytes: int | None = None) -> str:
        """The end of its standard output so far, at most so many bytes."""
        return self._market.output(self.id, bytes)

    def cancel(self) -> bool:
        """Asks the market to cancel the job; false if it had ended."""
        try:
            self._market.cancel(self.id)
        except Error as error:
            if error.code != 1:
                raise
            return False
        return True

    def __repr__(self) -> str:
        return f"<JobFuture {self.id}>"

    def _look(self, job: dict[str, Any]) -> bool:
        """Takes what the market says; whether the job has ended."""
        if job["state"] in LIVE:
            return False
        if not self.done():
            if job["state"] == "COMPLETED":
                self.set_result(job)
            else:
                self.set_exception(JobFailed(job))
        return True


def as_completed(
    futures: Iterable[JobFuture], timeout: float | None = None
) -> Iterator[JobFuture]:
    """The futures in the order in which their jobs end; ``TimeoutError`` after ``timeout`` seconds."""
    return concurrent.futures.as_completed(futures, timeout)  # type: ignore[return-value]


class Market:
    """A running market (``tradewind up``).

    ``url`` and ``token`` default to those of the command: ``$TRADEWIND_URL`` and the file
    ``$TRADEWIND_TOKEN``, else the market of this machine. ``ca``: authorities to trust, in PEM.
    ``timeout``: seconds for an answer, repetitions included. Errors have the command's exit code as
    ``code``.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        token_file: str | os.PathLike[str] | None = None,
        ca: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        where, secret = _http.found(url, token, token_file)
        self._line = _http.Line(where, secret, timeout, ca)
        self._watch = _Watch(self._line)

    @property
    def url(self) -> str:
        """The market's address."""
        return self._line.url

    def quote(self, command: Sequence[str] | None = None, **fields: Any) -> dict[str, Any]:
        """What a job could get now: a document with ``quotes``, one per criterion, with ``id``,
        ``start``, ``finish`` (seconds since 1970) and ``cost`` (credits). Takes what ``submit`` takes.
        """
        answer: dict[str, Any] = self._line.ask("POST", "/v1/quotes", _work(command, fields))
        return answer

    def submit(
        self,
        command: Sequence[str] | None = None,
        *,
        quote: int | None = None,
        key: str | None = None,
        **fields: Any,
    ) -> JobFuture:
        """Submits one job and returns its future.

        ``command`` is a program with its arguments; or ``script=`` is a script, with ``options=`` as on
        the command line (``{"--budget": "5"}``). Other fields are those of a submission
        (``docs/schemas/submission.schema.json``): ``time`` (seconds, needed without a script), ``nodes``,
        ``budget`` (credits), ``deadline`` (seconds since 1970), ``name``, ``directory``, ….

        ``quote`` accepts an offer. The submission is sent again if an answer is missing, with one
        ``key``, so that it is accepted once.
        """
        jobs = self.submit_array(command, quote=quote, key=key, **fields)
        if len(jobs) != 1:
            what = f"{len(jobs)} jobs were submitted: {jobs[0].id} to {jobs[-1].id}"
            raise UsageError([(what, "use `submit_array` for arrays")])
        return jobs[0]

    def submit_array(
        self,
        command: Sequence[str] | None = None,
        *,
        quote: int | None = None,
        key: str | None = None,
        **fields: Any,
    ) -> list[JobFuture]:
        """The same for an array (``array="0-9%2"``): a future for each job."""
        key = key or uuid.uuid4().hex
        query = {"quote": quote}
        answer = self._line.ask("POST", "/v1/jobs", _work(command, fields), query=query, key=key)
        return [self.future(job) for job in answer["jobs"]]

    def future(self, job: int) -> JobFuture:
        """A future for a job that was submitted before."""
        future = JobFuture(self, job)
        self._watch.add(future)
        return future

    def job(self, job: int) -> dict[str, Any]:
        """The document of a job."""
        answer: dict[str, Any] = self._line.ask("GET", f"/v1/jobs/{int(job)}")
        return answer

    def jobs(self, **filters: Any) -> list[dict[str, Any]]:
        """Documents of jobs, by number: ``state``, ``user``, ``site``, ``name`` select."""
        found: list[dict[str, Any]] = []
        after: int | None = filters.pop("after", None)
        while True:
            query = filters | {"after": after, "limit": PAGE}
            page = self._line.ask("GET", "/v1/jobs", query=query)
            found += page["jobs"]
            after = page.get("next")
            if after is None:
                return found

    def cancel(self, job: int) -> dict[str, Any]:
        """Cancels a job; its document. ``RefusedError`` if it has ended."""
        answer: dict[str, Any] = self._line.ask("DELETE", f"/v1/jobs/{int(job)}")
        return answer

    def output(self, job: int, bytes: int | None = None) -> str:
        """The end of a job's standard output, at most so many bytes."""
        path = f"/v1/jobs/{int(job)}/output"
        return str(self._line.ask("GET", path, query={"bytes": bytes}, text=True))

    def sites(self) -> list[dict[str, Any]]:
        """Sites with their pools, prices (credits per node and second) and use."""
        sites: list[dict[str, Any]] = self._line.ask("GET", "/v1/sites")["sites"]
        return sites

    def __repr__(self) -> str:
        return f"<Market {self.url}>"


def _work(command: Sequence[str] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a submission: fields, or a script with options."""
    given = {name: value for name, value in fields.items() if value is not None}
    if "options" in given or ("script" in given and "time" not in given):
        options = given.pop("options", {})
        pairs = options.items() if isinstance(options, Mapping) else options
        given["options"] = [[str(word) for word in pair] for pair in pairs]
        if command is not None:
            raise UsageError([("a script and a command", "leave one of them out")])
        return given
    if command is not None:
        if isinstance(command, str):
            hint = f"write a list of words: {command.split()!r}"
            raise UsageError([("`command` is a text", hint)])
        given["command"] = [os.fspath(word) for word in command]
    if "name" not in given:
        given["name"] = os.path.basename(given["command"][0]) if given.get("command") else "job"
    return given


class _Watch:
    """One thread that looks at the jobs of a market whose futures are waited for, as long as there
    are any.
    """

    def __init__(self, line: _http.Line) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[JobFuture] = weakref.WeakSet()
        self._thread: threading.Thread | None = None
        self._news = threading.Event()

    def add(self, future: JobFuture) -> None:
        with self._lock:
            self._open.add(future)
            self._news.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tradewind", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause = FIRST_LOOK
        while True:
            with self._lock:
                futures = list(self._open)
                if not futures:
                    self._thread = None
                    return
                self._news.clear()
            try:
                ended = self._look(futures)
            except Error as error:
                # A market that cannot be asked for a while is asked again; one that refuses is not.
                ended = [future for future in futures if error.code != 2 or _is_final(error)]
                for future in ended:
                    future.set_exception(error)
            with self._lock:
                for future in ended:
                    self._open.discard(future)
            pause = FIRST_LOOK if ended else min(1.5 * pause, LONGEST_LOOK)
            del futures, ended
            if self._news.wait(pause):
                time.sleep(FIRST_LOOK)
                pause = FIRST_LOOK

    def _look(self, futures: list[JobFuture]) -> list[JobFuture]:
        """The futures whose jobs have ended. One request for each thousand numbers of jobs."""
        by_number = {future.id: future for future in futures}
        ended: list[JobFuture] = []
        left = sorted(by_number)
        while left:
            query = {"after": left[0] - 1, "limit": PAGE}
            page = self._line.ask("GET", "/v1/jobs", query=query)
            for job in page["jobs"]:
                future = by_number.get(job["id"])
                if future is not None and future._look(job):
                    ended.append(future)
            last = page["jobs"][-1]["id"] if page["jobs"] else left[-1]
            passed = [number for number in left if number <= last]
            if page.get("next") is None:
                passed = left
            seen = {job["id"] for job in page["jobs"]}
            for number in passed:
                if number not in seen:
                    # Gone from the list, or never there: the market says what is the matter.
                    future = by_number[number]
                    if future._look(self._line.ask("GET", f"/v1/jobs/{number}")):
                        ended.append(future)
            left = left[len(passed):]
        return ended


def _is_final(error: Error) -> bool:
    """Whether the token is refused: asking again would not help."""
    return not str(error).startswith("no answer")
