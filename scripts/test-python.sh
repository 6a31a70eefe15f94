#!/usr/bin/env bash
# Builds the wheel in the development profile, installs it into an environment of its own below target/,
# checks its types, and runs its tests. PYTHON names another interpreter to begin with.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/$(scripts/packages.sh python "maturin, pytest, gymnasium, pandas and polars")
wheel=$(PYTHON=$python scripts/python-wheel.sh dev target/python/wheels)
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall "$wheel" >&2
export PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -q -p no:cacheprovider crates/python/tests "$@"
(cd crates/python && "$python" -m mypy --no-incremental --no-error-summary)
