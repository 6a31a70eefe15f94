#!/usr/bin/env bash
# Fetches HiGHS, the MIP solver that our optima are compared with, into target/highs. It comes
# from PyPI, in a package that carries the program. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/highs
if [ -x "$folder/bin/highs" ]; then
    exit 0
fi
echo "fetching HiGHS into $folder" >&2
./scripts/wheel.sh highsbox==1.15.1 "$folder"
cp -r "$folder"/unpacked/highsbox-*.data/purelib/highsbox/highs_dist/{lib,bin} "$folder"
# Last, so that an interrupted fetch starts again.
chmod +x "$folder/bin/highs"
