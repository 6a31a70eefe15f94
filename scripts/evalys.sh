#!/usr/bin/env bash
# Has Evalys and PyArrow read what `simulate` writes, and runs the example notebook. The Python
# packages go into target/evalys, once per list of versions. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=crates/cli/tests/evalys
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$python is older than Python 3.11; name a newer one: PYTHON=python3.12 $0" >&2
    exit 1
fi
version=$("$python" -c 'import platform; print(platform.python_version())')
key=$(cat "$tests/requirements.txt" <(echo "$version") | cksum | cut -d' ' -f1)
packages=target/evalys/$key
if [ ! -e "$packages/complete" ]; then
    echo "installing Evalys 4.0.7 and what it needs into target/evalys" >&2
    rm -rf target/evalys
    "$python" -m venv "$packages"
    "$packages/bin/pip" install --quiet --disable-pip-version-check -r "$tests/requirements.txt"
    touch "$packages/complete"
fi

cargo=${CARGO:-cargo}
# WHAT: packages and features, the same as those of tests that ran before: then it is all built.
read -ra what <<<"${WHAT:--p tradewind -p tradewind-io}"
"$cargo" build --quiet "${what[@]}" --bin tradewind --example parquet_samples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/samples"
built=${CARGO_TARGET_DIR:-target}/debug
"$built/examples/parquet_samples" "$scratch/samples"

run() {
    PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$scratch" "$packages/bin/python" "$tests/$1" "${@:2}"
}
run evalys_reads.py "$built/tradewind" . "$scratch"
run parquet_reads.py "$scratch/samples"
run notebook_runs.py "$(realpath "$built/tradewind")" . "$scratch"
