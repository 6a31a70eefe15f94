#!/bin/sh
# How long a restart takes, and how much memory it needs, with many jobs in the queue: a table for
# BENCHMARKS.md, all lines in one run.
#
#   scripts/restart-table.sh target/release/tradewind [JOBS…]
#
# All but the first six jobs wait. They are submitted in arrays of 1,000, with a small environment. Needs curl.
set -eu
program=$1
shift
folder=$(mktemp -d)
daemon=
trap 'test -z "$daemon" || kill -9 "$daemon" 2>/dev/null || true; rm -rf "$folder"' EXIT
cat > "$folder/market.toml" <<'END'
[limits]
jobs = 200000
jobs_per_user = 200000
END

# Starts the daemon, waits until it answers, and leaves the milliseconds in `took`.
start() {
    rm -f "$state/url"
    begin=$(date +%s%3N)
    "$program" up --config "$folder/market.toml" --state "$state" --listen 127.0.0.1:0 \
        > /dev/null 2>> "$folder/log" &
    daemon=$!
    until test -s "$state/url"; do
        kill -0 "$daemon" || { cat "$folder/log" >&2; exit 1; }
        sleep 0.02
    done
    url=$(cat "$state/url")
    until curl -s -f -o "$folder/answer" "$url/readyz"; do sleep 0.02; done
    took=$(($(date +%s%3N) - begin))
}

# A line of the process's status, in MiB.
memory() {
    awk -v name="$1:" '$1 == name { print int($2 / 1024) }' "/proc/$daemon/status"
}

submit() {
    curl -s -f -o "$folder/answer" "$url/v1/jobs" \
        -H "Authorization: Bearer $(cat "$state/admin.token")" \
        -H 'Content-Type: application/json' -d '{"name": "sweep", "command": ["sh", "-c", "while test -e '"$folder"'/market.toml; do sleep 1; done"],
            "nodes": 1, "time": 100000, "array": "0-999",
            "environment": {"LANG": "C", "PATH": "/usr/bin"}}'
}

echo '| jobs | running, MiB | restart after a kill, s | peak, MiB | peak / running | journal, MiB |'
echo '|---:|---:|---:|---:|---:|---:|'
for jobs in "${@:-0 20000 100000}"; do
    for jobs in $jobs; do
        state=$folder/$jobs
        start
        sent=0
        while test "$sent" -lt "$jobs"; do
            submit
            sent=$((sent + 1000))
        done
        sleep 3
        running=$(memory VmRSS)
        kill -9 "$daemon"
        wait "$daemon" || true
        start
        sleep 2
        peak=$(memory VmHWM)
        kill -9 "$daemon"
        wait "$daemon" || true
        size=$(($(cat "$state"/journal.db* | wc -c) / 1048576))
        echo "$jobs $running $took $peak $size" | awk '{
            printf "| %d | %d | %.1f | %d | %.2f | %d |\n", $1, $2, $3 / 1000, $4, $4 / $2, $5 }'
    done
done
