#!/usr/bin/env bash
# Fetches HiGHS, the MIP solver that our optima are compared with, into target/highs. It comes
# from PyPI, in a package that carries the program. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

package=highsbox==1.15.1
folder=target/highs
if [ -x "$folder/bin/highs" ]; then
    exit 0
fi
echo "fetching HiGHS into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps -d "$folder" "$package"
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
wheel = next(folder.glob("*.whl"))
with zipfile.ZipFile(wheel) as files:
    for name in files.namelist():
        _, found, inner = name.partition("/highs_dist/")
        path = pathlib.PurePosixPath(inner)
        if found and (path.parent.name == "bin" or path.suffix == ".so" or ".so." in path.name):
            target = folder / path.parent.name / path.name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(files.read(name))
PYTHON
# Last, so that an interrupted fetch is begun anew.
chmod +x "$folder/bin/highs"
