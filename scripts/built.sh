#!/usr/bin/env bash
# built.sh [PACKAGES AND FEATURES]: builds the program and an example of ours as the tests have them,
# and prints the folder. An example's packages are those of tests: without one, half of the tree
# would be built once more, with fewer features. Tests that ran before have built it all.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$#" -gt 0 ] || set -- -p tradewind -p tradewind-io
"${CARGO:-cargo}" build --quiet "$@" --bin tradewind --example parquet_samples
realpath "${CARGO_TARGET_DIR:-target}/debug"
