#!/usr/bin/env bash
# The bill of materials of the program, as CycloneDX: target/sbom/tradewind.cdx.json.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(scripts/tool.sh cargo-cyclonedx 0.5.9)
mkdir -p target/sbom
"$tool" cyclonedx --quiet --format json --spec-version 1.5 \
    --manifest-path crates/cli/Cargo.toml --override-filename tradewind.cdx
find crates examples fuzz -name 'tradewind.cdx.json' ! -path 'crates/cli/*' -delete
mv crates/cli/tradewind.cdx.json target/sbom/
echo "target/sbom/tradewind.cdx.json: $(grep -c '"bom-ref"' target/sbom/tradewind.cdx.json) components"
