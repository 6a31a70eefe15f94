#!/usr/bin/env bash
# Fetches axe-core, which checks that pages can be used by everybody, into target/axe. It comes
# from PyPI, in a package that carries it. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

package=axe-playwright-python==0.1.8
folder=target/axe
if [ -e "$folder/axe.min.js" ]; then
    exit 0
fi
echo "fetching axe-core into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps -d "$folder" "$package"
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
wheel = next(folder.glob("*.whl"))
text = zipfile.ZipFile(wheel).read("axe_playwright_python/axe.min.js")
(folder / "axe.min.js").write_bytes(text)
PYTHON
