#!/usr/bin/env bash
# Instances for the combination benchmark from the alternatives of real batches.
# Usage: scripts/instances.sh LOG.swf[.gz] OUT_DIR
# Writes OUT_DIR/{20,200,2000}/NN.json: 20 moments of the log each, at most 30 alternatives per job.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$1
out=$2
cargo build --quiet --release
tradewind=target/release/tradewind
# jobs, horizon long enough that most of them have many windows, days between moments
for size in "20 7d 12" "200 30d 10" "2000 120d 7"; do
    read -r jobs horizon days <<<"$size"
    mkdir -p "$out/$jobs"
    for i in $(seq -w 1 20); do
        $tradewind snapshot "$log" --at "$((10#$i * days))d" --horizon "$horizon" --seed "$((10#$i))" \
            --batch arrivals --arrivals "$jobs" --quiet |
            $tradewind plan - --max-alternatives 30 --quiet --format csv \
                --alternatives "$out/$jobs/$i.json" >/dev/null
    done
done
