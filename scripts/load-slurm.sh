#!/usr/bin/env bash
# Short jobs over two Slurm clusters on this machine: by `sbatch` alone, then by Tradewind; then how
# long Tradewind plans, and how soon its jobs begin, while `squeue` of one cluster lists many jobs
# that its owners wait for.
# Usage: scripts/load-slurm.sh [PROGRAM]     a release build unless given
#   JOBS=1000 NODES=32 OWNERS=10000          short jobs (0: only the second part), nodes of each
#                                            cluster, owners' jobs
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/tradewind}")
jobs=${JOBS:-1000} owners=${OWNERS:-10000}
export NODES=${NODES:-32} CPUS=16
work=$(mktemp -d)
chmod 755 "$work"
daemon=
finish() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    wait 2>/dev/null || true
    scripts/clusters.sh stop "$work/clusters" || true
    rm -rf "$work"
}
trap finish EXIT
mkdir "$work/out"
scripts/clusters.sh start "$work/clusters"
at() { SLURM_CONF=$work/clusters/$1/slurm.conf "${@:2}"; }

# What each job does: it says where it ran, from when to when.
cat >"$work/job.sh" <<EOF_JOB
#!/bin/sh
began=\$(date +%s%3N)
sleep 1
echo "\$SLURMD_NODENAME \$began \$(date +%s%3N)" >>$work/marks
EOF_JOB
chmod 755 "$work/job.sh"

cat >"$work/tell.py" <<'EOF_PY'
import sys
name, path, begin = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = sorted((node, int(a), int(b)) for node, a, b in map(str.split, open(path)))
gaps = sorted(y[1] - x[2] for x, y in zip(rows, rows[1:]) if x[0] == y[0])
took = (max(b for _, _, b in rows) - begin) / 1000
print(f"{name}: {len(rows)} jobs in {took:.1f} s, {len(rows) / took:.1f} jobs/s; from an end to the next start on "
      f"its node: median {gaps[len(gaps) // 2]} ms, 9 of 10 at most {gaps[len(gaps) * 9 // 10]} ms")
EOF_PY
# Jobs may fail on a machine that is too slow: then their marks do not come.
settled() { for _ in $(seq 600); do [ "$(wc -l <"$work/marks")" -lt "$jobs" ] || return 0; sleep 0.2; done; }

plain() {
    : >"$work/marks"
    handing=()
    begin=$(date +%s%3N)
    for cluster in alpha beta; do
        for _ in $(seq $((jobs / 2))); do
            at $cluster sbatch --parsable --exclusive -N1 --time=1 --output=/dev/null --chdir="$work/out" "$work/job.sh"
        done >/dev/null &
        handing+=($!)
    done
    wait "${handing[@]}"
    echo "sbatch: submitted after $((($(date +%s%3N) - begin))) ms"
    settled
    python3 "$work/tell.py" sbatch "$work/marks" "$begin"
}
[ "$jobs" = 0 ] || plain

{
    printf '[limits]\njobs = 1000000\njobs_per_user = 1000000\n'
    for cluster in alpha beta; do
        cat <<EOF_SITE
[[site]]
name = "$cluster"
kind = "slurm"
environment = { SLURM_CONF = "$work/clusters/$cluster/slurm.conf" }
accounts = { "*" = "$(id -un)" }
directory = "$work/out"
spool = "$work/spool"
pool = [{ name = "$cluster-main", nodes = $NODES, partition = "main", price = 0.01 }]
EOF_SITE
    done
} >"$work/tradewind.toml"
"$program" up --quiet --config "$work/tradewind.toml" --state "$work/state" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
daemon=$!
until [ -s "$work/url" ]; do sleep 0.05; done
ours() {
    : >"$work/marks"
    begin=$(date +%s%3N)
    "$program" submit --state "$work/state" --array "1-$jobs" --time 0:30 --chdir "$work/out" --output /dev/null "$work/job.sh" >/dev/null
    echo "tradewind: submitted after $((($(date +%s%3N) - begin))) ms"
    settled
    python3 "$work/tell.py" tradewind "$work/marks" "$begin"
}
[ "$jobs" = 0 ] || ours

# One job of the owners has all of alpha, the others wait for it.
at alpha sbatch --parsable --exclusive -N"$NODES" --time=600 --output=/dev/null --chdir="$work/out" --wrap 'sleep 36000' >/dev/null
handing=()
for _ in 1 2; do
    for _ in $(seq $((owners / 2))); do
        at alpha sbatch --parsable --exclusive -N1 --time=60 --output=/dev/null --chdir="$work/out" --wrap true
    done >/dev/null &
    handing+=($!)
done
wait "${handing[@]}"
sleep 3
metric() { curl -s "$(cat "$work/url")/metrics" | awk -v name="tradewind_$1" 'index($1, name) == 1 { print $2; exit }'; }
passes=$(metric passes_total) spent=$(metric pass_seconds_total)
began() { printf 'date +%%s%%3N >%s/began' "$work"; }
: >"$work/late"
for _ in $(seq 20); do
    for how in sbatch tradewind; do
        begin=$(date +%s%3N)
        case $how in
        sbatch) at beta sbatch --wait --exclusive -N1 --time=1 --output=/dev/null --chdir="$work/out" --wrap "$(began)" ;;
        tradewind) "$program" submit --state "$work/state" --time 0:30 --chdir "$work/out" --output /dev/null --wait --wrap "$(began)" ;;
        esac >/dev/null
        echo "$how $(($(cat "$work/began") - begin))" >>"$work/late"
    done
done
for how in sbatch tradewind; do
    awk -v how=$how '$1 == how { print $2 }' "$work/late" | sort -n |
        awk -v how=$how '{ ms[NR] = $1 } END { print how ": from submit to start: median", ms[int((NR + 1) / 2)], "ms, at most", ms[NR], "ms" }'
done
python3 - "$(metric passes_total)" "$passes" "$(metric pass_seconds_total)" "$spent" <<'EOF_PY'
import sys
now, before, spent, earlier = map(float, sys.argv[1:])
print(f"planning: {now - before:.0f} passes, {1e3 * (spent - earlier) / (now - before):.2f} ms each")
EOF_PY
begin=$(date +%s%3N)
at alpha squeue --json >/dev/null
took=$(($(date +%s%3N) - begin))
echo "owners' jobs in squeue: $(at alpha squeue -h | wc -l); squeue --json alone: $took ms"
curl -s "$(cat "$work/url")/metrics" | grep -E '^tradewind_site_(up|survey_seconds)'
kill "$daemon"
wait "$daemon" || true
daemon=
"$program" journal verify --state "$work/state"
