#!/usr/bin/env bash
# Builds the program as released, and all packages of it in target/packages/release. A quarter of an
# hour of processor time.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=target/packages/release
host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=$PWD/target/packages/build SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export CARGO_INCREMENTAL=0
# With a target named, the flags are not for build scripts.
export RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
"${CARGO:-cargo}" build --release --locked --package tradewind --bin tradewind --target "$host"
unset RUSTFLAGS
scripts/sbom.sh
# A wheel that was built before goes into the sums, too: EXTRA="target/wheels/….whl".
scripts/release/make.sh "$CARGO_TARGET_DIR/$host/release/tradewind" "$out"
cat "$out/SHA256SUMS"
