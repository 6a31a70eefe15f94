#!/usr/bin/env bash
# The tests with the program of an earlier release, which scripts/older-release.sh builds. WHAT:
# packages and features, so that what other tests have built is used. Exit code 75: it cannot be
# built here.
set -euo pipefail
cd "$(dirname "$0")/.."

TRADEWIND_OLDER=$(scripts/older-release.sh)
export TRADEWIND_OLDER
read -ra what <<<"${WHAT:--p tradewind --features older}"
"${CARGO:-cargo}" test "${what[@]}" --test with_older
