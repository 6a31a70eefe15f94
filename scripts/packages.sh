#!/usr/bin/env bash
# packages.sh NAME WHAT: installs the Python packages of crates/cli/tests/NAME/requirements.txt (of the
# Python package: crates/python/tests/requirements.txt) into target/NAME, once per list of versions and interpreter, and prints the interpreter that has them.
# WHAT names them for people; PYTHON names another interpreter to begin with.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 what=$2
list=crates/cli/tests/$name/requirements.txt
[ "$name" != python ] || list=crates/python/tests/requirements.txt
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$python is older than Python 3.11; name a newer one: PYTHON=python3.12 scripts/$name.sh" >&2
    exit 1
fi
version=$("$python" -c 'import platform; print(platform.python_version())')
key=$(cat "$list" <(echo "$version") | cksum | cut -d' ' -f1)
packages=target/$name/$key
if [ ! -e "$packages/complete" ]; then
    echo "installing $what and what it needs into target/$name" >&2
    rm -rf "target/$name"
    "$python" -m venv "$packages"
    "$packages/bin/pip" install --retries 10 --timeout 60 --quiet --disable-pip-version-check -r "$list" >&2
    touch "$packages/complete"
fi
echo "$packages/bin/python"
