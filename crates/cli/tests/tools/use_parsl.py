"""Parsl's Slurm provider: a block of workers in a job, started by srun."""

import sys

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@parsl.python_app
def square(number):
    import os

    return number * number, os.environ["SLURM_JOB_ID"]


provider = SlurmProvider(
    partition=None, walltime="00:05:00", init_blocks=1, max_blocks=1, nodes_per_block=1,
    launcher=SrunLauncher(), exclusive=False,
)
executor = HighThroughputExecutor(
    label="market", address="127.0.0.1", max_workers_per_node=1, provider=provider
)
with parsl.load(Config(executors=[executor], run_dir=sys.argv[1])):
    answers = [future.result(timeout=120) for future in [square(number) for number in range(5)]]
    assert [square for square, _ in answers] == [0, 1, 4, 9, 16], answers
    jobs = {job for _, job in answers}
    blocks = set(executor.blocks_to_job_id.values())
    assert jobs == blocks, (jobs, blocks)
print("parsl works")
