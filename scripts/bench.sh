#!/usr/bin/env bash
# Prints the tables of BENCHMARKS.md. Usage: scripts/bench.sh [LOG.swf[.gz]…]
# With logs they are replayed, and the combination is measured on batches of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --release
cargo build --quiet --release -p tradewind-reference --features mip --bins
instances=()
if [ "$#" -gt 0 ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    ./scripts/instances.sh "$1" "$folder"
    instances=(--instances "$folder")
fi
for section in speed growth bounded csa; do
    printf '\n## Window search: %s\n\n' "$section"
    target/release/window_table "$section"
done
printf '\n## A whole CSS cycle\n\n'
target/release/cycle_table
printf '\n## Cycles in a replay\n\n'
target/release/cycles_table
printf '\n## Cycles on many pools\n\n'
cargo run --quiet --release -p tradewind-sim --example pools -- 1000 64 kept
if [ "$#" -gt 0 ]; then
    printf '\n'
    target/release/cycles_table "$1"
fi
printf '\n## Combination\n\n'
target/release/combine_table --mip-seeds 2 --mip-seconds 4 "${instances[@]}"
if [ "$#" -gt 0 ]; then
    printf '\n## Whole replays\n\n'
    target/release/replay_table log "$@"
fi
printf '\n## Long queues: nanoseconds per event with so many jobs waiting at once\n\n'
target/release/replay_table waiting
if command -v valgrind >/dev/null; then
    printf '\n## Instructions\n\n'
    ./scripts/instructions.sh
fi
