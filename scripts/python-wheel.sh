#!/usr/bin/env bash
# python-wheel.sh PROFILE FOLDER: builds the Python package with the command into FOLDER, and prints the
# wheel's path. PROFILE is `dev` (for tests) or `release`. PYTHON names the interpreter that has maturin.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=$1 folder=$2
python=${PYTHON:-$(scripts/packages.sh python maturin)}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
case $profile in dev) built=$target/debug ;; *) built=$target/$profile ;; esac
[ -x "$built/tradewind" ] || "${CARGO:-cargo}" build --quiet --profile "$profile" -p tradewind --bin tradewind

# The command is a file of the wheel.
scripts=crates/python/tradewind.data/scripts
rm -rf crates/python/tradewind.data
trap 'rm -rf crates/python/tradewind.data' EXIT
mkdir -p "$scripts"
strip -o "$scripts/tradewind" "$built/tradewind"

rm -rf "$folder"
"$python" -m maturin build --quiet --locked --profile "$profile" --auditwheel skip \
    --manifest-path crates/python/Cargo.toml --target-dir "$target" --out "$folder" >&2
echo "$folder"/tradewind-*.whl
