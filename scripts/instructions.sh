#!/bin/sh
# Instructions of one exact `cost` search (ranking and scan) and of one combination, by callgrind:
# figures that a noisy machine does not change. Prints Markdown tables. Needs valgrind.
# Usage: scripts/instructions.sh [CRITERION TASKS PERCENT]
set -eu
cd "$(dirname "$0")/.."
criterion=${1:-cost}
tasks=${2:-5}
percent=${3:-200}
cargo build --quiet --release -p tradewind-reference --bin window_once --bin combine_once
binary=target/release/window_once

# count FUNCTION SLOTS NODES: instructions inside FUNCTION and below, in two searches, of which
# the first warms up the buffers; half of them.
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
        --toggle-collect="*$1" "$binary" "$criterion" "$2" "$3" "$tasks" "$percent" 2 2>&1 |
        awk '/Collected/ { print int($4 / 2) }'
}

echo "| search | slots × nodes | instructions | per slot | of which ranking |"
echo "|---|---|---|---|---|"
for size in "100 30" "10000 3000" "30000 9000"; do
    slots=${size% *}
    nodes=${size#* }
    all=$(count window_once::measured "$slots" "$nodes")
    # Too small a grid for so many tasks.
    [ "$all" -gt 0 ] || continue
    ranking=$(count window_once::measured_new "$slots" "$nodes")
    awk -v s="$criterion" -v p="$slots" -v n="$nodes" -v a="$all" -v r="$ranking" 'BEGIN {
        printf "| %s | %d × %d | %d | %.1f | %.1f |\n", s, p, n, a, a / p, r / p }'
done

echo
echo "| combination | instructions |"
echo "|---|---|"
valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
    --toggle-collect="*combine_once::measured*" target/release/combine_once 2>&1 |
    awk '/Collected/ { printf "| max-income, 200 jobs × 30, uncorrelated | %d |\n", $4 }'
