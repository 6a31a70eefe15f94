"""Requests to a market, over the standard library: bounded, repeated where that is safe."""

from __future__ import annotations

import ipaddress
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from .errors import Error, InputError, InternalError, RefusedError, UsageError

#: An answer is never longer.
LONGEST_ANSWER = 256 << 20
#: Seconds between two tries, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
#: Answers after which the same request may succeed.
PASSING = {429, 502, 503, 504}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Line:
    """Sends requests to one market."""

    def __init__(self, url: str, token: str, timeout: float, ca: str | None) -> None:
        self.url = checked(url)
        self.token = token
        self.timeout = timeout
        context = ssl.create_default_context(cafile=ca)
        self._opener = urllib.request.build_opener(
            _NoRedirects, urllib.request.ProxyHandler({}) if is_local(self.url) else
            urllib.request.ProxyHandler(), urllib.request.HTTPSHandler(context=context)
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, Any] | None = None,
        key: str | None = None,
        patience: float | None = None,
        text: bool = False,
    ) -> Any:
        """The answer to one request, as JSON or text.

        Reads, and what has an idempotency ``key``, are tried again until ``timeout`` seconds are
        over; ``patience`` is how long the market itself may take for one answer, in seconds.
        """
        url = self.url + path
        if query := {name: value for name, value in (query or {}).items() if value is not None}:
            url += "?" + urllib.parse.urlencode(query)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/plain"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        may_repeat = method in ("GET", "DELETE") or key is not None
        last, pause = time.monotonic() + self.timeout, FIRST_PAUSE
        while True:
            request = urllib.request.Request(url, data, headers, method=method)
            try:
                with self._opener.open(request, timeout=patience or self.timeout) as answer:
                    read = answer.read(LONGEST_ANSWER)
                return read.decode() if text else json.loads(read) if read else None
            except urllib.error.HTTPError as error:
                failure, wait = refused(error), retry_after(error)
                repeat = error.code in PASSING and (may_repeat or error.code == 429)
                if error.code == 429 and wait is None:
                    repeat = False
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", error)
                hint = None if key is None else f"send it again with key={key!r}"
                failure, wait = UsageError([(f"no answer from {self.url}: {reason}", hint)]), None
                repeat = may_repeat and isinstance(error, OSError)
            pause = max(pause, wait or 0.0)
            if not repeat or time.monotonic() + pause >= last:
                raise failure from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def is_local(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked(url: str) -> str:
    """The address without a slash at its end. A token is sent over TLS, or to this machine."""
    url = url.strip().rstrip("/")
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise UsageError([(f"`{url}` is no address of a market", "write https://HOST:PORT")])
    if scheme == "http" and not is_local(url):
        raise UsageError([(f"a token is not sent to `{url}`: it would be readable", "use https://")])
    return url


def retry_after(error: urllib.error.HTTPError) -> float | None:
    """Seconds after which the same request may succeed."""
    try:
        return float(error.headers.get("Retry-After", ""))
    except ValueError:
        return None


def refused(error: urllib.error.HTTPError) -> Error:
    """What a market refuses, with the exit code that the command would have."""
    try:
        problem = json.loads(error.read(LONGEST_ANSWER))["error"]
    except (ValueError, KeyError, TypeError):
        problem = {"message": f"{error.code} {error.reason}"}
    problems = [_said(problem)] + [_said(also) for also in problem.get("also", [])]
    match error.code:
        case 401:
            return UsageError(problems)
        case 400 | 413 | 415 | 422:
            return InputError(problems)
        case 500:
            return InternalError(problems)
        case _:
            return RefusedError(problems)


def _said(problem: dict[str, Any]) -> tuple[str, str | None]:
    field = problem.get("field")
    message = problem.get("message", "refused")
    return (f"{field}: {message}" if field else message), problem.get("hint") or None


def found(
    url: str | None, token: str | None, token_file: str | os.PathLike[str] | None
) -> tuple[str, str]:
    """Address and token, as the command finds them: what is given, else ``$TRADEWIND_URL`` and the
    file ``$TRADEWIND_TOKEN``, else the market in the usual folder of this machine.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local/state")
    folder = Path(state) / "tradewind"
    url = url or os.environ.get("TRADEWIND_URL")
    if url is None:
        try:
            url = (folder / "url").read_text()
        except OSError:
            hint = 'name it: `Market("https://HOST:PORT", token=…)`'
            raise UsageError([("there is no market on this machine", hint)]) from None
    if token is not None:
        return url, token.strip()
    file = token_file or os.environ.get("TRADEWIND_TOKEN") or folder / "admin.token"
    try:
        return url, Path(file).read_text().strip()
    except OSError as error:
        hint = "give `token` or `token_file`"
        raise UsageError([(f"failed to read the token `{file}`: {error.strerror}", hint)]) from None
