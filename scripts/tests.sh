#!/usr/bin/env bash
# tests.sh PACKAGES AND FEATURES: all tests. Those with clusters and a browser (`with_*`) mostly wait;
# all others compute meanwhile in what time they leave, at the lowest priority, so that nothing
# that is timed is late for them. What the others say comes after.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

"$cargo" test "$@" --no-run
log=${CARGO_TARGET_DIR:-target}/computing.log

computing() {
    RUST_TEST_THREADS=2 "$cargo" test "$@" --lib --bins --test '[!w]*'
    "$cargo" test "$@" --doc
    WHAT="$*" ./scripts/evalys.sh
    WHAT="$*" ./scripts/fuzz.sh
}
# A process group of its own, so that nothing is left of it if these tests fail or are interrupted.
set -m
(renice -n 19 -p "$BASHPID" >/dev/null && computing "$@") >"$log" 2>&1 &
others=$!
set +m
trap 'kill -- "-$others" 2>/dev/null || true; cat "$log"' EXIT

# One more at once than two processors could compute.
RUST_TEST_THREADS=3 "$cargo" test "$@" --test 'with_*'
wait "$others"
