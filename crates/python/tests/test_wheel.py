"""What the wheel carries."""

import importlib.metadata
import pathlib
import subprocess
import sys

import tradewind as tw


def test_the_command_is_there(program):
    version = importlib.metadata.version("tradewind")
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    assert version in said.stdout
    module = [sys.executable, "-m", "tradewind", "--version"]
    assert subprocess.run(module, check=True, capture_output=True, text=True).stdout == said.stdout


def test_nothing_but_the_standard_library_is_needed():
    code = "import sys, tradewind; print([it for it in ('numpy', 'pyarrow', 'gymnasium') if it in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "[]"
    needed = importlib.metadata.requires("tradewind") or []
    assert all("extra ==" in need for need in needed)


def test_types_and_docstrings_are_there():
    folder = pathlib.Path(tw.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    for name in tw.__all__:
        assert getattr(tw, name).__doc__, name
