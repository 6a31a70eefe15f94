#!/usr/bin/env bash
# Fuzzes the API of a real market against docs/openapi.json, with Schemathesis; its Python packages
# go into target/fuzz, once per list of versions. PYTHON names another interpreter; FUZZ_CASES and
# FUZZ_SEED say how many requests are drawn for each operation and role, and from which seed.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=crates/cli/tests/fuzz
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$python is older than Python 3.11; name a newer one: PYTHON=python3.12 $0" >&2
    exit 1
fi
version=$("$python" -c 'import platform; print(platform.python_version())')
key=$(cat "$tests/requirements.txt" <(echo "$version") | cksum | cut -d' ' -f1)
packages=target/fuzz/$key
if [ ! -e "$packages/complete" ]; then
    echo "installing Schemathesis and what it needs into target/fuzz" >&2
    rm -rf target/fuzz
    "$python" -m venv "$packages"
    "$packages/bin/pip" install --quiet --disable-pip-version-check -r "$tests/requirements.txt"
    touch "$packages/complete"
fi

cargo=${CARGO:-cargo}
# WHAT: packages and features, the same as those of tests that ran before: then it is all built.
read -ra what <<<"${WHAT:--p tradewind}"
"$cargo" build --quiet "${what[@]}" --bin tradewind
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
built=$(realpath "${CARGO_TARGET_DIR:-target}/debug/tradewind")
PYTHONDONTWRITEBYTECODE=1 "$packages/bin/python" "$tests/api_holds.py" "$built" \
    docs/openapi.json "$scratch" "${FUZZ_CASES:-15}" "${FUZZ_SEED:-1}"
