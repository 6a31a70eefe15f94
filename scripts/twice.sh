#!/usr/bin/env bash
# Runs a test program. Of one that needs a cluster, a browser or a service (`with_…`), up to MOST tests
# that failed are run once more, one after the other:
#   scripts/twice.sh PROGRAM [OPTIONS]      also as a runner of cargo (CARGO_TARGET_…_RUNNER)
# These share few processors here, and a wait can be too short by chance. What passes only then is
# listed as FLAKY. It may be a fault of the program all the same, so it is to be found. What fails
# twice fails, and all other programs have one try.
set -uo pipefail
MOST=2
case ${1##*/} in with_*) ;; *) exec "$@" ;; esac
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# A file and no pipe: what a test leaves running would keep a pipe open, and nothing would end.
"$@" >"$said" 2>&1 &
trap 'kill $!' INT TERM
tail -n +1 -s 0.1 -f --pid=$! "$said"
wait $!
result=$?
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
