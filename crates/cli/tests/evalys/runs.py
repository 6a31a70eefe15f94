"""What the Python tests share: logs, and running the program."""

import math
import subprocess
from collections import namedtuple

Job = namedtuple("Job", "number submit run processors requested")


def near(one, other):
    """Equal but for what six decimals can hold."""
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-5)


def read_swf(path):
    """The jobs of a log, in its order."""
    fields = [line.split() for line in path.read_text().splitlines() if line[:1] not in (";", "")]
    return [
        Job(*(int(field) for field in (row[0], row[1], row[3], row[4], row[8]))) for row in fields
    ]


def with_tight_requests(path, scratch):
    """The log at `path`, but every ninth job asks for half of its run time: it will be killed."""
    lines = []
    for line in path.read_text().splitlines():
        fields = line.split()
        if fields[0] != ";" and int(fields[0]) % 9 == 0:
            fields[8] = str(max(1, int(fields[3]) // 2))
            line = " ".join(fields)
        lines.append(line)
    tight = scratch / "tight.swf"
    tight.write_text("\n".join(lines) + "\n")
    return tight


def simulate(program, log, policies, out, *more):
    """Runs `tradewind simulate`."""
    command = [program, "simulate", log, "--policy", ",".join(policies), "--out", out, "--check"]
    subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL)
