#!/usr/bin/env bash
# stage.sh PROGRAM FOLDER: everything that packages install, below FOLDER as below a prefix: the
# stripped program, completions, manual pages, licences, documentation and what a service needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$1 to=$2
doc=$to/share/doc/tradewind
umask 022
rm -rf "$to"
install -d "$to/bin" "$to/share/man/man1" "$doc/packaging"
strip -o "$to/bin/tradewind" "$program"
chmod 755 "$to/bin/tradewind"

complete() { "$to/bin/tradewind" completions "$1" | install -D -m 644 /dev/stdin "$to/share/$2"; }
complete bash bash-completion/completions/tradewind
complete zsh zsh/site-functions/_tradewind
complete fish fish/vendor_completions.d/tradewind.fish

"$to/bin/tradewind" man --out "$to/share/man/man1"
chmod 644 "$to"/share/man/man1/*
gzip -9n "$to"/share/man/man1/*

install -m 644 -t "$doc" README.md LICENSE-MIT LICENSE-APACHE
git ls-files docs examples | while read -r file; do
    install -D -m 644 "$file" "$doc/$file"
done
gzip -9n <CHANGELOG.md >"$doc/CHANGELOG.md.gz"
"${CARGO:-cargo}" metadata --format-version 1 --locked --manifest-path crates/cli/Cargo.toml \
    --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" |
    "${PYTHON:-python3}" scripts/release/licences.py | gzip -9n >"$doc/LICENSES-OF-LIBRARIES.gz"
install -m 644 -t "$doc/packaging" packaging/tradewind.service packaging/tradewind-*.conf \
    packaging/tradewind.toml
