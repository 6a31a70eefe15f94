#!/usr/bin/env bash
# tool.sh NAME VERSION [OPTION…]: builds a tool from Cargo's registry, once per version for all
# checkouts, in $TRADEWIND_TOOLS or else in ~/.cache/tradewind/tools, and prints the program's path.
# OPTIONs go to `cargo install`.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 version=$2
shift 2
tools=${TRADEWIND_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/tradewind/tools}
root=$tools/$name-$version
if [ ! -x "$root/bin/$name" ]; then
    echo "building $name $version into $tools" >&2
    # A quick build: it runs for seconds.
    CARGO_PROFILE_DEV_DEBUG=false "${CARGO:-cargo}" install --quiet --locked --debug \
        --version "$version" --root "$root" "$@" "$name" >&2
fi
echo "$root/bin/$name"
