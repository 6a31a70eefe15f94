"""The notebooks of the roles run, cell by cell."""

import json
import os
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "notebook"


def run(name):
    """What the notebook's names stand for after its last cell."""
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    assert notebook["nbformat"] == 4
    names = {"display": print}
    for cell in notebook["cells"]:
        assert cell["source"] and cell["id"]
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None, "outputs are not kept"
            exec(compile("".join(cell["source"]), f"{name}:{cell['id']}", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def surroundings(market, examples, tmp_path, monkeypatch):
    """A market as users find it, and an empty folder."""
    token = tmp_path / "token"
    token.write_text(market[1])
    monkeypatch.setenv("TRADEWIND_URL", market[0])
    monkeypatch.setenv("TRADEWIND_TOKEN", str(token))
    monkeypatch.setenv("TRADEWIND_EXAMPLES", os.fspath(examples))
    monkeypatch.chdir(tmp_path)


def test_user():
    names = run("user")
    assert names["document"]["state"] == "COMPLETED" and names["roots"] == [1.0, 2.0, 3.0]


def test_owner():
    names = run("owner")
    assert len(names["table"]) == 3 and (names["income"]["income"] > 0).all()
    assert len(names["pools"]) > 0 and names["again"].metrics["total_income"] > 0


def test_researcher():
    names = run("researcher")
    assert names["table"].height == 6 and names["mine"].policies == ["easy", "Narrowest"]
    assert len(names["slowdowns"]) >= 64
