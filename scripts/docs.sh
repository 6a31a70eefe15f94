#!/usr/bin/env bash
# Builds the documentation: rustdoc in target/doc, and the book of docs/ in target/book, with search
# and with the terms of the glossary linked.
set -euo pipefail
cd "$(dirname "$0")/.."
mdbook=$(scripts/tool.sh mdbook 0.5.4 --no-default-features --features search)
rm -rf target/book
"$mdbook" build docs
# Files of the repository that pages link to.
git ls-files examples scripts/rivals README.md LICENSE-MIT LICENSE-APACHE | while read -r file; do
    install -D -m 644 "$file" "target/book/files/$file"
done
echo "the book is target/book/index.html" >&2
RUSTDOCFLAGS="-D warnings" "${CARGO:-cargo}" doc --quiet --no-deps
