#!/usr/bin/env bash
# tool.sh NAME VERSION [OPTION…]: builds a tool from Cargo's registry into target/tools, once per
# version, and prints the program's path. OPTIONs go to `cargo install`.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 version=$2
shift 2
root=$PWD/target/tools/$name-$version
if [ ! -x "$root/bin/$name" ]; then
    echo "building $name $version into target/tools" >&2
    # A quick build: it runs for seconds.
    CARGO_PROFILE_DEV_DEBUG=false "${CARGO:-cargo}" install --quiet --locked --debug \
        --version "$version" --root "$root" "$@" "$name" >&2
fi
echo "$root/bin/$name"
