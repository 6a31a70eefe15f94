"""The example notebook runs on the Parquet of a campaign, and its numbers are ours.

Run by scripts/evalys.sh: notebook_runs.py TRADEWIND REPOSITORY SCRATCH
"""

import json
import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import nbformat
import pandas as pd
import pyarrow.parquet as pq

import runs


def check_cells(out, log, policies):
    """The Parquet says the same as jobs.csv."""
    for policy in policies:
        table = pd.read_parquet(out / policy / "jobs.parquet")
        rows = pd.read_csv(out / policy / "jobs.csv", dtype={"job_id": str})
        assert list(table["policy"].unique()) == [policy]
        for column in ("workload", "log"):
            assert list(table[column].unique()) == [log.stem]
        assert list(table["estimate"].unique()) == ["requested"]
        accounts = [line.split() for line in log.read_text().splitlines() if line[0] != ";"]
        for column, field in {"user": 11, "group": 12, "queue": 14}.items():
            assert list(table[column]) == [int(job[field]) for job in accounts], column
        ran = table[table["start_s"].notna()]
        assert (ran["busy_processor_s"] == ran["run_s"] * ran["processors"]).all()
        pairs = {
            "job_id": "job_id",
            "submit_s": "submission_time",
            "start_s": "starting_time",
            "end_s": "finish_time",
            "wait_s": "waiting_time",
            "run_s": "execution_time",
            "turnaround_s": "turnaround_time",
            "requested_s": "requested_time",
            "processors": "requested_number_of_resources",
            "final_state": "final_state",
        }
        for ours, batsim in pairs.items():
            same = (table[ours] == rows[batsim]) | (table[ours].isna() & rows[batsim].isna())
            assert same.all(), (policy, ours, table[~same], rows[~same])
    notes = pq.read_metadata(out / policies[0] / "jobs.parquet").metadata
    assert b"micro-credits" in notes[b"tradewind.units"]


def check_notebook(path, out, scratch):
    """Valid, clean, and every cell runs; returns the table that it shows."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    os.chdir(scratch)
    os.environ["TRADEWIND_RUNS"] = str(out)
    names = {"display": print}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        assert not cell.outputs and cell.execution_count is None, "outputs are not kept"
        exec(compile(cell.source, f"{path.name}:{cell.id}", "exec"), names)
    return names["table"]


def main():
    program, repository, scratch = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    scratch = scratch.resolve()
    log = runs.with_tight_requests(repository / "examples" / "small.swf", scratch)
    policies, out = ["fcfs", "easy", "conservative"], scratch / "notebook"
    runs.simulate(program, log, policies, out, "--procs", "16", "--outputs", "jobs,parquet")
    check_cells(out, log, policies)
    table = check_notebook(repository / "examples" / "notebook" / "policies.ipynb", out, scratch)
    for policy in policies:
        summary = json.loads((out / policy / "summary.json").read_text())
        row = table.loc[(log.stem, policy)]
        assert row["jobs"] == summary["jobs"] and row["killed"] == summary["killed"]
        for column in ("mean_wait_s", "mean_bounded_slowdown", "backfill_ratio"):
            assert runs.near(row[column], summary[column]), (policy, column)
    print(f"notebook: {len(table)} policies")


main()
