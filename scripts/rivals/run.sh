#!/bin/sh
# Other simulators and Tradewind on one log, in one go; docs/explanation/rivals.md says how to read the table.
# Usage: scripts/rivals/run.sh FOLDER LOG.swf[.gz] [JOBS] [--only NAMES] [--policies P,P] [--timeout S]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${TRADEWIND_BUILT:-}" ] || (cd "$root" && cargo build --quiet --release -p tradewind)
PYTHONDONTWRITEBYTECODE=1 exec "${PYTHON3:-python3}" "$root/scripts/rivals/study.py" "$@"
