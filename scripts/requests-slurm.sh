#!/usr/bin/env bash
# What two Slurm controllers are asked while short jobs run: by `sbatch` with one `squeue` a second,
# as scripts and portals do it, then by Tradewind; counted by Slurm itself (`sdiag`). All in one run
# on clusters of this machine; ends with a table.
# Usage: scripts/requests-slurm.sh [PROGRAM...]     a release build unless given; several are compared
#   JOBS=1000 NODES=16 SECONDS_EACH=1               jobs, nodes of each cluster, how long a job runs
set -euo pipefail
cd "$(dirname "$0")/.."
programs=("${@:-target/release/tradewind}")
jobs=${JOBS:-1000} each=${SECONDS_EACH:-1}
export NODES=${NODES:-16} CPUS=16
work=$(mktemp -d)
chmod 755 "$work"
started=()
finish() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
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
sleep $each
echo "\$SLURMD_NODENAME \$began \$(date +%s%3N)" >>$work/marks
EOF_JOB
chmod 755 "$work/job.sh"
# Jobs may fail on a machine that is too slow: then their marks do not come.
settled() { for _ in $(seq 3000); do [ "$(wc -l <"$work/marks")" -lt "$jobs" ] || return 0; sleep 0.2; done; }

begin() {
    : >"$work/marks"
    for cluster in alpha beta; do at $cluster sdiag -r >/dev/null; done
    begun=$(date +%s%3N)
}
# counted NAME: what the controllers were asked since `begin`, and how the jobs went.
counted() {
    for cluster in alpha beta; do at $cluster sdiag >"$work/sdiag-$cluster"; done
    python3 - "$1" "$begun" "$work/marks" "$work"/sdiag-* <<'EOF_PY' | tee -a "$work/table"
import re, sys
name, begun, marks, *files = sys.argv[1:]
# What `sdiag` counts by kinds of messages; those between the controller and its nodes do not count.
own = ("MESSAGE_", "REQUEST_COMPLETE_", "REQUEST_STEP_", "ACCOUNTING_", "REQUEST_STATS_INFO", "REQUEST_PING")
calls = {}
for path in files:
    text = open(path).read().split("Remote Procedure Call statistics by message type")[1]
    text = text.split("Remote Procedure Call statistics by user")[0]
    for kind, count in re.findall(r"(\w+)\s*\(\s*\d+\)\s*count:(\d+)", text):
        if not kind.startswith(own):
            calls[kind] = calls.get(kind, 0) + int(count)
rows = sorted((node, int(a), int(b)) for node, a, b in map(str.split, open(marks)))
gaps = sorted(y[1] - x[2] for x, y in zip(rows, rows[1:]) if x[0] == y[0]) or [0]
took = (max(b for _, _, b in rows) - int(begun)) / 1000
submitted = sum(n for kind, n in calls.items() if "SUBMIT" in kind)
lists = sum(n for kind, n in calls.items() if "INFO" in kind)
print(f"{name}: {len(rows)} jobs in {took:.1f} s, {len(rows) / took:.1f} jobs/s; end to next start on its node: "
      f"median {gaps[len(gaps) // 2]} ms, 9 of 10 {gaps[len(gaps) * 9 // 10]} ms")
print(f"{name}: {sum(calls.values())} requests, {submitted} submissions, {lists} for lists "
      f"({60 * lists / took / len(files):.1f} a minute and controller)")
print("    " + ", ".join(f"{kind} {n}" for kind, n in sorted(calls.items(), key=lambda it: -it[1])))
EOF_PY
}

plain() {
    begin
    pollers=()
    for cluster in alpha beta; do
        (while :; do at $cluster squeue >/dev/null 2>&1 || true; sleep 1; done) &
        pollers+=($!)
    done
    started+=("${pollers[@]}")
    handing=()
    for cluster in alpha beta; do
        for _ in $(seq $((jobs / 2))); do
            at $cluster sbatch --parsable --exclusive -N1 --time=1 --output=/dev/null --chdir="$work/out" "$work/job.sh"
        done >/dev/null &
        handing+=($!)
    done
    wait "${handing[@]}"
    settled
    counted "sbatch with squeue each second"
    kill "${pollers[@]}"
}

ours() { # PROGRAM NUMBER
    local state=$work/state-$2 url
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
spool = "$work/spool-$2"
pool = [{ name = "$cluster-main", nodes = $NODES, partition = "main", price = 0.01 }]
EOF_SITE
        done
    } >"$work/tradewind.toml"
    "$1" up --quiet --config "$work/tradewind.toml" --state "$state" --listen 127.0.0.1:0 >"$work/url-$2" 2>"$work/log-$2" &
    local daemon=$!
    started+=("$daemon")
    until [ -s "$work/url-$2" ]; do sleep 0.05; done
    sleep 5
    begin
    "$1" submit --state "$state" --array "1-$jobs" --time 0:30 --chdir "$work/out" --output /dev/null "$work/job.sh" >/dev/null
    settled
    counted "$1"
    # At rest.
    sleep 10
    for cluster in alpha beta; do at $cluster sdiag -r >/dev/null; done
    sleep 60
    : >"$work/marks"
    echo "idle 0 0" >"$work/marks"
    begun=0
    for cluster in alpha beta; do
        at $cluster sdiag | awk -v name="$1 at rest, $cluster" '
            /by message type/ { on = 1 } /by user/ { on = 0 }
            on && /INFO/ && !/STATS/ { split($0, part, "count:"); n += part[2] + 0 }
            END { print name ": " n + 0 " requests for lists in a minute" }'
    done | tee -a "$work/table"
    "$1" sites --state "$state" >&2 || true
    kill "$daemon"
    wait "$daemon" || true
}

plain
number=0
for program in "${programs[@]}"; do
    number=$((number + 1))
    ours "$(realpath "$program")" "$number"
done
echo
cat "$work/table"
