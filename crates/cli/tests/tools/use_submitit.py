"""submitit's Slurm executor: jobs, an array, a failure, several tasks, a cancelled job."""

import sys
import time

import submitit


def add(a, b):
    environment = submitit.JobEnvironment()
    print("in job", environment.job_id, "task", environment.global_rank, flush=True)
    return a + b


def fail():
    raise ValueError("on purpose")


def until(job, states):
    began = time.monotonic()
    while (state := job.watcher.get_state(job.job_id, mode="force")) not in states:
        assert time.monotonic() - began < 120, state
        time.sleep(0.2)
    return state


class Counter(submitit.helpers.Checkpointable):
    """Waits until it is told of its end, and does not when it runs again."""

    def __call__(self, runs=0):
        self.runs = runs
        if runs == 0:
            time.sleep(300)
        return runs

    def checkpoint(self, *_):
        return submitit.helpers.DelayedSubmission(self, self.runs + 1)


folder = sys.argv[1]
executor = submitit.AutoExecutor(folder=f"{folder}/%j")
assert type(executor._executor).__name__ == "SlurmExecutor"
executor.update_parameters(timeout_min=2)

job = executor.submit(add, 2, 3)
assert job.result() == 5
assert f"in job {job.job_id} task 0" in job.stdout()

array = executor.map_array(add, [1, 2, 3], [4, 5, 6])
assert [one.job_id.split("_")[1] for one in array] == ["0", "1", "2"]
assert [one.result() for one in array] == [5, 7, 9]

job = executor.submit(fail)
try:
    job.result()
    raise AssertionError("it should have failed")
except submitit.core.utils.FailedJobError as why:
    assert "on purpose" in str(why)

job = executor.submit(time.sleep, 300)
assert until(job, ["RUNNING"])
job.cancel()
assert until(job, ["CANCELLED"])

# It is signalled eight seconds after its start, saves itself, and is requeued.
executor.update_parameters(timeout_min=1, slurm_signal_delay_s=52)
assert executor.submit(Counter()).result() == 1
executor.update_parameters(timeout_min=2, slurm_signal_delay_s=90)

executor.update_parameters(nodes=2, tasks_per_node=2)
assert executor.submit(add, 1, 1).results() == [2, 2, 2, 2]
print("submitit works")
