#!/usr/bin/env bash
# What is linked into the program, by `deny.toml`: licences, banned crates and sources always, known
# vulnerabilities where RustSec's database can be reached (it comes by git). Where it cannot, the run
# says so; with STRICT=1, as in a nightly job, it fails then.
set -euo pipefail
cd "$(dirname "$0")/.."
deny=$(scripts/tool.sh cargo-deny 0.20.2)
"$deny" --log-level error check licenses bans sources
if GIT_TERMINAL_PROMPT=0 timeout "${FETCH_SECONDS:-60}" "$deny" --log-level error fetch db >/dev/null 2>&1; then
    "$deny" --log-level error check --disable-fetch advisories
else
    echo "advisories: NOT CHECKED, RustSec's database cannot be reached from here; run \`make audit\` where it can" >&2
    [ -z "${STRICT:-}" ]
fi
