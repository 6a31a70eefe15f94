#!/usr/bin/env bash
# Has Evalys and PyArrow read what `simulate` writes, and runs the example notebook. PYTHON names
# another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=crates/cli/tests/evalys
python=$(scripts/packages.sh evalys "Evalys 4.0.7")

# WHAT: packages and features, the same as those of tests that ran before.
read -ra what <<<"${WHAT:-}"
built=$(scripts/built.sh "${what[@]}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/samples"
"$built/examples/parquet_samples" "$scratch/samples"

run() {
    PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$scratch" "$python" "$tests/$1" "${@:2}"
}
run evalys_reads.py "$built/tradewind" . "$scratch"
run parquet_reads.py "$scratch/samples"
run notebook_runs.py "$built/tradewind" . "$scratch"
