#!/usr/bin/env bash
# How long quotes, explanations and what-ifs take with a long queue, beside an empty market in the
# same run, and how long submissions take meanwhile.
# Usage: scripts/looks.sh [JOBS…]      PROGRAM=target/release/tradewind POLICY=easy ASKS=100
set -euo pipefail
cd "$(dirname "$0")/.."
program=${PROGRAM:-target/release/tradewind}
work=$(mktemp -d)
trap 'kill "$daemon" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
cat > "$work/tradewind.toml" <<TOML
[market]
policy = "${POLICY:-easy}"
[limits]
requests_per_second = 1000000
submissions_per_second = 1000000
submission_bytes_per_second = 1073741824
jobs = 1000000
jobs_per_user = 1000000
advice_seconds = ${ADVICE_SECONDS:-10}
[[site]]
name = "alpha"
kind = "local"
pool = [{ name = "one", nodes = 4, price = 1 }, { name = "two", nodes = 4, price = 2, performance = 2 }]
TOML
"$program" up --quiet --config "$work/tradewind.toml" --state "$work/state" --listen 127.0.0.1:0 \
  > "$work/url" 2> "$work/log" &
daemon=$!
until [ -s "$work/url" ]; do sleep 0.05; done
python3 scripts/looks.py "$(cat "$work/url")" "$work/state/admin.token" "$daemon" "${ASKS:-100}" "${@:-20000 100000}"
