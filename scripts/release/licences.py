"""Prints the licences of the crates that the program contains: licences.py <metadata.json, as
`cargo metadata` prints it for one platform. Texts that several crates share are printed once."""

import json
import sys
from pathlib import Path

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def linked(metadata):
    """Packages that `tradewind` needs in order to run, without our own."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    todo = [name for name, package in packages.items() if package["name"] == "tradewind"]
    seen = set(todo)
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    ours = set(metadata["workspace_members"])
    found = [packages[name] for name in seen - ours]
    return sorted(found, key=lambda it: (it["name"], it["version"]))


def texts(package):
    """The licence files of a package, by name."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir()
                   if path.is_file() and path.name.upper().startswith(NAMES))
    return [path.read_text(errors="replace").strip() for path in files]


def main():
    packages = linked(json.load(sys.stdin))
    print("The program contains these libraries. Licence texts follow the list.\n")
    users = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package['license'] or 'see its text'}")
        for text in texts(package):
            users.setdefault(text, []).append(name)
    for text, names in users.items():
        print(f"\n{'=' * 78}\n{', '.join(names)}\n{'-' * 78}\n{text}")


main()
