"""Functions that tests send to a market."""

import os
import time


def double(number):
    return 2 * number


def add(one, other, *, more=0):
    return one + other + more


def fail(what):
    raise LookupError(what)


def unpicklable():
    return lambda: None


def leave():
    os._exit(3)


def once(path):
    """Fails without an answer at its first try."""
    if not os.path.exists(path):
        open(path, "w").close()
        os._exit(3)
    return "second"


def sleep(path):
    open(path, "w").close()
    time.sleep(600)
