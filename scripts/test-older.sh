#!/usr/bin/env bash
# The tests with the program of an earlier release, which scripts/older-release.sh builds. Exit code 75: it
# cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/.."

TRADEWIND_OLDER=$(scripts/older-release.sh)
export TRADEWIND_OLDER
"${CARGO:-cargo}" test -p tradewind --features older --test with_older
