#!/usr/bin/env bash
# Installs what the full tests need beyond Rust and a C compiler: cmake and a C++ compiler, for
# the MIP solver that our optima are compared with, and Python 3 with venv, for Evalys, which
# reads our results, and Schemathesis, which fuzzes the API. Does nothing when they are there.
set -euo pipefail

missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v c++ >/dev/null || missing+=(g++)
"${PYTHON:-python3}" -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]}. Install them, or run \`make test-quick\`, which needs none of them." >&2
    exit 1
fi
echo "installing ${missing[*]} (for the tests)" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "${missing[@]}" >/dev/null
