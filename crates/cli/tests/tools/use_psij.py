"""PSI/J: a job that ends, and one that is cancelled."""

import os
import sys
from datetime import timedelta

from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1

minutes = timedelta(minutes=2)
executor = JobExecutor.get_instance("slurm")
said = f"{sys.argv[1]}/said"
job = Job(JobSpec(
    executable="/bin/echo", arguments=["hello"], stdout_path=said,
    resources=ResourceSpecV1(node_count=1, process_count=1, processes_per_node=1),
    attributes=JobAttributes(duration=minutes),
))
executor.submit(job)
status = job.wait(timeout=minutes)
assert status.state == JobState.COMPLETED, status
assert open(said).read() == "hello\n"

job = Job(JobSpec(executable="/bin/sleep", arguments=["300"]))
executor.submit(job)
job.wait(target_states=[JobState.ACTIVE], timeout=minutes)
job.cancel()
status = job.wait(timeout=minutes)
assert status.state == JobState.CANCELED, status
print("psij works", flush=True)
os._exit(0)
