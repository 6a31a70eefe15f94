"""Files that the tests share."""

import os
import pathlib
import shutil
import subprocess
import sysconfig
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def examples():
    """The folder of examples."""
    return ROOT / "examples"


@pytest.fixture(scope="session")
def log(examples):
    """A log of 200 jobs on 64 processors."""
    return examples / "small.swf"


@pytest.fixture(scope="session")
def program():
    """The command that the wheel carries."""
    found = shutil.which("tradewind", path=sysconfig.get_path("scripts"))
    assert found, "the wheel has no command"
    return found


@pytest.fixture(scope="session")
def market(program, tmp_path_factory):
    """Address and token of a market on this machine, which runs jobs itself."""
    state = tmp_path_factory.mktemp("market")
    # As large on every machine.
    (state / "default-sites.json").write_text('{"alpha": 4, "beta": 2}')
    daemon = subprocess.Popen(
        [program, "up", "--quiet", "--shared-account", "--state", state, "--listen", "127.0.0.1:0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    try:
        url, token = state / "url", state / "admin.token"
        last = time.monotonic() + 120
        while not (url.exists() and token.exists()):
            assert daemon.poll() is None, daemon.stderr.read()
            assert time.monotonic() < last, "the market does not come up"
            time.sleep(0.05)
        yield url.read_text().strip(), token.read_text().strip()
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)
