#!/usr/bin/env bash
# debian.sh SUITE FOLDER LOG [OPTION OF mmdebstrap …]: makes a small Debian in a folder of its own,
# from the archive that this machine itself installs from. Needs root and Debian's package mmdebstrap,
# which is installed if need be. Prints the archive. Exit code 75: it cannot be made here.
set -euo pipefail
suite=$1 folder=$2 log=$3
shift 3

fail() {
    echo "debian.sh: $1" >&2
    exit 75
}

[ "$(id -u)" -eq 0 ] || fail "making a Debian needs root"
command -v apt-get >/dev/null || fail "making a Debian needs apt-get"
patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5)
if ! command -v mmdebstrap >/dev/null; then
    apt-get "${patient[@]}" update -qq && env DEBIAN_FRONTEND=noninteractive apt-get \
        "${patient[@]}" install -qq -y --no-install-recommends mmdebstrap >/dev/null ||
        fail "mmdebstrap cannot be installed"
fi
archive=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "main" && $1 !~ /security/ {print $1; exit}')
[ -n "$archive" ] || fail "apt knows no archive of packages"
rm -rf "$folder"
mmdebstrap --mode=root --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "5"' "$@" \
    "$suite" "$folder" "$archive" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    fail "Debian $suite could not be made: see $log"
}
echo "$archive"
