#!/usr/bin/env bash
# older-release.sh: builds the program of an earlier release and prints where it is. It is built once,
# from this repository's own history, and kept in target/older. Exit code 75: the history is not here,
# as in a shallow clone.
#
# There is no published release yet: this commit stands for one. It has the tables of PostgreSQL that
# this tree has, so that a market may go back to it, and it knows no records of energy, budgets, shapes
# of jobs and check jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
release=d376d0f6a7ea5c7e38c0faf13a4540743a293e4a

place=$PWD/target/older
program=$place/tradewind-${release:0:12}
[ ! -x "$program" ] || { echo "$program"; exit 0; }
git cat-file -e "$release^{commit}" 2>/dev/null || {
    echo "the earlier release is commit ${release:0:12}, which this clone does not have: fetch the whole history (git fetch --unshallow)" >&2
    exit 75
}

mkdir -p "$place"
# Two at the same time would build in one folder.
exec 9>"$place/lock"
flock 9
[ ! -x "$program" ] || { echo "$program"; exit 0; }
rm -rf "$place/source"
mkdir "$place/source"
git archive "$release" | tar -x -C "$place/source"
# What `cargo demo` builds: without optimisation, studies, PNG and Parquet.
(cd "$place/source" && CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$place/build" "${CARGO:-cargo}" build --quiet \
    --locked --profile demo --package tradewind --bin tradewind --no-default-features) >&2
mv "$place/build/demo/tradewind" "$program"
# Only the program is needed again.
rm -rf "$place/source" "$place/build"
echo "$program"
