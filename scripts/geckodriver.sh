#!/usr/bin/env bash
# Builds the driver of Firefox once from its source, into target/tools: Debian has no package of it.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -x target/tools/bin/geckodriver ]; then
    exit 0
fi
echo "building geckodriver (for the pages in Firefox)" >&2
# Without optimisation: it only passes on what tests say.
CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
    "${CARGO:-cargo}" install --quiet --locked --version 0.36.0 --root target/tools geckodriver
