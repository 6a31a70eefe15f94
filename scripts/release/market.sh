#!/bin/sh
# market.sh PROGRAM STATE [OPTION OF up …]: runs a market for a moment with the state folder STATE, and
# one job in it. It needs a shell, coreutils and nothing else.
set -eu
program=$1 state=$2
shift 2
cd "$state"
said=$state/said
"$program" up --state "$state" --listen 127.0.0.1:0 "$@" >"$said" 2>&1 &
daemon=$!
tries=0
until [ -s "$state/url" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ] || ! kill -0 "$daemon" 2>/dev/null; then
        echo "FAIL: the market does not begin" >&2
        cat "$said" >&2
        exit 1
    fi
    sleep 0.1
done
timeout 60 "$program" submit --state "$state" --wait --time 1 -- sh -c 'exit 3' >/dev/null && code=0 || code=$?
[ "$code" -eq 3 ] || { echo "FAIL: a job that exits with 3 ended with $code" >&2; cat "$said" >&2; exit 1; }
kill -TERM "$daemon"
wait "$daemon" && code=0 || code=$?
[ "$code" -eq 0 ] || { echo "FAIL: the market ended with $code" >&2; cat "$said" >&2; exit 1; }
