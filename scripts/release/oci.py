"""An OCI image without a daemon: oci.py STAGED VERSION ARCHITECTURE OUT.oci.tar

The image has the program, a shell, coreutils, ssh and time zones of the Debian that it is made on,
and the shared libraries of all these. Its layers and its archive depend on these files only: sorted
names, no owners, all times SOURCE_DATE_EPOCH. LEVEL: of compression."""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
LEVEL = int(os.environ.get("LEVEL", "6"))
PACKAGES = ["dash", "coreutils", "openssh-client", "tzdata"]
# Debian's packages have these, and images rarely need them.
LEFT_OUT = re.compile(r"^/usr/share/(doc/.*(?<!/copyright)|man/.*|locale/.*|info/.*|lintian/.*|bug/.*|"
                      r"zoneinfo/(right|posix)/.*)$")
ACCOUNT = 8460
PASSWD = f"""root:x:0:0:root:/root:/bin/sh
tradewind:x:{ACCOUNT}:{ACCOUNT}:Tradewind:/var/lib/tradewind:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUP = f"root:x:0:\ntradewind:x:{ACCOUNT}:\nnogroup:x:65534:\n"


def output(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


class Tree:
    """Files of a layer by their names in the image."""

    def __init__(self):
        self.entries = {}

    def add(self, name, kind=tarfile.REGTYPE, data=b"", mode=0o644, owner=0, target=""):
        folder = name.rpartition("/")[0]
        if folder and folder not in self.entries:
            self.add(folder, tarfile.DIRTYPE, mode=0o755)
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.linkname = kind, mode, target
        entry.uid = entry.gid = owner
        entry.mtime, entry.size = EPOCH, len(data)
        self.entries[name] = (entry, data)

    def copy(self, path, name):
        """A file or link of this machine; set-user-ID bits are dropped."""
        if path.is_symlink():
            self.add(name, tarfile.SYMTYPE, mode=0o777, target=os.readlink(path))
        elif path.is_file():
            self.add(name, data=path.read_bytes(), mode=path.stat().st_mode & 0o755)

    def tar(self):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(self.entries):
                entry, data = self.entries[name]
                archive.addfile(entry, io.BytesIO(data))
        return raw.getvalue()


def in_usr(path):
    """The real place of a path whose folder may be one of Debian's links into /usr."""
    return path.parent.resolve() / path.name


def add_host(tree, path):
    real = in_usr(Path(path))
    tree.copy(real, str(real)[1:])


def add_libraries(tree, programs):
    """Shared libraries, also those behind links, of the programs."""
    for program in programs:
        for path in re.findall(r"(/\S+) \(0x", output("ldd", str(program))):
            while True:
                add_host(tree, path)
                if not in_usr(Path(path)).is_symlink():
                    break
                path = str(in_usr(Path(path)).parent / os.readlink(in_usr(Path(path))))


def is_program(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def base(program):
    """The layer below the program's."""
    tree = Tree()
    for link in ["bin", "sbin", "lib", "lib64"]:
        tree.add(link, tarfile.SYMTYPE, mode=0o777, target=f"usr/{link}")
        tree.add(f"usr/{link}", tarfile.DIRTYPE, mode=0o755)
    programs = [program]
    for path in output("dpkg", "-L", *PACKAGES).splitlines():
        if path.startswith("/usr/share/doc/") and not path.endswith("/copyright"):
            continue
        if not path.startswith("/") or LEFT_OUT.match(path) or Path(path).is_dir():
            continue
        add_host(tree, path)
        if is_program(in_usr(Path(path))):
            programs.append(in_usr(Path(path)))
    tree.add("usr/bin/sh", tarfile.SYMTYPE, mode=0o777, target="dash")
    add_libraries(tree, programs)
    # Whose the libraries are; the loader itself belongs to the C library.
    names = [f"*/{name.rpartition('/')[2]}" for name in tree.entries if ".so" in name]
    owners = subprocess.run(["dpkg", "-S", *sorted(set(names))], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout
    for package in sorted({line.split(":")[0] for line in owners.splitlines()}):
        if Path(f"/usr/share/doc/{package}/copyright").exists():
            add_host(tree, f"/usr/share/doc/{package}/copyright")
    tree.add("etc/passwd", data=PASSWD.encode())
    tree.add("etc/group", data=GROUP.encode())
    tree.add("etc/nsswitch.conf", data=b"passwd: files\ngroup: files\nhosts: files dns\n")
    tree.add("tmp", tarfile.DIRTYPE, mode=0o1777)
    tree.add("root", tarfile.DIRTYPE, mode=0o700)
    tree.add("var/lib/tradewind", tarfile.DIRTYPE, mode=0o700, owner=ACCOUNT)
    for name in ["dev", "proc", "sys", "run"]:
        tree.add(name, tarfile.DIRTYPE, mode=0o755)
    return tree


def staged(folder):
    """The program's layer: no completions and manual pages, and of the documents the licences."""
    tree = Tree()
    tree.copy(folder / "bin/tradewind", "usr/bin/tradewind")
    doc = "share/doc/tradewind"
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "LICENSES-OF-LIBRARIES.gz", "README.md"]:
        tree.copy(folder / doc / name, f"usr/{doc}/{name}")
    return tree


class Layout:
    """An OCI layout: blobs by digest."""

    def __init__(self):
        self.files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def blob(self, data, kind):
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def json(self, document, kind):
        return self.blob(json.dumps(document, sort_keys=True).encode(), kind)


def image(layers, version, architecture):
    layout = Layout()
    tars = [layer.tar() for layer in layers]
    blobs = [layout.blob(gzip.compress(tar, LEVEL, mtime=0), "layer.v1.tar+gzip") for tar in tars]
    created = datetime.fromtimestamp(EPOCH, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.title": "tradewind", "org.opencontainers.image.version": version,
              "org.opencontainers.image.licenses": "MIT OR Apache-2.0"}
    config = layout.json({
        "created": created, "architecture": architecture, "os": "linux",
        "config": {"User": f"{ACCOUNT}:{ACCOUNT}", "Entrypoint": ["/usr/bin/tradewind"], "Cmd": ["--help"],
                   "Env": ["PATH=/usr/bin:/usr/sbin", "XDG_STATE_HOME=/var/lib", "LC_ALL=C.UTF-8"],
                   "WorkingDir": "/var/lib/tradewind", "Volumes": {"/var/lib/tradewind": {}}, "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
        "history": [{"created": created, "created_by": what} for what in ["libraries and a shell", "tradewind"]],
    }, "config.v1+json")
    manifest = layout.json({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                            "config": config, "layers": blobs, "annotations": labels}, "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    layout.files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True).encode()
    return layout


def main():
    folder, version, architecture, out = sys.argv[1:]
    folder = Path(folder).resolve()
    layout = image([base(folder / "bin/tradewind"), staged(folder)], version, architecture)
    archive = Tree()
    for name, data in layout.files.items():
        archive.add(name, data=data)
    Path(out).write_bytes(archive.tar())


main()
