#!/usr/bin/env bash
# Forecasts of starts on real Slurm, ours and Slurm's own, beside what came; and the waits of owners'
# jobs in the same drawn load three times: without jobs of a market, with them, and without once more,
# which says how much waits differ by themselves.
# Usage: scripts/forecast-slurm.sh [VERSION ...]     22.05, 24.11, 26.05; this machine's unless given
#   PROGRAM=target/release/tradewind
#   WORLDS="1:20:4 2:40:8 3:500:64 4:40:8:arriving"    SEED:OWNERS' JOBS:NODES of each world; all jobs
#                                                      but a fifth wait at once, or all come in time;
#                                                      `5:200:8:ranges`: a market alone with 200 jobs of
#                                                      its own, whose ranges of starts are counted
#   AT_ONCE=3                                          so many worlds of a version at the same time, 9 at most
#   EACH=4                                             of so many owners' jobs, one of ours
#   GUARD=spare MAX_DELAY=5                            what owners may rely on; the usual bound of five
#                                                      minutes is scaled like all times
#   BASE_PORT=20000                                    clusters of a world listen from there on
#   OUT=target/forecasts                               a JSON document for each world
# Versions run at the same time. The tables are printed when all worlds of all versions are over.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${PROGRAM:-target/release/tradewind}")
worlds=${WORLDS:-$(printf '%s:20:4 ' {1..12}) $(printf '%s:40:8 ' {21..32})}
out=$(realpath -m "${OUT:-target/forecasts}")
here=$(PATH=$PATH:/usr/sbin slurmctld -V 2>/dev/null | grep -oE '[0-9]+\.[0-9]+' | head -n 1 || true)

# --world VERSION PLACE SEED JOBS NODES KIND: in the system that has this version of Slurm; worlds of
# different places run at the same time.
if [ "${1:-}" = "--world" ]; then
    shift
    version=$1 place=$2 seed=$3 jobs=$4 nodes=$5 kind=${6:-backlog}
    work=$(mktemp -d)
    chmod 755 "$work"
    # Backfilling plans every second, in steps of a second: limits are minutes here and hours elsewhere.
    [ "$kind" = ranges ] && export CLUSTERS=alpha || export CLUSTERS="alpha beta gamma"
    export NODES=$nodes CPUS=1 DEFER=bf_resolution=1,bf_max_job_test=1000 PORT=$((${BASE_PORT:-20000} + place * 100))
    trap 'scripts/clusters.sh stop "$work/clusters" >/dev/null || true; rm -rf "$work"' EXIT
    scripts/clusters.sh start "$work/clusters" >&2
    python3 scripts/forecast-slurm.py world --program "$program" --work "$work" --seed "$seed" \
        --jobs "$jobs" --nodes "$nodes" --each "${EACH:-4}" --guard "${GUARD:-spare}" --max-delay "${MAX_DELAY:-5}" --kind "$kind" \
        --out "$out/$version-$seed-$jobs-$nodes-$kind.json"
    exit
fi

mkdir -p "$out"
versions=("$@")
[ "${#versions[@]}" -gt 0 ] || versions=("$here")
at_once=${AT_ONCE:-3}
running=()
for version in "${versions[@]}"; do
    inside=()
    [ "$version" = "$here" ] || inside=(scripts/slurm-version.sh "$version")
    for place in $(seq 0 $((at_once - 1))); do
        number=0
        for world in $worlds; do
            IFS=: read -r seed jobs nodes kind <<<"$world"
            [ $((number++ % at_once)) -eq "$place" ] || continue
            "${inside[@]}" env PROGRAM="$program" OUT="$out" EACH="${EACH:-4}" GUARD="${GUARD:-spare}" MAX_DELAY="${MAX_DELAY:-5}" \
                "$PWD/scripts/forecast-slurm.sh" --world "$version" "$place" "$seed" "$jobs" "$nodes" "${kind:-backlog}" >&2 ||
                echo "Slurm $version, world $world: FAILED" >&2
        done &
        running+=($!)
    done
done
wait "${running[@]}"
python3 scripts/forecast-slurm.py table "$out"/*.json
