"""Evalys reads what `simulate` writes, and finds in it what `summary.json` says.

Run by scripts/evalys.sh: evalys_reads.py TRADEWIND REPOSITORY SCRATCH
"""

import heapq
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from evalys import metrics
from evalys.jobset import JobSet

import runs

STATES = {"COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED", "REJECTED"}
PNG = b"\x89PNG\r\n\x1a\n"


def fcfs(log, processors):
    """Start times by job number: first come, first served, straight from its definition."""
    starts, ends, free, now = {}, [], processors, 0
    for job in sorted(log, key=lambda job: (job.submit, job.number)):
        if job.processors > processors:
            continue
        now = max(now, job.submit)
        while free < job.processors or (ends and ends[0][0] <= now):
            end, width = heapq.heappop(ends)
            now, free = max(now, end), free + width
        starts[job.number] = now
        free -= job.processors
        heapq.heappush(ends, (now + min(job.run, job.requested), job.processors))
    return starts


def check_rows(jobs, log, summary):
    """Every job of the log is there, with its own numbers."""
    assert list(jobs.df["jobID"]) == [str(job.number) for job in log]
    assert set(jobs.df["final_state"]) <= STATES, set(jobs.df["final_state"])
    counts = jobs.df["final_state"].value_counts()
    rejected = sum(summary["rejected"].values())
    assert counts.get("REJECTED", 0) == rejected > 0
    assert counts.get("COMPLETED_WALLTIME_REACHED", 0) == summary["killed"] > 0
    assert len(jobs.df) - rejected == summary["jobs"] > 0
    for row, job in zip(jobs.df.itertuples(), log):
        assert row.submission_time == job.submit
        assert row.requested_number_of_resources == job.processors
        assert row.requested_time == job.requested
        if row.final_state == "REJECTED":
            assert job.processors > summary["processors"] and row.proc_alloc == 0
            assert pd.isna(row.starting_time) and pd.isna(row.finish_time)
            continue
        assert row.proc_alloc == job.processors, "as many processors as it wants"
        assert row.finish_time - row.starting_time == min(job.run, job.requested)
        assert row.waiting_time == row.starting_time - job.submit >= 0
        assert row.success == (row.final_state == "COMPLETED_SUCCESSFULLY")


def check_no_overlap(jobs):
    """No processor is held twice."""
    free_from = {}
    ran = jobs.df[jobs.df["proc_alloc"] > 0].sort_values(["starting_time", "finish_time"])
    for row in ran.itertuples():
        for processor in row.allocated_resources:
            assert free_from.get(processor, 0) <= row.starting_time, (row.jobID, processor)
            free_from[processor] = row.finish_time


def check_load(jobs, summary):
    """Evalys' own load agrees with the utilisation that we report."""
    load = metrics.compute_load(jobs.df, "starting_time", "finish_time", "proc_alloc")
    assert 0 < load["load"].max() <= summary["processors"]
    assert load["load"].iloc[-1] == 0, "everything ends"
    there_was = summary["makespan_s"] * summary["processors"]
    assert runs.near(load["area"].sum() / there_was, summary["utilisation"])
    ran = jobs.df[jobs.df["proc_alloc"] > 0]
    assert ran["finish_time"].max() - ran["submission_time"].min() == summary["makespan_s"]
    assert runs.near(ran["waiting_time"].mean(), summary["mean_wait_s"])
    assert runs.near(ran["turnaround_time"].mean(), summary["mean_turnaround_s"])
    assert runs.near(jobs.mean_utilisation() / summary["processors"], summary["utilisation"])


def check_plots(jobs, scratch, name):
    """The pictures that Evalys makes are made."""
    for with_details in (False, True):
        jobs.plot(title=name, with_details=with_details)
        path = scratch / f"{name}-{with_details}.png"
        plt.savefig(path)
        plt.close("all")
        assert path.read_bytes().startswith(PNG)
    jobs.gantt()
    plt.close("all")


def check_schedule(folder, jobs, summary):
    """Both of Batsim's aggregates agree with the rows."""
    old = pd.read_csv(folder / "schedule.csv")
    new = json.loads((folder / "schedule.json").read_text())
    assert len(old) == 1 and list(old.columns) == sorted(old.columns)
    assert list(new) == sorted(new)
    assert set(old.columns) - set(new) == {"scheduling_time", "simulation_time"}
    ran = jobs.df[jobs.df["proc_alloc"] > 0]
    count = len(jobs.df)
    expected = {
        "nb_jobs": count,
        "nb_jobs_finished": summary["jobs"],
        "nb_jobs_killed": summary["killed"],
        "nb_jobs_rejected": sum(summary["rejected"].values()),
        "nb_jobs_success": jobs.df["success"].sum(),
        "nb_computing_machines": summary["processors"],
        "success_rate": jobs.df["success"].sum() / count,
        "mean_waiting_time": ran["waiting_time"].sum() / count,
        "mean_turnaround_time": ran["turnaround_time"].sum() / count,
        "mean_slowdown": ran["stretch"].sum() / count,
        "max_waiting_time": ran["waiting_time"].max(),
        "max_turnaround_time": ran["turnaround_time"].max(),
        "max_slowdown": ran["stretch"].max(),
        "time_computing": (ran["execution_time"] * ran["proc_alloc"]).sum(),
    }
    for key, value in expected.items():
        assert runs.near(new[key], value), (key, new[key], value)
        assert runs.near(old[key][0], value), (key, old[key][0], value)
    assert new["makespan"] == summary["makespan_s"]
    assert old["makespan"][0] == ran["finish_time"].max()
    there_was = summary["makespan_s"] * summary["processors"]
    assert new["time_computing"] + new["time_idle"] + new["time_unavailable"] == there_was


def main():
    program, repository, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    log_file = runs.with_tight_requests(repository / "examples" / "small.swf", scratch)
    processors, log = 16, runs.read_swf(log_file)
    policies = ["fcfs", "easy", "conservative"]
    out = scratch / "evalys"
    runs.simulate(program, log_file, policies, out, "--procs", str(processors))
    for policy in policies:
        folder = out / policy
        summary = json.loads((folder / "summary.json").read_text())
        jobs = JobSet.from_csv(folder / "jobs.csv", resource_bounds=(0, processors - 1))
        check_rows(jobs, log, summary)
        check_no_overlap(jobs)
        check_load(jobs, summary)
        check_plots(jobs, scratch, policy)
        if policy == "fcfs":
            ran = jobs.df[jobs.df["proc_alloc"] > 0]
            assert dict(zip(ran["jobID"].astype(int), ran["starting_time"])) == fcfs(log, processors)
        check_schedule(folder, jobs, summary)
        print(f"evalys: {policy}: {len(jobs.df)} jobs, utilisation {summary['utilisation']:.3f}")


main()
