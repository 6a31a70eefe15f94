#!/usr/bin/env bash
# make.sh PROGRAM OUT: all packages of one build of the program, in the folder OUT, which is made
# again: .deb, .tar.gz, OCI image, Apptainer recipe, bill of materials, SHA256SUMS. The same program
# and commit give the same bytes: SOURCE_DATE_EPOCH is the commit's time unless it is set. Needs
# Debian's dpkg-deb, binutils, Python 3 and, for the image, openssh-client and tzdata.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "$1")
out=$(realpath -m "$2")
for tool in dpkg-deb strip readelf ldd; do
    command -v "$tool" >/dev/null || { echo "make.sh: $tool is missing; packages are made on Debian" >&2; exit 1; }
done
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} LC_ALL=C.UTF-8
version=$("$program" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
name=tradewind-$version
draft=$(mktemp -d)
trap 'rm -rf "$draft"' EXIT
umask 022
rm -rf "$out"
mkdir -p "$out"

scripts/release/stage.sh "$program" "$draft/$name"
scripts/release/deb.sh "$draft/$name" "$version" "$out/tradewind_${version}_$architecture.deb"
"${PYTHON:-python3}" scripts/release/oci.py "$draft/$name" "$version" "$architecture" \
    "$out/$name-$architecture.oci.tar"
sed "s|@VERSION@|$version|g; s|@ARCHITECTURE@|$architecture|g" packaging/apptainer.def >"$out/apptainer.def"
tar --create --directory "$draft" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" --format=gnu "$name" |
    gzip "-${LEVEL:-9}n" >"$out/$name-$(uname -m)-linux.tar.gz"

[ -s target/sbom/tradewind.cdx.json ] || scripts/sbom.sh >&2
"${PYTHON:-python3}" scripts/release/bill.py <target/sbom/tradewind.cdx.json >"$out/tradewind.cdx.json"
# Other parts that are made before: EXTRA="FILE …".
for file in ${EXTRA:-}; do install -m 644 "$file" "$out"; done
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum) >"$draft/sums"
mv "$draft/sums" "$out/SHA256SUMS"
