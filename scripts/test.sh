#!/usr/bin/env bash
# All tests, in three rows beside each other, since those of clusters mostly wait: the managers of
# this machine, and the examples in docs; another version of Slurm (NEWER_SLURM), then the fuzz targets and the packages; all
# others. WHAT: packages and features; THREADS: tests at a time in each row. What a row prints is
# shown when it has ended; the last lines say what failed, and what passed only when it was run again
# (`twice.sh`). Nothing stops at a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
out=target/testing
mkdir -p "$out"
rm -f "$out"/*.failed
read -ra what <<<"$WHAT"
export WHAT PROPTEST_RNG_SEED=${SEED:-1} RUST_TEST_THREADS=${THREADS:-3}
host=$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
export "CARGO_TARGET_${host}_RUNNER=$PWD/scripts/twice.sh"

"$cargo" test "${what[@]}" --no-run || exit 1

# Integration tests but those of managers and pages, which wait for most of their time, and those that
# need an earlier release.
others() {
    "$cargo" metadata --no-deps --format-version 1 | python3 -c '
import json, sys
tests = {t["name"] for p in json.load(sys.stdin)["packages"] for t in p["targets"] if "test" in t["kind"] and t["test"]}
print(*("--test=" + name for name in sorted(tests - {"with_slurm", "with_gridengine", "with_chromium", "with_older"})))'
}

# part ROW NAME COMMAND ...
part() {
    local row=$1 name=$2 begun=$SECONDS it
    shift 2
    "$@"
    it=$?
    echo "$name: exit code $it after $((SECONDS - begun)) s"
    [ "$it" -eq 0 ] || echo "$name ($it)" >>"$out/$row.failed"
}

managers() {
    part managers "managers of this machine" \
        "$cargo" test "${what[@]}" --no-fail-fast --test with_slurm --test with_gridengine
    part managers "pages" "$cargo" test "${what[@]}" --no-fail-fast --test with_chromium
    part managers "examples in docs" "$cargo" test "${what[@]}" --no-fail-fast --doc
}

newer() {
    part newer "Slurm $NEWER_SLURM (75: it cannot be made here)" scripts/test-slurm.sh "$NEWER_SLURM"
    # Fuzz targets run for a time, and not for so much work: beside others they cost little.
    part newer fuzz-parsers env MINUTES=0.5 scripts/fuzz-parsers.sh
    part newer test-python scripts/test-python.sh
    part newer test-packages scripts/test-packages.sh
}

rest() {
    local tests
    mapfile -d ' ' -t tests < <(others | tr -d '\n')
    # A list that could not be made is not a list without tests.
    [ "${#tests[@]}" -gt 1 ] || { echo "the integration tests are not known"; return 1; }
    part rest "units and integration" \
        "$cargo" test "${what[@]}" --no-fail-fast --lib --bins "${tests[@]}"
    for it in evalys fuzz; do
        part rest "$it" "scripts/$it.sh"
    done
}

rows=(managers newer rest)
declare -A of
for row in "${rows[@]}"; do
    # Clusters have the processors first: what waits for an answer has a limit.
    (
        [ "$row" != rest ] || renice -n 5 $BASHPID >/dev/null
        "$row"
    ) >"$out/$row.log" 2>&1 &
    of[$row]=$!
done
# Commands in the background do not hear Ctrl-C.
trap 'trap - TERM; kill 0' INT TERM
for row in "${rows[@]}"; do
    wait "${of[$row]}" || echo "$row: cut off" >>"$out/$row.failed"
    echo "== $row"
    cat "$out/$row.log"
done
grep -ah '^FLAKY: ' "$out"/*.log
cat "$out"/*.failed 2>/dev/null | sed 's/^/FAILED: /'
! ls "$out"/*.failed >/dev/null 2>&1
