#!/usr/bin/env bash
# Submissions per second with the journal in a file, in PostgreSQL, and in PostgreSQL with a standby that
# each commit waits for: `scripts/load.sh` with each in turns, and what comes of SQLite's rate (goals:
# 0.5 and 0.3). Both servers are started here, on one disk (TMPDIR), and stopped. Needs wrk, Debian's
# postgresql, and a release build, or another one: PROGRAM.
# Usage: scripts/stores.sh [TURNS [SECONDS]]     3 turns of 6 seconds each unless given
set -euo pipefail
cd "$(dirname "$0")/.."
turns=${1:-3} seconds=${2:-6}
command -v wrk >/dev/null || { echo "wrk is not installed: apt-get install wrk" >&2; exit 1; }
binaries=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
[ -x "$binaries/initdb" ] || { echo "PostgreSQL is not installed: apt-get install postgresql" >&2; exit 1; }
work=$(mktemp -d)
chmod 755 "$work"
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    chown postgres "$work"
    as_server=(setpriv --reuid postgres --regid postgres --init-groups)
fi
server() { "${as_server[@]}" env LC_ALL=C "$binaries/$1" "${@:2}"; }
finish() {
    for name in second first; do
        [ ! -e "$work/$name/postmaster.pid" ] || server pg_ctl -D "$work/$name" -m immediate stop >/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' TERM HUP INT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sql() { psql -qAtX -v ON_ERROR_STOP=1 -h "$work" -p "$port" -U postgres "$@"; }
server initdb -D "$work/first" -E UTF8 --locale C -A trust -U postgres >/dev/null
printf '%s\n' "port = $port" "listen_addresses = '127.0.0.1'" "unix_socket_directories = '$work'" \
    "max_connections = 40" | "${as_server[@]}" tee -a "$work/first/postgresql.conf" >/dev/null
server pg_ctl -D "$work/first" -l "$work/first.log" -w start >/dev/null
server pg_basebackup -h "$work" -p "$port" -U postgres -D "$work/second" -R -c fast \
    -d "application_name=second" >/dev/null
printf '%s\n' "listen_addresses = ''" "port = 1" | "${as_server[@]}" tee -a "$work/second/postgresql.conf" >/dev/null
server pg_ctl -D "$work/second" -l "$work/second.log" -w start >/dev/null

# waits_for NAMES: commits wait for these standbys from now on.
waits_for() {
    sql -c "ALTER SYSTEM SET synchronous_standby_names = '$1'" -c "SELECT pg_reload_conf()" >/dev/null
    until [ "$(sql -c "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")" = "$2" ]; do
        sleep 0.1
    done
}

# rate STORE: submissions per second.
rate() {
    STORE=$1 scripts/load.sh "$seconds" | awk '/^Requests\/sec:/ { print $2 }'
}

# database: the URL of an empty one.
database() {
    sql -c "CREATE DATABASE $1"
    echo "postgresql://postgres@127.0.0.1:$port/$1"
}

for turn in $(seq "$turns"); do
    file=$(rate sqlite)
    waits_for '' 0
    alone=$(rate "$(database "alone$turn")")
    waits_for second 1
    safe=$(rate "$(database "safe$turn")")
    awk -v n="$turn" -v file="$file" -v alone="$alone" -v safe="$safe" 'BEGIN {
        printf "turn %d: SQLite %.0f/s, PostgreSQL %.0f/s (%.2f), with a standby %.0f/s (%.2f)\n",
            n, file, alone, alone / file, safe, safe / file }'
done
