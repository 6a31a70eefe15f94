#!/usr/bin/env bash
# Fetches axe-core, which checks that pages are accessible, into target/axe. It comes
# from PyPI, in a package that carries it. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/axe
if [ -e "$folder/axe.min.js" ]; then
    exit 0
fi
echo "fetching axe-core into $folder" >&2
./scripts/wheel.sh axe-playwright-python==0.1.8 "$folder"
cp "$folder/unpacked/axe_playwright_python/axe.min.js" "$folder"
