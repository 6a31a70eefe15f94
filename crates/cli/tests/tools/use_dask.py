"""dask-jobqueue: two workers, each a job."""

import sys

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    cluster = SLURMCluster(
        cores=1, memory="400MB", walltime="00:05:00", interface="lo",
        local_directory=sys.argv[1], log_directory=sys.argv[1],
    )
    cluster.scale(jobs=2)
    client = Client(cluster)
    client.wait_for_workers(2, timeout=120)
    assert client.submit(sum, range(10)).result() == 45
    client.close()
    cluster.close()
    print("dask-jobqueue works")
