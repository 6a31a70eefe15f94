#!/usr/bin/env bash
# Coverage-guided fuzzing (libFuzzer) of everything that reads what a user, a file, a site or a peer
# says: `fuzz/targets`, each for MINUTES (default 1), two at the same time. What is found to reach
# new code is kept in target/fuzzing/corpus for the next run; an input that breaks something is left
# in target/fuzzing/found and ends the run with exit 1.
# Usage: scripts/fuzz-parsers.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(files submissions sites journal peers commands)
seconds=$(awk -v minutes="${MINUTES:-1}" 'BEGIN { print int(minutes * 60) }')
out=target/fuzzing
mkdir -p "$out/found"
# Some targets write files.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# WHAT: packages and features, the same as those of tests that ran before.
read -ra what <<<"${WHAT:---workspace}"
declare -A program
build() {
    local target tests=()
    for target in "${targets[@]}"; do tests+=(--test "fuzz_$target"); done
    RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/watched-rustc.sh "${CARGO:-cargo}" test --quiet "${what[@]}" \
        --no-run --message-format=json-render-diagnostics "${tests[@]}" | python3 -c '
import json, sys
for line in sys.stdin:
    of = json.loads(line)
    if of.get("executable"):
        print(of["target"]["name"].removeprefix("fuzz_"), of["executable"])'
}
built=$(build)
while read -r target path; do program[$target]=$path; done <<<"$built"

one() {
    local target=$1 corpus=$out/corpus/$1
    mkdir -p "$corpus"
    scripts/fuzz-seeds.sh "$target" "$corpus"
    "${program[$target]}" "$corpus" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -max_len=65536 -artifact_prefix="$out/found/$target-" \
        -print_final_stats=1 >"$out/$target.log" 2>&1 || {
        echo "$target: found an input that breaks it, see $out/$target.log" >&2
        grep -E "panicked|ERROR|SUMMARY|Test unit written" "$out/$target.log" >&2 || true
        return 1
    }
    local runs cover
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
    cover=$(grep -oE 'cov: [0-9]+' "$out/$target.log" | tail -1)
    echo "$target: $runs inputs, $cover, $(find "$corpus" -type f | wc -l) kept"
}

failed=0
pids=()
settle() { wait "$1" || failed=1; }
for target in "${targets[@]}"; do
    one "$target" &
    pids+=($!)
    if [ "${#pids[@]}" -eq 2 ]; then
        settle "${pids[0]}"
        pids=("${pids[1]}")
    fi
done
for pid in "${pids[@]}"; do settle "$pid"; done
exit "$failed"
