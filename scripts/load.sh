#!/usr/bin/env bash
# Durable submissions per second from 64 clients, beside what the disk's syncs allow; then how long
# the policy takes with the jobs that wait. Needs wrk and a release build, or another one: PROGRAM.
# STORE=postgresql://… measures a journal in that database, which must be empty.
# Usage: scripts/load.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-10}
program=${PROGRAM:-target/release/tradewind}
store=${STORE:-sqlite}
work=$(mktemp -d)
trap 'kill "$daemon" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

cat > "$work/tradewind.toml" <<EOF
store = "$store"
[limits]
requests_per_second = 1000000
jobs = 1000000
jobs_per_user = 1000000
submissions_per_second = 1000000
submission_bytes_per_second = 1073741824
job_megabytes = 1000000
job_megabytes_per_user = 1000000
[[site]]
name = "alpha"
kind = "local"
pool = [{ name = "one", nodes = 1, price = 0 }]
EOF
cat > "$work/submit.lua" <<'EOF'
wrk.method = "POST"
wrk.body = '{"name": "load", "command": ["sleep", "600"], "nodes": 1, "time": 600}'
wrk.headers["Content-Type"] = "application/json"
EOF

python3 - "$work/sync" <<'EOF'
import os, sys, time
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
times = []
for _ in range(200):
    begin = time.perf_counter()
    os.pwrite(f, b"x" * 4096, 0)
    os.fdatasync(f)
    times.append(time.perf_counter() - begin)
times.sort()
print(f"disk: a 4 KiB write and its sync take {1e3 * times[100]:.2f} ms, 99 of 100 at most {1e3 * times[198]:.2f} ms")
EOF

"$program" up --quiet --config "$work/tradewind.toml" --state "$work/state" --listen 127.0.0.1:0 --log debug \
  > "$work/url" 2> "$work/log" &
daemon=$!
until [ -s "$work/url" ]; do sleep 0.05; done
token=$(cat "$work/state/admin.token")
wrk --connections 64 --threads 1 --duration "${seconds}s" --latency --script "$work/submit.lua" \
  --header "Authorization: Bearer $token" "$(cat "$work/url")/v1/jobs"
sleep 2
python3 - "$work/log" <<'EOF'
import re, sys
text = re.sub(r"\x1b\[[0-9;]*m", "", open(sys.argv[1]).read())
took = sorted(int(n) for n in re.findall(r"took_us=(\d+)", text))
if took:
    print(f"policy: {len(took)} passes, median {took[len(took) // 2] / 1e3:.2f} ms, "
          f"99 of 100 at most {took[len(took) * 99 // 100] / 1e3:.1f} ms, longest {took[-1] / 1e3:.1f} ms")
EOF
curl -s -H "Authorization: Bearer $token" "$(cat "$work/url")/v1/market"; echo
grep -E 'VmHWM' "/proc/$daemon/status"
