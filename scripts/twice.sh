#!/usr/bin/env bash
# Runs a test program; up to MOST tests that failed are run once more, one after the other:
#   scripts/twice.sh PROGRAM [OPTIONS]      also as a runner of cargo (CARGO_TARGET_…_RUNNER)
# Real clusters, databases and browsers share few processors here, and a wait can be too short by
# chance. What passes only then is reported as FLAKY: it is a fault to be found, of the test or of the
# program, but not of the change. What fails twice, fails.
set -uo pipefail
MOST=2
said=$(mktemp)
trap 'rm -f "$said"' EXIT

"$@" 2>&1 | tee "$said"
result=${PIPESTATUS[0]}
[ "$result" -ne 0 ] || exit 0

# The list that ends the output; what tests printed comes before it.
mapfile -t failed < <(awk '
    /^failures:$/ { n = 0 }
    /^    [^ ]+$/ { name[n++] = $1 }
    /^test result: FAILED/ { for (i = 0; i < n; i++) print name[i] }' "$said")
[ "${#failed[@]}" -gt 0 ] && [ "${#failed[@]}" -le "$MOST" ] || exit "$result"

for name in "${failed[@]}"; do
    echo "run again: $name"
    "$1" --exact "$name" --nocapture || exit "$result"
done
printf 'FLAKY: %s passed only when it was run again\n' "${failed[@]}"
