#!/usr/bin/env bash
# Fuzzes the API of a real market against docs/schemas/openapi.json, with Schemathesis. PYTHON names another
# interpreter; FUZZ_CASES and FUZZ_SEED say how many requests are drawn for each operation and role,
# and from which seed.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=crates/cli/tests/fuzz
python=$(scripts/packages.sh fuzz Schemathesis)

# WHAT: packages and features, the same as those of tests that ran before.
read -ra what <<<"${WHAT:-}"
built=$(scripts/built.sh "${what[@]}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PYTHONDONTWRITEBYTECODE=1 "$python" "$tests/api_holds.py" "$built/tradewind" \
    docs/schemas/openapi.json "$scratch" "${FUZZ_CASES:-15}" "${FUZZ_SEED:-1}"
