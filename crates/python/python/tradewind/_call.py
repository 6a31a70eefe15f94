"""Runs one pickled call: what a job of an ``Executor`` does. Reads ``$1``, writes ``$2``, both of the
executor's folder; the result is there in full, or not at all.
"""

import os
import pickle
import sys
import traceback
from typing import Any


def main(call: str, result: str) -> int:
    """0 if the function returned, 1 if it raised an exception."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    answer: tuple[bool, Any, str | None]
    try:
        with open(call, "rb") as file:
            function, args, kwargs = pickle.load(file)
        answer = (True, function(*args, **kwargs), None)
    except BaseException as error:
        answer = (False, error, traceback.format_exc())
    try:
        packed = dumps(answer)
    except Exception as error:
        what = f"{'the result' if answer[0] else 'the exception'} cannot be pickled: {error}"
        packed = pickle.dumps((False, RuntimeError(what), answer[2] or traceback.format_exc()))
        answer = (False, None, None)
    part = result + ".part"
    with open(part, "wb") as file:
        file.write(packed)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, result)
    return 0 if answer[0] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
