#!/usr/bin/env bash
# Forecasts of starts on real Slurm, ours and Slurm's own, beside what came; and the waits of owners'
# jobs with and without jobs of a market, in the same drawn load.
# Usage: scripts/forecast-slurm.sh [VERSION ...]     22.05, 24.11, 26.05; this machine's unless given
#   PROGRAM=target/release/tradewind
#   WORLDS="31:10:4 35:50:12 38:150:32 39:500:64"      SEED:OWNERS' JOBS:NODES of each world, one
#                                                      after the other; "5:50:12:0" without our jobs
#   EACH=15                                            of so many owners' jobs, one of ours
#   OUT=target/forecasts                               a JSON document for each world
# Versions run at the same time. The tables are printed when all worlds of all versions are over.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${PROGRAM:-target/release/tradewind}")
worlds=${WORLDS:-31:10:4 32:10:4 33:10:4 34:10:4 35:50:12 36:50:12 38:150:32 39:500:64}
out=$(realpath -m "${OUT:-target/forecasts}")
here=$(PATH=$PATH:/usr/sbin slurmctld -V 2>/dev/null | grep -oE '[0-9]+\.[0-9]+' | head -n 1 || true)

# one VERSION SEED JOBS NODES OURS: in the system that has this version of Slurm.
if [ "${1:-}" = "--world" ]; then
    shift
    version=$1 seed=$2 jobs=$3 nodes=$4 ours=$5
    work=$(mktemp -d)
    chmod 755 "$work"
    # Backfilling plans every second, in steps of a second: limits are minutes here and hours elsewhere.
    export NODES=$nodes CPUS=1 DEFER=bf_resolution=1,bf_max_job_test=1000 PORT=$((20000 + seed % 10 * 100 + seed / 10 % 5 * 2000))
    trap 'scripts/clusters.sh stop "$work/clusters" >/dev/null || true; rm -rf "$work"' EXIT
    scripts/clusters.sh start "$work/clusters" >&2
    python3 scripts/forecast-slurm.py world --program "$program" --work "$work" --seed "$seed" \
        --jobs "$jobs" --nodes "$nodes" --each "${EACH:-15}" --ours "$ours" --out "$out/$version-$seed-$jobs-$nodes-$ours.json"
    exit
fi

mkdir -p "$out"
versions=("$@")
[ "${#versions[@]}" -gt 0 ] || versions=("$here")
running=()
for version in "${versions[@]}"; do
    inside=()
    [ "$version" = "$here" ] || inside=(scripts/slurm-version.sh "$version")
    for world in $worlds; do
        IFS=: read -r seed jobs nodes ours <<<"$world"
        "${inside[@]}" env PROGRAM="$program" OUT="$out" EACH="${EACH:-15}" "$PWD/scripts/forecast-slurm.sh" \
            --world "$version" "$seed" "$jobs" "$nodes" "${ours:-1}" >&2 ||
            echo "Slurm $version, world $world: FAILED" >&2
    done &
    running+=($!)
done
wait "${running[@]}"
python3 scripts/forecast-slurm.py table "$out"/*.json
