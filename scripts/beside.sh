#!/usr/bin/env bash
# What `make test` does while the tests of another version of Slurm wait for their clusters: parsers
# are fuzzed, the Python package and the packages of the program are made and tried. All of it runs,
# also after a failure; the last line says what failed.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
for part in fuzz-parsers test-python test-packages; do
    "scripts/$part.sh" || failed+=("$part")
done
[ "${#failed[@]}" -eq 0 ] || { echo "FAILED: ${failed[*]}"; exit 1; }
